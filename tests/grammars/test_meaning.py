"""What the grammars' trees mean, and how the grammars are found."""

import csv
import io
from pathlib import Path

import lark
import pytest

from guided.errors import GrammarError
from guided.resources import grammar_path
from tests.grammars.loading import parser_of
from tests.grammars.samples import samples_of


def test_arithmetic_binds_as_in_mathematics() -> None:
    parser = parser_of("arithmetic")

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


def field(token: str) -> str:
    return token[1:-1].replace('""', '"') if token.startswith('"') else token


@pytest.mark.parametrize("text", samples_of("csv").accepted)
def test_csv_has_the_fields_that_pythons_reader_finds(text: str) -> None:
    records = parser_of("csv").parse(text).children
    rows = [["".join(map(field, part.children)) for part in record.children] for record in records]
    # RFC 4180's grammar sees an empty record in an empty line, and one after the last line break; Python's reader none.
    if not text or text.endswith("\r\n"):
        rows.pop()
    assert rows == [row or [""] for row in csv.reader(io.StringIO(text, newline=""), strict=True)]


def test_datetime_tells_leap_years_from_common_ones() -> None:
    parser = parser_of("datetime")
    for year in range(0, 10_000, 7):
        first = parser.parse(f"{year:04}-03-01T00:00:00Z").children[0].children[0]
        is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        assert first.type == ("LEAP_YEAR" if is_leap else "COMMON_YEAR"), year


def test_an_unknown_grammar_is_an_error_that_lists_those_there_are() -> None:
    with pytest.raises(GrammarError, match="bundled grammars are: arithmetic, command, csv, ") as caught:
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
