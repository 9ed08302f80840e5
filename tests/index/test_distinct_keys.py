"""Keys that must not be repeated: what one completion says of many keys is what each would say of itself."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from guided.engine.compile import compile as compile_spec
from guided.engine.index import Index
from guided.engine.json_schema import JsonSchema
from guided.errors import LimitError, SchemaError
from guided.index import completions
from guided.index.pushdown import PushdownIndex
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary
from tests.masks import bits
from tests.profiles import examples
from tests.real_vocabularies import real_vocabulary
from tests.schema.engine import compiled

pytestmark = pytest.mark.network

NAMES = ["", "0", "a", "b", "ab", "é", "\u000b"]
# Each name in several spellings, ended or not, with more behind.
WORDS = sorted(
    {
        spelled + behind
        for name in NAMES
        for spelled in (name.replace("\u000b", "\\u000b"), "".join(f"\\u{ord(one):04X}" for one in name))
        for behind in ("", '"', '":')
    }
    - {"", *'0ab"'}
)
BYTES = [bytes([value]) for value in b'{}[]":,\\u0129abBeflnrstEx.- \xc3\xa9']
VOCABULARY = Vocabulary([*BYTES, *(word.encode() for word in WORDS), None], eos=[len(BYTES) + len(WORDS)])
VALUES = st.sampled_from([True, {"type": "integer"}, {"enum": ["a", None]}, {"type": "string", "minLength": 2}, False])
COUNTED = st.fixed_dictionaries(
    {"type": st.just("object"), "minProperties": st.integers(2, 3)},
    optional={
        "maxProperties": st.integers(3, 6),
        "properties": st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=3),
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "b$", "^.?$", "1"]), VALUES, max_size=2),
        "additionalProperties": VALUES,
        "propertyNames": st.sampled_from([{"minLength": 1}, {"maxLength": 2}, {"pattern": "^[ab0-9]*$"}, {"not": {"enum": ["", "0"]}}]),
        "required": st.lists(st.sampled_from(NAMES), max_size=2, unique=True),
        "not": st.sampled_from([{"required": ["a", "b"]}, {"maxProperties": 1}]),
    },
)  # fmt: skip


def check_bounds(index: Index, data: st.DataObject, n_tokens: int) -> None:
    """Along a text: no token within a budget has a bound that is not, and few tokens are left out that need not be."""
    state = index.initial
    vocabulary = index.vocabulary
    for _ in range(n_tokens):
        bounds = {
            token: index.remaining(index.next(state, token))
            for token in index.allowed(state).tolist()
            if token not in vocabulary.eos
        }
        least = index.remaining(state)
        for budget in (least, least + 1, least + 3):
            within = {token for token in bits(index.mask_within(state, budget)) if token not in vocabulary.eos}
            assert within <= {token for token, bound in bounds.items() if bound < budget}
            # Those that end a key and more have their own bound.
            ended = {token for token in bounds if b'"' in (vocabulary[token] or b"")[1:]}
            assert within & ended == {token for token in ended if bounds[token] < budget}
        near = sorted(token for token, bound in bounds.items() if bound < 100)
        if not near:
            return
        state = index.next(state, data.draw(st.sampled_from(near)))


@settings(max_examples=examples(10), suppress_health_check=list(HealthCheck), deadline=None)
@given(COUNTED, st.data())
@pytest.mark.parametrize("escapes", ["canonical", "dumps", "any"])
def test_bounds_after_keys_are_their_own(escapes: str, schema: Any, data: st.DataObject) -> None:
    order = data.draw(st.sampled_from(["schema", "any"]))
    try:
        index = compiled(schema, VOCABULARY, escapes=escapes, property_order=order, whitespace="compact")
    except (SchemaError, LimitError):
        reject()
    check_bounds(index, data, 3)


@pytest.mark.parametrize("schema", [
    {"type": "object", "minProperties": 4},
    {"type": "object", "minProperties": 3, "patternProperties": {"^a.*b": {"type": "integer"}, "x{2,9}$": {"type": "string"}}},
    {"type": "array", "items": {"type": "object", "not": {"additionalProperties": {"type": "integer"}}}},
])  # fmt: skip
@pytest.mark.parametrize("escapes", ["canonical", "dumps", "any"])
def test_tokens_that_end_keys_make_few_tables(schema: Any, escapes: str) -> None:
    """A vocabulary has hundreds of tokens that end a key, and each name would take an automaton of its own."""
    index = compile_spec(JsonSchema(schema, escapes=escapes), real_vocabulary("gpt2"), limits=Limits(states=40_000))
    assert isinstance(index.tables, PushdownIndex)
    for text in (b'{"', b'{"a', b'{"ab'):
        state, _ = index.tables.trace(index.initial, b"[" * (schema["type"] == "array") + text)
        least = index.remaining(state)
        for budget in (least, least + 1):
            assert bits(index.mask_within(state, budget))


def test_keys_before_a_distant_required_key_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where completions are too long to look into, the completion's own token is in reach all the same."""
    monkeypatch.setattr(completions, "_LONGEST", 44)
    value = {"type": "string", "minLength": 9}
    index = compiled(
        {"minProperties": 3, "type": "object", "additionalProperties": value}, VOCABULARY, whitespace="compact"
    )
    assert isinstance(index.tables, PushdownIndex)
    state, read = index.tables.trace(index.initial, b'{"')
    assert read == 2
    least = index.remaining(state)
    allowed = bits(index.mask_within(state, least))
    assert allowed
    assert all(index.remaining(index.next(state, token)) < least for token in allowed)
