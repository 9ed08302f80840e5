"""Tokenizers as maps from token ids to bytes.

In: the file or object of a tokenizer, in one of five formats. Out: `vocabulary.Vocabulary`, its `trie.TokenTrie`, and, where needed,
`segmentation.Segmentation`, an automaton over tokens that accepts exactly the tokenizer's own encodings.

Invariants: a token has the bytes that the tokenizer decodes it to, checked by encoding sample texts; special tokens have no bytes; a
tokenizer file is untrusted input.

Reading order: `vocabulary`, `trie`; `files` with one module per format (`tokenizer_json`, `sentencepiece`, `tekken`, `tiktoken`, `gguf`),
`content` and `spelling`, which they share, `roundtrip`; `splitting`; then `merges`, `pretokenizers`, `segmentation`.

Public modules: `segmentation`.
"""
