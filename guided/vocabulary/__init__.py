"""Tokenizer -> `Vocabulary` (token id <-> bytes) -> `TokenTrie`."""
