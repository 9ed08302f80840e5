"""The grammars that come with the package: found by name, LALR, and exactly the languages that their headers say."""

import json
from pathlib import Path

import lark
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from guided.errors import GrammarError
from guided.resources import grammar_names, grammar_path

SAMPLES = {
    "arithmetic": (
        ["1", "x", "1+2*3", "-2^2", "2^-1", "--1", ".5e-3*(a + b)", "f()", "max(1, g(x), y)", "2^3^4", "1.", "\t1 - 1"],
        [
            "",
            " ",
            "1 +",
            "*2",
            "2x",
            "1 2",
            "(1",
            "1)",
            "f(,)",
            "f(1,)",
            "f 1",
            ".",
            "1e",
            "a=b",
            "1 < 2",
            "1\n",
            "f(1)(2)",
        ],
    ),
    "json": (
        [
            "0",
            "-0.5e+10",
            "null",
            ' {"a": [1, 2, {"b": []}], "": "\\u00e9\\"\\/"} ',
            "[]",
            "{}",
            "[\n1\r,\t2]",
            '"\x7f\u2028"',
            '{"a":1,"a":2}',
        ],
        [
            "",
            "01",
            "+1",
            ".5",
            "1.",
            "-",
            "1e",
            "NaN",
            "True",
            "[1,]",
            "{,}",
            '{"a"}',
            "{a:1}",
            "'a'",
            '"\t"',
            '"\\x41"',
            '"\\u12"',
            "[1 2]",
            "1 2",
            "\ufeff1",
            "\xa01",
            "[",
            '"',
        ],
    ),
}


@pytest.fixture(scope="module", params=["contextual", "basic"])
def json_parser(request: pytest.FixtureRequest) -> lark.Lark:
    return load("json", request.param)


def load(name: str, lexer: str) -> lark.Lark:
    # Why strict: lark then refuses what it else resolves silently, conflicts and terminals that overlap.
    text = grammar_path(name).read_text(encoding="utf-8")
    return lark.Lark(text, parser="lalr", lexer=lexer, strict=True)  # type: ignore[arg-type]


def accepts(parser: lark.Lark, text: str) -> bool:
    try:
        parser.parse(text)
    except lark.exceptions.UnexpectedInput:
        return False
    return True


def test_every_grammar_has_samples() -> None:
    assert grammar_names() == tuple(sorted(SAMPLES))


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_a_grammar_says_what_it_covers(name: str) -> None:
    header = grammar_path(name).read_text(encoding="utf-8").partition("\n\n")[0]
    assert all(line.startswith("//") for line in header.splitlines())
    assert "Covers:" in header
    assert "Does not cover:" in header


@pytest.mark.parametrize("lexer", ["contextual", "basic"])
@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_a_grammar_accepts_and_refuses_its_samples(name: str, lexer: str) -> None:
    parser = load(name, lexer)
    accepted, refused = SAMPLES[name]
    assert [text for text in accepted if not accepts(parser, text)] == []
    assert [text for text in refused if accepts(parser, text)] == []


def test_arithmetic_binds_as_in_mathematics() -> None:
    parser = load("arithmetic", "contextual")

    def value(tree: lark.Tree) -> float:
        operands = [value(child) for child in tree.children if isinstance(child, lark.Tree)]
        match tree.data, operands:
            case "start", [operand]:
                return operand
            case "number", []:
                return float(tree.children[0])
            case "add", [left, right]:
                return left + right
            case "subtract", [left, right]:
                return left - right
            case "multiply", [left, right]:
                return left * right
            case "divide", [left, right]:
                return left / right
            case "power", [left, right]:
                return left**right
            case "negative", [operand]:
                return -operand
        raise AssertionError(tree)

    texts = ["1-2-3", "8/4/2", "2^3^2", "-2^2", "2^-1", "(1+2)*3", "1+2*3", "- -3*2"]
    assert [value(parser.parse(text)) for text in texts] == [-4, 1, 512, -4, 0.5, 9, 7, 6]


def is_json(text: str) -> bool:
    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        json.loads(text, parse_constant=refuse)
    except ValueError:
        return False
    return True


PIECES = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"',
    "\\",
    "\\u00",
    "a",
    "e",
    "E",
    "-",
    "+",
    ".",
    "0",
    "1",
    " ",
    "\n",
    "\x00",
    "true",
    "null",
]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=8))
@example("-")
def test_json_is_what_pythons_parser_accepts(json_parser: lark.Lark, text: str) -> None:
    assert accepts(json_parser, text) == is_json(text)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES, st.booleans(), st.sampled_from([None, 0, 2]))
def test_json_accepts_every_value(json_parser: lark.Lark, value: object, ascii_only: bool, indent: int | None) -> None:
    assert accepts(json_parser, json.dumps(value, ensure_ascii=ascii_only, indent=indent))


def test_an_unknown_grammar_is_an_error_that_lists_those_there_are() -> None:
    with pytest.raises(GrammarError, match="there are: arithmetic, json") as caught:
        grammar_path("cobol")
    assert caught.value.rule == "cobol"


@pytest.mark.parametrize("name", ["", "json.lark", "../grammars/json", "/etc/passwd", ".", "JSON"])
def test_a_name_does_not_lead_out_of_the_folder(name: str) -> None:
    with pytest.raises(GrammarError):
        grammar_path(name)


def test_a_path_is_absolute_wherever_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert grammar_path("json").is_absolute()
    assert grammar_path("json").is_file()
