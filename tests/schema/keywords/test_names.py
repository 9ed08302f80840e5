"""Names of members whose automaton counts characters: refused with their place when the schema is compiled, or read in any text."""

import functools
import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from guided.automata.automaton import Automaton
from guided.engine.compile import compile as compile_spec
from guided.engine.json_schema import JsonSchema
from guided.errors import LimitError
from guided.integrations.serving import FRONT_END_LIMITS
from guided.limits import Limits
from guided.schema.formats import FORMATS
from guided.schema.frontend import names
from guided.schema.pushdown import frame_paths
from guided.schema.pushdown.key_frames import edges, labels_ahead
from tests.profiles import examples
from tests.schema.engine import BYTES
from tests.test_counted_work import LETTERS, words

SETS = {"[a-z]": "a", "[^/]": "\u00e9", r"\w": "_", r"[\p{L}\p{N}_]": "\u4e2d", ".": "\U00010000"}


@pytest.mark.parametrize("keyword", ["propertyNames", "patternProperties"])
@pytest.mark.parametrize("letters", SETS)
@pytest.mark.parametrize(
    "count", [90, *(pytest.param(count, marks=pytest.mark.slow) for count in (400, 3_000)), 30_000]
)
def test_names_that_count_far_are_refused_at_once_or_read(keyword: str, letters: str, count: int) -> None:
    pattern = f"^{letters}{{1,{count}}}$"
    inner: dict[str, Any] = {"pattern": pattern} if keyword == "propertyNames" else {pattern: {"type": "integer"}}
    reason = ""
    try:
        index = compile_spec(JsonSchema({"items": {"type": "object", keyword: inner}}), BYTES)
    except LimitError as error:
        reason = str(error)
    if reason:
        assert count > 90
        assert f"at /items/{keyword}" in reason
        assert "too large an automaton" in reason or "transitions" in reason
        return
    guide = index.guide()
    for piece in ['[{"', SETS[letters] * 80, '": 1, "', SETS[letters] * 30]:
        guide.mask()
        assert guide.advance_many(piece.encode()) == len(piece.encode())
        assert guide.remaining > 0


@pytest.mark.parametrize(("most", "is_fine"), [(400, True), (4_000, False)])
def test_lengths_of_names_are_counted(most: int, is_fine: bool) -> None:
    schema = {"items": {"propertyNames": {"maxLength": most}}}
    if is_fine:
        index = compile_spec(JsonSchema(schema), BYTES)
        assert [index.accepts('[{"' + "a" * length + '": 1}]') for length in (most, most + 1)] == [True, False]
        return
    with pytest.raises(LimitError, match="the names at /items/propertyNames need too large an automaton") as caught:
        compile_spec(JsonSchema(schema), BYTES)
    assert caught.value.what == "growth_bytes"


def table(patterns: list[str], **more: Any) -> dict[str, Any]:
    return {"type": "object", "patternProperties": {p: {"maxLength": i} for i, p in enumerate(patterns)}, **more}


def leading_back(count: int) -> str:
    begins = list(map("".join, itertools.product(LETTERS, repeat=3)))[:count]
    return f"^{functools.reduce(lambda inner, begin: f'(?:{inner}|{begin})x', begins[::-1])}y$"


NAMES: dict[str, Callable[[int], dict[str, Any]]] = {
    "counts beside each other": lambda n: table([f"^a.{{{n}}}b", f"^b.{{{n}}}a", f"c.{{{n}}}$"]),
    "counts anywhere": lambda n: table([f"a.{{{n // 40 + 1}}}b", f"b.{{{n // 40 + 1}}}a"]),
    "counts of one name": lambda n: {"propertyNames": {"allOf": [{"pattern": f"{x}.{{{n // 40 + 1}}}"} for x in "ab"]}},
    "lengths": lambda n: table([f"^.{{{n}}}$", f"^[a-z]{{{n + 1}}}$"]),
    "stars": lambda n: table([f"^a{{{i}}}.*b" for i in range(n // 4)]),
    "words anywhere": lambda n: table(words(n // 8)),
    "words, repeated": lambda n: table([f"^({'|'.join(words(10 * n))})+$"]),
    "names beside a pattern": lambda n: table(["^x-"], properties=dict.fromkeys(words(10 * n), True)),
    "each state leads back": lambda n: table([leading_back(15 * n)]),
    "names lead back": lambda n: {"propertyNames": {"pattern": leading_back(15 * n)}},
}


# The beginning of an object with a name.
NAMED = (b"{", b'"', b"a", b"b", b"x")


@pytest.mark.parametrize("limits", [Limits(), FRONT_END_LIMITS], ids=["default", "front end"])
@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("size", [3, 40, *(pytest.param(size, marks=pytest.mark.slow) for size in (100, 200)), 400])
def test_names_that_compile_are_read(kind: str, size: int, limits: Limits) -> None:
    """Whatever the names of an object cost, it is known when the schema is compiled: no call in a text exceeds a limit."""
    reason = read_or_refused(NAMES[kind](size), NAMED, limits)
    assert not reason or (size > 3 and ("/patternProperties" in reason or "/propertyNames" in reason))


@pytest.mark.parametrize("limits", [Limits(), FRONT_END_LIMITS], ids=["default", "front end"])
@pytest.mark.parametrize(
    "more", [{}, {"patternProperties": {"^a": {"type": "integer"}}}], ids=["alone", "beside a pattern"]
)
@pytest.mark.parametrize("name", FORMATS)
def test_names_of_a_format_are_read_or_refused(name: str, more: dict[str, Any], limits: Limits) -> None:
    reason = read_or_refused({"propertyNames": {"format": name}, **more}, NAMED, limits)
    assert not reason or ("/propertyNames" in reason and (more or limits is FRONT_END_LIMITS)), reason


def read_or_refused(schema: dict[str, Any], pieces: Sequence[bytes], limits: Limits, **options: Any) -> str:
    """Return why a schema is refused by a limit; if it is not, have a text begin with these pieces, as far as they are allowed."""
    try:
        index = compile_spec(JsonSchema(schema, whitespace="compact", **options), BYTES, limits)
    except LimitError as error:
        return str(error)
    guide = index.guide()
    for piece in pieces:
        guide.mask()
        guide.mask_within(guide.remaining + 3)
        if not guide.validate(piece):
            break
        guide.advance_many(piece)
    return ""


@pytest.mark.parametrize("more", [{}, {"maxLength": 3}, {"type": "string"}])
@pytest.mark.parametrize("limits", [Limits(), FRONT_END_LIMITS], ids=["default", "front end"])
def test_patterns_that_lead_to_all_places_at_once_are_refused(limits: Limits, more: dict[str, Any]) -> None:
    """Each of their letters is one, so only the number of places tells."""
    reason = read_or_refused({"items": {"pattern": "(a?){20000}a{20000}", **more}}, (b"[", b'"', b"a"), limits)
    assert reason.startswith("steps: ")
    assert "/items/pattern" in reason


@given(
    sets=st.lists(
        st.tuples(st.sampled_from([r"\p{L}", r"\w", ".", "[^a]", "[a-z]", "é"]), st.integers(1, 400)),
        min_size=1,
        max_size=2,
    ),
    ends=st.sampled_from([("^", "$"), ("", ""), ("^", "")]),
    limits=st.sampled_from([Limits(), FRONT_END_LIMITS]),
    more=st.sampled_from([{}, {"maxLength": 0}, {"maxLength": 2000}, {"type": "string"}]),
)
@example([(r"\p{L}", 300)], ("", ""), Limits(), {"maxLength": 0})
@example([("[^a]", 3000), ("a", 1)], ("^", "$"), FRONT_END_LIMITS, {})
@settings(max_examples=examples(20, 3), deadline=None)
def test_a_text_may_have_a_string_of_each_pattern_that_compiles(
    sets: list[tuple[str, int]], ends: tuple[str, str], limits: Limits, more: dict[str, Any]
) -> None:
    """A character of a set may be written in hundreds of ways, each with states of its own."""
    source = ends[0] + "".join(f"{charset}{{{count}}}" for charset, count in sets) + ends[1]
    reason = read_or_refused({"items": {"pattern": source, **more}}, (b"[", b'"', b"a"), limits)
    assert not reason or "/items/pattern" in reason


# How schemas about one object come together, and what precedes the object.
TOGETHER: dict[str, tuple[bytes, Callable[[list[Any]], dict[str, Any]]]] = {
    "allOf": (b"", lambda parts: {"allOf": parts}),
    "anyOf": (b"", lambda parts: {"anyOf": parts}),
    "references": (b"", lambda parts: {
        "$defs": {str(i): part for i, part in enumerate(parts)}, "allOf": [{"$ref": f"#/$defs/{i}"} for i in range(len(parts))],
    }),
    "members": (b'{"a":', lambda parts: {"allOf": [{"properties": {"a": part}} for part in parts]}),
    "members of patterns": (b'{"a":', lambda parts: {"patternProperties": {f"^.{{0,{i}}}a": part for i, part in enumerate(parts)}}),
    "items": (b"[", lambda parts: {"allOf": [{"items": part} for part in parts]}),
    "items at one place": (b"[", lambda parts: {"allOf": [{"prefixItems": [part]} for part in parts]}),
    "a dependent schema": (b"", lambda parts: {**parts[0], "required": ["a"], "dependentSchemas": {"a": {"allOf": parts[1:]}}}),
}  # fmt: skip


@pytest.mark.parametrize("how", TOGETHER)
@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("size", [40, 400])
def test_names_of_several_schemas_about_one_object_are_read_or_refused(kind: str, size: int, how: str) -> None:
    schema = NAMES[kind](size)
    names = schema.get("propertyNames", {})
    parts: list[Any] = [{"propertyNames": one} for one in names.get("allOf", [names])] if names else []
    parts += [{"patternProperties": {pattern: value}} for pattern, value in schema.get("patternProperties", {}).items()]
    parts += [{"properties": schema["properties"]}] if "properties" in schema else []
    before, together = TOGETHER[how]
    reason = read_or_refused(together([*parts, {}]), (before, *NAMED), FRONT_END_LIMITS)
    assert not reason or "/patternProperties" in reason or "/propertyNames" in reason


def test_the_edges_of_names_are_inverted_once_for_all_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    inverted: list[Any] = []
    inverse = frame_paths.inverse_edges
    monkeypatch.setattr(frame_paths, "inverse_edges", lambda table: inverted.append(table) or inverse(table))
    patterns = {f"^a{{{i}}}.*b": {"maxLength": i} for i in range(30)}
    guide = compile_spec(JsonSchema({"patternProperties": patterns, "minProperties": 1}), BYTES).guide()
    for piece in (b"{", b'"', b"a"):
        guide.mask_within(guide.remaining + 3)
        guide.advance_many(piece)
    assert len(inverted) == 1


def test_names_that_never_meet_are_not_multiplied() -> None:
    """Each object has a pattern of a thousand states: together they would be a million."""
    members = {
        letter: {"patternProperties": {f"^{letter}.{{{900 + i}}}b": {"maxLength": i}}}
        for i, letter in enumerate("cdefgh")
    }
    compile_spec(JsonSchema({"properties": members}), BYTES)
    parts = [{"patternProperties": {f"{letter}.{{9}}b": {"maxLength": 1}}} for letter in "ab"]
    with pytest.raises(LimitError, match=r"/allOf/0/patternProperties and /allOf/1/patternProperties"):
        compile_spec(JsonSchema({"allOf": parts}), BYTES, FRONT_END_LIMITS)


def test_labels_ahead_are_those_of_a_least_fixpoint() -> None:
    for number in range(300):
        draw = random.Random(number)
        n, width = draw.randint(1, 9), draw.randint(1, 3)
        targets = np.array([draw.choices(range(-1, n), k=width) for _ in range(n)], np.int32)
        accepting = np.array(draw.choices([True, False], k=n))
        labels = np.array(draw.choices(range(5), k=n), np.int32)
        automaton = Automaton(
            targets, np.arange(256, dtype=np.uint8) % width, accepting, np.where(accepting, labels, 0)
        )
        expected = [1 << label if is_end else 0 for is_end, label in zip(accepting, labels.tolist(), strict=True)]
        for _ in range(n):
            for state, row in enumerate(targets.tolist()):
                for target in row:
                    expected[state] |= expected[target] if target >= 0 else 0
        assert labels_ahead(automaton, *(each.tolist() for each in edges(targets))) == expected


def test_of_thousands_of_patterns_few_sizes_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Any] = []
    size = names._size
    monkeypatch.setattr(names, "_size", lambda atom, limits: read.append(atom) or size(atom, limits))
    with pytest.raises(LimitError, match="/patternProperties"):
        compile_spec(JsonSchema({"patternProperties": {f"^a{{{i}}}.*b": {"maxLength": i} for i in range(500)}}), BYTES)
    assert 0 < len(read) < 50
