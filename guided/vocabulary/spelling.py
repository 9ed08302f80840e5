"""Conversion of token texts in tokenizer files to bytes.

Two families cover the generative models:

- *byte-level*: every byte is written as one printable character (GPT-2's table: ``Ġ`` is a space, ``Ċ`` a newline). A
  token with a character outside that table is its own UTF-8 (added tokens such as runs of spaces).
- *SentencePiece*: ``▁`` is a space, ``<0x0A>`` a single byte, everything else its own UTF-8.

In a tokenizer.json the tokenizer's own decoder defines the conversion, step by step. A step that works on each token by itself is
applied to it. The only supported step over whole texts strips the dummy space that SentencePiece puts before a
text. That space stays in the bytes: a token ``▁The`` spells " The" everywhere, so a *generated* text may begin with a space.
All other decoders join or clean texts, so that a token by itself has no definite bytes
(WordPiece drops the spaces, BPEDecoder cuts the last suffix); they are refused.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from guided.errors import VocabularyError
from guided.vocabulary.fields import member

__all__ = ["Spelling", "byte_level", "sentencepiece", "spelling_of", "utf8"]

_SPACE = "\u2581"


@dataclass(frozen=True, slots=True)
class Spelling:
    """Effect of a tokenizer's decoder on single tokens.

    Attributes
    ----------
    spell : callable from str to bytes
        The bytes of a token of the model.
    spell_added : callable from str to bytes
        The bytes of a token that was added to the model's.
    dummy_prefix : bool
        The encoder may put a space before a text.
    """

    spell: Callable[[str], bytes]
    spell_added: Callable[[str], bytes]
    dummy_prefix: bool


def _byte_level_table() -> dict[int, str]:
    """Return the `str.translate` table from GPT-2's characters to Latin-1; other Latin-1 characters map outside Latin-1."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    table = dict.fromkeys(others, "\uffff")
    return table | {0x100 + i: chr(byte) for i, byte in enumerate(others)}


_FROM_BYTE_LEVEL = _byte_level_table()


def utf8(text: str) -> bytes:
    """Return the UTF-8 of the text."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise VocabularyError(f"token {text!r:.60} holds half a surrogate pair, which UTF-8 cannot spell") from None


def byte_level(text: str) -> bytes:
    """Return the bytes of a byte-level token."""
    try:
        return text.translate(_FROM_BYTE_LEVEL).encode("latin-1")
    except UnicodeEncodeError:
        return utf8(text)


def sentencepiece(text: str) -> bytes:
    """Return the bytes of a SentencePiece token."""
    value = byte_of(text)
    return utf8(text.replace(_SPACE, " ")) if value is None else value


def byte_of(text: str) -> bytes | None:
    """Return the byte of a token of the form ``<0x0A>``, or None."""
    if len(text) != 6 or not text.startswith("<0x") or not text.endswith(">"):
        return None
    try:
        return bytes.fromhex(text[3:5])
    except ValueError:
        return None


def spelling_of(document: Mapping[str, Any]) -> Spelling:
    """Return the effect of the decoder of a tokenizer.json.

    Raises
    ------
    VocabularyError
        A decoder or a step under which a single token has no definite bytes, with its name.
    """
    steps = _flattened(document.get("decoder"), "decoders", "decoder")
    before = [
        *_flattened(document.get("normalizer"), "normalizers", "normalizer"),
        *_flattened(document.get("pre_tokenizer"), "pretokenizers", "pre_tokenizer"),
    ]
    if not steps:
        # Why: without a decoder, tokens are joined by spaces, but the encoder's last step still defines their bytes.
        steps = [step for step in before if step.get("type") in ("ByteLevel", "Metaspace")]
    dummy_prefix = any(map(_adds_space, before)) or any(map(_strips_space, steps))
    if any(step.get("type") == "ByteLevel" for step in steps):
        _refuse_unless(steps, {"ByteLevel", "Fuse"})
        # An added token is matched in the text before bytes are mapped to characters.
        return Spelling(byte_level, utf8, dummy_prefix)
    spell = _by_steps(steps)
    return Spelling(spell, spell, dummy_prefix)


def _flattened(step: Any, children: str, place: str) -> list[Mapping[str, Any]]:
    """Return the steps of a pipeline in order, with nested sequences flattened."""
    if step is None:
        return []
    flat: list[Mapping[str, Any]] = []
    pending = [(step, place)]
    while pending:
        current, where = pending.pop()
        if member(current, "type", str, where) == "Sequence":
            inner = member(current, children, list, where)
            pending.extend((child, f"{where}.{children}[{i}]") for i, child in reversed(list(enumerate(inner))))
        else:
            flat.append(current)
    return flat


def _by_steps(steps: list[Mapping[str, Any]]) -> Callable[[str], bytes]:
    """Return one function for the steps that work on each token alone."""
    _refuse_unless(steps, {"Replace", "ByteFallback", "Fuse", "Strip", "Metaspace"})
    replacements: list[tuple[str, str]] = []
    byte_fallback = fused = False
    for step in steps:
        kind = step["type"]
        if kind == "Replace":
            pattern = member(step, "pattern", dict, "decoder Replace")
            replacements.append(
                (
                    member(pattern, "String", str, "decoder Replace: pattern"),
                    member(step, "content", str, "decoder Replace"),
                )
            )
        elif kind == "Metaspace":
            replacements.append((member(step, "replacement", str, "decoder Metaspace"), " "))
        elif kind == "ByteFallback":
            byte_fallback = True
        elif kind == "Fuse":
            fused = True
        elif not fused or step.get("stop") or not _strips_space(step):
            raise VocabularyError(
                f"decoder Strip is understood only for spaces before the whole text, not as {step!r:.80}"
            )
        if fused and kind in ("Replace", "ByteFallback", "Metaspace"):
            raise VocabularyError(
                f"decoder step {kind} after Fuse works on whole texts, so a single token has no definite bytes"
            )

    def spell(text: str) -> bytes:
        for old, new in replacements:
            text = text.replace(old, new)
        value = byte_of(text) if byte_fallback else None
        return utf8(text) if value is None else value

    return spell


def _refuse_unless(steps: list[Mapping[str, Any]], known: set[str]) -> None:
    for step in steps:
        if step["type"] not in known:
            raise VocabularyError(
                f"decoder {step['type']} is not supported: with it, a single token has no definite bytes. "
                "Byte-level and SentencePiece tokenizers are; or give the bytes to guided.Vocabulary(tokens, ...)"
            )


def _adds_space(step: Mapping[str, Any]) -> bool:
    """Return whether the encoder's step puts a space before the text."""
    if step["type"] == "ByteLevel":
        return bool(step.get("add_prefix_space"))
    if step["type"] == "Metaspace":
        return step.get("prepend_scheme", "always") != "never" and step.get("add_prefix_space", True) is not False
    return bool(step["type"] == "Prepend")


def _strips_space(step: Mapping[str, Any]) -> bool:
    """Return whether the decoder's step removes that space again."""
    if step["type"] == "Metaspace":
        return _adds_space(step)
    return bool(step["type"] == "Strip" and step.get("content") == " ")
