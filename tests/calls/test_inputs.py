"""`spec_of`: every entry builds the same spec from a constraint, reads the same values, and reports mistakes."""

import dataclasses
import enum
import functools
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NewType, Optional, TypedDict

import lark
import pytest
from pydantic import BaseModel, TypeAdapter

import guided
from guided.calls.inputs import spec_of
from guided.engine.algebra import Concatenation
from guided.generate.compositions import CompositionGenerator
from guided.generate.structured import JsonGenerator
from guided.generate.tools import ToolsGenerator
from tests.cli.programs import call, errors_of, write_ranks
from tests.generate.chats import QWEN
from tests.generate.models import ASCII, ascii_model, greedy_text_model


class City(BaseModel):
    name: str


@dataclasses.dataclass
class Point:
    x: int


class Movie(TypedDict):
    title: str


class Pair(NamedTuple):
    x: int


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Shape(enum.Enum):
    ROUND = (1, 2)
    FLAT = (3, 4)


def add(a: int) -> int:
    """Add one."""
    return a + 1


class Adder:
    def __call__(self, a: int) -> int:
        return a

    def method(self, a: int) -> int:
        """Add."""
        return a


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
DEFINITION = {"type": "function", "function": {"name": "f", "parameters": SCHEMA}}
RESPONSE_FORMAT = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}
TAG = {"type": "structural_tag", "format": {"type": "const_string", "value": "x"}}

# A constraint, its spec, a text, and the value that the text is read as (in a file, if that is another one).
GIVEN: list[tuple[Any, type, str, Any, Any]] = [
    (City, guided.JsonSchema, '{"name":"Rome"}', City(name="Rome"), {"name": "Rome"}),
    (Point, guided.JsonSchema, '{"x":3}', Point(3), {"x": 3}),
    (Movie, guided.JsonSchema, '{"title":"M"}', {"title": "M"}, {"title": "M"}),
    (Pair, guided.JsonSchema, "[3]", Pair(3), [3]),
    (int, guided.JsonSchema, "12", 12, 12),
    (list[Point], guided.JsonSchema, '[{"x":3}]', [Point(3)], [{"x": 3}]),
    (int | None, guided.JsonSchema, "null", None, None),
    (Optional[int], guided.JsonSchema, "4", 4, 4),  # noqa: UP045 - as people write it
    (Annotated[int, "small"], guided.JsonSchema, "4", 4, 4),
    (NewType("Id", int), guided.JsonSchema, "4", 4, 4),
    (TypeAdapter(list[int]), guided.JsonSchema, "[1]", [1], [1]),
    (SCHEMA, guided.JsonSchema, '{"a":1}', {"a": 1}, {"a": 1}),
    (RESPONSE_FORMAT, guided.JsonSchema, '{"a":1}', {"a": 1}, {"a": 1}),
    (guided.JsonSchema(Literal["a", 1], eager=True), guided.JsonSchema, "1", 1, 1),
    (Color, guided.Choice, "red", Color.RED, "red"),
    (Level, guided.Choice, "2", Level.HIGH, 2),
    (Shape, guided.Choice, "FLAT", Shape.FLAT, "FLAT"),
    (Literal["yes", 1, True, None], guided.Choice, "true", True, True),
    (["a", "b"], guided.Choice, "b", "b", "b"),
    ([1, 2.5, "x", None], guided.Choice, "2.5", 2.5, 2.5),
    ((Color.RED, Level.LOW), guided.Choice, "1", Level.LOW, 1),
    ({"only"}, guided.Choice, "only", "only", "only"),
    ("a+", guided.Choice, "a+", "a+", "a+"),
    (re.compile("A+b", re.IGNORECASE), guided.Regex, "aab", "aab", "aab"),
    (guided.Regex("[ab]"), guided.Regex, "b", "b", "b"),
    (TAG, guided.StructuralTag, "x", "x", "x"),
]
TOOLS: list[Any] = [
    add, [add], DEFINITION, [DEFINITION, add], (guided.Tool(add),), guided.Tool(add), functools.partial(add), Adder().method,
    [Adder().method],
    {"name": "f", "parameters": SCHEMA}, {"name": "f", "input_schema": SCHEMA}, {"name": "f", "inputSchema": SCHEMA},
]  # fmt: skip


def value_of(constraint: Any, text: str) -> Any:
    return guided.generator(greedy_text_model(text), constraint)("p", max_tokens=60).value


@pytest.mark.parametrize(("given", "kind", "text", "value", "stored"), GIVEN, ids=lambda item: str(item)[:30])
def test_a_constraint_is_the_same_in_every_entry(
    given: Any, kind: type, text: str, value: Any, stored: Any, tmp_path: Path
) -> None:
    spec = spec_of(given)
    assert type(spec) is kind
    index = guided.compile(given, ASCII)
    assert index.spec_fingerprint == guided.compile(spec, ASCII).spec_fingerprint
    assert index.accepts(text)
    for constraint in (given, spec, index):
        assert value_of(constraint, text) == value
    index.save(tmp_path / "x.index")
    for again in (guided.load_index(tmp_path / "x.index", ASCII), pickle.loads(pickle.dumps(index))):
        found = value_of(again, text)
        assert (type(found), found) == (type(stored), stored)
    composed = guided.compile("<" + guided.Maybe(given) + ">", ASCII)
    assert composed.accepts(f"<{text}>")
    assert composed.accepts("<>")


@pytest.mark.parametrize("given", TOOLS)
def test_functions_and_definitions_are_tools_in_every_entry(given: Any) -> None:
    spec = spec_of(given)
    assert type(spec) is guided.Tools
    model = ascii_model()
    for made in (
        guided.generator(model, given),
        guided.tools(model, given),
        guided.generator(model, guided.compile(given, ASCII)),
    ):
        assert type(made) is ToolsGenerator
        assert made.spec.fingerprint == spec.fingerprint
    composed = guided.compile(guided.FreeText(stop=":") + given, ASCII)
    assert composed.spec_fingerprint == (guided.FreeText(stop=":") + spec).fingerprint


def test_parts_of_compositions_are_converted_once_and_kept_if_they_are_specs() -> None:
    spec = guided.FreeText(stop=".") + guided.Choice(["a"])
    assert spec_of(spec) is spec
    part = "n" + guided.Maybe([1, 2])
    converted = spec_of(part | (part + City))
    first, second = converted.parts
    assert isinstance(second, Concatenation)
    assert second.parts[1] is first.parts[1]
    named = "x" + guided.Maybe(Literal[1, 2]).named("n")
    assert guided.captures(named, "x2") == {"n": 2}
    made = guided.generator(greedy_text_model("x2"), guided.compile(named, ASCII))
    assert isinstance(made, CompositionGenerator)
    assert made("p").captures == {"n": 2}


def test_captures_of_a_stored_composition_are_plain_values(tmp_path: Path) -> None:
    spec = (
        guided.FreeText(stop=":").named("text")
        + guided.JsonSchema(SCHEMA).named("a")
        + guided.Choice([1, 2]).named("n")
    )
    guided.compile(spec, ASCII).save(tmp_path / "x.index")
    made = guided.generator(greedy_text_model('b:{"a":1}2'), guided.load_index(tmp_path / "x.index", ASCII))
    assert made("p", max_tokens=40).captures == {"text": "b", "a": {"a": 1}, "n": 2}


def test_grammars_are_files_or_lark_objects_and_give_trees(tmp_path: Path) -> None:
    (tmp_path / "g.lark").write_text('start: "a" | "b"')
    for given in (
        tmp_path / "g.lark",
        lark.Lark('start: "a" | "b"', parser="lalr"),
        guided.Grammar('start: "a" | "b"'),
    ):
        assert type(spec_of(given)) is guided.Grammar
        assert value_of(given, "a").data == "start"
        assert value_of(guided.compile(given, ASCII), "a").data == "start"
    guided.compile(tmp_path / "g.lark", ASCII).save(tmp_path / "g.index")
    assert value_of(guided.load_index(tmp_path / "g.index", ASCII), "a") == "a"
    (tmp_path / "s.json").write_text('{"type": "integer"}')
    assert value_of(tmp_path / "s.json", "7") == 7
    (tmp_path / "g.gbnf").write_text('root ::= "a" | "b"')
    assert value_of(tmp_path / "g.gbnf", "b") == "b"


def test_values_of_large_choices_are_not_stored(tmp_path: Path) -> None:
    guided.compile(list(range(9_000)), ASCII).save(tmp_path / "x.index")
    assert value_of(guided.load_index(tmp_path / "x.index", ASCII), "7") == "7"


@pytest.mark.parametrize(
    ("flags", "text", "is_accepted"),
    [
        (re.IGNORECASE, "AB", True), (re.DOTALL, "a\nb", True), (re.NOFLAG, "a\nb", False), (re.ASCII, "aéb", True),
        (re.VERBOSE, "ab", True),
    ],
)  # fmt: skip
def test_compiled_patterns_keep_their_flags(flags: re.RegexFlag, text: str, is_accepted: bool) -> None:
    pattern = re.compile("a .? b" if flags & re.VERBOSE else "a.?b", flags)
    assert (pattern.fullmatch(text) is not None) == is_accepted
    index = guided.compile(pattern, guided.Vocabulary([bytes([b]) for b in range(256)], eos=[256], size=257))
    assert index.accepts(text) == is_accepted
    assert guided.regex(ascii_model(), pattern).index is not None
    with pytest.raises(TypeError, match="a Pattern has its own ascii"):
        guided.regex(ascii_model(), pattern, ascii=True)


def letter() -> guided.Generator[str]:
    return guided.regex(ascii_model(), "[abc]")


@pytest.mark.parametrize("text", [r"\d+", "[a-z]{3}", "a.*b", "x[01]+"])
def test_a_text_that_looks_like_a_pattern_is_a_literal_with_a_warning(text: str) -> None:
    with pytest.warns(UserWarning, match="is a literal text; a pattern is guided.Regex"):
        index = guided.compile(text, ASCII)
    assert index.accepts(text)
    spec_of("1 + 1 = 2? [yes] a|b. C:\\Temp")
    spec_of(guided.FreeText(stop=".") + r"\d+")


def many(n: int) -> Iterator[int]:
    yield from range(n)


MISTAKES: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: spec_of(3), TypeError, "expected a spec, a str .a literal text.*, not int 3"),
    (lambda: spec_of(None), TypeError, r"not None .free text is guided.generator\(model, None\), and guided.FreeText\(\) in a composition"),
    (lambda: spec_of(True), TypeError, r"guided.JsonSchema\(True\)"),
    (lambda: spec_of(b"a"), TypeError, "not bytes b'a'"),
    (lambda: spec_of(object()), TypeError, "not object"),
    (lambda: spec_of([]), guided.SchemaError, "a choice needs at least one option"),
    (lambda: spec_of([int, str]), TypeError,
     "option 0 must be .*, not the class int; alternatives of types and specs are written with ., as in City . int"),
    (lambda: spec_of([guided.Regex("a")]), TypeError, "alternatives of types and specs are written with ."),
    (lambda: spec_of([["a"]]), TypeError, "option 0 must be a str, a number or an Enum member, not list"),
    (lambda: spec_of(["a", "a"]), guided.SchemaError, "duplicate option 'a'"),
    (lambda: spec_of([add, "x"]), TypeError, "a tool must be a callable or a dict, not str"),
    (lambda: spec_of({"type": "json_object"}), TypeError, r"pass guided.JsonSchema\({'type': 'object'}\)"),
    (lambda: spec_of({"type": "text"}), TypeError, "pass None, for free text"),
    (lambda: spec_of({"type": "json_schema"}), guided.SchemaError, "needs a schema"),
    (lambda: spec_of(re.compile(b"a")), TypeError, "a pattern of bytes has no characters"),
    (lambda: spec_of(Path("x.txt")), TypeError, "a schema .*json. or a grammar .*lark, .gbnf., not 'x.txt'"),
    (lambda: spec_of(Path("none.json")), guided.SchemaError, "none.json cannot be read: No such file"),
    (lambda: guided.compile(City, City), TypeError, "expected a Vocabulary, not the class City"),  # type: ignore[arg-type]
    (lambda: guided.compile(City, ASCII, limit=3), TypeError, "did you mean 'limits'"),  # type: ignore[call-arg]
    (lambda: guided.generator(City, ascii_model()),  # type: ignore[call-overload]
     TypeError, r"the model comes first, as in guided.generator\(model, City\)"),
    (lambda: guided.choice(ascii_model(), "yes", "no"),  # type: ignore[call-overload]
     TypeError, "the options are one argument: pass a list"),
    (lambda: guided.choice(ascii_model(), "yes"), TypeError, "not one str: put it in a list"),
    (lambda: guided.json(ascii_model(), guided.Regex("a")), TypeError, "json takes a schema or a type"),  # type: ignore[call-overload]
    (lambda: guided.regex(ascii_model(), City), TypeError, "a pattern must be a str, not the class City"),  # type: ignore[arg-type]
    (lambda: guided.tools(ascii_model(), "add"), TypeError, "tools must be a list of callables, dicts and Tools, not str"),
    (lambda: guided.tools(ascii_model(), []), guided.SchemaError, "tool"),
    (lambda: "x" + guided.Maybe(3), TypeError, "a part must be a spec, a str, a type"),
    (lambda: guided.Maybe(True), TypeError, r"write JsonSchema\(...\)"),
    # Types, specs and their arguments.
    (lambda: spec_of(City(name="x")), TypeError, "an instance of City: pass the class City"),
    (lambda: spec_of(Point(1)), TypeError, "an instance of Point: pass the class Point"),
    (lambda: spec_of(Color.RED), TypeError, "pass the class Color, or a list of members"),
    (lambda: spec_of(lambda a: a), guided.SchemaError, r"give another with Tool\(..., name=...\)"),
    (lambda: guided.JsonSchema(City(name="x")), TypeError, "pass the model's class"),  # type: ignore[call-overload]
    (lambda: guided.JsonSchema("person.json"), guided.SchemaError, "to read a file, give a pathlib.Path"),
    (lambda: guided.compile({"type": "int"}, ASCII), guided.SchemaError, "a type must be one of null, boolean, number, integer"),
    (lambda: guided.JsonSchema(City, whitespace="none"), guided.SchemaError, "whitespace must be 'compact', 'flexible'"),
    (lambda: guided.JsonSchema(City, white_space="compact"), TypeError, "did you mean 'whitespace'"),  # type: ignore[call-overload]
    (lambda: guided.Regex(re.compile("a")), TypeError, r"Regex.of\(...\) takes a compiled one"),  # type: ignore[arg-type]
    (lambda: guided.Grammar("x.lark"), guided.GrammarError, r"give pathlib.Path\('x.lark'\)"),
    (lambda: guided.FreeText(stop=3), TypeError, "stop must be a str or several, not int"),  # type: ignore[arg-type]
    (lambda: guided.captures(guided.Regex("a"), "a"), TypeError, "captures needs a composition"),  # type: ignore[arg-type]
    (lambda: guided.Tools([add], format="hermez"), guided.SchemaError, "did you mean 'hermes'. known formats are "),
    (lambda: guided.Tools([add], tool_choice="ad"), guided.SchemaError, "unknown tool 'ad'; known tools are add, and the choices"),
    (lambda: guided.Vocabulary(["a"]), TypeError, "encode it to the bytes it spells"),  # type: ignore[list-item]
    (lambda: guided.compile("a", guided.Vocabulary([b"a"])), guided.VocabularyError, r"pass eos=\[...\]"),
    # Arguments in the wrong place.
    (lambda: guided.compile(ASCII, City),  # type: ignore[arg-type]
     TypeError, r"the constraint comes first, as in guided.compile\(City, vocabulary\)"),
    (lambda: guided.compile(City, ascii_model()), TypeError, "give its attribute vocabulary"),  # type: ignore[arg-type]
    (lambda: guided.compile(City, "gpt2"), TypeError, r"Vocabulary.from_tokenizer\(...\) makes one"),  # type: ignore[arg-type]
    (lambda: guided.generator("gpt2", City), TypeError, "load it first: guided.load"),  # type: ignore[call-overload]
    (lambda: guided.json(ascii_model(), City, index="x.index"),  # type: ignore[call-overload]
     TypeError, "index must be an Index, as guided.compile returns it"),
    (lambda: guided.generator(ascii_model(), City, limits=5), TypeError, "limits must be a Limits"),  # type: ignore[call-overload]
    (lambda: guided.Conversation(ascii_model()),  # type: ignore[arg-type]
     TypeError, r"generator must be a Generator, as guided.generator\(model, None\) returns it"),
    # Calls of generators.
    (lambda: letter()("p", 40),  # type: ignore[call-arg]
     TypeError, "takes only prompt by position: pass options by name, such as max_tokens=..."),
    (lambda: letter()(["p", "q"]), guided.ArgumentError, "several prompts are for batch and map"),  # type: ignore[list-item]
    (lambda: letter()({"role": "user", "content": "x"}), guided.ArgumentError, "put the message in a list"),  # type: ignore[arg-type]
    (lambda: letter().batch("p"), TypeError, "expected several prompts, not a single str"),
    (lambda: letter()("p", search="mcts"), ValueError, "search must be None, 'smc', 'rejection' or 'beam'"),  # type: ignore[arg-type]
    (lambda: letter()("p", on_budget="stop"), ValueError, "on_budget must be 'complete', 'raise' or 'truncate'"),  # type: ignore[arg-type]
    (lambda: letter()("p", logprobs=True), TypeError, r"the number of alternatives to each token \(0: none\)"),
    (lambda: letter()("p", max_tokens="10"), TypeError, "max_tokens must be an int, not str"),  # type: ignore[arg-type]
    (lambda: guided.tools(ascii_model(), add, until="stop"), guided.SchemaError, "unknown tool 'stop'; known tools are add"),
    (lambda: guided.tools(ascii_model(), add, confirm=True),  # type: ignore[arg-type]
     TypeError, "confirm must be a function that takes a call"),
    # Caps, whitespace, escapes and formats of schemas.
    (lambda: guided.JsonSchema(City, escapes="none"),  # type: ignore[call-overload]
     guided.ArgumentError, r"'canonical' or 'any' or 'dumps', or a list such as \['n', 't'\], not 'none'"),
    (lambda: guided.JsonSchema(City, escapes=["\\n"]), guided.ArgumentError, "list what may follow a backslash, among .* b f n r t u"),
    (lambda: guided.JsonSchema(City, max_properties=-1), guided.ArgumentError, "max_properties must be an integer >= 1, not -1"),
    (lambda: guided.JsonSchema(City, max_property=1), TypeError, "did you mean 'max_properties'"),  # type: ignore[call-overload]
    (lambda: guided.JsonSchema(City, whitespace=("x", ":")),
     guided.ArgumentError, r"a comma and a colon, each with blanks behind it, such as \(', ', ': '\)"),
    (lambda: guided.JsonSchema(City, whitespace="pretty"), guided.ArgumentError, r"'pretty\(0\)' to 'pretty\(16\)', not 'pretty'"),
    (lambda: guided.JsonSchema(City, indent=2), TypeError, r"here: whitespace='pretty\(2\)'"),  # type: ignore[call-overload]
    (lambda: guided.JsonSchema(City, formats={"iban": "DE.*"}),  # type: ignore[call-overload]
     TypeError, r"must be a Regex, Choice or Substring, not str: a pattern is guided.Regex\('DE"),
    (lambda: guided.compile({"type": "string", "pattern": r"(a)\1"}, ASCII),
     guided.SchemaError, r"backreference .* .at position 3(?s:.*)at the root, pattern"),
    (lambda: guided.compile({"$ref": "https://x.org/a"}, ASCII),
     guided.SchemaError, "neither in the schema nor in the registry .nothing is fetched."),
    (lambda: guided.compile({"type": "string", "minLength": 5, "maxLength": 3}, ASCII),
     guided.SchemaError, "no value satisfies the schema .at the root, minLength, maxLength"),
    (lambda: guided.compile(guided.JsonSchema({"propertes": {}}, strict_keywords=True), ASCII),
     guided.SchemaError, "unknown keyword; is 'properties' meant"),
    # Grammars, GBNF, quotations and structural tags.
    (lambda: guided.Grammar("start: %json {}"), guided.GrammarError, r"a schema is guided.JsonSchema\(...\).*composition"),
    (lambda: guided.Grammar('start: "a"', dialect="gbnf"), guided.GrammarError, "the sign ::= is missing .in start, line 1, column 6"),
    (lambda: guided.Grammar("start: a"), guided.GrammarError, "the rule a is used but not defined: add `a: ...` .in a, line 1, column 8"),
    (lambda: guided.Grammar("start ::= 'a'"), guided.GrammarError, "texts stand in double quotes"),
    (lambda: guided.Grammar('start: "a"\n%ignor " "'), guided.GrammarError, "statements of a grammar are %import, %ignore"),
    (lambda: guided.Substring("ab" * 60_000).lower(guided.Limits()), guided.LimitError, "by words or lines"),
    (lambda: guided.tools(ascii_model(), [len], max_digits=2), TypeError, r"guided\.Tools\(functions, max_length="),  # type: ignore[call-arg]
    (lambda: guided.Grammar("jsn"), guided.GrammarError, r"unknown grammar; did you mean 'json'\?; bundled grammars are "),
    (lambda: guided.compile(guided.Grammar('start: "a"', start="strt"), ASCII), guided.GrammarError, "did you mean start"),
    (lambda: guided.compile(guided.Regex(r"(a)\1"), ASCII),
     guided.PatternError, "backreference .*no automaton can compare with an earlier match .at position 3"),
    (lambda: guided.Substring("a b", by="word"),  # type: ignore[arg-type]
     guided.ArgumentError, "by must be 'characters', 'words' or 'lines', not 'word'"),
    (lambda: guided.Substring("", by="words"), guided.SchemaError, "the source has nothing to quote"),
    (lambda: guided.StructuralTag({"type": "structural_tag"}), guided.SchemaError, "needs 'format', or 'structures' and 'triggers'"),
    (lambda: guided.StructuralTag({"type": "structural_tag", "format": {"type": "tagg"}}),
     guided.SchemaError, "unknown format 'tagg'; did you mean 'tag'.*at /format, type"),
    (lambda: guided.StructuralTag({"type": "structural_tag", "format": {"type": "tag"}}),
     guided.SchemaError, "'begin' is missing .at /format, begin"),
    (lambda: guided.FreeText(stop=""), guided.ArgumentError, "stop must not be an empty str: leave it out, or give the text"),
    (lambda: guided.Repeat("a", 3, 1), guided.ArgumentError, "min must be from 0 to max, not min=3, max=1"),
    # Tools.
    (lambda: guided.Tools([add, add]),
     guided.SchemaError, r"give one another with Tool\(..., name=...\), or all of them with duplicates='rename' .at /add, name"),
    (lambda: guided.Tools([{"name": "f", "parameters": {"type": "string"}}]),
     guided.SchemaError, "must be a schema of type object .at /f, parameters"),
    (lambda: guided.Tools([add], parallel_tool_calls=(2, 1)),
     guided.ArgumentError, r"must be \(min, max\) with 1 <= min <= max, not \(2, 1\)"),
    (lambda: guided.tools(ascii_model(), guided.Tools([add]), format="json"),
     TypeError, r"a Tools has its own format: pass options to Tools\(...\)"),
    (lambda: guided.tools(ascii_model(), add, timeout=-1), guided.ArgumentError, "timeout must be a number of seconds above 0, not -1"),
    (lambda: guided.tools(ascii_model(), add)("p", retries=1), ValueError, "shows errors as results of calls: retries must be 0"),
    # More calls of generators, guides and models.
    (lambda: guided.generator(ascii_model(), City)("p", max_tokens=1),
     guided.LimitError, "max_tokens: 11 needed, 1 allowed; the shortest text that can be accepted is longer"),
    (lambda: letter()("p", max_tokens=4, max_new_tokens=4), TypeError, "two names of one option: pass one"),
    (lambda: letter()("p", search=guided.Smc), TypeError, r"search must be an object, Smc\(\), not the class"),  # type: ignore[arg-type]
    (lambda: letter()("p", search="smc", temperature=0.5), ValueError, "temperature must be 1 or left out, not 0.5"),
    (lambda: letter()("p", context=1), TypeError, "context is for tools: this generator has none"),
    (lambda: letter()("p", tokenization="canonical"),
     guided.VocabularyError, r"only vocabularies from tokenizer files, or with encoding=Encoding\(...\), have them"),
    (lambda: letter()([{"role": "user", "content": "x"}]), guided.ModelError, "has no chat template: give the prompt as one str"),
    (lambda: letter().stream("p", partial=True),  # type: ignore[call-arg]
     TypeError, "partial=True is for stream and stream_async of generators of JSON"),
    (lambda: letter().sample("p", 3, temperature=0), ValueError, "gives the same text 3 times: call the generator once"),
    (lambda: guided.Generator(ascii_model(), City),  # type: ignore[call-overload]
     TypeError, r"not the class City; guided.generator\(model, constraint\) takes any constraint"),
    (lambda: guided.Guide(City),  # type: ignore[arg-type]
     TypeError, r"guided.compile\(spec, vocabulary\).guide\(\), not of the class City"),
    (lambda: guided.compile(City, ASCII).guide().advance("a"),  # type: ignore[arg-type]
     TypeError, "'str' object cannot be interpreted as an integer"),
    (lambda: guided.LogitsProcessor(City),  # type: ignore[arg-type]
     TypeError, r"not the class City; compile it first: guided.compile\(spec, vocabulary\)"),
    (lambda: guided.testing.scripted(3), TypeError, "a text, or a dict from ends of prompts to texts, not int"),  # type: ignore[arg-type]
    (lambda: guided.load(backend="vllm"),  # type: ignore[call-overload]
     guided.ArgumentError, "backend must be one of transformers, llama.cpp, not 'vllm'"),
    (lambda: guided.load("/none"), guided.ModelError, "no such file or folder: /none"),
    (lambda: guided.Tools([many]), guided.SchemaError, r"a generator has no result to show: return a list \(at /many, yield\)"),
    (lambda: guided.Limits(stats=3), TypeError, "did you mean 'states'"),  # type: ignore[call-arg]
]  # fmt: skip


@pytest.mark.parametrize(("make", "error", "message"), MISTAKES)
def test_mistakes_say_what_to_pass(make: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_tools_have_the_format_of_the_chat_template(caplog: pytest.LogCaptureFixture) -> None:
    model = ascii_model()
    assert "format 'json'" in repr(guided.tools(model, add))
    for template, form in ((QWEN, "hermes"), ("{{ messages }}", "json")):
        model.chat_template = template  # type: ignore[attr-defined]
        for made in (guided.tools(model, add), guided.generator(model, [add])):
            assert f"format {form!r}" in repr(made)
        with caplog.at_level("INFO", "guided.generate"):
            guided.tools(model, add)
        assert f"calls of 1 tools in format {form!r}" in caplog.text
        assert "format 'react'" in repr(guided.tools(model, add, format="react"))
    model.chat_template = "{% for tool in tools %}<odd>{{ tool }}</odd>{% endfor %}"  # type: ignore[attr-defined]
    with pytest.raises(guided.SchemaError, match="the chat template matches no known format; tags in it: <odd>"):
        guided.tools(model, add)


def test_the_command_line_takes_any_constraint_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_ranks(tmp_path / "ranks")
    Path("given.py").write_text(
        "import enum, re\nfrom dataclasses import dataclass\nclass Color(enum.Enum):\n    RED = 'red'\n"
        "@dataclass\nclass Point:\n    x: int\nnames = ['ada', 'bob']\ncode = re.compile('[A-Z]{2}')\n"
        "def add(a: int) -> int: ...\nnumber = 3\n"
    )
    for name, text in {"Color": "red", "Point": '{"x":3}', "names": "bob", "code": "AB", "add": "hello"}.items():
        assert call("check", "--spec", f"given.py:{name}", text).exit_code == 0, name
    assert "given.py:number: expected a spec" in errors_of("check", "--spec", "given.py:number", "3")


def test_what_a_json_index_reads_is_the_value_of_its_type() -> None:
    made = guided.generator(greedy_text_model("41"), guided.compile(guided.JsonSchema(int), ASCII))
    assert isinstance(made, JsonGenerator)
    assert made("p").value + 1 == 42
