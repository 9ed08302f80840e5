"""Walks that skip what a control reads again and again find what a walk that skips nothing does."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guided.arrays import Int32Array, mask_words
from guided.automata.pushdown import COUNTS, KEPT, MANY, PLAN
from guided.calls.spec import Tools
from guided.engine.compile import compile as compile_spec
from guided.engine.json_schema import JsonSchema
from guided.index.plans import plan_of
from guided.index.pushdown import PushdownIndex
from guided.index.pushdown_masks import MaskMaker, Masks, VocabularyData
from guided.index.pushdown_walk import PushdownWalk
from guided.kernels.below import bytes_below
from guided.kernels.tables import NOWHERE
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary
from tests.masks import bits
from tests.profiles import examples

STRINGS = [
    {},
    {"maxLength": 9},
    {"minLength": 2, "maxLength": 40, "pattern": r"^(?:\S+\s+){0,9}\S+$"},
    {"pattern": "^[^é]*$"},
    {"pattern": r"^\S*$"},
    {"pattern": r"^\S*$", "maxLength": 6},
    {"pattern": r"^(?!.*ab)[\w ]+$"},
    {"pattern": r"^[Ā-ࠀ a-f]*$", "maxLength": 12},
    {"pattern": "^.{2,5}$"},
    {"pattern": "€$"},
    {"enum": ["ab", "é €", "aaa"]},
]
_TEXTS = [
    "ab ab ab",
    "aaaaaaaa",
    "é€é\u2028x",
    "\u00a0a\u3000b",
    "中文字符",
    "😀😁",
    "\u0001a",
    'b\\"a',
    "ж\x7fж",
    "%20/a?b#",
    "\ufeffa",
]
_BYTES = [
    *(text.encode() for text in _TEXTS), b"\xc3\xa9\x80", b"\xed\xa0\x80", b"\xf4\x90a", b"\x80\xbfa", b"\xe0\x80", b"\xc3ab", b"\xffa",
]  # fmt: skip


@st.composite
def vocabularies(draw: st.DrawFn) -> Vocabulary:
    """All bytes, and pieces of texts after one another, with what they begin with."""
    chance = draw(st.randoms(use_true_random=False))
    tokens = {bytes([value]) for value in range(256)}
    # Each below a node of its own, so that a node may have nothing else below it.
    for letter, data in enumerate(_BYTES, ord("a")):
        tokens.update((bytes([letter]) + data)[:stop] for stop in range(2, len(data) + 2))
    for _ in range(draw(st.integers(1, 40))):
        data = b"".join(chance.choices(_BYTES, k=2))
        begin, end = sorted(chance.sample(range(len(data) + 1), 2))
        tokens.update(data[begin:stop] for stop in range(begin + 1, end + 1) if chance.random() < 0.7)
    listed: list[bytes | None] = sorted(tokens)
    chance.shuffle(listed)
    return Vocabulary([*listed, None], eos=[len(listed)])


def whole_walk(masker: MaskMaker) -> PushdownWalk:
    """A walk that skips nothing."""
    # Another trie than the one that is walked: only of its own a walk knows what is below each node.
    return PushdownWalk(masker.stacks, replace(masker.shared.trie), masker.shared.spelling, masker.foresee, Limits())


@settings(max_examples=examples(20))
@given(st.sampled_from(STRINGS), vocabularies(), st.booleans())
def test_plans_are_those_of_a_walk_that_skips_nothing(
    schema: dict[str, object], vocabulary: Vocabulary, as_key: bool
) -> None:
    document = (
        {"type": "object", "patternProperties": {schema["pattern"]: {}}} if as_key and "pattern" in schema else schema
    )
    index = compile_spec(
        JsonSchema({"minLength": 1, **document} if document is schema else document), vocabulary
    ).tables
    assert isinstance(index, PushdownIndex)
    for text in (b'"', b'"a', b'"ab a', b'{"', b'{"ab'):
        state, _ = index.trace(0, text)
        index.mask(state)
    tables = index.automaton.tables
    shared = vocabulary.derived(VocabularyData)
    masker = Masks(index.stacks, Limits(), shared, None, 0)
    # The last ones are the schema's own.
    controls = [control for control in range(tables.n_controls) if tables.info[control, PLAN] == control]
    broad = [control for control in controls if (tables.rows[control] >= 0).sum() > MANY]
    assert broad
    whole = whole_walk(masker)
    for control in {*broad[-4:], controls[-1]}:
        found = masker._make_plan(control, -1, is_counted=True)
        quick = masker._make_plan(control, -1, is_counted=False)
        stay = np.zeros(mask_words(vocabulary.size), np.int32)
        counts = np.zeros(vocabulary.size if tables.info[control, COUNTS] else 0, np.int32)
        escapes = np.zeros((len(shared.trie.byte), 4), np.int32)
        n, *_ = whole(shared.trie, (control, NOWHERE, *KEPT), stay, counts=counts, escapes=escapes)
        skipping = [np.zeros_like(array) for array in (stay, counts, escapes)]
        n_skipping, *_ = masker.walk(
            shared.trie, (control, NOWHERE, *KEPT), skipping[0], counts=skipping[1], escapes=skipping[2]
        )
        assert n_skipping == n
        assert [array.tolist() for array in skipping] == [array.tolist() for array in (stay, counts, escapes)]
        if not len(counts):
            escapes[:n, 2] = 0
        expected = plan_of(shared.trie, shared.suffixes, stay, counts, int(counts.max(initial=0)), escapes[:n])
        assert found.stay.tolist() == expected.stay.tolist()
        assert found.counts.tolist() == expected.counts.tolist()
        assert found.escapes.tolist() == expected.escapes.tolist()
        assert found.most == quick.most == expected.most
        assert quick.stay.tolist() == expected.stay.tolist()
        assert quick.escapes.tolist() == expected.escapes.tolist()
        assert [group.counts.tolist() for group in quick.groups] == [group.counts.tolist() for group in expected.groups]


@settings(max_examples=examples(20))
@given(vocabularies(), st.permutations(["ab", "a", "ab ab", "é€", "aaa"]), st.sampled_from(["", "^a", "b$", "^[^é]*$"]))
def test_plans_for_other_labels_are_those_of_a_walk(vocabulary: Vocabulary, names: list[str], pattern: str) -> None:
    schema = {"properties": {name: {"type": "null"} for name in names}, "patternProperties": {pattern: {}}}
    index = compile_spec(JsonSchema({"type": "object", "additionalProperties": False, **schema}), vocabulary).tables
    assert isinstance(index, PushdownIndex)
    masker = index._cache.masker
    assert isinstance(masker, Masks)
    text = b"{"
    for name in names:
        for begun in (b'"', b'"' + name.encode()[:1], b'"ab'):
            state, _ = index.trace(0, text + begun)
            index.mask(state)
        text += b'"%s": null, ' % name.encode()
    plans = [(*key, plan) for key, plan in masker._plans.items() if isinstance(key, tuple) and key[1] >= 0]
    assert len({allow for _, allow, _ in plans}) >= len(names)
    shared, whole = masker.shared, whole_walk(masker)
    for control, allow, found in plans:
        stay, escapes = np.zeros(mask_words(vocabulary.size), np.int32), np.zeros((len(shared.trie.byte), 4), np.int32)
        n, *_ = whole(shared.trie, (control, NOWHERE, *KEPT), stay, escapes=escapes, allow=allow)
        escapes[:n, 2] = 0
        expected = plan_of(shared.trie, shared.suffixes, stay, stay[:0], 0, escapes[:n])
        assert found.stay.tolist() == expected.stay.tolist()
        assert found.escapes.tolist() == expected.escapes.tolist()
        assert [group.action for group in found.groups] == [group.action for group in expected.groups]
        assert [group.pairs.tolist() for group in found.groups] == [group.pairs.tolist() for group in expected.groups]


NAMES: dict[str, Any] = {name: {} for name in ("a", "ab", "ab ab", "a\u00e9", "aa", "\u4e2d\u6587")}
DEFINITIONS = [
    {"name": name, "parameters": {"type": "object", "properties": {"é": {"type": "string"}, "n": {"type": "integer"}}}}
    for name in ("ab", "aé", "中文")
]


@settings(max_examples=examples(8))
@given(
    st.sampled_from([
        (Tools(DEFINITIONS, format="llama-function"), b'ab <function=ab>{"\xc3\xa9": "x", "n": 1}</function> a'),
        (JsonSchema({}, whitespace="flexible"), b'{"a": [1, "\xc3\xa9a", null], "": {}}'),
        (JsonSchema({"type": "object", "propertyNames": {"pattern": "^[^é]*$"}}), b'{"ab": "\xe2\x82\xac"}'),
        (JsonSchema({"type": "array", "items": {"maxLength": 4}, "uniqueItems": True}), b'["ab", "a"]'),
        (JsonSchema({"properties": NAMES}, property_order="any"), b'{"ab": 1, "b": 2, "a\xc3\xa9": "x", "aa": 1}'),
        (JsonSchema({"properties": NAMES, "additionalProperties": False}), b'{"a": 1, "ab ab": "x", "\xe4\xb8\xad\xe6\x96\x87": 2}'),
        (JsonSchema({"patternProperties": {"^[^\u00e9]*$": {}, "a$": {}}, "properties": NAMES}), b'{"ab": 1, "aa": 2}'),
    ]),
    vocabularies(),
)  # fmt: skip
def test_a_walk_over_stacks_may_skip(case: tuple[Tools | JsonSchema[Any], bytes], vocabulary: Vocabulary) -> None:
    """What a plan says of a stack is what a walk finds there."""
    spec, text = case
    index = compile_spec(spec, vocabulary).tables
    assert isinstance(index, PushdownIndex)
    masker = index._cache.masker
    trie, walks = masker.shared.trie, (masker.walk, whole_walk(masker))
    for cut in range(len(text)):
        state, count = index.trace(index.initial, text[:cut])
        assert count == cut
        configuration = index.configuration(state)
        nothing: Int32Array = np.zeros(mask_words(vocabulary.size), np.int32)
        bases = [(-1, nothing)]
        masker.walk.deferred = []
        if isinstance(masker, Masks) and (planned := masker.plan(configuration)) is not None:
            bases.append((planned[0], masker._planned(planned[1], configuration)))
        planned_later, masks = list(masker.walk.deferred), []
        for base, before in bases:
            found = []
            for walk in walks:
                walk.deferred = []
                words, masked = before.copy(), before.copy()
                ends = np.full(vocabulary.size, -1, np.int32)
                classes = walk.ends(trie, configuration, words, ends, 0, base)
                walk(trie, configuration, masked, base=base)
                ended = [classes[end] if end >= 0 else None for end in ends.tolist()]
                found.append((words.tolist(), masked.tolist(), ended, sorted(walk.deferred)))
            assert found[0] == found[1]
            assert any(found[0][0])
            # What depends on the bytes before may be seen at one kind of walk only: it is left to the reading of each token.
            later = {*found[0][3], *(planned_later if base >= 0 else ())}
            allowed = {token for token in later if index.next(state, token) >= 0}
            masks.append({*bits(np.array(found[0][1], np.int32)), *allowed})
        assert masks[0] == masks[-1]


@pytest.mark.parametrize(
    ("tokens", "node", "read"),
    [
        ([b"a", b"ab", b"a\xc3\xa9"], b"a", {"b", "C3", "within"}),
        ([b"a\xe2\x82\xacz"], b"a\xe2", {"within", "z"}),
        ([b"a\x80b"], b"a", {"other", "b"}),
        ([b"\xc3ab"], b"\xc3", {"other", "b"}),
        ([b"a\n\x00"], b"a", {"line feed", "control"}),
        ([b"a\t\r \xff"], b"a", {"tab", "return", " ", "other"}),
    ],
)
def test_subformulas_of_a_node(tokens: list[bytes], node: bytes, read: set[str]) -> None:
    trie = VocabularyData(Vocabulary([*tokens, None], eos=[len(tokens)])).trie
    n = len(trie.byte)
    own, below = np.empty((2, n, 2), np.uint64)
    chars, deepest = np.empty((2, n), np.int32)
    path = np.empty((trie.max_depth + 1, 2), np.int32)
    bytes_below(trie.byte, trie.depth, trie.skip, path, own, below, chars, deepest)
    prefix, at = bytearray(), {}
    for i in range(n):
        prefix[int(trie.depth[i]) :] = bytes([trie.byte[i]])
        at[bytes(prefix)] = i
    bits = int(below[at[node], 0]) | int(below[at[node], 1]) << 64
    names = {
        0: "other",
        2: "C3",
        14: "within",
        15: "tab",
        16: "line feed",
        17: "return",
        18: "control",
        **{byte: chr(byte) for byte in range(32, 128)},
    }
    assert {names[bit] for bit in range(128) if bits >> bit & 1} == read
    assert [int(chars[i]) for i in at.values()] == [sum(byte & 0xC0 != 0x80 for byte in one) for one in at]
    assert deepest.tolist() == [chars[i : trie.skip[i]].max() for i in range(n)]
