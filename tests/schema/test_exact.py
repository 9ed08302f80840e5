"""Numbers as keys: no schema and no text chooses numbers with equal hashes, so dicts of them stay dicts."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.limits import Limits
from guided.schema.formula.exact import Number, fraction
from tests.schema.engine import compiled
from tests.schema.lowered import lowered

# Python's hash of a number is its value modulo this prime; a fraction's is its numerator divided by its denominator, modulo it.
PRIME = sys.hash_info.modulus
NUMBERS: dict[str, Callable[[int], Any]] = {
    "multiples": lambda i: (i + 1) * PRIME,
    "around one hash": lambda i: 7 + i * PRIME,
    "decimals": lambda i: Decimal((i + 1) * PRIME).scaleb(-3),
}
# Schemas of some numbers, as values, bounds, divisors and counts.
SCHEMAS: dict[str, Callable[[list[Any]], Any]] = {
    "enum": lambda numbers: {"enum": numbers},
    "consts of arrays": lambda numbers: {"anyOf": [{"const": [number]} for number in numbers]},
    "consts": lambda numbers: {"anyOf": [{"const": number} for number in numbers]},
    "not const": lambda numbers: {"type": "number", "not": {"enum": numbers}},
    "bounds": lambda numbers: {"anyOf": [{"minimum": number} for number in numbers]},
    "divisors": lambda numbers: {"anyOf": [{"multipleOf": number} for number in numbers]},
}


class Odd(float):
    """A float that is written otherwise, as numpy's are: ``np.float64(1.5)``."""

    def __repr__(self) -> str:
        return f"odd({float(self)})"


COUNTS = ["minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"]


@contextmanager
def comparisons() -> Iterator[list[int]]:
    """Count comparisons of fractions."""
    count = [0]

    def called(frame: Any, event: str, _: object) -> None:
        count[0] += event == "call" and frame.f_code is Fraction.__eq__.__code__

    sys.setprofile(called)
    try:
        yield count
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("shape", SCHEMAS)
def test_a_schema_of_numbers_with_equal_hashes_compares_each_with_few_others(shape: str, kind: str) -> None:
    numbers = [NUMBERS[kind](i) for i in range(200)]
    assert len(set(map(hash, numbers))) < 3
    with comparisons() as count:
        formulas = lowered(SCHEMAS[shape](numbers)).formulas
    hashes = [hash(node) for node in formulas.nodes]
    assert len(set(hashes)) == len(hashes)
    assert count[0] < 20 * len(numbers)


@pytest.mark.parametrize("numbers", ["plain", "any"])
@pytest.mark.parametrize("kind", NUMBERS)
def test_a_mask_and_a_text_of_numbers_with_equal_hashes_compare_each_with_few_others(kind: str, numbers: str) -> None:
    listed = [NUMBERS[kind](i) for i in range(100)]
    with comparisons() as count:
        index = compiled({"enum": listed}, whitespace="compact", numbers=numbers)
        assert index.accepts(str(listed[7]).encode())
        index = compiled({"items": {"type": "number"}, "uniqueItems": True}, whitespace="compact")
        assert index.accepts(f"[{','.join(map(str, listed))}]".encode())
        assert not index.accepts(f"[{','.join(map(str, [*listed, listed[0]]))}]".encode())
    assert count[0] < 100 * len(listed)


@pytest.mark.parametrize("keyword", COUNTS)
def test_counts_have_hashes_of_their_own(keyword: str) -> None:
    formulas = lowered({"anyOf": [{keyword: 5 + i * PRIME} for i in range(100)]}).formulas
    hashes = [hash(node) for node in formulas.nodes]
    assert len(set(hashes)) == len(hashes)


@given(st.integers() | st.decimals(allow_nan=False, allow_infinity=False, places=3), st.integers() | st.fractions())
def test_equal_numbers_have_equal_hashes(value: int | Decimal, other: int | Fraction) -> None:
    number, same = fraction(value, Limits().digits), Number(Fraction(value))
    assert number == same == value
    assert hash(number) == hash(same) == hash(number)
    assert len({number, same, Number(other)}) == 2 - (Fraction(other) == Fraction(value))


@pytest.mark.parametrize("shape", SCHEMAS)
def test_numbers_of_other_classes_are_numbers(shape: str) -> None:
    plain, others = ([kind(number) for number in (0.5, 1.5, 1e22)] for kind in (float, Odd))
    assert lowered(SCHEMAS[shape](others)).formulas.nodes == lowered(SCHEMAS[shape](plain)).formulas.nodes
