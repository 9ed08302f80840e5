"""Where tokens end: every allowed token leads where its class says, or hangs on what was read before."""

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from guided.arrays import mask_words
from guided.automata.pushdown import UNLIMITED
from guided.engine.index import Index
from guided.errors import LimitError, SchemaError, VocabularyError
from guided.index.pushdown import PushdownIndex
from guided.index.token_classes import TokenClassifier
from guided.kernels.masks import count_classes, keep_below, take_classes
from guided.vocabulary.vocabulary import Vocabulary
from tests.masks import bits
from tests.profiles import examples
from tests.real_vocabularies import real_vocabulary
from tests.schema.engine import compiled
from tests.schema.strategies import schemas
from tests.strategies import vocabularies

# What tokens lead to: strings of all kinds, keys of all kinds, whitespace, numbers, items and names that must differ.
SCHEMAS: dict[str, Any] = {
    "anything": True,
    "a person": {
        "type": "object",
        "properties": {"name": {"type": "string", "minLength": 3}, "names": {"type": "string", "maxLength": 9}, "n": {"type": "number"}},
        "required": ["name"],
    },
    "patterns": {"type": "array", "items": {"type": "string", "pattern": "a$"}},
    "a pattern and a length": {"type": "string", "pattern": "^[^b]*$", "minLength": 4, "maxLength": 12},
    "closed": {"type": "object", "properties": {"ab": {}, "abc": {"type": "string"}}, "additionalProperties": False},
    "named": {"type": "object", "minProperties": 2, "patternProperties": {"^x": {"type": "string"}}},
    "different": {"type": "array", "uniqueItems": True, "items": {"type": ["string", "integer"]}},
    "different, in an object": {"type": "object", "additionalProperties": {"type": "array", "uniqueItems": True}, "minProperties": 1},
    "equal, or many": {"type": "array", "oneOf": [{"uniqueItems": True}, {"minItems": 3}]},
}  # fmt: skip


def check(index: Index, draw: random.Random, steps: int) -> int:
    """Along a random text: the places of classes are those that reading leads to; how many tokens had a class."""
    tables = index.tables
    assert isinstance(tables, PushdownIndex)
    token_ends = TokenClassifier(tables.stacks, tables._cache.masker)
    guide, n_classed = index.guide(), 0
    for _ in range(steps):
        allowed = [token for token in bits(guide.mask()) if token not in index.vocabulary.eos]
        if not allowed:
            break
        place, texts = tables.text_configuration(guide.state)
        ends = token_ends.of(place)
        deferred, class_of = set(ends.deferred), ends.class_of()
        for token in allowed if len(allowed) < 1_000 else draw.sample(allowed, 300):
            if token in deferred:
                assert tables.automaton.tables.byte_dependent or tables.automaton.tables.defers
                continue
            after = tables.stacks.read(place, index.vocabulary[token] or b"", list(texts))
            assert after is not None
            assert ends.configurations[class_of.item(token)] == (*after[:3], UNLIMITED), (
                token,
                index.vocabulary[token],
            )
            n_classed += 1
        guide.advance(draw.choice(allowed))
    return n_classed


@settings(
    max_examples=examples(80),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
@given(schemas(8, unique=True), vocabularies(alphabet='{}[]",:ab01x \n', complete=True), st.data())
def test_classes_are_where_reading_leads(schema: Any, vocabulary: Vocabulary, data: st.DataObject) -> None:
    options = {
        "property_order": data.draw(st.sampled_from(["schema", "any"])),
        "whitespace": data.draw(st.sampled_from(["compact", "flexible", "pretty(2)"])),
        "escapes": data.draw(st.sampled_from(["canonical", "any"])),
    }
    try:
        index = compiled(schema, vocabulary, **options)
    except (SchemaError, VocabularyError, LimitError):
        reject()
    check(index, random.Random(data.draw(st.integers(0, 2**32))), 12)


@pytest.mark.network
@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("order", ["schema", "any"])
def test_classes_of_a_real_vocabulary(name: str, order: str) -> None:
    index = compiled(SCHEMAS[name], real_vocabulary("gpt2"), property_order=order, whitespace="flexible")
    assert sum(check(index, random.Random(seed), 8) for seed in range(3)) > 1_000


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 5), st.booleans()), min_size=1, max_size=200),
    st.lists(st.integers(0, 9), min_size=6, max_size=6),
    st.integers(0, 11),
    st.booleans(),
)
def test_masks_by_bounds_of_classes(
    tokens: list[tuple[bool, int, bool]], bounds: list[int], limit: int, has_stays: bool
) -> None:
    """Classes by one array or listed: the tokens with a bound below the limit, and the largest bound where no class is unused."""
    class_of = np.array([number for _, number, _ in tokens], np.int32)
    mask = np.zeros(mask_words(len(tokens)), np.int32)
    for token, (is_set, *_) in enumerate(tokens):
        mask[token >> 5] |= np.int32(np.uint32(is_set << (token & 31)))
    listed = [token for token, (*_, is_listed) in enumerate(tokens) if is_listed or not has_stays]
    # What the array says of listed tokens is arbitrary; others have a class.
    stays = np.array([max(number, 1) if is_listed else number or 1 for _, number, is_listed in tokens], np.int32)
    if not has_stays:
        stays = stays[:0]
    for token in set(range(len(tokens))) - set(listed):
        class_of[token] = stays[token]
    own = [bounds[number] for number in range(1, 6)]
    found = np.empty_like(mask)
    most = keep_below(
        mask, stays, min(own), max(own), np.array(listed, np.int32), class_of[listed], np.array(bounds, np.int32), limit, found
    )  # fmt: skip
    having = [(token, class_of.item(token)) for token, (is_set, *_) in enumerate(tokens) if is_set and class_of[token]]
    assert bits(found) == [token for token, number in having if bounds[number] < limit]
    exact = max((bounds[number] for _, number in having), default=-1)
    assert most == exact if not has_stays or min(own) < limit <= max(own) else most >= exact
    assert (most < limit) == (exact < limit) or (has_stays and most == max(own))
    first, counts = np.zeros((2, 5), np.int32)
    count_classes(mask, class_of, first, counts)
    by_class = {number: [token for token, own in having if own == number] for number in range(1, 5)}
    assert counts.tolist() == [0, *(len(same) for same in by_class.values())]
    assert [first[number] for number, same in by_class.items() if same] == [
        same[0] for same in by_class.values() if same
    ]
    taken, classes = np.empty((2, len(tokens)), np.int32)
    n = take_classes(mask, class_of, taken, classes)
    assert taken[:n].tolist() == bits(mask)
    assert classes[:n].tolist() == [class_of.item(token) for token in bits(mask)]
