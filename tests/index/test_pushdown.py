"""The runtime of automata with a stack, by a parser of brackets: masks are what reads token by token, and what can be completed."""

import itertools
import random
import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guided.automata.pushdown import Pushdown
from guided.engine.index import Index
from guided.engine.json_schema import JsonSchema
from guided.errors import LimitError, TokenRejected
from guided.index.pushdown import PushdownIndex
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary
from tests.index.brackets import BRACKETS, Parser, brackets
from tests.masks import bits
from tests.profiles import examples

WORDS = ((b"begin", b"end"), (b"(", b")"))
GRAMMARS = [BRACKETS, WORDS]
SEVERAL = [b"))", b")](", b"((", b"([", b"])", b"()", b"()[]", b"]]]]", b"))", b"(((((((("]
VOCABULARY = Vocabulary([b"(", None, b")", b"[", b"]", b"", *SEVERAL, None, b"x", b"(x"], eos=[16, 40], size=41)


def parser_index(
    pairs: Sequence[tuple[bytes, bytes]] = BRACKETS, vocabulary: Vocabulary = VOCABULARY, has_plan: bool = False
) -> Index:
    tables = PushdownIndex(Parser(brackets(pairs), has_plan=has_plan), vocabulary, Limits())
    return Index(tables, vocabulary, "brackets")


# ------------------------------------------------------------------------------------------------------------- oracles


def reduced(text: bytes, pairs: Sequence[tuple[bytes, bytes]]) -> list[bytes] | None:
    """What is left of a text when pairs that touch are taken away again and again; None: it is no row of brackets."""
    known = b"|".join(re.escape(bracket) for pair in pairs for bracket in pair)
    if not re.fullmatch(b"(?:%b)*" % known, text):
        return None
    words = re.findall(known, text)
    while True:
        inner = next((i for i in range(len(words) - 1) if (words[i], words[i + 1]) in pairs), None)
        if inner is None:
            return words
        del words[inner : inner + 2]


def is_balanced(text: bytes, pairs: Sequence[tuple[bytes, bytes]]) -> bool:
    return reduced(text, pairs) == []


def has_completion(text: bytes, pairs: Sequence[tuple[bytes, bytes]]) -> bool:
    """Is only closing missing, after the rest of a bracket that has begun?"""
    rests = {bracket[i:] for pair in pairs for bracket in pair for i in range(1, len(bracket) + 1)}
    left = [reduced(text + rest, pairs) for rest in rests]
    return any(words is not None and set(words) <= {opening for opening, _ in pairs} for words in left)


# ------------------------------------------------------------------------------------------------------------ brackets


@pytest.mark.parametrize("has_plan", [False, True])
@pytest.mark.parametrize("pairs", GRAMMARS)
def test_all_short_texts(pairs: Sequence[tuple[bytes, bytes]], has_plan: bool) -> None:
    values = sorted({bytes([value]) for pair in pairs for bracket in pair for value in bracket})
    tokens = [*values, *SEVERAL[:5], b"end", b"gin(", b"beginend", b"d)", b"nde", b"(b"]
    vocabulary = Vocabulary([*tokens, None], eos=[len(tokens)])
    index = parser_index(pairs, vocabulary, has_plan)
    longest, count = (6, 0) if pairs == BRACKETS else (9, 0)
    todo = [b""]
    while todo:
        text = todo.pop()
        state, read = index.tables.trace(0, text)
        assert read == len(text)
        expected = [i for i, token in enumerate(tokens) if has_completion(text + token, pairs)]
        assert expected == [i for i in range(len(tokens)) if index.next(state, i) >= 0]
        ends = [vocabulary.eos[0]] if is_balanced(text, pairs) else []
        assert bits(index.mask(state)) == [*expected, *ends], text
        assert index.accepts(text) == index.is_accepting(state) == bool(ends)
        count += 1
        if len(text) < longest:
            todo += [text + value for value in values if has_completion(text + value, pairs)]
    assert count > 300


@st.composite
def bracket_vocabularies(draw: st.DrawFn, pairs: Sequence[tuple[bytes, bytes]]) -> Vocabulary:
    values = sorted({bytes([value]) for pair in pairs for bracket in pair for value in bracket})
    pieces = [bracket for pair in pairs for bracket in pair] + values
    several = st.lists(st.sampled_from(pieces), min_size=2, max_size=12).map(b"".join)
    tokens: list[bytes | None] = draw(
        st.lists(st.one_of(several, st.sampled_from([None, b"", b"x", b"(x"])), max_size=20)
    )
    tokens += [*values, *draw(st.lists(st.sampled_from(tokens), max_size=3) if tokens else st.just([]))]
    tokens = draw(st.permutations(tokens))
    return Vocabulary(tokens, eos=[len(tokens), len(tokens) + 33], size=len(tokens) + 34)


@settings(max_examples=examples(60))
@given(st.data(), st.sampled_from(GRAMMARS), st.booleans(), st.randoms(use_true_random=False))
def test_walks(
    data: st.DataObject, pairs: Sequence[tuple[bytes, bytes]], has_plan: bool, chance: random.Random
) -> None:
    """Masks, soundness, liveness, rollback and forks along a random walk."""
    vocabulary = data.draw(bracket_vocabularies(pairs))
    guide, text, before = parser_index(pairs, vocabulary, has_plan).guide(), b"", []
    for _ in range(12):
        mask = bits(guide.mask())
        expected = [i for i, token in enumerate(vocabulary.tokens) if token and has_completion(text + token, pairs)]
        ends = list(vocabulary.eos) if is_balanced(text, pairs) else []
        assert mask == expected + ends, text
        assert mask == [i for i in range(vocabulary.size) if guide.fork().advance_many([i])]
        assert guide.is_accepting == bool(ends)
        assert (guide.remaining == 0) == bool(ends)
        within = guide.remaining + 1
        assert bits(guide.mask_within(within)) == [i for i in mask if _remaining_after(guide, i) < within]
        before.append((guide.state, mask))
        token = chance.choice(expected)
        guide.advance(token)
        text += vocabulary[token] or b""
    fork = guide.fork()
    for back, (state, mask) in enumerate(reversed(before), 1):
        guide.rollback(1)
        assert (guide.state, bits(guide.mask())) == (state, mask)
        assert len(guide) == 12 - back
    # Every text can be completed, within the bound.
    most = fork.remaining
    while not fork.is_accepting:
        assert most > 0
        token = bits(fork.mask_within(most))[0]
        fork.advance(token)
        text, most = text + (vocabulary[token] or b""), most - 1
    assert is_balanced(text, pairs)


def _remaining_after(guide, token: int) -> int:
    fork = guide.fork()
    fork.advance(token)
    return fork.remaining


@pytest.mark.parametrize("has_plan", [False, True])
def test_a_state_is_the_set_of_open_items(has_plan: bool) -> None:
    """Two texts are in one state exactly if the same brackets are open, and both or neither have a pair within the innermost."""
    index, states = parser_index(has_plan=has_plan), {}
    for text in map(bytes, itertools.chain.from_iterable(itertools.product(b"()[]", repeat=n) for n in range(7))):
        if has_completion(text, BRACKETS):
            kind = tuple(reduced(text, BRACKETS) or ()), text[-1:] in (b")", b"]")
            states.setdefault(kind, set()).add(index.tables.trace(0, text)[0])
    assert all(len(found) == 1 for found in states.values())
    assert len(set.union(*states.values())) == len(states)


@pytest.mark.parametrize("has_plan", [False, True])
@pytest.mark.parametrize("pairs", GRAMMARS)
def test_depth_costs_no_recursion(pairs: Sequence[tuple[bytes, bytes]], has_plan: bool) -> None:
    values = [bytes([value]) for value in range(256)]
    vocabulary = Vocabulary([*values, *SEVERAL, None], eos=[256 + len(SEVERAL)])
    chance, depth = random.Random(0), 3_000
    openings = [chance.choice(pairs) for _ in range(depth)]
    opened = b"".join(opening for opening, _ in openings)
    closed = b"".join(closing for _, closing in reversed(openings))
    guide = parser_index(pairs, vocabulary, has_plan).guide()
    assert guide.advance_many(opened) == len(opened)
    last = openings[-1][1]
    assert {vocabulary[i] for i in bits(guide.mask()) if i < 256} == {last[:1], *(pair[0][:1] for pair in pairs)}
    assert 0 < guide.remaining <= len(closed)
    assert guide.mask_within(guide.remaining).any()
    fork = guide.fork()
    assert fork.advance_many(closed) == len(closed)
    assert fork.is_accepting
    assert bits(fork.mask())[-1] == vocabulary.eos[0]
    guide.rollback(len(opened))
    assert guide.state == 0


def test_a_token_may_close_more_than_the_walk_has_opened() -> None:
    """Cells of the caller and of the walk itself are on one stack."""
    tokens = [
        b"(",
        b")",
        b"[",
        b"]",
        b"[])][",
        b"()()" * 40 + b")",
        b"[" * 300,
        b"]" * 3 + b"([" * 50 + b"])" * 50 + b")",
    ]
    guide = parser_index(vocabulary=Vocabulary([*tokens, None], eos=[len(tokens)])).guide()
    assert guide.advance_many([0, 2, 2, 2]) == 4
    assert bits(guide.mask()) == [0, 2, 3, 6, 7]
    guide.rollback(2)
    assert bits(guide.mask()) == [0, 2, 3, 6]
    guide.rollback(1)
    assert bits(guide.mask()) == [0, 1, 2, 5, 6]


def test_one_terminal_may_reduce_many_rules() -> None:
    """Right recursion: nothing is reduced before the end, and then each rule pops and pushes."""
    rules = (("S", (b"(", "R", b")")), ("R", (b"x", "R")), ("R", (b"x",)))
    vocabulary = Vocabulary([b"(", b"x", b")", b"xx", None], eos=[4])
    guide = Index(PushdownIndex(Parser(rules), vocabulary, Limits()), vocabulary, "rows").guide()
    guide.advance(0)
    assert bits(guide.mask()) == [1, 3]
    for _ in range(1_000):
        guide.advance(1)
        assert bits(guide.mask()) == [1, 2, 3]
    guide.advance(2)
    assert bits(guide.mask()) == [4]
    assert guide.remaining == 0


def test_disallowed_texts_are_refused() -> None:
    guide = parser_index().guide()
    for token in (1, 2, 5, 16, 17, 18, 39):
        if token in VOCABULARY.eos:
            continue
        with pytest.raises(TokenRejected):
            guide.advance(token)
    guide.advance(16)
    assert guide.is_finished
    assert not guide.mask().any()


def test_tables_are_made_on_demand() -> None:
    automaton = Parser(brackets(WORDS))
    index = PushdownIndex(automaton, Vocabulary([bytes([v]) for v in range(256)], eos=[256], size=257), Limits())
    assert (automaton.tables.n_cells, automaton.tables.n_controls) == (1, 2)
    index.mask(0)
    few = automaton.tables.n_cells, automaton.tables.n_controls
    state, _ = index.trace(0, b"((begin")
    index.mask(state)
    assert automaton.tables.n_cells > few[0]
    assert automaton.tables.n_controls > few[1]


def test_masks_are_shared_by_content() -> None:
    index = parser_index()
    masks = [index.mask(index.tables.trace(0, text)[0]) for text in (b"(" * 3, b"(" * 4, b"[" * 3)]
    assert masks[0] is masks[1]
    assert masks[0] is not masks[2]
    assert not masks[0].flags.writeable


def test_too_many_states_are_a_limit() -> None:
    vocabulary = Vocabulary([b"(", b")", b"[", b"]", None], eos=[4])
    guide = Index(PushdownIndex(Parser(brackets()), vocabulary, Limits(states=100)), vocabulary, "brackets").guide()
    with pytest.raises(LimitError):
        guide.advance_many([0] * 200)


def test_one_runtime_serves_both() -> None:
    """A parser and nested JSON over one trie: the same texts, the same masks."""
    tokens = [b"[", b"]", b"[[", b"]]", b"[]", b"][", b"[]]]", b"{", b",", b"(", None]
    vocabulary = Vocabulary(tokens, eos=[10])
    # Only one value, and arrays of at most one.
    schema = {"type": "array", "items": {"$ref": "#"}, "maxItems": 1}
    automaton = (
        JsonSchema(schema, whitespace="compact").pushdown(Limits(), bytes(b in b"[]" for b in range(256))).automaton
    )
    parser = Parser((("S", (b"[", b"]")), ("S", (b"[", "S", b"]"))))
    clients: list[Pushdown] = [automaton, parser]
    indices = [PushdownIndex(client, vocabulary, Limits()) for client in clients]
    for text in (b"", b"[", b"[[[", b"[[[]", b"[[[]]", b"[]", b"[" * 50, b"[" * 50 + b"]" * 49):
        states = [index.trace(0, text)[0] for index in indices]
        masks = [bits(index.mask(state)) for index, state in zip(indices, states, strict=True)]
        assert masks[0] == masks[1] != []
        assert len({index.remaining(state) for index, state in zip(indices, states, strict=True)}) == 1
