"""The parser against `re` itself: what it refuses, and what the rest means.

`re` is wrong nowhere that these tests reach, with two kinds of exceptions, which are excluded or have tests of their own: sets under
IGNORECASE past U+FFFF on older Pythons (test_casefold), and time, for nested repeats of what can be empty.
"""

import ast
import importlib
import inspect
import itertools
import re
import warnings
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guided.errors import PatternError
from guided.patterns.parse import parse
from tests.oracles import matches
from tests.profiles import examples
from tests.strategies import patterns

ALPHABET = "abA\n"
WORDS = ["".join(word) for n in range(5) for word in itertools.product(ALPHABET, repeat=n)]

# Reasons of refusals that `re` does not share, and those of `re` that this parser does not share.
REFUSED_HERE = ("backreference", "conditional group", "atomic group", "possessive quantifier", "lone surrogate")
REFUSED_THERE = ("look-behind requires fixed-width pattern", "the repetition number is too large")
# Where `re` reads one token ahead, or counts an escape as two characters, its offset is not that of the culprit.
OTHER_OFFSETS = (
    "bad escape (end of pattern)",
    "bad character range",
    "bad inline flags",
    "ASCII and UNICODE",
    "look-behind",
)

PIECES = [
    *"ab1K ſé#\n", "(", ")", "(", ")", "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?i:", "(?-i:", "(?s-m:", "(?x:", "(?ax", "(?-", "(?",
    "(?x)", "(?i)", "(?s)", "(?m)", "(?a)", "(?u)", "(?L)", "(?P<n>", "(?P<m>", "(?P=n)", "(?#", "(?>", "(?(1)a|b)", "[", "]", "[^",
    "^", "-", "--", "&&", "[[", "{", ",", "}", "{1,2}", "{,1}", "{2,1}", "*", "+", "?", "??", "*+", "|", ".", "$", "<", ">", "=", "!",
    ":", "i", "0", "2", "\\", r"\d", r"\w", r"\s", r"\W", r"\b", r"\B", r"\A", r"\Z", r"\x41", r"\x4", r"\1", r"\01", r"\101", r"\8",
    r"\477", r"\N{DIGIT ONE}", r"\N{", r"\N{X}", r"\u00e9", r"\U0001F600", r"\U00110000", r"\u12", r"\ud800", r"\n", r"\-", r"\]", r"\q",
    "\U00010400", "\U00010428",
]  # fmt: skip


def compiled(pattern: str, flags: int) -> re.Pattern[str] | Exception:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return re.compile(pattern, flags)
        except (re.error, ValueError, OverflowError) as error:
            return error


def parsed(pattern: str, flags: int) -> object:
    try:
        return parse(pattern, flags)
    except PatternError as error:
        return error


def disagreement(pattern: str, flags: int) -> str | None:
    """What is wrong about accepting or refusing a pattern, if anything."""
    theirs, ours = compiled(pattern, flags), parsed(pattern, flags)
    if re.match(r"bad escape \\[pP]", str(theirs)):
        return None  # an extension, tested in test_characters
    if not isinstance(ours, PatternError):
        there_only = isinstance(theirs, Exception) and not str(theirs).startswith(REFUSED_THERE)
        return f"we take it, re refuses: {theirs}" if there_only else None
    if ours.reason.startswith(REFUSED_HERE):
        return None
    if not isinstance(theirs, Exception):
        return f"re takes it, we refuse: {ours}"
    if ours.reason.startswith(OTHER_OFFSETS) or str(theirs).startswith(OTHER_OFFSETS):
        return None
    offset = getattr(theirs, "pos", None)
    return None if offset == ours.position else f"re complains at {offset}, we at {ours.position}: {theirs}, {ours}"


FLAGS = st.sampled_from([0, 0, re.I, re.X, re.M, re.S, re.A])


@settings(max_examples=examples(1500))
@given(st.lists(st.sampled_from(PIECES), max_size=9).map("".join), FLAGS)
def test_refuses_the_patterns_that_re_refuses(pattern: str, flags: int) -> None:
    assert disagreement(pattern, flags) is None


@settings(max_examples=examples(500))
@given(st.text(st.sampled_from("()[]{}?*+|^$.\\-,:=!<>#PN12iamsx \nab"), max_size=8), FLAGS)
def test_refuses_the_patterns_that_re_refuses_character_by_character(pattern: str, flags: int) -> None:
    assert disagreement(pattern, flags) is None


def words_that_differ(pattern: str, flags: int, words: list[str]) -> list[str]:
    theirs, ours = re.compile(pattern, flags), parse(pattern, flags)
    return [word for word in words if bool(theirs.fullmatch(word)) != matches(ours, word)]


@settings(max_examples=examples(300))
@given(patterns(ALPHABET), FLAGS)
def test_has_the_language_of_re(pattern: str, flags: int) -> None:
    if not (flags & re.A and "(?u" in pattern):
        assert words_that_differ(pattern, flags, WORDS) == []


@settings(max_examples=examples(300))
@given(patterns("kKſ1 é", max_leaves=5))
def test_has_the_language_of_re_with_letters_that_share_a_case(pattern: str) -> None:
    words = ["".join(word) for n in range(3) for word in itertools.product("kKſsS\u212a1 éÉ_", repeat=n)]
    assert words_that_differ(pattern, 0, words) == []


def small_patterns(size: int) -> Iterator[str]:
    """All patterns of so many atoms and operators over a few atoms."""
    if size == 1:
        yield from ["a", "b", "^", "$", r"\b", ".", ""]
        return
    for inner in small_patterns(size - 1):
        for operator in ("*", "+", "?", "{2}"):
            yield f"(?:{inner}){operator}"
        yield from (f"(?={inner})", f"(?!{inner})")
    for left in range(1, size - 1):
        for a, b in itertools.product(small_patterns(left), small_patterns(size - 1 - left)):
            yield from (f"{a}{b}", f"(?:{a}|{b})")


@pytest.mark.exhaustive
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_all_small_patterns_on_all_short_texts(size: int) -> None:
    words = ["".join(word) for n in range(5) for word in itertools.product("ab\n", repeat=n)]
    assert [pattern for pattern in small_patterns(size) if words_that_differ(pattern, 0, words)] == []


def patterns_of(module: str) -> list[str]:
    """The literal patterns that a module gives to functions of `re`."""
    names = {"compile", "match", "fullmatch", "search", "sub", "split", "findall", "finditer"}
    found = []
    for node in ast.walk(ast.parse(inspect.getsource(importlib.import_module(module)))):
        match node:
            case ast.Call(ast.Attribute(ast.Name("re"), name), [ast.Constant(str() as pattern), *_]) if name in names:
                found.append(pattern)
    return found


MODULES = [
    "argparse", "configparser", "csv", "ctypes.util", "difflib", "doctest", "email._header_value_parser", "email.header",
    "email.quoprimime", "email.utils", "fnmatch", "fractions", "ftplib", "gettext", "html.parser", "http.client", "http.cookiejar",
    "http.cookies", "imaplib", "inspect", "json.decoder", "json.encoder", "json.scanner", "locale", "logging", "mailbox", "pickletools",
    "platform", "pprint", "pydoc", "sched", "shlex", "ssl", "string", "tarfile", "textwrap", "tokenize", "typing", "urllib.parse",
    "urllib.request", "uuid", "warnings", "xml.dom.minidom", "xmlrpc.client", "zipfile", "_markupbase", "_strptime",
]  # fmt: skip
TEXTS = [
    "",
    "a",
    "A",
    "0",
    "12",
    "-1.5e+3",
    "\n",
    " \t",
    "a b",
    "a=b",
    '"x"',
    "<a b='x'>",
    "%(x)s",
    "2024-02-29",
    "é",
    "\\n",
    "#",
]


@pytest.mark.slow
def test_patterns_of_the_standard_library() -> None:
    found = [pattern for module in MODULES for pattern in patterns_of(module)]
    assert len(found) > 60
    for pattern in found:
        for flags in (0, re.X, re.I):
            assert disagreement(pattern, flags) is None, pattern
            if not isinstance(parsed(pattern, flags), PatternError):
                assert words_that_differ(pattern, flags, TEXTS) == [], pattern
