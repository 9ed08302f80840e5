"""`Substring`: quotations of a source; and formats of a user's own for the strings of schemas."""

import json
import pickle
import re
from typing import Annotated, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

import guided
from guided.errors import GrammarError, LimitError, PatternError, SchemaError
from guided.limits import Limits

BYTES = guided.Vocabulary([bytes([value]) for value in range(256)], eos=[256], size=257)
SOURCE = 'The "cat" sat.\nOn the mat;  the cat sat.'


def quotations(units: list[str], between: set[str]) -> set[str]:
    """The texts of all runs of units, one by one."""
    n = len(units)
    return {
        "".join(units[i:j])
        for i in range(n)
        for j in range(i + 1, n + 1)
        if units[i] not in between and units[j - 1] not in between
    }


def accepted(spec: guided.Substring) -> set[str]:
    """All texts of the automaton of a spec."""
    automaton = spec.lower(Limits())
    table, found, todo = automaton.by_byte(), set(), [(0, b"")]
    while todo:
        state, text = todo.pop()
        if automaton.accepting[state]:
            found.add(text.decode())
        todo += [(int(table[state, byte]), text + bytes([byte])) for byte in range(256) if table[state, byte] >= 0]
    return found


@given(st.lists(st.text("ab é\n", min_size=1, max_size=3), min_size=1, max_size=12))
def test_pieces_are_quoted_in_their_order(units: list[str]) -> None:
    assert accepted(guided.Substring(units)) == quotations(units, set())


@given(st.text("ab .\né", min_size=1, max_size=24))
def test_a_quotation_is_a_part_of_the_source(source: str) -> None:
    assert accepted(guided.Substring(source)) == quotations(list(source), set())


@given(st.text("ab .\n", max_size=24).filter(lambda text: text.strip()))
def test_a_quotation_by_words_or_lines_begins_and_ends_with_one(source: str) -> None:
    words = re.findall(r"\w+|\s+|[^\w\s]", source)
    assert accepted(guided.Substring(source, by="words")) == quotations(words, {w for w in words if w.isspace()})
    lines = re.findall(r"[^\n]+|\n+", source)
    assert accepted(guided.Substring(source, by="lines")) == quotations(lines, {w for w in lines if w.isspace()})


def test_the_automaton_is_linear_in_the_source() -> None:
    words = [f"w{i % 700}" for i in range(4_000)]
    sizes = [guided.Substring(" ".join(words[:n]), by="words").lower(Limits()).n_states for n in (1_000, 2_000, 4_000)]
    assert sizes[2] < 2.5 * sizes[1] < 6.25 * sizes[0]


def test_quotations_in_compositions_grammars_and_schemas() -> None:

    spec = "> " + guided.Substring(SOURCE, by="words").named("quote") + "\n"
    index = guided.compile(spec, BYTES)
    assert index.accepts(b"> the mat;  the cat\n")
    assert not index.accepts(b"> the ma\n")
    grammar = guided.Grammar(
        'start: "<" QUOTE ">"\nQUOTE: "x"', terminals={"QUOTE": guided.Substring(["a ", "b ", "c"])}
    )
    index = guided.compile(grammar, BYTES)
    assert index.accepts(b"<b c>")
    assert not index.accepts(b"<a c>")
    schema = {"type": "object", "properties": {"quote": {"type": "string", "format": "quote", "maxLength": 12}}}
    made = guided.JsonSchema(schema, formats={"quote": guided.Substring(SOURCE, by="words")})
    index = guided.compile(made, BYTES)
    assert index.accepts(json.dumps({"quote": '"cat" sat.'}).encode())
    assert index.accepts(json.dumps({"quote": "sat.\nOn the"}).encode())
    assert not index.accepts(json.dumps({"quote": "sat.\nOn the mat"}).encode())
    assert not index.accepts(json.dumps({"quote": "sat.\nOn th"}).encode())


def test_formats_of_a_user_restrict_strings_and_keys(tmp_path) -> None:

    formats = {
        "iban": guided.Regex("[A-Z]{2}[0-9]{4}"),
        "day": guided.Choice(["mon", "tue"]),
        "email": guided.Regex("me|[a-z]@b"),
    }
    schema = {
        "type": "object",
        "properties": {"a": {"not": {"format": "iban"}}, "b": {"format": "email"}},
        "propertyNames": {"anyOf": [{"format": "day"}, {"enum": ["a", "b"]}]},
    }
    spec = guided.JsonSchema(schema, whitespace="compact", formats=formats)
    index = guided.compile(spec, BYTES)
    path = tmp_path / "formats.guided"
    index.save(path)
    for each in (index, guided.load_index(path, BYTES), pickle.loads(pickle.dumps(index))):
        for text, expected in (
            ({"a": "DE123"}, True),
            ({"a": "DE1234"}, False),
            ({"a": "x", "b": "me"}, True),
            ({"a": 5}, False),
            ({"b": "x@b"}, True),
            ({"b": "ada@example.org"}, False),
            ({"mon": 1}, True),
            ({"wed": 1}, False),
        ):
            assert each.accepts(json.dumps(text, separators=(",", ":")).encode()) is expected, text
    assert (
        guided.JsonSchema(schema, formats=formats).options == guided.JsonSchema(schema, formats=dict(formats)).options
    )
    assert spec.fingerprint != guided.JsonSchema(schema, whitespace="compact").fingerprint
    assert "unknown formats" in str(guided.compile(guided.JsonSchema({"format": "iban"}), BYTES).notes)
    assert not guided.compile(guided.JsonSchema({"format": "iban"}, formats=formats), BYTES).notes


class Account(TypedDict):
    """A type whose strings have a format of their own."""

    iban: Annotated[str, Field(json_schema_extra={"format": "iban"})]


def test_types_take_formats() -> None:
    spec = guided.JsonSchema(Account, formats={"iban": guided.Regex("[A-Z]{2}[0-9]{4}")})
    index = guided.compile(spec, BYTES)
    assert index.accepts(b'{"iban":"DE1234"}')
    assert not index.accepts(b'{"iban":"DE12"}')
    assert spec.read('{"iban":"DE1234"}') == {"iban": "DE1234"}


def test_what_is_no_format_is_refused() -> None:
    with pytest.raises(SchemaError, match="at least one text") as caught:
        guided.JsonSchema(True, formats={"x": guided.Regex("[^\\s\\S]")})
    assert (caught.value.pointer, caught.value.keyword) == ("/x", "formats")
    with pytest.raises(PatternError):
        guided.JsonSchema(True, formats={"x": guided.Regex("(")})
    for other in (5, guided.JsonSchema(True)):
        with pytest.raises(TypeError, match="must be a Regex"):
            guided.JsonSchema(True, formats={"x": other})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="annotate"):
        guided.JsonSchema(True, formats={"x": guided.Regex("a")}, format="annotate")


def test_what_is_no_source_is_refused() -> None:
    for nothing in ("", " \n"):
        with pytest.raises(SchemaError, match="nothing to quote"):
            guided.Substring(nothing, by="words")
    with pytest.raises(SchemaError, match="surrogate"):
        guided.Substring("a\ud800")
    with pytest.raises(ValueError, match="by must be"):
        guided.Substring("a", by="pages")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="pieces"):
        guided.Substring(["a"], by="words")
    with pytest.raises(TypeError, match="piece 1"):
        guided.Substring(["a", 5])  # type: ignore[list-item]
    with pytest.raises(LimitError):
        guided.Substring("abc" * 10).lower(Limits(nfa_states=20))
    with pytest.raises(GrammarError, match="too long"):
        guided.Grammar(
            "start: QUOTE\nQUOTE: /x/", terminals={"QUOTE": guided.Substring(" ".join(map(str, range(3_000))))}
        )
