"""Users' code type-checks: the documents' Python blocks, the examples, and small programs for what they do not show.

Both checkers run once over a folder with one file for each document. What is wrong must be an error in both.
"""

import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.test_docs import DOCUMENTS, ROOT, blocks

pytestmark = pytest.mark.slow

EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))
# Packages that documents import and the tests do not need.
OPTIONAL = ("langchain_openai", "llama_cpp", "openai", "pydantic_ai", "sglang", "vllm")

SETUP = """
import enum
import re
from typing import Annotated, Any, Literal, Optional, TypedDict, assert_type
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import guided
from guided import events
from pydantic import BaseModel, TypeAdapter

class City(BaseModel):
    name: str

class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"

@dataclass
class Point:
    x: int

class Movie(TypedDict):
    title: str

def add(x: int, y: int) -> int:
    return x + y

model = guided.load()
vocabulary = model.vocabulary
"""

# An expression and its type.
TYPES = [
    ("model", "guided.LanguageModel"),
    ("guided.load(backend='transformers')", "guided.Model"),
    ("guided.load('name', 'float32')", "guided.Model"),
    ("guided.load('name', dtype='float32')", "guided.Model"),
    ("guided.json(model, City)", "JsonGenerator[City]"),
    ("guided.json(model, City)('p')", "guided.Result[City]"),
    ("guided.json(model, City)('p', stop='x').value", "City"),
    ("guided.json(model, City)('p').value.name", "str"),
    ("guided.json(model, City)('p').value_or_none", "Optional[City]"),
    ("guided.json(model, City)('p').error", "Optional[guided.GuidedError]"),
    ("guided.json(model, City, whitespace='compact', index=None)('p').value", "City"),
    ("guided.json(model, City).batch(['p'])", "list[guided.Result[City]]"),
    ("next(guided.generator(model, City).stream('p', partial=True))", "events.StreamEvent[City]"),
    ("next(guided.Conversation(guided.json(model, City)).stream('p', partial=True))", "events.StreamEvent[City]"),
    ("guided.json(model, City).sample('p', 2, retries=1)", "list[guided.Result[City]]"),
    ("guided.json(model, City)('p', logprobs=1).logprobs", "tuple[events.Logprob, ...]"),
    ("guided.json(model, City)('p', retries=1).refused[0].error", "guided.SchemaError | guided.IncompleteError"),
    ("guided.json(model, Point)('p').value", "Point"),
    ("guided.json(model, Movie)('p').value", "Movie"),
    ("guided.json(model, Color)('p').value", "Color"),
    ("guided.json(model, int)('p').value", "int"),
    ("guided.json(model, list[City])('p').value", "list[City]"),
    ("guided.json(model, dict[str, int])('p').value", "dict[str, int]"),
    ("guided.json(model, City | None)('p').value", "Optional[City]"),
    ("guided.json(model, Literal['a', 'b'])('p').value", "Literal['a', 'b']"),
    ("guided.json(model, Annotated[int, 'small'])('p').value", "int"),
    ("guided.json(model, TypeAdapter(list[City]))('p').value", "list[City]"),
    ("guided.json(model, {'type': 'object'})('p').value", "Any"),
    ("guided.json(model, '{}')('p').value", "Any"),
    ("guided.json(model, True)('p').value", "Any"),
    ("guided.json(model, add)('p').value", "Any"),
    ("guided.json(model, guided.JsonSchema(City))('p').value", "City"),
    ("guided.JsonSchema(City, whitespace='compact')", "guided.JsonSchema[City]"),
    ("guided.JsonSchema(City).read('{}')", "City"),
    ("guided.JsonSchema(City | None).read('{}')", "Optional[City]"),
    ("guided.JsonSchema({}).read('{}')", "Any"),
    ("guided.regex(model, 'a')", "guided.Generator[str]"),
    ("guided.regex(model, 'a')('p').value", "str"),
    ("guided.choice(model, ['a', 'b'])('p').value", "str"),
    ("guided.choice(model, ['a', 'b'], probabilities=True)('p').value", "str"),
    ("guided.choice(model, Color)('p').value", "Color"),
    ("guided.choice(model, [Color.RED, Color.BLUE])('p').value", "Color"),
    ("guided.choice(model, Literal['a', 'b'])('p').value", "Literal['a', 'b']"),
    ("guided.choice(model, Literal[1, 2])('p').value", "Literal[1, 2]"),
    ("guided.choice(model, guided.Choice(Color))('p').value", "Color"),
    ("guided.Choice(['a']).read('a')", "str"),
    ("guided.grammar(model, 'json')('p').value", "Tree[Token]"),
    ("guided.grammar(model, guided.Grammar('json'))('p').value", "Any"),
    ("guided.tools(model, [add])('p')", "guided.Result[list[events.Call]]"),
    ("guided.tools(model, [add])('p').calls", "tuple[events.Call, ...]"),
    ("guided.tools(model, [add])('p').calls[0].name", "str"),
    ("guided.tools(model, [add])('p').calls[0].arguments", "dict[str, Any]"),
    ("guided.tools(model, [add])('p').calls[0].result", "Any"),
    ("guided.tools(model, [add])('p').calls[0].span", "tuple[int, int]"),
    ("guided.tools(model, [add])('p').value", "list[events.Call]"),
    ("guided.tools(model, [add]).batch(['p'])[0]", "guided.Result[list[events.Call]]"),
    ("guided.tools(model, [add]).sample('p', 2)[0]", "guided.Result[list[events.Call]]"),
    ("guided.generator(model, guided.Regex('a'))('p').value", "str"),
    ("guided.generator(model, None)('p').value", "str"),
    ("guided.generator(model, City)", "JsonGenerator[City]"),
    ("guided.generator(model, City)('p').value", "City"),
    ("guided.generator(model, City)('p', search='smc', max_new_tokens=4).value.name", "str"),
    ("guided.generator(model, Point)('p').value", "Point"),
    ("guided.generator(model, Movie)('p').value", "Movie"),
    ("guided.generator(model, Color)('p').value", "Color"),
    ("guided.generator(model, int)('p').value", "int"),
    ("guided.generator(model, list[City])('p').value", "list[City]"),
    ("guided.generator(model, City | None)('p').value", "Optional[City]"),
    ("guided.generator(model, Literal['a', 'b'])('p').value", "Literal['a', 'b']"),
    ("guided.generator(model, Annotated[int, 'small'])('p').value", "int"),
    ("guided.generator(model, TypeAdapter(list[City]))('p').value", "list[City]"),
    ("guided.generator(model, {'type': 'object'})('p').value", "Any"),
    ("guided.generator(model, ['a', 'b'])('p').value", "str"),
    ("guided.generator(model, [1, 2])('p').value", "int"),
    ("guided.generator(model, [Color.RED, Color.BLUE])('p').value", "Color"),
    ("guided.generator(model, 'a+')('p').value", "str"),
    ("guided.generator(model, re.compile('a+'))('p').value", "str"),
    ("guided.generator(model, add)('p')", "guided.Result[list[events.Call]]"),
    ("guided.generator(model, [add])('p').calls[0].name", "str"),
    ("guided.generator(model, guided.FreeText() + 'x')('p').value", "str"),
    ("guided.generator(model, guided.compile(City, vocabulary))('p').value", "Any"),
    ("guided.compile(City, vocabulary)", "guided.Index"),
    ("guided.tools(model, add)('p')", "guided.Result[list[events.Call]]"),
    ("guided.regex(model, re.compile('a'))('p').value", "str"),
    ("guided.generator(model, guided.JsonSchema(City))('p').value", "City"),
    ("guided.generator(model, guided.Choice(Color))('p').value", "Color"),
    ("guided.generator(model, guided.Tools([add]))('p')", "guided.Result[list[events.Call]]"),
    ("guided.compile(guided.JsonSchema(City), vocabulary)", "guided.Index"),
    ("guided.load_index('path', vocabulary)", "guided.Index"),
    ("guided.compile(guided.Regex('a'), vocabulary).guide()", "guided.Guide"),
    ("guided.compile(guided.Regex('a'), vocabulary).accepts('a')", "bool"),
    ("guided.compile(guided.Regex('a'), vocabulary).guide().accepts(b'a')", "bool"),
]

STREAMS = """
from lark import Token, Tree
from guided.generate.structured import JsonGenerator

for event in guided.json(model, City).stream("p", max_tokens=40):
    match event:
        case events.Text(text):
            assert_type(text, str)
        case events.ValueCompleted(pointer, value):
            assert_type(pointer, str)
        case events.Done(result):
            assert_type(result, guided.Result[City])
        case _:
            pass

for tool_event in guided.tools(model, [add]).stream("p"):
    match tool_event:
        case guided.events.Text(text):
            assert_type(text, str)
        case guided.events.ToolCallStarted(name):
            assert_type(name, str)
        case guided.events.ToolArgument(name):
            assert_type(name, str)
        case guided.events.ToolCall(call) | guided.events.ToolResult(call):
            assert_type(call, events.Call)
        case guided.events.Done(tools_result):
            assert_type(tools_result, guided.Result[list[events.Call]])


async def asynchronously() -> None:
    assert_type((await guided.json(model, City).generate_async("p")).value, City)
    assert_type(await guided.tools(model, [add]).generate_async("p"), guided.Result[list[events.Call]])
    async for event in guided.regex(model, "a").stream_async("p"):
        if isinstance(event, events.Done):
            assert_type(event.result.value, str)
    async for tool_event in guided.tools(model, [add]).stream_async("p"):
        if isinstance(tool_event, events.Done):
            assert_type(tool_event.result.calls, tuple[events.Call, ...])


def use(generator: guided.Generator[City], spec: guided.JsonSchema[City], choice: guided.Choice[str]) -> City:
    return generator("p").value


use(guided.json(model, City), guided.JsonSchema(City), guided.Choice(["a"]))
"""

MISTAKES = [
    "guided.compil",
    "guided.events.Txt",
    "from guided import compil",
    "guided.json(model, City)('p').value.nme",
    "guided.json(model, City)('p').valu",
    "guided.json(model, City).batch(['p'])[0].value.nme",
    "guided.json(model, City, whitespce='compact')",
    "guided.json(model, City, numbers='none')",
    "guided.json(model, 3)",
    "guided.json(City)",
    "guided.json(City, model)",
    "guided.JsonSchema(City, whitespce='compact')",
    "guided.JsonSchema(City).read('{}').nme",
    "guided.regex(model, 3)",
    "guided.regex(model, 'a')('p', max_token=3)",
    "guided.regex(model, 'a')('p', max_tokens='3')",
    "guided.regex(model, 'a')('p').value.nme",
    "guided.regex(model, 'a').stream('p', max_token=3)",
    "guided.regex(model, 'a').batch(['p'], temprature=1.0)",
    "guided.choice(model, [b'a'])",
    "guided.choice(model, 3)",
    "guided.choice(model, Color)('p').value.nme",
    "guided.grammar(model, 3)",
    "guided.tools(model, 3)",
    "guided.tools(model, [add], formt='json')",
    "guided.tools(model, [add])('p').calls[0].nme",
    "guided.generator(model, 3)",
    "guided.compile('a', 'b')",
    "guided.compile(guided.Regex('a'))",
    "guided.compile(guided.Regex('a'), vocabulary).accepts(3)",
    "guided.compile(guided.Regex('a'), vocabulary).nme",
    "guided.Limits(state=3)",
    "guided.Limits(states='3')",
    "guided.Vocabulary(['a'], eos=[0])",
    "guided.load(backend='onnx')",
    "guided.load(backend='llama.cpp').hf_tokenizer",
]


@dataclass(frozen=True)
class Found:
    """An error of a checker: file, line, message."""

    file: str
    line: int
    message: str


def program_of(path: Path) -> str:
    """All Python blocks of a document, each at its own lines."""
    lines: list[str] = []
    for line, block in blocks(path, "python"):
        lines += [""] * (line - 1 - len(lines)) + block.splitlines()
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all programs."""
    folder = tmp_path_factory.mktemp("programs")
    for path in DOCUMENTS:
        if blocks(path, "python"):
            name = re.sub(r"\W", "_", path.relative_to(ROOT).with_suffix("").as_posix())
            (folder / f"doc_{name}.py").write_text(program_of(path))
    for path in EXAMPLES:
        (folder / f"example_{path.name}").write_text(path.read_text())
    lines = [f"assert_type({expression}, {kind})" for expression, kind in TYPES]
    (folder / "typed.py").write_text(SETUP + STREAMS + "\n".join(lines) + "\n")
    (folder / "mistakes.py").write_text(SETUP + "\n".join(MISTAKES) + "\n")
    return folder


def checked(*command: str, cwd: Path, **environment: str) -> str:
    """The output of a checker."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("COV_")}
    done = subprocess.run(
        command, cwd=cwd, env=inherited | environment, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


def by_mypy(folder: Path) -> list[Found]:
    (folder / "mypy.ini").write_text(
        "[mypy]\nstrict = true\nfollow_imports = silent\n"
        + "".join(f"[mypy-{name}.*]\nignore_missing_imports = true\n" for name in OPTIONAL)
        # Large, and nothing of theirs is in a public signature.
        + "".join(f"[mypy-{name}.*]\nfollow_imports = skip\n" for name in ("torch", "transformers", "tokenizers"))
    )
    output = checked(sys.executable, "-m", "mypy", "--output=json", ".", cwd=folder, MYPYPATH=str(ROOT))
    items = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return [Found(item["file"], item["line"], item["message"]) for item in items if item["severity"] == "error"]


def by_pyright(folder: Path) -> list[Found]:
    """The errors that pyright's own standard mode has, by the distribution of it that needs no network."""
    settings = {"typeCheckingMode": "standard", "extraPaths": [str(ROOT)], "reportMissingImports": "none"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    arguments = ["--outputjson", "--pythonpath", sys.executable]
    output = checked(sys.executable, "-m", "basedpyright", *arguments, cwd=folder)
    items = json.loads(output)["generalDiagnostics"]
    return [
        Found(Path(item["file"]).name, item["range"]["start"]["line"] + 1, item["message"])
        for item in items
        if item["severity"] == "error"
    ]


@pytest.fixture(scope="module", params=[by_mypy, by_pyright], ids=["mypy", "pyright"])
def errors(request: pytest.FixtureRequest, programs: Path) -> dict[str, list[Found]]:
    """The errors of one checker, by file."""
    checker: Callable[[Path], list[Found]] = request.param
    found: dict[str, list[Found]] = defaultdict(list)
    for error in checker(programs):
        found[Path(error.file).name].append(error)
    return found


def test_documents_and_examples_have_no_errors(errors: dict[str, list[Found]]) -> None:
    assert [error for file, found in errors.items() if file.startswith(("doc_", "example_")) for error in found] == []


def test_values_events_and_calls_have_their_types(errors: dict[str, list[Found]]) -> None:
    assert errors["typed.py"] == []


def test_mistakes_are_errors(errors: dict[str, list[Found]]) -> None:
    lines = {error.line for error in errors["mistakes.py"]}
    first = SETUP.count("\n") + 1
    assert lines, "the file was checked"
    assert [mistake for line, mistake in enumerate(MISTAKES, first) if line not in lines] == []
    assert min(lines) >= first, "what comes before is right"
