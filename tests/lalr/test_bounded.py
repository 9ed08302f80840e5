"""Bounds of ignored text, against Lark's own lexemes: a text counts if no run of ignored characters between them is too long."""

import itertools
import random
from pathlib import Path
from typing import Any

import lark
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import guided
from guided.arrays import DEAD
from guided.automata.pushdown import KEPT
from guided.automata.stacks import Configuration, Stacks
from guided.errors import GrammarError, LimitError
from guided.lalr.bounded import bounded_scanner
from guided.lalr.loading import tables_of_object
from guided.lalr.machine import LalrMachine
from guided.lalr.scanner import scanner_of
from guided.vocabulary.vocabulary import Vocabulary
from tests.lalr.prefixes import Prefixes
from tests.lalr.test_prefix import LIMITS
from tests.masks import bits

STATEMENTS = 'start: A B? C\nA: "a"\nB: /b+/\nC: "c"\nCOMMENT: /#[^\\n]*/\n%ignore /\\s+/\n%ignore COMMENT'
GRAMMARS = {
    "statements": (STATEMENTS, "ac #\n"),
    "one blank at a time": ('start: ("a" | "b")*\n%ignore " "', "ab "),
    "ignored text that looks ahead": ('start: ("a" | "b")+\n%ignore / +(?=a)/\n%ignore /c/', "ab c"),
    "a terminal that looks behind": ("start: (A | B)+\nA: /(?<= )a/\nB: /b/\n%ignore / +/", "ab "),
    "a terminal that begins as ignored text": ("start: (A | B)+\nA: / a/\nB: /b/\n%ignore / +/", "ab "),
    "a separator that is ignored": ("start: NAME NAME+\nNAME: /[ab]+/\n%ignore / +/", "ab "),
    "a keyword that is ignored": ('start: (NAME | "c")+\nNAME: /[ab]+/\n%ignore "ab"\n%ignore / /', "abc "),
    "characters of several bytes": ("start: NAME+\nNAME: /[aé]+/\n%ignore /[ 中]+/", "aé 中"),
    "nothing is ignored": ('start: "a" (" " "b")*', "ab "),
    "nothing but ignored text": ('start: "a"?\n%ignore " "', "a "),
    "prefixes of comments": ('start: ("/" | "a")+\n%ignore /\\/\\*(.|\\n)*?\\*\\//\n%ignore " "', "/*a "),
}
BYTES = Vocabulary([bytes([byte]) for byte in range(256)] + [b"  ", b"\n\n", b"a ", b" a", b" b", None], eos=[261])


def parsed(parser: lark.Lark, text: str, limit: int) -> bool:
    """Does Lark read a text, with runs of ignored characters that are short enough?"""
    try:
        interactive = parser.parse_interactive(text)
        tokens = list(interactive.exhaust_lexer())
        interactive.feed_eof()
    except (lark.exceptions.LarkError, AssertionError, IndexError):
        return False
    ends = [0, *(token.end_pos for token in tokens)]
    begins = [*(token.start_pos for token in tokens), len(text)]
    return all(begin - end <= limit for end, begin in zip(ends, begins, strict=True))


def can_be_completed(prefixes: Prefixes, state: int, letters: bytes) -> bool:
    """Breadth first over further letters; True as well where that takes too long to say."""
    seen, work = {state}, [state]
    for one in work:
        if prefixes.is_accepting(one) or len(seen) > 3_000:
            return True
        for byte in letters:
            following = prefixes.step(one, byte)
            if following != DEAD and following not in seen:
                seen.add(following)
                work.append(following)
    return False


def check(text: str, alphabet: str, limit: int, longest: int, lexer: str = "contextual") -> None:
    """All texts up to a length: accepted as the definition says; and alive exactly where some text goes on from there."""
    parser = lark.Lark(text, parser="lalr", lexer=lexer)
    tables = tables_of_object(parser, LIMITS)
    scanner = bounded_scanner(scanner_of(tables.lexer, LIMITS), limit, LIMITS)
    machine = LalrMachine(tables, scanner, tables.starts[0], LIMITS, b"\x01" * 256)
    prefixes = Prefixes(tables, scanner, tables.starts[0].name, LIMITS)
    stacks = Stacks(machine)
    work: list[tuple[str, int, Configuration | None]] = [
        ("", prefixes.initial, None if machine.is_empty else (machine.start, 0, *KEPT))
    ]
    alive, accepted = set(), []
    letters = "".join(sorted(set(alphabet))).encode()
    for read, state, place in work:
        is_accepted = place is not None and stacks.is_end(place)
        assert is_accepted == parsed(parser, read, limit), read
        assert (place is not None) == (state != DEAD), read
        if is_accepted:
            accepted.append(read)
        if place is not None:
            alive.add(read)
            if not machine.dead_ends.doubts and len(alphabet.encode()) == len(alphabet):
                assert can_be_completed(prefixes, state, letters), read
        if state != DEAD and len(read) < longest:
            for character in alphabet:
                after = None if place is None else stacks.read(place, character.encode())
                work.append((read + character, prefixes.read(state, character.encode()), after))
        elif state == DEAD and len(read) < longest:
            # What is dead stays out, whatever follows.
            work += [(read + character, DEAD, None) for character in alphabet]
    assert [one for one in accepted if not all(one[:i] in alive for i in range(len(one)))] == []


@pytest.mark.parametrize("limit", [0, 1, 3])
@pytest.mark.parametrize("name", GRAMMARS)
def test_runs_of_ignored_text_are_bounded(name: str, limit: int) -> None:
    text, alphabet = GRAMMARS[name]
    check(text, alphabet, limit, 5)


TERMINALS = ["/a+/", '"b"', '"ab"', "/a|ab/", "/[ab]+/", "/a(?=b)/", "/b(?! )/", "/ab?/", '"c"', "/(?<!a)b/", "/a b/"]
IGNORED = ['" "', "/ +/", "/ /", "/c+/", "/c[ a]*/", "/ +(?=a)/", '"ab"', "/[ c]{1,3}/"]


@st.composite
def grammars(draw: st.DrawFn) -> str:
    """Small grammars with ignored text of several kinds."""
    terminals = draw(st.lists(st.sampled_from(TERMINALS), min_size=1, max_size=3, unique=True))
    ignored = draw(st.lists(st.sampled_from(IGNORED), min_size=1, max_size=2, unique=True))
    names = [f"T{number}" for number in range(len(terminals))]
    item = st.sampled_from([*names, *(f"{name}?" for name in names), "(T0 start T0)?", *(f"{name}*" for name in names)])
    sides = draw(st.lists(st.lists(item, min_size=1, max_size=3).map(" ".join), min_size=1, max_size=2))
    lines = [f"start: {' | '.join(sides)}"]
    lines += [f"{name}: {pattern}" for name, pattern in zip(names, terminals, strict=True)]
    return "\n".join([*lines, *(f"%ignore {pattern}" for pattern in ignored)])


@settings(max_examples=40, deadline=None)
@given(grammars(), st.integers(0, 3), st.sampled_from(["contextual", "contextual", "basic"]))
def test_random_grammars(text: str, limit: int, lexer: str) -> None:
    try:
        lark.Lark(text, parser="lalr", lexer=lexer)
    except lark.exceptions.LarkError:
        return
    try:
        check(text, "abc ", limit, 4, lexer)
    except (GrammarError, LimitError):
        return


@pytest.mark.parametrize("limit", [1, 3])
def test_masks_are_those_of_the_bounded_language(limit: int) -> None:
    """Token by token along random texts: a mask allows what leads to a text that can be completed."""
    index = guided.compile(guided.Grammar(STATEMENTS, max_ignored=limit), BYTES)
    rng = random.Random(limit)
    for _ in range(20):
        guide, text = index.guide(), b""
        while not guide.is_finished and len(text) < 14:
            allowed = set(bits(guide.mask()))
            expected = {token for token in range(len(BYTES)) if guide.validate([token])}
            assert allowed == expected
            assert guide.remaining >= 0
            token = rng.choice(sorted(allowed))
            guide.advance(token)
            text += BYTES[token] or b""
        if guide.is_finished:
            assert parsed(lark.Lark(STATEMENTS, parser="lalr"), text.decode(), limit)


def test_blanks_cannot_eat_the_budget() -> None:
    """A model that would write line feeds for ever comes to the end of the text."""
    text = 'start: "SELECT" NAME ";"\nNAME: /[a-z]+/\n%ignore /\\s+/'
    free = guided.compile(guided.Grammar(text), BYTES).guide()
    bounded = guided.compile(guided.Grammar(text, max_ignored=2), BYTES).guide()
    statement = [*b"SELECT\n\na;"]
    for guide in (free, bounded):
        assert guide.advance_many(statement) == len(statement)
    assert free.advance_many([10] * 24) == 24
    assert bounded.advance_many([10] * 24) == 2
    assert set(bits(bounded.mask())) == {261}


@pytest.mark.slow
def test_newlines_of_an_indenter_are_not_ignored_text() -> None:
    spec = guided.Grammar("python", max_ignored=1)
    index = guided.compile(spec, BYTES)
    assert index.accepts(b"if x:\n        y = 1\n\n\n\nz = 2\n")
    assert not index.accepts(b"x  = 1\n")
    assert guided.compile(guided.Grammar("python"), BYTES).accepts(b"x  = 1\n")


def test_the_bound_is_in_the_fingerprint_and_in_files(tmp_path: Path) -> None:
    plain, one, two = (guided.Grammar("json", max_ignored=limit) for limit in (None, 1, 2))
    assert len({spec.fingerprint for spec in (plain, one, two)}) == 3
    assert guided.Grammar("json") == plain
    assert guided.Grammar.from_data(two.data) == two
    guided.compile(two, BYTES).save(tmp_path / "json.index")
    loaded = guided.load_index(tmp_path / "json.index", BYTES)
    assert loaded.accepts(b'{  "a"  :  [  ]  }  ')
    assert not loaded.accepts(b'{   "a": []}')
    position = two.prefix_position(b"{   ")
    assert position is None or "STRING" not in position.terminals


@pytest.mark.parametrize(("limit", "error"), [(-1, ValueError), (1.5, TypeError), (True, TypeError), ("2", TypeError)])
def test_bounds_that_are_none(limit: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="max_ignored"):
        guided.Grammar("json", max_ignored=limit)


def test_a_bound_without_ignored_text_changes_no_mask() -> None:
    text = 'start: "a" " "* "b"'
    one, two = (guided.compile(guided.Grammar(text, max_ignored=limit), BYTES).guide() for limit in (None, 0))
    for token in b"a    b":
        assert np.array_equal(one.mask(), two.mask())
        one.advance(token)
        two.advance(token)


def test_texts_of_any_length_of_run() -> None:
    index = guided.compile(guided.Grammar('start: "a" "b"\n%ignore /[ \\n]+/', max_ignored=40), BYTES)
    for count, where in itertools.product((0, 39, 40, 41, 80), ("{0}ab", "a{0}b", "ab{0}")):
        assert index.accepts(where.format(" " * count).encode()) == (count <= 40)


def test_bounds_that_make_too_many_states_are_a_limit_error() -> None:
    for limit in (1_000_000, 10**15):
        with pytest.raises(LimitError, match="max_ignored is too large"):
            guided.compile(guided.Grammar("json", max_ignored=limit), BYTES)
