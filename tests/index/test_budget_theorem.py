"""The theorem of budgets: a text that follows `mask_within` from a budget of at least `remaining` always has a next token and ends in time.

Over random regular expressions and random JSON Schemas, with the keywords that make completions hard: counted items and members, what is
observed of values, recursion, long strings. Grammars: `tests/lalr/test_completion.py`.
"""

import random
from typing import Any

from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from guided.engine.compile import compile as compile_spec
from guided.engine.index import Index
from guided.engine.json_schema import JsonSchema
from guided.engine.specs import Regex
from guided.errors import LimitError, PatternError, SchemaError, VocabularyError
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary
from tests.masks import bits
from tests.profiles import examples
from tests.schema.engine import compiled
from tests.strategies import regexes, vocabularies

MANY = settings(
    max_examples=examples(120),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
BYTES = Vocabulary([bytes([value]) for value in range(256)] + [None], eos=[256])
LEAVES: list[Any] = [
    True,
    {"const": 1},
    {"const": "ab"},
    {"enum": [1, "ab", None]},
    {"type": "integer", "multipleOf": 3},
    {"type": "string", "minLength": 5},
    {"type": "string", "pattern": "^(a|b){2,4}$"},
    {"type": ["array", "null"]},
    {"type": "string", "minLength": 700},
    {"not": {"const": 0}},
]


def arrays(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Arrays whose items are counted."""
    keywords = {
        "contains": inner,
        "minContains": st.integers(0, 5),
        "maxContains": st.integers(2, 9),
        "minItems": st.integers(0, 6),
        "maxItems": st.integers(3, 12),
        "items": inner,
        "uniqueItems": st.booleans(),
    }
    counted = st.fixed_dictionaries(
        {"contains": inner, "minContains": st.integers(0, 5)}, optional={"maxContains": st.integers(1, 9)}
    )
    one = st.fixed_dictionaries({"type": st.just("array")}, optional=keywords)
    return st.one_of(
        one, st.builds(lambda parts: {"type": "array", "allOf": parts}, st.lists(counted, min_size=2, max_size=3))
    )


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with names that are required, counted or excluded."""
    names = st.sampled_from(["a", "b", "ab", "x1"])
    keywords = {
        "properties": st.dictionaries(names, inner, max_size=3),
        "required": st.lists(names, max_size=3, unique=True),
        "additionalProperties": st.one_of(st.just(False), inner),
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "[0-9]$"]), inner, max_size=2),
        "minProperties": st.integers(0, 4),
        "maxProperties": st.integers(2, 5),
    }
    return st.fixed_dictionaries({"type": st.just("object")}, optional=keywords)


def combined(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Alternatives and conditions."""
    few = st.lists(inner, min_size=2, max_size=3)
    return st.one_of(
        few.map(lambda parts: {"anyOf": parts}),
        few.map(lambda parts: {"oneOf": parts}),
        inner.map(lambda part: {"type": ["array", "object"], "not": part}),
        st.tuples(inner, inner, inner).map(lambda parts: {"if": parts[0], "then": parts[1], "else": parts[2]}),
        inner.map(lambda part: {"type": "array", "minItems": 1, "items": {"anyOf": [{"$ref": "#"}, part]}}),
    )


COUNTED = st.recursive(
    st.sampled_from(LEAVES), lambda inner: st.one_of(arrays(inner), objects(inner), combined(inner)), max_leaves=6
)


def follow(index: Index, draw: random.Random, spare: int, most: int = 60) -> None:
    """Random tokens within a budget, then those of completions, until the text is complete."""
    guide = index.guide()
    left = guide.remaining + spare
    eos = set(index.vocabulary.eos)
    for count in range(left + 1):
        assert guide.remaining <= left
        assert (guide.remaining == 0) == guide.is_accepting
        if guide.is_accepting and count >= most:
            return
        allowed = bits(guide.mask_within(left))
        assert allowed
        assert set(allowed) <= set(bits(guide.mask()))
        tokens = [token for token in allowed if token not in eos]
        if not tokens:
            assert guide.is_accepting
            return
        if count >= most:
            left = guide.remaining
            tokens = [token for token in bits(guide.mask_within(left)) if token not in eos]
        guide.advance(draw.choice(tokens))
        left -= 1
    raise AssertionError("the text does not end within its budget")


@MANY
@given(COUNTED, vocabularies(alphabet='{}[]",:ab01x ', complete=True), st.integers(0, 20), st.integers(0, 2**32))
def test_texts_of_random_schemas_end_within_their_budget(
    schema: Any, vocabulary: Vocabulary, spare: int, seed: int
) -> None:
    try:
        index = compiled(schema, vocabulary, whitespace="compact")
        index.remaining(index.initial)
    except (SchemaError, VocabularyError, LimitError):
        reject()
    follow(index, random.Random(seed), spare)


@MANY
@given(COUNTED, st.integers(0, 20), st.sampled_from([300, 1_000, 3_000, 10_000]), st.integers(0, 2**32))
def test_texts_of_random_schemas_end_within_their_budget_or_pass_a_limit(
    schema: Any, spare: int, steps: int, seed: int
) -> None:
    """Where calls may take few steps they end by an error that leaves the guide as it was, or are right: a text never gets stuck."""
    try:
        index = compile_spec(JsonSchema(schema, whitespace="compact"), BYTES, Limits(call_steps=steps))
    except (SchemaError, LimitError):
        reject()
    guide, draw = index.guide(), random.Random(seed)
    before, passed = guide.fork(), None
    try:
        left = guide.remaining + spare
        while not guide.is_accepting:
            allowed = bits(guide.mask_within(left))
            assert allowed
            assert set(allowed) <= set(bits(guide.mask()))
            token = draw.choice([token for token in allowed if token not in BYTES.eos])
            guide.advance(token)
            before, left = guide.fork(), left - 1
        assert left >= 0
    except LimitError as error:
        passed = error
    if passed is not None:
        assert (passed.what, passed.limit) == ("call_steps", steps)
        assert (guide.state, len(guide)) == (before.state, len(before))


@MANY
@given(regexes("ab1"), vocabularies("ab1", complete=True), st.integers(0, 20), st.integers(0, 2**32))
def test_texts_of_random_patterns_end_within_their_budget(
    pattern: Regex, vocabulary: Vocabulary, spare: int, seed: int
) -> None:
    try:
        index = compile_spec(pattern, vocabulary)
    except (PatternError, VocabularyError, LimitError):
        reject()
    follow(index, random.Random(seed), spare)
