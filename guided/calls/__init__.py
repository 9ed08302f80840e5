"""Tool calls: types and signatures lowered to patterns, call formats as data, text mode and tool mode, parsing, prompts."""
