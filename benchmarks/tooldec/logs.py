"""E1: the logged calls of ToolEval (I2-Category), judged anew by our acceptor and by a plain checker that shares no code with it.

A logged call is a name (*Action*) and a text that should be JSON (*Action Input*). The acceptor is two indices over single bytes: the
choice of the task's names, and the JSON Schema of the tool's arguments, any order and any blanks. Its classes:

- *name*: the choice of names refuses the name;
- *cut*: the schema's index has a state for the whole text, which is not a final one: the log ends in the middle of a call;
- *syntax*: the index of all JSON objects refuses the text, too;
- *argument*: the text is an object, but none that the schema allows.

Blanks around the text are taken off for both: JSON allows them, and an index is of the value alone. The plain checker is `json.loads`
and a loop over the properties. It cannot tell a cut text from one with another error of syntax, so it is asked only whether a text
is JSON.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import guided

__all__ = ["RUNS", "Logged", "accepted_class", "judged", "logged_calls", "plain_class", "written_calls"]

RUNS = {
    "ChatGPT": "chatgpt_i2_cat_cot_18",
    "ToolLLM": "toolllama_i2_cat_cot_18",
    "ToolLLM, no fuzzy match": "toolllama_i2_cat_cot_18_nofuzzy",
    "ToolDec": "toolllama_i2_cat_cot_18_tooldec",
}
_BLANKS = r"[ \n\r\t]*"
_OPTIONS: Any = {"whitespace": _BLANKS, "property_order": "any", "numbers": "any", "escapes": "any"}
_BYTES = guided.Vocabulary([bytes([byte]) for byte in range(256)] + [None], eos=[256])


@dataclass(frozen=True, slots=True)
class Logged:
    """One call in a log.

    Attributes
    ----------
    task : str
    name, text : str
        As the model wrote them.
    tools : Mapping of str to dict
        Name -> properties and required names, as JSON text.
    """

    task: str
    name: str
    text: str
    tools: Mapping[str, str]


def logged_calls(folder: Path, run: str) -> Iterator[Logged]:
    """All calls of a run, task by task."""
    for path in sorted((folder / RUNS[run]).glob("*.json")):
        log = json.loads(path.read_text(encoding="utf-8"))
        tools = {tool["name"]: _schema(tool["parameters"]) for tool in log["answer_generation"]["function"]}
        name = ""
        for node in (node for attempt in log["trys"] for node in attempt["chain"]):
            if node["node_type"] == "Action":
                name = node["description"]
            elif node["node_type"] == "Action Input":
                yield Logged(path.stem.partition("_")[0], name, node["description"], tools)


def written_calls() -> Iterator[Logged]:
    """Calls of our own with an error of each kind, for where the logs are not."""
    tools = {
        "weather": _schema({
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "unit": {"type": "string", "enum": ["C", "F"]}},
            "required": ["city"],
        }),
        "weather_map": _schema({"properties": {"wide": {"type": "boolean"}}, "required": []}),
    }  # fmt: skip
    texts = (
        '{"city": "Oslo"}', '{\n  "days": 3,\n  "city": "Oslo"\n}', '{"city": "Oslo", "unit": "F"}', "{}", '{"city": 3}',
        '{"city": "Oslo", "unit": "K"}', '{"city": "Oslo", "wind": true}', '{"city": "Oslo"', '{"city": "Os', '{"city" "Oslo"}', "",
        "[]", '{"city": "a\nb"}', '{"wide": true}', '{"wide": "true"}', '{"city": "Oslo", "days": 2.5}', '{"city": "Oslo"} now',
    )  # fmt: skip
    for number, text in enumerate(texts):
        for name in ("weather", "weather_map", "weather_", "map", ""):
            yield Logged(str(number), name, text, tools)


def accepted_class(call: Logged) -> str:
    """The class of a call's error by the indices; empty for a good one."""
    if not _names(tuple(call.tools)).accepts(call.name.encode()):
        return "name"
    data = call.text.strip(" \n\r\t").encode("utf-8", "surrogatepass")
    index = _arguments(call.tools[call.name])
    if index.accepts(data):
        return ""
    guide = index.guide()
    if guide.advance_many(list(data)) == len(data):
        return "cut"
    return "argument" if _arguments('{"type": "object"}').accepts(data) else "syntax"


def plain_class(call: Logged) -> str:
    """The class by plain means: "name", "syntax", "argument", or empty."""
    if call.name not in call.tools:
        return "name"
    try:
        value = json.loads(call.text)
    except ValueError:
        return "syntax"
    if not isinstance(value, dict):
        return "syntax"
    schema = json.loads(call.tools[call.name])
    if set(schema["required"]) - set(value) or set(value) - set(schema["properties"]):
        return "argument"
    for name, given in value.items():
        wanted = schema["properties"][name]
        if not _has_type(given, wanted["type"]) or given not in wanted.get("enum", [given]):
            return "argument"
    return ""


def judged(calls: Sequence[Logged]) -> dict[str, Any]:
    """Counts by class, of calls and of tasks, and the calls that the two judge differently."""
    by_call: dict[str, int] = {}
    by_task: dict[str, set[str]] = {}
    disagreements = []
    for call in calls:
        ours, plain = accepted_class(call), plain_class(call)
        by_call[ours] = by_call.get(ours, 0) + 1
        by_task.setdefault(ours, set()).add(call.task)
        if (ours or plain) and ours != plain and (ours, plain) != ("cut", "syntax"):
            disagreements.append([call.task, call.name, call.text, ours, plain])
    # What was cut broke off where it could have gone on: it is told apart from what the model got wrong.
    wrong = set().union(*(tasks for kind, tasks in by_task.items() if kind not in ("", "cut")))
    return {
        "calls": len(calls),
        "tasks": len({call.task for call in calls}),
        "by call": {kind or "good": count for kind, count in sorted(by_call.items())},
        "by task": {kind: len(tasks) for kind, tasks in sorted(by_task.items()) if kind},
        "tasks with a tool error": len(wrong),
        "tasks with a tool error or a cut call": len(wrong | by_task.get("cut", set())),
        "wrong tasks": sorted(wrong),
        "disagreements": disagreements,
    }


def _schema(parameters: Mapping[str, Any]) -> str:
    """What is checked of a function's parameters: types, enumerations, required names, and no others."""
    properties = {
        name: {key: value for key, value in given.items() if key in ("type", "enum")}
        for name, given in parameters["properties"].items()
    }
    required = sorted(parameters["required"])
    return json.dumps({"type": "object", "properties": properties, "required": required, "additionalProperties": False})


@lru_cache(maxsize=1024)
def _names(names: tuple[str, ...]) -> guided.Index:
    return guided.compile(guided.Choice(names), _BYTES)


@lru_cache(maxsize=1024)
def _arguments(schema: str) -> guided.Index:
    return guided.compile(guided.JsonSchema(json.loads(schema), **_OPTIONS), _BYTES)


def _has_type(value: Any, name: str) -> bool:
    if name == "integer":
        return (isinstance(value, int) and not isinstance(value, bool)) or (
            isinstance(value, float) and value.is_integer()
        )
    return isinstance(value, {"string": str, "boolean": bool}[name])
