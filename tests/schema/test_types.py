"""Types parse every text that their schemas allow: the types that pydantic exports or documents, and patterns in its dialects."""

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import ipaddress
import json
import pathlib
import random
import re
import typing
import uuid
import zoneinfo
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

import annotated_types
import pydantic
import pydantic.dataclasses
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AliasChoices, AliasPath, Discriminator, Field, StringConstraints, Tag, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from guided.calls.schema import type_of_annotation
from guided.engine.compile import compile as compile_spec
from guided.engine.index import Index
from guided.engine.json_schema import JsonSchema
from guided.engine.specs import Choice, Regex
from guided.errors import GuidedError, LimitError, PatternError, SchemaError
from guided.patterns.parse import parse
from guided.patterns.tree import Complement
from guided.patterns.tree import Literal as Text
from tests.profiles import examples
from tests.schema.engine import BYTES, compiled, is_empty
from tests.schema.walks import random_text, steered_text

pytestmark = pytest.mark.filterwarnings("ignore")

# Exported names that are no types of values.
OTHER = {"BaseModel", "RootModel", "TypeAdapter", "ConfigDict", "PrivateAttr", "Field", "FieldInfo", "MISSING"}
STANDARD = [
    int, float, bool, str, bytes, bytearray, type(None), datetime.date, datetime.datetime, datetime.time, datetime.timedelta, uuid.UUID,
    decimal.Decimal, pathlib.Path, pathlib.PurePosixPath, re.Pattern, typing.Pattern[str],
    ipaddress.IPv4Address, ipaddress.IPv6Address, Any, Hashable, list[int], set[float], frozenset[str], tuple[int, str], dict[str, int],
    dict[int, int], dict[Literal["a"], int], dict[datetime.date, int], collections.deque[int], collections.Counter[str],
    collections.OrderedDict[str, int], collections.defaultdict[str, int], Sequence[int], Mapping[str, int], Literal[1, "a", True, None],
    bytes | str, typing.NamedTuple("Pair", [("a", int), ("b", str)]), typing.TypedDict("Table", {"a": int, "b": str}),
    Annotated[bytes, Field(min_length=2, max_length=3)], Annotated[float, Field(multiple_of=0.5)],
    Annotated[str, StringConstraints(strip_whitespace=True, min_length=2, max_length=4, to_upper=True)],
    Annotated[decimal.Decimal, Field(max_digits=3, decimal_places=1)], Annotated[set[int], Field(min_length=2, max_length=3)],
    Annotated[pydantic.AnyUrl, pydantic.UrlConstraints(max_length=30)],
]  # fmt: skip
# Types that check what no schema expresses.
REFUSED = [
    "FilePath", "DirectoryPath", "NewPath", "SocketPath", "ImportString", "PastDate", "FutureDatetime", "Json", "PaymentCardNumber",
    "Base64Bytes", "IPvAnyAddress",
]  # fmt: skip
REFUSED_STANDARD = [complex, zoneinfo.ZoneInfo, typing.Pattern[bytes], dict[float, int], ipaddress.IPv4Network]


def exported() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for module in (pydantic, pydantic.types, pydantic.networks):
        for name in module.__all__:
            try:
                value = getattr(module, name)
            except (AttributeError, ImportError, pydantic.PydanticUserError):
                continue
            is_type = isinstance(value, type) or typing.get_origin(value) is not None
            if is_type and name not in OTHER and not (isinstance(value, type) and issubclass(value, Exception)):
                found[name] = value
    return found


TYPES = {**exported(), **{str(each): each for each in STANDARD}}
if not pydantic.VERSION.startswith(("2.11.", "2.12.")):  # they say of a fraction that it is any string
    TYPES["Fraction"] = fractions.Fraction


@pytest.mark.parametrize("name", TYPES)
def test_a_type_parses_each_text_that_its_schema_allows(name: str) -> None:
    try:
        adapter = pydantic.TypeAdapter(TYPES[name])
        index = compiled(TYPES[name])
    except (ImportError, pydantic.PydanticUserError, TypeError):
        pytest.skip("not a type of values here")
    except SchemaError:
        # Which types are refused, `REFUSED` lists.
        return
    chance = random.Random(name)
    texts = [random_text(index, seed, 300) for seed in range(examples(100, 8))]
    steered = [steered_text(index, BYTES, chance, free=length) for length in range(examples(60, 6))]
    allowed = [text for text in texts if text is not None] + [text.decode() for text in steered if text is not None]
    assert allowed
    for text in allowed:
        adapter.validate_json(text)


BOUNDS = st.sampled_from(
    ["0", "1", "-1", "0.1", "-0.3", "1e-7", "100", "123456.789", "9999999999999999", "-12345678.9", "1e22"]
)
STEPS = st.sampled_from(["0.1", "0.01", "0.3", "0.5", "3", "2.5", "0.001"])
OPTION = st.sampled_from(["plain", "dumps", "any"])


@st.composite
def number_types(draw: st.DrawFn) -> Any:
    kind = draw(st.sampled_from([int, float, decimal.Decimal]))
    bounds = {
        draw(st.sampled_from(names)): draw(BOUNDS) for names in (("gt", "ge"), ("lt", "le")) if draw(st.booleans())
    }
    if draw(st.integers(0, 3)) == 0:
        bounds["multiple_of"] = draw(STEPS)
    if kind is int:
        bounds = {
            name: str(int(float(text))) for name, text in bounds.items() if int(float(text)) or name != "multiple_of"
        }
    options: dict[str, Any] = {name: kind(text) for name, text in bounds.items()}
    if kind is float and draw(st.booleans()):
        options["allow_inf_nan"] = False
    if kind is decimal.Decimal and draw(st.booleans()):
        options["decimal_places"] = draw(st.integers(0, 18))
        if draw(st.booleans()):
            options["max_digits"] = options["decimal_places"] + draw(st.integers(1, 20))
    return kind, Annotated[kind, Field(**options)] if options else kind


def _long_number(index: Index, chance: random.Random, longest: int) -> str | None:
    """A text that the index accepts, mostly long, of few different digits; None if it does not end."""
    guide, data, preferred = index.guide(), bytearray(), b""
    for step in range(longest + 400):
        allowed = index.allowed(guide.state).tolist()
        if allowed[-1] == 256 and (step >= longest or allowed == [256]):
            return data.decode()
        usual = [token for token in allowed if token < 256]
        if chance.random() < 0.15:
            preferred = chance.choice([b"0", b"9", b"1", b"5", b"."])
        token = preferred[0] if preferred and preferred[0] in usual else chance.choice(usual)
        guide.advance(token)
        data.append(token)
    return None


@settings(max_examples=examples(120, 12), deadline=None)
@given(
    number_types(),
    OPTION,
    st.randoms(use_true_random=False),
    st.lists(st.sampled_from([1, 3, 15, 17, 20, 40, 350]), min_size=4, max_size=8),
)
def test_number_types_read_long_numbers_exactly(
    kinds: Any, numbers: str, chance: random.Random, lengths: list[int]
) -> None:
    kind, given_type = kinds
    if kind is int and numbers == "any":
        numbers = "dumps"  # pydantic reads 1.0e20 as a double
    spec = JsonSchema(given_type, numbers=numbers)
    if numbers == "any" and '"integer"' in json.dumps(spec.schema, default=str):
        spec = JsonSchema(given_type, numbers="dumps")
    try:
        index = compile_spec(spec, BYTES)
    except SchemaError as error:
        if is_empty(error):
            return
        raise
    argument = type_of_annotation(given_type, "")
    for length in lengths:
        text = _long_number(index, chance, length)
        if text is not None:
            # Why: Decimal refuses large exponents even of 0.
            exact = json.loads(text) if text[0] == '"' else re.sub(r"^(-?0[.0]*)[eE].*", r"\1", text)
            value = kind(exact)
            assert spec.read(text) == argument.read(text) == value, text


def test_a_number_of_more_digits_than_pydantic_reads_exceeds_a_limit() -> None:
    for kind in (int, float, list[int]):
        text = f"[{'1' * 4301}]" if kind == list[int] else "1" * 4301
        assert compiled(kind).accepts(text.encode())
        with pytest.raises(LimitError) as caught:
            JsonSchema(kind).read(text)
        assert (caught.value.what, caught.value.given, caught.value.limit) == ("digits", 4301, 4300)


@pytest.mark.parametrize(
    ("kind", "accepted", "refused"),
    [
        (Annotated[float, Field(ge=0, lt=1)], ["0.9999999999999999", "0"], ["0.9999999999999999999999", "1"]),
        (Annotated[float, Field(gt=0)], ["0." + "0" * 44 + "1", "6.62607015"], ["0", "0." + "0" * 330 + "1"]),
        (pydantic.FiniteFloat, ["1" * 60], ["9" * 309]),
        (Annotated[float, Field(ge=0, lt=float("inf"))], ["0", "1.5"], ["-1"]),
        (pydantic.condecimal(max_digits=18, decimal_places=2), ["9999999999999.99"], ["9999999999999999.99"]),
        (decimal.Decimal, ["12345678901.2345", '"12345678901234567.89"'], ["12345678901234567.89", "3.141592653"]),
        (Annotated[decimal.Decimal, Field(ge=-180, le=180)], ["-7.123456789"], ["181", "7.1234567891"]),
        (Annotated[decimal.Decimal, Field(ge=10**14)], ["1" + "0" * 14], ["1" + "0" * 13]),
        (Annotated[decimal.Decimal, Field(gt=10**13, decimal_places=2)], ["10000000000000.1"], ["10000000000000.01"]),
        (Annotated[decimal.Decimal, Field(gt=0, lt=decimal.Decimal("1e-9"))], ["0.00000000000001"], ["0", "1"]),
        (Annotated[decimal.Decimal, Field(ge=10**20)], ["123456789012345678901"], ["123456789012345678901.5"]),
        (pydantic.condecimal(max_digits=2, decimal_places=2), ["0.5", "0.05"], ["0", "0.0", "1.5"]),
        (Literal["a", 1, None, True], ["1", "true", "null", '"a"'], ["1.0"]),
        (enum.Enum("Mixed", {"A": 1, "B": "x"}), ["1", '"x"'], ["1.0"]),
    ],
)
def test_numbers_that_a_type_would_change_or_refuse_are_left_out(
    kind: Any, accepted: list[str], refused: list[str]
) -> None:
    index = compiled(kind)
    assert [text for text in [*accepted, *refused] if index.accepts(text.encode())] == accepted


@pytest.mark.parametrize("name", [*REFUSED, *map(str, REFUSED_STANDARD)])
def test_what_a_schema_cannot_express_is_refused_with_a_remedy(name: str) -> None:
    kind = (
        {str(each): each for each in REFUSED_STANDARD}.get(name)
        or getattr(pydantic, name, None)
        or getattr(pydantic.types, name)
    )
    with pytest.raises(SchemaError) as caught:
        JsonSchema(kind)
    if name == "ImportString":
        # To read a value would import what the model wrote.
        with pytest.raises(SchemaError, match="no JSON Schema"):
            JsonSchema(kind, unsupported="record")
    else:
        assert "unsupported='record'" in str(caught.value)
        assert compiled(kind, unsupported="record").unenforced


def test_a_url_keeps_what_its_type_allows() -> None:
    urls = {
        pydantic.HttpUrl: ["http://a.b/c", "https://u:p@a-b.example:8080/x/y?q=1#f", "http://127.0.0.1", "http://[::1]/", "https://a?b=c"],
        pydantic.AnyUrl: ["mailto:a@b", "redis://a:1/0", "HTTP://A.B", "file:///etc", "x:y", "foo://a/b"],
        pydantic.FileUrl: ["file:///a/b"],
        pydantic.RedisDsn: ["redis://user:pw@host:6379/0"],
    }  # fmt: skip
    for kind, texts in urls.items():
        index = compiled(kind)
        for text in texts:
            pydantic.TypeAdapter(kind).validate_python(text)
            assert index.accepts(f'"{text}"'), text


ADDRESSES = [
    "john.doe@example.com", "a@b.c", "a+b@x-y.co.uk", "a@test.de", "a@b.co-m", "A@LOCAL.co", "a.@b.de", ".a@b.de", "a..b@c.de", "a@b-.de",
    "a@b", "a@b.localhost", "a@b.TEST", "a@ab--c.de", "a@b.c1", '"a b"@c.de', "a@[127.0.0.1]", "a" * 64 + "@b.de",
]  # fmt: skip


def test_mail_addresses_are_those_that_their_types_take() -> None:
    pytest.importorskip("email_validator")
    for kind in (pydantic.EmailStr, pydantic.NameEmail):
        index, adapter = compiled(kind), pydantic.TypeAdapter(kind)
        names = (
            ["{}"]
            if kind is pydantic.EmailStr
            else ["{}", "John Doe <{}>", '"Doe, J." <{}>', "J.<{}>", "John\nDoe <{}>"]
        )
        for text in (name.format(address) for name in names for address in ADDRESSES):
            try:
                adapter.validate_python(text)
            except pydantic.ValidationError:
                is_taken = False
            else:
                is_taken = text[:1] != '"' or " <" in text
            # One blank stands before the address. Before pydantic 2.14, a name may have line feeds.
            is_taken &= ".<" not in text and "\n" not in text
            assert index.accepts(json.dumps(text).encode()) == is_taken, (kind, text)
    short = compiled(Annotated[pydantic.EmailStr, Field(max_length=8, pattern="^a")])
    assert [text for text in ["ab@cd.de", "ab@cde.de", "bb@cd.de", "ab@cd"] if short.accepts(f'"{text}"')] == [
        "ab@cd.de"
    ]


@pytest.mark.parametrize("encoding", ["base64", "hex", "utf8"])
@pytest.mark.parametrize(("least", "most"), [(0, None), (0, 0), (1, 1), (2, 5), (3, None), (0, 4)])
def test_bytes_are_written_in_the_encoding_of_their_type(encoding: str, least: int, most: int | None) -> None:
    class Model(pydantic.BaseModel):
        model_config = {"val_json_bytes": encoding, "ser_json_bytes": encoding}
        data: Annotated[bytes, Field(min_length=least, max_length=most)]

    index = compiled(Model)
    for seed in range(examples(100, 10)):
        text = random_text(index, seed, 300)
        assert text is None or Model.model_validate_json(text)
    for length in range(8):
        text = Model.model_construct(data=bytes(range(65, 65 + length))).model_dump_json()
        assert index.accepts(text.encode()) == (least <= length <= (length if most is None else most)), text


def test_a_string_beside_an_iterable_is_a_string() -> None:
    for kind, text, value in [
        (str | Iterable[int], '"ab"', "ab"),
        (Iterable[str] | str, '"ab"', "ab"),
        (str | Iterable[int], "[1]", [1]),
    ]:
        assert compiled(kind).accepts(text)
        assert JsonSchema(kind).read(text) == value


@pytest.mark.parametrize(
    "kind", [str, datetime.date, bytes, list[int], dict[str, int], int, Literal["ab"], uuid.UUID, None]
)
@pytest.mark.parametrize("is_first", [True, False])
def test_a_class_reads_each_text_beside_an_iterable_as_pydantic_does(kind: Any, is_first: bool) -> None:
    class Holder(pydantic.BaseModel):
        x: typing.Union[(kind, Iterable[float]) if is_first else (Iterable[float], kind)]  # type: ignore[valid-type] # noqa: UP007

    index, alone = compiled(Holder), pydantic.TypeAdapter(kind)
    for value in (
        '"ab"',
        '"2024-01-02"',
        '"12345678-1234-4234-8234-123456789abc"',
        "[1]",
        '{"a":1}',
        "1",
        "null",
        "[]",
    ):
        text = f'{{"x":{value}}}'
        if not index.accepts(text):
            continue
        found = JsonSchema(Holder).read(text).x
        assert found == (json.loads(value) if value[0] == "[" else alone.validate_json(value))


LOWER = Annotated[str, StringConstraints(to_lower=True)]
DISTINCT = [
    (LOWER, "a", "A"), (LOWER, "ⓐ", "Ⓐ"), (Annotated[str, StringConstraints(to_upper=True)], "A", "a"),
    (uuid.UUID, "12345678-1234-4234-8234-123456789abc", "12345678-1234-4234-8234-123456789ABC"),
    (datetime.datetime, "2024-01-01T00:00:00", "2024-01-01T00:00"),
    (datetime.datetime, "2024-01-01T01:00:00Z", "2024-01-01T02:00:00+01:00"),
    (datetime.time, "10:00:00.5", "10:00:00.50"), (datetime.timedelta, "PT1M", "PT60S"), (datetime.timedelta, "P1DT2H", "PT26H"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "kept", "other"), DISTINCT)
def test_values_that_a_type_reads_as_equal_are_not_several_items_or_keys(kind: Any, kept: str, other: str) -> None:
    for collection in (set[kind], frozenset[kind], dict[kind, int]):
        given_type = Annotated[collection, Field(min_length=2)]
        is_dict = typing.get_origin(collection) is dict
        open_, close, value = ("{", "}", ":1") if is_dict else ("[", "]", "")
        several, single = compiled(given_type), compiled(collection)
        assert single.accepts(f'{open_}"{kept}"{value}{close}')
        pair = f'{open_}"{kept}"{value},"{other}"{value}{close}'
        assert not several.accepts(pair)
        with pytest.raises(pydantic.ValidationError):
            pydantic.TypeAdapter(given_type).validate_json(pair)
        for seed in range(examples(30, 3)):
            text = random_text(several, seed, 300)
            assert text is None or len(pydantic.TypeAdapter(given_type).validate_json(text)) >= 2
    # Elsewhere both are written.
    assert compiled(list[kind]).accepts(f'["{kept}","{other}"]')


def test_characters_whose_case_a_type_changes_are_not_in_items() -> None:
    for option, change in (("to_lower", str.lower), ("to_upper", str.upper)):
        index = compiled(set[Annotated[str, StringConstraints(**{option: True})]])
        changed = [
            chr(code) for code in (*range(32, 0xD800), *range(0xE000, 0x30000)) if change(chr(code)) != chr(code)
        ]
        assert [sign for sign in changed if index.accepts(f'["{sign}"]')] == []
        assert index.accepts(f'["{change("straße 1é")}"]')


def _tag(value: Any) -> str | None:
    return value.get("kind") if isinstance(value, dict) else str(value.kind)


class _Cat(pydantic.BaseModel):
    kind: Literal["cat"] = "cat"
    friends: "list[_Pet]" = []


class _Dog(pydantic.BaseModel):
    kind: Literal["dog"] = "dog"


_Pet = Annotated[Annotated[_Cat, Tag("cat")] | Annotated[_Dog, Tag("dog")], Discriminator(_tag)]
_Cat.model_rebuild()


def test_branches_that_a_function_tells_apart_have_their_tags() -> None:
    index, adapter = compiled(list[_Pet]), pydantic.TypeAdapter(list[_Pet])
    assert index.accepts('[{"kind":"cat","friends":[{"kind":"dog"}]},{"kind":"dog"}]')
    assert not index.accepts("[{}]")
    assert not index.accepts('[{"kind":"cat","friends":[{}]}]')
    for seed in range(examples(50, 10)):
        text = random_text(index, seed, 300)
        assert text is None or adapter.validate_json(text) is not None
    # Outside the union a tag has its default.
    assert compiled(_Dog).accepts("{}")


# Patterns, each read by Rust's regex and, where it can, by Python's re.
PATTERNS = [
    r"^\W+$", r"^\D$", r"^\S$", r"^\s$", r"^[^\w]$", r"^[^\s]$", r"^[\W\d]$", r"^[^\W]$", r"^[^\Wa]+$", r"^[\S\n]$", r"\ba\b", r"^a\B",
    r"\Ba", "^[[:digit:]]$", "^[[:^digit:]]$", "^[^[:^alpha:]b]$", r"^\x{41}$", r"^\u{e9}$", "^[]a]$", "^[^]a]$", "^.$", r"^\w$", r"^\d$",
    r"^[\w-]$", r"^[-\w]$", r"^[a\-z]$", r"^\pL$", r"^\PL$", r"^\p{Lu}$", r"^[^\p{L}]$", "a$", r"^\a$", "(?i)^k$", "(?s)^.$", r"^(?i:\w)$",
    r"^[^\d\s]$", r"a\z", "^[a&&b]$", r"\<a", r"a\b{end}", "(?m)^a$", "(?x)^a b$", "^(?!.*a)", r"^(?!\d)..$", "^a(?!b$)", r"(?<!\w)a",
    "^[[a]$", r"^(?=\w).$", r"a\Z", r"^\U00000041$", "(?s)^(?!.*a).*$", "^a{,3}$", r"^\N{DIGIT ONE}$", r"^[\b]$",
]  # fmt: skip
CHARACTERS = [
    *map(chr, range(0x21)), *"abAkK-[]^_0&1", *"é½²١\x85\xa0\ufeff\u200c\u2028Ⓐſ\u212a\u0301😀ª\u0378\U0001e4d0\u180eß一İ",
]  # fmt: skip


def model(pattern: Any, engine: str | None = None) -> type[pydantic.BaseModel] | None:
    """A model of one string; None if the dialect refuses the pattern."""
    try:

        class Model(pydantic.BaseModel):
            if engine is not None:
                model_config = {"regex_engine": engine}
            a: Annotated[str, Field(pattern=pattern)]

        Model.model_rebuild()
    except Exception:  # pydantic_core's own error
        return None
    return Model


def _kept(index: Any, kind: type[pydantic.BaseModel], text: str) -> bool:
    """Whether the mask allows a string; if so, the type must parse it."""
    data = json.dumps({"a": text}, ensure_ascii=False)
    if not index.accepts(data.encode()):
        return False
    kind.model_validate_json(data)
    return True


@pytest.mark.parametrize("engine", [None, "python-re", "compiled"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_allows_only_what_its_dialect_reads(pattern: str, engine: str | None) -> None:
    try:
        given_pattern = re.compile(pattern) if engine == "compiled" else pattern
    except re.error:
        return
    kind = model(given_pattern, engine if engine == "python-re" else None)
    if kind is None:
        return
    try:
        index = compiled(kind, escapes="any")
    except GuidedError:
        return
    chance = random.Random(pattern)
    for text in [
        "",
        *CHARACTERS,
        *("".join(chance.choices(CHARACTERS, k=chance.randint(2, 4))) for _ in range(examples(400, 100))),
    ]:
        _kept(index, kind, text)


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        (r"^\W+$", ["- +", "½"]), (r"^\S+$", ["é1", "😀"]), (r"^[^\s]+$", ["né"]), ("^[[:digit:]]{2}$", ["12"]), (r"^\x{41}$", ["A"]),
        ("^[]a]$", ["]", "a"]), (r"\bcat\b", ["a cat é", "cat"]), (r"^\pL+$", ["é"]), (r"^[\w.-]+@[\w-]+\.\w+$", ["a-b@c.de"]),
        (r"^\s*a\s*$", [" a\t"]),
    ],
)  # fmt: skip
def test_a_pattern_keeps_what_both_dialects_read(pattern: str, texts: list[str]) -> None:
    kind = model(pattern)
    assert kind is not None
    index = compiled(kind, escapes="any")
    assert all(_kept(index, kind, text) for text in texts)


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(st.sampled_from([r"\W", r"\D", r"\S", r"\s", r"[^\w]", r"[^\s-]", r"\b", r"\B", "a", ".", r"[\D]", r"\w"]), max_size=4),
    st.sampled_from([None, "python-re"]),
    st.lists(st.text(st.sampled_from(CHARACTERS), max_size=4), min_size=1, max_size=8),
)  # fmt: skip
def test_sequences_of_sets_and_boundaries_allow_only_what_their_dialect_reads(
    pieces: list[str], engine: str | None, texts: list[str]
) -> None:
    kind = model(f"^{''.join(pieces)}$", engine)
    assert kind is not None
    try:
        index = compiled(kind, escapes="any")
    except SchemaError:
        # No text matches.
        return
    for text in texts:
        _kept(index, kind, text)


class Shape(enum.Enum):
    SQUARE = (4, 4)
    LINE = (2, 0)


class Color(enum.Enum):
    RED = "red"


class Holder(pydantic.BaseModel):
    shape: Shape


# Type, the values of texts, and texts that are no values.
READ: list[tuple[Any, dict[str, Any], list[str]]] = [
    (Annotated[str, Regex("[ab]*"), Regex("a.*")], {"a": "a", "ab": "ab"}, ["b", "ac"]),
    (Annotated[str, Regex(r"(?i)\d+[a-z]?(?=a)a|$")], {"1a": "1a", "\u0661BA": "\u0661BA", "": ""}, ["1b", "a"]),
    (Annotated[str, Regex("a."), pydantic.StringConstraints(pattern="b$")], {"ab": "ab"}, ["ac", "a\r", "b"]),
    (list[Annotated[str, re.compile("a.", re.S)]], {"[]": []}, ["a"]),
    (Annotated[str, re.compile("a.", re.S)], {"a\n": "a\n"}, ["a", "ab\n"]),
    (Annotated[str, parse("[ab]*") & parse("a?b?")], {"ab": "ab"}, ["ba", "aa"]),
    (Annotated[str, Complement(parse("a*"))], {"ab": "ab"}, ["", "aa"]),
    (Annotated[str, Choice(["a,b", "c"])], {"a,b": "a,b"}, ["a"]),
    (Annotated[str, Text("a.")] | None, {"a.": "a."}, ["ab"]),
    (Shape, {"LINE": Shape.LINE}, ["[2,0]", "line"]),
    (dict[Literal["a"], Shape], {'{"a":"SQUARE"}': {"a": Shape.SQUARE}}, ["SQUARE"]),
    (Literal[Color.RED, 1], {"red": Color.RED, "1": 1}, ["RED", "2"]),
]


@pytest.mark.parametrize(("kind", "accepted", "refused"), READ)
def test_patterns_beside_a_type_and_members_are_enforced_and_read(
    kind: Any, accepted: dict[str, Any], refused: list[str]
) -> None:
    index, spec = compiled(kind), JsonSchema(kind)
    for text, value in accepted.items():
        written = (
            text
            if text[:1] in ("[", "{", "1") and index.accepts(text.encode())
            else json.dumps(text, ensure_ascii=False)
        )
        assert index.accepts(written.encode()), written
        assert spec.read(written) == value
    for text in refused:
        assert not index.accepts(json.dumps(text).encode()), text
        assert not index.accepts(text.encode()), text


@pytest.mark.parametrize(
    ("kind", "keyword"),
    [
        (Annotated[str, annotated_types.Ge(3)], "ge"),
        (Annotated[Annotated[int, annotated_types.Ge(0)] | str, annotated_types.Le(3)], "le"),
        (Annotated[int, annotated_types.MaxLen(3)], "maxLength"),
        (Annotated[bool, Regex("a")], "Regex"),
        (Annotated[list[int], re.compile("a")], "pattern"),
        (Annotated[str, re.compile(b"a")], "re.Pattern"),
        (Annotated[str, Regex("a", builder="interegular")], "Regex"),
        (Annotated[str, parse("a") + (parse("b") & parse("b"))], "pattern"),
        (Literal[b"a"], "Literal"),
        (Holder, "Enum"),
    ],
)
def test_constraints_that_no_keyword_expresses_are_refused(kind: Any, keyword: str) -> None:
    with pytest.raises(SchemaError) as caught:
        JsonSchema(kind)
    assert caught.value.keyword == keyword


def test_a_required_field_that_its_type_leaves_out_of_the_schema_is_refused() -> None:
    hidden = SkipJsonSchema[int], Annotated[int, WithJsonSchema(None)]
    for kind in hidden:
        model = pydantic.create_model("Shown", a=(str, ...), b=(kind, ...))
        within = pydantic.create_model("Outer", inner=(list[model], ...))  # type: ignore[valid-type]
        for refused in (model, within, typing.TypedDict("Table", {"b": kind})):  # type: ignore[operator]
            with pytest.raises(SchemaError, match=r"the field 'b' is required and has no schema.*give it a default"):
                JsonSchema(refused)
        # With a default, every text has a value.
        index = compiled(pydantic.create_model("Shown", a=(str, ...), b=(kind, 3)))
        assert index.accepts(b'{"a":""}')
        assert not index.accepts(b'{"a":"","b":3}')


@pytest.mark.parametrize(
    "path", [AliasPath("inner", "b"), AliasPath("b"), AliasChoices(AliasPath("inner", "b"), AliasPath("c", 0))]
)
def test_a_field_that_is_read_from_within_another_is_refused(path: Any) -> None:
    """It would be read as its default, whatever the text says."""
    model = pydantic.create_model("Shown", a=(str, ...), b=(int, pydantic.Field(3, validation_alias=path)))
    with pytest.raises(SchemaError, match=r"the field 'b' is read from within another"):
        JsonSchema(model)
    named = pydantic.create_model(
        "Shown", b=(int, pydantic.Field(validation_alias=AliasChoices("c", AliasPath("inner", "b"))))
    )
    assert compiled(named).accepts(b'{"c":1}')
    assert not compiled(named).accepts(b'{"b":1}')


@pytest.mark.parametrize("decorate", [dataclasses.dataclass, pydantic.dataclasses.dataclass])
def test_a_field_that_no_constructor_takes_is_in_no_text(decorate: Any) -> None:
    class Partial:
        a: int
        b: int = dataclasses.field(init=False, default=3)

    kind = decorate(Partial)
    index = compiled(kind)
    assert index.accepts(b'{"a":1}')
    assert not index.accepts(b'{"a":1,"b":9}')
    assert JsonSchema(kind).read('{"a":1}') == kind(1)


def test_a_malformed_pattern_beside_a_type_is_refused() -> None:
    for metadata in (Regex("a("), Regex("(?<=a*)b(")):
        with pytest.raises(PatternError):
            JsonSchema(Annotated[str, metadata])
