"""The runtime of automata with a stack: one for a parser of brackets and for nested JSON; masks are what reads token by token."""

import itertools
import json
import random
import re
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from guided.arrays import mask_words
from guided.automata.pushdown import KEPT, Pushdown
from guided.engine.compile import compile as compile_spec
from guided.engine.index import Index
from guided.engine.json_schema import JsonSchema
from guided.errors import LimitError, SchemaError, TokenRejected, VocabularyError
from guided.index.plans import Group, plan_of
from guided.index.pushdown import PushdownIndex
from guided.index.stacks import Stacks
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary
from tests.index.brackets import BRACKETS, Parser, brackets

WORDS = ((b"begin", b"end"), (b"(", b")"))
GRAMMARS = [BRACKETS, WORDS]
SEVERAL = [b"))", b")](", b"((", b"([", b"])", b"()", b"()[]", b"]]]]", b"))", b"(((((((("]
VOCABULARY = Vocabulary([b"(", None, b")", b"[", b"]", b"", *SEVERAL, None, b"x", b"(x"], eos=[16, 40], size=41)


def bits(words: np.ndarray) -> list[int]:
    return np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")).tolist()


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


@settings(max_examples=60)
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
def test_a_state_is_what_is_open(has_plan: bool) -> None:
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
    chance, depth = random.Random(0), 10_000
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


def test_what_is_not_allowed_is_refused() -> None:
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


# ---------------------------------------------------------------------------------------------------------------- JSON

SCHEMAS = [
    {},
    {"type": "string", "maxLength": 3},
    {"type": "string", "minLength": 2, "maxLength": 5},
    {"type": "string", "pattern": "^[aé€]{1,4}1?$", "maxLength": 3},
    {"type": "array", "items": {"type": "string", "pattern": "é", "minLength": 2}},
    {"enum": ["é€", 12, {"a": [1, None]}, "a\n", "aé", [], 1.5]},
    {"type": "integer", "minimum": -3, "maximum": 120},
    {"type": "array", "items": {"type": "number", "exclusiveMinimum": 1, "maximum": 12.5}, "minItems": 1},
    {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 12}, "uniqueItems": True, "minItems": 2},
    {"type": "array", "items": {"enum": ["a", "aé", 1, 11]}, "uniqueItems": True, "maxItems": 3},
    {"type": "object", "minProperties": 2, "additionalProperties": {"type": ["string", "null"], "maxLength": 2}},
    {
        "type": "object",
        "patternProperties": {"^x": {"type": "integer"}, "é$": {"type": "string", "maxLength": 2}},
        "additionalProperties": False,
    },
    {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"type": "string", "maxLength": 2}, "maxItems": 2}, "aé": {}},
        "required": ["aé", "a"],
    },
    {"type": "object", "propertyNames": {"maxLength": 2}, "properties": {"a": {"const": "a"}}, "maxProperties": 2},
    {"anyOf": [{"type": "string", "maxLength": 2}, {"type": "array", "items": {"$ref": "#"}, "maxItems": 2}]},
]
DOCUMENTS = [
    {"a": ["aé", "é€"], "aé": {"x1": 1.5, "": None}},
    {"xé": 12, "é": "a€", "x": 120, "1é": ""},
    [1, 11, 0, 12, -3, 2.5, "a", "aé", True, [[]], [{}]],
    ["", "aaé1", 'a"\\\n\t', "😀", "éa", "ééé€"],
]
PIECES = [
    *(text.encode() for d in DOCUMENTS for text in (json.dumps(d), json.dumps(d, ensure_ascii=False), json.dumps(d, indent=4))),
    b" " * 40 + b"\n" * 3,
    b'"]}, {"a": "\xc3',
    b'\xa9", "',
]  # fmt: skip
NEEDED = sorted({bytes([value]) for value in b'{}[]":, \\u0123456789-.eabcdflnrstux\xc3\xa9\xe2\x82\xac'})
MORE = [b"\n", b"\t", b"\xf0", b"\x9f", b"E", b"+", b"/", b"y", b"z"]


@st.composite
def json_vocabularies(draw: st.DrawFn) -> Vocabulary:
    """Parts of documents cut at any byte, whitespace, duplicates; some bytes have no token of their own."""
    tokens: list[bytes | None] = [*NEEDED, *draw(st.lists(st.sampled_from(MORE), unique=True))]
    chance = draw(st.randoms(use_true_random=False))
    for _ in range(draw(st.integers(20, 80))):
        piece = chance.choice(PIECES)
        begin = chance.randrange(len(piece))
        tokens.append(piece[begin : begin + chance.choice([2, 2, 3, 3, 4, 6, 10, 40])])
    tokens += [b" " * chance.randint(1, 30), b"\n" + b" " * chance.randint(1, 30), b"a" * 20, b"", None, tokens[-1]]
    chance.shuffle(tokens)
    return Vocabulary(tokens, eos=[len(tokens), len(tokens) + 1], size=len(tokens) + chance.choice([2, 40]))


def slow_reader(spec: JsonSchema, vocabulary: Vocabulary) -> tuple[Pushdown, Stacks]:
    """Stacks over an automaton of their own, whose tables no walk has filled."""
    alphabet = bytes(value not in vocabulary.missing_bytes for value in range(256))
    automaton = spec.pushdown(Limits(), alphabet).automaton
    return automaton, Stacks(automaton)


@settings(max_examples=60)
@given(
    st.sampled_from(SCHEMAS),
    st.sampled_from(["compact", "flexible", "pretty(4)", r"[ \n]{0,35}"]),
    st.sampled_from(["canonical", "any"]),
    json_vocabularies(),
    st.randoms(use_true_random=False),
)
def test_masks_of_json_are_what_reads(
    schema: object, whitespace: str, escapes: str, vocabulary: Vocabulary, chance: random.Random
) -> None:
    """Token by token on tables of their own; also within a budget."""
    spec = JsonSchema(schema, whitespace=whitespace, escapes=escapes, numbers="any" if escapes == "any" else "plain")
    try:
        index = compile_spec(spec, vocabulary)
    except (SchemaError, VocabularyError):
        assume(False)
    automaton, stacks = slow_reader(spec, vocabulary)
    state, place, texts = 0, (automaton.start, 0, *KEPT), []
    for _ in range(14):
        expected = [
            i
            for i, token in enumerate(vocabulary.tokens)
            if token and stacks.read(place, token, list(texts)) is not None
        ]
        ends = list(vocabulary.eos) if stacks.is_end(place) else []
        mask = bits(index.mask(state))
        assert mask == expected + ends
        after = {i: index.next(state, i) for i in range(vocabulary.size)}
        assert [i for i in after if after[i] >= 0] == mask
        assert mask, "a dead end"
        least = index.remaining(state)
        for budget in (least, least + 1, least + 3):
            within = [i for i in mask if i in ends or index.remaining(after[i]) < budget]
            assert bits(index.mask_within(state, budget)) == within
        if not expected:
            break
        token = chance.choice(expected)
        state = after[token]
        found = stacks.read(place, vocabulary[token] or b"", texts)
        assert found is not None
        place = found


# --------------------------------------------------------------------------------------------------------------- plans


def _texts(group: Group, vocabulary: Vocabulary) -> dict[int, bytes]:
    """The rest of each token of a group, read off its trie."""
    found = dict.fromkeys(group.ends.tolist(), b"")
    trie, path = group.rest, bytearray()
    if trie is not None:
        for node, value in enumerate(trie.byte.tolist()):
            path[int(trie.depth[node]) :] = bytes([value])
            for token in trie.token_ids[trie.token_indptr[node] : trie.token_indptr[node + 1]].tolist():
                assert token not in found
                found[token] = bytes(path)
    if group.from_root:
        first = {token[0] for token in vocabulary.tokens if token} & set(b")]")
        found |= {i: token for i, token in enumerate(vocabulary.tokens) if token and token[0] in first}
    return found


@settings(max_examples=60)
@given(st.lists(st.text("aé)]", max_size=6), min_size=1, max_size=30), st.booleans(), st.integers(0, 7))
def test_plans_hold_rests_by_action_and_count(texts: list[str], by_count: bool, allowed: int) -> None:
    """Actions by hand: ")" is read, "]" is read again; code points count."""
    tokens = [text.encode() for text in texts]
    vocabulary = Vocabulary([*tokens, None], eos=[len(tokens)])
    trie, stay, counts = (
        vocabulary.trie,
        np.zeros(mask_words(vocabulary.size), np.int32),
        np.zeros(len(tokens), np.int32),
    )
    nodes: dict[bytes, int] = {}
    path = bytearray()
    for node, value in enumerate(trie.byte.tolist()):
        path[int(trie.depth[node]) :] = bytes([value])
        nodes[bytes(path)] = node
    escapes: set[tuple[int, int, int, int]] = set()
    expected: dict[tuple[int, bool, int], dict[int, bytes]] = {}
    inside = {}
    for token, text in enumerate(texts):
        within = re.match("[^])]*", text).group()
        rest = text[len(within) :]
        if rest:
            is_again = rest[0] == "]"
            prefix = (within + rest[0]).encode()
            escapes.add((7 if is_again else 5, nodes[prefix], len(within), is_again))
            key = 7 if is_again else 5, is_again, len(within) if by_count else -1
            expected.setdefault(key, {})[token] = rest[0 if is_again else 1 :].encode()
        elif text:
            inside[token] = counts[token] = len(text)
            stay[token >> 5] |= np.int32(1) << np.int32(token & 31)
    plan = plan_of(vocabulary, stay, counts, np.array(sorted(escapes), np.int32).reshape(-1, 4))
    assert bits(plan.within(allowed)) == [token for token, count in inside.items() if count <= allowed]
    assert plan.most == max([*inside.values(), *(escape[2] for escape in escapes)], default=0)
    groups = plan.groups(by_count)
    assert plan.groups(by_count) is groups
    found = {(group.action, group.is_again, group.count): group for group in groups}
    assert len(found) == len(groups)
    assert found.keys() == expected.keys()
    for key, group in found.items():
        if group.from_root:
            # Whole tokens are looked up in the vocabulary's trie, also those whose rest begins elsewhere.
            assert any(tokens[token] == rest for token, rest in expected[key].items())
        else:
            assert _texts(group, vocabulary) == expected[key]
