"""Grammars as Lark builds them: tables, conflicts, refusals; hostile texts."""

import os
import pickle
import re
import subprocess
import sys
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

import lark
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from lark.indenter import Indenter, PythonIndenter
from lark.lexer import UnlessCallback
from lark.parsers.lalr_analysis import Reduce

from guided.errors import GrammarError, GuidedError, LimitError
from guided.lalr import lexers as own_lexers
from guided.lalr.loading import tables_of_object, tables_of_text
from guided.lalr.tables import NO_TEXT, LalrTables, Terminal
from guided.limits import Limits
from guided.resources import grammar_path
from tests.lalr.nasty import lexers
from tests.lalr.oracle import match
from tests.profiles import examples

PYTHON = Path(lark.__file__).parent / "grammars" / "python.lark"


def tables(text: str, limits: Limits | None = None, **options: object) -> LalrTables:
    settings = {
        "start": ["start"],
        "lexer": "contextual",
        "postlex": None,
        "import_paths": [],
        "source": None,
        "allow_files": False,
        **options,
    }
    return tables_of_text(text, limits=limits or Limits(), **settings)  # type: ignore[arg-type]


def same(a: LalrTables, b: LalrTables) -> bool:
    names = [field.name for field in fields(LalrTables)]
    arrays = [name for name in names if isinstance(getattr(a, name), np.ndarray)]
    others = [name for name in names if name not in arrays]
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in arrays) and all(
        getattr(a, name) == getattr(b, name) for name in others
    )


@pytest.mark.parametrize("lexer", ["contextual", "basic"])
def test_every_entry_is_larks(lexer: str) -> None:
    text = grammar_path("json").read_text()
    parser = lark.Lark(text, parser="lalr", lexer=lexer)
    found = tables(text, lexer=lexer)
    table = parser.parser.parser._parse_table
    states = {table.start_states["start"]: found.starts[0].state}
    work = list(states)
    for state in work:
        here = states[state]
        row = slice(found.indptr[here], found.indptr[here + 1])
        ours = dict(zip(found.symbol[row].tolist(), found.value[row].tolist(), strict=True))
        assert ours == found.moves[here]
        assert {found.symbols[symbol] for symbol in ours} == set(table.states[state])
        for symbol, value in ours.items():
            action, target = table.states[state][found.symbols[symbol]]
            if action is Reduce:
                origin, side = found.rules[-1 - value]
                assert found.symbols[origin] == target.origin.name
                assert [found.symbols[symbol] for symbol in side] == [symbol.name for symbol in target.expansion]
            elif target not in states:
                states[target] = value
                work.append(target)
            else:
                assert states[target] == value
    assert len(states) == found.n_states
    assert states[table.end_states["start"]] == found.starts[0].end
    assert len(set(found.context.tolist())) == (1 if lexer == "basic" else len(found.lexer.contexts))


@settings(max_examples=examples(40, by_default=3), deadline=None)
@given(lexers())
def test_a_text_and_its_lark_object_have_the_same_tables_with_larks_contexts(text: str) -> None:
    try:
        parser = lark.Lark(text, parser="lalr")
        match(parser.parser.lexer.root_lexer, "a", 0)
    except (lark.exceptions.LarkError, re.error):
        with pytest.raises(GuidedError):
            tables(text)
        return
    found = tables(text)
    assert same(found, tables_of_object(parser, Limits()))
    assert contexts(found) == larks_contexts(parser)


def contexts(found: LalrTables) -> set[tuple[tuple[str, ...], frozenset[tuple[str, str]]]]:
    """The terminals that each context tries, and its keywords."""
    names = [terminal.name for terminal in found.lexer.terminals]
    words = [(names[owner], names[word]) for owner, word in found.lexer.keywords]
    return {
        (tuple(names[one] for one in context.terminals), frozenset(words[one] for one in context.keywords))
        for context in found.lexer.contexts
    }


def larks_contexts(parser: lark.Lark) -> set[tuple[tuple[str, ...], frozenset[tuple[str, str]]]]:
    """The same, as Lark's lexers have them."""
    return {
        (
            tuple(str(terminal.name) for terminal in lexer.scanner.terminals),
            frozenset(
                (str(owner), str(terminal.name))
                for owner, callback in lexer.callback.items()
                if isinstance(callback, UnlessCallback)
                for terminal in callback.scanner.terminals
            ),
        )
        for lexer in parser.parser.lexer.lexers.values()
    }


@pytest.mark.slow
def test_python_is_read_with_its_indenter() -> None:
    found = tables(PYTHON.read_text(), start=["file_input", "eval_input"], postlex=PythonIndenter(), source=str(PYTHON))
    assert found.n_states > 700
    assert [start.name for start in found.starts] == ["file_input", "eval_input"]
    assert found.indentation is not None
    assert found.indentation.newline == "_NEWLINE"
    assert found.indentation.tab == 8
    assert {"_INDENT", "_DEDENT"} == {
        terminal.name for terminal in found.lexer.terminals if terminal.pattern == NO_TEXT
    }
    assert len(found.conflicts) == 10


def test_conflicts_are_listed_as_lark_resolves_them() -> None:
    shifted = tables('start: "if" start ("else" start)? | "x"')
    assert [note.partition(" (")[0] for note in shifted.notes] == [
        "conflict on ELSE: start: IF start is not reduced where ELSE can be shifted"
    ]
    reduced = tables('start: a | b\na.2: "x"\nb: "x"')
    assert reduced.notes == ("conflict on $END: b: X is not reduced where a: X can be, by priority",)
    assert tables('start: "x"+').notes == ()


def test_templates_imports_and_declared_terminals_are_larks() -> None:
    found = tables('%import common (INT, WS)\n%declare _X\n_sep{x}: x ("," x)*\nstart: _sep{INT} _X?\n%ignore WS')
    assert sorted(found.symbols[: found.end + 1]) == ["$END", "COMMA", "INT", "WS", "_X"]
    assert [found.lexer.terminals[number].name for number in found.lexer.ignored] == ["WS"]


PRINTED = """
import hashlib, sys
from dataclasses import fields
from guided.errors import GrammarError
from tests.lalr.test_loading import PYTHON, PythonIndenter, tables
found = tables(PYTHON.read_text(), start=["file_input"], postlex=PythonIndenter(), source=str(PYTHON))
lists = [getattr(found, name) for name in (field.name for field in fields(found))]
parts = [part.tolist() if hasattr(part, "tolist") else part for part in lists if part is not found.lexer]
lexer = found.lexer.terminals, sorted(found.lexer.ignored), found.lexer.keywords, found.lexer.contexts
flagged = tables("start: A\\nA: /b./is /c.d/ims").lexer.terminals
try:
    tables("start: aa bb cc dd ee ff gg hh")
except GrammarError as error:
    refused = str(error)
print(hashlib.sha256(repr([parts, lexer, flagged, refused]).encode()).hexdigest())
"""


@pytest.mark.slow
def test_tables_are_the_same_in_every_process() -> None:
    digests = {
        subprocess.run(
            [sys.executable, "-c", PRINTED],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "3")
    }
    assert len(digests) == 1


@pytest.mark.parametrize("definition", ["start: {} -> name", '?start: ({}) "a"?', "start: [{}]", "A: {}\nstart: A"])
def test_the_first_of_several_undefined_symbols_is_named(definition: str) -> None:
    """Lark names one of a set, another in each process."""
    is_terminal = definition.startswith("A")
    names = [f"unknown_{letter * 3}" for letter in "pabzq"]
    names = [name.upper() if is_terminal else name for name in names]
    for first in range(len(names)):
        rotated = names[first:] + names[:first]
        with pytest.raises(GrammarError, match=f"the (rule|terminal) {rotated[0]} is used but not defined"):
            tables(definition.format(" | ".join(rotated)))


def test_tables_are_pickled_without_what_is_computed_from_them() -> None:
    found = tables(grammar_path("json").read_text())
    size = len(pickle.dumps(found))
    assert found.moves
    assert found.after
    assert found.reductions
    assert len(pickle.dumps(found)) == size


class Other(PythonIndenter):
    def handle_NL(self, token: lark.Token):  # type: ignore[no-untyped-def]
        yield token


@pytest.mark.parametrize(
    ("options", "reason", "rule"),
    [
        ({"parser": "earley"}, "only parser='lalr'", "Lark"),
        ({"lexer_callbacks": {"A": lambda token: token}}, "callback", "A"),
        ({"use_bytes": True}, "bytes", "Lark"),
        ({"regex": True}, "regex", "Lark"),
        ({"lexer": type("Mine", (lark.lexer.Lexer,), {"__init__": lambda s, c: None, "lex": None})}, "lexer of your own", "Mine"),
        ({"postlex": type("P", (lark.lark.PostLex,), {"process": lambda s, t: t, "always_accept": ()})()}, "only Lark's Indenter is", "P"),
        ({"postlex": Other()}, "only Lark's Indenter is", "Other"),
    ],
)  # fmt: skip
def test_objects_with_behavior_outside_tables_are_refused(options: dict[str, object], reason: str, rule: str) -> None:
    parser = lark.Lark("start: A\nA: /a/\n_NEWLINE: /b/", **{"parser": "lalr", **options})  # type: ignore[arg-type]
    with pytest.raises(GrammarError, match=reason) as caught:
        tables_of_object(parser, Limits())
    assert rule in caught.value.rule


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("start: a", "a"),
        ("start: A", "A"),
        ("start: A\nA: /(/", "A"),
        ("start: A\nA: /a*/", "A"),
        ('start: "a"\nother: (', "other"),
        ('start: "a"\nfoo: "b" )', "foo"),
        ('start: "', "start"),
        ("start: A\nA: /x", "A"),
        ('start: a | b\na: "x"\nb: "x"', "a"),
        ("%import nowhere.X\nstart: X", "nowhere"),
        ('start: "x"\nstart: "y"', "start"),
        ("start: A\nA: B\nB: A", ""),
        ('_t{x}: x _t{_t{x}}\nstart: _t{"a"}', "_t"),
        ("", "start"),
        ("\x00", "grammar"),
        ('begin: "x"', "start"),
        ("start: A\nA: /a/ /b", ""),
    ],
)
def test_grammars_that_lark_refuses_are_refused_by_name(text: str, rule: str) -> None:
    with pytest.raises(GrammarError) as caught:
        tables(text)
    assert rule in caught.value.rule
    assert "Traceback" not in str(caught.value)


HOSTILE = [
    "start: " + " ".join(f'"{i}"?' for i in range(40)),
    "start: (" + "|".join(f'"{i}"' for i in range(9)) + ")~30",
    "start: " + "(" * 30 + '"a"' + "?)~9" * 30,
    "start: A0\n" + "\n".join(f"A{i}: A{i + 1} A{i + 1}" for i in range(60)) + '\nA60: "x"',
    "start: " + "(" * 3000 + '"a"' + ")" * 3000,
    "start: " + "[" * 3000 + '"a"' + "]" * 3000,
    "start: A\nA: /" + "(" * 5000 + "a" + ")" * 5000 + "/",
    "start: A\nA: /" + "\\\\" * 400,
    'start: "' + "\\\\" * 400,
    "start: " + " ".join(['"a"'] * 5000),
    '_t{a,b,c,d,e,f,g,h,i,j}: "x" _t{b,a,c,d,e,f,g,h,i,j} | _t{b,c,d,e,f,g,h,i,j,a}\nstart: _t{'
    + ",".join(f'"{i}"' for i in range(10)) + "}",
    "\n".join(f'_t{i}{{x}}: _t{i + 1}{{x}} _t{i + 1}{{_u{i}{{x}}}}\n_u{i}{{x}}: x' for i in range(60))
    + '\n_t60{x}: x\nstart: _t0{"a"}',
    "start: x" + "\n  | x" * 3 + '\nx: (a b?)* "c"\na: ' + " | ".join(f'"k{i}" a' for i in range(2000)) + "\nb: a",
    "start: " + "a" * 2_000_000,
    'start: "a"~1..100000000',
    'start: "a"~9999999999999999999999999999',
    "start: ~ ~ ~ ~",
]  # fmt: skip


RECURSIVE = [
    '_e{x}: x | "(" _g{_e{x}} ")"\n_g{x}: x ("," x)*\nstart: _e{"a"}',
    '_list{x, y}: _list{x, y} y x | x\nstart: _list{"a", ","} | _list{"b", ","}',
    '_both{x, y}: x y\n_list{x}: "[" (_both{x, _tail{x}})? "]"\n_tail{x}: ("," x)*\nstart: _list{start} | "a"',
]
# Nobody writes these, and what Lark makes of them is hard to count.
CIRCULAR = [
    '_p{a, b, c, d, e, f}: a | "(" _p{b, c, d, e, f, a} ")" | "[" _p{b, a, c, d, e, f} "]"\nstart: _p{"a", "b", "c", "d", "e", "f"}',
    '_f{x}: "f" _g{x} | x\n_g{x}: "g" _f{x} | "h" _g{"y"}\nstart: _f{"a"} | _g{"b"}',
    '_apply{f, x}: f{x}\n_sep{x}: x ("," x)*\nstart: _apply{_sep, "a"}',
]


@pytest.mark.slow
@pytest.mark.parametrize("text", RECURSIVE)
def test_templates_may_be_recursive(text: str) -> None:
    lark.Lark(text, parser="lalr")
    assert tables(text).n_states > 2


@pytest.mark.parametrize("text", CIRCULAR)
def test_templates_that_lead_back_to_themselves_are_refused(text: str) -> None:
    with pytest.raises(GrammarError, match="only with its own parameters"):
        tables(text)


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_grammars_end_in_an_error_or_tables(text: str) -> None:
    with suppress(GuidedError):
        tables(text, Limits(steps=50_000_000))


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|a)+b", "(a*)*(a*)*b", "a*a*a*a*a*a*a*a*a*a*b"])
def test_keywords_are_found_in_linear_time(pattern: str) -> None:
    found = tables(f'start: (A | "{"a" * 40}" | "{"a" * 40}b")*\nA: /{pattern}/')
    owner, word = found.lexer.keywords[0]
    assert (found.lexer.terminals[owner].name, found.lexer.terminals[word].pattern) == ("A", "a" * 40 + "b")
    assert len(found.lexer.keywords) == 1


def test_terminals_are_never_compared_with_each_other() -> None:
    tables("start: (A | B)*\nA: /(a|b)*a(a|b){22}/\nB: /(a|b)*b(a|b){22}/")


def test_budgets_are_limit_errors() -> None:
    with pytest.raises(LimitError, match="steps"):
        tables(grammar_path("json").read_text(), Limits(steps=50_000))
    with pytest.raises(LimitError, match="pattern_length"):
        tables(grammar_path("json").read_text(), Limits(pattern_length=50))


def test_an_indenter_is_an_indenter_of_larks() -> None:
    assert issubclass(PythonIndenter, Indenter)


PIECES = [
    "a",
    "(a)",
    "(?:b|c)",
    r"\1",
    r"\\1",
    "(?P<X>a)",
    "(?P=X)",
    "(?i)",
    "(?i:a)",
    "(?(1)a|b)",
    "(?<=a)",
    "(?!b)",
    "#",
    " ",
    "[(]",
    r"\(",
    "|",
]


@given(pieces=st.lists(st.sampled_from(PIECES), max_size=5), flags=st.sampled_from([0, re.VERBOSE, re.IGNORECASE]))
def test_names_of_groups_are_those_that_re_finds(pieces: list[str], flags: int) -> None:
    pattern = "".join(pieces)
    assume(can_be_compiled(pattern, flags))
    named = f"(?P<T>{pattern})"
    expected = (
        tuple(re.compile(named, flags).groupindex) if "(" in pattern and can_be_compiled(named, flags) else ("T", "T")
    )
    if "(" not in pattern:
        expected = ("T",)
    assert own_lexers._groups(Terminal("T", pattern, flags)) == expected


def can_be_compiled(pattern: str, flags: int) -> bool:
    try:
        re.compile(pattern, flags)
    except re.error:
        return False
    return True


def test_a_pattern_is_parsed_once_to_check_it(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    original = own_lexers.parsed_pattern
    monkeypatch.setattr(
        own_lexers, "parsed_pattern", lambda pattern, flags: parsed.append(pattern) or original(pattern, flags)
    )
    tables('start: A | B | "(c)"\nA: /(?:a|b)+(?=c)/\nB: /(?P<x>d)/')
    assert sorted(parsed) == ["(?:a|b)+(?=c)", "(?P<B>(?P<x>d))", "(?P<x>d)"]
