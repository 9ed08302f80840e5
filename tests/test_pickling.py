"""Every public object goes to a process that has imported nothing of the package, or says why it cannot; copies of it work as well."""

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import guided
from guided.engine.specs import STORED_SPECS
from guided.generate.model import LanguageModel
from tests.generate.models import ASCII, ascii_model
from tests.pickled import City, add, behaviour

ROOT = Path(__file__).parents[1]
TOOL = {"name": "f", "parameters": {"type": "object", "properties": {"x": {"type": "string"}, "y": {"type": "array"}}}}
SCHEMA = guided.JsonSchema({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"enum": ["x", 1]}}})
GRAMMAR = 'start: "(" start ")" | WORD+\nWORD: /[a-z]+/\n%ignore " "'
TAG = {
    "type": "triggered_tags",
    "triggers": ["<f"],
    "tags": [{"begin": "<f>", "content": {"type": "json_schema", "json_schema": SCHEMA.schema}, "end": "</f>"}],
}
SPECS: dict[str, Callable[[], Any]] = {
    "Choice": lambda: guided.Choice(["north", "east"]),
    "Grammar": lambda: guided.Grammar(GRAMMAR),
    "JsonSchema": lambda: SCHEMA,
    "JsonSchema of a type": lambda: guided.JsonSchema(list[City]),
    "JsonSchema of a function": lambda: guided.JsonSchema(add),
    "Maybe": lambda: guided.Maybe(SCHEMA),
    "Regex": lambda: guided.Regex("a{2,9}b"),
    "Repeat": lambda: guided.Repeat(guided.Grammar(GRAMMAR), 1, 3, ";"),
    "StructuralTag": lambda: guided.StructuralTag({"type": "structural_tag", "format": TAG}),
    "Substring": lambda: guided.Substring("to be, or not", by="words"),
    "JsonSchema with formats": lambda: guided.JsonSchema({"format": "x"}, formats={"x": guided.Substring(["a", "b"])}),
    "FreeText": lambda: guided.FreeText(stop=["</a>"], max_tokens=5),
    "Tools": lambda: guided.Tools([add], tool_choice="required"),
    "Tools of definitions": lambda: guided.Tools([TOOL, {**TOOL, "name": "g"}], "qwen-coder"),
    "Repeat of all kinds of parts": lambda: guided.Repeat(
        guided.FreeText(stop="|") + (SCHEMA | guided.Grammar(GRAMMAR) | guided.Tools([TOOL, {**TOOL, "name": "g"}])),
        1,
        2,
    ),
}


def advanced() -> guided.Guide:
    guide = guided.compile(guided.FreeText(stop="|") + SCHEMA, ASCII).guide()
    assert guide.advance_many([*b'ab|{"a":1']) == 9
    return guide


def processor() -> object:
    pytest.importorskip("torch")
    return guided.LogitsProcessor(guided.compile(guided.Regex("a+"), ASCII))


ERRORS: dict[str, tuple[Any, ...]] = {
    "ArgumentError": ("stop", "must not be empty"),
    "CallError": ("no argument", "f", 3),
    "GrammarError": ("no rule", "start"),
    "LimitError": ("steps", 10, 5, "less"),
    "PatternError": ("no group", "a(", 1),
    "SchemaError": ("no type", "/a", "type"),
    "StateEvicted": (5,),
    "TokenRejected": (5, "not allowed"),
}
# Public name -> objects of it. An index stands for its spec.
OBJECTS: dict[str, Callable[[], Any]] = {
    **SPECS,
    **{
        name: lambda name=name: getattr(guided, name)(*ERRORS.get(name, ("what is wrong",)))
        for name in guided.__all__
        if isinstance(kind := getattr(guided, name), type) and issubclass(kind, Exception)
    },
    "Beam": lambda: guided.Beam(3),
    "Rejection": lambda: guided.Rejection(2),
    "Smc": lambda: guided.Smc(3),
    "Automaton": lambda: guided.Regex("a{2,9}b").lower(guided.Limits()),
    "Example": lambda: guided.Example("1 + 1?", "add", {"a": 1, "b": 1}, 2),
    "Explanation": lambda: advanced().explain(5),
    "Format": lambda: guided.Tools([add]).format,
    "Guide": advanced,
    "Limits": lambda: guided.Limits(states=7),
    "LogitsProcessor": processor,
    "Result": lambda: guided.json(ascii_model(), City)("a", max_tokens=200, seed=1),
    "Result of tools": lambda: guided.tools(ascii_model(), [add], tool_choice="required")("a", max_tokens=99, seed=1),
    "Tool": lambda: guided.Tool(add, name="plus"),
    "Tool of a definition": lambda: guided.Tool(TOOL),
    "Vocabulary": lambda: ASCII,
    **{f"Index of {name}": lambda make=make: guided.compile(make(), ASCII) for name, make in SPECS.items()},
}
# What holds a model stays in its process.
REFUSED: dict[str, Callable[[], Any]] = {
    "Conversation": lambda: guided.Conversation(guided.tools(ascii_model(), [add])),
    "FunctionModel": ascii_model,
    "Generator": lambda: guided.json(ascii_model(), City),
}
# Its instances are those of its subclasses; Model needs the weights of one, and says no as they do.
ABSTRACT = {"LanguageModel", "Model"}


def test_every_public_class_is_here() -> None:
    classes = {name for name in guided.__all__ if isinstance(getattr(guided, name), type)}
    # A TypedDict is a dict.
    assert classes - {"GenerationOptions"} == {name.partition(" ")[0] for name in OBJECTS} | REFUSED.keys() | ABSTRACT
    for name in ABSTRACT:
        assert issubclass(getattr(guided, name), LanguageModel)


@pytest.mark.parametrize("name", OBJECTS)
def test_copies_behave_alike(name: str) -> None:
    item = OBJECTS[name]()
    assert isinstance(item, getattr(guided, name.partition(" ")[0]))
    expected = behaviour(item)
    for copied in (copy.copy(item), copy.deepcopy(item), pickle.loads(pickle.dumps(item))):
        assert behaviour(copied) == expected
    # What a fresh process would know.
    assert all(isinstance(kind, str) for kind in STORED_SPECS)


@pytest.mark.slow
def test_objects_go_to_a_fresh_process() -> None:
    # Why reversed: compositions of all kinds of parts come first, when the process knows nothing yet.
    items = {name: make() for name, make in reversed(OBJECTS.items())}
    expected = {name: behaviour(item) for name, item in items.items()}
    given = pickle.dumps([pickle.dumps(item) for item in items.values()])
    program = [sys.executable, "-m", "tests.pickled"]
    done = subprocess.run(program, input=given, stdout=subprocess.PIPE, check=True, cwd=ROOT, timeout=300)
    assert dict(zip(items, pickle.loads(done.stdout), strict=True)) == expected


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_holds_a_model_says_that_it_stays(name: str) -> None:
    item = REFUSED[name]()
    assert isinstance(item, getattr(guided, name))
    for work in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="a model stays in its process"):
            work(item)
