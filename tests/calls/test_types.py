"""Annotations -> types: what is accepted, how it is read, what is shared, what is refused and where."""

# ruff: noqa: UP007, UP045 - annotations are what is tested, in every spelling

import collections.abc as abc
import datetime
import enum
import json
import re
import sys
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

from guided.calls.rendering import json_value
from guided.calls.schema import SchemaType, type_of_annotation
from guided.engine.specs import Choice, Regex
from guided.errors import PatternError, SchemaError
from guided.patterns.tree import Literal as Text
from guided.schema.formula.atoms import Caps
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


UserId = NewType("UserId", int)


def lowered(annotation: Any, caps: Caps | None = None) -> SchemaType:
    return type_of_annotation(annotation, "/tool/x", caps or Caps())


def accepts(annotation: Any, spelling: str, caps: Caps | None = None) -> bool:
    return lowered(annotation, caps).scanner().accepts(spelling.encode())


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
    (set[int], {"[1, 2]": {1, 2}}),
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
    (Point, {"[1]": Point(1), "[1, 2.5]": Point(1, 2.5)}),
    (Trip, {'{"start": [1]}': Trip(Point(1)), '{"start": [1], "note": null}': Trip(Point(1))}),
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
    (Annotated[int, MultipleOf(5)], {"-10": -10, "0": 0}),
    (Annotated[int, MultipleOf(7)], {"14": 14, "-7": -7}),
    (Annotated[float, MultipleOf(0.3)], {"0.9": 0.9, "3": 3.0}),
    (list[list[list[list[int]]]], {"[[[[1]]]]": [[[[1]]]]}),
    (Node, {'{"children": [{"children": []}]}': {"children": [{"children": []}]}}),
    (Root, {"3": Root(3)}),
    (Aliases, {'{"a": 1}': Aliases(a=1)}),
    (Callback, {'{"x": -1}': Callback(x=1)}),
    (Annotated[int, pydantic.AfterValidator(abs)], {"-1": 1}),
    (Annotated[str, pydantic.StringConstraints(to_lower=True)], {'"A"': "a"}),
    (Annotated[set[int], MinLen(2)], {"[1, 2]": {1, 2}}),
    (Annotated[dict[str, int], MinLen(2)], {'{"a": 1, "b": 2}': {"a": 1, "b": 2}}),
    (bytes, {'"a"': b"a"}),
    (pydantic.UUID4, {'"12345678-1234-4678-9234-567812345678"': uuid.UUID("12345678123446789234567812345678")}),
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
    (Annotated[str, Text("x")], {'"x"': "x"}),
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
    (int, ["1.0", "1e3", "01", "+1", "true", '"1"', " 1"]),
    (float, ["NaN", "Infinity", ".5", '"1"', "true"]),
    (str, ["a", "'a'", '"\n"', '"a', "null"]),
    (datetime.date, ['"2023-02-29"', '"0000-01-01"', '"2024-13-01"', "2024-01-01", '"2024-01-01T00:00"']),
    (datetime.time, ['"6:45"', '"24:00"', '"07:60"']),
    (Color, ['"RED"', '"green"', "red"]),
    (Level, ["3", '"LOW"']),
    (Shape, ["[4, 4]", '"line"']),
    (Literal["a", 1], ["true", "2", '"b"']),
    (list[int], ["[1,  2]", "[1,]", '["1"]', "1", "[[1]]"]),
    (tuple[int, str], ["[1]", '[1, "a", 2]', '["a", 1]', "[]"]),
    (tuple[()], ["[1]"]),
    (dict[str, int], ["{1: 1}", '{"a": "1"}', "{'a': 1}"]),
    (dict[int, str], ['{"a": "a"}', '{"01": "a"}']),
    (Point, ['{"x": 1}', "[]", "[1, 2, 3]", '["a"]']),
    (Query, ['{"limit": 1}', '{"text": "a", "limit": 10}']),
    (Order, ['{"code": "ab"}', '{"id": "AB"}', '{"count": 10, "id": "a"}']),
    (Any, ["NaN", "[1  ]"]),
    (Annotated[int, Ge(0), Lt(100)], ["-1", "100"]),
    (Annotated[int, Interval(gt=2, le=4)], ["2", "5"]),
    (Annotated[int, MultipleOf(5)], ["4", "51"]),
    (set[int], ["[1, 1]"]),
    (Annotated[float, Gt(0), Le(1)], ["0", "0.0", "-0.1", "1.0000001"]),
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
        assert found.scanner().accepts(spelling.encode()), spelling
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
        assert found.scanner().accepts(spelling.encode()), spelling
        assert found.read(spelling) == value


def test_T22_types_of_equal_annotations_are_shared() -> None:
    for annotation in (
        int,
        str,
        Color,
        Trip,
        Order,
        list[int],
        dict[str, list[int]],
        Annotated[int, Ge(0)],
        int | None,
    ):
        assert lowered(annotation) is lowered(annotation)
    assert lowered(Annotated[str, Regex("a+")]) is lowered(Annotated[str, Regex("a+")])
    assert lowered(Literal[1]) is not lowered(Literal[True])
    # These are equal.
    assert lowered(int | str).name == "int | str"
    assert lowered(str | int).name == "str | int"


def test_annotations_without_a_hash_are_lowered() -> None:
    class Mark:
        __hash__ = None  # type: ignore[assignment]

    assert lowered(Annotated[int, Mark()]).name == "int"


def test_types_of_equal_enums_are_distinct() -> None:
    other = enum.IntEnum("other", {"LOW": 1, "HIGH": 2})
    assert Level.LOW == other.LOW
    assert type(lowered(Level).read("1")) is Level
    assert type(lowered(other).read("1")) is other


def test_caps_bound_unbounded_types() -> None:
    caps = Caps(max_length=3, max_digits=2)
    for annotation, spelling, is_accepted in [
        (str, '"abc"', True),
        (str, '"abcd"', False),
        (int, "-99", True),
        (int, "100", False),
        (float, "98.99", True),
        (float, "1.123", False),
        (list[str], '["abc"]', True),
        (list[str], '["abcd"]', False),
        (Annotated[str, MaxLen(5)], '"abcde"', True),
        (Annotated[str, MinLen(5)], '"abcde"', True),
        (Annotated[str, Regex("a*")], '"aaaaa"', True),
    ]:
        assert accepts(annotation, spelling, caps) == is_accepted, (annotation, spelling)


REFUSED: list[tuple[Any, str, str, str]] = [
    (complex, "cannot be enforced", "/tool/x", "complex"),
    (abc.Callable[[], int], "has no JSON Schema", "/tool/x", "Callable"),
    ("Nowhere", "not fully defined", "/tool/x", "Nowhere"),
    (list[typing.ForwardRef("Nowhere")], "not fully defined", "/tool/x", "Nowhere"),
    (Lost, "not fully defined" if sys.version_info >= (3, 12) else "annotations cannot be resolved", "/tool/x", "Lost"),
    (dict[bytes, int], "cannot be enforced", "/tool/x/propertyNames", "keys"),
    (dict[float, int], "cannot be enforced", "/tool/x/propertyNames", "keys"),
    (Literal[b"a"], "cannot be enforced", "/tool/x", "Literal"),
    (enum.Enum("Empty", {}), "no value satisfies", "/tool/x", "enum"),
    (enum.Enum("Odd", {"A": float("nan")}), "nan is not a JSON value", "/tool/x", "enum"),
    (Annotated[int, Ge(5), Le(3)], "no value satisfies", "/tool/x", "maximum, minimum"),
    (Annotated[float, Gt(1), Lt(1)], "no value satisfies", "/tool/x", "maximum, minimum"),
    (Annotated[str, MinLen(3), MaxLen(2)], "no value satisfies", "/tool/x", "maxLength, minLength"),
    (Annotated[str, Regex("a+"), Regex("b+")], "no value satisfies", "/tool/x", "allOf/0/pattern, pattern"),
    (Annotated[list[int], MinLen(2), MaxLen(1)], "no value satisfies", "/tool/x", "maxItems, minItems"),
    (Annotated[tuple[int, int], MinLen(3)], "no value satisfies", "/tool/x", "maxItems, minItems"),
    (tuple[int, Annotated[int, Ge(5), Le(3)]], "no value satisfies", "/tool/x/prefixItems/1", "maximum, minimum"),
    (Annotated[int, MultipleOf(0)], "greater than 0", "/tool/x", "ultipleOf"),
    (Annotated[int, Ge(2.5)], "coercible to an integer", "/tool/x", "Ge"),
    (Annotated[float, Gt(10**400)], "too large", "/tool/x", "Gt"),
    (Annotated[int, Ge(float("inf"))], "coercible to an integer", "/tool/x", "Ge"),
    (Annotated[datetime.date, Ge(datetime.date(2024, 1, 1))], "cannot be enforced", "/tool/x", "ge"),
    (Annotated[str, Ge(3)], "cannot be enforced", "/tool/x", "ge"),
    (Annotated[int, MaxLen(3)], "cannot be enforced", "/tool/x", "maxLength"),
    (Annotated[bool, Regex("a")], "does not apply to values of type boolean", "/tool/x", "Regex"),
    (Annotated[Annotated[int, Ge(0)] | str, Le(3)], "cannot be enforced", "/tool/x", "le"),
    (Annotated[str, re.compile(b"a")], "a pattern of bytes", "/tool/x", "re.Pattern"),
    (Annotated[str, Regex("a", builder="interegular")], "leave builder out", "/tool/x", "Regex"),
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


def test_a_malformed_pattern_is_refused() -> None:
    with pytest.raises(PatternError) as caught:
        lowered(Annotated[str, Regex("a(")])
    assert caught.value.position == 1
    with pytest.raises(SchemaError, match="unclosed group"):
        lowered(Annotated[str, pydantic.Field(pattern="^a(")])


def test_names_are_for_people() -> None:
    assert lowered(dict[str, list[int | None]]).name == "object"
    assert lowered(Annotated[int, Ge(0), Le(9)]).name == "int >= 0, <= 9"
    assert lowered(datetime.datetime).name == "datetime"
    assert lowered(Trip | None).name == "Trip | None"
    assert repr(lowered(Color)) == '<SchemaType "red" | "blue">'
