"""The theorem of budgets: a text that follows `mask_within` from a budget of at least `remaining` always has a next token and ends in time.

Over random regular expressions and random JSON Schemas, with the keywords that make completions hard: counted items and members, what is
observed of values, recursion, long strings. Grammars: `tests/lalr/test_completion.py`.
"""

import random
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from guided.automata.steps import Steps
from guided.calls.spec import Tools
from guided.engine.compile import compile as compile_spec
from guided.engine.index import Index
from guided.engine.json_schema import JsonSchema
from guided.engine.specs import Regex
from guided.engine.structural_tags import STYLES, StructuralTag
from guided.errors import GuidedError, LimitError, PatternError, SchemaError, VocabularyError
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary
from tests.executed import executed_calls
from tests.masks import bits
from tests.profiles import examples
from tests.schema.engine import compiled
from tests.strategies import regexes, vocabularies

MANY = settings(
    max_examples=examples(60),
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


HARD_LEAVES: list[Any] = [
    {"type": "integer", "multipleOf": 997, "not": {"multipleOf": 1009}},
    {"allOf": [{"multipleOf": prime} for prime in (7, 11, 13, 17)]},
    {"type": "string", "pattern": "^(a|b)*a(a|b){9}$", "minLength": 12},
    {"allOf": [{"pattern": "a.{6}b"}, {"pattern": "b.{5}a"}]},
    {"enum": [f"name {number}" for number in range(300)]},
    {"type": "array", "uniqueItems": True, "items": {"type": "boolean"}, "minItems": 3},
    {"type": "array", "uniqueItems": True, "items": {"enum": [1, 2, "x", None]}, "minItems": 4},
    {"type": "array", "not": {"uniqueItems": True}, "minItems": 5},
    {"type": "object", "required": [f"n{number}" for number in range(60)]},
    {"type": "object", "minProperties": 40, "propertyNames": {"maxLength": 3}},
    {"not": {"properties": {"a": {"type": "integer"}}, "required": ["b"], "minProperties": 2}},
    {
        "allOf": [{"contains": {"multipleOf": 2}, "maxContains": 2}, {"contains": {"multipleOf": 3}, "minContains": 3}],
        "type": "array",
    },
    {"items": {"$ref": "#"}, "uniqueItems": True, "type": ["array", "integer"]},
]


def hard(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Parts that contradict each other or multiply: conditions about one value, overlapping counts, deep chains of one keyword."""
    several = st.lists(inner, min_size=3, max_size=6)
    conditions = st.lists(st.tuples(inner, inner), min_size=2, max_size=5)
    chains = st.tuples(inner, st.integers(5, 30), st.sampled_from(["not", "items", "contains", "propertyNames"]))
    return st.one_of(
        several.map(lambda parts: {"allOf": [{"oneOf": parts}, {"anyOf": parts[1:]}, {"not": parts[0]}]}),
        conditions.map(lambda pairs: {"allOf": [{"if": one, "then": other, "else": {"not": other}} for one, other in pairs]}),
        several.map(lambda parts: {"type": "array", "uniqueItems": True,
                                   "allOf": [{"contains": part, "minContains": 2, "maxContains": 3} for part in parts]}),
        chains.map(lambda chain: _chained(*chain)),
        several.map(lambda parts: {"type": "object", "minProperties": 9, "patternProperties": {"a": parts[0], "b$": parts[1]},
                                   "unevaluatedProperties": parts[0]}),
    )  # fmt: skip


def _chained(inner: Any, levels: int, keyword: str) -> Any:
    for _ in range(levels):
        inner = {keyword: inner}
    return inner


HARD = st.recursive(
    st.sampled_from(HARD_LEAVES + LEAVES),
    lambda inner: st.one_of(hard(inner), arrays(inner), objects(inner)),
    max_leaves=8,
)
# Calls of Python and C functions: for each step of `call_steps`, and for what is not counted.
CALLS_PER_STEP, UNCOUNTED_CALLS = 30, 200_000
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


# A format for each notation, and tokens across the texts around their values.
FORMATS = ("json", "qwen-coder", "deepseek-v3.2", "anthropic", "gemma", "pythonic", "kimi-k3")
_AROUND = (
    "</",
    '">',
    '"a',
    'a"',
    ", ",
    '<|"|>',
    "<parameter=",
    "parameter>",
    'type="',
    "[{",
    "}]",
    "<|close|>",
    "\n</",
)
MARKED = Vocabulary(
    [*(bytes([value]) for value in range(256)), *map(str.encode, _AROUND), None], eos=[256 + len(_AROUND)]
)


@MANY
@given(COUNTED, COUNTED, st.sampled_from([*FORMATS, *STYLES]), st.booleans(), st.integers(0, 20), st.integers(0, 2**32))
def test_texts_in_every_notation_end_within_their_budget(
    one: Any, other: Any, where: str, in_any_order: bool, spare: int, seed: int
) -> None:
    schema = {"type": "object", "properties": {"a": one, "b": other}, "required": ["a"], "additionalProperties": False}
    spec: StructuralTag | Tools
    try:
        if where in STYLES:
            content = {"type": "json_schema", "json_schema": schema, "style": where, "any_order": in_any_order}
            spec = StructuralTag({"format": content})
        else:
            order: Any = "any" if in_any_order else "declared"
            spec = Tools([{"name": "f", "parameters": schema}], where, tool_choice="required", argument_order=order)
        index = compile_spec(spec, MARKED)
        index.remaining(index.initial)
    except (SchemaError, LimitError):
        reject()
    assert isinstance(index, Index)
    follow(index, random.Random(seed), spare)


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


def outcome(work: Callable[[], Any], steps: int) -> Any:
    """The result of a call or the name of its typed error; the work that it does is bounded by its steps."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(work())
        except GuidedError as error:
            found.append(type(error).__name__)

    calls = executed_calls(run)
    assert calls <= UNCOUNTED_CALLS + CALLS_PER_STEP * steps, f"{calls:,} calls for {steps:,} steps"
    return found[0]


@lru_cache(maxsize=1)
def _load() -> None:
    """Import what a compile imports, which is no work of its own."""
    for leaf in LEAVES:
        compile_spec(JsonSchema(leaf), BYTES).mask(0)


@pytest.mark.slow
@MANY
@given(HARD, st.sampled_from([200, 2_000, 20_000]), st.integers(0, 2**32))
def test_every_call_of_hard_schemas_is_bounded_and_leaves_the_guide(schema: Any, steps: int, seed: int) -> None:
    limits = Limits(call_steps=steps)
    _load()
    # A compile has eight times the steps of a call.
    index = outcome(lambda: compile_spec(JsonSchema(schema, whitespace="compact"), BYTES, limits), 8 * steps)
    if isinstance(index, str):
        return
    guide, draw = index.guide(), random.Random(seed)
    for text in (b"[]", b'{"a":1,"b":[1,2]}', b"[1,2,3,[1]]", b"123456"):
        outcome(lambda text=text: index.accepts(text), steps)
    for _ in range(25):
        state, length = guide.state, len(guide)
        mask = outcome(guide.mask, steps)
        left = outcome(lambda: guide.remaining, steps)
        outcome(lambda left=left: guide.mask_within(left + 5 if isinstance(left, int) else 20), 4 * steps)
        assert (guide.state, len(guide)) == (state, length)
        if isinstance(mask, str):
            return
        assert bits(mask) == bits(guide.mask())
        tokens = [token for token in bits(mask) if token not in BYTES.eos]
        if not tokens:
            return
        # Most tokens are letters of strings: the others are drawn as often.
        some = [token for token in tokens if bytes([token]) in b'{}[]",:0123456789ab'] or tokens
        token = draw.choice(draw.choice([tokens, some]))
        error = outcome(lambda token=token: guide.advance(token), steps)
        if isinstance(error, str):
            assert (guide.state, len(guide)) == (state, length)
            assert bits(guide.mask()) == bits(mask)
            return


def test_explore_has_the_steps_of_a_call_for_each_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its states need more steps together than one call may take, and none of them needs too many."""
    spec = JsonSchema({"type": "array", "uniqueItems": True, "items": {"type": "integer"}}, whitespace="compact")
    limits = Limits(call_steps=600)
    index = compile_spec(spec, BYTES, limits)
    index.explore(400)
    assert index.n_states >= 400
    # The same limit for all states together is passed.
    other = compile_spec(spec, BYTES, limits)
    monkeypatch.setattr(Steps, "begin", lambda _: None)
    with pytest.raises(LimitError, match="call_steps"):
        other.explore(400)
