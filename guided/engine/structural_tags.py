"""`StructuralTag`: compositions written in the JSON of xgrammar's and vLLM's structural tags.

A structural tag names what may follow what: constant strings, free text, schemas, patterns, and *tags*, that is, content between two
strings. In *triggered tags*, free text switches to a tag as soon as a trigger is complete. Every format becomes a composition
(`guided.engine.algebra`); what cannot be expressed exactly is refused with its JSON Pointer.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guided.engine.algebra import Alternatives, Concatenation, Optional, Part, Repeat, Text
from guided.engine.grammar import Grammar
from guided.engine.json_schema import JsonSchema
from guided.engine.specs import Regex
from guided.errors import GuidedError, SchemaError, shown
from guided.keywords import suggest_keywords
from guided.schema.frontend.json_values import check_levels, parse_json

__all__ = ["StructuralTag"]


class StructuralTag(Concatenation):
    """Texts that a structural tag describes.

    Parameters
    ----------
    tag : dict or str
        ``{"type": "structural_tag", "format": {...}}``, or the older form with ``structures`` and ``triggers``; parsed JSON or its text.
    whitespace : str
    additional_properties : bool
        As in `JsonSchema`, for the schemas of the tag.

    Raises
    ------
    SchemaError
        The tag is malformed, or has a format that cannot be enforced, with its JSON Pointer: formats of single tokens, EBNF
        grammars, and styles of arguments other than those of docs/compositions.md.

    Examples
    --------
    >>> number = {"type": "json_schema", "json_schema": {"type": "integer"}}
    >>> StructuralTag({"type": "structural_tag", "format": {"type": "tag", "begin": "<n>", "content": number, "end": "</n>"}})
    <StructuralTag of 2 formats: tag, json_schema>
    """

    __slots__ = ("_kinds",)
    _kinds: tuple[str, ...]

    @suggest_keywords()
    def __init__(
        self, tag: Mapping[str, Any] | str, *, whitespace: str = "flexible", additional_properties: bool = True
    ) -> None:
        if isinstance(tag, str | bytes):
            try:
                tag = parse_json(tag)
            except ValueError as error:
                raise SchemaError(f"the structural tag is not valid JSON: {error}", "", "structural_tag") from error
        if not isinstance(tag, Mapping):
            raise SchemaError(f"a structural tag must be an object, not {type(tag).__name__}", "", "structural_tag")
        check_levels(tag)
        reader = _Reader({"whitespace": whitespace, "additional_properties": additional_properties})
        part = reader.top(tag)
        object.__setattr__(self, "_kinds", tuple(reader.kinds))
        super().__init__((part,))

    def __repr__(self) -> str:
        n = len(self._kinds)
        return f"<StructuralTag of {n} format{'s' * (n != 1)}: {', '.join(dict.fromkeys(self._kinds))}>"

    def __reduce__(self) -> Any:
        return Concatenation, (self.parts,)


@dataclass(frozen=True, slots=True)
class _Style:
    """How a style writes one argument.

    Attributes
    ----------
    before : str
        Before the key.
    between, between_text : tuple of parts
        Between key and value, for values in JSON and for plain texts; ``{type}`` stands for the name of the JSON type.
    after : str
        After the value.
    """

    before: str
    between: tuple[Part, ...]
    between_text: tuple[Part, ...]
    after: str


# Between and around arguments, as in JSON.
_BLANKS = Regex("[ \\t\\n\\r]{0,20}")
_BETWEEN_GLM = ("</arg_key>", _BLANKS, "<arg_value>")
_DSML = "\uff5cDSML\uff5c"
_STYLES = {
    "qwen_xml": _Style("<parameter=", (">",), (">",), "</parameter>"),
    "minimax_xml": _Style('<parameter name="', ('">',), ('">',), "</parameter>"),
    "glm_xml": _Style("<arg_key>", _BETWEEN_GLM, _BETWEEN_GLM, "</arg_value>"),
    "deepseek_xml": _Style(
        f'<{_DSML}parameter name="', ('" string="false">',), ('" string="true">',), f"</{_DSML}parameter>"
    ),
    "deepseek_v4_1_xml": _Style(
        f'<{_DSML} parameter name="', ('" string="false">',), ('" string="true">',), f"</{_DSML} parameter>"
    ),
    "kimi_k3_xml": _Style(
        '<|open|>argument key="', ('" type="{type}"<|sep|>',), ('" type="string"<|sep|>',), "<|close|>argument<|sep|>"
    ),
}


class _Reader:
    """Reads one structural tag.

    Attributes
    ----------
    kinds : list of str
        Types of the formats, in order of reading.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        # Of all schemas.
        self._options = options
        self.kinds: list[str] = []

    def top(self, tag: Mapping[str, Any]) -> Part:
        """Return the composition of a whole structural tag."""
        if tag.get("type", "structural_tag") != "structural_tag":
            raise SchemaError(f"unknown type {shown(tag['type'])}, expected 'structural_tag'", "/type", "type")
        if "format" in tag:
            return self._format(tag["format"], "/format", ())
        if "structures" not in tag:
            raise SchemaError("a structural tag needs 'format', or 'structures' and 'triggers'", "", "format")
        tags = []
        for i, item in enumerate(_list(tag, "structures", "")):
            at = f"/structures/{i}"
            schema = _get(item, "schema", at)
            schema = _parsed(schema, f"{at}/schema") if isinstance(schema, str) else schema
            content = {"type": "json_schema", "json_schema": schema}
            tags.append({"begin": _text(item, "begin", at), "content": content, "end": _text(item, "end", at)})
        return self._triggered({"tags": tags, "triggers": _get(tag, "triggers", "")}, "", ())

    def _format(self, given: Any, at: str, ends: tuple[str, ...]) -> Part:
        """Return the composition of a format. ``ends``: strings that end the text around it, which free text must not contain."""
        if not isinstance(given, Mapping):
            raise SchemaError(f"a format must be an object, not {type(given).__name__}", at, "type")
        kind = _text(given, "type", at)
        read = _FORMATS.get(kind)
        if read is None:
            if kind in _OF_TOKENS:
                raise SchemaError(f"formats of single tokens such as {kind!r} cannot be enforced on bytes", at, "type")
            raise SchemaError(f"unknown format {shown(kind)}", at, "type")
        self.kinds.append(kind)
        return read(self, given, at, ends)

    def _const_string(self, given: Mapping[str, Any], at: str, _ends: tuple[str, ...]) -> Part:
        return _text(given, "value", at)

    def _json_schema(self, given: Mapping[str, Any], at: str, _ends: tuple[str, ...]) -> Part:
        style = given.get("style", "json")
        schema = _get(given, "json_schema", at)
        if _list(given, "excludes", at, ()):
            raise SchemaError("excluded texts in JSON cannot be enforced", f"{at}/excludes", "excludes")
        if style != "json":
            return self._arguments(schema, style, at)
        most = given.get("max_whitespace_cnt")
        options: dict[str, Any] = {"property_order": "any"} if given.get("any_order") else {}
        if most is not None:
            options["whitespace"] = f"[ \\t\\n\\r]{{0,{_count(most, f'{at}/max_whitespace_cnt')}}}"
        return self._schema(schema, f"{at}/json_schema", options)

    def _schema(self, schema: Any, at: str, options: dict[str, Any]) -> JsonSchema[Any]:
        if not isinstance(schema, Mapping | bool):
            raise SchemaError(f"a schema must be an object or a bool, not {type(schema).__name__}", at, "json_schema")
        return JsonSchema(schema, source="schema", **{**self._options, **options})

    def _arguments(self, schema: Any, style: Any, at: str) -> Part:
        """Return the arguments of an object schema in a model's own style: plain texts as they are, other values as JSON."""
        form = _STYLES.get(style) if isinstance(style, str) else None
        if form is None:
            known = ", ".join(["json", *_STYLES])
            raise SchemaError(f"unknown or unsupported style {shown(style)}; known: {known}", f"{at}/style", "style")
        pointer = f"{at}/json_schema"
        known_keys = {
            "type",
            "properties",
            "required",
            "additionalProperties",
            "$defs",
            "definitions",
            "title",
            "description",
        }
        if not isinstance(schema, Mapping) or schema.get("type", "object") != "object" or set(schema) - known_keys:
            raise SchemaError(
                f"style {style!r} needs an object with 'properties' and 'required' only", pointer, "style"
            )
        required = set(schema.get("required", ()))
        around = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
        found: list[Part] = []
        for name, value in schema.get("properties", {}).items():
            argument = Concatenation((_BLANKS, f"{form.before}{name}", *self._argument(value, around, form, pointer)))
            found.append(argument if name in required else Optional(argument))
        if missing := required - set(schema.get("properties", {})):
            raise SchemaError(f"required argument {shown(min(missing))} has no schema", pointer, "required")
        return Concatenation((*found, _BLANKS))

    def _argument(self, value: Any, around: dict[str, Any], form: _Style, at: str) -> tuple[Part, ...]:
        if isinstance(value, Mapping) and value.get("type") == "string":
            plain = value.keys() - {"type", "title", "description", "default", "examples"}
            if not plain:
                return (*form.between_text, Text(stop=form.after))
            if plain == {"enum"} and all(isinstance(text, str) for text in value["enum"]):
                return (*form.between_text, _BLANKS, Alternatives(tuple(value["enum"])), _BLANKS, form.after)
        whole = {**around, **value} if isinstance(value, Mapping) else value
        between = tuple(self._typed(part, value, at) if isinstance(part, str) else part for part in form.between)
        return (*between, _BLANKS, self._schema(whole, at, {}), _BLANKS, form.after)

    def _typed(self, text: str, value: Any, at: str) -> str:
        """Return the text before a value, with the name of its type where the style has it."""
        if "{type}" not in text:
            return text
        kind = value.get("type") if isinstance(value, Mapping) else None
        if not isinstance(kind, str):
            raise SchemaError("this style needs a 'type' for each argument", at, "style")
        return text.replace("{type}", "number" if kind == "integer" else kind)

    def _qwen_arguments(self, given: Mapping[str, Any], at: str, _ends: tuple[str, ...]) -> Part:
        return self._arguments(_get(given, "json_schema", at), "qwen_xml", at)

    def _any_text(self, given: Mapping[str, Any], at: str, ends: tuple[str, ...]) -> Part:
        if given.get("max_chars") is not None:
            raise SchemaError("a maximum of characters cannot be enforced", f"{at}/max_chars", "max_chars")
        excludes = (*_texts(given, "excludes", at, ()), *ends)
        most = given.get("max_tokens")
        if most == 0:
            return ""
        return Text(excludes=excludes, max_tokens=None if most is None else _count(most, f"{at}/max_tokens"))

    def _regex(self, given: Mapping[str, Any], at: str, _ends: tuple[str, ...]) -> Part:
        return Regex(_text(given, "pattern", at), ascii=True)

    def _grammar(self, given: Mapping[str, Any], at: str, _ends: tuple[str, ...]) -> Part:
        text = _text(given, "grammar", at)
        if "::=" in text:
            raise SchemaError(
                "EBNF (GBNF) grammars are not supported: write the grammar for Lark", f"{at}/grammar", "grammar"
            )
        return Grammar(text)

    def _sequence(self, given: Mapping[str, Any], at: str, ends: tuple[str, ...]) -> Part:
        elements = _list(given, "elements", at)
        found: list[Part] = []
        for i, element in enumerate(elements):
            found.append(self._format(element, f"{at}/elements/{i}", ends))
        return Concatenation(tuple(found))

    def _or(self, given: Mapping[str, Any], at: str, ends: tuple[str, ...]) -> Part:
        elements = _list(given, "elements", at)
        if not elements:
            raise SchemaError("'or' needs at least one element", at, "elements")
        return Alternatives(tuple(self._format(each, f"{at}/elements/{i}", ends) for i, each in enumerate(elements)))

    def _tag(self, given: Mapping[str, Any], at: str, _ends: tuple[str, ...], read: int = 0) -> Part:
        """Return the composition of a tag whose first ``read`` characters were read."""
        begin = _text(given, "begin", at)[read:]
        end = _get(given, "end", at)
        ends = (end,) if isinstance(end, str) else tuple(_texts(given, "end", at))
        content = _get(given, "content", at)
        if isinstance(content, Mapping) and content.get("type") == "any_text" and all(ends):
            self.kinds.append("any_text")
            text = self._any_text(content, f"{at}/content", ())
            if isinstance(text, Text):
                # The first end string ends the text.
                return Concatenation((begin, Text(stop=ends, excludes=text.excludes, max_tokens=text.max_tokens)))
            return Concatenation((begin, text, Alternatives(ends)))
        inner = self._format(content, f"{at}/content", tuple(text for text in ends if text))
        return Concatenation((begin, inner, Alternatives(ends) if ends else ""))

    def _triggered(self, given: Mapping[str, Any], at: str, ends: tuple[str, ...]) -> Part:
        triggers = _texts(given, "triggers", at)
        tags = _list(given, "tags", at)
        if not all(triggers) or not triggers:
            raise SchemaError("triggers must not be empty", f"{at}/triggers", "triggers")
        by_trigger: dict[str, list[Part]] = {trigger: [] for trigger in triggers}
        whole: list[Part] = []
        for i, tag in enumerate(tags):
            begin = _text(tag, "begin", f"{at}/tags/{i}")
            found = [trigger for trigger in triggers if begin.startswith(trigger)]
            if len(found) != 1:
                raise SchemaError(
                    f"{len(found)} triggers are prefixes of {shown(begin)}; one must be",
                    f"{at}/tags/{i}/begin",
                    "begin",
                )
            by_trigger[found[0]].append(self._tag(tag, f"{at}/tags/{i}", (), len(found[0])))
            whole.append(self._tag(tag, f"{at}/tags/{i}", ()))
        excludes = (*_texts(given, "excludes", at, ()), *ends)
        rules = [(trigger, Alternatives(tuple(rest))) for trigger, rest in by_trigger.items() if rest]
        silent = tuple(trigger for trigger, rest in by_trigger.items() if not rest)
        return _dispatched(
            rules,
            (*excludes, *silent),
            loops=not given.get("stop_after_first", False),
            first=Alternatives(tuple(whole)) if given.get("at_least_one", False) and whole else None,
        )

    def _dispatch(self, given: Mapping[str, Any], at: str, ends: tuple[str, ...]) -> Part:
        rules: list[tuple[str, Part]] = []
        for i, rule in enumerate(_list(given, "rules", at)):
            if not isinstance(rule, Sequence) or len(rule) != 2 or not isinstance(rule[0], str) or not rule[0]:
                raise SchemaError("a rule must be a pair of a pattern and a format", f"{at}/rules/{i}", "rules")
            rules.append((rule[0], self._format(rule[1], f"{at}/rules/{i}/1", ends)))
        return _dispatched(rules, (*_texts(given, "excludes", at, ()), *ends), loops=bool(given.get("loop", True)))

    def _separated(self, given: Mapping[str, Any], at: str, _ends: tuple[str, ...]) -> Part:
        tags = tuple(self._tag(tag, f"{at}/tags/{i}", ()) for i, tag in enumerate(_list(given, "tags", at)))
        if not tags:
            raise SchemaError("'tags_with_separator' needs at least one tag", f"{at}/tags", "tags")
        separator = _text(given, "separator", at)
        most = 1 if given.get("stop_after_first", False) else None
        return Repeat(Alternatives(tags), int(bool(given.get("at_least_one", False))), most, separator or None)

    def _repeated(self, given: Mapping[str, Any], at: str, ends: tuple[str, ...]) -> Part:
        inner = self._format(_get(given, "content", at), f"{at}/content", ends)
        match given["type"]:
            case "optional":
                return Optional(inner)
            case "plus":
                return Repeat(inner, 1)
            case "star":
                return Repeat(inner)
        low, high = _count(_get(given, "min", at), f"{at}/min"), _get(given, "max", at)
        most = None if high == -1 else _count(high, f"{at}/max")
        if most is not None and most < low:
            raise SchemaError(f"max {most} is below min {low}", at, "max")
        return Repeat(inner, low, most)


_FORMATS: dict[str, Callable[[_Reader, Mapping[str, Any], str, tuple[str, ...]], Part]] = {
    "const_string": _Reader._const_string,
    "json_schema": _Reader._json_schema,
    "qwen_xml_parameter": _Reader._qwen_arguments,
    "any_text": _Reader._any_text,
    "regex": _Reader._regex,
    "grammar": _Reader._grammar,
    "sequence": _Reader._sequence,
    "or": _Reader._or,
    "tag": _Reader._tag,
    "triggered_tags": _Reader._triggered,
    "tags_with_separator": _Reader._separated,
    "dispatch": _Reader._dispatch,
    "optional": _Reader._repeated,
    "plus": _Reader._repeated,
    "star": _Reader._repeated,
    "repeat": _Reader._repeated,
}
_OF_TOKENS = {"token", "exclude_token", "any_tokens", "token_triggered_tags", "token_dispatch"}


def _dispatched(
    rules: list[tuple[str, Part]], excludes: tuple[str, ...], *, loops: bool, first: Part | None = None
) -> Part:
    """Return free text in which each pattern is followed by its part. ``first``: a part that comes before any text."""
    patterns = tuple(pattern for pattern, _ in rules)
    branches = tuple(
        Text(stop=pattern, excludes=(*(other for other in patterns if other != pattern), *excludes)) + part
        for pattern, part in rules
    )
    if not loops:
        if first is not None:
            return first
        return Alternatives((*branches, Text(excludes=(*patterns, *excludes))))
    rest = Text(excludes=(*patterns, *excludes))
    many: Part = Repeat(Alternatives(branches)) if branches else ""
    return Concatenation((*(() if first is None else (first,)), many, rest))


def _get(given: Any, name: str, at: str) -> Any:
    if not isinstance(given, Mapping):
        raise SchemaError(f"expected an object, not {type(given).__name__}", at, name)
    if name not in given:
        raise SchemaError(f"{name!r} is missing", at, name)
    return given[name]


def _text(given: Any, name: str, at: str) -> str:
    found = _get(given, name, at)
    if not isinstance(found, str):
        raise SchemaError(f"{name!r} must be a string, not {type(found).__name__}", f"{at}/{name}", name)
    return found


def _list(given: Any, name: str, at: str, default: Any = None) -> list[Any]:
    found = _get(given, name, at) if default is None else given.get(name, list(default))
    if not isinstance(found, list | tuple):
        raise SchemaError(f"{name!r} must be a list, not {type(found).__name__}", f"{at}/{name}", name)
    return list(found)


def _texts(given: Any, name: str, at: str, default: Any = None) -> tuple[str, ...]:
    found = _list(given, name, at, default)
    for i, text in enumerate(found):
        if not isinstance(text, str):
            raise SchemaError(f"{name!r} must be a list of strings", f"{at}/{name}/{i}", name)
    return tuple(found)


def _count(given: Any, at: str) -> int:
    if type(given) is not int or given < 0:
        raise SchemaError(f"expected a whole number, not {shown(given)}", at, at.rpartition("/")[2])
    return given


def _parsed(text: str, at: str) -> Any:
    try:
        return parse_json(text)
    except (ValueError, GuidedError) as error:
        raise SchemaError(f"the schema is not valid JSON: {error}", at, "schema") from error
