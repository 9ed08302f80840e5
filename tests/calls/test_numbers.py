"""Integers and decimals within bounds: exhaustive on small ranges, random on large ones."""

import json
import math
import random
import struct
from decimal import Decimal
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.automata.automaton import Automaton
from guided.automata.build import from_tree
from guided.calls.constraints import exact_number
from guided.calls.decimals import FRACTION_DIGITS, decimal_multiples, decimals, floats, neighbor
from guided.calls.numbers import integers, multiples
from guided.calls.spec import Tools
from guided.errors import SchemaError

BOUNDS = [None, -1234, -101, -100, -99, -10, -9, -1, 0, 1, 5, 9, 10, 11, 42, 99, 100, 101, 1999, 2000]
NOT_INTEGERS = [b"", b"-", b"-0", b"+1", b"01", b"-01", b"00", b"1.0", b"1e3", b" 1", b"1 ", b"\xd9\xa1"]


@pytest.mark.parametrize("low", BOUNDS)
def test_T13_integers_are_exactly_those_in_the_range(low: int | None) -> None:
    for high in BOUNDS:
        automaton = from_tree(integers(low, high))
        for number in range(-1300, 2100):
            expected = (low is None or number >= low) and (high is None or number <= high)
            assert automaton.accepts(b"%d" % number) == expected, (low, high, number)
        assert not any(map(automaton.accepts, NOT_INTEGERS))


def test_T13_integers_of_any_size() -> None:
    bound = 10**5000 + 7
    automaton = from_tree(integers(bound, bound + 2))
    spell = lambda number: str(Decimal(number)).encode()  # noqa: E731 - int itself refuses to
    assert [automaton.accepts(spell(bound + i)) for i in (-1, 0, 2, 3)] == [False, True, True, False]


@given(st.integers(), st.integers(), st.lists(st.integers(), max_size=8))
def test_T13_integers_within_random_bounds(low: int, high: int, numbers: list[int]) -> None:
    automaton = from_tree(integers(low, high))
    assert automaton.is_empty() == (low > high)
    for number in [*numbers, low - 1, low, low + 1, high - 1, high, high + 1]:
        assert automaton.accepts(str(number).encode()) == (low <= number <= high)


@pytest.mark.parametrize("divisor", [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 25, 30, 32, 100, 125, 1000])
def test_multiples_of_integers(divisor: int) -> None:
    node = multiples(divisor)
    assert node is not None
    automaton = from_tree(node)
    for number in range(-3100, 3100):
        assert automaton.accepts(b"%d" % number) == (number % divisor == 0), number
    assert not any(map(automaton.accepts, NOT_INTEGERS))


@pytest.mark.parametrize(
    ("divisor", "low", "high"), [(7, -50, 60), (9, 0, 100), (3, 5, 50), (3, 1, None), (10, None, 95)]
)
def test_multiples_within_bounds(divisor: int, low: int | None, high: int | None) -> None:
    node = multiples(divisor, low, high)
    assert node is not None
    automaton = from_tree(node)
    for number in range(-200, 200):
        fits = (low is None or number >= low) and (high is None or number <= high)
        assert automaton.accepts(b"%d" % number) == (fits and number % divisor == 0), number


@pytest.mark.parametrize("divisor", [7, 9, 11, 13, 27, 64, 2**40, 10**30])
def test_multiples_that_need_many_states_are_not_attempted(divisor: int) -> None:
    assert multiples(divisor) is None


SHORT_DECIMALS = [
    sign + whole + fraction
    for sign in ("", "-")
    for whole in ("0", "1", "2", "3", "12", "13", "100", "101")
    for fraction in ("", *("." + "".join(digits) for count in (1, 2, 3) for digits in product("012567", repeat=count)))
]


DECIMAL_BOUNDS: list[tuple[str | None, str | None]] = [
    ("0", "1"),
    ("0.25", "0.5"),
    ("-1.5", "2.25"),
    ("1.05", "1.07"),
    ("0.001", None),
    (None, "-0.3"),
    ("12.5", "13"),
    ("3", "3"),
    ("0.1", "0.1"),
    ("-100", "-12.25"),
    ("2", "1"),
    (None, None),
    ("1e2", None),
    (None, "1.01e2"),
]


@pytest.mark.parametrize(("low", "high"), DECIMAL_BOUNDS)
def test_T14_decimals_are_exactly_those_in_the_range(low: str | None, high: str | None) -> None:
    least, most = (None if bound is None else Decimal(bound) for bound in (low, high))
    automaton = from_tree(decimals(least, most))
    for spelling in SHORT_DECIMALS:
        value = Decimal(spelling)
        expected = (least is None or value >= least) and (most is None or value <= most)
        if not value and spelling.startswith("-"):
            # A zero with a minus stands on the negative side.
            expected = expected and (least is None or least < 0)
        assert automaton.accepts(spelling.encode()) == expected, spelling
    assert not any(map(automaton.accepts, [b"", b"-", b".5", b"1.", b"01", b"1e1", b"+1", b"1.5.1", b"00.5"]))


@given(st.decimals(-1000, 1000, places=6), st.decimals(-1000, 1000, places=6), st.data())
def test_T14_decimals_within_random_bounds(one: Decimal, two: Decimal, data: st.DataObject) -> None:
    low, high = sorted((one, two))
    automaton = from_tree(decimals(low, high))
    for value in data.draw(st.lists(st.decimals(low - 1, high + 1, places=8), min_size=1, max_size=8)):
        if value:
            assert automaton.accepts(f"{value:f}".encode()) == (low <= value <= high)


def test_T14_decimals_have_a_bounded_number_of_places() -> None:
    automaton = from_tree(decimals(Decimal(0), Decimal(1)))
    assert automaton.accepts(b"0." + b"1" * FRACTION_DIGITS)
    assert not automaton.accepts(b"0." + b"1" * (FRACTION_DIGITS + 1))


@pytest.mark.parametrize("bound", ["1", "0.1", "-3.5", "1e10", "123456789.125", "0.30000000000000004"])
@pytest.mark.parametrize("upward", [True, False])
def test_the_neighbor_of_a_bound_is_the_next_double(bound: str, upward: bool) -> None:
    exact = float(Decimal(bound))
    assert float(neighbor(Decimal(bound), upward)) == math.nextafter(exact, math.inf if upward else -math.inf)


def test_the_neighbor_of_a_bound_between_doubles_is_the_next_double() -> None:
    bound = Decimal("0.1000000000000000001")
    assert float(neighbor(bound, upward=False)) == 0.1
    assert float(neighbor(bound, upward=True)) > 0.1


def test_an_exclusive_bound_holds_after_reading() -> None:
    automaton = from_tree(decimals(neighbor(Decimal(0), upward=True), neighbor(Decimal(1), upward=False)))
    assert float("0.99999999999999999") == 1.0
    assert not automaton.accepts(b"0.99999999999999999")
    assert automaton.accepts(repr(math.nextafter(1.0, 0)).encode())
    assert not automaton.accepts(b"0.0")
    assert automaton.accepts(b"0.0000000001")


@pytest.mark.parametrize("step", ["0.5", "0.25", "0.01", "0.1", "2", "3", "1"])
def test_multiples_of_decimals(step: str) -> None:
    node = decimal_multiples(Decimal(step))
    assert node is not None
    automaton = from_tree(node)
    for spelling in SHORT_DECIMALS:
        assert automaton.accepts(spelling.encode()) == (Decimal(spelling) % Decimal(step) == 0), spelling


@pytest.mark.parametrize("step", ["0.3", "7", "1.5", "0.00001"])
def test_multiples_of_decimals_without_a_tree(step: str) -> None:
    assert decimal_multiples(Decimal(step)) is None


@pytest.fixture(scope="module")
def all_floats() -> Automaton:
    return from_tree(floats())


def test_T14_every_finite_double_is_a_float(all_floats: Automaton) -> None:
    source = random.Random(7)
    samples = [struct.unpack("d", source.randbytes(8))[0] for _ in range(20_000)]
    samples += [0.0, -0.0, 5e-324, 1.7976931348623157e308, -1.7976931348623157e308, 1e22, 1e21, 1e-5]
    samples += [round(source.uniform(-1e6, 1e6), source.randrange(8)) for _ in range(2_000)]
    for value in samples:
        if math.isfinite(value):
            assert all_floats.accepts(json.dumps(value).encode()), value


@given(st.from_regex(r"-?[0-9]{1,30}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,4})?", fullmatch=True))
def test_T14_no_spelling_of_a_float_overflows(all_floats: Automaton, spelling: str) -> None:
    if all_floats.accepts(spelling.encode()):
        assert math.isfinite(json.loads(spelling))


@pytest.mark.parametrize(
    "spelling",
    [
        "1e309",
        "1.7976931348623159e308",
        "1e400",
        "2e308",
        "10e308",
        "01",
        "1.",
        ".5",
        "1e",
        "1e+",
        "+1",
        "NaN",
        "-Infinity",
    ],
)
def test_T14_non_finite_floats_are_refused(all_floats: Automaton, spelling: str) -> None:
    assert not all_floats.accepts(spelling.encode())


@pytest.mark.parametrize("spelling", ["0", "-0", "1E5", "1e+05", "12e-3", "5e-324", "1.7976931348623157e308", "0.1e1"])
def test_T14_signs_points_and_exponents(all_floats: Automaton, spelling: str) -> None:
    assert all_floats.accepts(spelling.encode())


def test_T14_capped_floats() -> None:
    automaton = from_tree(floats(max_digits=3))
    assert automaton.accepts(b"123.456")
    assert not automaton.accepts(b"1234")
    assert not automaton.accepts(b"0.1234")


@pytest.mark.parametrize("bound", [10**5_000, Decimal("1e999999999"), Decimal("1e-999999999")], ids=type)
def test_numbers_of_millions_of_digits_are_refused(bound: int | Decimal) -> None:
    """Before they are computed with, which would take for ever."""
    with pytest.raises(SchemaError, match="a number may have at most 4,000 digits"):
        exact_number(bound, "", "minimum")


@pytest.mark.parametrize("max_digits", [4_001, 2**31, 10**5_000], ids=int.bit_length)
def test_digits_are_at_most_four_thousand(max_digits: int) -> None:
    definition = {"name": "f", "parameters": {"type": "object", "properties": {"x": {"type": "integer"}}}}
    with pytest.raises(ValueError, match="max_digits must be an integer from 1 to 4,000"):
        Tools([definition], max_digits=max_digits)
