"""Grammars of strangers: what is done before, in and after Lark is linear in their text, or counted and refused."""

import random
import re
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as sre_parser  # type: ignore[attr-defined]
from typing import Any, cast

import lark
import pytest
from lark import load_grammar

import guided
from guided.automata.steps import Steps
from guided.engine.compile import compile as compile_spec
from guided.errors import GrammarError, LimitError
from guided.integrations.serving import FRONT_END_LIMITS
from guided.lalr import loading
from guided.lalr.lexemes import Lexemes
from guided.lalr.refusals import _OTHER_NOTATIONS, _Text
from guided.lalr.scanner import scanner_of
from guided.lalr.size import TOKEN, check_size
from guided.limits import Limits
from tests.executed import executed_lines
from tests.lalr.test_loading import tables
from tests.schema.engine import BYTES

# Texts that a backtracking matcher may read in many ways; n is their length.
REPEATED = {
    "line breaks": lambda n: "\n" * n,
    "line breaks and spaces": lambda n: "\r\n " * (n // 3),
    "spaces": lambda n: " " * n,
    "backslashes in a string": lambda n: '"' + "\\\\" * (n // 8) + "\\\n",
    "letters in a string": lambda n: '"' + "a" * n,
    "backslashes in a pattern": lambda n: "/" + "\\\\" * (n // 8),
}


def readers_terminals() -> dict[str, str]:
    """The terminals of the parser that Lark reads grammars with."""
    tables("start: A\nA: /a/")
    lexer = load_grammar._get_parser().lexer
    return {str(terminal.name): terminal.pattern.to_regexp() for terminal in lexer.terminals}


def backtracking_steps(pattern: str, text: str) -> int:
    """Count the steps of a backtracking matcher at the beginning of a text, as `re` makes them."""
    count = 0
    letters: dict[int, Any] = {}

    def sequence(items: list[Any], place: int, at: int) -> Any:
        if place == len(items):
            yield at
            return
        for end in item(items[place], at):
            yield from sequence(items, place + 1, end)

    def repeat(kind: Any, low: int, high: Any, body: list[Any], at: int) -> Any:
        if kind is sre.MIN_REPEAT and low <= 0:
            yield at
        if high > 0:
            for end in sequence(body, 0, at):
                if end > at:
                    yield from repeat(kind, low - 1, high if high == sre.MAXREPEAT else high - 1, body, end)
        if kind is not sre.MIN_REPEAT and low <= 0:
            yield at

    def item(node: Any, at: int) -> Any:
        nonlocal count
        count += 1
        kind, given = node
        if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            yield from repeat(kind, given[0], given[1], list(given[2]), at)
        elif kind is sre.POSSESSIVE_REPEAT:
            yield from list(repeat(sre.MAX_REPEAT, given[0], given[1], list(given[2]), at))[:1]
        elif kind is sre.SUBPATTERN:
            yield from sequence(list(given[3]), 0, at)
        elif kind is sre.BRANCH:
            for branch in given[1]:
                yield from sequence(list(branch), 0, at)
        elif kind in (sre.ASSERT, sre.ASSERT_NOT):
            if any(True for _ in sequence(list(given[1]), 0, at)) == (kind is sre.ASSERT):
                yield at
        else:
            if id(node) not in letters:
                letters[id(node)] = re._compiler.compile(sre_parser.SubPattern(sre_parser.State(), [node]), 0)  # type: ignore[attr-defined]
            found = letters[id(node)].match(text, at)
            if found:
                yield found.end()

    next(sequence(list(sre_parser.parse(pattern)), 0, 0), None)
    return count


@pytest.mark.parametrize("text", REPEATED.values(), ids=REPEATED)
def test_lark_reads_the_text_of_a_grammar_in_linear_time(text: Any) -> None:
    for name, pattern in readers_terminals().items():
        few, many = (backtracking_steps(pattern, text(n)) for n in (40, 80))
        assert many <= 3 * few, name


@pytest.mark.parametrize("letter", [" ", "a", "-", "\n", "a-", " \n"])
def test_other_notations_are_recognized_in_linear_time(letter: str) -> None:
    for pattern, _, _ in _OTHER_NOTATIONS:
        few, many = (backtracking_steps(pattern.pattern, "a" + letter * n) for n in (40, 80))
        assert many <= 3 * few, pattern


def test_terminals_of_larks_notation_match_what_larks_own_match() -> None:
    draw, linear = random.Random(1), readers_terminals()
    assert linear.keys() == load_grammar.TERMINALS.keys()
    texts = ["".join(draw.choices('"\\/\n\r |#ia', k=draw.randint(1, 12))) for _ in range(4_000)]
    for name, pattern in load_grammar.TERMINALS.items():
        for text in texts:
            own, found = re.match(pattern, text), re.match(linear[name], text)
            # Lark's own literals may end in an escaped quote if there is no other; `check_size` refuses them first, as not closed.
            if own and not found and name in ("STRING", "REGEXP"):
                token = TOKEN.match(text)
                assert token is not None
                assert token["sign"], text
            else:
                assert (own and own[0]) == (found and found[0]), (name, text)


def test_terminals_of_larks_notation_are_tried_in_larks_order() -> None:
    tables("start: A\nA: /a/")
    order = [str(one.name) for one in load_grammar._get_parser().lexer.terminals]
    assert [name for name in order if name in ("COMMENT", "_NL_OR", "_NL", "WS")] == ["COMMENT", "_NL_OR", "_NL", "WS"]


def test_a_string_ends_on_its_line() -> None:
    with pytest.raises(GrammarError, match="never closed"):
        tables('start: "' + "\\\\" * 5 + '\\\n"')


@pytest.mark.parametrize("literal", ['"' + '\\"' * 50, "/" + "\\/" * 50])
def test_what_is_behind_an_open_literal_is_not_read(literal: str) -> None:
    assert [token.text for token in _Text(f"start: {literal} a b").tokens] == ["start", ":", literal[0]]


# Refused texts, by a count of their parts.
REFUSED = {
    "colons on a line": lambda n: "start: a" + ": a" * n,
    "rules beside one that is not defined": lambda n: "".join(f'r{i}: "a"\n' for i in range(n)) + "start: x",
    "definitions within a literal": lambda n: "start: x\nA: /" + "b=\n" * n + "/x\nB: " + '"a" ' * n,
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_a_grammar_is_refused_in_linear_time(text: Any) -> None:
    def refused(n: int) -> int:
        return executed_lines(lambda: tables(text(n), Limits(steps=1 << 62)))

    refused(1)
    few, many = refused(300), refused(600)
    assert many <= 2.5 * few


# Texts whose size in Lark grows faster than their own, by a count of their parts.
GROWING = {
    "terminals that extend each other": lambda n: (
        "start: T0\n" + "\n".join(f'T{i}: T{i + 1} T{i + 1}\n%extend T{i}: "z"' for i in range(n)) + f'\nT{n}: "z"'
    ),
    "a template that extends itself": lambda n: (
        'start: t{"a"}\nt{x}: x' + "\n%extend t{x}: " + ' (x | "b")' * n + "\n%extend t{x}: x x"
    ),
    "ignored texts that name a long terminal": lambda n: (
        'start: "a"\nT: "' + "b" * n + '"\n' + "\n".join(f'%ignore T "{i}"' for i in range(n))
    ),
    "groups around terminals": lambda n: (
        "start: T0\n" + "\n".join(f"T{i}: {'(' * n}T{i + 1} T{i + 1}{')' * n}" for i in range(9)) + '\nT9: "z"'
    ),
    "alternatives around alternatives": lambda n: (
        "start: T\nT: " + "(" * n + '"' + "a" * n + '"' + "".join(f' | "b{i}")' for i in range(n))
    ),
    "terminals, each an alternative of the next": lambda n: (
        "start: T0\n" + "\n".join(f'T{i}: T{i + 1} | "b{i}"' for i in range(n)) + f'\nT{n}: "z"'
    ),
    "terminals that name imported ones": lambda n: (
        '%import python.STRING\nstart: "a"\n' + "\n".join(f"T{i}: STRING | T{i + 1}" for i in range(n)) + f'\nT{n}: "z"'
    ),
    "rules that nothing uses": lambda n: (
        'start: "a"\n' + "\n".join(f'r{i}: "k" r{i + 1}' for i in range(n)) + f'\nr{n}: "z"'
    ),
    "parameters": lambda n: 'start: "a"\nt{' + ",".join(f"p{i}" for i in range(n)) + '}: "a"',
}


@pytest.mark.parametrize("text", GROWING.values(), ids=GROWING)
def test_what_grows_in_lark_is_refused_before_lark_reads_it(text: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "Lark", None)
    with pytest.raises(LimitError) as caught:
        tables(text(10_000 if "p0" in text(1) else 2_000), Limits(pattern_length=1_000_000, steps=50_000_000))
    assert caught.value.given > caught.value.limit


@pytest.mark.parametrize("text", GROWING.values(), ids=GROWING)
def test_the_size_in_lark_is_estimated_in_linear_time(text: Any) -> None:
    few, many = (
        executed_lines(lambda n=n: check_size(text(n), Limits(steps=1 << 62, pattern_length=1 << 62)))
        for n in (100, 200)
    )
    assert many <= 2.6 * few


@pytest.mark.parametrize(
    "name", sorted({*GROWING} - {"terminals that extend each other", "a template that extends itself"})
)
def test_the_estimate_bounds_what_lark_executes(name: str) -> None:
    text = GROWING[name](12)
    estimate = check_size(text, Limits(steps=1 << 62, pattern_length=1 << 62), ["start"])
    assert estimate >= 4 * executed_lines(lambda: lark.Lark(text, parser="lalr"))


@pytest.mark.parametrize("flags", ["", "i"])
def test_sets_of_characters_are_not_visited_one_by_one(flags: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("compiled")

    text = f"start: A\nA: /[\\x01-\\U0010fffe](?!b)/{flags}"
    tables(text)
    monkeypatch.setattr(re, "compile", refuse)
    monkeypatch.setattr(re._compiler, "compile", refuse)  # type: ignore[attr-defined]
    tables(text)


@pytest.mark.parametrize("pattern", ["(?<=ab?)c", "(?<!a|bc)d", "(?:x(?<=a{1,2}))+"])
def test_lookbehinds_of_several_widths_are_refused_as_in_lark(pattern: str) -> None:
    with pytest.raises(re.error):
        re.compile(pattern)
    with pytest.raises(GrammarError):
        tables(f"start: A\nA: /{pattern}/")


def test_scanners_of_all_terminals_share_the_budget() -> None:
    def patterns(count: int) -> str:
        words = " | ".join(f"A{i}" for i in range(count))
        return f'start: "aaaa" | {words}\n' + "\n".join(f"A{i}: /(a|b)*a(a|b){{6}}|a{i};/" for i in range(count))

    limits = Limits(steps=2_000_000)
    tables(patterns(1), limits)
    with pytest.raises(LimitError, match="steps"):
        tables(patterns(10), limits)


def test_sets_of_characters_of_all_terminals_share_the_budget() -> None:
    def patterns(count: int) -> str:
        return f"start: {' | '.join(f'A{i}' for i in range(count))}\n" + "\n".join(
            f"A{i}: /[^\\W\\d]{i};/" for i in range(count)
        )

    limits = Limits(intervals=30_000)
    scanner_of(tables(patterns(2)).lexer, limits)
    lexer = tables(patterns(40)).lexer
    with pytest.raises(LimitError, match="intervals"):
        scanner_of(lexer, limits)


def lookahead(count: int) -> str:
    return f"start: (A | B)*\nA: /a(?=.{{{count}}}b)/\nB: /[ab]/"


def test_lookaheads_that_may_read_many_texts_are_refused_before_they_are_read() -> None:
    """The reader keeps the characters that lookaheads have read: of three letters, 3**length texts, in any order."""

    def visited(length: int) -> int:
        scanner = scanner_of(tables(lookahead(length)).lexer, Limits())

        def make() -> None:
            with pytest.raises(LimitError, match="may read too many texts"):
                Lexemes(scanner, Steps(100_000_000))

        return executed_lines(make)

    assert visited(200) < 12 * visited(20)
    with pytest.raises(LimitError, match="dead_end_steps"):
        compile_spec(guided.Grammar(lookahead(9)), BYTES)
    guide = compile_spec(guided.Grammar(lookahead(4)), BYTES).guide()
    for byte in b"aaabbaba" * 9:
        guide.mask()
        guide.advance(byte)


def test_a_check_without_an_end_is_refused_where_texts_are_read_ahead() -> None:
    """Without its answers, masks would tell thousands of texts apart, and fail in the middle of one."""
    with pytest.raises(LimitError, match="dead_end_steps"):
        compile_spec(guided.Grammar(lookahead(5)), BYTES, Limits(dead_end_steps=30_000_000))


def test_a_repeat_takes_the_same_work_for_each_of_its_states() -> None:
    def compiled(count: int) -> int:
        found = tables(f"start: A\nA: /(ab){{2,{count}}}c/")
        return executed_lines(lambda: Lexemes(scanner_of(found.lexer, Limits()), Steps(1 << 40)))

    few, many = compiled(200), compiled(400)
    assert many <= 2.3 * few


def test_a_terminal_of_many_states_is_refused_before_they_are_made() -> None:
    lexer = tables("start: A\nA: /(ab){2,50000}c/").lexer
    with pytest.raises(LimitError, match="steps"):
        scanner_of(lexer, Limits())

    def refused(count: int) -> int:
        found, limits = tables(f"start: A\nA: /(ab){{2,{count}}}c/").lexer, Limits(steps=1_000_000)

        def make() -> None:
            with pytest.raises(LimitError, match="steps"):
                scanner_of(found, limits)

        return executed_lines(make)

    assert refused(40_000) <= 1.1 * refused(4_000)


WATCHED = {"words": "W: /[a-z]+/", "short words": "W: /[a-z]{1,300}/"}


@pytest.mark.parametrize("terminals", WATCHED)
def test_the_steps_of_a_call_do_not_grow_with_the_lexemes_that_a_counting_terminal_watches(terminals: str) -> None:
    """After each word, the terminal may still match for 400 characters, wherever it began."""
    grammar = f'start: (S | W | B)*\n{WATCHED[terminals]}\nS: " "\nB: /[a-z]+ [^;]{{0,400}};/'
    index = compile_spec(guided.Grammar(grammar), BYTES, FRONT_END_LIMITS)
    guide, tables = index.guide(), cast("Any", index.tables)
    taken = []
    for _ in range(6):
        guide.advance_many(b"abc defghij abcdefg ")
        guide.mask()
        taken.append(tables.automaton.tables.steps.spent)
        assert guide.remaining == 0
    assert taken[-1] < 1.5 * taken[2]
