"""Terminals that tell matchers apart: order, laziness, lookaround, nullable loops, keywords, priorities, overlaps."""

import re
import warnings

from hypothesis import strategies as st

from tests.strategies import patterns

__all__ = ["ALPHABET", "POOL", "STRINGS", "lexers"]

ALPHABET = 'ab"\né'
POOL = (
    "a|ab", "ab|a", "a+", "a+?", "a+?b", "[ab]+", "[ab]{1,3}", "(a|b)a*?", "a*b", "b+?a?", '".*?"', '"[^"]*"',
    "a(?!b)", "a(?=b)", "a(?=ba)", "a(?!b|é)", "a*b(?!a)", r"[ab]+(?=\n)", "a(?=.{0,3}b)", "(?<!a)b+", "(?<=a)b",
    "(?<=ab)é", "(?<!^)a", "^a+", "(?m:^b+)", "(?m:a+$)", "a$", r"a+\Z", r"\bab?", r"a\b", r"b\B", r"[ab]+\b",
    "(?:|a)+b", "(?:a|)+b", "(?:a?b??)+é", "(?:(?:|a)*b?)+?a", "(?:|a){2,3}b", "(?:a?){0,2}b", "(?:(?:a|)*?b?)*a",
    "(?:a*?b*?)+?é", "(?i:Ab)", "(?i:É)+", r"\w+", r"\W", r"\s+", ".", "[^a]", "(?s:.)b", "é+", "[aé]b*",
    "(?:ab?|a)b", "(?:(?=a).)+", "(?:(?!b).)+", "(?:a|b(?=a))+", "(?<![ab])[ab]", "(?:(?<=a)b|a)+", "a(?=b(?=a))",
    "a(?!b(?!a))",
)  # fmt: skip
STRINGS = ("a", "b", "ab", "ba", "aa", '"', "é", "\n", "AB", "aéb")


def is_fine(pattern: str) -> bool:
    """Does `re` take it, and does it never match nothing?"""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return re.compile(pattern) is not None and re._parser.parse(pattern).getwidth()[0] > 0
        except (re.error, Warning):
            return False


@st.composite
def lexers(draw: st.DrawFn) -> str:
    """The text of a grammar with one to five terminals, any of which may come next, and some of which may be ignored."""
    regexes = st.sampled_from(POOL) | patterns('ab"é').filter(lambda text: "/" not in text and is_fine(text))
    lines, names = [], []
    for number in range(draw(st.integers(1, 5))):
        name = f"T{number}"
        priority = draw(st.sampled_from(["", "", "", ".2", ".-1"]))
        if draw(st.integers(0, 2)):
            lines.append(f"{name}{priority}: /{one_line(draw(regexes))}/")
        else:
            flag = draw(st.sampled_from(["", "", "i"]))
            string = one_line(draw(st.sampled_from(STRINGS))).replace('"', '\\"')
            lines.append(f'{name}{priority}: "{string}"{flag}')
        names.append(name)
    ignored = draw(st.lists(st.sampled_from(names), max_size=2, unique=True))
    used = [name for name in names if name not in ignored or draw(st.booleans())] or names
    halves = f"x: {' | '.join(used[: len(used) // 2 + 1])}\ny: {' | '.join(used[len(used) // 2 :])}"
    return "\n".join(["start: (x y)*", halves, *lines, *(f"%ignore {name}" for name in ignored)])


def one_line(text: str) -> str:
    return text.replace("\n", "\\n")
