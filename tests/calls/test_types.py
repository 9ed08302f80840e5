"""Annotations -> value types: what is accepted, how it is read, what is shared, what is refused and where."""

# ruff: noqa: UP007, UP045 - annotations are what is tested, in every spelling

import collections.abc as abc
import datetime
import enum
import json
import re
import typing
import uuid
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, NewType, NotRequired, Optional, Required, TypedDict, Union

import annotated_types
import pydantic
import pytest
from annotated_types import Ge, Gt, Interval, Le, Len, Lt, MaxLen, MinLen, MultipleOf
from hypothesis import given
from hypothesis import strategies as st

from guided.calls.constraints import Caps
from guided.calls.rendering import json_value
from guided.calls.types import AnnotationContext, type_of
from guided.calls.values import ValueType, automaton_of
from guided.engine.specs import Choice, Regex
from guided.errors import PatternError, SchemaError
from guided.patterns.tree import literal
from tests.identifiers import shown


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Shape(enum.Enum):
    SQUARE = (4, 4)
    LINE = (2, 0)


class Point(NamedTuple):
    x: int
    y: float = 0


@dataclass
class Trip:
    start: Point
    note: str | None = None


class Query(TypedDict):
    text: Required[str]
    limit: NotRequired[Annotated[int, Ge(1), Le(9)]]


class Order(pydantic.BaseModel):
    count: Annotated[int, pydantic.Field(ge=0, lt=10)] = 3
    code: str = pydantic.Field(pattern="^[a-z]+$", alias="id")
    tags: list[str] = []


UserId = NewType("UserId", int)
NOON = datetime.time(12)


def lowered(annotation: Any, caps: Caps | None = None) -> ValueType:
    return type_of(annotation, AnnotationContext("/tool/x", caps or Caps()))


def accepts(annotation: Any, spelling: str) -> bool:
    return automaton_of(lowered(annotation).node).accepts(spelling.encode())


# annotation, spellings with what they are read as
READ: list[tuple[Any, dict[str, Any]]] = [
    (bool, {"true": True, "false": False}),
    (int, {"0": 0, "-12": -12, "9" * 30: int("9" * 30)}),
    (float, {"0": 0.0, "-1.5": -1.5, "1e3": 1000.0, "7": 7.0}),
    (str, {'""': "", '"a, b)"': "a, b)", '"\\u00e9"': "é", '"é"': "é", '"\\n"': "\n"}),
    (None, {"null": None}),
    (datetime.date, {'"2024-02-29"': datetime.date(2024, 2, 29)}),
    (datetime.time, {'"07:00"': datetime.time(7), '"12:00:00Z"': datetime.time(12, tzinfo=datetime.UTC)}),
    (datetime.datetime, {'"2024-02-29T07:00:01.5"': datetime.datetime(2024, 2, 29, 7, 0, 1, 500_000)}),
    (uuid.UUID, {'"12345678-1234-5678-1234-567812345678"': uuid.UUID("12345678123456781234567812345678")}),
    (Color, {'"red"': Color.RED, '"blue"': Color.BLUE}),
    (Level, {"1": Level.LOW, "2": Level.HIGH}),
    (Shape, {'"SQUARE"': Shape.SQUARE, '"LINE"': Shape.LINE}),
    (Literal["a", 1, True, None], {'"a"': "a", "1": 1, "true": True, "null": None}),
    (Literal[Color.RED], {'"red"': Color.RED}),
    (Optional[int], {"null": None, "3": 3}),
    (int | str, {"3": 3, '"3"': "3"}),
    (Union[datetime.date, str], {'"2024-02-29"': datetime.date(2024, 2, 29), '"2023-02-29"': "2023-02-29"}),
    (Union[str, datetime.date], {'"2024-02-29"': "2024-02-29"}),
    (bool | int | float, {"true": True, "1": 1, "1.5": 1.5}),
    (list[int], {"[]": [], "[1, 2]": [1, 2], "[1,2]": [1, 2]}),
    (list, {'[1, "a", [null]]': [1, "a", [None]]}),
    (abc.Sequence[bool], {"[true]": [True]}),
    (set[int], {"[1, 2, 1]": {1, 2}}),
    (frozenset[str], {'["a"]': frozenset({"a"})}),
    (tuple[int, str], {'[1, "a"]': (1, "a")}),
    (tuple[int, ...], {"[]": (), "[1, 2, 3]": (1, 2, 3)}),
    (tuple[()], {"[]": ()}),
    (dict[str, int], {"{}": {}, '{"a": 1, "b": 2}': {"a": 1, "b": 2}}),
    (dict[int, str], {'{"1": "a"}': {1: "a"}}),
    (dict[Color, int], {'{"red": 1}': {Color.RED: 1}}),
    (abc.Mapping[str, bool], {'{"a":true}': {"a": True}}),
    (dict, {'{"a": [1]}': {"a": [1]}}),
    (list[list[list[int]]], {"[[[1], []], []]": [[[1], []], []]}),
    (Point, {'{"x": 1}': Point(1), '{"x": 1, "y": 2.5}': Point(1, 2.5)}),
    (Trip, {'{"start": {"x": 1}}': Trip(Point(1)), '{"start": {"x": 1}, "note": null}': Trip(Point(1))}),
    (Query, {'{"text": "a"}': {"text": "a"}, '{"text": "a", "limit": 9}': {"text": "a", "limit": 9}}),
    (
        Order,
        {
            '{"id": "ab"}': Order(id="ab"),
            '{"count": 0, "id": "ab", "tags": ["x"]}': Order(count=0, id="ab", tags=["x"]),
        },
    ),
    (UserId, {"5": 5}),
    (Any, {"null": None, '{"a": [1, {"b": 2}]}': {"a": [1, {"b": 2}]}}),
    (Annotated[int, Ge(0), Lt(100)], {"0": 0, "99": 99}),
    (Annotated[int, Interval(gt=2, le=4)], {"3": 3, "4": 4}),
    (Annotated[int, Ge(2.5)], {"3": 3}),
    (Annotated[int, MultipleOf(5)], {"-10": -10, "0": 0}),
    (Annotated[int, MultipleOf(2.5)], {"5": 5}),
    (Annotated[int, MultipleOf(2), MultipleOf(3)], {"6": 6}),
    (Annotated[int, annotated_types.Unit("m"), annotated_types.doc("a length")], {"6": 6}),
    (tuple, {"[1, [2]]": (1, [2])}),
    (Literal["a"] | Literal["a"], {'"a"': "a"}),
    (Annotated[float, Gt(0), Le(1)], {"1": 1.0, "0.001": 0.001}),
    (Annotated[float, Ge(float("-inf"))], {"-1e300": -1e300}),
    (Annotated[float, MultipleOf(0.25)], {"-1.75": -1.75}),
    (Annotated[str, MinLen(1), MaxLen(3)], {'"abc"': "abc", '"😀"': "😀"}),
    (Annotated[str, Regex("[a-z]+[0-9]")], {'"ab1"': "ab1"}),
    (Annotated[str, Choice(["a,b", "c"])], {'"a,b"': "a,b"}),
    (Annotated[str, re.compile("a.", re.S)], {'"a\\n"': "a\n"}),
    (Annotated[str, re.compile("A", re.I)], {'"a"': "a"}),
    (Annotated[str, literal("x")], {'"x"': "x"}),
    (Annotated[str, Regex("[ab]*"), MaxLen(2)], {'"ab"': "ab"}),
    (Annotated[str, pydantic.StringConstraints(pattern="b")], {'"abc"': "abc"}),
    (Annotated[str, pydantic.Field(pattern="^b$", max_length=5)], {'"b"': "b"}),
    (pydantic.conint(gt=3, lt=6), {"4": 4, "5": 5}),
    (pydantic.constr(min_length=2), {'"ab"': "ab"}),
    (Annotated[list[int], Len(1, 2)], {"[1]": [1], "[1, 2]": [1, 2]}),
    (Annotated[dict[str, int], MinLen(1)], {'{"a": 1}': {"a": 1}}),
    (Annotated[Optional[int], Ge(0)], {"null": None, "0": 0}),
    (Annotated[int, "how many"], {"1": 1}),
    (Annotated[int, object()], {"1": 1}),
    (Annotated[float, annotated_types.Predicate(__import__("math").isfinite)], {"1": 1.0}),
]

# annotation, spellings that are refused
NOT_READ: list[tuple[Any, list[str]]] = [
    (bool, ["True", "1", "null", '"true"']),
    (int, ["1.0", "1e3", "01", "-0", "+1", "true", '"1"', " 1"]),
    (float, ["NaN", "Infinity", "1e400", ".5", '"1"', "true"]),
    (str, ["a", "'a'", '"\n"', '"a', "null"]),
    (datetime.date, ['"2023-02-29"', '"0000-01-01"', '"2024-13-01"', "2024-01-01", '"2024-01-01T00:00"']),
    (datetime.time, ['"6:45"', '"24:00"', '"07:60"']),
    (Color, ['"RED"', '"green"', "red"]),
    (Level, ["3", '"LOW"']),
    (Shape, ["[4, 4]"]),
    (Literal["a", 1], ["true", "2", '"b"', "1.0"]),
    (list[int], ["[1,  2]", "[ 1]", "[1,]", '["1"]', "1", "[[1]]"]),
    (tuple[int, str], ["[1]", '[1, "a", 2]', '["a", 1]', "[]"]),
    (tuple[()], ["[1]"]),
    (dict[str, int], ['{"a" : 1}', "{1: 1}", '{"a": "1"}', "{'a': 1}"]),
    (dict[int, str], ['{"a": "a"}', '{"01": "a"}']),
    (Point, ['{"y": 1}', '{"y": 1, "x": 1}', '{"x": 1, "z": 1}', '{"x": 1, "x": 1}', "[1, 2]"]),
    (Query, ['{"limit": 1}', '{"text": "a", "limit": 10}']),
    (Order, ['{"code": "ab"}', '{"id": "AB"}', '{"count": 10, "id": "a"}']),
    (Any, ["[[[[1]]]]", "NaN", "[1 ]"]),
    (Annotated[int, Ge(0), Lt(100)], ["-1", "100"]),
    (Annotated[int, Interval(gt=2, le=4)], ["2", "5"]),
    (Annotated[int, MultipleOf(5)], ["4", "51"]),
    (Annotated[int, MultipleOf(2), MultipleOf(3)], ["2", "3", "4"]),
    (Annotated[float, Gt(0), Le(1)], ["0", "0.0", "-0.1", "1.0000001", "1e-1"]),
    (Annotated[str, MinLen(1), MaxLen(3)], ['""', '"abcd"']),
    (Annotated[str, Regex("[a-z]+[0-9]")], ['"ab"', '"ab12"', "ab1"]),
    (Annotated[str, Regex("[ab]*"), MaxLen(2)], ['"aba"', '"c"']),
    (Annotated[str, pydantic.StringConstraints(pattern="b")], ['"ac"']),
    (Annotated[str, pydantic.Field(pattern="^b$", max_length=5)], ['"b\\n"', '"ab"']),
    (Annotated[list[int], Len(1, 2)], ["[]", "[1, 2, 3]"]),
    (Annotated[dict[str, int], MinLen(1)], ["{}"]),
    (Annotated[Optional[int], Ge(0)], ["-1"]),
]


@pytest.mark.parametrize(("annotation", "spellings"), READ, ids=shown)
def test_T16_values_are_read_as_their_types(annotation: Any, spellings: dict[str, Any]) -> None:
    found = lowered(annotation)
    for spelling, value in spellings.items():
        assert automaton_of(found.node).accepts(spelling.encode()), spelling
        read = found.read(spelling)
        assert read == value
        assert type(read) is type(value)


@pytest.mark.parametrize(("annotation", "spellings"), NOT_READ, ids=shown)
def test_T16_values_of_another_type_are_refused(annotation: Any, spellings: list[str]) -> None:
    for spelling in spellings:
        assert not accepts(annotation, spelling), spelling


VALUES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (int, st.integers()),
    (float, st.floats(allow_nan=False, allow_infinity=False)),
    (str, st.text()),
    (datetime.date, st.dates()),
    (datetime.time, st.times()),
    (datetime.datetime, st.datetimes(timezones=st.none() | st.just(datetime.UTC))),
    (uuid.UUID, st.uuids()),
    (Color, st.sampled_from(Color)),
    (list[int | str], st.lists(st.integers() | st.text())),
    (dict[str, tuple[bool, int]], st.dictionaries(st.text(), st.tuples(st.booleans(), st.integers()))),
    (Trip, st.builds(Trip, st.builds(Point, st.integers(), st.floats(-9, 9)), st.none() | st.text())),
    (Annotated[int, Ge(-50), Le(1000)], st.integers(-50, 1000)),
    (Annotated[str, MaxLen(5)], st.text(max_size=5)),
]


@pytest.mark.parametrize(("annotation", "values"), VALUES, ids=shown)
@given(data=st.data())
def test_every_value_of_a_type_can_be_written(
    annotation: Any, values: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    value = data.draw(values)
    found = lowered(annotation)
    for ensure_ascii in (True, False):
        spelling = json.dumps(json_value(value), ensure_ascii=ensure_ascii)
        assert automaton_of(found.node).accepts(spelling.encode()), spelling
        assert found.read(spelling) == value


def test_T22_the_tree_of_a_type_is_built_once_and_shared() -> None:
    for annotation in (
        int,
        str,
        Color,
        Point,
        Trip,
        Order,
        list[int],
        dict[str, list[int]],
        Annotated[int, Ge(0)],
        int | None,
    ):
        assert lowered(annotation) is lowered(annotation)
    assert lowered(Annotated[str, Regex("a+")]) is lowered(Annotated[str, re.compile("a+")])
    assert lowered(typing.List[int]) is lowered(list[int]) is lowered(abc.Sequence[int])  # noqa: UP006
    assert lowered(Literal[1]) is not lowered(Literal[True])


def test_types_of_equal_enums_are_distinct() -> None:
    other = enum.IntEnum("other", {"LOW": 1, "HIGH": 2})
    assert Level.LOW == other.LOW
    assert type(lowered(Level).read("1")) is Level
    assert type(lowered(other).read("1")) is other


def test_caps_bound_unbounded_types() -> None:
    caps = Caps(max_length=3, max_digits=2)
    text, number, real = (automaton_of(lowered(kind, caps).node) for kind in (str, int, float))
    assert text.accepts(b'"abc"')
    assert not text.accepts(b'"abcd"')
    assert number.accepts(b"-99")
    assert not number.accepts(b"100")
    assert real.accepts(b"99.99")
    assert not real.accepts(b"1.123")
    assert automaton_of(lowered(Annotated[str, MaxLen(5)], caps).node).accepts(b'"abcde"')
    assert automaton_of(lowered(Annotated[str, MinLen(5)], caps).node).accepts(b'"abcde"')


class Node(TypedDict):
    children: "list[Node]"


class Lost(TypedDict):
    item: "Nowhere"  # noqa: F821


class Callback(pydantic.BaseModel):
    x: Annotated[int, pydantic.AfterValidator(abs)]


class Root(pydantic.RootModel[int]):
    pass


class Aliases(pydantic.BaseModel):
    x: int = pydantic.Field(validation_alias=pydantic.AliasChoices("a", "b"))


REFUSED: list[tuple[Any, str, str, str]] = [
    (bytes, "cannot be written as JSON", "/tool/x", "bytes"),
    (complex, "cannot be written as JSON", "/tool/x", "complex"),
    (re.Pattern, "cannot be written as JSON", "/tool/x", "Pattern"),
    (abc.Callable[[], int], "cannot be written as JSON", "/tool/x", "Callable"),
    ("Nowhere", "cannot be resolved", "/tool/x", "Nowhere"),
    (list[typing.ForwardRef("Nowhere")], "cannot be resolved", "/tool/x/items", "Nowhere"),
    (Lost, "annotations cannot be resolved", "/tool/x", "Lost"),
    (list[list[list[list[int]]]], "more than 3 deep", "/tool/x/items/items/items", "list"),
    (Node, "more than 3 deep, or without end", "/tool/x/children/items/children", "list"),
    (dict[bytes, int], "cannot be written as JSON", "/tool/x/keys", "bytes"),
    (dict[float, int], "keys are strings or integers", "/tool/x", "float"),
    (set[list[int]], "hashable", "/tool/x", "set"),
    (Literal[b"a"], "not a JSON scalar", "/tool/x", "b'a'"),
    (enum.Enum("Empty", {}), "without members", "/tool/x", "Empty"),
    (enum.Enum("Odd", {"A": float("nan")}), "JSON has no infinity and no NaN", "/tool/x", "Odd"),
    (Annotated[int, Ge(5), Le(3)], "no value satisfies", "/tool/x", "Ge, Le"),
    (Annotated[float, Gt(1), Lt(1)], "no value satisfies", "/tool/x", "Gt, Lt"),
    (Annotated[str, MinLen(3), MaxLen(2)], "no value satisfies", "/tool/x", "MinLen, MaxLen"),
    (Annotated[str, Regex("a"), Regex("b")], "no value satisfies", "/tool/x", "Regex"),
    (Annotated[list[int], MinLen(2), MaxLen(1)], "no value satisfies", "/tool/x", "MinLen, MaxLen"),
    (Annotated[tuple[int, int], MinLen(3)], "no value satisfies", "/tool/x", "MinLen"),
    (Annotated[int, MultipleOf(7)], "multiples of 7", "/tool/x", "MultipleOf"),
    (Annotated[int, MultipleOf(0)], "must be greater than 0", "/tool/x", "MultipleOf"),
    (Annotated[float, MultipleOf(0.3)], "multiples of 0.3", "/tool/x", "MultipleOf"),
    (Annotated[float, Gt(10**400)], "too large for a float", "/tool/x", "Gt"),
    (Annotated[float, Ge(10**400)], "no value satisfies", "/tool/x", "Ge"),
    (Annotated[int, Ge(float("inf"))], "the bound is infinite", "/tool/x", "Ge"),
    (Annotated[int, Ge(float("nan"))], "not a finite number", "/tool/x", "Ge"),
    (Annotated[datetime.date, Ge(datetime.date(2024, 1, 1))], "expected a number", "/tool/x", "Ge"),
    (Annotated[datetime.date, Ge(3)], "does not apply to date", "/tool/x", "Ge"),
    (Annotated[str, Ge(3)], "does not apply to a str", "/tool/x", "Ge"),
    (Annotated[int, MaxLen(3)], "does not apply to an int", "/tool/x", "MaxLen"),
    (Annotated[bool, Regex("a")], "does not apply to bool", "/tool/x", "Regex"),
    (Annotated[list[int], Regex("a")], "does not apply to list", "/tool/x", "Regex"),
    (Annotated[set[int], MinLen(2)], "a minimum length above 1", "/tool/x", "MinLen"),
    (Annotated[dict[str, int], MinLen(2)], "a minimum length above 1", "/tool/x", "MinLen"),
    (Annotated[Annotated[int, Ge(0)] | str, Le(3)], "inside and outside of a union", "/tool/x", "Le"),
    (Annotated[str, annotated_types.Predicate(str.islower)], "cannot be enforced", "/tool/x", "Predicate"),
    (Annotated[datetime.datetime, annotated_types.Timezone(None)], "cannot be enforced", "/tool/x", "Timezone"),
    (Annotated[int, pydantic.AfterValidator(abs)], "cannot be enforced", "/tool/x", "AfterValidator"),
    (Annotated[str, pydantic.StringConstraints(to_lower=True)], "cannot be enforced", "/tool/x", "to_lower"),
    (Annotated[str, re.compile(b"a")], "a pattern of bytes", "/tool/x", "re.Pattern"),
    (Annotated[str, Regex("a", builder="interegular")], "leave builder out", "/tool/x", "Regex"),
    (Annotated[str, MinLen(-1)], "a length must be an integer >= 0", "/tool/x", "MinLen"),
    (Callback, "cannot be enforced", "/tool/x/x", "AfterValidator"),
    (Root, "no fields", "/tool/x", "Root"),
    (Aliases, "aliases that are a single name", "/tool/x/x", "validation_alias"),
    (pydantic.UUID4, "cannot be enforced", "/tool/x", "UuidVersion"),
]


@pytest.mark.parametrize(("annotation", "reason", "pointer", "keyword"), REFUSED, ids=shown)
def test_unsupported_parts_are_refused_with_their_place(
    annotation: Any, reason: str, pointer: str, keyword: str
) -> None:
    with pytest.raises(SchemaError) as caught:
        lowered(annotation)
    assert reason in str(caught.value)
    assert caught.value.pointer == pointer
    assert keyword in caught.value.keyword


def test_an_alias_of_a_union_with_itself_is_refused() -> None:
    """As ``type Alias = Alias | int`` is from Python 3.12 on."""

    class Alias:
        __type_params__ = ()

        def __call__(self) -> None:
            """Unions take what can be called for a type."""

    alias = Alias()
    alias.__value__ = Union[alias, int]  # type: ignore[attr-defined]
    with pytest.raises(SchemaError, match="a union within itself"):
        lowered(alias)


def test_a_malformed_pattern_is_refused_at_its_position() -> None:
    for annotation in (Annotated[str, Regex("a(")], Annotated[str, pydantic.Field(pattern="^a(")]):
        with pytest.raises(PatternError):
            lowered(annotation)


def test_a_bound_of_a_float_that_is_exclusive_is_never_reached_by_rounding() -> None:
    found = lowered(Annotated[float, Lt(1)])
    assert not automaton_of(found.node).accepts(b"0.99999999999999999")
    assert found.read("0.9999999999999999") < 1


def test_a_bounded_float_never_overflows() -> None:
    automaton = automaton_of(lowered(Annotated[float, Ge(0)]).node)
    assert automaton.accepts(b"9" * 21)
    assert not automaton.accepts(b"9" * 400)
    for bound in (Le(1e308), Le(10**400), Lt(10**400)):
        automaton = automaton_of(lowered(Annotated[float, bound, Ge(0)]).node)
        assert not automaton.accepts(b"9" * 309)
        assert automaton.accepts(b"9" * 308)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (int, "1"),
        (float, "1"),
        (Annotated[float, Le(1)], 2),
        (Annotated[float, MultipleOf(0.5)], 0.3),
        (Annotated[int, MultipleOf(5)], 3),
        (str, 1),
        (bool, 1),
        (datetime.date, "2023-02-29"),
        (Color, "green"),
        (list[int], [True]),
        (Annotated[list[int], Len(1, 2)], []),
        (tuple[int, int], [1]),
        (dict[str, int], []),
        (Point, {"y": 1}),
        (int | bool, "1"),
    ],
)
def test_json_of_another_type_is_not_decoded(annotation: Any, value: Any) -> None:
    """So a union finds the member that a value belongs to."""
    with pytest.raises(ValueError, match=r"is not a valid|is none of"):
        lowered(annotation).decode(value)


def test_names_are_for_people() -> None:
    assert lowered(dict[str, list[int | None]]).name == "dict[str, list[int | None]]"
    assert lowered(Annotated[int, Ge(0), Le(9)]).name == "int >= 0, <= 9"
    assert repr(lowered(Color)) == '<ValueType "red" | "blue">'
