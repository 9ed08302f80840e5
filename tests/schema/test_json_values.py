"""JSON as values: read without recursion like Python's own reader, and schemas that nest too deep refused in all their forms."""

import ast
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import guided
from guided.calls.schema import SchemaType
from guided.engine.compile import compile as compile_spec
from guided.engine.grammar import Grammar
from guided.engine.json_schema import JsonSchema
from guided.engine.structural_tags import StructuralTag
from guided.errors import CallError, LimitError
from guided.generate.function_model import FunctionModel
from guided.generate.schemas import json as json_generator
from guided.limits import Limits
from guided.schema.frontend import json_values
from guided.schema.frontend.json_reader import JsonReader
from guided.schema.frontend.json_values import check_levels, exact_decimal, parse_json
from guided.vocabulary.vocabulary import Vocabulary
from tests.calls.parsing import parse_call
from tests.hostile.client import steps
from tests.schema.engine import compiled

PACKAGE = Path(guided.__file__).parent
# Modules that read JSON otherwise than by `parse_json`, and why.
OTHER_READERS = {
    "calls/lowering.py": "one string, which an automaton has accepted",
    "calls/rendering.py": "an argument that a model wrote: whatever is refused is written anew",
    "calls/sources/documents.py": "a file that an operator names",
    "cli/compositions.py": "a file that an operator names",
    "cli/manifest.py": "a file that an operator names",
    "cli/sources.py": "a file that an operator names",
    "cli/toolfiles.py": "a file that an operator names",
    "generate/messages.py": "arguments in messages, for a template that recurses: Python's levels and digits are enough",
    "index/storage.py": "the header of a file, whose length is bounded",
    "keywords.py": "a file of the package",
    "integrations/serving.py": "options that this package has written",
    "schema/frontend/json_values.py": "the reader itself, and schemas that it has written",
    "schema/frontend/metaschemas.py": "files of a package",
    "vocabulary/fields.py": "a tokenizer's file, whose length is bounded",
}
PIECES = st.sampled_from(
    [
        *'{}[]",: \n',
        '"a"',
        '"b":',
        "[1",
        "],",
        '{"a":',
        "1.5",
        "-0",
        "1e3",
        "true",
        "null",
        "\\",
        '\\"',
        "é",
        "NaN",
        "01",
        "x",
    ]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-9, 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4)
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3)
)


def flat(text: str) -> Any:
    begin = len(text) - len(text.lstrip(" \t\n\r"))
    value, end = json_values._flat(text, begin, json.JSONDecoder(parse_constant=json_values._no_number), None)
    if text[end:].strip(" \t\n\r"):
        raise ValueError("more than one value")
    return value


@given(VALUES, st.sampled_from([None, 0, 2]))
def test_any_text_is_read_as_python_reads_it(value: Any, indent: int | None) -> None:
    assert flat(json.dumps(value, indent=indent)) == value


@given(st.lists(PIECES, max_size=8).map("".join))
def test_invalid_json_is_refused_as_in_python(text: str) -> None:
    try:
        expected = json.loads(text, parse_constant=json_values._no_number)
    except ValueError:
        with pytest.raises(ValueError):  # noqa: PT011 - the message is where the two differ
            flat(text)
    else:
        assert flat(text) == expected


@pytest.mark.parametrize("end", ['"' + "a" * 40, '"' + "\\a" * 40, '{"' + "a" * 40, "1" * 40 + "x", ""])
def test_a_malformed_end_behind_many_brackets_is_refused_at_once(end: str) -> None:
    for opening in ("[", '{"a":'):
        with pytest.raises(ValueError):  # noqa: PT011 - the message depends on the end
            parse_json(opening * 2_000 + end)


def test_json_of_strangers_is_read_in_one_place() -> None:
    found = set()
    for path in PACKAGE.rglob("*.py"):
        called = {
            ast.unparse(node)
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Attribute)
        }
        if called & {"json.loads", "json.load", "json.JSONDecoder", "pydantic_core.from_json"}:
            found.add(path.relative_to(PACKAGE).as_posix())
    assert found == OTHER_READERS.keys()


LONG_INTEGERS: dict[str, Callable[[str], object]] = {
    "text": parse_json,
    "deep text": lambda digits: parse_json("[" * 3000 + digits + "]" * 3000),
    "decimal": lambda digits: parse_json(f"{digits}.5", exact_decimal),
    "schema": lambda digits: JsonSchema(f'{{"minimum": {digits}}}'),
    "read": lambda digits: JsonSchema({}).read(f'{{"a": {digits}}}'),
    "stream": lambda digits: JsonReader().feed(f"[{digits},"),
    "structural tag": lambda digits: StructuralTag(f'{{"format": {digits}}}'),
}


@pytest.mark.parametrize("entry", LONG_INTEGERS)
def test_integers_of_too_many_digits_are_refused_unconverted(entry: str) -> None:
    for count in (Limits().digits + 1, 1_000_000):
        with pytest.raises(LimitError) as caught:
            LONG_INTEGERS[entry]("9" * count)
        assert (caught.value.what, caught.value.given, caught.value.limit) == (
            "digits",
            count + (entry == "decimal"),
            Limits().digits,
        )


def test_a_call_and_a_text_with_such_an_integer_have_an_error() -> None:
    def pay(amount: int) -> None: ...

    for tool in (
        pay,
        {"name": "pay", "parameters": {"properties": {"amount": {"type": "integer"}}, "minProperties": 1}},
    ):
        with pytest.raises(CallError, match=r"digits: 20,000 needed|number out of range"):
            parse_call(f'{{"name": "pay", "arguments": {{"amount": {"9" * 20_000}}}}}', [tool], "json")
    vocabulary = Vocabulary([bytes([byte]) for byte in range(256)] + [b"9" * 5_000, None], eos=[257])
    text = [ord("["), *[256] * 3, ord(","), ord("1"), ord("]"), 257]
    model = FunctionModel(
        lambda tokens: np.eye(258, dtype=np.float32)[text[min(len(tokens) - 1, 7)]], vocabulary, lambda _: [0]
    )
    [result] = json_generator(model, {"type": "array", "items": {"type": "integer"}}).batch(["p"])
    assert result.text.endswith(",1]")
    assert isinstance(result.error, LimitError)


def test_a_damaged_spec_that_nests_deeply_is_refused() -> None:
    for kind in (JsonSchema, Grammar):
        with pytest.raises(ValueError, match="nested too deeply"):
            kind.from_data("[" * 100_000)


def test_the_members_of_an_object_are_found_at_any_depth() -> None:
    deep = "[" * 5_000 + '{"a": "]}\\""}' + "]" * 5_000
    text = f'{{ "a" : {deep} ,"b\\"":1.5e3, "c":{{}}, "d": "x", "e": true}}'
    assert [(name, text[first:last]) for name, first, last in SchemaType("object", True).read_object(text)[1]] == [
        ("a", deep),
        ('b"', "1.5e3"),
        ("c", "{}"),
        ("d", '"x"'),
        ("e", "true"),
    ]
    assert SchemaType("object", True).read_object("{ }") == ({}, [])


def test_a_text_of_too_many_values_is_refused_before_it_is_read() -> None:
    limits = Limits(file_bytes=1600)
    assert len(parse_json("[" + "0," * 98 + "0]", limits=limits)) == 99
    for text in ("[" + "0," * 100 + "0]", "[" * 101, b"[" * 101, " " * 1601):
        with pytest.raises(LimitError, match="file_bytes"):
            parse_json(text, limits=limits)


@pytest.mark.slow
def test_a_text_is_read_at_any_depth() -> None:
    for opening, closing in (("[", "]"), ('{"a":', "}")):
        value, depth = parse_json(opening * 100_000 + "1.5" + closing * 100_000, parse_float=Decimal), 0
        while isinstance(value, list | dict):
            value, depth = value[0] if isinstance(value, list) else value["a"], depth + 1
        assert (value, depth) == (Decimal("1.5"), 100_000)
    with pytest.raises(ValueError, match="char 200000"):
        parse_json("[" * 100_000 + "]" * 100_000 + "]")


def test_items_that_must_differ_are_compared_at_any_depth() -> None:
    index = compiled({"uniqueItems": True})
    deep, deeper = ("[" * depth + "]" * depth for depth in (3000, 3001))
    assert index.accepts(f"[{deep},{deeper}]".encode())
    assert not index.accepts(f"[{deep},1,{deep}]".encode())
    long = "1" * 2000
    assert index.accepts(f"[{long},{long}0]".encode())
    assert not index.accepts(f"[{long},{long}]".encode())


def nested(levels: int) -> Any:
    schema: Any = {}
    for _ in range(levels - 1):
        schema = {"items": schema}
    return schema


def test_a_schema_has_so_many_levels_in_all_its_forms(tmp_path: Path) -> None:
    within, beyond = nested(Limits().schema_depth), nested(Limits().schema_depth + 1)
    for form in (dict, json.dumps):
        assert compiled(form(within)).guide().mask().any()
        with pytest.raises(
            LimitError, match="schema_depth: 201 needed, 200 allowed; nested arrays and objects in a schema"
        ):
            JsonSchema(form(beyond))
    (tmp_path / "a.json").write_text(json.dumps(beyond))
    with pytest.raises(LimitError) as caught:
        JsonSchema(tmp_path / "a.json")
    assert (caught.value.what, caught.value.given, caught.value.limit) == ("schema_depth", 201, 200)
    with pytest.raises(LimitError):
        JsonSchema({"$ref": "x:a"}, registry={"x:a": beyond})
    assert JsonSchema({"$ref": "x:a"}, registry={"x:a": within}).fingerprint
    spec = JsonSchema(within)
    assert JsonSchema.from_data(spec.data).fingerprint == spec.fingerprint
    for opening, closing in (('{"items":', "}"), ("[", "]")):
        for text in (opening * 100_000, opening * 100_000 + "1" + closing * 100_000):
            with pytest.raises(LimitError, match="schema_depth: 201 needed"):
                JsonSchema(text)
            with pytest.raises(LimitError, match="schema_depth: 201 needed"):
                StructuralTag(text)
    assert JsonSchema('{"const": "' + "[" * 1000 + '"}').fingerprint


def test_values_that_hold_themselves_and_parts_in_many_places_are_refused() -> None:
    """Each container is read once, however often it occurs."""
    itself: list[Any] = []
    itself += [itself, itself]
    for value in (itself, {"a": [itself]}):
        with pytest.raises(LimitError, match="nested arrays and objects"):
            JsonSchema({"const": value})
    doubled: Any = [1]
    for _ in range(60):
        doubled = [doubled, doubled]
    error, count = steps(lambda: check_levels({"const": doubled}))
    assert isinstance(error, LimitError)
    assert error.what == "schema_parts"
    assert count < 2_000
    check_levels([[1]] * 1000)


@given(parts=st.lists(st.lists(st.integers(0, 200), max_size=4), min_size=1, max_size=8))
def test_levels_and_parts_count_shared_containers_as_often_as_they_occur(parts: list[list[int]]) -> None:
    """Against a copy without shared containers."""
    made: list[Any] = [1, {}]
    for places in parts:
        made.append([made[place % len(made)] for place in places])
    value = made[-1]
    n_parts, levels, here = 0, 0, [value]
    while here:
        levels += 1
        n_parts += sum(map(len, here))
        here = [one for part in here for one in part if one != 1]
    check_levels(value, Limits(schema_depth=levels, schema_parts=n_parts))
    for limits in (Limits(schema_depth=levels - 1), Limits(schema_parts=max(n_parts - 1, 0))) if n_parts else ():
        with pytest.raises(LimitError):
            check_levels(value, limits)


@pytest.mark.parametrize("number", ["1e9999999999999999999", "-2.5E-9999999999999999999"])
def test_exponents_that_no_decimal_holds_exceed_a_limit_in_a_schema(number: str) -> None:
    """As an item that must differ they are compared as others are."""
    assert abs(parse_json(number, parse_float=exact_decimal).adjusted()) == 10**17
    with pytest.raises(LimitError, match="digits"):
        compiled(JsonSchema(f'{{"const": {number}}}').schema)
    index = compiled({"type": "array", "uniqueItems": True}, whitespace="compact", numbers="any")
    guide = index.guide()
    assert guide.advance_many(f"[{number},1,{number}".encode()) < 2 * len(number) + 4
    assert index.accepts(b"[1,2.5]")


@pytest.mark.parametrize("zero", ["0e9999999999999999999", "-0.00E-9999999999999999999"])
def test_zero_with_any_exponent_is_zero(zero: str) -> None:
    assert parse_json(zero, parse_float=exact_decimal) == 0
    index = compiled({"type": "array", "uniqueItems": True}, whitespace="compact", numbers="any")
    assert index.accepts(f"[{zero},1]".encode())
    assert not index.accepts(f"[{zero},0]".encode())


def test_integers_of_more_digits_than_python_converts_are_exact() -> None:
    vocabulary = Vocabulary([bytes([byte]) for byte in range(256)] + [None], eos=[256])
    digits = "1" + "0" * 4999
    for bound in (f'{{"type": "integer", "maximum": {digits}}}', {"type": "integer", "maximum": 10**4999}):
        index = compile_spec(JsonSchema(bound), vocabulary)
        assert index.accepts(digits.encode())
        assert not index.accepts(digits.encode()[:-1] + b"1")
    same = compile_spec(JsonSchema({"enum": [[10**4999], -(10**5000)]}), vocabulary)
    assert same.accepts(f"[{digits}]".encode())
    assert same.accepts(f"-{digits}0".encode())
    assert not same.accepts(f"[{digits}0]".encode())


@pytest.mark.parametrize("value", [10**10_001, -(10 ** (10**6))], ids=["positive", "negative"])
def test_integers_of_more_digits_than_the_limit_are_refused(value: int) -> None:
    with pytest.raises(LimitError, match="digits"):
        JsonSchema({"allOf": [{"minimum": value}]})
