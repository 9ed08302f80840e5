"""Published calls of tools, each with the tools it was made for: BFCL, FuncQA, KAMEL, RestBench, ToolBench.

Folders are found as `tests.schema.official.data_folder` has it. Types of other languages (``dict``, ``HashMap``, ``float``) are put into
JSON Schema's words here. Whether a call is well-typed is for jsonschema to say, not for guided.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

from guided.calls.naming import distinct
from guided.calls.sources.documents import read_tools
from guided.calls.tool import Tool
from tests.calls.sources.repairs import repair_document

__all__ = ["SOURCES", "Case", "cases", "reason_against"]

_TYPES = {
    "dict": "object", "HashMap": "object", "float": "number", "double": "number", "tuple": "array", "Array": "array",
    "ArrayList": "array", "String": "string", "char": "string", "Boolean": "boolean", "long": "integer",
    "STRING": "string", "NUMBER": "number", "BOOLEAN": "boolean", "ENUM": "string", "ARRAY": "array", "OBJECT": "object",
}  # fmt: skip
_NOT_IN_NAMES = re.compile(r"[^\w.\-/:]+")


@dataclass(frozen=True)
class Case:
    """A call.

    Attributes
    ----------
    place : str
        Where it is published.
    tools : sequence of Tool
    name : str
    arguments : dict or list
        By name, or by position.
    schema : Mapping
        Of the arguments by name; None where they are by position.
    raw : str
        What stands between the parentheses, where that is no list of values.
    """

    place: str
    tools: Sequence[Tool]
    name: str
    arguments: Any
    schema: Mapping[str, Any] | None
    raw: str = ""


def reason_against(case: Case) -> str | None:
    """Why a call is not well-typed, as jsonschema or the tool's own types have it; None where it is."""
    if case.name not in {tool.name for tool in case.tools}:
        return "there is no such tool"
    if case.schema is None:
        bad = [item for item in case.arguments if isinstance(item, str) and item.startswith("not a number: ")]
        return f"no value: {case.raw}" if case.raw else bad[0] if bad else None
    error = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(case.schema).iter_errors(case.arguments))
    return None if error is None else error.message


def in_order(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments in the order that they are declared in."""
    declared = list(schema.get("properties", {}))
    known = {name: arguments[name] for name in declared if name in arguments}
    return {**known, **{name: value for name, value in arguments.items() if name not in known}}


def plain(schema: Any) -> Any:
    """A schema in JSON Schema's words."""
    if isinstance(schema, list):
        return [plain(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: plain(value) for key, value in schema.items() if key not in ("description", "default", "optional")}
    if isinstance(schema.get("properties"), dict):
        found["properties"] = {name: plain(inner) for name, inner in schema["properties"].items()}
    kind = schema.get("type")
    if isinstance(kind, str):
        # Kinds of text of ToolBench: DATE (YYYY-MM-DD), BINARY, TIME (24-hour HH:MM), ...
        found["type"] = _TYPES.get(kind, "string" if kind.isupper() or " " in kind else kind)
        if kind in ("any", ""):
            del found["type"]
    return found


def bfcl(folder: Path) -> Iterator[Case]:
    """Of several acceptable values the first; an argument that may be left out is."""
    for file in sorted(folder.glob("BFCL_*.json")):
        answers = map(json.loads, (folder / "possible_answer" / file.name).read_text().splitlines())
        for question, answer in zip(map(json.loads, file.read_text().splitlines()), answers, strict=True):
            schemas = {
                item["name"]: {**plain(item["parameters"]), "additionalProperties": False}
                for item in question["function"]
            }
            tools = [Tool({"name": name, "parameters": schema}) for name, schema in schemas.items()]
            for number, call in enumerate(answer["ground_truth"]):
                ((name, options),) = call.items()
                given = {key: chosen(values) for key, values in options.items() if values[0] != ""}
                schema = schemas.get(name, {})
                yield Case(f"{question['id']}#{number}", tools, name, in_order(given, schema), schema)


def chosen(options: Sequence[Any]) -> Any:
    """The first acceptable value; objects have acceptable values for each member, too."""
    value = options[0]
    if isinstance(value, dict):
        return {
            key: chosen(inner) if isinstance(inner, list) and inner else inner
            for key, inner in value.items()
            if inner != [""]
        }
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return [chosen([item]) for item in value]
    return value


def funcqa(folder: Path) -> Iterator[Case]:
    """Calculations: numbers by position, as many as there are."""

    def function(*x: float) -> float: ...

    tools = [Tool(function, name=name.strip("<>")) for name in json.loads((folder / "func_dict.json").read_text())]
    texts = [
        (f"train#{i}", text)
        for i, item in enumerate(json.loads((folder / "train.json").read_text()))
        for text in item["tar_eq"]
    ]
    for kind, key in (("mh", "calculation"), ("oh", "func")):
        for number, item in enumerate(json.loads((folder / f"funcqa_{kind}.json").read_text())):
            found = item[key] if isinstance(item[key], list) else [item[key]]
            texts += [(f"{kind}#{number}", text) for text in found]
    for place, text in texts:
        match = re.match(r"<(\w+)>\((.*?)\)\s*=", text)
        if match is None:
            yield Case(place, tools, text, [], None)
            continue
        yield Case(place, tools, match[1], [number_of(part) for part in match[2].split(",")], None)


def number_of(text: str) -> Any:
    """A number as JSON has it; what it is not otherwise."""
    try:
        return json.loads(text.strip())
    except ValueError:
        return f"not a number: {text.strip()}"


def kamel(folder: Path) -> Iterator[Case]:
    """Relations, some of which have one name."""
    found = {}
    for key, text in json.loads((folder / "api_desc.json").read_text()).items():
        match = re.match(r"(\w+)\((\w+)", text)
        assert match is not None, text
        schema = {"type": "object", "properties": {match[2]: {"type": "string"}}, "required": [match[2]]}
        found[key] = Tool({"name": match[1], "parameters": schema})
    tools = dict(zip(found, distinct(found.values()), strict=True))
    listed = list(tools.values())
    for number, item in enumerate(json.loads((folder / "train_clean.json").read_text())):
        for text in item["call"]:
            match = re.match(r'<f>(P\d+)\((".*?")\)=', text)
            if match is None:
                yield Case(f"train#{number}", listed, text, [], None)
                continue
            try:
                value, raw = json.loads(match[2]), ""
            except ValueError:
                value, raw = "", match[2]
            yield Case(f"train#{number}", listed, tools[match[1]].name, [value], None, raw)


def restbench(folder: Path) -> Iterator[Case]:
    """Paths without arguments; what an operation requires is made up."""
    for name in ("tmdb", "spotify"):
        document, slips = repair_document(json.loads((folder / f"{name}_oas.json").read_text()))
        assert slips, "the documents hold slips"
        tools = {tool.original: tool for tool in read_tools(document, check=False)}
        listed = list(tools.values())
        for number, item in enumerate(json.loads((folder / f"{name}.json").read_text())):
            for key in item["solution"]:
                tool = tools.get(key.strip())
                if tool is None:
                    yield Case(f"{name}#{number}", listed, key, {}, {})
                    continue
                schema = tool.schema.source.schema(tool.original)
                given = {label: least(schema["properties"][label], schema) for label in schema.get("required", ())}
                yield Case(f"{name}#{number}", listed, tool.name, in_order(given, schema), schema)


def least(schema: Any, root: Any) -> Any:
    """Some value of a simple schema."""
    if "$ref" in schema:
        return least(root["definitions"][schema["$ref"].rpartition("/")[2]], root)
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "object" or "properties" in schema:
        return {label: least(schema["properties"][label], root) for label in schema.get("required", ())}
    if schema.get("type") == "array":
        return [least(schema.get("items", {}), root)]
    return {"integer": 1, "number": 0.5, "boolean": True}.get(schema.get("type"), "a")


def toolbench(folder: Path) -> Iterator[Case]:
    """APIs that a question needs, with the values that their documentation gives for what is required."""
    for file in sorted(folder.glob("*.json")):
        for item in json.loads(file.read_text()):
            schemas, tools, keys = [], [], {}
            for entry in item["api_list"]:
                name = _NOT_IN_NAMES.sub("_", f"{entry['api_name']}_for_{entry['tool_name']}").strip("_")
                lists = entry["required_parameters"], entry["optional_parameters"]
                properties = {each["name"]: plain({"type": each["type"]}) for each in (*lists[0], *lists[1])}
                needed = list(dict.fromkeys(each["name"] for each in lists[0]))
                schemas.append(
                    {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}
                )
                tools.append(Tool({"name": name, "parameters": schemas[-1]}))
                keys[entry["tool_name"], entry["api_name"]] = (
                    len(tools) - 1,
                    {each["name"]: each.get("default") for each in lists[0]},
                )
            tools = list(distinct(tools))
            for pair in item["relevant APIs"]:
                place, given = keys.get(tuple(pair), (None, {}))
                if place is None:
                    yield Case(f"{file.stem}#{item['query_id']}", tools, "/".join(pair), {}, {})
                else:
                    schema = schemas[place]
                    yield Case(
                        f"{file.stem}#{item['query_id']}", tools, tools[place].name, in_order(given, schema), schema
                    )


SOURCES = {"bfcl": bfcl, "funcqa": funcqa, "kamel": kamel, "restbench": restbench, "toolbench": toolbench}


@cache
def cases(name: str, folder: Path) -> tuple[Case, ...]:
    """All calls of a source."""
    return tuple(SOURCES[name](folder))
