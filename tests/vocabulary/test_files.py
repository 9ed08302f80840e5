"""The one entrance: what a file is, is told by what it holds; whatever it holds, there is a vocabulary or a clear error."""

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.errors import VocabularyError
from guided.vocabulary.files import read_file
from guided.vocabulary.vocabulary import Vocabulary
from tests.vocabulary.made import byte_fallback_bpe, byte_level_bpe, sentencepiece_model
from tests.vocabulary.test_gguf import KIND, TOKENS, file, types
from tests.vocabulary.test_tekken import document as tekken

# One small file of every format.
FILES: dict[str, bytes] = {
    "tokenizer.json": byte_level_bpe(280).to_str().encode(),
    "tokenizer.json, byte fallback": byte_fallback_bpe("prepend", 420).to_str().encode(),
    "tekken.json": json.dumps(tekken()).encode(),
    "SentencePiece": sentencepiece_model(vocab_size=400),
    "tiktoken": b"".join(base64.b64encode(bytes([i])) + b" %d\n" % i for i in range(256)),
    "GGUF": file(KIND, TOKENS, types(3, 1), ("tokenizer.ggml.eos_token_id", b"\x04\x00\x00\x00\x00\x00\x00\x00")),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


@pytest.mark.parametrize("name", ["tokenizer.json", "model.gguf", "x"])
@pytest.mark.parametrize("kind", FILES)
def test_the_name_does_not_matter(kind: str, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(FILES[kind])
    vocabulary = Vocabulary.from_file(tmp_path / name)
    assert vocabulary == Vocabulary.from_file(str(tmp_path / name))
    assert any(vocabulary)


@pytest.mark.parametrize("before", [b"\xef\xbb\xbf", b"  \n\t"])
def test_json_may_begin_with_a_mark_or_space(before: bytes, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(before + FILES["tokenizer.json"])
    assert any(Vocabulary.from_file(tmp_path / "x"))


def test_size_and_ends_are_the_callers_if_given(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(FILES["tokenizer.json"])
    vocabulary = Vocabulary.from_file(tmp_path / "x", 512, eos=[300, 0])
    assert (len(vocabulary), vocabulary.size, vocabulary.eos) == (280, 512, (0, 300))
    with pytest.raises(VocabularyError, match="size 279 is less than the 280 tokens"):
        Vocabulary.from_file(tmp_path / "x", size=279)
    with pytest.raises(VocabularyError, match="eos: id 5 spells"):
        Vocabulary.from_file(tmp_path / "x", eos=[5])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (
            b"hello world, this is text",
            r"unknown tokenizer format \(it begins with b'hello world, thi'\); supported are",
        ),
        (b"\x00" * 100, "unknown tokenizer format"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid",
            r"a Git LFS pointer: fetch the file itself \(git lfs pull\)",
        ),
        (b"PK\x03\x04....", "a zip archive"),
        (b"\x1f\x8b....", "compressed with gzip: unpack it first"),
        (b"\x80\x04\x95", "a pickle"),
        (b"<!DOCTYPE html>", "a web page or XML"),
        (b"{", "the JSON is truncated or damaged: .* line 1 column 2"),
        (b"[1]", "unknown tokenizer format"),
        (b'{"a": 1}', r"JSON, but neither tokenizer.json nor tekken.json \(its members: 'a'\)"),
        (b"{}", r"\(its members: none\)"),
        (b'{"model": "\xff"}', "the JSON is not UTF-8 at byte 11"),
        (b'{"model":' + b"[" * 100_000, "the JSON is nested too deeply"),
        (b'{"model": ' + b"1" * 5000 + b"}", "the JSON is truncated or damaged"),
        (json.dumps({f"t{i}": i for i in range(300)}).encode(), "this is a bare vocab.json, .* give tokenizer.json"),
        (
            json.dumps({**{f"t{i}": i for i in range(300)}, "model": 300, "config": 301, "vocab": 302}).encode(),
            "this is a bare vocab.json, .* give tokenizer.json",
        ),
    ],
)
def test_objects_that_are_not_tokenizers_are_reported(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(data)
    with pytest.raises(VocabularyError, match=message) as caught:
        Vocabulary.from_file(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_files_that_can_not_be_read(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match=r"nowhere: cannot be read: No such file"):
        Vocabulary.from_file(tmp_path / "nowhere")
    with pytest.raises(VocabularyError, match=r"has no tokenizer: expected tokenizer\.json, tekken\.json"):
        Vocabulary.from_file(tmp_path)
    with pytest.raises(VocabularyError, match="is not a path: it contains a zero byte"):
        Vocabulary.from_file("a\0b")


@pytest.mark.parametrize("path", [None, 5, ["x"], b"x"])
def test_a_path_is_a_path(path: Any) -> None:
    with pytest.raises(TypeError, match="path must be str or a path, not"):
        Vocabulary.from_file(path)


def test_a_file_too_large_for_a_tokenizer_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "x").open("wb") as large:
        large.write(b"{")
        os.truncate(large.fileno(), (1 << 30) + 1)
    with pytest.raises(VocabularyError, match="1,073,741,825 bytes are too many for a tokenizer"):
        Vocabulary.from_file(tmp_path / "x")


# ---------------------------------------------------------------------------------------------------------- damage


def read_damaged(path: Path, data: bytes) -> None:
    """A damaged file is a whole vocabulary or an error with its path, and nothing else."""
    path.write_bytes(data)
    try:
        content = read_file(path)
    except VocabularyError as error:
        told = str(error)
    else:
        vocabulary = Vocabulary(content.tokens, content.eos, None, content.special)
        told = f"{path}: {vocabulary.fingerprint} {len(vocabulary.trie.byte)}"
    assert told.startswith(f"{path}: ")


@pytest.mark.parametrize("kind", FILES)
@given(data=st.data())
def test_cut_files(kind: str, data: st.DataObject, folder: Path) -> None:
    read_damaged(folder / "cut", FILES[kind][: data.draw(st.integers(0, len(FILES[kind]) - 1))])


@pytest.mark.parametrize("kind", FILES)
@given(data=st.data())
def test_changed_files(kind: str, data: st.DataObject, folder: Path) -> None:
    changed = bytearray(FILES[kind])
    # Why half of them near the front: there stand the counts, types and lengths.
    places = st.integers(0, min(300, len(changed) - 1)) | st.integers(0, len(changed) - 1)
    for place, value in data.draw(st.lists(st.tuples(places, st.integers(0, 255)), min_size=1, max_size=4)):
        changed[place] = value
    read_damaged(folder / "changed", bytes(changed))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 300) | st.sampled_from(["", "a", "Ġ", "<s>", "\ud800", 10**12, 1.5]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "type", "id", "content"]), inner),
    max_leaves=6,
)


def places_in(value: Any) -> list[tuple[Any, Any]]:
    """Containers of a JSON document with a key or index each, but not every token of a long list."""
    found, pending = [], [value]
    while pending:
        current = pending.pop()
        keys = list(current) if isinstance(current, dict) else list(range(len(current)))
        for key in keys[:20]:
            found.append((current, key))
            if isinstance(current[key], dict | list):
                pending.append(current[key])
    return found


@pytest.mark.parametrize("kind", ["tokenizer.json", "tokenizer.json, byte fallback", "tekken.json"])
@given(data=st.data())
def test_json_with_other_values_in_its_places(kind: str, data: st.DataObject, folder: Path) -> None:
    document = json.loads(FILES[kind])
    container, key = data.draw(st.sampled_from(places_in(document)))
    container[key] = data.draw(JSON)
    read_damaged(folder / "other", json.dumps(document).encode())
