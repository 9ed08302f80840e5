"""Tables of ranks in tiktoken's format: lines of a token in base64 and its id.

Such a file holds no special tokens: programs add them. For the tables of known models (recognized by their whole content,
never by name) they are added here, as the programs do; for others pass ``special`` and ``eos`` to `Vocabulary.from_file`.
An empty token is written ``=``.
"""

import binascii
import hashlib

from guided.errors import VocabularyError
from guided.vocabulary.content import Content, assemble
from guided.vocabulary.segmentation import Encoding, PretokenizerName

__all__ = ["looks_like_ranks", "read_ranks"]

_BASE64 = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")


_LLAMA_3 = """
    <|begin_of_text|> <|end_of_text|> <|reserved_special_token_0|> <|reserved_special_token_1|>
    <|finetune_right_pad_id|> <|step_id|> <|start_header_id|> <|end_header_id|> <|eom_id|> <|eot_id|> <|python_tag|>
    <|image|>
"""

# SHA-256 of the base64 column joined by newlines -> first id and names of the special tokens; an empty name is a hole.
_KNOWN: dict[str, tuple[int, tuple[str, ...]]] = {
    # GPT-2
    "6c3a12d345e638764f3f646a81f16ab08b9a648229cddc89fb341b4bdad3b7ea": (50256, ("<|endoftext|>",)),
    # cl100k
    "5afc6e4960ba7a82f43f75c7ef8aa2a4e641a86176f897958ef20c8a8e31a8fe": (
        100257,
        ("<|endoftext|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", *[""] * 15, "<|endofprompt|>"),
    ),
    # o200k
    "0ed1d9b15240fc1f00b3adf1be7ebfcb19d6604e69a32cadfe96996ade6a8c59": (
        199999,
        ("<|endoftext|>", *[""] * 18, "<|endofprompt|>"),
    ),
    # Llama 3
    "3e40aced3ec172050e2452c05fc9e1e25b55b58c914d7790b491d618eba6b872": (
        128000,
        (*_LLAMA_3.split(), *(f"<|reserved_special_token_{i}|>" for i in range(2, 246))),
    ),
    # Qwen
    "d3ee67455bf46f48f9bd854941ea0e080a1bb1add36d72a9a3448cf16c5d320a": (
        151643,
        ("<|endoftext|>", "<|im_start|>", "<|im_end|>"),
    ),
}

# First special token of a known table -> its pretokenizer.
_PRETOKENIZERS: dict[int, PretokenizerName] = {50256: "gpt2", 128000: "llama3", 151643: "qwen2"}


def looks_like_ranks(head: bytes) -> bool:
    """Return whether a file with this beginning may be a table of ranks."""
    fields = head.split(b"\n", 1)[0].split()
    return len(fields) == 2 and _BASE64.issuperset(fields[0]) and fields[1].isdigit()


def read_ranks(data: bytes) -> Content:
    """Return the content of a table of ranks.

    Raises
    ------
    VocabularyError
        A line is not a token and an id, with the line number.
    """
    spelled: dict[int, bytes] = {}
    column: list[bytes] = []
    for number, line in enumerate(data.splitlines(), start=1):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != 2 or not fields[1].isdigit() or len(fields[1]) > 9:
            raise VocabularyError(f"line {number} must be a token in base64 and its id, not {line!r:.60}")
        try:
            token = binascii.a2b_base64(fields[0].lstrip(b"="), strict_mode=True)
        except ValueError as error:
            raise VocabularyError(f"line {number}: {fields[0]!r:.60} is not base64: {error}") from None
        rank = int(fields[1])
        if rank in spelled:
            raise VocabularyError(f"line {number}: id {rank} is given twice")
        spelled[rank] = token
        column.append(fields[0])
    first, names = _KNOWN.get(hashlib.sha256(b"\n".join(column)).hexdigest(), (0, ()))
    pretokenizer = _PRETOKENIZERS.get(first)
    unknown = "a table of ranks does not name its pretokenizer, and only those of GPT-2, Llama 3 and Qwen are known"
    encoding = unknown if pretokenizer is None else Encoding(None, pretokenizer)
    special = [(token, name) for token, name in enumerate(names, first) if name]
    return assemble(spelled.items(), special, encoding=encoding)
