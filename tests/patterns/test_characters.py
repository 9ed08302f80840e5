r"""Tables of characters against Python's own, for every code point; and what ``\p`` finds and says."""

import re
import sys
import unicodedata

import pytest
import regex

from guided.errors import PatternError
from guided.patterns.characters import categories, scan, unicode_class
from guided.patterns.charset import Charset
from guided.patterns.parse import parse
from tests.patterns.sets import ALL, charset, of_re, those


@pytest.mark.exhaustive
def test_unicode_classes_of_every_character() -> None:
    assert unicode_class("d") == those(str.isdecimal)
    assert unicode_class("s") == those(str.isspace)
    assert unicode_class("w") == those(lambda character: character.isalnum() or character == "_")


@pytest.mark.parametrize("flags", ["", "(?a)"])
@pytest.mark.parametrize(
    "pattern",
    [r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", ".", "(?s:.)", r"[\w\s]", r"[^\W\d_]", r"[^\s\x00-\x7f]", "[^a]"],
)
def test_sets_of_every_character(flags: str, pattern: str) -> None:
    assert charset(flags + pattern) == of_re(flags, pattern)


@pytest.mark.exhaustive
def test_general_categories_of_every_character() -> None:
    by_name: dict[str, list[tuple[int, int]]] = {}
    for character in ALL:
        by_name.setdefault(unicodedata.category(character), []).append((ord(character), ord(character)))
    for name, points in by_name.items():
        assert categories()[name] == Charset.of(points), name
    for major in "LMNPSZC":
        every = [point for name, points in by_name.items() if name[0] == major for point in points]
        assert categories()[major] == Charset.of(every), major
    assert len(by_name) == 30


@pytest.mark.parametrize(
    "same",
    [
        [
            "Lu",
            "lu",
            "Uppercase_Letter",
            "uppercase letter",
            "Uppercase-Letter",
            "gc=Lu",
            "General_Category=Lu",
            "gc:Lu",
        ],
        ["L", "Letter", "gc=Letter"],
        ["LC", "Cased_Letter"],
        ["Nd", "Decimal_Number", "digit"],
        ["P", "punct", "Punctuation"],
        ["Cn", "Unassigned", "^Assigned"],
        ["Any", "^Cs", "^Surrogate"],
        ["ASCII", "ascii"],
    ],
)
def test_names_of_properties(same: list[str]) -> None:
    first = charset(rf"\p{{{same[0]}}}")
    for name in same[1:]:
        assert charset(rf"\p{{{name}}}") == first, name


def test_complements_of_properties() -> None:
    upper = categories()["Lu"]
    assert charset(r"\P{Lu}") == charset(r"\p{^Lu}") == charset(r"[^\p{Lu}]") == ~upper
    assert charset(r"\P{^Lu}") == upper
    assert charset(r"[\p{Lu}\P{Lu}]") == Charset.UNIVERSE
    assert charset(r"[\p{Lu}a-c]") == upper | Charset.of([(0x61, 0x63)])


def test_flags_do_not_change_properties() -> None:
    assert charset(r"(?ia)\p{Lu}") == categories()["Lu"]
    assert charset(r"(?i)[\p{Nd}k]") == categories()["Nd"] | Charset.of([(0x4B, 0x4B), (0x6B, 0x6B), (0x212A, 0x212A)])
    assert "a" not in charset(r"(?i)[\p{Lu}_]")


@pytest.mark.parametrize(
    "name",
    [
        "Greek",
        "Script=Greek",
        "sc=Grek",
        "Han",
        "Script_Extensions=Hira",
        "Alphabetic",
        "White_Space",
        "InGreek",
        "Block=Basic_Latin",
    ],
)
def test_other_properties_are_those_of_regex(name: str) -> None:
    found = charset(rf"\p{{{name}}}")
    assert found == Charset.of((run.start(), run.end() - 1) for run in regex.finditer(rf"\p{{{name}}}+", ALL))
    assert charset(rf"\P{{{name}}}") == ~found


def test_greek_has_alpha_and_not_a() -> None:
    greek = charset(r"\p{Greek}")
    assert "α" in greek
    assert "a" not in greek


@pytest.mark.parametrize("name", ["Klingon", "Script=Klingon", "gc=Greek", "sc=Lu", "a{2", "Lu\n", "("])
def test_unknown_properties(name: str) -> None:
    with pytest.raises(PatternError, match="unknown property") as caught:
        parse(rf"x\p{{{name}}}")
    assert caught.value.position == 1


def test_without_regex_the_message_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "regex", None)
    assert charset(r"\p{Lu}") == categories()["Lu"]
    with pytest.raises(PatternError) as caught:
        parse(r"ab\p{Cuneiform}")
    assert caught.value.reason == (
        "property 'Cuneiform' is not a general category; others need the package 'regex' (pip install regex)"
    )
    assert caught.value.position == 2


def test_tables_are_computed_once() -> None:
    assert unicode_class("w") is unicode_class("w")
    assert categories() is categories()
    assert charset(r"\p{Greek}") is charset(r"\p{Greek}")


def test_scan_reads_code_points_off_positions() -> None:
    assert scan(re.compile("[a-c\U0001f600]+")) == Charset.of([(0x61, 0x63), (0x1F600, 0x1F600)])
