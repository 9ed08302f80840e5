"""``guided vocabulary``."""

import json
from pathlib import Path

import pytest

from tests.cli.programs import call, errors_of, reply, write_ranks
from tests.real_vocabularies import NAMES, real_file, real_vocabulary

KINDS = {
    "smollm2": "GGUF",
    "mistral-32k": "SentencePiece",
    "gpt2": "tiktoken ranks",
    "llama3-128k": "tiktoken ranks",
    "deepseek-128k": "tokenizer.json",
    "tekken-131k": "tekken.json",
    "qwen-151k": "tiktoken ranks",
}


@pytest.mark.network
@pytest.mark.parametrize("name", NAMES)
def test_real_vocabularies(name: str) -> None:
    vocabulary = real_vocabulary(name)
    found = reply("vocabulary", str(real_file(name)))
    assert found["kind"] == KINDS[name]
    assert (found["ids"], found["size"]) == (len(vocabulary), vocabulary.size)
    assert found["spelled"] == sum(1 for data in vocabulary if data)
    assert [end["id"] for end in found["eos"]] == list(vocabulary.eos)
    assert found["special"] == dict(vocabulary.special)
    assert found["missing_bytes"] == list(vocabulary.missing_bytes)
    assert [tuple(group["ids"]) for group in found["duplicates"]] == list(vocabulary.duplicates)
    assert found["longest"][0]["bytes"] == vocabulary.trie.max_depth
    assert found["spelled"] + found["unused"] + len({*vocabulary.eos, *vocabulary.special.values()}) == found["ids"]
    proof = found["round_trip"]
    assert proof["proved"] == (KINDS[name] in ("tokenizer.json", "SentencePiece"))
    assert proof["spelled"] == proof["texts"] == 10


def test_is_shown_to_people(tmp_path: Path) -> None:
    lines = write_ranks(tmp_path / "ranks", b"ab" * 20, b"b", b"\xe9" * 30).read_bytes().splitlines(keepends=True)
    del lines[0xC0:0xC2]
    (tmp_path / "ranks").write_bytes(b"".join(lines))
    done = call("vocabulary", str(tmp_path / "ranks"), "--top", "2")
    assert (done.exit_code, done.stderr) == (0, "")
    rows = dict(line.split("  ", 1) for line in done.stdout.splitlines())
    rows = {name: value.strip() for name, value in rows.items()}
    assert rows["kind"] == "tiktoken ranks"
    assert rows["ids"] == "259, of which 257 spell something"
    assert rows["end of text"] == "none known: give its id with --eos"
    assert rows["unused ids"] == "2"
    assert rows["duplicates"] == "1: 'b' (98 257)"
    assert rows["missing bytes"] == "0xC0-0xC1"
    assert rows["longest"] == f"256 'abababababababababababab'... (40 bytes), 258 {bytes([0xE9]) * 24}... (30 bytes)"
    assert rows["round trip"] == "not proved: there is no encoder for tiktoken ranks; 10 of 10 sample texts have tokens"


def test_an_end_that_is_given(tmp_path: Path) -> None:
    found = reply("vocabulary", str(write_ranks(tmp_path / "ranks")), "--eos", "256")
    assert found["eos"] == [{"id": 256, "name": "<end 256>"}]


def test_texts_that_can_not_be_spelled(tmp_path: Path) -> None:
    lines = write_ranks(tmp_path / "ranks").read_bytes().splitlines(keepends=True)
    (tmp_path / "ranks").write_bytes(b"".join(lines[:128]))
    assert reply("vocabulary", str(tmp_path / "ranks"))["round_trip"]["spelled"] == 4


@pytest.mark.network
def test_a_round_trip_that_no_package_can_prove(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    found = reply("vocabulary", str(real_file("mistral-32k")))["round_trip"]
    assert (found["proved"], found["reason"]) == (False, "sentencepiece is not installed")


@pytest.mark.model
def test_the_default_models() -> None:
    found = reply("vocabulary")
    assert (found["kind"], found["ids"], found["round_trip"]["proved"]) == ("tokenizer.json", 49152, True)


def test_errors(tmp_path: Path) -> None:
    assert errors_of("vocabulary", "none") == "Error: none: cannot be read: No such file or directory\n"
    (tmp_path / "empty").write_bytes(b"")
    assert errors_of("vocabulary", str(tmp_path / "empty")).endswith("the file is empty\n")
    assert json.loads(call("vocabulary", "none", "--json").stderr)["error"] == "VocabularyError"
    assert "has no tokenizer: expected tokenizer.json, tekken.json" in errors_of("vocabulary", str(tmp_path))
