"""Adapters to model libraries and serving engines.

In: an index, or a request of a serving engine. Out: what that library expects: a language model for `guided.generate`, a logits
processor, a grammar backend, or chunks of an API.

Invariants: only this package imports such libraries, each only when it is used.

Reading order: `masking` (masks on torch logits), `following` and `logits_processor`; models in `load`, `transformers` with `forward`,
`llama_cpp` with `llama_memory`; serving engines in `serving`, `vllm` with `vllm_backend`, `sglang` with `sglang_backend`;
`openai_chunks`.

Public modules: `llama_cpp`, `masking`, `openai_chunks`, `serving`, `vllm`.
"""
