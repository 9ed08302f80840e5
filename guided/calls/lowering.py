"""Tools and a format -> the pattern tree of a call.

`Layout` lists the arguments of a tool's call in a format, in order: positional ones first, then those with keys. This module builds the
tree from it, and `guided.calls.parse` reads calls by it. All occurrences of a type share one tree object, and tools with the same
arguments share the tree after the name: ``(add|multiply)(...)``.
"""

import json
import types
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from guided.calls.containers import array, following, in_order
from guided.calls.formats.format import LABEL, Format
from guided.calls.formats.texts import BLANKS, any_of, part
from guided.calls.holes import MARKS, Holes
from guided.calls.numbers import DIGIT
from guided.calls.parameters import Parameter
from guided.calls.pythonic import pythonic
from guided.calls.raw import raw, raw_apart
from guided.calls.scalars import string
from guided.calls.schema import SchemaType, type_of_annotation
from guided.calls.strings import any_text, spell_text
from guided.calls.values import ValueType, automaton_of
from guided.errors import SchemaError
from guided.patterns.tree import Intersect, Literal, Node, alternate, concat, optional, repeat

__all__ = [
    "Layout",
    "Slot",
    "around",
    "call_tree",
    "key_end",
    "label_node",
    "layout_of",
    "names_node",
    "read_label",
    "value_node",
]

_LETTERS = frozenset(b"tfn")
_DIGITS = tuple(b"%d" % digit for digit in range(10))


@dataclass(frozen=True, slots=True)
class Slot:
    """One argument of a call.

    Attributes
    ----------
    name : str
        Name of the Python parameter.
    label : str
        Name of the argument in calls.
    type : ValueType or SchemaType
        Type of the written value.
    required : bool
        Whether every call has it.
    text : ValueType or None
        Type of its strings, if the format gives strings a key of their own; the same object as ``type`` if all values are strings.
    """

    name: str
    label: str
    type: ValueType | SchemaType
    required: bool
    text: ValueType | None = None

    @property
    def kinds(self) -> "tuple[Slot, ...]":
        """The alternatives for the value, each with its own key."""
        if self.text is None or self.text is self.type:
            return (self,)
        return replace(self, text=None), replace(self, type=self.text)

    @property
    def is_text(self) -> bool:
        """Return whether it follows the key for strings."""
        return self.text is not None and self.text is self.type


@dataclass(frozen=True, slots=True)
class Layout:
    """The arguments of a tool in a format, in the order of a call.

    Attributes
    ----------
    positional : tuple of Slot
        Arguments without keys; no required one follows an optional one.
    variadic : Slot or None
        Any number of further values without keys, after all positional ones.
    keyed : tuple of Slot
        Arguments with keys.
    whole : SchemaType or None
        Type of the JSON object of all arguments, which then replaces the other fields.
    """

    positional: tuple[Slot, ...]
    variadic: Slot | None
    keyed: tuple[Slot, ...]
    whole: SchemaType | None = None


def layout_of(tool: str, parameters: Sequence[Parameter], form: Format) -> Layout:
    """Arrange the arguments of a tool in a format.

    Raises
    ------
    SchemaError
        The format cannot write a parameter's name, or cannot find the end of a bare value.
    """
    if ":" in tool and not form.has_colons:
        raise SchemaError(
            f"format {form.name!r} writes a colon after names, so names must not contain one: rename the tool with Tool(..., name=...)",
            f"/{tool}",
            "name",
        )
    positional: list[Slot] = []
    keyed: list[Slot] = []
    variadic: Slot | None = None
    # Without keys, every value before a required one is required too.
    needed = [i for i, parameter in enumerate(parameters) if parameter.required and parameter.kind != "keyword"]
    last = max(needed, default=-1)
    for i, parameter in enumerate(parameters):
        pointer = f"/{tool}/{parameter.label}"
        if parameter.kind == "whole":
            assert isinstance(parameter.type, SchemaType)
            if not form.is_json:
                reason = f"format {form.name!r} writes arguments one by one: declare all, in properties, and no others"
                raise SchemaError(reason, f"/{tool}", "parameters")
            return Layout((), None, (), parameter.type)
        kind, text = _told_apart(parameter.type, parameter.label, form, pointer)
        if form.is_positional and parameter.kind == "variadic":
            variadic = Slot(parameter.name, parameter.label, kind, False)
        elif form.is_positional and parameter.kind != "keyword":
            positional.append(Slot(parameter.name, parameter.label, kind, i <= last))
        else:
            if not form.is_quoted and not LABEL.fullmatch(parameter.label):
                raise SchemaError(f"format {form.name!r} cannot write this name: it needs quotes", pointer, "name")
            if not MARKS.isdisjoint(parameter.label):
                raise SchemaError("a name must not contain the reserved characters U+F0000 to U+F000F", pointer, "name")
            if parameter.kind == "variadic":
                kind, text = _listed(kind, pointer), None
            keyed.append(Slot(parameter.name, parameter.label, kind, parameter.required, text))
    for slot in (*positional, *([variadic] if variadic else ())):
        _check_beside_keys(slot, keyed, form, f"/{tool}/{slot.label}")
    return Layout(tuple(positional), variadic, tuple(keyed))


def _listed(kind: ValueType | SchemaType, pointer: str) -> ValueType | SchemaType:
    if isinstance(kind, ValueType):
        return array(kind, 0, None, list, f"list[{kind.name}]")
    assert kind.reader is not None, "only Python's parameters are variadic"
    return type_of_annotation(types.GenericAlias(list, (kind.reader.given,)), f"list[{kind.name}]", pointer)


def _check_beside_keys(slot: Slot, keyed: Sequence[Slot], form: Format, pointer: str) -> None:
    """Reject values that begin like a key that may occur in their place."""
    if isinstance(slot.type, SchemaType) and keyed:
        firsts = {(form.before_key.lstrip(BLANKS) or other.label).encode()[0] for other in keyed}
        if firsts & (set(slot.type.begins) - _LETTERS):
            raise SchemaError(
                f"format {form.name!r} cannot tell this value from the name of the next argument", pointer, "name"
            )


def call_tree(inventory: Sequence[tuple[str, Layout]], form: Format, holes: Holes) -> Node:
    """The tree of a call, from before the name to the close. Adds the call's schema values to `holes`."""
    names: dict[Layout, list[str]] = {}
    for name, layout in inventory:
        names.setdefault(layout, []).append(name)
    by_argument: list[Node] = []
    at_once: list[Node] = []
    for layout, found in names.items():
        named = names_node(tuple(found))
        before, after = (any_of(texts, form.id) for texts in around(layout, form))
        if layout.whole is None:
            by_argument.append(concat([named, before, _arguments(layout, form, holes)]))
        else:
            at_once.append(concat([named, before, holes.mark(layout.whole), after]))
    calls = [concat([alternate(by_argument), any_of(form.texts("close"), form.id)])] if by_argument else []
    return concat([any_of(form.texts("before_name"), form.id), alternate([*calls, *at_once])])


def around(layout: Layout, form: Format) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """All spellings of the text before the arguments of a layout, and of the text after them."""
    before, after = form.texts("after_name"), form.texts("close")
    if layout.whole is None:
        return before, after
    return tuple(text[:-1] for text in before), tuple(text[1:] for text in after)


def _arguments(layout: Layout, form: Format, holes: Holes) -> Node:
    separator = part(form.separator)
    keyed = [(_entry(slot, form, holes), slot.required) for slot in layout.keyed]
    without = in_order(keyed, separator)
    spelled = partial(_value, form=form, holes=holes, is_beside_keys=bool(layout.keyed))
    values = [spelled(slot) for slot in layout.positional]
    further: Node = Literal("")
    if layout.variadic is not None:
        value = spelled(layout.variadic)
        further = repeat(concat([separator, value]))
        values = values or [value]
    if not values:
        return without
    required = sum(slot.required for slot in layout.positional)
    sure = max(required, 1)
    # An optional value requires all values before it.
    for value in reversed(values[sure:]):
        further = optional(concat([separator, value, further]))
    first = [item for value in values[:sure] for item in (separator, value)][1:]
    given = concat([*first, further, *following(keyed, separator)])
    return given if required else alternate([given, without])


def _entry(slot: Slot, form: Format, holes: Holes) -> Node:
    before, label = part(form.before_key), label_node((slot.label,), form.is_quoted)
    values = [concat([key_end(kind, form), _value(kind, form, holes, is_beside_keys=False)]) for kind in slot.kinds]
    return concat([before, label, alternate(values)])


def key_end(slot: Slot, form: Format) -> Node:
    """The text between a parameter's name and a value of the given kind."""
    return part(form.after_text_key if slot.is_text else form.after_key)


def _value(slot: Slot, form: Format, holes: Holes, is_beside_keys: bool) -> Node:
    """A value and the text after it."""
    value = _spelled(slot.type, form.has_plus, holes, is_beside_keys)
    return concat([value, part(form.after_value.replace("{name}", slot.label))]) if form.after_value else value


def _spelled(kind: ValueType | SchemaType, has_plus: bool, holes: Holes, is_beside_keys: bool) -> Node:
    """A value. If a key may occur in its place, the words of JSON become literals, since a key may begin like one."""
    if isinstance(kind, ValueType):
        return value_node(kind, has_plus)
    begins = kind.begins if has_plus or is_beside_keys else b""
    nodes: list[Node] = [holes.mark(kind)]
    if is_beside_keys and kind.words:
        rest = bytes(byte for byte in begins if byte not in _LETTERS)
        nodes = [holes.mark(kind, rest)] if rest else []
        nodes += map(Literal, kind.words)
    digits = bytes(byte for byte in begins if byte in b"0123456789")
    if has_plus and digits:
        nodes.append(concat([Literal("+"), holes.mark(kind, digits)]))
    return alternate(nodes)


@lru_cache(maxsize=256)
def names_node(names: tuple[str, ...]) -> Node:
    """The alternatives of tool names."""
    return alternate(Literal(name) for name in names)


@lru_cache(maxsize=4096)
def label_node(labels: tuple[str, ...], is_quoted: bool) -> Node:
    """The alternatives of parameter names as a format writes them: bare, or escaped as in a JSON string."""
    return alternate(spell_text(label) if is_quoted else Literal(label) for label in labels)


def read_label(spelling: str, is_quoted: bool) -> str:
    """Decode a spelling to the parameter name."""
    return str(json.loads(f'"{spelling}"')) if is_quoted else spelling


@lru_cache(maxsize=4096)
def value_node(kind: ValueType, has_plus: bool) -> Node:
    """The spellings of a value of the type, plus ``+`` before those that begin with a digit if the format allows it."""
    automaton = automaton_of(kind.node)
    if not has_plus or all(automaton.run(digit) < 0 for digit in _DIGITS):
        return kind.node
    unsigned = Intersect((kind.node, concat([DIGIT, any_text()])))
    return alternate([kind.node, concat([Literal("+"), unsigned])])


def _told_apart(
    kind: ValueType | SchemaType, label: str, form: Format, pointer: str
) -> tuple[ValueType | SchemaType, ValueType | None]:
    """The type as a format writes it, and the type of its strings if the format gives them a key of their own."""
    if not form.text_key:
        return _written(kind, label, form, pointer), None
    if isinstance(kind, ValueType) and kind.is_bare:
        kind = _as_string(kind)
    others, text = raw_apart(kind, label, form, pointer)
    found = others if others is not None else text
    assert found is not None, "a type has values"
    return found, text


def _written(kind: ValueType | SchemaType, label: str, form: Format, pointer: str) -> ValueType | SchemaType:
    """The type as a format writes it: a bare type becomes a string if the format has no bare text."""
    if not isinstance(kind, ValueType) or not kind.is_bare:
        if form.values == "python":
            return pythonic(kind, form.name, pointer)
        return raw(kind, label, form, pointer) if form.values == "raw" else kind
    if not form.has_bare:
        return _written(_as_string(kind), label, form, pointer)
    automaton = automaton_of(kind.node)
    ends = {form.separator[:1] or form.after_value[0], form.close[0], form.after_key.lstrip(BLANKS)[0]}
    bad = next((end for end in ends if (automaton.table[:, automaton.classes[end.encode()[0]]] >= 0).any()), None)
    if bad is not None or automaton.accepts(b""):
        what = "may be empty" if bad is None else f"may hold {bad!r}"
        raise SchemaError(f"format {form.name!r} cannot tell where bare text ends that {what}", pointer, "types")
    return kind


@lru_cache(maxsize=4096)
def _as_string(kind: ValueType) -> ValueType:
    return string(kind.node, kind.name, kind.decode)
