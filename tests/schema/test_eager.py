"""``eager``: schemas as finite automata. Oracle: the same schema with a stack."""

import random
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from guided.engine.algebra import FreeText
from guided.engine.compile import compile as compile_spec
from guided.engine.files import load_index
from guided.engine.json_schema import JsonSchema
from guided.errors import GuidedError, LimitError, SchemaError
from guided.index.composition import CompositionIndex
from guided.index.pushdown import PushdownIndex
from guided.index.regular import RegularIndex
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary
from tests.masks import bits
from tests.profiles import examples
from tests.schema.engine import BYTES
from tests.schema.strategies import schemas
from tests.strategies import vocabularies

_ALPHABET = '{}[]":, -0123456789abé\\ntruefalsnu'
_PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 4}, "age": {"type": "integer"}},
    "required": ["name"],
}


# Most random schemas allow any JSON somewhere, which needs a stack.
@settings(max_examples=examples(60, 8), suppress_health_check=[HealthCheck.filter_too_much])
@given(
    schemas(5, about="object", references=False, unique=True),
    vocabularies(_ALPHABET, max_tokens=40, complete=True),
    st.sampled_from(["compact", "flexible", "pretty(1)"]),
    st.randoms(use_true_random=False),
)
def test_finite_automata_allow_the_tokens_that_stacks_allow(
    schema: Any, vocabulary: Vocabulary, whitespace: str, draw: random.Random
) -> None:
    spec = JsonSchema(schema, additional_properties=False, whitespace=whitespace, eager="auto")
    limits = Limits(configurations=3_000)
    try:
        eager = compile_spec(spec, vocabulary, limits)
    except GuidedError:
        assume(False)
    assume(isinstance(eager.tables, RegularIndex))
    lazy = compile_spec(JsonSchema(schema, additional_properties=False, whitespace=whitespace), vocabulary)
    assert isinstance(lazy.tables, PushdownIndex)
    assert eager.unenforced == lazy.unenforced
    assert eager.notes == lazy.notes
    for _ in range(3):
        one, other = eager.guide(), lazy.guide()
        for _ in range(12):
            mask = bits(one.mask())
            assert mask == bits(other.mask())
            assert one.is_accepting == other.is_accepting
            # With a stack, it is a bound.
            assert one.remaining <= other.remaining
            assert one.forced() == other.forced()
            token = draw.choice(mask)
            one.advance(token)
            other.advance(token)
            if token in vocabulary.eos:
                break


def test_a_schema_that_needs_a_stack_is_refused_or_keeps_it() -> None:
    nested = {"$ref": "#"}
    recursive = {"properties": {"a": nested}, "type": "object"}
    with pytest.raises(LimitError, match="configurations: 20,001 needed, 20,000 allowed; the schema needs a stack"):
        compile_spec(JsonSchema(recursive, eager=True), BYTES)
    index = compile_spec(JsonSchema(recursive, eager="auto"), BYTES)
    assert isinstance(index.tables, PushdownIndex)
    assert index.accepts('{"a": {"a": {}}}')
    with pytest.raises(SchemaError, match="no value satisfies"):
        compile_spec(JsonSchema({"allOf": [{"type": "null"}, {"type": "string"}]}, eager=True), BYTES)


def test_eager_schemas_have_files_fingerprints_and_text_of_their_own(tmp_path: Any) -> None:
    spec = JsonSchema(_PERSON, additional_properties=False, eager=True)
    index = compile_spec(spec, BYTES)
    assert isinstance(index.tables, RegularIndex)
    assert spec.fingerprint != JsonSchema(_PERSON, additional_properties=False).fingerprint
    assert JsonSchema.from_data(spec.data).fingerprint == spec.fingerprint
    index.save(tmp_path / "person")
    again = load_index(tmp_path / "person", BYTES)
    assert isinstance(again.tables, RegularIndex)
    assert again.accepts('{"name": "Ada", "age": 36}')
    assert not again.accepts('{"name": "Augusta"}')
    for wrong in ("always", 1, None):
        with pytest.raises(ValueError, match=f"eager must be True, False or 'auto', not {wrong!r}"):
            JsonSchema(_PERSON, eager=wrong)


def test_eager_schemas_are_parts_of_compositions() -> None:
    spec = JsonSchema(_PERSON, additional_properties=False, eager=True, unsupported="record")
    index = compile_spec(FreeText(stop="</think>") + spec, BYTES)
    assert isinstance(index.tables, CompositionIndex)
    assert index.accepts('Well.</think>{"name": "Ada"}')
    assert not index.accepts('Well.</think>{"name": 1}')


def test_schemas_by_their_lark_grammar_may_be_eager() -> None:
    index = compile_spec(JsonSchema({"enum": [1, "a", [2]]}, engine="lalr", eager=True), BYTES)
    assert isinstance(index.tables, RegularIndex)
    assert index.accepts("[2]")
    assert not index.accepts("[1]")
