"""Inputs nested 10,000 deep, through every public entry: a result or a typed error, in bounded time, under Python's own recursion limit."""

import copy
import dataclasses
import pickle
import sys
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Optional, TypedDict, Union

import numpy as np
import pydantic
import pytest

import guided
from guided.calls.reads import Call
from guided.calls.rendering import render_result
from guided.engine.files import load_index
from guided.engine.index import Index
from guided.errors import GuidedError
from guided.index.storage import read_arrays, write_arrays
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary
from tests.hostile.client import seconds
from tests.masks import bits
from tests.schema.test_deep_schemas import WRAPS

DEPTH = 10_000
VOCABULARY = Vocabulary(
    [*(bytes([value]) for value in range(256)), b'{"a":', b"[[", b"]]", b"((", b"}}", None], eos=[261]
)
EOS = 261

# Wraps that tests/schema/test_deep_schemas.py has not.
MORE_WRAPS: dict[str, Callable[[Any], Any]] = {
    "$ref beside": lambda inner: {"allOf": [{"$ref": "#/$defs/z"}], "anyOf": [inner, True], "$defs": {"z": {}}},
    "$defs": lambda inner: {"$defs": {"a": inner}},
    "minContains": lambda inner: {"contains": inner, "minContains": 2, "maxContains": 3},
    "not not": lambda inner: {"not": {"not": inner}},
    "every": lambda inner: {"allOf": [inner], "properties": {"a": {"items": inner}}},
    "uniqueItems": lambda inner: {"type": "array", "items": inner, "uniqueItems": True},
    "dependencies": lambda inner: {"dependentSchemas": {"a": inner, "b": {"required": ["a"]}}},
    "const": lambda inner: {"const": inner},
    "enum": lambda inner: {"enum": [inner, 1]},
    "default": lambda inner: {"default": inner},
    "unknown keyword": lambda inner: {"x-more": inner},
}
ALL_WRAPS = {**WRAPS, **MORE_WRAPS}


@pytest.fixture(autouse=True)
def usual_recursion_limit() -> Iterator[None]:
    """Python's default, whatever other tests have set."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(before)


def nested(wrap: Callable[[Any], Any], depth: int, leaf: Any) -> Any:
    for _ in range(depth):
        leaf = wrap(leaf)
    return leaf


def attempt(work: Callable[[], Any], *others: type[Exception]) -> Any:
    """The result or the typed error of a call, which ends (`tests.hostile.client.seconds`)."""

    def outcome() -> Any:
        try:
            return work()
        except others as error:
            return error

    result, _ = seconds(outcome)
    if isinstance(result, Exception):
        str(result), repr(result), pickle.loads(pickle.dumps(result))
    return result


def ask(guide: Any) -> None:
    """Every call that leaves a guide where it is."""
    before = len(guide)
    attempt(lambda: repr(guide))
    attempt(guide.mask)
    attempt(lambda: guide.is_accepting)
    attempt(guide.forced)
    left = attempt(lambda: guide.remaining)
    attempt(lambda: guide.mask_within(left if isinstance(left, int) else 10))
    attempt(lambda: guide.mask_within(3))
    attempt(lambda: guide.fits(ord("]"), 20))
    attempt(lambda: guide.validate(b"[[1,"))
    for token in (ord("["), ord("x"), EOS, 999):
        attempt(lambda token=token: repr(guide.explain(token)))
    assert len(guide) == before


def read(index: Index, text: bytes) -> bool:
    """Every call along a deep text: at its beginning, at its middle and at its end. Is it in the language?"""
    verdict = attempt(lambda: index.accepts(text))
    guide = index.guide()
    ask(guide)
    for part in (text[: len(text) // 2], text[len(text) // 2 :]):
        attempt(lambda part=part: guide.advance_many(part))
        ask(guide)
        attempt(lambda: attempt(guide.fork).advance(ord("]")))
    for one in (attempt(lambda: pickle.loads(pickle.dumps(guide))), copy.copy(guide)):
        assert isinstance(one, GuidedError) or bits(attempt(one.mask)) == bits(attempt(guide.mask))
    if not isinstance(verdict, GuidedError) and len(guide) == len(text):
        assert guide.is_accepting == verdict
    attempt(lambda: guide.rollback(len(guide) // 2))
    ask(guide)
    guide.reset()
    return verdict


def use(index: Index, tmp_path: Path) -> None:
    """What one does with an index as a whole."""
    attempt(lambda: repr(index))
    attempt(lambda: index.notes)
    attempt(lambda: index.explore(20))
    attempt(lambda: copy.deepcopy(index))
    path = tmp_path / "index"
    if not isinstance(attempt(lambda: index.save(path)), GuidedError):
        again = attempt(lambda: load_index(path, VOCABULARY))
        if isinstance(again, Index):
            assert bits(again.guide().mask()) == bits(index.guide().mask())


def check_spec(make: Callable[[], Any], tmp_path: Path, texts: tuple[bytes, ...] = ()) -> Any:
    """All that one does with a spec; what its compile gave."""
    spec = attempt(make)
    if isinstance(spec, GuidedError):
        return spec
    other = attempt(make)
    for work in (lambda: repr(spec), lambda: str(spec), lambda: hash(spec), lambda: spec == other, lambda: spec.fingerprint,
                 lambda: pickle.loads(pickle.dumps(spec)), lambda: copy.copy(spec), lambda: copy.deepcopy(spec),
                 lambda: getattr(spec, "notes", ()), lambda: spec.lark() if hasattr(spec, "lark") else None):  # fmt: skip
        attempt(work)
    index = attempt(lambda: guided.compile(spec, VOCABULARY))
    if isinstance(index, GuidedError):
        return index
    use(index, tmp_path)
    for text in texts:
        read(index, text)
    return index


CONTAINED = sorted(set(ALL_WRAPS) - {"const", "enum", "default", "unknown keyword", "$ref beside"})
SAME_VALUE = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "not not"]
ARRAYS = b"[" * DEPTH + b"]" * DEPTH
OBJECTS = b'{"a":' * DEPTH + b"1" + b"}" * DEPTH
RECURSIVE: dict[str, Any] = {
    "typed items": {"type": ["array", "null"], "items": {"$ref": "#"}},
    "anything": True,
    "properties": {"type": ["object", "integer"], "properties": {"a": {"$ref": "#"}}, "additionalProperties": False},
    "additionalProperties": {"additionalProperties": {"$ref": "#"}},
    "patternProperties": {"patternProperties": {"^a": {"$ref": "#"}}},
    "oneOf": {
        "oneOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#"}}, {"type": "object", "additionalProperties": {"$ref": "#"}}]
    },
    "not not": {"type": ["array", "object"], "items": {"not": {"not": {"$ref": "#"}}}},
}  # fmt: skip
GROUPS = {
    "(": ("(", ")"), "(?:": ("(?:", ")"), "(?=": ("(?=", ")"), "(?!": ("(?!", ")"), "(?<=": ("(?<=", ")"), "(?<!": ("(?<!", ")"),
    "(?i:": ("(?i:", ")"), "(?>": ("(?>", ")"), "*": ("(", ")*"), "+": ("(?:", ")+"), "?": ("(a", ")?"), "{1,2}": ("(?:", "){1,2}"),
    "|": ("(b|", ")"), "beside": ("(b", "b)"), "(?(1)": ("(?(1)", ")"), "[": ("[", "]"), "*?": ("(?:", ")*?"), "*+": ("(?:", ")*+"),
    "looks": ("(?=a(?!b", "))"),
}  # fmt: skip
# Chains of rules, and stars within each other of 100 to 300 levels, take Lark minutes: they are not among these.
GRAMMARS = {
    "groups": "start: " + "(" * DEPTH + '"a"' + ")" * DEPTH,
    "options": "start: " + "[" * DEPTH + '"a"' + "]" * DEPTH,
    "stars": "start: " + "(" * DEPTH + '"a"' + ")*" * DEPTH,
    "repeats": "start: " + "(" * DEPTH + '"a"' + '"b")+' * DEPTH,
    "counted": "start: " + "(" * DEPTH + '"a"' + ")~1..2" * DEPTH,
    "alternatives": "start: " + "(" * DEPTH + '"a"' + '|"b")' * DEPTH,
    "templates": "start: " + "t{" * DEPTH + '"a"' + "}" * DEPTH + '\nt{x}: x "b"\n',
    "groups in a terminal": "start: A\nA: " + "(" * DEPTH + '"a"' + ")" * DEPTH,
    "groups in a pattern": "start: A\nA: /" + "(" * DEPTH + "a" + ")" * DEPTH + "/\n",
    "terminals": "start: A0\n" + "".join(f'A{i}: A{i + 1} "b"\n' for i in range(DEPTH)) + f'A{DEPTH}: "a"\n',
}
ANNOTATIONS: dict[str, Callable[[Any], Any]] = {
    "list": lambda inner: list[inner],
    "dict": lambda inner: dict[str, inner],
    "tuple": lambda inner: tuple[inner, int],
    "tuple of any length": lambda inner: tuple[inner, ...],
    "frozenset": lambda inner: frozenset[inner],
    "list or None": lambda inner: list[inner] | None,
    "typing.List": lambda inner: typing.List[inner],  # noqa: UP006 - it writes itself by recursion
    "Optional": lambda inner: Optional[list[inner]],  # noqa: UP045 - as above
    "Union": lambda inner: Union[list[inner], str],  # noqa: UP007 - as above
    "Annotated": lambda inner: Annotated[list[inner], pydantic.Field(max_length=3)],
    "dataclasses": lambda inner: dataclasses.make_dataclass("D", [("a", inner)]),
    "TypedDict": lambda inner: TypedDict("T", {"a": inner}),  # type: ignore[operator, misc]
    "models": lambda inner: pydantic.create_model("M", a=(inner, ...)),
}


@pytest.mark.parametrize("keyword", ALL_WRAPS)
def test_schemas_of_10_000_levels(keyword: str, tmp_path: Path) -> None:
    found = check_spec(lambda: guided.JsonSchema(nested(ALL_WRAPS[keyword], DEPTH, {"type": "string"})), tmp_path)
    assert isinstance(found, guided.LimitError)


@pytest.mark.slow
@pytest.mark.parametrize("levels", [60, 95, 190])
@pytest.mark.parametrize("keyword", ALL_WRAPS)
def test_schemas_of_as_many_levels_as_are_allowed(keyword: str, levels: int, tmp_path: Path) -> None:
    check_spec(
        lambda: guided.JsonSchema(nested(ALL_WRAPS[keyword], levels, {"type": "string"})), tmp_path, (ARRAYS[:200],)
    )


def chained(keyword: str) -> dict[str, Any]:
    """10,000 definitions, each of which needs the next one."""
    definitions = {str(i): ALL_WRAPS[keyword]({"$ref": f"#/$defs/{i + 1}"}) for i in range(DEPTH)}
    return {"$ref": "#/$defs/0", "$defs": {**definitions, str(DEPTH): {"type": "string"}}}


@pytest.mark.slow
@pytest.mark.parametrize("keyword", SAME_VALUE)
def test_definitions_about_one_value_that_refer_to_each_other(keyword: str, tmp_path: Path) -> None:
    assert isinstance(check_spec(lambda: guided.JsonSchema(chained(keyword)), tmp_path), guided.LimitError)


@pytest.mark.slow
@pytest.mark.parametrize("keyword", [name for name in CONTAINED if name not in SAME_VALUE])
def test_definitions_that_refer_to_each_other(keyword: str) -> None:
    spec = guided.JsonSchema(chained(keyword))
    index = attempt(lambda: guided.compile(spec, VOCABULARY))
    if isinstance(index, Index):
        ask(index.guide())
        attempt(lambda: index.accepts(ARRAYS))


@pytest.mark.slow
@pytest.mark.parametrize("name", RECURSIVE)
def test_texts_of_recursive_schemas(name: str) -> None:
    index = guided.compile(guided.JsonSchema(RECURSIVE[name]), VOCABULARY)
    for text in (ARRAYS, OBJECTS):
        read(index, text)


@pytest.mark.slow
def test_texts_of_arrays_within_each_other_whose_items_differ() -> None:
    index = guided.compile(guided.JsonSchema({"items": {"$ref": "#"}, "uniqueItems": True}), VOCABULARY)
    guide = index.guide()
    for token in ARRAYS[:2_000] + ARRAYS[-40:]:
        if isinstance(attempt(lambda token=token: guide.advance(token)), GuidedError):
            break
    ask(guide)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("levels", [pytest.param(DEPTH - 10, marks=pytest.mark.slow), 10 * DEPTH])
def test_patterns(group: str, levels: int, tmp_path: Path) -> None:
    begin, end = GROUPS[group]
    check_spec(lambda: guided.Regex(begin * levels + "a" + end * levels), tmp_path)


@pytest.mark.parametrize("name", GRAMMARS)
def test_grammars(name: str, tmp_path: Path) -> None:
    assert isinstance(check_spec(lambda: guided.Grammar(GRAMMARS[name]), tmp_path), GuidedError)


@pytest.mark.slow
@pytest.mark.parametrize(
    "grammar",
    [
        'start: "[" start? "]"',
        'start: start "[" | "]" start | "[" "]"',
        'start: x*\nx: "[" x* "]" | NAME\nNAME: /[a-z]+/',
    ],
)
def test_deep_texts_of_grammars(grammar: str) -> None:
    index = attempt(lambda: guided.compile(guided.Grammar(grammar), VOCABULARY))
    if isinstance(index, Index):
        read(index, ARRAYS)


@pytest.mark.parametrize(
    "levels", [100, 3_000, *(pytest.param(levels, marks=pytest.mark.slow) for levels in (300, DEPTH))]
)
@pytest.mark.parametrize("name", ANNOTATIONS)
def test_annotations(name: str, levels: int) -> None:
    def tool(a: Any) -> Any:
        return a

    makes_classes = name in ("dataclasses", "TypedDict", "models")
    try:
        annotation = nested(ANNOTATIONS[name], min(levels, 200) if makes_classes else levels, int)
    except RecursionError:
        # Python itself cannot make it.
        assert levels > 300
        return
    tool.__annotations__ = {"a": annotation}
    for make in (lambda: guided.JsonSchema(annotation), lambda: guided.JsonSchema(tool), lambda: guided.Tools([tool])):
        spec = attempt(make)
        if not isinstance(spec, GuidedError):
            attempt(lambda spec=spec: (repr(spec), hash(spec), spec.fingerprint))
            attempt(lambda spec=spec: guided.compile(spec, VOCABULARY))
    attempt(lambda: guided.Choice(annotation), TypeError)


class Node(pydantic.BaseModel):
    a: "Node | None" = None


def test_deep_values_of_recursive_types() -> None:
    spec = guided.JsonSchema(Node, whitespace="compact")
    index = guided.compile(spec, VOCABULARY)
    text = OBJECTS.replace(b"1", b"null")
    assert index.accepts(text)
    assert isinstance(attempt(lambda: spec.read(text)), Node | GuidedError)


def test_deep_tools(tmp_path: Path) -> None:
    deep, text = nested(lambda inner: {"a": inner}, DEPTH, 1), "[" * DEPTH + "]" * DEPTH
    for parameters in (deep, {"type": "object", "properties": {"a": nested(WRAPS["items"], DEPTH, {})}}):
        found = check_spec(
            lambda parameters=parameters: guided.Tools([{"name": "f", "parameters": parameters}]), tmp_path
        )
        assert isinstance(found, GuidedError)
        attempt(lambda parameters=parameters: guided.read_tools({"tools": [{"name": "f", "inputSchema": parameters}]}))
        attempt(lambda parameters=parameters: guided.read_tools({"openapi": "3.0.0", "paths": parameters}))
    (tmp_path / "tools.json").write_text(text)
    attempt(lambda: guided.read_tools(tmp_path / "tools.json"), TypeError)
    assert isinstance(attempt(lambda: guided.JsonSchema(text)), GuidedError)
    assert isinstance(render_result(Call("f", {}, (0, 1), result=deep)), str)


def test_deep_files(tmp_path: Path) -> None:
    text, path = "[" * DEPTH + "]" * DEPTH, tmp_path / "file"
    index = guided.compile(guided.JsonSchema({"type": "array"}), VOCABULARY)
    index.save(path)
    fields, arrays = read_arrays(path, limits=Limits())
    own = arrays["data"].tobytes().decode()
    for data in (text, '{"schema": ' + text + "}", own.replace('"array"', text)):
        write_arrays(path, fields, {**arrays, "data": np.frombuffer(data.encode(), np.uint8)})
        assert isinstance(attempt(lambda: load_index(path, VOCABULARY)), GuidedError)
    path.write_text(text)
    for work in (
        lambda: load_index(path, VOCABULARY),
        lambda: Vocabulary.from_file(path),
        lambda: guided.Tools([len], format=path),
    ):
        assert isinstance(attempt(work), GuidedError)
