"""Prefixes against `Lark.parse`: which texts are accepted, and that no prefix of one is refused."""

import itertools
import random
from contextlib import suppress

import lark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark.indenter import Indenter, PythonIndenter

from guided.arrays import DEAD
from guided.errors import GrammarError, LimitError
from guided.lalr.loading import tables_of_object
from guided.lalr.scanner import scanner_of
from guided.limits import Limits
from tests.lalr.prefixes import Prefixes
from tests.lalr.test_loading import PYTHON
from tests.profiles import examples

LIMITS = Limits(steps=40_000_000, states=20_000)
REGEXES = (
    "a+", "ab", "[ab]+c", "a|ab", "b+?c?", "a(?!b)", "b(?=c)", "(a|b)c*?", "c+", "ca*b", "a.*?c", "b", "abc?", "[ac]{1,3}", "c(?!c)c?",
    "a*b(?!a)", "[ab]+", "[abc]+", "a[bc]*", "abc", "b+c?", "(?<!a)b", "(?<=c)a+", "^a", r"b\b", "c$", "a(?= )", "(?:|b)+c", "a?c??b",
)  # fmt: skip


def parsed(parser: lark.Lark, text: str, start: str | None = None) -> bool:
    try:
        parser.parse(text, start=start)
    except (lark.exceptions.LarkError, AssertionError, IndexError):
        return False
    return True


def prefixes_of(parser: lark.Lark, start: str = "start") -> Prefixes:
    tables = tables_of_object(parser, LIMITS)
    return Prefixes(tables, scanner_of(tables.lexer, LIMITS), start, LIMITS)


@st.composite
def grammars(draw: st.DrawFn) -> str:
    """Three rules over regexes that overlap, with priorities, and strings some of which are keywords."""
    names = "ABCDEF"[: draw(st.integers(2, 4))]
    regexes = [f"/{draw(st.sampled_from(REGEXES))}/" for _ in names[1:]] + [
        draw(st.sampled_from(['"a"', '"abc"', "/c/"]))
    ]
    priorities = draw(st.lists(st.sampled_from(["", "", "", ".2"]), min_size=len(names), max_size=len(names)))
    symbols = [*names, '"a"', '"ab"', '"c"', "x", "y"]
    alternative = st.lists(st.sampled_from(symbols), min_size=1, max_size=3).map(" ".join)
    first = st.sampled_from(symbols[:-2])

    def rule(name: str) -> str:
        return f"{name}: {' | '.join(dict.fromkeys([draw(first), *draw(st.lists(alternative, max_size=2))]))}"

    start = f"start: {' | '.join(dict.fromkeys(draw(st.lists(alternative, min_size=1, max_size=3))))}"
    terminals = [f"{name}{p}: {regex}" for name, p, regex in zip(names, priorities, regexes, strict=True)]
    ignored = draw(st.sampled_from(['%ignore " "', '%ignore " "', "%ignore A", '%ignore /c/\n%ignore " "', ""]))
    return "\n".join([start, rule("x"), rule("y"), *terminals, ignored])


def check(parser: lark.Lark, alphabet: str, longest: int) -> None:
    """All texts up to a length: accepted as Lark does, and every prefix of one that is accepted is alive."""
    prefixes = prefixes_of(parser)
    work = [("", prefixes.initial)]
    alive: dict[str, bool] = {}
    accepted = set()
    for text, state in work:
        alive[text] = state != DEAD
        found = parsed(parser, text)
        assert prefixes.is_accepting(state) == found, text
        if found:
            accepted.add(text)
        if len(text) < longest:
            work += [(text + c, prefixes.read(state, c.encode())) for c in alphabet]
    assert [text for text in accepted if not all(alive[text[:i]] for i in range(len(text)))] == []


@settings(max_examples=examples(60), deadline=None)
@given(grammars(), st.sampled_from(["contextual", "contextual", "basic"]))
def test_texts_are_larks(text: str, lexer: str) -> None:
    try:
        parser = lark.Lark(text, parser="lalr", lexer=lexer)
    except lark.exceptions.LarkError:
        return
    # Why: a lookahead without a bound is refused.
    with suppress(LimitError, GrammarError):
        check(parser, "abc ", 4)


@pytest.mark.parametrize(
    ("text", "accepted", "refused"),
    [
        ("start: A B\nA: /a+/\nB: /[ab]{1,3}/", ["aab"], ["aa", "aaa"]),
        ("start: A | B\nA.2: /a/\nB: /ab/", ["a"], ["ab"]),
        ('start: A "c"\nA: /a|ab/', ["ac"], ["abc"]),
        ('start: S\nS: /".*?"/', ['"a"'], ['"a"b"']),
        ("start: (KW|NAME)+\nKW.2: \"if\"\nNAME: /[a-z]+/", ["ifx", "if"], ["IF"]),
        ("start: (A|B)+\nA: /a(?=b{0,3}c)/\nB: /[abc]/", ["abbc", "abbd"[:3]], ["abbd"]),
        ('start: (FLOAT | INT DOT)+\nINT: /[0-9]+/\nFLOAT: /[0-9]+\\.[0-9]+/\nDOT: "."', ["1.", "1.5"], [".", "1..5", "1.2."]),
        ("start: (S | L)+\nS: /\"[^\"\\n]*\"(?!\")/\nL: /\"{3}.*?\"{3}/s", ['"a"', '"""a"b"""'], ['"""a"']),
        ("start: (S | L)+\nS: /\"[^\"\\n]*\"/\nL.2: /\"{3}.*?\"{3}/s", ['"""a"', '"""a"""', '"""a"b"""'], ['"""a"b""']),
        ('start: NAME "=" NAME\nNAME: /[a-z]+/\n%ignore "b"', ["a=bb"], ["b=a", "a=b"]),
        ('start: NAME ("b" NAME)?\nNAME: /x+/\n%ignore /[bc]+/', ["xcx"[:2], "xbcb"], ["xbx"]),
    ],
)  # fmt: skip
def test_surprising_behavior_of_lark_is_reproduced(text: str, accepted: list[str], refused: list[str]) -> None:
    parser = lark.Lark(text, parser="lalr")
    prefixes = prefixes_of(parser)
    for word in accepted + refused:
        assert parsed(parser, word) == (word in accepted), word
        assert prefixes.is_accepting(prefixes.read(prefixes.initial, word.encode())) == (word in accepted), word


def test_open_decisions_are_settled_by_the_following_text() -> None:
    parser = lark.Lark('start: (FLOAT | INT ".")+\nINT: /[0-9]+/\nFLOAT: /[0-9]+\\.[0-9]+/', parser="lalr")
    prefixes = prefixes_of(parser)
    state = prefixes.read(prefixes.initial, b"1.")
    assert len(prefixes.hypotheses(state)) == 2
    assert prefixes.onward(state) == b"0123456789"
    assert prefixes.is_accepting(state)


def test_a_grammar_that_derives_itself_ends() -> None:
    parser = lark.Lark('start: a\na: b | "x"\nb.2: a', parser="lalr")
    prefixes = prefixes_of(parser)
    assert not prefixes.is_accepting(prefixes.read(prefixes.initial, b"x"))


BLOCKS = """
start: (line | _NL)*
line: NAME _NL | NAME ":" _NL _IN line+ _OUT | "(" NAME? ")" _NL
NAME: /[a-z]/
_NL: /(\\r?\\n[ \\t]*(#[^\\n]*)?)+/
%declare _IN _OUT
%ignore / +/
"""


class Blocks(Indenter):
    NL_type, OPEN_PAREN_types, CLOSE_PAREN_types = "_NL", ["LPAR"], ["RPAR"]
    INDENT_type, DEDENT_type, tab_len = "_IN", "_OUT", 4


def test_indentation_is_larks() -> None:
    parser = lark.Lark(BLOCKS, parser="lalr", postlex=Blocks())
    prefixes = prefixes_of(parser)
    choice = random.Random(7)
    pieces = ["a", "b:", "\n", "\n ", "\n  ", "\n\t", "\n    ", "(", ")", "# c d", "\r\n ", "a\n", "b:\n  ", "\n\n"]
    n_accepted = 0
    for _ in range(4000):
        text = "".join(choice.choices(pieces, k=choice.randint(1, 8)))
        expected = parsed(parser, text)
        assert prefixes.is_accepting(prefixes.read(prefixes.initial, text.encode())) == expected, text
        n_accepted += expected
    assert n_accepted > 100


PYTHONS = [
    "x=1", "x=1\n", "x=1\n# a b c", "x=1\n# a b c\n", "if x:\n\ty\n        z\n", "x=01\n", "0xfor x in y\n", "if x:\n  y\n z\n", "x = if\n",
    "if = 3\n", "def f(a, *b):\n    '''doc \"x\" '''\n    return {1: [2,\n3]}\n", "x = (\n  1\n)\n", "x)\n",
    'x = """a"\n"""\n', 'x = "" "a"\n',
    "x = ''''a'''\n", "class A:\n  x: int = 1\n\n  def f(self): pass\n", "for x in y:\n    pass\nelse:\n    z\n", "print(f'é{1}')\n",
    "\n\n  x\n",
    "while 1: break\n", "x = 1.e5 .real\n", "1if x else 2\n", "lambda: (yield)\n", "@a\nasync def f(): await x\n", "x = 'a\n", "",
]  # fmt: skip


@pytest.mark.slow
def test_python_is_larks() -> None:
    parser = lark.Lark(
        PYTHON.read_text(), parser="lalr", postlex=PythonIndenter(), start="file_input", source_path=str(PYTHON)
    )
    prefixes = prefixes_of(parser, "file_input")
    corpus = [*PYTHONS, *("".join(parts) for parts in itertools.product(PYTHONS[:4], PYTHONS[6:12]))]
    n_accepted = 0
    for text in corpus:
        state = prefixes.initial
        for byte in text.encode():
            state = prefixes.step(state, byte) if state != DEAD else DEAD
        expected = parsed(parser, text)
        assert prefixes.is_accepting(state) == expected, text
        n_accepted += expected
    assert len(corpus) > n_accepted > 15


def test_an_unknown_start_is_an_error() -> None:
    parser = lark.Lark('start: "a"', parser="lalr")
    with pytest.raises(GrammarError, match="loaded with: start"):
        prefixes_of(parser, "begin")
