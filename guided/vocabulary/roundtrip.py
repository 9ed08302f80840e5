"""Round-trip check of a loaded tokenizer: encode texts, join the bytes of the tokens, compare.

A text passes if the bytes of its tokens are the text itself (UTF-8), or the text after one space if the encoder adds a
dummy space, or else exactly the output of the tokenizer's own decoder: some tokenizers change texts before
they encode them (lower case, compatibility forms, runs of spaces, unknown characters), and the bytes are correct
nevertheless. A text that the encoder refuses proves nothing and is skipped.

The check covers the ways tokens are written, not each token: it finds a misread decoder, not a single wrong entry.
"""

from collections.abc import Callable, Sequence

from guided.errors import VocabularyError

__all__ = ["TEXTS", "prove_round_trip"]

TEXTS = (
    "The quick brown fox jumps over 13 lazy dogs, 3.14159265 times in 2026.",
    'def f(x):\n\tif x >= 10:\n        return {"a": [x, None]}  # 100%\r\n\r\n',
    "two  three   four    eight        sixteen                .",
    "  leading and trailing  ",
    '{"name": "get_weather", "arguments": {"city": "Zürich", "days": 3, "metric": true}}',
    "Größe, naïve, Ænima, łódź, İstanbul, Đặng",
    "Привет, мир! Γειά σου. שלום עולם, مرحبا بالعالم, नमस्ते दुनिया, สวัสดีชาวโลก",
    "你好，世界。こんにちは、世界。안녕하세요. 𠮷野家",
    "👍🏽 👩‍👩‍👧‍👦 🇺🇳 🤷 ∀x∈ℝ: √x ≤ 1 – “quoted”…",
    "\x00\x01\x7f\u00a0\u200b\ufeff\U0010fffd",
)


def prove_round_trip(
    tokens: Sequence[bytes | None],
    encode: Callable[[str], Sequence[int] | None],
    decode: Callable[[Sequence[int]], str],
    dummy_prefix: bool,
    texts: Sequence[str] = TEXTS,
) -> None:
    """Check that the tokens of texts spell the texts.

    Parameters
    ----------
    tokens : sequence of (bytes or None)
        Expected bytes of each id.
    encode : callable from str to ids
        The tokenizer's encoder, without the special tokens it puts around a text; None for a text that it refuses.
    decode : callable from ids to str
        The tokenizer's decoder, without special tokens.
    dummy_prefix : bool
        The encoder may put a space before a text.
    texts : sequence of str
        Texts to encode.

    Raises
    ------
    VocabularyError
        With the text and the first token that spells something else.
    """
    for text in texts:
        ids = encode(text)
        if ids is None:
            continue
        data = b"".join(_bytes_of(tokens, token) for token in ids)
        wanted = text.encode("utf-8")
        if data == wanted or (dummy_prefix and data == b" " + wanted):
            continue
        spelled, decoded = data.decode("utf-8", "replace"), decode(ids)
        if spelled == decoded or (dummy_prefix and spelled == " " + decoded):
            continue
        raise VocabularyError(_mismatch(tokens, ids, text, wanted, dummy_prefix))


def _bytes_of(tokens: Sequence[bytes | None], token: int) -> bytes:
    return (tokens[token] or b"") if 0 <= token < len(tokens) else b""


def _mismatch(tokens: Sequence[bytes | None], ids: Sequence[int], text: str, wanted: bytes, dummy_prefix: bool) -> str:
    """Describe the token at which the bytes differ from the text."""
    if dummy_prefix and ids and _bytes_of(tokens, ids[0]).startswith(b" ") and not wanted.startswith(b" "):
        wanted = b" " + wanted
    offset = 0
    for number, token in enumerate(ids):
        data = _bytes_of(tokens, token)
        if not wanted.startswith(data, offset):
            rest = wanted[offset : offset + max(len(data), 1)]
            return (
                f"the tokens of {text!r:.80} do not spell it: token {token} (number {number}) should spell {data!r:.60}, "
                f"but the text continues with {rest!r:.60}. {_ADVICE}"
            )
        offset += len(data)
    return f"the tokens of {text!r:.80} do not spell it: they end before {wanted[offset:]!r:.60}. {_ADVICE}"


_ADVICE = "This tokenizer writes its tokens in a way not known here; give their bytes to guided.Vocabulary(tokens, ...)"
