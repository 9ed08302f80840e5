"""Misspelled options, options of whitespace, options of choices, and texts as str or bytes: what users write is understood or refused."""

import enum
import inspect
import re
from collections.abc import Callable
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import guided
from guided.calls.parse import CallParser
from guided.engine.grammar import GrammarOptions
from guided.engine.json_schema import SchemaOptions
from tests.generate.models import ASCII, ascii_model, greedy_text_model

MODEL: Any = ascii_model()


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Shape(enum.Enum):
    POINT = (0,)
    LINE = (1,)


class Word(enum.StrEnum):
    YES = "yes"
    NO = "no"


def add(x: int) -> int:
    return x


def test_names_of_other_libraries() -> None:
    guide = guided.compile(guided.Regex("a"), ASCII).guide()
    for name, advice in (
        ("accept_token", "advance"),
        ("is_terminated", "is_finished"),
        ("find_jump_forward_string", "forced"),
    ):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'; here: {advice}"):
            getattr(guide, name)
    with pytest.raises(TypeError, match="'max_tokens'; here: an option of a call"):
        guided.json(MODEL, int, max_tokens=5)  # type: ignore[call-arg]
    with pytest.raises(guided.SchemaError, match="'qwen'; here: 'hermes'"):
        guided.Tools([add], format="qwen")


@pytest.mark.parametrize(
    "spec", [guided.Regex("a"), guided.Choice(["a"]), guided.JsonSchema(int), "a" + guided.FreeText()]
)
def test_a_spec_in_an_f_string_is_refused(spec: Any) -> None:
    with pytest.raises(TypeError, match=f"a {type(spec).__name__} in an f-string would become plain text"):
        f"Name: {spec}"


# A call with a misspelled option, the public name, and what was meant.
MISSPELLED: list[tuple[Callable[..., Any], str, str, str]] = [
    (lambda **options: guided.json(MODEL, int, **options), "whitespce", "json", "whitespace"),
    (lambda **options: guided.json(MODEL, int, **options), "limit", "json", "limits"),
    (lambda **options: guided.JsonSchema(int, **options), "whitespce", "JsonSchema", "whitespace"),
    (lambda **options: guided.JsonSchema(int, **options), "property_orders", "JsonSchema", "property_order"),
    (lambda **options: guided.regex(MODEL, "a", **options), "indx", "regex", "index"),
    (lambda **options: guided.choice(MODEL, ["a"], **options), "tolernce", "choice", "tolerance"),
    (lambda **options: guided.grammar(MODEL, "json", **options), "strt", "grammar", "start"),
    (lambda **options: guided.tools(MODEL, [add], **options), "formt", "tools", "format"),
    (lambda **options: guided.tools(MODEL, [add], **options), "tool_choise", "tools", "tool_choice"),
    (lambda **options: guided.generator(MODEL, None, **options), "limit", "generator", "limits"),
    (lambda **options: guided.compile(guided.Regex("a"), ASCII, **options), "limit", "compile", "limits"),
    (lambda **options: guided.load(**options), "bakend", "load", "backend"),
    (lambda **options: guided.load_index("x", ASCII, **options), "mmapp", "load_index", "mmap"),
    (lambda **options: guided.read_tools({}, **options), "chck", "read_tools", "check"),
    (lambda **options: guided.Regex("a", **options), "biulder", "Regex", "builder"),
    (lambda **options: guided.Grammar("json", **options), "lexr", "Grammar", "lexer"),
    (lambda **options: guided.Tools([add], **options), "strct", "Tools", "strict"),
    (lambda **options: guided.Tool(add, **options), "desription", "Tool", "description"),
    (lambda **options: guided.Limits(**options), "state", "Limits", "states"),
    (lambda **options: guided.Vocabulary([b"a"], **options), "eoss", "Vocabulary", "eos"),
    (lambda **options: guided.regex(MODEL, "a")("p", **options), "max_token", "Generator", "max_tokens"),
    (
        lambda **options: guided.regex(MODEL, "a").stream("p", **options),
        "temprature",
        "Generator.stream",
        "temperature",
    ),
    (lambda **options: guided.regex(MODEL, "a").batch(["p"], **options), "widht", "Generator.batch", "width"),
    (lambda **options: guided.tools(MODEL, [add])("p", **options), "sed", "Generator", "seed"),
]


@pytest.mark.parametrize(("call", "given_name", "public", "meant"), MISSPELLED)
def test_misspelled_options_are_refused_with_the_closest(
    call: Callable[..., Any], given_name: str, public: str, meant: str
) -> None:
    with pytest.raises(TypeError) as caught:
        call(**{given_name: None})
    assert str(caught.value) == f"{public}() got an unexpected keyword argument {given_name!r}; did you mean {meant!r}?"


def test_options_like_no_other_are_refused_with_a_list() -> None:
    with pytest.raises(TypeError, match=re.escape("regex() got an unexpected keyword argument 'qqq'; arguments are ")):
        guided.regex(MODEL, "a", qqq=1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("given_text", "meant"),
    [("compakt", "compact"), ("Compact", "compact"), ("flexibel", "flexible"), (" compact", "compact"), ("none", None)],
)
def test_misspelled_layouts_are_refused(given_text: str, meant: str | None) -> None:
    for make in (
        lambda: guided.JsonSchema({}, whitespace=given_text),
        lambda: guided.json(MODEL, {}, whitespace=given_text),
    ):
        with pytest.raises(guided.SchemaError, match="whitespace must be 'compact', 'flexible'") as caught:
            make()
        assert (f"did you mean {meant!r}?" in str(caught.value)) == (meant is not None)


@given(st.text(" \t\n\rab\xa0\u2028", max_size=4))
def test_a_pattern_of_whitespace_matches_whitespace_of_json_only(text: str) -> None:
    pattern = re.escape(text)
    if set(text) <= set(" \t\n\r"):
        assert guided.JsonSchema(True, whitespace=pattern).options.whitespace == pattern
    else:
        with pytest.raises(guided.SchemaError, match="whitespace must be"):
            guided.JsonSchema(True, whitespace=pattern)


@pytest.mark.parametrize(
    ("options", "texts", "values"),
    [
        (Color, ["red", "blue"], [Color.RED, Color.BLUE]),
        ([Color.BLUE], ["blue"], [Color.BLUE]),
        (Level, ["1", "2"], [Level.LOW, Level.HIGH]),
        (Shape, ["POINT", "LINE"], [Shape.POINT, Shape.LINE]),
        (Word, ["yes", "no"], [Word.YES, Word.NO]),
        (Literal["a", "b"], ["a", "b"], ["a", "b"]),
        (Literal[1, True, None, "x"], ["1", "true", "null", "x"], [1, True, None, "x"]),
        (Literal[Color.RED, "green"], ["red", "green"], [Color.RED, "green"]),
        (["a", Word.YES], ["a", "yes"], ["a", Word.YES]),
    ],
)
def test_choices_of_enums_and_literals_have_their_members_as_values(
    options: Any, texts: list[str], values: list[Any]
) -> None:
    spec = guided.Choice(options)
    assert list(spec.options) == texts
    for text, value in zip(texts, values, strict=True):
        for result in (
            guided.choice(greedy_text_model(text), options)("p"),
            guided.choice(greedy_text_model(text), spec)("p"),
            guided.generator(greedy_text_model(text), spec)("p"),
            guided.choice(greedy_text_model(text), options, probabilities=True)("p"),
        ):
            assert type(result.value) is type(spec.values[spec.options.index(result.text)])
            assert result.value == spec.read(result.text)
        assert (spec.read(text), type(spec.read(text))) == (value, type(value))
    assert spec.fingerprint == guided.Choice(texts).fingerprint


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        (enum.Enum("Empty", {}), guided.SchemaError, "at least one option"),
        (Literal["1", 1], guided.SchemaError, "duplicate option '1'"),
        (Literal[b"a"], TypeError, "option 0 must be a str, a number or an Enum member, not bytes"),
        (int | None, TypeError, "options must be a list of str, an Enum class or a Literal"),
        (int, TypeError, "options must be a list of str, an Enum class or a Literal, not int"),
    ],
)
def test_choices_of_other_things_are_refused(options: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        guided.Choice(options)
    with pytest.raises(kind, match=message):
        guided.choice(MODEL, options)


def test_an_unknown_option_has_no_value() -> None:
    with pytest.raises(guided.SchemaError, match="'c' is not one of the options"):
        guided.Choice(["a", "b"]).read("c")


@pytest.mark.parametrize(
    "spec",
    [
        guided.Regex("é+|\N{SNOWMAN}"),
        guided.Choice(["é", "ab"]),
        guided.JsonSchema({"type": "string", "maxLength": 2}),
        guided.Grammar('start: "é" | "(" start ")"'),
    ],
    ids=lambda spec: type(spec).__name__,
)
@given(text=st.text('é\N{SNOWMAN}ab()"\ud800', max_size=4))
def test_texts_are_str_or_bytes(spec: Any, text: str) -> None:
    vocabulary = guided.Vocabulary([bytes([byte]) for byte in range(256)], eos=[256], size=257)
    index = guided.compile(spec, vocabulary)
    data = text.encode("utf-8", "surrogatepass")
    assert index.accepts(text) == index.accepts(data) == index.guide().accepts(text) == index.guide().accepts(data)
    if "\ud800" in text:
        assert not index.accepts(text)


def test_other_than_texts_are_refused() -> None:
    index = guided.compile(guided.Regex("a"), ASCII)
    for accepts in (index.accepts, index.guide().accepts, guided.Regex("a").lower(guided.Limits()).accepts):
        for wrong in (None, 1, ["a"]):
            with pytest.raises(TypeError, match="expected str or bytes, not "):
                accepts(wrong)  # type: ignore[arg-type]


def test_calls_are_read_from_str_or_bytes() -> None:
    text = '{"name": "add", "arguments": {"x": 5}}'
    spec = guided.Tools([add], tool_choice="required")
    assert CallParser(spec).feed(text) == CallParser(spec).feed(text.encode())


def test_null_is_a_value() -> None:
    result = guided.json(greedy_text_model("null"), {"type": "null"})("p")
    assert (result.value, result.error) == (None, None)
    cut = guided.json(greedy_text_model("null"), {"type": "null"})("p", stop="ll")
    assert isinstance(cut.error, guided.IncompleteError)
    with pytest.raises(guided.IncompleteError):
        cut.value  # noqa: B018


# Factory, the spec that it takes, and such a spec; keywords that the factory passes on to the spec.
FACTORIES: list[tuple[Callable[..., Any], Any, Any, frozenset[str]]] = [
    (guided.regex, guided.Regex, guided.Regex("a"), frozenset()),
    (guided.choice, guided.Choice, guided.Choice(["a", "b"]), frozenset()),
    (guided.json, guided.JsonSchema, guided.JsonSchema(int), frozenset(SchemaOptions.__annotations__)),
    (guided.grammar, guided.Grammar, guided.Grammar('start: "a"'), frozenset(GrammarOptions.__annotations__)),
    (guided.tools, guided.Tools, guided.Tools([add]), frozenset()),
    (guided.generator, guided.Tools, guided.Tools([add]), frozenset()),
    (guided.generator, guided.JsonSchema, guided.JsonSchema(int), frozenset()),
]


@pytest.mark.parametrize(
    ("factory", "kind", "spec", "passed_on"), FACTORIES, ids=lambda item: getattr(item, "__name__", "")
)
def test_a_factory_refuses_every_option_that_a_spec_has_of_its_own(
    factory: Callable[..., Any], kind: Any, spec: Any, passed_on: frozenset[str]
) -> None:
    """Also if it is given the value that it has anyway: the spec may have another one."""
    declared = inspect.signature(factory).parameters
    first = list(declared)[1]
    shared = (declared.keys() & inspect.signature(kind).parameters.keys()) - {first, "options", "limits"}
    assert (shared | passed_on) or kind is guided.Choice or factory is guided.generator
    for name in shared | passed_on:
        for value in (declared[name].default if name in declared else None, True, "x"):
            with pytest.raises(TypeError, match=f"a {kind.__name__} has its own {name}: pass options to"):
                factory(MODEL, spec, **{name: value})
            with pytest.raises(TypeError, match=f"a {kind.__name__} has its own {name}: pass options to"):
                factory(model=MODEL, **{first: spec, name: value})
    factory(MODEL, spec, limits=guided.Limits())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: guided.choice(MODEL, ["a", "b"], tolerance=0.1), "tolerance is for probabilities=True"),
        (
            lambda: guided.tools(MODEL, [add], execute=False, confirm=bool),
            "execute=False runs no calls: leave out confirm",
        ),
        (
            lambda: guided.tools(MODEL, [add], execute=False, timeout=1),
            "execute=False runs no calls: leave out timeout",
        ),
        (
            lambda: guided.tools(MODEL, [add], execute=False, run_steered=True),
            "execute=False runs no calls: leave out run_steered",
        ),
        (
            lambda: guided.tools(MODEL, [add], execute=False, concurrency=8),
            "execute=False runs no calls: leave out concurrency",
        ),
    ],
)
def test_options_of_another_way_are_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_choices_with_probabilities_are_retried_too() -> None:
    made = guided.choice(greedy_text_model("absent"), ["a", "absent"], probabilities=True)
    result = made("p", max_tokens=1, retries=2)
    assert len(result.refused) == 2
    assert result.steered == 1
