"""Arguments of an object schema in a model's own style: ``<parameter=city>Rome</parameter>`` instead of ``{"city": "Rome"}``.

Strings are written plain, without quotes and escapes, up to the text after a value; other values are written as JSON. What an argument
may be comes from the formulas of its schema, so it does not matter how a schema spells it (``$ref``, ``anyOf``, ``enum``, ...): the
strings that satisfy it become a pattern (`guided.schema.strings.trees`), and its other values a `JsonSchema` without strings. A style
either marks strings (``string="true"``), or the text decides.

Not handled here: keywords that relate arguments to one another (``minProperties``, ``patternProperties``, ``oneOf``, ...), which are
refused with their JSON Pointer.
"""

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import perm
from typing import Any
from urllib.parse import quote, unquote

from guided.engine.algebra import Alternatives, Concatenation, Optional, Part, Repeat, Text
from guided.engine.json_schema import JsonSchema
from guided.engine.located import TreeSpec, at_place, located
from guided.engine.specs import Regex
from guided.errors import LimitError, SchemaError, shown
from guided.limits import Limits
from guided.patterns.charset import Charset
from guided.patterns.parse import parse
from guided.patterns.tree import Chars, Complement, Intersect, Literal, Node, alternate, concat, repeat
from guided.schema.formula.atoms import JsonOptions
from guided.schema.formula.formulas import FALSE, TRUE, Formulas
from guided.schema.frontend.json_values import text_of
from guided.schema.frontend.lowering import Lowering
from guided.schema.frontend.misspellings import ANNOTATIONS, is_private
from guided.schema.pushdown.machine import SchemaMachine
from guided.schema.pushdown.structure import structure_of
from guided.schema.strings.trees import tree_of_strings
from guided.schema.values.context import SchemaContext

__all__ = ["STYLES", "Style", "arguments", "check_text", "containing"]

_ALL = bytes([1] * 256)
_ANYTHING = repeat(Chars(Charset.UNIVERSE))
# Names of arguments that a schema allows without declaring them.
_NAME = parse("[a-zA-Z_][a-zA-Z0-9_]*")
# URI of the whole schema for values that refer to other parts of it.
_DOCUMENT = "arguments:"
_REFERENCES = ('"$ref"', '"$dynamicRef"', '"$recursiveRef"')
# Keywords of an object that are read here, or that have no effect on its arguments.
_READ = {"type", "properties", "required", "additionalProperties", "$defs", "definitions", "$schema", "$ref", "anyOf"}
_NO_EFFECT = ANNOTATIONS | {"$id", "id", "$comment", "title", "description", "default", "examples", "deprecated"}


@dataclass(frozen=True, slots=True)
class Style:
    """How a style writes an argument.

    Attributes
    ----------
    before : str
        Before the name.
    between : str
        Between name and value. ``{blanks}`` stands for optional blanks, and ``{type}`` for the JSON type.
    between_text : str
        The same before a string; equal if the style does not mark strings.
    after : str
        After the value.
    escapes : bool
        Whether names are escaped as in XML.
    """

    before: str
    between: str
    between_text: str
    after: str
    escapes: bool = False

    @property
    def marks_strings(self) -> bool:
        """Whether the text before a value tells strings from other values."""
        return self.between != self.between_text


_DSML = "\uff5cDSML\uff5c"
_GLM = "</arg_key>{blanks}<arg_value>"
STYLES = {
    "qwen_xml": Style("<parameter=", ">", ">", "</parameter>"),
    "minimax_xml": Style('<parameter name="', '">', '">', "</parameter>"),
    "glm_xml": Style("<arg_key>", _GLM, _GLM, "</arg_value>"),
    "deepseek_xml": Style(f'<{_DSML}parameter name="', '" string="false">', '" string="true">', f"</{_DSML}parameter>"),
    "deepseek_v4_1_xml": Style(
        f'<{_DSML} parameter name="', '" string="false">', '" string="true">', f"</{_DSML} parameter>"
    ),
    "kimi_k3_xml": Style(
        '<|open|>argument key="', '" type="{type}"<|sep|>', '" type="string"<|sep|>', "<|close|>argument<|sep|>"
    ),
}
# Types as the styles name them, with the types of formulas.
_TYPES = {
    "null": ("null",),
    "boolean": ("true", "false"),
    "number": ("number",),
    "array": ("array",),
    "object": ("object",),
}


def arguments(
    schema: Any,
    style: Style,
    place: str,
    *,
    options: Mapping[str, Any],
    any_order: bool = False,
    most_blanks: int = 20,
    limits: Limits,
) -> Part:
    """Return the arguments of an object schema as a style writes them.

    Parameters
    ----------
    schema : dict or bool
    style : Style
    place : str
        JSON Pointer of the schema, for errors.
    options : mapping
        Options of `JsonSchema` for values that are written as JSON.
    any_order : bool
        Whether arguments may come in any order, instead of that of the schema.
    most_blanks : int
        Maximum number of blanks around arguments and values.
    limits : Limits
        Budgets of reading the schema.

    Raises
    ------
    SchemaError
        The schema is malformed, is not that of an object, or cannot be enforced in the style, with its JSON Pointer.
    LimitError
        The schema is too large.
    """
    return _Arguments(schema, style, place, options, any_order, most_blanks, limits).whole()


def containing(texts: Sequence[str]) -> Node:
    """Return the tree of the texts that contain one of some texts."""
    return concat([_ANYTHING, alternate(map(Literal, texts)), _ANYTHING])


class _Arguments:
    """Reads the object schema of one document."""

    def __init__(
        self,
        document: Any,
        style: Style,
        place: str,
        options: Mapping[str, Any],
        any_order: bool,
        most_blanks: int,
        limits: Limits,
    ) -> None:
        self._limits = limits
        self._document, self._style, self._place, self._any_order = document, style, place, any_order
        self._options = dict(options)
        self._json_options = JsonOptions(**options)
        self._blanks = Regex(f"[ \\t\\n\\r]{{0,{most_blanks}}}", ascii=True)
        self._source = text_of(document)
        self._found: dict[str, Part] = {}

    def whole(self) -> Part:
        """Return the arguments of the document."""
        with at_place(self._place):
            # What follows relies on well-formed keywords.
            Lowering(self._document, self._json_options, Formulas(), self._limits).check()
        return self._object("", ())

    def _object(self, pointer: str, outer: tuple[str, ...]) -> Part:
        """Return the arguments of an object schema at a pointer in the document, within those at other pointers."""
        if pointer in outer:
            raise self._refuse("the schema refers to itself for the same value", pointer, "$ref")
        limits = self._limits
        if len(outer) > limits.schema_depth:
            advice = f"schemas of one value, one within another, at {self._place}"
            raise LimitError("schema_depth", len(outer), limits.schema_depth, advice)
        if pointer not in self._found:
            self._found[pointer] = self._read(pointer, (*outer, pointer))
        return self._found[pointer]

    def _read(self, pointer: str, outer: tuple[str, ...]) -> Part:
        schema = _at(self._document, pointer)
        if isinstance(schema, bool):
            if not schema:
                raise self._refuse("no value satisfies the schema", pointer, "schema")
            schema = {}
        given = {key for key in schema if key not in _NO_EFFECT and not is_private(str(key))}
        for keyword in ("$ref", "anyOf"):
            if keyword in given and not given <= {keyword, "type", "$defs", "definitions", "$schema"}:
                raise self._refuse(f"beside {keyword!r}, this style reads no other keyword", pointer, keyword)
        if unread := given - _READ:
            keyword = min(unread)
            raise self._refuse("this keyword of an object cannot be enforced in this style", pointer, keyword)
        if schema.get("type", "object") not in ("object", ["object"]):
            raise self._refuse("this style writes arguments: the schema must be that of an object", pointer, "type")
        if "$ref" in given:
            reference = schema["$ref"]
            if reference != "#" and not reference.startswith("#/"):
                raise self._refuse("this style follows references by JSON Pointer only", pointer, "$ref")
            return self._object(unquote(reference[1:]), outer)
        if "anyOf" in given:
            return Alternatives(tuple(self._object(f"{pointer}/anyOf/{i}", outer) for i in range(len(schema["anyOf"]))))
        return self._members(schema, pointer)

    def _members(self, schema: Mapping[str, Any], pointer: str) -> Part:
        properties: Mapping[str, Any] = schema.get("properties", {})
        required = schema.get("required", [])
        if not isinstance(required, list):
            raise self._refuse("this style reads 'required' as a list of names", pointer, "required")
        known = [(name, f"{pointer}/properties/{_escaped(name)}", name in required) for name in properties]
        # As the models are asked to: objects that declare their arguments have no others, unless the schema says so.
        others = schema.get("additionalProperties", "properties" not in schema)
        for name in dict.fromkeys(required):
            if name not in properties:
                if others is False:
                    raise self._refuse(f"required argument {shown(name)} has no schema", pointer, "required")
                known.append((name, f"{pointer}/additionalProperties", True))
        found = [(self._argument(name, at), is_required) for name, at, is_required in known]
        extra: Part = ""
        if others is not False:
            # Undeclared names differ from declared ones.
            declared = [name for name, _, _ in known]
            name = TreeSpec.of(Intersect((_NAME, Complement(alternate(map(Literal, declared))))), "name", *declared)
            at = f"{pointer}/additionalProperties" if "additionalProperties" in schema else None
            extra = Repeat(self._argument(name, at))
        if self._any_order:
            return Concatenation((extra, self._in_any_order(found, extra, pointer), self._blanks))
        ordered = [part if is_required else Optional(part) for part, is_required in found]
        return Concatenation((*ordered, extra, self._blanks))

    def _in_any_order(self, members: list[tuple[Part, bool]], extra: Part, pointer: str) -> Part:
        # Each sequence of distinct arguments is a path of its own.
        n_paths, limits = sum(perm(len(members), n) for n in range(1, len(members) + 1)), self._limits
        if n_paths > limits.nfa_states:
            advice = f"{len(members)} arguments in any order are too many (at {self._place}{pointer})"
            raise LimitError("nfa_states", n_paths, limits.nfa_states, advice)
        made: dict[tuple[int, ...], Part] = {(): ""}

        def rest(left: tuple[int, ...]) -> Part:
            if left not in made:
                branches: list[Part] = [
                    Concatenation((members[i][0], extra, rest(tuple(j for j in left if j != i)))) for i in left
                ]
                if not any(members[i][1] for i in left):
                    branches.append("")
                made[left] = Alternatives(tuple(branches))
            return made[left]

        return rest(tuple(range(len(members))))

    def _argument(self, name: str | TreeSpec, pointer: str | None) -> Part:
        """Return an argument whose schema is at a pointer in the document; None: any value."""
        written: Any = html.escape(name, quote=True) if isinstance(name, str) and self._style.escapes else name
        if isinstance(name, str):
            check_text(name, self._place + (pointer or ""), "properties")
        return Concatenation((self._blanks, self._style.before, written, Alternatives(tuple(self._values(pointer)))))

    def _values(self, pointer: str | None) -> Iterator[Part]:
        """Yield what may follow the name of an argument: a string, or another value."""
        style, formulas = self._style, Formulas()
        document, at = (True, "") if pointer is None else (self._document, pointer)
        options = self._json_options
        lowering = Lowering(document, options, formulas, self._limits, pointer=at)
        context = SchemaContext(formulas, lowering, options, self._limits, structure_of(options, _ALL).alphabet)
        strings = context.typed(lowering.root, "string")
        others = tuple(
            name for name, kinds in _TYPES.items() if any(context.typed(lowering.root, kind) != FALSE for kind in kinds)
        )
        if strings == TRUE:
            # The first occurrence of what follows a value ends the text.
            yield Concatenation((*self._between(style.between_text), Text(stop=style.after)))
        elif strings != FALSE or not others:
            tree = Intersect((tree_of_strings(formulas, strings), Complement(containing([style.after]))))
            spec = TreeSpec.of(tree, self._source, at, style.after, may_be_empty=bool(others))
            around = () if style.marks_strings else (self._blanks,)
            text = (*around, located(spec, self._place + at), *around, style.after)
            yield Concatenation((*self._between(style.between_text), *text))
        if strings == TRUE and not style.marks_strings:
            # A text of any other value is that of a string, too.
            return
        groups = [(name,) for name in others] if "{type}" in style.between else [others] if others else []
        is_only = strings == FALSE and len(groups) == 1
        for kinds in groups:
            schema, registry = self._schema_of(pointer, None if is_only else kinds)
            if not is_only and self._is_empty(schema, registry):
                continue
            # Errors of a part of the document have the place of that part.
            inner, place = (_DOCUMENT + "#", "") if registry else ("", at)
            value = located(
                JsonSchema(schema, source="schema", registry=registry, **self._options), self._place + place, inner
            )
            between = self._between(style.between.replace("{type}", kinds[0]))
            yield Concatenation((*between, self._blanks, value, self._blanks, style.after))

    def _schema_of(self, pointer: str | None, kinds: tuple[str, ...] | None) -> tuple[Any, dict[str, Any]]:
        """Return the schema of a value as one of its own, restricted to some types, and the registry that it needs."""
        value: Any = True if pointer is None else _at(self._document, pointer)
        restriction: dict[str, Any] = {} if kinds is None else {"type": list(kinds)}
        if value is True:
            return restriction or True, {}
        text = text_of(value)
        if "$schema" in self._document or any(keyword in text for keyword in _REFERENCES):
            return {"$ref": f"{_DOCUMENT}#{quote(pointer or '')}", **restriction}, {_DOCUMENT: self._document}
        if kinds is not None and "type" in value:
            declared = [value["type"]] if isinstance(value["type"], str) else value["type"]
            kept = [name for name in declared if name in kinds or (name == "integer" and "number" in kinds)]
            restriction = {"type": kept}
        return {**value, **restriction}, {}

    def _is_empty(self, schema: Any, registry: Mapping[str, Any]) -> bool:
        formulas = Formulas()
        lowering = Lowering(schema, self._json_options, formulas, self._limits, registry)
        return SchemaMachine(lowering, formulas, self._json_options, self._limits, _ALL).is_empty

    def _between(self, text: str) -> Iterator[Part]:
        """Yield the parts of a text between name and value."""
        before, blanks, after = text.partition("{blanks}")
        yield before
        if blanks:
            yield self._blanks
            yield after

    def _refuse(self, reason: str, pointer: str, keyword: str) -> SchemaError:
        return SchemaError(reason, self._place + pointer, keyword)


def check_text(text: str, place: str, keyword: str) -> None:
    """Refuse a text that UTF-8 cannot encode."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise SchemaError("a lone surrogate cannot be encoded as UTF-8", place, keyword) from error


def _at(document: Any, pointer: str) -> Any:
    """Return the part of a document that a JSON Pointer, which has been resolved before, leads to."""
    found = document
    for token in pointer.split("/")[1:]:
        found = found[int(token) if isinstance(found, list) else token.replace("~1", "/").replace("~0", "~")]
    return found


def _escaped(name: str) -> str:
    """Return a name as a token of a JSON Pointer."""
    return name.replace("~", "~0").replace("/", "~1")
