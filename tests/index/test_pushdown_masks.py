"""Masks of JSON are what reads token by token, on tables that no walk has filled; and what plans hold."""

import json
import random
import re
import weakref

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from guided.arrays import mask_words
from guided.automata.pushdown import KEPT, Pushdown
from guided.automata.stacks import Stacks
from guided.engine.compile import compile as compile_spec
from guided.engine.json_schema import JsonSchema
from guided.errors import SchemaError, VocabularyError
from guided.index.plans import ActionGroup, plan_of
from guided.index.pushdown_masks import VocabularyData
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary
from tests.masks import bits
from tests.profiles import examples

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
NEEDED = sorted({bytes([value]) for value in b'{}[]":, \n\\u0123456789-.eabcdflnrstux\xc3\xa9\xe2\x82\xac'})
# Whole strings and items, and more than that.
CROSSING = [b'"a"', b'"a', b'["a"', b'a"]', b'a","', b'"",', b'["a', b'\xa9"]', b'{"a":', b"0]", b"[1,"]
MORE = [b"\t", b"\xf0", b"\x9f", b"E", b"+", b"/", b"y", b"z"]


@st.composite
def json_vocabularies(draw: st.DrawFn) -> Vocabulary:
    """Parts of documents cut at any byte, whitespace, duplicates; some bytes have no token of their own."""
    tokens: list[bytes | None] = [*NEEDED, *CROSSING, *draw(st.lists(st.sampled_from(MORE), unique=True))]
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


@settings(max_examples=examples(50))
@given(
    st.sampled_from(SCHEMAS),
    st.sampled_from(["compact", "flexible", "pretty(4)", r"[ \n]{0,35}"]),
    st.sampled_from(["canonical", "any"]),
    json_vocabularies(),
    st.randoms(use_true_random=False),
)
def test_masks_of_json_equal_the_tokens_that_can_be_read(
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
    for step in range(14):
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
        before, read = index.tables.text_configuration(state)
        for i in expected:
            slowly = index.tables.stacks.read(before, vocabulary[i] or b"", list(read))
            assert index.tables.configuration(after[i]) == slowly
        least = index.remaining(state)
        for budget in (least, least + 1, least + 3) if step % 4 == 1 else ():
            within = [i for i in mask if i in ends or index.remaining(after[i]) < budget]
            found = bits(index.mask_within(state, budget))
            # Within what must differ from what comes later a class of tokens has one bound, that of the longest way.
            assert set(found) <= set(within) if index.tables.text_configuration(state)[1] else found == within
            assert found or budget == 0
        if not expected:
            break
        token = chance.choice(expected)
        state = after[token]
        found = stacks.read(place, vocabulary[token] or b"", texts)
        assert found is not None
        place = found


def test_the_first_walk_may_depend_on_the_token() -> None:
    """A token opens the array and ends an item, after which there must be room for another."""
    tokens = [*(bytes([value]) for value in b"[],0123456789"), b"[1,", b"[1,1", b"[1,1]", b"[1,12", b"[1,2]"]
    vocabulary = Vocabulary([*tokens, None], eos=[len(tokens)])
    schema = {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 12}, "uniqueItems": True}
    index = compile_spec(JsonSchema({**schema, "minItems": 2}, whitespace="compact"), vocabulary)
    assert [tokens[i] for i in bits(index.mask(0))] == [b"[", b"[1,", b"[1,1", b"[1,12", b"[1,2]"]


# --------------------------------------------------------------------------------------------------------------- plans


def _texts(group: ActionGroup) -> dict[tuple[int, int], bytes]:
    """The suffix of each token of a group, read off the trie, by token and code points read before it."""
    suffixes = group.suffixes
    of_pair = dict.fromkeys(bits(suffixes.empty), b"")
    trie, path = suffixes.trie, bytearray()
    for node, value in enumerate(trie.byte.tolist()):
        path[int(trie.depth[node]) :] = bytes([value])
        for pair in trie.token_ids[trie.token_indptr[node] : trie.token_indptr[node + 1]].tolist():
            assert pair not in of_pair
            of_pair[pair] = bytes(path)
    assert of_pair.keys() == set(range(len(suffixes.tokens)))
    counted = zip(group.pairs.tolist(), group.counts.tolist(), strict=True)
    return {(int(suffixes.tokens[pair]), count): of_pair[pair] for pair, count in counted}


@settings(max_examples=examples(60))
@given(
    st.lists(
        st.text("aé)]}", max_size=6) | st.sampled_from(["a" * 255, "é" * 256, "a" * 300]), min_size=1, max_size=30
    ),
    st.integers(0, 7) | st.integers(253, 301),
)
def test_plans_hold_rests_by_action_and_count(texts: list[str], allowed: int) -> None:
    """Actions by hand: ")" and "}" are read, "]" is read again; code points count."""
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
    expected: dict[tuple[int, bool, str], dict[tuple[int, int], bytes]] = {}
    inside = {}
    for token, text in enumerate(texts):
        within = re.match("[^])}]*", text).group()
        suffix = text[len(within) :]
        if suffix:
            is_again = suffix[0] == "]"
            prefix = (within + suffix[0]).encode()
            escapes.add((7 if is_again else 5, nodes[prefix], len(within), is_again))
            key = 7 if is_again else 5, is_again, suffix[0]
            expected.setdefault(key, {})[token, len(within)] = suffix[0 if is_again else 1 :].encode()
        elif text:
            inside[token] = counts[token] = len(text)
            stay[token >> 5] |= np.int32(1) << np.int32(token & 31)
    suffixes = VocabularyData(vocabulary).suffixes
    plan = plan_of(
        trie, suffixes, stay, counts, int(counts.max(initial=0)), np.array(sorted(escapes), np.int32).reshape(-1, 4)
    )
    assert bits(plan.within(allowed)) == [token for token, count in inside.items() if count <= allowed]
    assert plan.most == max([*inside.values(), *(escape[2] for escape in escapes)], default=0)
    found = {(group.action, group.suffixes.is_again, chr(group.suffixes.byte)): _texts(group) for group in plan.groups}
    assert len(found) == len(plan.groups)
    assert found == expected


def test_what_depends_on_a_vocabulary_alone_is_made_once_for_equal_ones() -> None:
    """Bytes below the nodes of its trie, and the suffixes of its tokens: for Llama 3 some milliseconds and 8 MB for each vocabulary."""
    tokens = [*(bytes([value]) for value in range(256)), b'"a', None]
    vocabulary, twin = Vocabulary(tokens, eos=[257]), Vocabulary(tokens, eos=[257])
    data = weakref.ref(vocabulary.derived(VocabularyData))
    assert twin.derived(VocabularyData) is data()
    del vocabulary
    assert twin.derived(VocabularyData) is data()
    del twin
    assert data() is None
