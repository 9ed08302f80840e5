"""``guided check``."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import guided
from guided.cli.check import first_rejection
from guided.cli.vocabularies import read_vocabulary
from guided.engine.specs import Regex
from guided.limits import Limits
from tests.cli.programs import call, errors_of, process, reply, write_ranks

DATE = r"[0-9]{4}-[0-9]{2}"


def test_says_that_a_text_is_accepted() -> None:
    done = call("check", "--regex", DATE, "2024-10")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "accepted\n", "")


def test_shows_where_a_text_fails_and_the_expected_characters() -> None:
    done = call("check", "--regex", DATE, "2024-1x")
    assert done.exit_code == 1
    assert done.stdout == (
        "rejected: character 6 ('x') is not allowed there\n"  #
        "    2024-1x\n"
        "          ^\n"
        "expected '0' to '9'\n"
    )


def test_shows_that_a_text_ends_too_early() -> None:
    done = call("check", "--regex", DATE, "2024")
    assert done.exit_code == 1
    assert done.stdout == "rejected: the text ends too early\n    2024\n        ^\nexpected '-'\n"


def test_shows_that_a_text_is_too_long() -> None:
    done = call("check", "--regex", DATE, "2024-100")
    assert done.stdout.endswith("           ^\nexpected the end of the text\n")


@pytest.mark.parametrize(("text", "code"), [("yes", 0), ("no", 0), ("n", 1), ("yesno", 1)])
def test_choices(text: str, code: int) -> None:
    assert call("check", "--choice", "yes", "--choice", "no", text).exit_code == code


def test_ascii_is_an_option_of_patterns() -> None:
    assert call("check", "--regex", r"\d", "\u0661").exit_code == 0
    assert call("check", "-O", "ascii=true", "--regex", r"\d", "\u0661").exit_code == 1
    assert call("check", "-O", "ascii=true", "--regex", r"\d", "1").exit_code == 0
    assert call("check", "-O", "ascii=true", "--choice", "a", "a").exit_code == 2


def test_ignored_text_of_grammars_is_bounded() -> None:
    grammar = 'start: "a" "b"\n%ignore " "'
    assert call("check", "--grammar", grammar, "a   b").exit_code == 0
    assert call("check", "--grammar", grammar, "-O", "max_ignored=2", "a   b").exit_code == 1
    assert call("check", "--grammar", grammar, "-O", "max_ignored=2", "a  b  ").exit_code == 0
    assert call("check", "--choice", "a", "-O", "max_ignored=2", "a").exit_code == 2


def test_strict_keywords_refuse_misspelled_ones(tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    file.write_text('{"type": "object", "requred": ["a"]}')
    run = call("check", "--json-schema", str(file), "{}")
    assert (run.exit_code, run.stdout) == (
        0,
        "accepted\nnote: unknown keyword 'requred' at the root has no effect: is 'required' meant?\n",
    )
    run = call("check", "-O", "strict_keywords=true", "--json-schema", str(file), "{}")
    assert run.exit_code == 2
    assert "is 'required' meant?" in run.stderr
    assert call("check", "-O", "strict_keywords=true", "--choice", "a", "a").exit_code == 2


# An option of each kind of constraint by the command line, a text that it refuses, and one that it allows.
BY_OPTION: list[tuple[list[str], str, str, str]] = [
    (["--json-schema"], "max_length=2", '{"a": "xyz"}', '{"a": "xy"}'),
    (["--json-schema"], "max_digits=1", '{"a": 12}', '{"a": 1}'),
    (["--json-schema"], "max_items=1", '{"a": [1, 2]}', '{"a": [1]}'),
    (["--json-schema"], "max_properties=1", '{"a": 1, "b": 2}', '{"b": 2}'),
    (["--json-schema"], "whitespace=compact", '{"a": 1}', '{"a":1}'),
    (["--json-schema"], 'whitespace=[", ", ": "]', '{"a":1}', '{"a": 1}'),
    (["--json-schema"], "whitespace=0", '{"a": 1}', '{"a":1}'),
    (["--json-schema"], 'escapes=["n"]', '{"a": "\\t"}', '{"a": "\\n"}'),
    (["--json-schema"], "escapes=canonical", '{"a": "\\u0061"}', '{"a": "a"}'),
    (["--regex", r"\d"], "ascii=true", "\u0661", "1"),
    (["--grammar", 'start: "a" "b"\n%ignore " "'], "max_ignored=1", "a  b", "a b"),
    (["--tools"], "max_digits=1", '{"name": "f", "arguments": {"x": 12}}', '{"name": "f", "arguments": {"x": 1}}'),
]


@pytest.mark.parametrize(("kind", "option", "refused", "allowed"), BY_OPTION)
def test_any_option_of_a_constraint_is_given_by_its_name(
    kind: list[str], option: str, refused: str, allowed: str, tmp_path: Path
) -> None:
    (tmp_path / "schema.json").write_text(
        '{"type": "object", "properties": {"a": {"type": ["string", "number", "array"]}}}'
    )
    (tmp_path / "tools.json").write_text(
        '[{"name": "f", "parameters": {"type": "object", "properties": {"x": {"type": "integer"}}}}]'
    )
    files = {
        "--json-schema": [str(tmp_path / "schema.json")],
        "--tools": [str(tmp_path / "tools.json"), "--tool-choice", "required"],
    }
    given = [*kind, *files.get(kind[0], [])]
    assert call("check", *given, "--option", option, refused).exit_code == 1
    assert call("check", *given, "-O", option, allowed).exit_code == 0
    if option != "escapes=canonical":
        assert call("check", *given, refused).exit_code == 0


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("max_lenght=2", "did you mean 'max_length'"),
        ("max_length", "NAME=VALUE"),
        ("max_length=two", "max_length must be a number"),
        ("max_length=0", "max_length must be an integer >= 1"),
        ("start=a", "--option start needs --grammar"),
        ("tool_choice=none", "unknown option"),
        ('escapes=["x"]', "must list what may follow a backslash"),
    ],
)
def test_other_options_are_refused(option: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text("{}")
    run = call("check", "--json-schema", str(tmp_path / "schema.json"), "--option", option, "{}")
    assert run.exit_code == 2
    assert message in run.stderr


def test_the_empty_pattern_is_a_pattern() -> None:
    assert call("check", "--regex", "", "").exit_code == 0
    assert call("check", "--regex", "", "a").exit_code == 1


def test_the_caret_is_below_wide_characters() -> None:
    done = call("check", "--regex", "日本[a-z]+", "日本語")
    assert done.stdout.splitlines()[1:3] == ["    日本語", "        ^"]


def test_the_caret_is_below_escaped_characters() -> None:
    done = call("check", "--regex", "(?s)\x1b[a-z].", "\x1ba")
    assert done.stdout.splitlines()[1:3] == ["    \\x1ba", "         ^"]


def test_a_long_text_is_cut_around_the_place() -> None:
    done = call("check", "--regex", "a*", "a" * 200 + "b" + "a" * 200)
    text, caret = done.stdout.splitlines()[1:3]
    assert len(text) < 80
    assert text[caret.index("^")] == "b"


def test_nothing_in_a_text_steers_the_terminal() -> None:
    done = call("check", "--regex", "a", "\x1b[31m[red]x[/red]\u202e")
    assert "\\x1b[31m[red]x[/red]\\u202e" in done.stdout
    assert "\x1b" not in done.stdout


def test_standard_input_loses_the_newline_at_its_end() -> None:
    assert call("check", "--regex", "ab", "-", stdin=b"ab\n").exit_code == 0
    assert call("check", "--regex", "ab", "-", stdin=b"ab\r\n").exit_code == 0
    assert call("check", "--regex", "ab\n", "-", stdin=b"ab\n\n").exit_code == 0
    assert call("check", "--regex", "ab", "-", stdin=b"ab").exit_code == 0


def test_invalid_utf_8_is_rejected_at_its_place() -> None:
    done = call("check", "--regex", "é+", "-", stdin=b"\xc3\xa9\xff")
    assert done.exit_code == 1
    assert done.stdout.startswith("rejected: character 1 (the byte 0xff) is not allowed there\n    é\\xff\n     ^\n")


def test_an_argument_may_be_bytes_that_are_not_utf_8() -> None:
    done = process("check", "--regex", "é+", b"\xc3")  # type: ignore[arg-type]
    assert done.returncode == 1
    assert done.stdout.decode().startswith("rejected: the text ends too early\n    \\xc3\n    ^\nexpected 'é'")


def test_json() -> None:
    assert reply("check", "--regex", DATE, "2024-10") == {"accepted": True}
    assert reply("check", "--regex", "日[0-9]", "日x") == {
        "accepted": False,
        "byte": 3,
        "character": 1,
        "ends_early": False,
        "expected": "'0' to '9'",
    }
    assert reply("check", "--regex", DATE, "20")["ends_early"] is True


def test_reads_token_by_token(tmp_path: Path) -> None:
    ranks = write_ranks(tmp_path / "ranks", b"20", b"024", b"-1")
    arguments = ["check", "--regex", DATE, "--vocabulary", str(ranks), "--eos", "259"]
    done = call(*arguments, "2024-10")
    assert done.exit_code == 0
    assert done.stdout == (
        "accepted\n"
        "token by token (the split with the fewest tokens):\n"
        "    id   token          choices  verdict\n"
        "    50   '2'            12       ok\n"
        "    257  '024'          12       ok\n"
        "    258  '-1'           2        ok\n"
        "    48   '0'            10       ok\n"
        "    259  (end of text)  1        ok\n"
    )
    done = call(*arguments, "2024-")
    assert done.exit_code == 1
    assert "refused: it ends the text, which is not complete" in done.stdout
    tokens = reply(*arguments, "20x4")["tokens"]
    assert [token["text"] for token in tokens] == ["20", "x"]
    assert [token["allowed"] for token in tokens] == [True, False]
    assert tokens[-1]["reason"] == "its byte 0 (b'x') is not allowed there"


def test_a_text_that_the_vocabulary_can_not_spell(tmp_path: Path) -> None:
    lines = write_ranks(tmp_path / "ranks").read_bytes().splitlines(keepends=True)
    lines[ord("b")] = b"YmI= 98\n"
    (tmp_path / "ranks").write_bytes(b"".join(lines))
    arguments = ["check", "--regex", "(bb|bbb|c)", "--vocabulary", str(tmp_path / "ranks"), "--eos", "256"]
    assert call(*arguments, "bb").exit_code == 0
    done = call(*arguments, "bbb")
    assert done.exit_code == 1
    assert done.stdout.startswith("rejected by the vocabulary only\n")
    assert "refused: no sequence of tokens spells it" in done.stdout


@given(st.text(alphabet="ab日é\n", max_size=8))
def test_rejects_at_the_first_character_without_an_accepted_continuation(text: str) -> None:
    automaton = Regex("(ab|日é?)*").lower(Limits())
    beginnings = [text[:count] for count in range(len(text) + 1)]
    accepted = {"ab", "日", "日é"}

    def can_go_on(part: str) -> bool:
        stack = [part]
        while stack:
            rest = stack.pop()
            if any(word.startswith(rest) for word in accepted):
                return True
            stack += [rest[len(word) :] for word in accepted if rest.startswith(word)]
        return False

    place = first_rejection(automaton, text.encode())
    if automaton.accepts(text.encode()):
        assert place is None
        return
    expected = max(count for count, part in enumerate(beginnings) if can_go_on(part))
    assert place is not None
    assert (place.character, place.byte) == (expected, len(text[:expected].encode()))
    assert place.ends_early == (expected == len(text))


def test_usage_errors() -> None:
    assert errors_of("check", "x") == (
        "Error: no constraint given: pass an index file or one of --regex, --choice, --tools, --json-schema, --grammar and --spec\n"
        "Try 'guided check --help' for help.\n"
    )
    assert errors_of("check", "--regex", "a", "--choice", "b", "x") == (
        "Error: --regex and --choice exclude each other: pass only one of them\nTry 'guided check --help' for help.\n"
    )
    assert "Missing argument" in errors_of("check", "--regex", "a")
    assert "No such option: --regexp" in errors_of("check", "--regexp", "a", "x")


def test_errors_of_the_spec() -> None:
    assert errors_of("check", "--regex", r"a(b", "x") == (
        "Error: missing ), unterminated subpattern (at position 1)\n    a(b\n     ^\n"
    )
    assert "no automaton can compare" in errors_of("check", "--regex", r"(a)\1", "x")
    assert errors_of("check", "--choice", "a", "--choice", "a", "x") == (
        "Error: duplicate option 'a' (at /1, choice)\n"
    )
    assert errors_of("check", "--regex", "((a{999}){999}){9}", "x").startswith("Error: nfa_states: ")


def test_errors_of_the_vocabulary(tmp_path: Path) -> None:
    ranks = str(write_ranks(tmp_path / "ranks"))
    arguments = ["check", "--regex", "a", "a", "--vocabulary"]
    assert errors_of(*arguments, str(tmp_path / "none")) == (
        f"Error: {tmp_path / 'none'}: cannot be read: No such file or directory\n"
    )
    assert errors_of(*arguments, str(tmp_path)) == (
        f"Error: {tmp_path}: has no tokenizer: expected tokenizer.json, tekken.json, tiktoken.model, *.tiktoken, tokenizer.model, "
        "spiece.model, sentencepiece.bpe.model\n"
    )
    assert errors_of(*arguments, ranks) == (f"Error: {ranks} has no end-of-text token: pass its id with --eos\n")
    assert "id 97 spells b'a'" in errors_of(*arguments, ranks, "--eos", "97")
    assert errors_of("check", "--regex", "[^\\d\\D]", "a", "--vocabulary", ranks, "--eos", "256").startswith(
        "Error: the pattern matches no text"
    )


@pytest.fixture
def index(tmp_path: Path) -> tuple[str, list[str]]:
    """An index file of DATE, and the options that name its vocabulary."""
    options = ["--vocabulary", str(write_ranks(tmp_path / "ranks", b"20", b"024")), "--eos", "258"]
    vocabulary = read_vocabulary(tmp_path / "ranks", [258])
    guided.compile(guided.Regex(DATE), vocabulary).save(tmp_path / "date.index")
    return str(tmp_path / "date.index"), options


@pytest.mark.parametrize("text", ["2024-10", "2024-1x", "2024", "2024-100", "", "é"])
def test_an_index_file_describes_its_spec(index: tuple[str, list[str]], text: str) -> None:
    file, options = index
    by_file, by_spec = call("check", file, text), call("check", "--regex", DATE, text)
    assert (by_file.exit_code, by_file.output) == (by_spec.exit_code, by_spec.output)
    by_file, by_spec = (call("check", *what, text, *options) for what in ([file], ["--regex", DATE]))
    assert (by_file.exit_code, by_file.output) == (by_spec.exit_code, by_spec.output)
    assert "token by token" in by_file.stdout


def test_errors_of_index_files(index: tuple[str, list[str]], tmp_path: Path) -> None:
    file, _ = index
    assert errors_of("check", file).startswith("Error: missing argument TEXT\n")
    assert errors_of("check", "none", "x").startswith("Error: no such index file: none (or pass one of --regex")
    assert "unexpected argument 'y': expected only TEXT, since an option gives the constraint" in errors_of(
        "check", "--regex", "a", "x", "y"
    )
    assert "unexpected argument 'y': expected only INDEX and TEXT" in errors_of("check", file, "x", "y")
    assert "ranks is not an index file" in errors_of("check", str(tmp_path / "ranks"), "x")
    assert "was compiled for another vocabulary" in errors_of(
        "check", file, "x", "--vocabulary", str(tmp_path / "ranks"), "--eos", "259"
    )
