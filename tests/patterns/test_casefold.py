"""IGNORECASE against `re`: every cased character, and sets of all shapes over all code points."""

import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guided.patterns.casefold import ascii_folding, unicode_folding
from guided.patterns.characters import unicode_class
from guided.patterns.charset import Charset
from guided.patterns.parse import parse
from tests.oracles import matches
from tests.patterns.sets import ALL, cased, charset, of_re
from tests.profiles import examples

# Before this, `re` forgot upper-case letters past U+FFFF in sets, and folded ranges past U+FFFF in spite of (?a): gh-126505.
RE_IS_RIGHT_PAST_THE_BMP = sys.version_info >= (3, 13, 1) or (3, 12, 8) <= sys.version_info < (3, 13)


@pytest.mark.exhaustive
def test_every_cased_character() -> None:
    text = "".join(cased())
    for flags in ("(?i)", "(?ai)"):
        for character in cased():
            expected = {ord(found) for found in re.findall(flags + character, text)}
            assert charset(flags + character) == Charset.of((point, point) for point in expected), hex(ord(character))


@pytest.mark.exhaustive
def test_only_cased_characters_have_company() -> None:
    assert set(unicode_folding().classes) <= {ord(character) for character in cased()}
    every = "".join(rf"\U{ord(character):08x}" for character in cased())
    uncased = "".join(sorted(set(ALL) - set(cased())))
    assert re.search(f"(?i)[{every}]", uncased) is None


def test_classes_are_classes() -> None:
    for folding in (ascii_folding(), unicode_folding()):
        for point, members in folding.classes.items():
            assert point in members
            assert len(members) > 1
            assert all(folding.classes[member] == members for member in members)
        assert folding.cased == sorted(folding.classes)


@pytest.mark.parametrize("letter", ["d", "s", "w"])
def test_named_sets_are_closed_under_case(letter: str) -> None:
    """Why `re`, which tests them against the lower case, and this package, which does not fold them, agree."""
    members = unicode_class(letter)
    assert [c for c in cased() if (c in members) != (c.lower()[0] in members)] == []


@pytest.mark.parametrize(
    "pattern",
    [
        "k", "[k]", "[^k]", "[a-z]", "[A-Z]", "[^A-Z]", "[@-`]", "[Z-a]", "s", "ſ", "i", "İ", "ı", "[i-i]", "ß", "ẞ", "[à-þ]",
        "µ", "Ω", "ς", "ǅ", "[ǆ-ǆ]", "ﬅ", "ͅ", "ᾳ", "ŉ", "[ʼ-ʽ]", r"[ʼ-\uffff]", r"[\x00-\uffff]", "[k-m5-7]", r"[^\Wk]", r"[\dſ]",
        r"[\W\d]", r"[^\Dİ]", r"[\x80-\u07ff]", r"[^\x80-\u07ff]", "[а-яё]", "[^а-я]", "[ა-ჿ]", "[Ꭰ-Ᏽ]", "[ꭰ-ꮿ]", "5", "[0-9]",
    ],
)  # fmt: skip
@pytest.mark.parametrize("flags", ["(?i)", "(?ai)"])
def test_sets_of_every_character(flags: str, pattern: str) -> None:
    assert charset(flags + pattern) == of_re(flags, pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"[\u02bc-\U00010000]", r"[\u1fba-\U00010400]", r"[\U00010400-\U00010427]", r"[\U00010428-\U0001044f]", r"[^\U00010410-\U00010430]",
        r"[\x00-\U0010ffff]", r"[\ua7aa-\U00010000]", r"[\U00010428x]", r"\U00010400", r"\U00010428", r"[^\U00010400]",
        r"[\U00020000-\U0002ffff\d]", r"[\U0001e900-\U0001e921k]", r"[\U000118a0-\U000118bf\uff21-\uff3a]",
    ],
)  # fmt: skip
def test_past_the_bmp(pattern: str) -> None:
    assert charset(f"(?i){pattern}") == of_re("(?i)", pattern)


@pytest.mark.parametrize(
    ("pattern", "members", "others"),
    [
        # re on Python 3.11 matches neither case of a capital that a set lists past U+FFFF.
        (r"(?i)[\U00010400x]", ["\U00010400", "\U00010428", "x", "X"], ["y"]),
        (r"(?i)\U00010400|x", ["\U00010400", "\U00010428", "x", "X"], ["y"]),
        (r"(?i)[^\U00010400x]", ["y"], ["\U00010400", "\U00010428", "x"]),
        # re on Python 3.11 folds these, in spite of (?a).
        (r"(?ai)[\U00010400-\U00010410]", ["\U00010400"], ["\U00010428"]),
        (r"(?ai)[\ua7aa-\U00010000]", ["\ua7aa"], ["\u0266"]),
    ],
)
def test_where_older_pythons_are_wrong(pattern: str, members: list[str], others: list[str]) -> None:
    for text, expected in [(text, True) for text in members] + [(text, False) for text in others]:
        assert matches(parse(pattern), text) == expected
        if RE_IS_RIGHT_PAST_THE_BMP:
            assert bool(re.fullmatch(pattern, text)) == expected


points = st.one_of(
    st.integers(0, 0x24F),
    st.deferred(lambda: st.sampled_from(cased())).map(ord),
    st.integers(0, 0x10FFFF).filter(lambda point: not 0xD800 <= point <= 0xDFFF),
)


@st.composite
def folded_sets(draw: st.DrawFn) -> tuple[str, str]:
    flags = draw(st.sampled_from(["(?i)", "(?ai)"]))
    last = 0x10FFFF if flags == "(?i)" or RE_IS_RIGHT_PAST_THE_BMP else 0xFFFF
    members = []
    for _ in range(draw(st.integers(1, 3))):
        low, high = sorted([draw(points), draw(points)])
        if draw(st.booleans()):
            members.append(rf"\U{min(low, last):08x}-\U{min(high, last):08x}")
        elif low <= 0xFFFF or RE_IS_RIGHT_PAST_THE_BMP or chr(low).lower() == chr(low):
            members.append(rf"\U{low:08x}")
    members += draw(st.lists(st.sampled_from([r"\d", r"\W", r"\w", r"\S"]), max_size=1))
    return flags, f"[{draw(st.sampled_from(['', '^']))}{''.join(members) or 'k'}]"


@settings(max_examples=examples(60))
@given(folded_sets())
def test_random_sets_of_every_character(folded: tuple[str, str]) -> None:
    flags, pattern = folded
    assert charset(flags + pattern) == of_re(flags, pattern)
