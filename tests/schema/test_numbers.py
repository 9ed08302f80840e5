"""Numbers as automata, against arithmetic on texts."""

import contextlib
import itertools
import json
import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from math import lcm
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guided.automata.automaton import Automaton
from guided.automata.build import from_tree
from guided.errors import LimitError, SchemaError
from guided.limits import Limits
from guided.patterns.parse import parse
from guided.schema.formula.atoms import JsonOptions
from guided.schema.formula.formulas import FALSE, TRUE, Formulas
from guided.schema.numbers.automaton import number_automaton
from guided.schema.numbers.counting import enumerate_numbers
from guided.schema.strings.labeled import Labeled
from guided.schema.values.leaves import quick_satisfiable_number
from tests.profiles import examples
from tests.schema.engine import compiled
from tests.schema.keywords.test_names import read_or_refused
from tests.schema.oracle_text import is_text

PLAIN, ANY = JsonOptions(numbers="plain"), JsonOptions(numbers="any")
BOTH = pytest.mark.parametrize("options", [PLAIN, ANY], ids=["plain", "any"])
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
# Nearer to each bound than another.
NEAR = Fraction(1, 10**1000)
PREFIX = re.compile(r"(-?((0|[1-9][0-9]*)(\.([0-9]+([eE]([+-]?[0-9]*)?)?)?|[eE]([+-]?[0-9]*)?)?)?)?")


# ------------------------------------------------------------------------------------------------------------ oracle


def value_of(text: str) -> Fraction:
    mantissa, exponent, *_ = [*re.split("[eE]", text), "0"]
    return Fraction(mantissa) * Fraction(10) ** int(exponent)


def holds(formulas: Formulas, formula: int, text: str, by_text: bool = False) -> bool:
    """The definition; ``by_text``: every integer is one by its text."""
    kind, *rest = formulas.nodes[formula]
    value, whole = value_of(text), not re.search("[.eE]", text)
    match kind:
        case "F" | "T":
            return kind == "T"
        case "!":
            return not holds(formulas, rest[0], text, by_text)
        case "&" | "|" | "1":
            count = [holds(formulas, member, text, by_text) for member in rest[0]]
            return all(count) if kind == "&" else any(count) if kind == "|" else sum(count) == 1
        case "integer":
            return whole if rest[0] or by_text else value.denominator == 1
        case "multipleOf":
            return (value / rest[0]).denominator == 1
    return holds_at(kind, rest, value)


def base_of(divisor: Fraction) -> int:
    """How many remainders the digits of numbers have by a divisor, powers of ten aside."""
    scaled = divisor * 10 ** (divisor.denominator.bit_length())
    base = scaled.numerator
    while base % 10 == 0:
        base //= 10
    return base


def is_left_out(formulas: Formulas, wanted: list[int], text: str) -> bool:
    """The narrowing under "any", as `guided.schema.numbers.automaton` words it."""
    if not re.search("[eE]", text):
        return False
    atoms = {atom for formula in wanted for atom in formulas.atoms(formula)}
    divides = any(atom[0] == "multipleOf" or atom == ("integer", False) for atom in atoms)
    negative = text[0] == "-"
    bounds = [atom[1] for atom in atoms if atom[0] in ("minimum", "maximum", "equals")]
    if not divides and not any(bound and (bound < 0) == negative for bound in bounds):
        return False
    mantissa = re.split("[eE]", text)[0].lstrip("-")
    digits = mantissa.replace(".", "")
    if not digits.strip("0"):
        return False
    if not re.match(r"[1-9](\.|$)", mantissa):
        return True
    remainders = lcm(*(base_of(atom[1]) for atom in atoms if atom[0] == "multipleOf"))
    longest = max(1, min(17, 4096 // remainders))
    return divides and (len(digits) > longest or (len(digits) > 1 and digits[-1] == "0" and mantissa[1:] != ".0"))


def has_needless_zero(formulas: Formulas, wanted: list[int], text: str) -> bool:
    """Whether it is a number with a 0 at the end of its fraction, after another digit, and no number nearby may satisfy the formula."""
    atoms = {atom for formula in wanted for atom in formulas.atoms(formula)}
    if not re.search(r"\.\d+0$", text) or ("integer", True) in atoms:
        return False
    value = value_of(text)
    near = (value - NEAR, value + NEAR)
    return not any(may_hold(formulas, wanted[0], each, whole)[0] for each in near for whole in (False, True))


def may_hold(formulas: Formulas, formula: int, value: Fraction, whole: bool) -> tuple[bool, bool]:
    """Whether it may be true and may be false, if any number may be a multiple."""
    kind, *rest = formulas.nodes[formula]
    if kind in ("integer", "multipleOf"):
        return (True, True) if kind == "multipleOf" else (whole, not whole)
    if kind == "!":
        return may_hold(formulas, rest[0], value, whole)[::-1]
    if kind in ("&", "|", "1"):
        pairs = [may_hold(formulas, member, value, whole) for member in rest[0]]
        surely = sum(not false for _, false in pairs)
        if kind == "1":
            possibly = sum(true for true, _ in pairs)
            return possibly > 0, possibly != 1 or surely != 1
        ways = list(zip(*pairs, strict=True))
        return (all(ways[0]), any(ways[1])) if kind == "&" else (any(ways[0]), all(ways[1]))
    truth = kind == "T" or (kind != "F" and holds_at(kind, rest, value))
    return truth, not truth


def holds_at(kind: str, rest: list[Any], value: Fraction) -> bool:
    match kind:
        case "minimum":
            return bool(value > rest[0] if rest[1] else value >= rest[0])
        case "maximum":
            return bool(value < rest[0] if rest[1] else value <= rest[0])
    return bool(value == rest[0])


def expected(formulas: Formulas, wanted: list[int], text: str, options: JsonOptions) -> int | None:
    """The bits of the observed formulas, or None if the text is no member."""
    if NUMBER.fullmatch(text) is None:
        return None
    truths = [holds(formulas, formula, text) for formula in wanted]
    if options.numbers == "any" and is_left_out(formulas, wanted, text):
        return None
    if options.numbers == "plain" and (
        re.search("[eE]", text)
        or has_needless_zero(formulas, wanted, text)
        or truths != [holds(formulas, formula, text, by_text=True) for formula in wanted]
    ):
        return None
    return sum(truth << i for i, truth in enumerate(truths[1:])) if truths[0] else None


def found(leaf: Labeled, text: str) -> int | None:
    state = leaf.automaton.run(text.encode())
    if state < 0 or not leaf.automaton.accepting[state]:
        return None
    return leaf.bits(int(leaf.automaton.labels[state]))


def check(formulas: Formulas, wanted: list[int], texts: Iterator[str] | list[str], options: JsonOptions) -> None:
    leaf = number_automaton(formulas, wanted, options, Limits())
    for text in texts:
        assert found(leaf, text) == expected(formulas, wanted, text, options), (text, options.numbers)
    automaton = leaf.automaton
    if not automaton.is_empty():
        assert (automaton.distances() >= 0).all(), "every state is live"
    assert not automaton.labels[~automaton.accepting].any()


def short_texts(length: int, alphabet: str = "0159.eE+-") -> list[str]:
    """All texts that begin numbers, each with what it could not go on with."""
    texts, level = [], [""]
    for _ in range(length):
        level = [text + char for text in level if PREFIX.fullmatch(text) for char in alphabet]
        texts += level
    return texts


SHORT = short_texts(5)


class Writer:
    """Formulas by their names, of one table."""

    def __init__(self) -> None:
        self.formulas = Formulas()
        self.integer = self.formulas.atom(("integer", False))
        self.whole_text = self.formulas.atom(("integer", True))

    def least(self, bound: object, exclusive: bool = False) -> int:
        return self.formulas.atom(("minimum", Fraction(bound), exclusive))  # type: ignore[arg-type]

    def most(self, bound: object, exclusive: bool = False) -> int:
        return self.formulas.atom(("maximum", Fraction(bound), exclusive))  # type: ignore[arg-type]

    def multiple(self, divisor: object) -> int:
        return self.formulas.atom(("multipleOf", Fraction(divisor)))  # type: ignore[arg-type]

    def equal(self, number: object) -> int:
        return self.formulas.atom(("equals", Fraction(number)))  # type: ignore[arg-type]

    def all(self, *members: int) -> int:
        return self.formulas.conjunction(members)

    def any(self, *members: int) -> int:
        return self.formulas.disjunction(members)

    def no(self, member: int) -> int:
        return self.formulas.negation(member)

    def leaf(self, must: int, *observed: int, options: JsonOptions = PLAIN, limits: Limits | None = None) -> Labeled:
        return number_automaton(self.formulas, [must, *observed], options, limits or Limits())

    def accepts(self, text: str, must: int, options: JsonOptions) -> bool:
        return self.leaf(must, options=options).automaton.accepts(text.encode())


@pytest.fixture
def w() -> Writer:
    return Writer()


def regular(pattern: str) -> Automaton:
    return from_tree(parse(pattern))


# ------------------------------------------------------------------------------------------------- against the oracle


def conditions(w: Writer) -> dict[str, list[int]]:
    return {
        "number": [TRUE],
        "integer": [w.integer],
        "no integer": [w.no(w.integer)],
        "whole text": [w.whole_text],
        "integer, not by its text": [w.all(w.integer, w.no(w.whole_text))],
        "from 0": [w.least(0)],
        "above 0": [w.least(0, True)],
        "to 0": [w.most(0)],
        "below 0": [w.most(0, True)],
        "zero": [w.equal(0)],
        "anything but zero": [w.no(w.equal(0))],
        "range": [w.all(w.least("-9.5"), w.most(15, True))],
        "integers of a range": [w.all(w.integer, w.least(-10), w.most(159))],
        "a hair": [w.all(w.least("0.05", True), w.most("0.0501", True))],
        "third": [w.most(Fraction(1, 3))],
        "multiples of 5": [w.multiple(5)],
        "multiples of 0.5": [w.multiple("0.5")],
        "multiples of 0.15": [w.multiple("0.15")],
        "multiples of 100": [w.multiple(100)],
        "multiples of 1": [w.multiple(1)],
        "multiples of 3/7": [w.multiple(Fraction(3, 7))],
        "multiples of 1.5 from 15": [w.all(w.multiple("1.5"), w.least(15))],
        "enumeration": [w.any(w.equal(1), w.equal("0.9"), w.equal(-500), w.equal("1e5"))],
        "one of": [w.formulas.exactly_one([w.integer, w.least(5), w.multiple("0.5")])],
        "labels": [TRUE, w.integer, w.least(1), w.multiple(5)],
        "labels of some": [w.least(0), w.most(9), w.no(w.integer)],
        "nothing": [w.all(w.least(5), w.most(1))],
    }


@pytest.mark.exhaustive
@BOTH
@pytest.mark.parametrize("name", conditions(Writer()))
def test_all_short_texts(w: Writer, name: str, options: JsonOptions) -> None:
    check(w.formulas, conditions(w)[name], SHORT, options)


BOUNDS = [
    "0",
    "1",
    "-1",
    "5",
    "0.5",
    "-0.5",
    "10",
    "15",
    "100",
    "-19",
    "1.5",
    "0.05",
    "9.1",
    "1000",
    "99.95",
    "1e5",
    "1e-3",
]
DIVISORS = ["1", "2", "5", "0.5", "0.1", "3", "7", "10", "100", "2.5", "0.01", "15", "0.25", "0.15", "1/3", "5/7", "12"]


def atoms(w: Writer) -> st.SearchStrategy[int]:
    bound = st.sampled_from([*map(Fraction, BOUNDS), Fraction(1, 3), Fraction(-22, 7)])
    return st.one_of(
        st.sampled_from([w.integer, w.whole_text]),
        st.builds(w.least, bound, st.booleans()),
        st.builds(w.most, bound, st.booleans()),
        st.builds(w.equal, bound),
        st.sampled_from(DIVISORS).map(w.multiple),
    )


def formulas_of(w: Writer) -> st.SearchStrategy[int]:
    def larger(smaller: st.SearchStrategy[int]) -> st.SearchStrategy[int]:
        members = st.lists(smaller, min_size=2, max_size=3)
        return st.one_of(
            smaller.map(w.no),
            members.map(w.formulas.conjunction),
            members.map(w.formulas.disjunction),
            members.map(w.formulas.exactly_one),
        )

    return st.recursive(atoms(w), larger, max_leaves=5)


DIGITS = st.text("0123456789", min_size=1, max_size=4)


@st.composite
def number_texts(draw: st.DrawFn) -> str:
    """Texts of numbers, many of them near the bounds above."""
    kind = draw(st.integers(0, 3))
    if kind == 0:
        return repr(draw(st.floats(allow_nan=False, allow_infinity=False)))
    if kind == 1:
        bound = Decimal(draw(st.sampled_from(BOUNDS)))
        near = bound + draw(st.integers(-1, 1)) * Decimal(10) ** draw(st.integers(-4, 1))
        return draw(st.sampled_from([f"{near:f}", f"{near:e}", f"{near:.3e}", f"{near:E}", f"{near:f}0"]))
    whole = draw(DIGITS).lstrip("0") or "0"
    return (
        draw(st.sampled_from(["", "-"]))
        + whole
        + draw(st.one_of(st.just(""), DIGITS.map(".{}".format)))
        + draw(st.one_of(st.just(""), st.tuples(st.sampled_from(["e", "E-", "e+", "e00"]), DIGITS).map("".join)))
    )


@settings(max_examples=examples(80))
@given(st.data())
def test_random_formulas(data: st.DataObject) -> None:
    w = Writer()
    wanted = data.draw(st.lists(formulas_of(w), min_size=1, max_size=3))
    texts = [text for text in data.draw(st.lists(number_texts(), min_size=20, max_size=40)) if NUMBER.fullmatch(text)]
    for options in (PLAIN, ANY):
        check(w.formulas, wanted, texts, options)


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(st.decimals(allow_nan=False, allow_infinity=False, places=6) | st.integers(-(10**30), 10**30).map(Decimal))
def test_the_neighbours_of_a_bound(bound: Decimal) -> None:
    w = Writer()
    exact = Fraction(bound)
    texts = []
    for step in (0, 1, -1):
        number = exact + Fraction(step, 10**7)
        written = f"{Decimal(number.numerator * 10**7 // number.denominator).scaleb(-7):.7f}"
        texts += [written, written + "0", written.rstrip("0").rstrip(".") or "0"]
        digits = str(abs(int(number * 10**7)))
        if number:
            texts.append(f"{'-' * (number < 0)}{digits[0]}.{digits[1:] or '0'}e{len(digits) - 8}")
    for options in (PLAIN, ANY):
        for exclusive in (False, True):
            for formula in (w.least(exact, exclusive), w.most(exact, exclusive), w.equal(exact)):
                check(w.formulas, [formula, w.integer], texts, options)


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers())
def test_T14_every_repr_is_a_spelling(number: float, whole: int) -> None:
    w = Writer()
    followed = [w.integer, w.least(7), w.multiple("0.5"), w.most(-3), w.equal("2.5"), w.multiple(7)]
    for wanted in ([TRUE, *followed], [w.all(w.least(-(10**400)), w.most(10**400)), followed[0]]):
        leaf = number_automaton(w.formulas, wanted, ANY, Limits())
        for text in (repr(number), repr(whole)):
            assert found(leaf, text) is not None, text


@pytest.mark.parametrize(
    "text", ["1e-07", "1.7976931348623157e+308", "5e-324", "2.2250738585072014e-308", "1e+16", "-1.5e+300"]
)
def test_extreme_floats(w: Writer, text: str) -> None:
    value = value_of(text)
    for must in (w.least(value), w.most(value), w.equal(value), w.all(w.least(value), w.most(value))):
        assert w.accepts(text, must, ANY)
    assert not w.accepts(text, w.least(value, True), ANY)
    assert not w.accepts(text, w.no(w.equal(value)), ANY)
    assert w.accepts(text, w.integer, ANY) == (value.denominator == 1)


# ------------------------------------------------------------------------------------------------------------ options


def test_unconstrained_numbers_are_all_numbers(w: Writer) -> None:
    assert w.leaf(TRUE, options=ANY).automaton == regular(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
    assert w.leaf(TRUE).automaton == regular(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
    assert w.leaf(FALSE).automaton.is_empty()


@BOTH
def test_integers_by_their_text_are_not_narrowed(w: Writer, options: JsonOptions) -> None:
    assert w.leaf(w.whole_text, options=options).automaton == regular("-?(0|[1-9][0-9]*)")


def test_a_sign_alone_narrows_nothing(w: Writer) -> None:
    number = r"(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?"
    zero = r"-0(\.0+)?([eE][+-]?[0-9]+)?"
    assert w.leaf(w.least(0), options=ANY).automaton == regular(f"{number}|{zero}")
    assert w.leaf(w.no(w.least(0)), options=ANY).automaton == regular(f"-{number}") - regular(zero)


def test_plain_integers_have_no_point(w: Writer) -> None:
    assert w.leaf(w.integer).automaton == regular("-?(0|[1-9][0-9]*)")
    assert w.accepts("1.0", w.integer, ANY)
    assert w.accepts("1.50", w.least(1), PLAIN)
    assert w.accepts("1.0", w.equal(1), PLAIN)
    assert not w.accepts("1.00", w.equal(1), PLAIN)
    assert not w.accepts("1.50", w.equal(1.5), PLAIN)
    assert w.accepts("1.0", w.any(w.equal(1), w.equal("1.05")), PLAIN)
    assert not w.accepts("1.00", w.any(w.equal(1), w.equal("1.05")), PLAIN)
    assert w.accepts("1.05", w.any(w.equal(1), w.equal("1.05")), PLAIN)
    assert w.accepts("1.0", w.any(w.equal(1), w.least(1)), PLAIN)
    # Its value is an integer, so it is not what the negation means; as an integer it is spelled 1.
    assert not w.accepts("1.0", w.no(w.integer), PLAIN)
    assert not w.accepts("1.0", w.formulas.exactly_one([w.integer, w.least(0)]), PLAIN)
    assert w.accepts("1.0", w.any(w.integer, w.least(0)), PLAIN)
    assert w.accepts("1.0", w.multiple(1), PLAIN)


def test_drafts_3_and_4_read_the_text(w: Writer) -> None:
    for options in (PLAIN, ANY):
        assert not w.accepts("1.0", w.whole_text, options)
        assert w.accepts("1.0", w.no(w.whole_text), options)
    assert w.accepts("1e2", w.no(w.whole_text), ANY)


def test_observed_integers_have_the_right_valuation(w: Writer) -> None:
    leaf = w.leaf(w.least(0), w.integer)
    assert found(leaf, "1") == 1
    assert found(leaf, "1.5") == 0
    assert found(leaf, "1.0") is None
    assert found(w.leaf(w.least(0), w.integer, options=ANY), "1.0") == 1


@BOTH
def test_minus_zero_is_zero(w: Writer, options: JsonOptions) -> None:
    for text in ("-0", "-0.0"):
        assert w.accepts(text, w.least(0), options)
        assert w.accepts(text, w.equal(0), options)
        assert w.accepts(text, w.multiple(7), options)
        assert not w.accepts(text, w.least(0, True), options)
        assert not w.accepts(text, w.most(0, True), options)


def test_exponents_count_by_value(w: Writer) -> None:
    for text in ("1e2", "1.5e1", "1.0", "1E400", "1.0e5", "0e-5", "0.00e7", "1e00002", "1.25e+0002"):
        assert w.accepts(text, w.integer, ANY), text
    for text in ("1e-1", "1.55e1", "1.5", "1e-400", "1.0e-1"):
        assert not w.accepts(text, w.integer, ANY), text
        assert w.accepts(text, w.no(w.integer), ANY), text
    assert w.accepts("1e400", w.least(10**400), ANY)
    assert not w.accepts("9.999e399", w.least(10**400), ANY)
    assert w.accepts("1e99999999999999999999", w.least(10**400), ANY)
    assert w.accepts("1e-99999999999999999999", w.all(w.least(0, True), w.most("1e-300")), ANY)
    assert w.accepts("3e+16", w.multiple(10**16), ANY)
    assert not w.accepts("3e+15", w.multiple(10**16), ANY)
    assert w.accepts("1.4e1", w.multiple(7), ANY)
    assert w.accepts("7.5e-07", w.multiple("2.5e-8"), ANY)


def test_numbers_excluded_from_mantissas(w: Writer) -> None:
    for text in ("15e1", "0.5e1", "10e-1"):
        assert w.accepts(text, TRUE, ANY)
        for must in (w.least(5), w.integer, w.multiple(5)):
            assert found(w.leaf(TRUE, must, options=ANY), text) is None
    assert w.accepts("2.50E+3", w.least(7), ANY)
    assert not w.accepts("2.50E+3", w.integer, ANY)
    assert w.accepts("2.5000000000000001e+30", w.integer, ANY)
    assert not w.accepts("2.50000000000000001e+30", w.integer, ANY)
    # A divisor with many remainders has shorter mantissas; whole numbers and points are as before.
    leaf = w.leaf(TRUE, w.multiple(997), options=ANY)
    assert [found(leaf, text) for text in ("9.97e2", "9.973e3", "9.97312e3", "997000000000000.0")] == [1, 0, None, 1]


def test_plain_spelling_excludes_no_value(w: Writer) -> None:
    for must in conditions(w).values():
        plain, anything = (number_automaton(w.formulas, must, options, Limits()).automaton for options in (PLAIN, ANY))
        if not any(atom == ("integer", False) for formula in must for atom in w.formulas.atoms(formula)):
            assert len(must) > 1 or (plain - anything).is_empty()


# ------------------------------------------------------------------------------------------------------ canonical form


@BOTH
def test_equal_formulas_have_equal_automata(w: Writer, options: JsonOptions) -> None:
    pairs = [
        (w.any(w.least(3), w.least(5)), w.least(3)),
        (w.no(w.least(3)), w.most(3, True)),
        (w.all(w.least(3), w.most(3)), w.equal(3)),
        (w.no(w.any(w.most(2, True), w.least(4, True))), w.all(w.least(2), w.most(4))),
        (w.all(w.multiple(2), w.multiple(3)), w.multiple(6)),
        (w.all(w.integer, w.least("0.5"), w.most("3.5")), w.all(w.integer, w.least(1), w.most(3))),
    ]
    for left, right in pairs[: None if options is PLAIN else 5]:
        assert w.leaf(left, options=options).automaton == w.leaf(right, options=options).automaton
    divided = w.all(w.multiple(1), w.multiple(Fraction(1, 3)))
    assert w.leaf(divided, options=options).automaton == w.leaf(w.multiple(1), options=options).automaton


def test_more_observed_than_bits_have_vectors(w: Writer) -> None:
    observed = [w.least(i) for i in range(30)]
    leaf = w.leaf(w.least(0), *observed)
    assert leaf.vectors
    for text in ("0", "7", "7.5", "29", "1000"):
        bits = found(leaf, text)
        assert bits == sum((value_of(text) >= i) << i for i in range(30))
    assert found(leaf, "-1") is None
    assert w.leaf(w.least(0), *observed[:20]).vectors == ()


def test_schemas_share_automata() -> None:
    one, other = Writer(), Writer()
    other.equal(77)
    bounds = other.most(12), other.least(3)
    assert one.leaf(one.all(one.integer, one.least(3), one.most(12))) is other.leaf(other.all(*bounds, other.integer))


@BOTH
def test_remainders_of_many_divisors(w: Writer, options: JsonOptions) -> None:
    divisors = 3, 5, 7, 8, 11, 24
    wanted = [w.all(w.least(1), w.formulas.exactly_one([w.multiple(divisor) for divisor in divisors]))]
    check(w.formulas, wanted, [*map(str, range(2000)), "9240", "9249", "92403", "-33", "33.0", "3.3"], options)


def test_remainders_of_many_divisors_are_limited(w: Writer) -> None:
    many = w.all(*(w.multiple(prime) for prime in (3, 7, 11, 13)))
    with pytest.raises(LimitError) as caught:
        w.leaf(many, limits=Limits(states=3000))
    assert (caught.value.what, caught.value.limit) == ("states", 3000)
    with pytest.raises(LimitError) as caught:
        w.leaf(many, limits=Limits(transitions=30_000))
    assert (caught.value.what, caught.value.limit) == ("transitions", 30_000)
    assert found(w.leaf(many, limits=Limits(states=4000)), "3003") == 0


# -------------------------------------------------------------------------------------------------------------- budgets


def test_long_bounds(w: Writer) -> None:
    for options in (PLAIN, ANY):
        leaf = w.leaf(w.most(10**400, True), options=options)
        assert found(leaf, "9" * 400) == 0
        assert found(leaf, "1" + "0" * 400) is None
        assert leaf.automaton.n_states < 1000
    tiny = w.least(Fraction(3, 10**300))
    assert w.accepts("0." + "0" * 299 + "3", tiny, PLAIN)
    assert not w.accepts("0." + "0" * 299 + "2" + "9" * 50, tiny, PLAIN)
    assert w.accepts("3" + "0" * 308, w.multiple(10**308), PLAIN)
    assert not w.accepts("3" + "0" * 307, w.multiple(10**308), PLAIN)


@BOTH
def test_enumerations_of_many_numbers(w: Writer, options: JsonOptions) -> None:
    leaf = w.leaf(w.any(*(w.equal(3 * i) for i in range(1000))), options=options)
    for number in (0, 3, 999, 2997, 1, 1000, 3000):
        assert (found(leaf, str(number)) == 0) == (number % 3 == 0 and number < 3000)


def test_a_long_gap_that_bounds_exclude_is_not_enumerated(w: Writer) -> None:
    """Numbers from 0 to 10**11 in steps of 1/10000; below 0, as many are within the other bounds."""
    box = (w.multiple(Fraction(1, 10**4)), w.least(-(10**11), True), w.most(10**11, True))
    spent: list[int] = []
    assert enumerate_numbers(w.formulas, w.all(w.least(0), *box), 100, spent.append) is None
    assert sum(spent) < 10_000
    assert enumerate_numbers(w.formulas, w.all(w.most(-1), w.least(0), *box), 100, spent.append) == ()


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize(
    "hostile",
    [
        lambda w: w.multiple(1_000_003),
        lambda w: w.multiple(10**400 + 1),
        lambda w: w.multiple(5**4000),
        lambda w: w.multiple(2**9000),
        lambda w: w.all(*(w.multiple(prime) for prime in (3, 7, 11, 13, 17, 19))),
        lambda w: w.least(Fraction(1, 99_991)),
        lambda w: w.all(w.least(-(10**10000) + 3), w.most(10**10000 - 7), w.multiple(7)),
        lambda w: w.any(*(w.all(w.least(7**i), w.most(7**i + 5**i)) for i in range(300, 500))),
    ],
)
def test_specs_beyond_the_limits_are_refused(w: Writer, hostile, options: JsonOptions) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(LimitError) as caught:
        w.leaf(hostile(w), options=options)
    assert (caught.value.what, caught.value.limit) == ("steps", Limits().steps)


def test_limits_of_the_caller(w: Writer) -> None:
    long = w.most(10**50)
    with pytest.raises(LimitError) as caught:
        w.leaf(long, limits=Limits(states=20))
    assert (caught.value.what, caught.value.given, caught.value.limit) == ("states", 21, 20)
    with pytest.raises(LimitError) as caught:
        w.leaf(long, limits=Limits(transitions=200))
    assert caught.value.what == "transitions"
    with pytest.raises(LimitError) as caught:
        w.leaf(long, limits=Limits(steps=1000))
    assert caught.value.what == "steps"
    with pytest.raises(LimitError) as caught:
        w.leaf(w.any(*(w.equal(i) for i in range(20_001))), limits=Limits(steps=20_000_000))
    assert caught.value.what == "steps"


@pytest.mark.parametrize("numbers", ["plain", "any"])
@pytest.mark.parametrize("keyword", ["oneOf", "anyOf", "allOf"])
def test_bounds_that_leave_nothing_of_a_side(keyword: str, numbers: str) -> None:
    texts = ["0", "-0", "-0.5", "0.5", "1", "-1", "1.5", "-1.5", "2", "-2", "3", "-7", "9", "1e1", "-1e-1"]
    for low, high in itertools.product((-1, 0, 1), repeat=2):
        bounds = {keyword: [{"minimum": low}, {"maximum": high}]}
        for schema in ({"type": "number", **bounds}, {"type": "number", "not": bounds}):
            index = None
            with contextlib.suppress(SchemaError):
                index = compiled(schema, numbers=numbers)
            for text in texts:
                expected = is_text(schema, text.encode(), JsonOptions(numbers=numbers))
                assert (index is not None and index.accepts(text.encode())) == expected, (schema, text)


@given(st.data())
def test_numbers_that_are_sure_to_be_there_are(data: st.DataObject) -> None:
    w = Writer()
    bound = st.sampled_from([*map(Fraction, BOUNDS), Fraction(1, 3), Fraction(-22, 7)])
    atom = st.one_of(
        st.just(w.integer),
        st.builds(w.least, bound, st.booleans()),
        st.builds(w.most, bound, st.booleans()),
        st.sampled_from(DIVISORS).map(w.multiple),
        st.sampled_from(BOUNDS).map(w.equal),
    )
    formula = w.formulas.conjunction(data.draw(st.lists(atom, min_size=1, max_size=4)))
    atoms = [w.formulas.nodes[member] for member in w.formulas.members[formula]]
    if quick_satisfiable_number(atoms):
        assert not w.leaf(formula, options=data.draw(st.sampled_from([PLAIN, ANY]))).automaton.is_empty()


@pytest.mark.parametrize(
    ("least", "most", "divisor", "is_there"),
    [
        ("0.5", "1.5", "1", True),
        ("1", "2", "1", False),
        ("0", "100", "0.01", True),
        ("0.1", "0.9", "1/3", True),
        ("1", "99", "100", False),
    ],
)
def test_multiples_between_bounds(w: Writer, least: str, most: str, divisor: str, is_there: bool) -> None:
    formula = w.all(w.least(least), w.most(most), w.multiple(divisor))
    assert quick_satisfiable_number([w.formulas.nodes[member] for member in w.formulas.members[formula]]) == is_there


EXPONENTS = [
    "3e0",
    "30e-1",
    "0.3e1",
    "300e-2",
    "3.0e0",
    "0.03E+2",
    "25e2",
    "2.5e3",
    "250e1",
    "5e-1",
    "50e-2",
    "0e5",
    "0.0e-3",
    "-30e-1",
    "12e0",
]


@pytest.mark.parametrize(
    ("schema", "is_noted"),
    [
        (True, False), ({"type": "number"}, False), ({"type": ["integer", "number"]}, False), ({"type": "string", "const": "1"}, False),
        ({"minimum": 0}, False), ({"exclusiveMaximum": 0}, False), ({"const": 0}, False), ({"enum": [None, False, "a", [], 0.0]}, False),
        ({"type": "integer"}, True), ({"type": ["integer", "null"]}, True), ({"minimum": 1}, True), ({"exclusiveMaximum": -0.5}, True),
        ({"multipleOf": 0.5}, True), ({"const": 3}, True), ({"enum": ["a", [{"b": 3}]]}, True), ({"not": {"maximum": 2}}, True),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer"}, False),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 2, "exclusiveMinimum": True}, True),
    ],
)  # fmt: skip
def test_excluded_exponents_are_noted(schema, is_noted):
    index = compiled(schema, numbers="any")
    notes = [note for note in index.notes if note.startswith("numbers='any'")]
    assert bool(notes) == is_noted
    assert not compiled(schema).notes
    assert not compiled(schema, numbers="dumps").notes
    validator = (
        jsonschema.Draft202012Validator(schema)
        if "$schema" not in (schema if isinstance(schema, dict) else {})
        else None
    )
    if validator is not None:
        left_out = [
            text for text in EXPONENTS if validator.is_valid(json.loads(text)) and not index.accepts(text.encode())
        ]
        assert not left_out or is_noted


EXPONENTIAL = st.builds(
    "{}{}e{}{}".format,
    st.sampled_from(["", "-"]),
    st.sampled_from(["0", "1", "5", "2.5", "1.00", "9.999"]),
    st.sampled_from(["", "-"]),
    st.sampled_from(["0", "1", "399", "401", "9999", "10001", "99999", "9" * 30]),
)
UNIQUE: list[dict[str, Any]] = [
    {"uniqueItems": True},
    {"uniqueItems": True, "items": {"anyOf": [{"minimum": 10**399}, {"type": "array"}, {"maximum": 1e-9}]}},
    {"if": {"uniqueItems": True}, "then": {"minItems": 3}, "else": {"maxItems": 3}},
    {"not": {"uniqueItems": True, "minItems": 2}},
]  # fmt: skip


@given(st.sampled_from(UNIQUE), st.lists(EXPONENTIAL, max_size=4))
@settings(max_examples=examples(60, 12), deadline=None)
def test_numbers_of_any_exponent_may_be_items_that_differ(schema: dict[str, Any], numbers: list[str]) -> None:
    """No text ends in its middle, and what is accepted is valid: of too many places, no two that are near each other."""
    index = compiled({"type": "array", **schema}, numbers="any")
    guide = index.guide()
    for byte in f"[{','.join(numbers)}]".encode():
        assert guide.mask_within(guide.remaining).any()
        if not guide.validate(bytes([byte])):
            return
        guide.advance(byte)
    if guide.is_accepting and schema == UNIQUE[0]:
        # The same up to a factor of ten to any power, so that exponents stay small.
        places = [Decimal(re.sub("9{30}$", "98765", number)) for number in numbers]
        assert len(places) == len(set(places))


@pytest.mark.parametrize("numbers", ["plain", "any"])
@pytest.mark.parametrize("digits", [300, 4_000, 9_000])
@pytest.mark.parametrize("more", [{}, {"uniqueItems": True, "minItems": 2}], ids=["", "that differ"])
def test_long_bounds_are_read_or_refused(numbers: str, digits: int, more: dict[str, Any]) -> None:
    """With their place: a text does not end in its middle."""
    schema = {"type": "array", "items": {"minimum": -(10**digits), "exclusiveMaximum": 7**digits}, **more}
    reason = read_or_refused(schema, [b"[", b"1", b",", b"2"], Limits(), numbers=numbers)
    assert not reason or (digits > 300 and "/items/minimum" in reason)
