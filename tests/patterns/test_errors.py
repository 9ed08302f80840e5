"""Every refusal: its reason and its place."""

import re
import warnings

import pytest

from guided.errors import PatternError
from guided.patterns.parse import parse

# Syntax that `re` refuses too, with the same reason at the same offset.
AS_IN_RE: list[tuple[str, str, int]] = [
    ("ab)", "unbalanced parenthesis", 2),
    ("a(b", "missing ), unterminated subpattern", 1),
    ("(a(b)", "missing ), unterminated subpattern", 0),
    ("a(?=b", "missing ), unterminated subpattern", 1),
    ("*a", "nothing to repeat", 0),
    ("a|*", "nothing to repeat", 2),
    ("(+)", "nothing to repeat", 1),
    ("a(?#c)|?", "nothing to repeat", 7),
    ("{2}", "nothing to repeat", 0),
    ("^*", "nothing to repeat", 1),
    ("a$+", "nothing to repeat", 2),
    (r"\b{1,2}", "nothing to repeat", 2),
    (r"\A?", "nothing to repeat", 2),
    ("(?i)*", "nothing to repeat", 4),
    ("a**", "multiple repeat", 2),
    ("a+?+", "multiple repeat", 3),
    ("a{2}{3}", "multiple repeat", 4),
    ("(?x)a* *", "multiple repeat", 7),
    ("a{3,2}", "min repeat greater than max repeat", 2),
    ("a[bc", "unterminated character set", 1),
    ("[", "unterminated character set", 0),
    ("[]", "unterminated character set", 0),
    ("[^]", "unterminated character set", 0),
    ("[a-", "unterminated character set", 0),
    ("x[b-a]", "bad character range b-a", 2),
    (r"[a-\d]", r"bad character range a-\d", 1),
    (r"[\w-a]", r"bad character range \w-a", 1),
    ("a\\", "bad escape (end of pattern)", 1),
    ("[a\\", "bad escape (end of pattern)", 2),
    (r"a\q", r"bad escape \q", 1),
    (r"[a\q]", r"bad escape \q", 2),
    (r"[\B]", r"bad escape \B", 1),
    (r"[\Z]", r"bad escape \Z", 1),
    (r"[\8]", r"bad escape \8", 1),
    (r"a\x4g", r"incomplete escape \x4", 1),
    (r"\u12", r"incomplete escape \u12", 0),
    (r"\U0001F60", r"incomplete escape \U0001F60", 0),
    (r"\U00110000", r"bad escape \U00110000", 0),
    (r"a\777", r"octal escape value \777 outside of range 0-0o377", 1),
    (r"[\400]", r"octal escape value \400 outside of range 0-0o377", 1),
    (r"\N", "missing {", 2),
    (r"\N{}", "missing character name", 3),
    (r"\N{", "missing character name", 3),
    (r"\N{SPACE", "missing }, unterminated name", 3),
    (r"a\N{NO SUCH}", "undefined character name 'NO SUCH'", 1),
    (r"\N{KEYCAP DIGIT ONE}", "undefined character name 'KEYCAP DIGIT ONE'", 0),
    (r"a\1", "invalid group reference 1", 2),
    (r"(a)\2", "invalid group reference 2", 4),
    ("a(?", "unexpected end of pattern", 3),
    ("(?P", "unexpected end of pattern", 3),
    ("(?<", "unexpected end of pattern", 3),
    ("a(?%b)", "unknown extension ?%", 2),
    ("(?Px)", "unknown extension ?Px", 1),
    ("(?<x)", "unknown extension ?<x", 1),
    ("(?P<>a)", "missing group name", 4),
    ("(?P<", "missing group name", 4),
    ("(?P<n", "missing >, unterminated name", 4),
    ("(?P<1n>a)", "bad character in group name '1n'", 4),
    ("(?P<a b>c)", "bad character in group name 'a b'", 4),
    ("(?P<n>a)(?P<n>b)", "redefinition of group name 'n' as group 2; was group 1", 12),
    ("a(?#b", "missing ), unterminated comment", 1),
    ("a(?i)b", "global flags not at the start of the expression", 1),
    ("(a|(?s))", "global flags not at the start of the expression", 3),
    ("a|(?i)b", "global flags not at the start of the expression", 2),
    (" (?x)", "global flags not at the start of the expression", 1),
    ("(?iz)", "unknown flag", 3),
    ("(?i", "missing -, : or )", 3),
    ("(?i!", "missing -, : or )", 3),
    ("(?-", "missing flag", 3),
    ("(?-:a)", "missing flag", 3),
    ("(?i-)", "missing flag", 4),
    ("(?-iz:a)", "unknown flag", 4),
    ("(?-i)", "missing :", 4),
    ("(?i-s", "missing :", 5),
    ("(?i-i:a)", "bad inline flags: flag turned on and off", 5),
]

# What `re` refuses as well, but with another reason, or at another offset.
OTHERWISE: list[tuple[str, str, int]] = [
    ("(?iL)", "bad inline flags: cannot use 'L' flag with a str pattern", 3),
    ("(?L:a)", "bad inline flags: cannot use 'L' flag with a str pattern", 2),
    ("(?au)", "bad inline flags: flags 'a', 'u' and 'L' are incompatible", 3),
    ("(?i-a:b)", "bad inline flags: cannot turn off flags 'a', 'u' and 'L'", 4),
    ("(?a)(?u)b", "ASCII and UNICODE flags are incompatible", 4),
    ("a(?<=b*)c", "look-behind of unbounded width; bound its repeats, as in {0,100}", 1),
    ("(?<!x(a|b+))c", "look-behind of unbounded width; bound its repeats, as in {0,100}", 0),
    ("(?<=(?<=a+)b)", "look-behind of unbounded width; bound its repeats, as in {0,100}", 4),
    (r"[\x62-\x61]", r"bad character range \x62-\x61", 1),
    (r"a\p", "missing {", 3),
    (r"\p{", "missing property name", 3),
    (r"\p{L", "missing }, unterminated name", 3),
    (r"\p{}", "missing property name", 3),
    (r"a[b\P{Foo}]", "unknown property 'Foo'", 3),
    (r"[a-\p{L}]", r"bad character range a-\p{L}", 1),
    ("(?x)#\\", "bad escape (end of pattern)", 5),
    ("a{" + "9" * 5000 + "}", "the repetition number is too large", 1),
]

# What `re` takes and this parser refuses.
NOT_FOR_AUTOMATA: list[tuple[str, str, int]] = [
    (r"(a)b\1", r"backreference \1: no automaton can compare with an earlier match", 4),
    (r"(?P<n>a)(?P=n)", "backreference: no automaton can compare with an earlier match", 8),
    ("(a)?b(?(1)c|d)", "conditional group: no automaton can ask whether an earlier group matched", 5),
    ("a(?>b)", "atomic group: its language depends on the order of attempts; write (?: in place of (?>", 1),
    ("ab*+c", "possessive quantifier: its language depends on the order of attempts; leave out the +", 2),
    ("a{1,2}+", "possessive quantifier: its language depends on the order of attempts; leave out the +", 1),
    ("a\ud800", "lone surrogate: text is UTF-8, which has none", 1),
    ("(?#\udfff)", "lone surrogate: text is UTF-8, which has none", 3),
    (r"[a-\ud800]", r"lone surrogate \ud800: text is UTF-8, which has none", 3),
    (r"\ud83d\ude00", r"lone surrogate \ud83d: text is UTF-8, which has none", 0),
]


def refusal(pattern: str, flags: int = 0) -> tuple[str, int]:
    with pytest.raises(PatternError) as caught:
        parse(pattern, flags)
    assert caught.value.pattern == pattern
    return caught.value.reason, caught.value.position


@pytest.mark.parametrize(("pattern", "reason", "position"), [*AS_IN_RE, *OTHERWISE, *NOT_FOR_AUTOMATA])
def test_reason_and_position(pattern: str, reason: str, position: int) -> None:
    assert refusal(pattern) == (reason, position)


@pytest.mark.parametrize(("pattern", "reason", "position"), AS_IN_RE)
def test_re_has_the_same_position(pattern: str, reason: str, position: int) -> None:
    with pytest.raises(re.error) as caught:
        re.compile(pattern)
    assert caught.value.pos == position


@pytest.mark.parametrize("pattern", [pattern for pattern, _, _ in OTHERWISE])
def test_re_refuses_it_too(pattern: str) -> None:
    with pytest.raises((re.error, ValueError)):
        re.compile(pattern)


@pytest.mark.parametrize("pattern", [pattern for pattern, _, _ in NOT_FOR_AUTOMATA])
def test_re_takes_it(pattern: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert re.compile(pattern)


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (re.L, "cannot use LOCALE flag with a str pattern"),
        (re.A | re.U, "ASCII and UNICODE flags are incompatible"),
        (re.DEBUG, "unsupported flags 0x80; use re.A, I, M, S, U and X"),
        (1 << 20, "unsupported flags 0x100000; use re.A, I, M, S, U and X"),
    ],
)
def test_flags(flags: int, reason: str) -> None:
    assert refusal("a", flags) == (reason, 0)


def test_flags_of_argument_and_pattern_together() -> None:
    assert refusal("(?u)a", re.A) == ("ASCII and UNICODE flags are incompatible", 0)


def test_the_message_shows_the_place() -> None:
    with pytest.raises(PatternError) as caught:
        parse(r"name: (?P<first>\w+) \q")
    assert str(caught.value) == (
        "bad escape \\q (at position 21)\n"
        "    name: (?P<first>\\w+) \\q\n"
        "                         ^"
    )  # fmt: skip
