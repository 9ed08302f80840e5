"""Vocabularies in which no token is a certain byte: what can be spelled is decided as exactly as over all bytes, and as fast."""

import json
from string import ascii_lowercase
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.errors import SchemaError, VocabularyError
from guided.limits import Limits
from guided.schema.containers.opening import Containers
from guided.schema.formats import FORMATS
from guided.schema.formula.formulas import FALSE
from guided.schema.values.context import SchemaContext
from guided.schema.values.leaves import one_letter_satisfies, quick_satisfiable_string
from guided.vocabulary.vocabulary import Vocabulary
from tests.executed import executed_lines
from tests.schema.engine import compiled
from tests.schema.lowered import lowered

# The bytes that no token of SmolLM2's tokenizer is.
SMOLLM2 = bytes((4, 6, 0x13, 0x14, 0x16, 0x1D, 0xC0, 0xC1, 0xF1, 0xF2, *range(0xF5, 0x100)))


def without(missing: bytes) -> Vocabulary:
    """One token for each other byte, and one that ends the text."""
    return Vocabulary([None if value in missing else bytes([value]) for value in range(256)], eos=[256], size=257)


def context_of(schema: Any, missing: bytes) -> tuple[SchemaContext, int]:
    """The types of a schema over an alphabet without these bytes, and the formula of its value."""
    lowering = lowered(schema)
    alphabet = np.ones(256, np.bool_)
    alphabet[list(missing)] = False
    return SchemaContext(lowering.formulas, lowering, lowering.options, Limits(), alphabet), lowering.root


missing_bytes = st.one_of(
    st.sampled_from([b"", SMOLLM2]),
    st.binary(min_size=1, max_size=4),
    st.sampled_from(
        [b"a", b'"', b"\\", b"u", b"0", b"-", b".", b"\xc3", bytes(range(0x80, 0x100)), bytes(range(0x20, 0x7F))]
    ),
    st.sets(st.integers(0, 255), min_size=200, max_size=255).map(bytes),
)
patterns = st.sampled_from([
    "a", "^a+$", "[^a]", "^[^a-z]$", "[é-ü]", r"^\u00e9$", r"^\x04$", "^\x04$", r"\d", r"^\D\W\S$", r"[^\s\d\w]", r"^[^\s\S]$", "^.$",
    r"[^\W\w]", r"^\t$", "^\U00040000$", "[\U00040000-\U000bffff]", "(a|b)c", "(?=a)b", "a$b", r"^\\$", "^[\"]$", "[^]", "^[]$", "^[^!-~]$",
])  # fmt: skip
texts = st.sampled_from(["", "a", "é", "\x04", "\n", "\U00040000", '"', "ab\x13"])
strings = st.one_of(
    st.fixed_dictionaries({"minLength": st.integers(0, 3)}, optional={"maxLength": st.integers(0, 3)}),
    st.fixed_dictionaries({"pattern": patterns}, optional={"maxLength": st.integers(0, 3), "minLength": st.integers(0, 2)}),
    st.fixed_dictionaries({"enum": st.lists(texts, min_size=1, max_size=2, unique=True)}, optional={"maxLength": st.integers(0, 2)}),
    st.fixed_dictionaries({"not": st.fixed_dictionaries({"enum": st.lists(texts, min_size=1, max_size=2, unique=True)})}),
    st.fixed_dictionaries({"format": st.sampled_from(["date", "email", "uri", "ipv4"])}),
)  # fmt: skip
numbers = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"minimum": st.integers(-20, 20)}, optional={"maximum": st.integers(-20, 20)}),
    st.fixed_dictionaries({"multipleOf": st.sampled_from([0.5, 3, 7])}, optional={"exclusiveMaximum": st.just(-1)}),
    st.fixed_dictionaries({"enum": st.lists(st.sampled_from([0, 1, -1, 0.5, 12]), min_size=1, max_size=2, unique=True)}),
)  # fmt: skip


@given(strings, missing_bytes)
def test_strings_exist_exactly_where_their_automaton_is_not_empty(schema: dict[str, Any], missing: bytes) -> None:
    context, root = context_of({"type": "string", **schema}, missing)
    formula = context.typed(root, "string")
    if formula != FALSE:
        assert (
            context.leaves.of("string", (formula,)).is_empty
            == context.leaves.of("string", (formula,)).automaton.is_empty()
        )


@given(numbers, missing_bytes)
def test_numbers_exist_exactly_where_their_automaton_is_not_empty(schema: dict[str, Any], missing: bytes) -> None:
    context, root = context_of({"type": "number", **schema}, missing)
    formula = context.typed(root, "number")
    if formula != FALSE:
        assert (
            context.leaves.of("number", (formula,)).is_empty
            == context.leaves.of("number", (formula,)).automaton.is_empty()
        )


@given(
    st.lists(st.one_of(strings, numbers), min_size=1, max_size=3),
    st.booleans(),
    missing_bytes,
    st.lists(st.one_of(texts, st.integers(-20, 20), st.just(0.5)), max_size=3),
)
def test_texts_are_those_over_all_bytes_that_can_be_spelled(
    parts: list[dict[str, Any]], is_required: bool, missing: bytes, values: list[Any]
) -> None:
    names = "abc"[: len(parts)]
    schema = {
        "type": "object",
        "properties": dict(zip(names, parts, strict=True)),
        "required": list(names) * is_required,
    }
    text = json.dumps(dict(zip(names, values, strict=False)), ensure_ascii=False).encode()
    try:
        everything = compiled(schema)
    except SchemaError:
        return
    try:
        expected = everything.accepts(text) and not set(text) & set(missing)
        assert compiled(schema, without(missing)).accepts(text) == expected
    except VocabularyError:
        assert not expected


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_every_format_has_a_text_of_printable_ascii(name: str) -> None:
    context, root = context_of({"type": "string", "format": name}, bytes(set(range(256)) - set(range(0x20, 0x7F))))
    assert quick_satisfiable_string(("format", name), is_ascii=True)
    assert not context.leaves.of("string", (context.typed(root, "string"),)).automaton.is_empty()


@pytest.mark.parametrize("missing", [SMOLLM2, b"q", b"\xf1"])
@pytest.mark.parametrize("more", [{}, {"minLength": 1}, {"pattern": "^[a-z ]*$"}, {"format": "uri"}])
def test_large_lengths_take_no_more_lines_than_short_ones(missing: bytes, more: dict[str, Any]) -> None:
    def lines(vocabulary: Vocabulary, most: int) -> int:
        schema = {
            "type": "object",
            "properties": {"a": {"type": "string", "maxLength": most, **more}},
            "required": ["a"],
        }
        compiled(schema, vocabulary)
        return executed_lines(lambda: compiled({**schema, "title": "again"}, vocabulary))

    few, many = (lines(without(missing), most) for most in (60, 60_000))
    assert many < few + 100


def test_reading_knows_an_alphabet_with_all_of_ascii() -> None:
    context, root = context_of({"type": ["string", "object"]}, SMOLLM2)
    assert context.has_ascii
    assert Containers(context).satisfiability.is_satisfiable(root)


_TEXTS = st.lists(st.text("abz<", min_size=1, max_size=3), min_size=1, max_size=3).map(tuple)


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("length"), st.integers(0, 4), st.integers(-1, 4)),
            st.tuples(st.sampled_from(["without", "beside"]), _TEXTS),
            st.just(("without", (ascii_lowercase,))),
        ),
        max_size=4,
    )
)
def test_a_letter_that_satisfies_atoms_is_a_string_that_does(atoms: list[Any]) -> None:
    def holds(text: str, atom: Any) -> bool:
        match atom:
            case ("length", least, most):
                return bool(least <= len(text) and (most < 0 or len(text) <= most))
            case ("without", texts):
                return not any(one in text for one in texts)
            case (_, texts):
                return not text.startswith(texts)

    words = [letter * length for letter in ascii_lowercase for length in range(5)]
    assert one_letter_satisfies(atoms) <= any(all(holds(word, atom) for atom in atoms) for word in words)
