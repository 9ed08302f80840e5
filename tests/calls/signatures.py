"""Random signatures, calls of them, and texts that are nearly calls."""

import inspect
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from hypothesis import strategies as st

from guided.calls.tool import Tool

ANNOTATIONS: dict[str, Any] = {
    "int": int,
    "bool": bool,
    "choice": Literal["a", "b c"],
    "optional": int | None,
    "list": list[int],
    "str": str,
}
SCHEMAS: dict[str, Any] = {
    "int": {"type": "integer"},
    "bool": {"type": "boolean"},
    "choice": {"enum": ["a", "b c"]},
    "optional": {"type": ["integer", "null"]},
    "list": {"type": "array", "items": {"type": "integer"}},
    "str": {"type": "string"},
}
# A tool whose argument is recursive.
TREE: dict[str, Any] = {
    "name": "grow",
    "parameters": {
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/tree"}, "deep": {"type": "boolean"}},
        "required": ["tree"],
        "$defs": {
            "tree": {
                "type": "object",
                "properties": {"v": {"type": "number"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
                "additionalProperties": False,
            }
        },
    },
}
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "int": st.integers(-200, 200),
    "bool": st.booleans(),
    "choice": st.sampled_from(["a", "b c"]),
    "optional": st.none() | st.integers(-9, 9),
    "list": st.lists(st.integers(-9, 99), max_size=3),
    "str": st.text('ab,)("\\\n}é', max_size=5),
}
# Name, kind, is required.
Shape = Sequence[tuple[str, str, bool]]


def tool_of(name: str, shape: Shape, is_positional: bool) -> Tool:
    """A tool whose function gives back its arguments."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if is_positional else inspect.Parameter.KEYWORD_ONLY

    def function(**arguments: Any) -> dict[str, Any]:
        return arguments

    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                label, kind, annotation=ANNOTATIONS[what], default=inspect.Parameter.empty if needed else None
            )
            for label, what, needed in shape
        ]
    )
    function.__annotations__ = {label: ANNOTATIONS[what] for label, what, _ in shape}
    return Tool(function, name=name)


def defined(name: str, shape: Shape) -> dict[str, Any]:
    """The definition in JSON of the tool that `tool_of` gives."""
    return {
        "name": name,
        "parameters": {
            "type": "object",
            "properties": {key: SCHEMAS[kind] for key, kind, _ in shape},
            "required": [key for key, _, needed in shape if needed],
        },
    }


@st.composite
def shapes(draw: st.DrawFn, is_positional: bool) -> Shape:
    labels = draw(st.permutations(["a", "ab", "b", "c_", "true"]))[: draw(st.integers(0, 4))]
    found = [(label, draw(st.sampled_from(list(ANNOTATIONS))), draw(st.booleans())) for label in labels]
    return sorted(found, key=lambda item: not item[2]) if is_positional else found


@st.composite
def inventories(draw: st.DrawFn, is_positional: bool) -> Mapping[str, Shape]:
    names = draw(st.permutations(["f", "ff", "f.g", "exp", "exp10"]))[: draw(st.integers(1, 3))]
    return {name: draw(shapes(is_positional)) for name in names}


@st.composite
def calls(draw: st.DrawFn, shape: Shape, is_positional: bool) -> dict[str, Any]:
    """Arguments that a tool of this shape can be called with."""
    given: dict[str, Any] = {}
    for label, kind, needed in shape:
        if needed or draw(st.booleans()):
            given[label] = draw(VALUES[kind])
        elif is_positional:
            break
    return given


def written(name: str, arguments: Mapping[str, Any], style: str, blank: str = " ", plus: str = "") -> str:
    """A call in a style, with or without its optional blanks; ``plus`` comes before numbers where a style has it."""
    spell = lambda value: json.dumps(value, ensure_ascii=False, separators=("," + blank, ":" + blank))  # noqa: E731
    if style == "json":
        return spell({"name": name, "arguments": arguments})
    keys = {label: f"{label}=" if style == "tooldec" else "" for label in arguments}
    if style == "tooldec-positional":
        keys |= {label: plus for label, value in arguments.items() if type(value) is int and value >= 0}
    return f"{name}({f',{blank}'.join(keys[label] + spell(value) for label, value in arguments.items())})"


@st.composite
def mutants(draw: st.DrawFn, text: str) -> str:
    """A text with up to three edits."""
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, len(text)))
        character = draw(st.sampled_from('"\\,:(){}[]=+-.019aebtrunlsf _<T>\né'))
        kept = draw(st.integers(0, 2))
        text = text[:place] + (character if kept else "") + text[place + (kept != 1) :]
    return text
