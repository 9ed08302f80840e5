"""Every entry takes the same options: through all entries and all options, by their signatures."""

import asyncio
import inspect
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer.main

import guided
from guided.cli.app import app
from guided.cli.compositions import composition
from guided.cli.kinds import KINDS, build_spec
from guided.engine.grammar import GrammarOptions
from guided.engine.json_schema import SchemaOptions
from guided.generate.conversation import Conversation
from guided.generate.generator import Generator
from guided.generate.options import GenerationOptions, Settings
from guided.generate.tools import ToolsGenerator
from tests.calls.test_inputs import MISTAKES
from tests.generate.models import ASCII, CountingModel, ascii_model

# A value of each option that differs from its default.
VALUES: dict[str, Any] = {
    "max_tokens": 7,
    "max_new_tokens": 7,
    "temperature": 1.0,
    "top_k": 3,
    "top_p": 0.9,
    "min_p": 0.1,
    "seed": 4,
    "stop": "b",
    "search": guided.Smc(2),
    "scores": True,
    "tokenization": "any",
    "repetition_penalty": 1.5,
    "logprobs": 1,
    "retries": 1,
    "on_budget": "truncate",
    "context": object(),
}
ENTRIES: list[Callable[..., Any]] = [
    *(
        getattr(kind, name)
        for kind in (Generator, ToolsGenerator)
        for name in ("__call__", "stream", "stream_async", "generate_async", "map", "batch", "sample")
    ),
    *(getattr(Conversation, name) for name in ("__init__", "__call__", "stream", "stream_async", "generate_async")),
]


class ChatModel(CountingModel):
    """A model that reads messages as their texts."""

    def prompt_tokens(self, prompt: Any, tools: Any = None) -> list[int]:
        text = prompt if isinstance(prompt, str) else "".join(message["content"] for message in prompt)
        return super().prompt_tokens(text, tools)


def test_the_options_are_those_of_the_settings() -> None:
    settings = set(inspect.signature(Settings).parameters)
    assert settings | {"max_new_tokens"} == GenerationOptions.__annotations__.keys() == VALUES.keys()
    documented = GenerationOptions.__doc__ or ""
    for name in VALUES:
        assert any(
            name in line.partition(" : ")[0].split(", ")
            for line in map(str.strip, documented.split("\n"))
            if " : " in line
        ), name


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.__qualname__)
def test_every_entry_unpacks_the_options_and_has_no_other_of_these_names(entry: Callable[..., Any]) -> None:
    plain = inspect.unwrap(entry)
    parameters = inspect.signature(plain).parameters
    assert not parameters.keys() & VALUES.keys()
    (options,) = (one for one in parameters.values() if one.kind is inspect.Parameter.VAR_KEYWORD)
    assert typing.get_args(options.annotation) == (GenerationOptions,)


def unfailed(result: guided.Result[Any]) -> guided.Result[Any]:
    """The result of one prompt of several, whose error is not raised."""
    if result.finish_reason == "error":
        assert result.error is not None
        raise result.error
    return result


def generators() -> dict[str, Generator[Any]]:
    def add(a: int) -> int:
        """Add."""
        return a

    model = ascii_model()
    return {
        "regex": guided.regex(model, "[abc]{2,4}"),
        "free": guided.generator(model, None),
        "json": guided.json(model, int),
        "grammar": guided.grammar(model, 'start: "a" | "b" start'),
        "composition": guided.generator(model, "a" + guided.Choice(["b", "c"])),
        "tools": guided.tools(model, [add], tool_choice="required"),
    }


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("kind", ["regex", "free", "json", "grammar", "composition", "tools"])
def test_every_entry_takes_every_option_and_reads_it_alike(kind: str, name: str) -> None:
    made = generators()[kind]
    given: GenerationOptions = {name: VALUES[name]}  # type: ignore[misc]
    if name in ("top_k", "top_p", "min_p"):
        given["temperature"] = 1.0
    given.setdefault("seed", 1)
    if "max_new_tokens" not in given:
        given.setdefault("max_tokens", 40)

    def outcome(run: Callable[[], Any]) -> Any:
        try:
            return run()
        except (guided.GuidedError, TypeError, ValueError) as error:
            return type(error), str(error)

    async def streamed() -> Any:
        return [event async for event in made.stream_async("p", **given)][-1].result

    wanted = outcome(lambda: made("p", **given))
    ways: dict[str, Callable[[], Any]] = {
        "stream": lambda: list(made.stream("p", **given))[-1].result,
        "stream_async": lambda: asyncio.run(streamed()),
        "generate_async": lambda: asyncio.run(made.generate_async("p", **given)),
        "map": lambda: unfailed(dict(made.map(["p"], **given))[0]),
        "batch": lambda: unfailed(made.batch(["p"], **given)[0]),
    }
    if name == "temperature":
        ways["sample"] = lambda: made.sample("p", 1, **given)[0]
    for way, run in ways.items():
        found = outcome(run)
        if way == "batch" and isinstance(wanted, tuple) and isinstance(found, guided.Result):
            # The error of one prompt stays with its result.
            found = type(found.error), str(found.error)
        assert repr(found) == repr(wanted), way
        if isinstance(wanted, guided.Result):
            assert (found.tokens, found.logprobs, found.scores) == (wanted.tokens, wanted.logprobs, wanted.scores)


@pytest.mark.parametrize("name", [name for name in VALUES if name != "context"])
def test_conversations_take_every_option_at_the_start_and_in_a_turn(name: str) -> None:
    model = ChatModel(ASCII)
    value = VALUES[name]
    more: dict[str, Any] = {"temperature": 1.0} if name in ("top_k", "top_p", "min_p") else {}
    made = guided.regex(model, "[abc]{2,4}")
    answers = [
        Conversation(made, **{name: value}, **more)("Hi", seed=1)
        if name != "seed"
        else Conversation(made, seed=value)("Hi"),
        Conversation(made)("Hi", **{name: value}, **more, **({} if name == "seed" else {"seed": 1})),
    ]
    assert answers[0].text == answers[1].text
    with pytest.raises(TypeError, match="unexpected keyword argument 'max_token'; did you mean 'max_tokens'"):
        Conversation(made, max_token=3)  # type: ignore[call-arg]


def test_options_of_a_turn_replace_the_other_name_of_max_tokens() -> None:
    chat = Conversation(guided.generator(ChatModel(ASCII), None), max_new_tokens=5)
    assert [len(chat("Hi", **options).tokens) for options in ({}, {"max_tokens": 3})] == [5, 3]  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="two names of one option"):
        chat("Hi", max_tokens=3, max_new_tokens=4)


def test_the_command_line_has_every_option() -> None:
    commands: Any = typer.main.get_command(app)
    given = {option for parameter in commands.commands["run"].params for option in parameter.opts}
    # A context is an object of the program.
    assert {f"--{name.replace('_', '-')}" for name in VALUES if name != "context"} <= given


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("max_token", "did you mean 'max_tokens'"),
        ("max_length", "here: max_tokens counts the generated tokens"),
        ("num_beams", "here: search=guided.Beam"),
        ("do_sample", "here: temperature=1 samples, 0 does not"),
        ("n", r"here: generator.sample\(prompt, n\)"),
        ("method", "here: search='smc', 'rejection' or 'beam'"),
    ],
)
def test_names_of_other_libraries_are_refused_with_ours(name: str, advice: str) -> None:
    for made in generators().values():
        for entry in (made, made.stream, made.stream_async):
            with pytest.raises(TypeError, match=advice):
                entry("p", **{name: 1})
        with pytest.raises(TypeError, match=advice):
            made.batch(["p"], **{name: 1})


# A value of each option of schemas that differs from its default, as JSON where files have the option.
OF_SCHEMAS: dict[str, Any] = {
    "whitespace": [", ", ": "],
    "property_order": "any",
    "numbers": "any",
    "escapes": ["n", '"', "u"],
    "format": "annotate",
    "unsupported": "record",
    "registry": {"https://example.com/a": {"type": "string"}},
    "operation": "b",
    "engine": "lalr",
    "source": "schema",
    "strict_keywords": True,
    "additional_properties": False,
    "eager": "auto",
    "formats": {"iban": guided.Choice(["DE1"])},
    "max_length": 3,
    "max_digits": 2,
    "max_items": 1,
    "max_properties": 4,
}
NOT_IN_FILES = {"registry", "engine", "formats"}


def schema_for(option: str) -> Any:
    """A schema on whose spec an option has an effect."""
    operation = {"requestBody": {"content": {"application/json": {"schema": {"type": "string"}}}}}
    if option == "operation":
        paths = {f"/{name}": {"post": {"operationId": name, **operation}} for name in "ab"}
        return {"openapi": "3.1.0", "paths": paths}
    return {
        "type": "object",
        "properties": {"a": {"$ref": "https://example.com/a"} if option == "registry" else {"type": "string"}},
    }


def test_all_options_of_schemas_are_listed() -> None:
    assert OF_SCHEMAS.keys() == SchemaOptions.__annotations__.keys()
    signature = inspect.signature(guided.JsonSchema.__init__).parameters
    assert OF_SCHEMAS.keys() == signature.keys() - {"self", "schema"}
    assert KINDS["json_schema"].options.keys() == OF_SCHEMAS.keys() - NOT_IN_FILES
    page = (Path(__file__).parents[2] / "docs" / "json-schema.md").read_text(encoding="utf-8")
    assert [name for name in OF_SCHEMAS if f"`{name}`" not in page] == []


@pytest.mark.parametrize("option", OF_SCHEMAS)
def test_every_entry_takes_every_option_of_schemas(option: str, tmp_path: Path) -> None:
    """Functions, compositions, and specs in files."""
    model, schema, given = ascii_model(), schema_for(option), {option: OF_SCHEMAS[option]}
    spec: Any = guided.JsonSchema(schema, **given)
    if option not in ("operation", "registry"):
        is_new = spec.fingerprint != guided.JsonSchema(schema).fingerprint
        # How a schema may be given is no part of the spec; nor are misspelled keywords where there are none.
        assert is_new == (option != "source")
    made = guided.json(model, schema, **given)
    assert made.spec.fingerprint == spec.fingerprint
    assert guided.generator(model, spec).index is not None
    if option not in NOT_IN_FILES:
        assert build_spec("json_schema", schema, given, tmp_path).fingerprint == spec.fingerprint
        part = {"schema": schema, **given}
        composed: Any = composition(["x", part], tmp_path, build_spec)
        assert composed.fingerprint == ("x" + spec).fingerprint


# A kind of spec, its factory, and the options that only the spec has, and that files do not have.
SPECS: list[tuple[str, Any, Any, set[str], set[str]]] = [
    ("regex", guided.Regex, guided.regex, {"builder"}, set()),
    ("choice", guided.Choice, guided.choice, set(), set()),
    (
        "grammar",
        guided.Grammar,
        guided.grammar,
        {*GrammarOptions.__annotations__},
        {"terminals", "postlex", "import_paths", "allow_files"},
    ),
    (
        "tools",
        guided.Tools,
        guided.tools,
        {
            *(
                "engine",
                "max_length",
                "max_digits",
                "max_items",
                "max_properties",
                "duplicates",
                "chat_template",
                "unsupported",
            ),
            "argument_order",
        },
        {"engine", "chat_template"},
    ),
]


@pytest.mark.parametrize(
    ("kind", "spec", "factory", "not_in_factory", "not_in_files"), SPECS, ids=[one[0] for one in SPECS]
)
def test_factories_and_files_take_the_options_of_specs(
    kind: str, spec: Any, factory: Any, not_in_factory: set[str], not_in_files: set[str]
) -> None:
    first, *options = (name for name in inspect.signature(spec).parameters if name != "limits")
    given = inspect.signature(inspect.unwrap(factory)).parameters.keys()
    assert {*options} - given == not_in_factory
    assert KINDS[kind].options.keys() == {*options} - not_in_files
    for name in {*options} & given:
        assert f"{name}" in (inspect.getdoc(factory) or ""), first


# A value of each option of these specs that differs from its default.
OF_SPECS: dict[str, Any] = {
    "builder": "interegular",
    "ascii": True,
    "start": "b",
    "lexer": "basic",
    "max_ignored": 2,
    "dialect": "llguidance",
    "format": "hermes",
    "tool_choice": "required",
    "parallel_tool_calls": True,
    "strict": False,
    "reasoning": ["<a>", "</a>"],
    "argument_order": "any",
    "duplicates": "rename",
    "unsupported": "skip",
    "max_length": 3,
    "max_digits": 2,
    "max_items": 1,
    "max_properties": 4,
}
GIVEN: dict[str, Any] = {
    "regex": r"a\d",
    "grammar": 'start: "a" /\\d/\nb: "b"\n%ignore " "',
    "tools": [{"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string"}, "b": {}}}}],
}


@pytest.mark.parametrize(
    ("kind", "option"),
    [
        (kind, name)
        for kind, spec, *_ in SPECS
        for name in OF_SPECS
        if kind in GIVEN and name in inspect.signature(spec).parameters
    ],
)
def test_every_entry_reads_the_options_of_specs_alike(kind: str, option: str, tmp_path: Path) -> None:
    """Factories and files make the spec that the class makes."""
    _, made_of, factory, _, not_in_files = next(row for row in SPECS if row[0] == kind)
    given, options = GIVEN[kind], {option: OF_SPECS[option]}
    spec = made_of(given, **options)
    if option not in ("builder", "duplicates", "unsupported"):
        assert spec.fingerprint != made_of(given).fingerprint
    model = ascii_model()
    found = {guided.generator(model, spec).index.spec_fingerprint}  # type: ignore[union-attr]
    if option in inspect.signature(inspect.unwrap(factory)).parameters:
        found.add(factory(model, given, **options).index.spec_fingerprint)
    if option not in not_in_files:
        found.add(guided.generator(model, build_spec(kind, given, options, tmp_path)).index.spec_fingerprint)  # type: ignore[union-attr]
    assert len(found) == 1


def test_all_options_of_these_specs_are_tried() -> None:
    # The others are objects of a program, or say where files are.
    objects = {"postlex", "terminals", "import_paths", "allow_files", "chat_template", "engine", "limits"}
    for _, spec, *_ in SPECS:
        first, *options = inspect.signature(spec).parameters
        assert {*options} <= OF_SPECS.keys() | objects, first


def test_a_table_of_mistakes_is_tried() -> None:
    """Each with what the error says, in `tests.calls.test_inputs`."""
    assert len(MISTAKES) >= 100
