"""``guided explain``."""

from pathlib import Path

import pytest

import guided
from guided.cli.vocabularies import read_vocabulary
from tests.cli.programs import call, errors_of, reply, write_ranks
from tests.real_vocabularies import real_file

DATE = r"[0-9]{4}-[0-9]{2}"


@pytest.fixture
def tokens(tmp_path: Path) -> list[str]:
    """The options that name a vocabulary of all bytes, ``20``, ``024`` and ``-1``, and its end, 259."""
    return ["--vocabulary", str(write_ranks(tmp_path / "ranks", b"20", b"024", b"-1")), "--eos", "259"]


def test_a_token_that_is_allowed(tokens: list[str]) -> None:
    done = call("explain", "--regex", DATE, *tokens, "--after", "2024", "--", "-1")
    assert done.exit_code == 0
    assert done.stdout == (
        "after '2024': 2 of 260 tokens are allowed\n"
        "    45 '-', 258 '-1'\n"
        "    at least 2 more tokens to the end\n"
        "    the text must continue with '-'\n"
        "token 258, '-1', is allowed: all its bytes fit\n"
    )


def test_a_token_that_is_not_allowed_by_its_text(tokens: list[str]) -> None:
    done = call("explain", "--regex", DATE, *tokens, "--after", "2024", "--text", "20")
    assert done.exit_code == 1
    assert done.stdout.endswith(
        "token 256, '20', is not allowed: its byte 0 (b'2') is not allowed there; expected '-'\n"
    )


def test_digits_are_an_id(tokens: list[str]) -> None:
    assert reply("explain", "--regex", DATE, *tokens, "50")["verdicts"][0]["text"] == "2"
    assert reply("explain", "--regex", DATE, *tokens, "50", "--text")["verdicts"][0]["id"] == 53


def test_a_text_of_several_tokens_up_to_the_first_refusal(tokens: list[str]) -> None:
    done = call("explain", "--regex", DATE, *tokens, "20x4")
    assert done.exit_code == 1
    assert done.stdout.splitlines()[-3:] == [
        "the text is not a single token; split into the fewest tokens:",
        "token 256, '20', is allowed: all its bytes fit",
        "token 120, 'x', is not allowed: its byte 0 (b'x') is not allowed there; expected '0' to '9'",
    ]


def test_without_a_token_the_allowed_ones(tokens: list[str]) -> None:
    done = call("explain", "--regex", DATE, *tokens, "--sample", "3")
    assert done.exit_code == 0
    assert done.stdout == (
        "after '': 12 of 260 tokens are allowed\n    48 '0', 49 '1', 50 '2', ...\n    at least 4 more tokens to the end\n"
    )
    assert reply("explain", "--regex", DATE, *tokens, "--sample", "2") == {
        "after": "",
        "allowed": 12,
        "may_end": False,
        "least_tokens": 4,
        "forced": "",
        "sample": [{"id": 48, "text": "0"}, {"id": 49, "text": "1"}],
        "verdicts": [],
    }


def test_where_the_text_may_end(tokens: list[str]) -> None:
    done = call("explain", "--choice", "yes", *tokens, "--after", "yes", "259")
    assert done.exit_code == 0
    assert "the text may end here" in done.stdout
    assert done.stdout.endswith("token 259, which has no bytes, is allowed: the text may end here\n")
    done = call("explain", "--choice", "yes", *tokens, "--after", "ye", "259")
    assert done.exit_code == 1
    assert "it ends the text, which is not complete; expected 's'" in done.stdout


def test_a_text_outside_the_language_is_reported_with_its_position(tokens: list[str]) -> None:
    done = call("explain", "--regex", DATE, *tokens, "--after", "20x", "1")
    assert done.exit_code == 1
    assert done.stdout == (
        "no token is allowed after '20x': no accepted text begins with it\n    20x\n      ^\nexpected '0' to '9'\n"
    )
    found = reply("explain", "--regex", DATE, *tokens, "--after", "20x")
    assert found["failed"] == {"byte": 2, "character": 2, "ends_early": False, "expected": "'0' to '9'"}


@pytest.mark.network
def test_the_name_of_a_special_token_of_a_real_vocabulary() -> None:
    file = str(real_file("smollm2"))
    found = reply("explain", "--regex", "a+", "--vocabulary", file, "--after", "aa", "<|im_end|>")
    assert found["verdicts"][0]["id"] == 2
    assert found["verdicts"][0]["allowed"] is True
    assert found["may_end"] is True
    found = reply("explain", "--regex", "<.*", "--vocabulary", file, "<|im_end|>", "--text")
    assert len(found["verdicts"]) > 1


@pytest.mark.network
def test_tokens_that_are_parts_of_characters_are_shown_as_bytes() -> None:
    done = call("explain", "--regex", "é", "--vocabulary", str(real_file("smollm2")))
    assert "'é'" in done.stdout
    assert "b'\\xc3'" in done.stdout


def test_errors(tokens: list[str]) -> None:
    assert errors_of("explain", "--regex", "a", *tokens, "260") == (
        "Error: no token 260: ids are 0 to 259 (--text reads it as text)\nTry 'guided explain --help' for help.\n"
    )
    assert errors_of("explain", "--regex", "a", *tokens, "").startswith("Error: TOKEN '' is empty\n")
    assert "Error: no constraint given" in errors_of("explain", *tokens)
    assert errors_of("explain", *tokens, "1").startswith(
        "Error: no such index file: 1 (or pass one of --regex, --choice, --tools, --json-schema, --grammar and --spec)\n"
    )
    assert "Error: missing )" in errors_of("explain", "--regex", "(", *tokens, "1")
    assert "--sample" in errors_of("explain", "--regex", "a", *tokens, "--sample", "-1")


def test_a_text_that_the_vocabulary_can_not_spell(tmp_path: Path) -> None:
    lines = write_ranks(tmp_path / "ranks").read_bytes().splitlines(keepends=True)
    lines[ord("b")] = b"YmI= 98\n"
    (tmp_path / "ranks").write_bytes(b"".join(lines))
    arguments = ["explain", "--regex", "(bb|c)", "--vocabulary", str(tmp_path / "ranks"), "--eos", "256"]
    assert errors_of(*arguments, "b").startswith("Error: TOKEN 'b' cannot be spelled with this vocabulary\n")
    assert call(*arguments, "--after", "b", "99").stdout.startswith("no token is allowed after 'b'")


def test_an_index_file_describes_its_spec(tokens: list[str], tmp_path: Path) -> None:
    file = str(tmp_path / "date.index")
    guided.compile(guided.Regex(DATE), read_vocabulary(tmp_path / "ranks", [259])).save(file)
    for arguments in (["--after", "20"], ["24", "--after", "20"], ["--after", "20x"], ["259", "--text"]):
        by_file, by_spec = (call("explain", *what, *arguments, *tokens) for what in ([file], ["--regex", DATE]))
        assert (by_file.exit_code, by_file.output) == (by_spec.exit_code, by_spec.output)
    assert "another vocabulary" in errors_of("explain", file, "--vocabulary", str(tmp_path / "ranks"), "--eos", "260")
