"""Published calls: the well-typed ones are accepted in every tokenization, the others and mutants are refused with the right class.

Whether a call is well-typed is what jsonschema says. Every format takes all published tools, and writes and reads their calls. By default a
sample of the calls of each source; ``GUIDED_EXHAUSTIVE=1`` takes all.
"""

import json
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from guided.calls.formats import format_names
from guided.calls.parse import parse_text
from guided.calls.reads import Call
from guided.calls.rendering import render_calls
from guided.calls.sources.documents import read_tools
from guided.calls.spec import Tools
from guided.engine.compile import compile  # noqa: A004
from guided.engine.index import Index
from guided.errors import CallError, SchemaError
from guided.vocabulary.vocabulary import Vocabulary
from tests.automata.enumerated import EXHAUSTIVE
from tests.calls.ground_truth import SOURCES, Case, cases, reason_against
from tests.calls.languages import Language
from tests.real_vocabularies import real_vocabulary
from tests.schema.official import MISSING, data_folder

pytestmark = pytest.mark.network

# Calls that are not well-typed: expressions and names in place of values, several arguments in place of one, empty numbers, typos in paths.
ILL_TYPED = {"bfcl": 19, "funcqa": 20, "kamel": 206, "restbench": 2, "toolbench": 51}
SAMPLE = 50
VOCABULARY = "smollm2"


def of_source(name: str) -> tuple[Case, ...]:
    folder = data_folder(name)
    if folder is None:
        pytest.skip(f"{name} is {MISSING}")
    return cases(name, Path(folder))


def some(name: str) -> list[Case]:
    found = list(of_source(name))
    return found if EXHAUSTIVE else random.Random(5).sample(found, SAMPLE)


class Compiled:
    """The spec and index of the tools of a case; of the last ones, since cases with the same tools follow each other."""

    def __init__(self) -> None:
        self._key: tuple[int, bool] | None = None
        self._found: tuple[Tools, Index] | None = None

    def __call__(self, case: Case) -> tuple[Tools, Index]:
        key = id(case.tools), case.schema is None
        if key != self._key or self._found is None:
            form = "tooldec-positional" if case.schema is None else "json"
            spec = Tools(case.tools, form, tool_choice="required")
            self._key, self._found = key, (spec, compile(spec, real_vocabulary(VOCABULARY)))
        return self._found


def written(name: str, arguments: Any) -> bytes:
    if isinstance(arguments, dict):
        return json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False).encode()
    return f"{name}({', '.join(json.dumps(item, ensure_ascii=False) for item in arguments)})".encode()


@cache
def by_bytes(vocabulary: Vocabulary) -> dict[bytes, int]:
    return {token: number for number, token in reversed(list(enumerate(vocabulary.tokens))) if token}


def tokenization(text: bytes, vocabulary: Vocabulary, chance: random.Random | None) -> list[int]:
    """The longest tokens from left to right, or any at random."""
    found, place, tokens = [], 0, by_bytes(vocabulary)
    longest = 24
    while place < len(text):
        ends = range(min(longest, len(text) - place), 0, -1)
        fitting = [number for end in ends if (number := tokens.get(text[place : place + end])) is not None]
        number = fitting[0] if chance is None else chance.choice(fitting)
        found.append(number)
        place += len(vocabulary.tokens[number] or b"")
    return found


@pytest.mark.parametrize("source", SOURCES)
def test_ground_truth_calls_are_accepted_in_every_tokenization(source: str) -> None:
    chance, vocabulary, compiled = random.Random(7), real_vocabulary(VOCABULARY), Compiled()
    for case in some(source):
        spec, index = compiled(case)
        text = f"{case.name}({case.raw})".encode() if case.raw else written(case.name, case.arguments)
        reason = reason_against(case)
        assert index.accepts(text) == (reason is None), (case.place, text, reason)
        if reason is not None:
            with pytest.raises(CallError):
                parse_text(text, spec)
            continue
        (call,) = parse_text(text, spec)
        assert call.name == case.name
        if isinstance(case.arguments, dict):
            assert call.arguments == case.arguments
        for tokens in (tokenization(text, vocabulary, each) for each in (None, chance, chance, chance)):
            guide = index.guide()
            early = chance.randrange(len(tokens))
            assert guide.advance_many(tokens[:early]) == early
            assert not guide.is_accepting, "no end in the middle of a call"
            assert guide.advance_many(tokens[early:]) == len(tokens) - early
            assert guide.is_accepting


@pytest.mark.parametrize("source", SOURCES)
def test_calls_that_are_not_well_typed_are_counted(source: str) -> None:
    assert sum(reason_against(case) is not None for case in of_source(source)) == ILL_TYPED[source]


def mutants(case: Case) -> Iterator[tuple[str, bytes, set[str]]]:
    """What was done, the text, and ToolDec's classes of error that it has."""
    names = {tool.name for tool in case.tools}
    for what, name in (
        ("suffix", case.name[1:]),
        ("prefix", case.name[:-1]),
        ("longer", case.name + "x"),
        ("unknown", "zz"),
    ):
        if name not in names and name:
            yield f"name: {what}", written(name, case.arguments), {"name"}
    text = written(case.name, case.arguments)
    yield "truncated", text[:-1], {"syntax"}
    yield "truncated in the middle", text[: len(text) // 2], {"syntax"}
    if case.schema is None:
        yield "wrong type", written(case.name, [None, *case.arguments[1:]]), {"argument"}
        yield "missing", written(case.name, []), {"argument", "syntax"}
        return
    validator = jsonschema.Draft202012Validator(case.schema)
    changed: list[tuple[str, dict[str, Any]]] = [("unknown argument", {**case.arguments, "zz": 1})]
    for label in case.arguments:
        changed.append(("missing argument", {name: value for name, value in case.arguments.items() if name != label}))
        changed += [("wrong type", {**case.arguments, label: value}) for value in ({"zz": [0]}, "zzz", -0.25, None)]
    for what, arguments in changed:
        if not validator.is_valid(arguments):
            yield what, written(case.name, arguments), {"argument"}


@pytest.mark.parametrize("source", SOURCES)
def test_mutants_are_refused_with_the_right_class(source: str) -> None:
    compiled, seen = Compiled(), set()
    for case in some(source)[:: 1 if EXHAUSTIVE else 3]:
        if reason_against(case) is not None:
            continue
        spec, index = compiled(case)
        for what, text, kinds in mutants(case):
            if source == "funcqa" and what == "missing":
                continue
            assert not index.accepts(text), (case.place, what, text)
            with pytest.raises(CallError) as caught:
                parse_text(text, spec)
            assert caught.value.kind in kinds, (case.place, what, text, str(caught.value))
            seen.add(what)
    assert {"name: suffix", "truncated", "wrong type"} <= seen


def listed(source: str) -> list[Any]:
    """All tools of a list: definitions, or as its calls have them."""
    if source in SOURCES:
        return list({id(tool): tool for case in of_source(source) for tool in case.tools}.values())
    folder = data_folder(source)
    if folder is None:
        pytest.skip(f"{source} is {MISSING}")
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    if source == "openapi":
        return [tool for document in documents for tool in read_tools(document, check=False)]
    return [{"name": tool["name"], "parameters": tool["inputSchema"]} for found in documents for tool in found]


@pytest.mark.parametrize("source", ["mcp", "openapi", *SOURCES])
def test_every_format_takes_the_tools_of_public_lists(source: str) -> None:
    tools = listed(source)
    assert len(tools) > 10
    tools = tools[:: 1 if EXHAUSTIVE else 1 + len(tools) // 250]
    for name in format_names():
        found = Tools(tools, name, duplicates="rename", unsupported="skip")
        left_out, count = (
            [note for note in found.notes if note.startswith("left out ")],
            len(tools) - len(found.argument_lists),
        )
        assert bool(left_out) == bool(count)
        # Names with brackets or semicolons without quotes, colons before a colon.
        # Behind twenty notes there is one with the number of the others.
        reasons = "cannot write this name", "writes a colon after names", " more tools"
        assert all(any(reason in note for reason in reasons) for note in left_out), (name, left_out)
        assert count <= len(tools) // 15, (name, left_out)


@pytest.mark.parametrize("name", format_names())
def test_published_calls_are_written_and_read_in_every_format(name: str) -> None:
    """A value that ends a raw string cannot be written, nor a value behind one that was left out where arguments have no keys."""
    chance, n_refused, n_read = random.Random(name), 0, 0
    for source in ("bfcl", "restbench", "toolbench"):
        typed = [case for case in of_source(source) if reason_against(case) is None]
        for case in typed if EXHAUSTIVE else chance.sample(typed, 12):
            (tool,) = (tool for tool in case.tools if tool.name == case.name)
            call = Call(case.name, case.arguments, (0, 0))
            try:
                spec = Tools([tool], name, tool_choice="required")
                text = render_calls([call], spec.argument_lists, spec.format, is_alone=True)
            except SchemaError:
                n_refused += 1
                continue
            assert Language(spec).accepts(text.encode()), (case.place, text)
            (found,) = parse_text(text, spec)
            assert isinstance(found, Call)
            assert (found.name, found.arguments) == (case.name, case.arguments), (case.place, text)
            n_read += 1
    assert n_refused <= n_read // 10
