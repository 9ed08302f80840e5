"""Numbers whose automaton is large: refused with their place when the schema is compiled, or read in any text."""

import json
import random
from typing import Any

import pytest

from guided.engine.compile import compile as compile_spec
from guided.engine.json_schema import JsonSchema
from guided.errors import LimitError, SchemaError
from guided.integrations.serving import FRONT_END_LIMITS
from guided.limits import Limits
from tests.schema.engine import BYTES
from tests.schema.keywords.test_names import TOGETHER, read_or_refused

UNDER: dict[str, Any] = {
    "oneOf": lambda parts: {"oneOf": [{"properties": {"a": part}} for part in parts]},
    "not": lambda parts: {"type": "object", "not": {"properties": {"a": {"allOf": parts}}}},
    "if": lambda parts: {"if": {"properties": {"a": parts[0]}}, "then": {"properties": {"a": {"allOf": parts[1:]}}}},
}


def number_read_or_refused(schema: dict[str, Any], before: bytes, limits: Limits, numbers: str = "plain") -> str:
    """Return why a schema is refused by a limit; if it is not, have a number read that comes after these bytes."""
    try:
        return read_or_refused(schema, (before, b"1", b"2", b".", b"5"), limits, numbers=numbers)
    except SchemaError as error:
        if error.reason == "no value satisfies the schema":
            return ""
        raise


@pytest.mark.parametrize("divisor", [7, 997, 7_919, 86_400, 10**40 + 1, 1e300])
@pytest.mark.parametrize("how", ["items", "members", *UNDER])
def test_multiples_that_compile_are_read(how: str, divisor: float) -> None:
    parts = [{"multipleOf": divisor}, {"type": "number", "minimum": -3}]
    before, together = TOGETHER[how] if how in TOGETHER else (b'{"a":', UNDER[how])
    for limits in (Limits(), FRONT_END_LIMITS):
        reason = number_read_or_refused(together(parts), before, limits)
        assert not reason or ("/multipleOf" in reason and divisor not in (7, 997, 1e300))


@pytest.mark.parametrize("divisor", [7, 1e10, 1e20, 1e300])
@pytest.mark.parametrize("others", [[], [{"minimum": -1, "maximum": 997, "multipleOf": 7}] * 2])
def test_multiples_that_differ_are_read_or_refused(divisor: float, others: list[Any]) -> None:
    """An item equals none before it, each of which has as many digits as the divisor."""
    schema = {"items": {"oneOf": [{"multipleOf": divisor}, *others]}, "uniqueItems": True, "minItems": 10}
    items = [str(count * int(divisor)).encode() for count in range(200, 203)]
    pieces = (b"[", items[0], b",", items[1], b",", items[2], b"]")
    reason = read_or_refused({"type": "array", **schema}, pieces, Limits())
    assert not reason or ("/multipleOf" in reason and divisor > 1e10)


@pytest.mark.parametrize("multiples", [(3, 5), (3, 0.5), (0.5,), (60, 7, 0.25)])
def test_short_multiples_that_differ_are_read_with_any_spelling(multiples: tuple[float, ...]) -> None:
    schema = {"anyOf": [{"minimum": 0, "multipleOf": one} for one in multiples]}
    spec = JsonSchema({"type": "array", "items": schema, "uniqueItems": True}, numbers="any")
    text = json.dumps([one * count for count in range(11, 19) for one in multiples[:1]], separators=(",", ":"))
    assert compile_spec(spec, BYTES).guide().accepts(text.encode())


@pytest.mark.parametrize("n", range(2, 6))
@pytest.mark.parametrize("numbers", ["plain", "dumps"])
def test_numbers_that_an_array_contains_are_read_or_refused(n: int, numbers: str) -> None:
    """An item may be several of them at once: each set has an automaton, and none takes many steps by itself."""
    kinds = [{"multipleOf": 3}, {"const": 5}, {"multipleOf": 4}, {"multipleOf": 6}, {"multipleOf": 9}]
    schema = {
        "type": "array",
        "allOf": [{"contains": kind, "minContains": 1 + i % 2} for i, kind in enumerate(kinds[:n])],
    }
    reason = read_or_refused({**schema, "maxItems": 9}, (b"[", b"3", b",", b"12"), Limits(), numbers=numbers)
    assert bool(reason) == (n == 5 and numbers == "dumps")
    assert not reason or "/allOf/0/contains/multipleOf" in reason


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200))
def test_numbers_of_several_schemas_about_one_value_are_read_or_refused(seed: int) -> None:
    draw = random.Random(seed)
    keywords = {
        "multipleOf": [2, 3, 7, 0.1, 0.3, 97, 101, 997, 10**9 + 7, 1e-20, 3.0000000001],
        "minimum": [0, -1.5, 10**9, 1e-9], "maximum": [1, 997, 10**40, 1e300], "enum": [[*range(30)], [*range(2_000)], [0.5, 97]],
    }  # fmt: skip
    parts = [
        {key: draw.choice(keywords[key]) for key in draw.sample([*keywords], draw.randint(1, 2))}
        for _ in range(draw.randint(2, 4))
    ]
    how = draw.choice([*TOGETHER, *UNDER])
    before, together = TOGETHER[how] if how in TOGETHER else (b'{"a":', UNDER[how])
    schema = together(parts)
    if "$defs" not in schema and draw.random() < 0.5:
        schema, before = {"properties": {"x": schema}}, b'{"x":' + before
    reason = number_read_or_refused(schema, before, FRONT_END_LIMITS, draw.choice(["plain", "any", "dumps"]))
    assert not reason or "/multipleOf" in reason or "/enum" in reason


def test_numbers_that_never_meet_are_not_multiplied() -> None:
    """Each member has a thousand remainders: together they would be a million."""
    members = {f"m{i}": {"multipleOf": prime} for i, prime in enumerate((997, 1_009, 1_013))}
    compile_spec(JsonSchema({"properties": members}), BYTES, FRONT_END_LIMITS)
    with pytest.raises(LimitError, match=r"/properties/m\d/multipleOf and /patternProperties/1/multipleOf"):
        compile_spec(
            JsonSchema(
                {"properties": members, "patternProperties": {"1": {"multipleOf": 0.5}, "0": {"multipleOf": 101}}}
            ),
            BYTES,
            FRONT_END_LIMITS,
        )


@pytest.mark.parametrize(
    ("sources", "meet"),
    [
        (("^a", "^b", "^c"), False),
        (("^(?:a|)[ae]", "^[b-d]", "^é"), False),
        (("^$", "^b", "^c+$"), False),
        (("a", "^b", "^c"), True),
        (("^[ab]", "^[bc]", "^[cb]x"), True),
        (("^$", "^b*$", "^b"), True),
    ],
)
def test_names_that_begin_differently_match_different_patterns(sources: tuple[str, ...], meet: bool) -> None:
    patterns = dict(zip(sources, ({"multipleOf": prime} for prime in (997, 1_009, 1_013)), strict=True))
    spec = JsonSchema({"patternProperties": patterns})
    if meet:
        with pytest.raises(LimitError, match="multipleOf and /patternProperties"):
            compile_spec(spec, BYTES, FRONT_END_LIMITS)
    else:
        compile_spec(spec, BYTES, FRONT_END_LIMITS)
