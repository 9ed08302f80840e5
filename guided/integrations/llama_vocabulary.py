"""The vocabulary of a model loaded by llama.cpp, as llama.cpp itself defines it.

llama.cpp corrects the types of some tokens when it loads a file, so each token of a loaded model is queried separately.
`guided.Vocabulary.from_file` reads the same vocabulary from the file's keys without llama.cpp; an index compiled for one works with the
other.

End-of-text tokens follow the rule of `guided.vocabulary.content`, as for every tokenizer. llama.cpp also stops at other tokens, such as
those between the files of a repository; here they have no bytes and are never allowed.

Complexity: two library calls per token, about 0.3 s for 100,000 tokens.
"""

import ctypes
from typing import Any

from guided.vocabulary.content import assemble
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["vocabulary_of"]

# llama.h: enum llama_token_attr
_UNKNOWN, _UNUSED, _CONTROL = 1 << 0, 1 << 1, 1 << 3


def vocabulary_of(vocab: Any) -> Vocabulary:
    """Read the vocabulary of a ``llama_vocab_p``; its size is the width of the logits.

    Raises
    ------
    VocabularyError
        Two special tokens have the same name.
    """
    import llama_cpp

    size = llama_cpp.llama_vocab_n_tokens(vocab)
    spelled: list[tuple[int, bytes]] = []
    special: list[tuple[int, str]] = []
    for token in range(size):
        kind = llama_cpp.llama_vocab_get_attr(vocab, token)
        if kind & (_UNKNOWN | _CONTROL):
            name = llama_cpp.llama_vocab_get_text(vocab, token) or b""
            special.append((token, name.decode("utf-8", errors="replace")))
        elif not kind & _UNUSED:
            spelled.append((token, _piece(llama_cpp, vocab, token)))
    ends = (llama_cpp.llama_vocab_eos(vocab), llama_cpp.llama_vocab_eot(vocab))
    content = assemble(spelled, special, [end for end in ends if end >= 0], least_size=size)
    unknown = "llama.cpp does not give its merges; load the model with transformers"
    return Vocabulary(content.tokens, content.eos, size, content.special, unknown)


def _piece(api: Any, vocab: Any, token: int) -> bytes:
    length = 64
    while True:
        buffer = ctypes.create_string_buffer(length)
        count: int = api.llama_token_to_piece(vocab, token, buffer, length, 0, False)
        if count >= 0:
            return buffer.raw[:count]
        length = -count
