"""``guided inspect``: sizes, masks, graphs."""

import json
from pathlib import Path

import numpy as np
import pytest

import guided
from guided.cli.vocabularies import read_vocabulary
from guided.index.storage import FORMAT_VERSION
from tests.cli.programs import call, errors_of, reply, write_ranks

PATTERN = r"[0-9]{4}-[0-9]{2}|é+x?"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with an index and its vocabulary."""
    monkeypatch.chdir(tmp_path)
    write_ranks(tmp_path / "ranks", b"20", b"024", b"-1")
    guided.compile(guided.Regex(PATTERN), read_vocabulary(Path("ranks"), [259])).save("a.index")
    return tmp_path


VOCABULARY = ["--vocabulary", "ranks", "--eos", "259"]


def test_sizes(folder: Path) -> None:
    index = guided.load_index("a.index", read_vocabulary(Path("ranks"), [259]))
    found = reply("inspect", "a.index")
    assert found["bytes"] == Path("a.index").stat().st_size
    assert found["format"] == FORMAT_VERSION
    assert found["spec"] == index.spec_fingerprint == guided.Regex(PATTERN).fingerprint
    assert found["vocabulary"] == index.vocabulary.fingerprint
    assert (found["tokens"], found["states"], found["accepting"]) == (
        260,
        index.n_states,
        sum(index.tables.automaton.accepting),
    )
    assert found["shortest"] == "é"
    assert found["most_tokens"] == max(index.remaining(state) for state in range(index.n_states))
    assert {array["name"]: array["bytes"] for array in found["arrays"]} == {
        name: array.nbytes for name, array in index.tables.arrays().items()
    }


def test_masks_are_those_of_the_index(folder: Path) -> None:
    index = guided.load_index("a.index", read_vocabulary(Path("ranks"), [259]))
    found = reply("inspect", "a.index", "--top", "100", "--sample", "300", *VOCABULARY)["masks"]
    assert found["distinct"] == len(found["shown"]) > 5
    of_state = {tuple(index.allowed(state)): state for state in range(index.n_states)}
    assert len(of_state) == found["distinct"]
    for mask in found["shown"]:
        state = index.tables.automaton.run(
            mask["after"].encode("latin-1").replace(b"\\xc3", b"\xc3").replace(b"\xe9", b"\xc3\xa9")
        )
        assert state == mask["state"]
        allowed = [token for token in index.allowed(state) if token != 259]
        assert mask["tokens"] == len(allowed)
        assert [token["id"] for token in mask["sample"]] == allowed
        assert mask["may_end"] == index.is_accepting(state)
        same = [np.array_equal(index.mask(state), index.mask(other)) for other in range(index.n_states)]
        assert mask["states"] == sum(same)
    counts = [mask["tokens"] for mask in found["shown"]]
    assert counts == sorted(counts, reverse=True)


def test_the_densest_and_the_sparsest(folder: Path) -> None:
    every = reply("inspect", "a.index", "--top", "100")["masks"]["shown"]
    assert reply("inspect", "a.index", "--top", "2")["masks"]["shown"] == every[:2] + every[-2:]
    assert reply("inspect", "a.index", "--top", "0")["masks"]["shown"] == []


def test_is_shown_to_people(folder: Path) -> None:
    done = call("inspect", "a.index", *VOCABULARY, "--sample", "3")
    assert (done.exit_code, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert (
        lines[0]
        == f"file           a.index, {Path('a.index').stat().st_size:,} bytes, version {FORMAT_VERSION} of the format"
    )
    assert "shortest text  'é'" in lines
    assert any(line.startswith("token_function  int32  260 ") for line in lines)
    (head,) = [number for number, line in enumerate(lines) if line.startswith("mask ")]
    assert lines[head].split("  ")[-1] == "some of the tokens"
    assert lines[head + 1].endswith("'0', '4', '7'") or "''" in lines[head + 1]
    assert "some of the tokens" not in call("inspect", "a.index").stdout


def test_writes_a_graph(folder: Path) -> None:
    assert reply("inspect", "a.index", "--graph", "a.dot")["graph"] == "a.dot"
    assert Path("a.dot").read_text().startswith("digraph index {\n")
    assert "graph" not in reply("inspect", "a.index")
    done = call("inspect", "a.index", "--graph", "a.svg")
    assert "graph          a.svg" in done.stdout.splitlines()
    assert Path("a.svg").read_text().startswith("<svg ")


def test_errors(folder: Path) -> None:
    assert errors_of("inspect", "none") == "Error: none cannot be read: No such file or directory\n"
    assert errors_of("inspect", "ranks") == "Error: ranks is not an index file\n"
    assert "--graph a.png: the file name must end in .dot, .gv or .svg" in errors_of(
        "inspect", "a.index", "--graph", "a.png"
    )
    message = errors_of("inspect", "a.index", "--graph", "a.svg", "--max-states", "3")
    assert "states, and the limit is 3; raise it with --max-states" in message
    assert not Path("a.svg").exists()
    assert "no/a.svg: No such file" in errors_of("inspect", "a.index", "--graph", "no/a.svg")
    assert "was compiled for another vocabulary" in errors_of(
        "inspect", "a.index", "--vocabulary", "ranks", "--eos", "260"
    )


def test_a_pattern_with_digits_is_drawn_with_ascii_and_the_advice_says_so(folder: Path) -> None:
    compiling = ["compile", "--regex", r"\d{4}-\d{2}", "-o", "."]
    assert call(*compiling, *VOCABULARY).exit_code == 0
    assert "compiled with -O ascii=true" in errors_of("inspect", "regex.index", "--graph", "a.svg")
    assert call(*compiling, "-O", "ascii=true", *VOCABULARY).exit_code == 0
    assert reply("inspect", "regex.index", "--graph", "a.svg")["states"] == 8
    assert Path("a.svg").read_text().startswith("<svg")
    content = bytearray(Path("a.index").read_bytes())
    content[-1] ^= 1
    Path("a.index").write_bytes(content)
    assert "a.index is damaged: its content does not fit its checksum" in errors_of("inspect", "a.index")
    assert json.loads(call("inspect", "a.index", "--json").stderr)["error"] == "IndexFormatError"
