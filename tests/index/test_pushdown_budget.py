"""Budgets of an index with a stack: texts that are steered end in time, masks are those of the bounds, and ample budgets cost nothing."""

import json
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from guided.engine.compile import compile as compile_spec
from guided.engine.index import Index
from guided.engine.json_schema import JsonSchema
from guided.errors import LimitError, SchemaError, VocabularyError
from guided.generate.api import generator
from guided.index import completions
from guided.index.pushdown import PushdownIndex
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary
from tests.generate.models import CountingModel
from tests.masks import bits
from tests.profiles import examples
from tests.real_vocabularies import real_vocabulary
from tests.schema.engine import BYTES, compiled
from tests.schema.strategies import schemas
from tests.strategies import vocabularies

BRIEF = settings(
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)

# What makes completions hard: what is observed, recursion, least numbers, patterns beside lengths, items that differ, keys told apart.
SCHEMAS: dict[str, Any] = {
    "anything": True,
    "required": {
        "type": "object",
        "properties": {"name": {"type": "string", "minLength": 3}, "n": {"type": "integer", "minimum": 1000}, "o": {"const": "a" * 30}},
        "required": ["name", "n"],
    },
    "closed": {
        "type": "object", "properties": {"ab": {"type": "null"}, "abc": {"minimum": 10**6, "type": "number"}},
        "minProperties": 1, "additionalProperties": False,
    },
    "contains": {"type": "array", "contains": {"const": 77}, "minContains": 2, "maxItems": 4},
    "recursive": {
        "$ref": "#/$defs/t",
        "$defs": {
            "t": {"type": "object", "required": ["l"], "properties": {"l": {"anyOf": [{"$ref": "#/$defs/t"}, {"type": "null"}]}}}
        },
    },
    "one of": {"oneOf": [{"type": "array", "minItems": 2}, {"type": "array", "items": {"type": "string"}}, {"const": {"k": 1}}]},
    "conditional": {
        "type": "object", "required": ["kind"], "properties": {"kind": {"enum": ["long", "short"]}},
        "if": {"properties": {"kind": {"const": "long"}}}, "then": {"required": ["a", "b", "c"]}, "else": {"maxProperties": 1},
    },
    "pattern": {"type": "string", "pattern": "^[a-c]{2}é+$", "maxLength": 9},
    "keys": {"type": "object", "patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": False, "minProperties": 2},
    "different": {"type": "array", "items": {"enum": [1, 2, 3, "x"]}, "uniqueItems": True, "minItems": 3},
    "not": {"type": "array", "minItems": 1, "not": {"contains": {"type": "integer"}}},
    "names": {
        "type": "object", "minProperties": 3, "additionalProperties": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
    },
    "equal": {"type": "array", "items": {"type": "string", "minLength": 2}, "oneOf": [{"uniqueItems": True}, {"minItems": 3}]},
}  # fmt: skip


# Those in which bounds hang on the text of an item or key.
HANGING = ("different", "equal", "keys", "names")


def walk(index: Index, draw: random.Random, spare: int) -> bytes:
    """A random text within a budget; on the way the bound falls as the budget does, and what is left out would not fit."""
    guide = index.guide()
    left = guide.remaining + spare
    text = b""
    while True:
        assert guide.remaining <= left
        assert (guide.remaining == 0) == guide.is_accepting
        allowed = bits(guide.mask_within(left))
        assert set(allowed) <= set(bits(guide.mask()))
        tokens = [token for token in allowed if token not in index.vocabulary.eos]
        assert (len(tokens) < len(allowed)) == guide.is_accepting
        assert tokens or left == 0 or guide.is_accepting
        if not tokens:
            assert guide.is_accepting
            return text
        token = draw.choice(tokens)
        text += index.vocabulary[token] or b""
        guide.advance(token)
        left -= 1


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("spare", [0, 1, 4, 30])
def test_steered_texts_are_complete(name: str, spare: int) -> None:
    index = compiled(SCHEMAS[name], property_order="any")
    for seed in range(2):
        text = walk(index, random.Random(seed), spare)
        assert index.accepts(text)
        json.loads(text)


@BRIEF
@given(schemas(8, unique=True), vocabularies(alphabet='{}[]",:ab01x \n', complete=True), st.integers(0, 12), st.data())
def test_random_texts_within_random_budgets(
    schema: Any, vocabulary: Vocabulary, spare: int, data: st.DataObject
) -> None:
    order = data.draw(st.sampled_from(["schema", "any"]))
    try:
        index = compiled(
            schema,
            vocabulary,
            property_order=order,
            whitespace=data.draw(st.sampled_from(["compact", "flexible", "pretty(2)"])),
        )
    except (SchemaError, VocabularyError, LimitError):
        reject()
    assert index.accepts(walk(index, random.Random(data.draw(st.integers(0, 2**32))), spare))


@pytest.mark.parametrize("name", SCHEMAS)
def test_masks_are_those_of_the_bounds(name: str) -> None:
    """A token is allowed within a budget exactly if the bound after it is below the budget; where the bound hangs on its text, only if."""
    draw = random.Random(name)
    pairs = [b'{"', b'":', b'","', b'"}', b"}}", b"[[", b"],", b"00", b"ab", b'"a', b"1,", b'x"', b"  "]
    vocabulary = Vocabulary([*(bytes([value]) for value in range(256)), *pairs], eos=[256 + len(pairs)], size=300)
    index = compiled(SCHEMAS[name], vocabulary, property_order="any")
    state = index.initial
    for _ in range(3 if name in ("keys", "names") else 25):
        bounds = {
            token: index.remaining(index.next(state, token))
            for token in index.allowed(state).tolist()
            if token not in vocabulary.eos
        }
        for budget in (0, 1, 2, 3, 5, 8, 13, 21, 34, 1000):
            expected = {token for token, bound in bounds.items() if bound < budget}
            expected |= set(vocabulary.eos) if index.is_accepting(state) else set()
            within = set(bits(index.mask_within(state, budget)))
            assert within == expected or (name in HANGING and within < expected)
        if name not in HANGING:
            assert index.mask_within(state, max(bounds.values(), default=0) + 1) is index.mask(state)
        near = [token for token, bound in bounds.items() if bound < 60]
        if not near:
            break
        state = index.next(state, draw.choice(near))


DIFFERENT: dict[str, Any] = {
    "objects": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    "strings": {"type": "string", "minLength": 2},
    "numbers": {"type": "integer", "minimum": 0},
    "arrays": {"type": "array", "items": {"type": "integer"}, "minItems": 1, "uniqueItems": True},
    "anything": {},
}


@pytest.mark.network
@pytest.mark.parametrize("name", DIFFERENT)
@pytest.mark.parametrize(("least", "whitespace"), [(1, "compact"), (2, "flexible")])
def test_steered_items_that_differ_are_complete(name: str, least: int, whitespace: str) -> None:
    """Of the many tokens within an item few are tried; the completion's own is among them."""
    schema = {"type": "array", "items": DIFFERENT[name], "minItems": least, "uniqueItems": True}
    around = {"type": "object", "properties": {"items": schema, "n": {"type": "integer"}}, "required": ["items", "n"]}
    index = compiled(around, real_vocabulary("gpt2"), property_order="any", whitespace=whitespace)
    for seed, spare in enumerate((0, 12)):
        assert index.accepts(walk(index, random.Random(seed), spare))


def test_bounds_need_no_end_after_impossible_items() -> None:
    """The second item is not the third, which it is compared with: after it nothing would come."""
    prefix = [True, {"const": "x"}]
    schema = {"type": "array", "prefixItems": prefix, "items": {"const": 0}, "minItems": 3, "uniqueItems": True}
    guide = compiled(schema, whitespace="flexible").guide()
    text = b'[1 , "x", 0]'
    for byte in text:
        assert byte in bits(guide.mask_within(len(text)))
        assert guide.mask_within(guide.remaining + 1).any()
        guide.advance(byte)
    assert guide.is_accepting


def test_bounds_do_not_depend_on_earlier_queries() -> None:
    first, second = (compiled(SCHEMAS["one of"], property_order="any") for _ in range(2))
    texts = [b"", b"[", b'["', b'["a",', b"[[", b"[1,2", b"{"]
    for index, order in ((first, texts), (second, texts[::-1])):
        for text in order:
            index.remaining(reached(index, text))
    for text in texts:
        assert first.remaining(reached(first, text)) == second.remaining(reached(second, text))


def reached(index: Index, text: bytes) -> int:
    state = index.initial
    for byte in text:
        state = index.next(state, byte)
    return state


@pytest.mark.parametrize(
    ("schema", "shortest"),
    [
        (True, b"0"),
        ({"type": ["array", "null"]}, b"[]"),
        ({"type": ["object", "boolean"]}, b"{}"),
        ({"type": ["array", "null"], "minItems": 1}, b"null"),
        ({"type": "string"}, b'""'),
        ({"type": "object", "required": ["a"], "properties": {"a": {"type": "boolean"}}}, b'{"a":true}'),
        ({"type": "array", "minItems": 2, "items": {"enum": ["xx", 5]}}, b"[5,5]"),
        ({"anyOf": [{"const": "a long text"}, {"type": "object", "required": ["k"]}]}, b'{"k":0}'),
        ({"type": "array", "uniqueItems": True, "items": {"enum": [1, 2, 3]}, "minItems": 3}, b"[1,2,3]"),
    ],
)
def test_completions_are_short(schema: Any, shortest: bytes) -> None:
    index = compiled(schema)
    assert index.accepts(shortest)
    assert index.remaining(index.initial) == len(shortest)


def test_values_of_counted_names_are_not_distinguished() -> None:
    """What is read behind a key does not matter to an object that counts its names, so it makes no states of its own."""
    index = compiled({"type": "object", "minProperties": 3}, whitespace="compact")
    assert reached(index, b'{"a":"x') == reached(index, b'{"a":"yy')
    assert reached(index, b'{"a":[{"b":1},"x') == reached(index, b'{"a":[{"c":[]},"yy')
    assert reached(index, b'{"a') != reached(index, b'{"b')


def test_bytes_read_of_a_completion_count() -> None:
    """After each token of a completion the bound is one less."""
    for schema in SCHEMAS.values():
        index = compiled(schema, property_order="any")
        assert isinstance(index.tables, PushdownIndex)
        state, left = index.initial, index.remaining(index.initial)
        while left:
            (token,) = [
                t for t in bits(index.mask_within(state, left)) if index.remaining(index.next(state, t)) == left - 1
            ][:1]
            state, left = index.next(state, token), left - 1
        assert index.is_accepting(state)


def test_a_text_that_needs_too_much_is_far() -> None:
    index = compiled({"type": "string", "minLength": 10**7})
    assert index.remaining(index.initial) >= 10**7


COUNTED: list[tuple[Any, int]] = [
    ({"contains": {"const": 1}, "minContains": 2, "maxContains": 3}, len("[1,1]")),
    ({"contains": {"const": "ab"}, "minContains": 3, "maxContains": 5}, len('["ab","ab","ab"]')),
    ({"contains": {"enum": [10, "ab"]}, "minContains": 5, "maxContains": 9}, len("[10,10,10,10,10]")),
    ({"contains": {"const": 1}, "minContains": 100, "maxContains": 200}, 201),
    ({"contains": {"const": 1}, "minContains": 2, "maxContains": 3, "minItems": 4}, len("[1,1,0,0]")),
    ({"allOf": [{"contains": {"const": i}, "minContains": i + 1, "maxContains": 9} for i in range(3)]}, len("[0,1,1,2,2,2]")),
    ({"not": {"contains": {"const": 0}, "minContains": 0, "maxContains": 2}}, len("[0,0,0]")),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "shortest"), COUNTED)
def test_items_that_are_counted_are_completed(schema: Any, shortest: int) -> None:
    index = compiled({"type": "array", **schema}, whitespace="compact")
    assert index.remaining(index.initial) == shortest
    for spare in (0, 3, 40):
        assert index.accepts(walk(index, random.Random(spare), spare))


@pytest.mark.parametrize("name", [name for name in SCHEMAS if name not in HANGING])
@pytest.mark.parametrize("longest", [4, 12])
def test_completions_too_long_to_be_written_down_end_in_time(
    name: str, longest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(completions, "_LONGEST", longest)
    monkeypatch.setattr(completions, "_MANY_STEPS", 2)
    pairs = [b'{"', b'":', b'","', b'"}', b"}}", b"[[", b"],", b"00", b"000", b"  ", b"aaa"]
    index = compiled(
        SCHEMAS[name], Vocabulary([*(bytes([value]) for value in range(256)), *pairs, None], eos=[256 + len(pairs)])
    )
    for spare in (0, 5, 30):
        assert index.accepts(walk(index, random.Random(spare), spare))


def doubled(value: Any, times: int) -> Any:
    """Arrays of two within each other."""
    for _ in range(times):
        value = {"type": "array", "items": value, "minItems": 2, "maxItems": 2}
    return value


@pytest.mark.parametrize(
    ("schema", "tokens"),
    [
        ({"type": "string", "minLength": 65_540}, 65_542),
        ({"type": "string", "minLength": 200_000}, 200_002),
        ({"type": "object", "required": ["a"], "properties": {"a": {"minLength": 200_000, "type": "string"}}}, 200_008),
        (doubled({"const": 0}, 18), 2**18 + 3 * (2**18 - 1)),
    ],
)
def test_long_texts_have_bounds(schema: Any, tokens: int) -> None:
    index = compiled(schema, whitespace="compact")
    assert index.remaining(index.initial) == tokens
    for spare in (0, 2, 50):
        draw, guide, left = random.Random(spare), index.guide(), tokens + spare
        for _ in range(100):
            allowed = [token for token in bits(guide.mask_within(left)) if token not in index.vocabulary.eos]
            guide.advance(draw.choice(allowed))
            left -= 1
            assert guide.remaining <= left


def test_a_long_string_takes_few_long_tokens() -> None:
    vocabulary = Vocabulary([*(bytes([value]) for value in range(256)), b" " * 250, b" " * 300, None], eos=[258])
    schema = {"type": "array", "items": {"type": "string", "minLength": 50_000}, "minItems": 2}
    index = compiled(schema, vocabulary, whitespace="compact")
    assert index.remaining(index.initial) < 2 * (50_000 // 250 + 260)
    assert index.accepts(walk(index, random.Random(1), 3))


def test_items_that_differ_and_need_too_much_are_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completions, "_LONGEST", 200)
    items = {"type": "string", "minLength": 150}
    index = compiled({"type": "array", "items": items, "uniqueItems": True, "minItems": 3}, whitespace="compact")
    state = reached(index, b'["')
    assert index.remaining(state) == completions.TOO_LONG
    assert not index.mask_within(state, 10**6).any()
    assert index.mask_within(state, completions.TOO_LONG + 1) is index.mask(state)
    last = reached(index, b'["' + b"a" * 150 + b'","' + b"b" * 150 + b'","' + b"c" * 100)
    assert index.remaining(last) == 52
    assert index.mask_within(last, 10**3) is index.mask(last)


# Values that must differ, and texts that end within one.
WITHIN: list[tuple[Any, list[bytes]]] = [
    ({"items": {"type": "string"}}, [b'["', b'["a', b'["a","']),
    ({"items": {"type": "string"}, "minItems": 3}, [b'["', b'["a', b'["0","', b'["0","1","aa', b'["\\u00']),
    ({"items": {"type": "string", "pattern": "^[ab]{0,2}$"}, "minItems": 3}, [b'["', b'["a', b'["","', b'["a","b","']),
    ({"items": {"type": "integer", "minimum": 7, "maximum": 13}, "minItems": 3}, [b"[1", b"[10,1", b"[7,8,1"]),
    ({"prefixItems": [{"type": "string", "maxLength": 1}, {"type": "string", "minLength": 1}], "items": {"maxLength": 1}, "minItems": 4},
     [b'["', b'["","', b'["0","', b'["0","1']),
    ({"items": {"type": ["string", "number", "null"]}, "minItems": 3}, [b'["', b"[1", b'[null,"', b"[0,1."]),
    ({"contains": {"type": "string", "minLength": 2}, "minContains": 2, "items": {"type": "string"}}, [b'["', b'["0', b'["00","']),
    ({"items": {"type": "array", "items": {"type": "string"}}, "minItems": 2}, [b"[[", b'[["a']),
    ({"items": {"type": "string"}, "uniqueItems": False, "oneOf": [{"uniqueItems": True}, {"minItems": 3}]},
     [b'["', b'["aaaa', b'["a","', b'["a","aa","a']),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("schema", "texts"), WITHIN)
@pytest.mark.parametrize("numbers", ["plain", "any"])
def test_tokens_allowed_in_arrays_of_distinct_items_keep_the_budget(
    schema: Any, texts: list[bytes], numbers: str
) -> None:
    """The bound of a class of tokens is at least that of each; the next token of a completion is always allowed."""
    pairs = [
        b'","',
        b'"]',
        b'a"',
        b'aa","',
        b'0"',
        b'1","',
        b'00"',
        b'0","1"',
        b"1,",
        b"10",
        b"aaaaaa",
        b"0,",
        b'b","a',
    ]
    vocabulary = Vocabulary([*(bytes([value]) for value in range(128)), *pairs, None], eos=[128 + len(pairs)])
    index = compiled(
        {"type": "array", "uniqueItems": True, **schema}, vocabulary, whitespace="compact", numbers=numbers
    )
    for text in texts:
        state = reached(index, text)
        least = index.remaining(state)
        for budget in (least, least + 1, least + 2, least + 6, least + 20, 100):
            allowed = bits(index.mask_within(state, budget))
            assert allowed
            assert all(
                index.remaining(index.next(state, token)) < budget for token in allowed if token not in vocabulary.eos
            )


@pytest.mark.network
@pytest.mark.parametrize("schema", [
    {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
    {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "minItems": 4},
    {"type": "array", "prefixItems": [{"type": ["string", "null"]}, {"minLength": 3}], "items": {"type": "string"}, "uniqueItems": True},
    {"type": "object", "minProperties": 4},
    {"type": "object", "minProperties": 3, "additionalProperties": {"type": "array", "items": {"type": "string"}}},
    {"type": "array", "minItems": 2, "items": {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "minItems": 2}},
])  # fmt: skip
def test_ample_budgets_leave_the_mask_as_it_is(schema: Any) -> None:
    """Also within items and keys that must differ from those to come."""
    index = compiled(schema, real_vocabulary("gpt2"), whitespace="compact")
    for text in (b'{"', b'{"ab', b'{"ab":["', b'["', b'["abc', b'["abc","', b'[["', b'[["abc","'):
        state, read = index.tables.trace(index.initial, text)
        if read == len(text):
            assert index.mask_within(state, 100) is index.mask(state)
            assert len(index.allowed(state)) > 40_000


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.parametrize("name", ["gpt2", "llama3-128k"])
@pytest.mark.parametrize("kind", ["anything", "required", "conditional", "pattern"])
def test_real_vocabularies(name: str, kind: str) -> None:
    vocabulary = real_vocabulary(name)
    index = compiled(SCHEMAS[kind], vocabulary)
    for spare in (0, 3, 12):
        text = walk(index, random.Random(spare), spare)
        assert index.accepts(text)


@pytest.mark.parametrize("name", SCHEMAS)
def test_generated_texts_end_within_max_tokens(name: str) -> None:
    index = compiled(SCHEMAS[name], property_order="any")
    model = CountingModel(BYTES, 7)
    make = generator(model, index)
    shortest = index.remaining(index.initial)
    for most in (shortest, shortest + 5, shortest + 40):
        result = make("p", max_tokens=max(most, 1), temperature=2.0, seed=most)
        assert len(result.tokens) <= max(most, 1)
        assert index.accepts(bytes(result.tokens))
    if shortest > 1:
        with pytest.raises(LimitError, match=f"max_tokens: {shortest} needed"):
            make("p", max_tokens=shortest - 1)


@pytest.mark.network
def test_real_tokens_are_few() -> None:
    """Longest matches: the completion of a usual object takes fewer tokens than bytes."""
    index = compiled(SCHEMAS["required"], real_vocabulary("gpt2"))
    assert index.remaining(index.initial) < 15


def test_many_required_names_are_completed_by_one_chain() -> None:
    names = [f"n{i}" for i in range(600)]
    index = compiled(
        {"type": "object", "required": names, "additionalProperties": {"type": "integer"}}, whitespace="compact"
    )
    shortest = len(json.dumps(dict.fromkeys(names, 0), separators=(",", ":")))
    assert index.remaining(index.initial) == shortest
    assert index.remaining(reached(index, b'{"n0":0,"x":1')) == shortest - len('{"n0":0')


def counted(steps: int) -> Index:
    """An object of many names, with so many steps for one call."""
    schema = {"type": "object", "minProperties": 8, "properties": {"a": {"type": "string"}}}
    return compile_spec(JsonSchema(schema, whitespace="compact"), BYTES, Limits(call_steps=steps))


@pytest.mark.parametrize(
    "options", [{}, {"whitespace": "compact"}, {"whitespace": "pretty(2)"}, {"property_order": "any"}]
)
def test_as_many_required_members_as_compile_can_be_completed(options: Any) -> None:
    limits = Limits(call_steps=12_000)
    for count, is_refused in ((100, False), (101, True)):
        names = [f"n{i}" for i in range(count)]
        spec = JsonSchema({"type": "object", "properties": dict.fromkeys(names, True), "required": names}, **options)
        if is_refused:
            with pytest.raises(LimitError, match="at /required"):
                compile_spec(spec, BYTES, limits)
        else:
            assert compile_spec(spec, BYTES, limits).guide().remaining > 4 * count


@pytest.mark.parametrize("steps", [300, 1_000])
def test_a_completion_that_takes_too_much_is_an_error(steps: int) -> None:
    guide = counted(steps).guide()
    with pytest.raises(LimitError) as error:
        _ = guide.remaining
    assert (error.value.what, error.value.limit) == ("call_steps", steps)
    assert error.value.given > steps
    assert guide.advance_many(b'{"a":"') == 6
    assert len(bits(guide.mask())) > 90


@pytest.mark.parametrize("steps", [5_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_tokens_whose_completions_take_too_much_are_left_out(steps: int) -> None:
    """The completion's own next token never is: texts end within their budgets."""
    for spare in (0, 3, 40):
        index = counted(steps)
        assert index.remaining(index.initial) == 48
        assert index.accepts(walk(index, random.Random(spare), spare))
