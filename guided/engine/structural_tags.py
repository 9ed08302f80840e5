"""`StructuralTag`: compositions written in the JSON of xgrammar's and vLLM's structural tags.

A structural tag names what may follow what: constant strings, free text, schemas, patterns, and *tags*, that is, content between two
strings. In *triggered tags*, free text switches to a tag as soon as a trigger is complete. Every format becomes a composition
(`guided.engine.algebra`); what cannot be expressed exactly is refused with its JSON Pointer.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any
from typing import Literal as Word

from guided.automata.build import in_one_budget, spend_together
from guided.automata.steps import Steps
from guided.encoding import fingerprint_of
from guided.engine.algebra import Alternatives, Concatenation, Dispatch, FreeText, Maybe, Part, Repeat
from guided.engine.grammar import Grammar
from guided.engine.json_schema import JsonSchema, Whitespace
from guided.engine.located import Located, TreeSpec, at_place
from guided.engine.specs import Regex, check_text
from guided.errors import GuidedError, SchemaError, shown
from guided.keywords import closest, suggest_keywords
from guided.limits import Limits
from guided.patterns.charset import Charset
from guided.patterns.tree import Chars, Complement, Intersect, Literal, Node, alternate, concat, repeat
from guided.schema.formula.atoms import JSON_TYPES, Arguments, Notation
from guided.schema.frontend.json_values import check_levels, parse_json, text_of, value_of
from guided.schema.frontend.misspellings import is_private

__all__ = ["STYLES", "StructuralTag", "Style"]


@dataclass(frozen=True, slots=True)
class Style:
    """How a style writes the arguments of an object."""

    # Before a name.
    before: str
    # Between a name and a value of some types of JSON, all if there are none. The first character ends the name.
    between: tuple[tuple[str, tuple[str, ...]], ...]
    # After a value.
    after: str
    # What may stand around a value (`Notation`). Line feeds: around text too, as the parsers of the family remove them.
    padding: Word["none", "blanks", "line feeds"] = "blanks"
    # Further characters that no name contains, for a character class.
    no_name: str = ""
    # Before an item of an array, if members and items at any depth are written so; empty: arrays and objects are JSON.
    item: str = ""
    # The name of an item, if names are repeated behind values (`Arguments.element`).
    element: str = ""
    # Texts that no string contains.
    reserved: tuple[str, ...] = ()

    def arguments(self, most_blanks: int) -> Arguments:
        """Return the texts around arguments, with blanks before and after each."""
        blanks = f"[ \\t\\n\\r]{{0,{most_blanks}}}"
        before, end = blanks + re.escape(self.before), self.between[0][0][0]
        no_name = rf"\x00-\x1f\x7f{end}{self.no_name}"
        between = tuple((_spaced(text[1:], blanks), kinds) for text, kinds in self.between)
        return Arguments(
            before, before, blanks, blanks, end, between, rf"^[^ \"<>\\{no_name}][^{no_name}]*$",
            Notation("", self.after, self.reserved, padding=self.padding, part="all" if len(between) == 1 else "strings"),
            self.item and blanks + re.escape(self.item), self.item and blanks + re.escape(self.after), self.element,
        )  # fmt: skip


def _spaced(text: str, blanks: str) -> str:
    """Return a pattern of a text in which a line feed stands for blanks."""
    return blanks.join(map(re.escape, text.split("\n")))


# Keywords by which an object without declared names may have others.
_OPENING = {
    "additionalProperties",
    "patternProperties",
    "unevaluatedProperties",
    "$ref",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
}
_DSML = "\uff5cDSML\uff5c"
_MARKER = "]<]minimax[>["
_MARKED = (
    ('" string="true">', ("string",)),
    ('" string="false">', tuple(kind for kind in JSON_TYPES if kind != "string")),
)
STYLES = {
    "qwen_xml": Style("<parameter=", ((">", ()),), "</parameter>", "line feeds"),
    "minimax_xml": Style('<parameter name="', (('">', ()),), "</parameter>"),
    "glm_xml": Style("<arg_key>", (("</arg_key>\n<arg_value>", ()),), "</arg_value>"),
    "deepseek_xml": Style(f'<{_DSML}parameter name="', _MARKED, f"</{_DSML}parameter>"),
    "deepseek_v4_1_xml": Style(f'<{_DSML} parameter name="', _MARKED, f"</{_DSML} parameter>"),
    # Names with a quote or an ampersand would be escaped.
    "kimi_k3_xml": Style(
        '<|open|>argument key="', tuple((f'" type="{kind}"<|sep|>', (kind,)) for kind in JSON_TYPES),
        "<|close|>argument<|sep|>", no_name="&",
    ),
    "cohere_xml": Style(
        '<cofl:value name="',
        (
            ('" type="raw">', ("string",)), ('" type="json">', ("null", "boolean", "number")), ('" type="dict">', ("object",)),
            ('" type="list">', ("array",)),
        ),
        "</cofl:value>", no_name="&<>", item="<cofl:value",
    ),
    "minimax_m3_xml": Style(
        f"{_MARKER}<", ((">", ()),), f"{_MARKER}</", "none", no_name="/<", item=f"{_MARKER}<item>", element="item", reserved=(_MARKER,),
    ),
}  # fmt: skip


class StructuralTag(Concatenation):
    """Texts that a structural tag describes.

    Parameters
    ----------
    tag : dict or str
        ``{"type": "structural_tag", "format": {...}}``, or the older form with ``structures`` and ``triggers``; parsed JSON or its text.
    whitespace : str, int or (str, str)
    additional_properties : bool
        As in `JsonSchema`, for the schemas of the tag.
    limits : Limits, optional
        Budgets of reading the tag's grammars, which share its ``steps``.

    Raises
    ------
    SchemaError
        The tag is malformed, or has a format that cannot be enforced, with its JSON Pointer: formats of one token but some, EBNF
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
        self,
        tag: Mapping[str, Any] | str,
        *,
        whitespace: Whitespace = "flexible",
        additional_properties: bool = True,
        limits: Limits | None = None,
    ) -> None:
        given: Any = tag
        if isinstance(given, str | bytes):
            try:
                given = parse_json(given, levels=Limits().schema_depth)
            except ValueError as error:
                raise SchemaError(f"the structural tag is not valid JSON: {error}", "", "structural_tag") from error
        if not isinstance(given, Mapping):
            raise SchemaError(f"a structural tag must be an object, not {type(given).__name__}", "", "structural_tag")
        check_levels(given)
        # Only JSON values from here on.
        given = value_of(text_of(given))
        limits = Limits.of(limits)
        reader = _Reader({"whitespace": whitespace, "additional_properties": additional_properties}, limits)
        part = in_one_budget(lambda: reader.top(given), Steps(limits.steps))
        object.__setattr__(self, "_kinds", tuple(reader.kinds))
        super().__init__((part,))

    def __repr__(self) -> str:
        n = len(self._kinds)
        return f"<StructuralTag of {n} format{'s' * (n != 1)}: {', '.join(dict.fromkeys(self._kinds))}>"

    def __reduce__(self) -> Any:
        return _restored, (self.parts, self._kinds)


def _restored(parts: tuple[Part, ...], kinds: tuple[str, ...]) -> StructuralTag:
    tag = StructuralTag.__new__(StructuralTag)
    Concatenation.__init__(tag, parts)
    object.__setattr__(tag, "_kinds", kinds)
    return tag


class _Reader:
    """Reads one structural tag.

    Attributes
    ----------
    kinds : list of str
        Types of the formats, in order of reading.
    """

    def __init__(self, options: Mapping[str, Any], limits: Limits) -> None:
        # Of all schemas, and of all grammars.
        self._options, self._limits = options, limits
        # Whether the tags are the structures of the older form.
        self._is_older = False
        self.kinds: list[str] = []

    def top(self, tag: Mapping[str, Any]) -> Part:
        """Return the composition of a whole structural tag."""
        if tag.get("type", "structural_tag") != "structural_tag":
            raise SchemaError(f"unknown type {shown(tag['type'])}, expected 'structural_tag'", "/type", "type")
        if "format" in tag:
            _check_keys(tag, ("type", "format"), "")
            return self._format(tag["format"], "/format", ())
        if "structures" not in tag:
            raise SchemaError("a structural tag needs 'format', or 'structures' and 'triggers'", "", "format")
        _check_keys(tag, ("type", "structures", "triggers", "at_least_one"), "")
        tags = []
        for i, item in enumerate(_list(tag, "structures", "")):
            at = f"/structures/{i}"
            _check_keys(item, ("begin", "schema", "end"), at)
            # The API's servers write null where a structure has no schema.
            schema = {} if item.get("schema") is None else item["schema"]
            if isinstance(schema, str):
                try:
                    schema = parse_json(schema)
                except (ValueError, GuidedError) as error:
                    reason = f"the schema is not valid JSON: {error}"
                    raise SchemaError(reason, f"{at}/schema", "schema") from error
            content = {"type": "json_schema", "json_schema": schema}
            tags.append({"begin": _text(item, "begin", at), "content": content, "end": _text(item, "end", at)})
        self._is_older = True
        is_needed = _flag(tag, "at_least_one", "")
        return self._triggered({"tags": tags, "triggers": _get(tag, "triggers", ""), "at_least_one": is_needed}, "", ())

    def _tag_place(self, at: str, i: int) -> str:
        """Return the JSON Pointer of a tag of triggered tags."""
        return f"{at}/{'structures' if self._is_older else 'tags'}/{i}"

    def _schema_place(self, at: str) -> str:
        """Return the JSON Pointer of the schema of a format."""
        return f"{at.removesuffix('/content')}/schema" if self._is_older else f"{at}/json_schema"

    def _format(self, given: Any, at: str, ends: tuple[str, ...]) -> Part:
        """Return the composition of a format. ``ends``: strings that end the text around it, which free text must not contain."""
        if not isinstance(given, Mapping):
            raise SchemaError(f"a format must be an object, not {type(given).__name__}", at, "type")
        with at_place(at):
            spend_together(_PER_FORMAT)
        given = _with_texts(given, at)
        kind = _text(given, "type", at)
        found = _FORMATS.get(kind)
        if found is None:
            if kind == "exclude_token":
                reason = "formats of single tokens such as 'exclude_token' cannot be enforced: specs are sets of texts"
                raise SchemaError(reason, at, "type")
            known = f"{closest(kind, [*_FORMATS, *_OF_TOKENS])}; formats are {', '.join([*_FORMATS, *_OF_TOKENS])}"
            raise SchemaError(f"unknown format {shown(kind)}{known}", at, "type")
        read, keys = found
        _check_keys(given, ("type", *keys), at)
        self.kinds.append(kind)
        return read(self, given, at, ends)

    def _json_schema(self, given: Mapping[str, Any], at: str, _ends: tuple[str, ...]) -> Part:
        style = given.get("style", "json")
        schema = _get(given, "json_schema", at)
        if not isinstance(schema, Mapping | bool):
            reason = f"a schema must be an object or a bool, not {type(schema).__name__}"
            raise SchemaError(reason, self._schema_place(at), "json_schema")
        excludes = _texts(given, "excludes", at, (), may_be_empty=False)
        any_order = _flag(given, "any_order", at)
        most = given.get("max_whitespace_cnt")
        options = dict(self._options)
        if most is not None:
            if _count(most, f"{at}/max_whitespace_cnt") == 0:
                raise SchemaError("must be positive", f"{at}/max_whitespace_cnt", "max_whitespace_cnt")
            options["whitespace"] = most
        if any_order:
            options["property_order"] = "any"
        written: Arguments | None = None
        if style != "json":
            form = STYLES.get(style) if isinstance(style, str) else None
            if form is None:
                known = ", ".join(["json", *STYLES])
                raise SchemaError(
                    f"unknown or unsupported style {shown(style)}; known: {known}", f"{at}/style", "style"
                )
            written = form.arguments(20 if most is None else most)
            # As in xgrammar, objects that have properties are closed, at any depth; those of a tool without arguments have none.
            options["additional_properties"] = False
            if isinstance(schema, Mapping) and schema.get("properties") == {} and schema.keys().isdisjoint(_OPENING):
                schema = {**schema, "additionalProperties": False}
        place = self._schema_place(at)
        with at_place(place):
            spec: JsonSchema[Any] = JsonSchema(schema, source="schema", **options)
            return Located(spec.written_as(written, excludes), place)

    def _free_text(self, given: Mapping[str, Any], at: str, excluded: tuple[str, ...], stop: tuple[str, ...]) -> Part:
        """Return free text up to the first occurrence of a stop string, which belongs to it; without one, the text may end anywhere.

        Where the first one begins others, the text may end in these, too.
        """
        first = tuple(end for end in stop if not any(end != other and end.startswith(other) for other in stop))
        if len(first) < len(stop):
            parts = []
            for end in first:
                others = tuple(other for other in first if other != end)
                behind = Alternatives(tuple(other.removeprefix(end) for other in stop if other.startswith(end)))
                parts.append(Concatenation((self._free_text(given, at, (*excluded, *others), (end,)), behind)))
            return Alternatives(tuple(parts))
        excludes = (*_texts(given, "excludes", at, (), may_be_empty=False), *excluded)
        tokens, characters = (
            None if given.get(name) is None else _count(given[name], f"{at}/{name}")
            for name in ("max_tokens", "max_chars")
        )
        if tokens == 0:
            return Alternatives(stop) if stop else ""
        if tokens is not None and stop and not any(_may_come_before(one, other) for one in stop for other in stop):
            # Behind a text without an end, an end is the first one, so that its tokens need not count.
            return Concatenation((self._free_text(given, at, (*excluded, *stop), ()), Alternatives(stop)))
        # The end is not part of the text. A text never contains an end, so it contains nothing around one.
        excludes = tuple(text for text in excludes if not any(end in text for end in stop))
        is_apart = any(_overlaps(text, end) for text in excludes for end in stop)
        if characters is None and not is_apart:
            return FreeText(stop=stop, excludes=excludes, max_tokens=tokens)
        tree: Node = repeat(_CHARACTER, 0, characters)
        if excludes:
            tree = Intersect((tree, Complement(_containing(excludes))))
        if stop:
            # The first occurrence of a stop string ends the text.
            found = concat([tree, alternate(map(Literal, stop))])
            tree = Intersect((found, Complement(concat([_containing(stop), _CHARACTER]))))
        fingerprint = fingerprint_of("pattern tree", "text", str(characters), repr(excludes), repr(stop), str(tokens))
        return Located(TreeSpec(tree, fingerprint, tokens), at)

    def _grammar(self, given: Mapping[str, Any], at: str, _ends: tuple[str, ...]) -> Part:
        text = _text(given, "grammar", at)
        with at_place(f"{at}/grammar"):
            return Located(Grammar(text, limits=self._limits), f"{at}/grammar")

    def _elements(self, given: Mapping[str, Any], at: str, ends: tuple[str, ...]) -> tuple[Part, ...]:
        elements = _filled(given, "elements", at)
        return tuple(self._format(each, f"{at}/elements/{i}", ends) for i, each in enumerate(elements))

    def _tag(self, given: Mapping[str, Any], at: str, _ends: tuple[str, ...], read: int = 0) -> Part:
        """Return the composition of a tag whose first ``read`` characters were read."""
        begin = _border(given, "begin", at)[read:]
        ends = _texts(given, "end", at) if isinstance(_get(given, "end", at), list) else (_border(given, "end", at),)
        if not ends:
            raise SchemaError("a tag needs at least one end string", f"{at}/end", "end")
        content = _get(given, "content", at)
        content = _with_texts(content, f"{at}/content") if isinstance(content, Mapping) else content
        if isinstance(content, Mapping) and content.get("type") == "any_text" and all(ends):
            _check_keys(content, ("type", *_FORMATS["any_text"][1]), f"{at}/content")
            self.kinds.append("any_text")
            return Concatenation((begin, self._free_text(content, f"{at}/content", (), ends)))
        inner = self._format(content, f"{at}/content", tuple(text for text in ends if text))
        return Concatenation((begin, inner, Alternatives(ends)))

    def _tags(self, given: Mapping[str, Any], at: str) -> list[Any]:
        tags = _filled(given, "tags", at)
        for i, tag in enumerate(tags):
            place = self._tag_place(at, i)
            if not isinstance(tag, Mapping):
                raise SchemaError(f"a tag must be an object, not {type(tag).__name__}", place, "tags")
            if tag.get("type", "tag") != "tag":
                raise SchemaError(f"expected a tag, not {shown(tag['type'])}", f"{place}/type", "type")
            _check_keys(tag, ("type", *_FORMATS["tag"][1]), place)
        return tags

    def _triggered(self, given: Mapping[str, Any], at: str, ends: tuple[str, ...]) -> Part:
        triggers = _texts(given, "triggers", at, may_be_empty=False)
        tags = self._tags(given, at)
        if not triggers:
            raise SchemaError("at least one trigger is needed", f"{at}/triggers", "triggers")
        by_trigger: dict[str, list[Part]] = {trigger: [] for trigger in triggers}
        counts, lengths = Counter(triggers), sorted({*map(len, triggers)})
        whole: list[Part] = []
        is_needed = _flag(given, "at_least_one", at)
        for i, tag in enumerate(tags):
            place = self._tag_place(at, i)
            begin = _border(tag, "begin", place)
            prefixes = (begin[:length] for length in lengths if length <= len(begin))
            found = [trigger for trigger in prefixes for _ in range(counts.get(trigger, 0))]
            if len(found) != 1:
                reason = f"{len(found)} triggers are prefixes of {shown(begin)}; one must be"
                raise SchemaError(reason, f"{place}/begin", "begin")
            by_trigger[found[0]].append(self._tag(tag, place, (), len(found[0])))
            if is_needed:
                whole.append(self._tag(tag, place, ()))
        excludes = (*_texts(given, "excludes", at, (), may_be_empty=False), *ends)
        rules = {trigger: rest for trigger, rest in by_trigger.items() if rest}
        silent = tuple(trigger for trigger, rest in by_trigger.items() if not rest)
        return _dispatched(
            rules,
            (*excludes, *silent),
            loops=not _flag(given, "stop_after_first", at),
            first=Alternatives(tuple(whole)) if whole else None,
        )

    def _dispatch(self, given: Mapping[str, Any], at: str, ends: tuple[str, ...]) -> Part:
        rules: dict[str, list[Part]] = {}
        for i, rule in enumerate(_filled(given, "rules", at)):
            place = f"{at}/rules/{i}"
            if not isinstance(rule, list | tuple) or len(rule) != 2 or not isinstance(rule[0], str) or not rule[0]:
                raise SchemaError("a rule must be a pair of a pattern and a format", place, "rules")
            check_text(rule[0], f"{place}/0", "rules")
            rules.setdefault(rule[0], []).append(self._format(rule[1], f"{place}/1", ends))
        excludes = (*_texts(given, "excludes", at, (), may_be_empty=False), *ends)
        return _dispatched(rules, excludes, loops=_flag(given, "loop", at, default=True))

    def _separated(self, given: Mapping[str, Any], at: str, _ends: tuple[str, ...]) -> Part:
        tags = tuple(self._tag(tag, f"{at}/tags/{i}", ()) for i, tag in enumerate(self._tags(given, at)))
        separator = _text(given, "separator", at)
        most = 1 if _flag(given, "stop_after_first", at) else None
        return Repeat(Alternatives(tags), int(_flag(given, "at_least_one", at)), most, separator or None)

    def _repeated(self, given: Mapping[str, Any], at: str, ends: tuple[str, ...]) -> Part:
        inner = self._format(_get(given, "content", at), f"{at}/content", ends)
        match given["type"]:
            case "optional":
                return Maybe(inner)
            case "plus":
                return Repeat(inner, 1)
            case "star":
                return Repeat(inner)
        low, high = _count(_get(given, "min", at), f"{at}/min"), _get(given, "max", at)
        most = None if high == -1 else _count(high, f"{at}/max")
        if most is not None and most < low:
            raise SchemaError(f"max {most} is below min {low}", at, "max")
        return Repeat(inner, low, most)


def _containing(texts: Sequence[str]) -> Node:
    """Return the tree of the texts that contain one of some texts."""
    anything = repeat(_CHARACTER)
    return concat([anything, alternate(map(Literal, texts)), anything])


_TAG = ("begin", "content", "end")
# Reader and keys of each format.
_FORMATS: dict[str, tuple[Callable[[_Reader, Mapping[str, Any], str, tuple[str, ...]], Part], tuple[str, ...]]] = {
    "const_string": (lambda _reader, given, at, _ends: _text(given, "value", at), ("value",)),
    "json_schema": (
        _Reader._json_schema,
        ("json_schema", "style", "any_order", "max_whitespace_cnt", "excludes"),
    ),
    "qwen_xml_parameter": (
        lambda reader, given, at, ends: reader._json_schema({**given, "style": "qwen_xml"}, at, ends),
        ("json_schema",),
    ),
    "any_text": (
        lambda reader, given, at, ends: reader._free_text(given, at, ends, ()),
        ("excludes", "max_tokens", "max_chars"),
    ),
    "regex": (
        lambda _reader, given, at, _ends: Located(Regex(_text(given, "pattern", at), ascii=True), f"{at}/pattern"),
        ("pattern",),
    ),
    "grammar": (_Reader._grammar, ("grammar",)),
    "sequence": (lambda reader, given, at, ends: Concatenation(reader._elements(given, at, ends)), ("elements",)),
    "or": (lambda reader, given, at, ends: Alternatives(reader._elements(given, at, ends)), ("elements",)),
    "tag": (_Reader._tag, _TAG),
    "triggered_tags": (
        _Reader._triggered,
        ("triggers", "tags", "at_least_one", "stop_after_first", "excludes"),
    ),
    "tags_with_separator": (_Reader._separated, ("tags", "separator", "at_least_one", "stop_after_first")),
    "dispatch": (_Reader._dispatch, ("rules", "loop", "excludes")),
    "optional": (_Reader._repeated, ("content",)),
    "plus": (_Reader._repeated, ("content",)),
    "star": (_Reader._repeated, ("content",)),
    "repeat": (_Reader._repeated, ("min", "max", "content")),
}
# Keys without an effect.
_FOR_PEOPLE = {"title", "description", "$comment"}
# As in xgrammar.
_LARGEST = 2**31 - 1
# Cost of reading a format, in steps of a compile.
_PER_FORMAT = 5_000
_CHARACTER = Chars(Charset.UNIVERSE)
# The formats of tokens and their keys, and what they are where a token is its text.
_OF_TOKENS = {
    "token": ("const_string", {"token": "value"}),
    "any_tokens": ("any_text", {"exclude_tokens": "excludes"}),
    "token_triggered_tags": ("triggered_tags", {"trigger_tokens": "triggers", "exclude_tokens": "excludes"}),
    "token_dispatch": ("dispatch", {"exclude_tokens": "excludes"}),
}


def _with_texts(given: Mapping[str, Any], at: str) -> Mapping[str, Any]:
    """Return a format of tokens as one of their texts."""
    kind = given.get("type")
    found = _OF_TOKENS.get(kind) if isinstance(kind, str) else None
    if found is None:
        return given
    kind, names = found
    tokens = [token for name in names for token in _as_list(given.get(name))]
    tokens += [rule[0] for rule in _as_list(given.get("rules")) if isinstance(rule, list) and rule]
    if any(type(token) is int for token in tokens):
        raise SchemaError("single tokens are given by their texts, not by their numbers", at, "type")
    kept = tuple(key for key in _FORMATS[kind][1] if key not in names.values())
    _check_keys(given, ("type", *kept, *names), at)
    for name in names:
        if name == "token":
            _text(given, name, at)
        elif name in given:
            _texts(given, name, at, may_be_empty=False)
    return {"type": kind, **{names.get(name, name): value for name, value in given.items() if name != "type"}}


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _border(given: Any, name: str, at: str) -> str:
    """Return the text that begins or ends a tag: a string, or a token."""
    found = _get(given, name, at)
    if isinstance(found, Mapping) and found.get("type") == "token":
        return _text(_with_texts(found, f"{at}/{name}"), "value", f"{at}/{name}")
    return _text(given, name, at)


def _dispatched(
    rules: Mapping[str, Sequence[Part]], excludes: tuple[str, ...], *, loops: bool, first: Part | None = None
) -> Part:
    """Return free text in which each pattern is followed by one of its parts. ``first``: a part that comes before any text."""
    patterns, lengths = tuple(rules), sorted({*map(len, rules)}, reverse=True)
    rest = FreeText(excludes=(*patterns, *excludes))
    if not loops and first is not None:
        return first
    if not rules:
        return rest if first is None else Concatenation((first, rest))
    # Where patterns end together, the parts of each may follow.
    ends = (dict.fromkeys(pattern[-length:] for length in lengths) for pattern in patterns)
    behind = (Alternatives(tuple(part for end in each for part in rules.get(end, ()))) for each in ends)
    branch = Dispatch((FreeText(stop=patterns, excludes=excludes), *behind))
    if not loops:
        return Alternatives((branch, rest))
    return Concatenation((*(() if first is None else (first,)), Repeat(branch), rest))


def _overlaps(text: str, end: str) -> bool:
    """Return whether a text may occur at the beginning of an end, or within it."""
    return text in end or any(text.endswith(end[:length]) for length in range(1, min(len(end), len(text) + 1)))


def _may_come_before(one: str, other: str) -> bool:
    """Return whether an end may occur, behind a text without one, before another end there is complete."""
    return one in other[:-1] or any(one.endswith(other[:length]) for length in range(1, min(len(one), len(other))))


def _get(given: Any, name: str, at: str) -> Any:
    if not isinstance(given, Mapping):
        raise SchemaError(f"expected an object, not {type(given).__name__}", at, name)
    if name not in given:
        raise SchemaError(f"{name!r} is missing", at, name)
    return given[name]


def _check_keys(given: Any, known: tuple[str, ...], at: str) -> None:
    """Refuse unknown keys: what they mean would not be enforced."""
    if not isinstance(given, Mapping):
        raise SchemaError(f"expected an object, not {type(given).__name__}", at, "type")
    for key in given:
        if key not in known and not is_private(key) and key not in _FOR_PEOPLE:
            near = get_close_matches(key, known, 1)
            advice = f"is {near[0]!r} meant?" if near else f"known: {', '.join(known)}"
            raise SchemaError(f"unknown key {shown(key)}; {advice}", at, shown(key))


def _text(given: Any, name: str, at: str) -> str:
    found = _get(given, name, at)
    if not isinstance(found, str):
        raise SchemaError(f"{name!r} must be a string, not {type(found).__name__}", f"{at}/{name}", name)
    check_text(found, f"{at}/{name}", name)
    return found


def _list(given: Any, name: str, at: str, default: Any = None) -> list[Any]:
    found = _get(given, name, at) if default is None else given.get(name, list(default))
    if not isinstance(found, list | tuple):
        raise SchemaError(f"{name!r} must be a list, not {type(found).__name__}", f"{at}/{name}", name)
    return list(found)


def _filled(given: Any, name: str, at: str) -> list[Any]:
    found = _list(given, name, at)
    if not found:
        raise SchemaError(f"{name!r} must not be empty", f"{at}/{name}", name)
    return found


def _texts(given: Any, name: str, at: str, default: Any = None, *, may_be_empty: bool = True) -> tuple[str, ...]:
    found = _list(given, name, at, default)
    for i, text in enumerate(found):
        place = f"{at}/{name}/{i}"
        if not isinstance(text, str):
            raise SchemaError(f"{name!r} must be a list of strings", place, name)
        if not text and not may_be_empty:
            raise SchemaError(f"{name!r} must not contain an empty string", place, name)
        check_text(text, place, name)
    return tuple(found)


def _flag(given: Mapping[str, Any], name: str, at: str, *, default: bool = False) -> bool:
    found = given.get(name, default)
    if not isinstance(found, bool):
        raise SchemaError(f"{name!r} must be a bool, not {shown(found)}", f"{at}/{name}", name)
    return found


def _count(given: Any, at: str) -> int:
    if type(given) is not int or not 0 <= given <= _LARGEST:
        raise SchemaError(f"expected a whole number up to {_LARGEST:,}, not {shown(given)}", at, at.rpartition("/")[2])
    return given
