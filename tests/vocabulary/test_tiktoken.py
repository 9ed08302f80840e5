"""Tables of ranks in tiktoken's form."""

import base64
from pathlib import Path

import pytest

from guided.errors import VocabularyError
from guided.vocabulary.vocabulary import Vocabulary

TOKENS = [b"a", b"\x00\xff", b" the", b"x" * 1500, b""]


def saved(data: bytes, folder: Path) -> Path:
    path = folder / "any name"
    path.write_bytes(data)
    return path


def table(tokens: list[bytes], end: bytes = b"\n") -> bytes:
    return b"".join((base64.b64encode(token) or b"=") + b" %d" % i + end for i, token in enumerate(tokens))


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b" \n\n"])
def test_tokens_and_ids(end: bytes, tmp_path: Path) -> None:
    vocabulary = Vocabulary.from_file(saved(table(TOKENS, end), tmp_path))
    assert list(vocabulary) == [*TOKENS[:4], None]
    assert vocabulary.eos == ()
    assert dict(vocabulary.special) == {}


def test_ids_may_be_in_any_order_with_holes(tmp_path: Path) -> None:
    assert list(Vocabulary.from_file(saved(b"Yg== 3\nYQ== 0\n", tmp_path))) == [b"a", None, None, b"b"]


def test_special_tokens_and_ends_are_the_callers(tmp_path: Path) -> None:
    path = saved(table(TOKENS), tmp_path)
    vocabulary = Vocabulary.from_file(path, special={"<|endoftext|>": 6, "<|x|>": 5}, size=10)
    assert (len(vocabulary), vocabulary.size, vocabulary.eos) == (7, 10, (6,))
    assert dict(vocabulary.special) == {"<|endoftext|>": 6, "<|x|>": 5}
    assert Vocabulary.from_file(path, special={"<|x|>": 5}, eos=[5]).eos == (5,)
    assert Vocabulary.from_file(path, special={"<|endoftext|>": 5}, eos=[]).eos == ()
    with pytest.raises(VocabularyError, match="special token '<x>': id 0 spells b'a'"):
        Vocabulary.from_file(path, special={"<x>": 0})
    with pytest.raises(VocabularyError, match="special token '<x>': id -1 is out of range"):
        Vocabulary.from_file(path, special={"<x>": -1})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"YQ== 0\nYg==\n", "line 2 must be a token in base64 and its id, not b'Yg=='"),
        (b"YQ== 0\nYg== x\n", "line 2 must be a token in base64 and its id"),
        (b"YQ== 0\nYg== 1 2\n", "line 2 must be a token in base64 and its id"),
        (b"YQ== 0\nYg== 12345678901\n", "line 2 must be a token in base64 and its id"),
        (b"YQ== 0\nY 1\n", "line 2: b'Y' is not base64"),
        (b"YQ== 0\nYg== 0\n", "line 2: id 0 is given twice"),
        (b"YQ== 0\nYg== 999999999\n", "id 999999999 is out of range"),
    ],
)
def test_errors_are_reported_with_their_line(data: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match=message):
        Vocabulary.from_file(saved(data, tmp_path))
