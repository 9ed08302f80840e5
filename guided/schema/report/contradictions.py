"""Where a schema contradicts itself: the smallest place without a value and its keywords; and parts that no value ever has.

A *place* is one schema of the document. An *element* of a place is something that can be left out of it: a keyword, a required name, or a
schema below ``properties``, ``allOf`` or the like, which then becomes ``true``. The search keeps a minimal set of elements that together
have no value (QuickXplain, Junker 2004). If a schema among these has no value by itself, the search continues there. Elements are left out
of a copy of one schema; the schemas below it, and what refers to them, stay the same.

Complexity: O(k log n) tests of a place with n elements of which k are kept, each linear in n. All tests share a quarter of the step budget
of a call; where it ends, the place found so far is the answer.
"""

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote

import numpy as np

from guided.automata.steps import Steps
from guided.errors import ROOT, LimitError, SchemaError, shown
from guided.limits import Limits
from guided.schema.containers.opening import Containers
from guided.schema.formula.atoms import NO_CAPS, Caps, JsonOptions
from guided.schema.formula.exact import is_number
from guided.schema.formula.formulas import Formulas
from guided.schema.frontend.dialect import Dialect, subschemas
from guided.schema.frontend.dialects import DEFAULT
from guided.schema.frontend.keywords.enumerations import ITEM, constant
from guided.schema.frontend.location import Location, pointer_of
from guided.schema.frontend.lowering import Lowering
from guided.schema.frontend.resources import Context, Target
from guided.schema.values.context import SchemaContext

__all__ = ["Refusal", "contradiction", "impossible", "refusal"]

# Keywords, and names or positions below them, in turn.
Path: TypeAlias = tuple[str | int, ...]

# Tables of schemas by name. Without the names that it declares, a schema may have fewer values.
_TABLES = frozenset({"properties", "patternProperties"})
# Lists of schemas that all must hold.
_EACH = frozenset({"allOf", "extends", "prefixItems", "items"})
_CHOICES = ("anyOf", "oneOf")
# Any value.
_ANY = object()
# Schemas that a value need not satisfy.
_TESTS = frozenset({"not", "if", "disallow", "type"})
# Keywords that constrain values of every type. The others constrain values of one, which ``type`` beside them selects.
_OF_EVERY_TYPE = frozenset({
    "$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "const", "enum", "extends", "disallow",
    "type",
})  # fmt: skip
_DEFINING = frozenset({"$defs", "definitions"})
# A schema of these that no value satisfies is a way to write a condition.
_CONDITIONAL = frozenset({"then", "else", "dependentSchemas", "dependencies", "propertyNames"})
# Keywords of a member that tells the branches of a choice apart.
_TAGS = frozenset({"const", "enum"})
_NAMING = frozenset({"$id", "id", "$schema"})
_NOTES = 10
# The search is for an error message or a note, so it may take this part of the steps of a call.
_SHARE = 4
_TYPES = ((str, "string"), (list, "array"), (dict, "object"))
_A_TYPE = {"number": "a number, ", "string": "a string, ", "array": "an array, ", "object": "an object, "}
# What a keyword says about a value that it refuses, before the keyword's own value.
_PREDICATES = {
    "maximum": "is over maximum",
    "minimum": "is under minimum",
    "exclusiveMaximum": "is not under exclusiveMaximum",
    "exclusiveMinimum": "is not over exclusiveMinimum",
    "multipleOf": "is not a multiple of",
    "const": "is not",
    "enum": "is not one of enum",
    "pattern": "does not match pattern",
    "format": "is not of format",
    "uniqueItems": "has equal items, against uniqueItems",
}
# Keywords of numbers and strings that an error shows with their values.
_OF_SCALARS = frozenset({
    "type", "const", "enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
    "pattern", "format",
})  # fmt: skip
# Keywords that refuse each value that begins with a value which they refuse.
_OF_BEGINNINGS = frozenset({"type", "maximum", "exclusiveMaximum", "maxLength"})
# Keywords of members that are not declared.
_CLOSING = frozenset({"additionalProperties", "unevaluatedProperties"})
_COUNTED = {
    "maxLength": "characters are more than maxLength",
    "minLength": "characters are fewer than minLength",
    "maxItems": "items are more than maxItems",
    "minItems": "items are fewer than minItems",
    "maxProperties": "members are more than maxProperties",
    "minProperties": "members are fewer than minProperties",
}
# Elements that are copied in about the time of one step.
_ELEMENTS_PER_STEP = 8
# Levels of ``allOf`` whose keywords are elements of the schema that holds it, in steps of paths.
_DEEPEST = 8


def contradiction(
    schema: Any, options: JsonOptions, limits: Limits, registry: Mapping[str, Any] | None = None, pointer: str = ""
) -> tuple[str, str]:
    """Return the JSON Pointer of the smallest place of a schema that has no value, and its contradictory keywords.

    Parameters
    ----------
    schema : dict or bool
        A schema that no value satisfies.
    options : JsonOptions
    limits : Limits
    registry : Mapping of str to schema, optional
    pointer : str
        Place of the schema that has no value.

    Returns
    -------
    pointer : str
    keywords : str
        In the order of the text, separated by commas; those below ``allOf`` with their place in it. ``"schema"`` if none are known.
    """
    search = _Search(schema, options, limits, registry)
    try:
        found = search.smallest(_Site(search.below(pointer)))
        return found.pointer, found.keywords
    finally:
        search.containers.release()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a schema refuses a value.

    Attributes
    ----------
    path : tuple of str and int
        Names and positions that lead to the smallest part that is wrong.
    pointer, keywords : str
        As `contradiction` returns them.
    reason : str
        What is wrong, in a sentence without the place.
    """

    path: tuple[str | int, ...]
    pointer: str
    keywords: str
    reason: str

    def __str__(self) -> str:
        where = pointer_of(((), *self.path))
        return f"{where + ': ' if where else ''}{self.reason} (at {self.pointer or ROOT}, {self.keywords})"


def refusal(
    value: Any,
    schema: Any,
    options: JsonOptions,
    limits: Limits,
    registry: Mapping[str, Any] | None = None,
    path: tuple[str | int, ...] = (),
    is_whole: bool = True,
    name: str | None = None,
) -> Refusal | None:
    """Return why a schema refuses a value, a part of it, or a further member; None if it does not, or if that takes too many steps.

    Parameters
    ----------
    value : None, bool, int, Decimal, str, list or dict
    schema, options, limits, registry
        As for `contradiction`.
    path : tuple of str and int
        Names and positions that lead to the part; empty: the whole value.
    is_whole : bool
        Whether the part, or the name, has ended. If not, the part is the beginning of a number or string that the schema refuses.
    name : str, optional
        That of a further member of the part, which is an object with its members so far; or its beginning.
    """
    search = _Search(schema, options, limits, registry)
    try:
        root, written, further = _Site(search.root, value), {}, None
        if name is not None:
            written = _at(value, path)
            further = _Name(name, is_whole, search.condition(_further(written, name, is_whole=is_whole)))
        for place in search.at(root, path) if path else [root]:
            if name in written and is_whole:
                return Refusal(path, pointer_of(place.target.location), "schema", f"{name!r} occurs twice")
            if further is not None:
                place = place._replace(value=further)
            if not search.has_value(place):
                return search.smallest(place) if is_whole or further is not None else search.beginning(place)
    except (LimitError, SchemaError):
        pass
    finally:
        search.containers.release()
    return None


def _further(written: dict[str, Any], name: str, *, is_whole: bool) -> dict[str, Any]:
    """Return the schema of the objects with the written members and one more, whose name is or begins with the given one."""
    is_other: dict[str, Any] = {"not": {"const": name}}
    if not is_whole:
        pattern = "".join(f"\\u{{{ord(character):x}}}" for character in name)
        is_other = {"anyOf": [{"not": {"pattern": f"^{pattern}"}}, {"enum": [*written]}]}
    return {
        "type": "object",
        "required": [*written],
        "properties": {each: {"const": value} for each, value in written.items()},
        "not": {"propertyNames": is_other},
    }


def impossible(
    schema: Any,
    options: JsonOptions,
    limits: Limits,
    registry: Mapping[str, Any] | None = None,
    pointer: str = "",
    steps: Steps | None = None,
) -> tuple[str, ...]:
    """Return a note on each part that no value ever has, although the schema at a place of a document has values.

    These are schemas of members and items that have no value by themselves, and branches of ``anyOf`` and ``oneOf`` that contradict the
    keywords beside them. ``false`` and ``{"not": {}}`` say so themselves, so they are left out, and so are parts of impossible parts.
    ``steps``: those of several searches together.
    """
    search = _Search(schema, options, limits, registry)
    if steps is not None:
        search.lowering.formulas.steps = steps
    found: list[str] = []
    try:
        for part in search.impossible(search.below(pointer)):
            if len(found) == _NOTES:
                found.append("more parts of the schema have no value")
                break
            pointer = shown(pointer_of(part.location))[1:-1]
            if search.has_value(_Site(part)):
                other = "whatever satisfies it satisfies another part, or " if part.location[1] == "oneOf" else "it "
                found.append(
                    f"values never satisfy {pointer}: {other}contradicts the keywords beside {part.location[1]}"
                )
            else:
                least = search.smallest(_Site(part))
                place = f"at {least.pointer}, {least.keywords}"
                found.append(f"no value satisfies {pointer}, so texts never have it ({place})")
    except (LimitError, SchemaError):
        pass
    finally:
        search.containers.release()
    return tuple(found)


class _Name(NamedTuple):
    """A further member of an object, as a value of a `_Site`.

    Attributes
    ----------
    name : str
        Its name or the beginning of it.
    is_whole : bool
    formula : int
        That of the objects which have such a member.
    """

    name: str
    is_whole: bool
    formula: int


class _Site(NamedTuple):
    """A schema; and a value that it may have, with the names and positions that lead to it, if only that one is of interest."""

    target: Target
    value: Any = _ANY
    path: tuple[str | int, ...] = ()


class _Search:
    """Tests of satisfiability over one schema and copies of its parts."""

    def __init__(self, schema: Any, options: JsonOptions, limits: Limits, registry: Mapping[str, Any] | None) -> None:
        formulas = Formulas()
        recording = replace(options, unsupported="record", strict_keywords=False)
        self.lowering = Lowering(schema, recording, formulas, limits, registry)
        formulas.steps.limit = limits.call_steps // _SHARE
        context = SchemaContext(formulas, self.lowering, options, limits, np.ones(256, np.bool_))
        self.containers = Containers(context)
        # Why kept: the lowering knows schemas by their identity.
        self._copies: list[dict[str, Any]] = []
        self._constants: dict[int, int] = {}

    @property
    def root(self) -> Target:
        """The whole schema."""
        root = self.lowering.references.root
        return Target(root.resource.schema, root, root.resource.location)

    def below(self, pointer: str) -> Target:
        """The schema at a JSON Pointer."""
        root = self.root
        if not pointer:
            return root
        return self.lowering.references.resolve("$ref", f"#{quote(pointer)}", root.context, root.location)

    def smallest(self, place: _Site) -> Refusal:
        """Return the smallest place within a place without a value, and its keywords."""
        seen = set[tuple[int, int]]()
        below: _Site | None = place
        kept: list[Path] = []
        try:
            while below is not None and isinstance(below.target.schema, dict):
                place, kept = below, []
                # A place that is found within itself has values without end, if any.
                mark = id(place.target.schema), len(place.path)
                is_last = mark in seen
                seen.add(mark)
                below, kept = self._within(place, is_last=is_last)
        except (LimitError, SchemaError):
            pass
        keywords = ", ".join(_keywords(kept)) or "schema"
        reason = "no value satisfies it" if place.value is _ANY else self._reason(place, kept)
        return Refusal(place.path, pointer_of(place.target.location), keywords, reason)

    def at(self, place: _Site, path: tuple[str | int, ...]) -> Iterator[_Site]:
        """Yield the places of a part of a value: the schemas that it must satisfy, as far as no choice leads to them."""
        todo, seen = [place], set[tuple[int, int]]()
        while todo:
            place = todo.pop()
            mark = id(place.target.schema), len(place.path)
            if mark in seen or not isinstance(place.target.schema, dict):
                continue
            seen.add(mark)
            target = place.target
            context = self.lowering.references.entered(target.schema, target.context, target.location)
            entered = place._replace(target=replace(target, context=context))
            if place.path == path:
                yield entered
            elements = [element for element, _ in _elements(target.schema, context.dialect)]
            todo += [below for _, below in self._parts(entered, elements) if below.path == path[: len(below.path)]]

    def beginning(self, place: _Site) -> Refusal | None:
        """Return the keywords that refuse each value that begins as the value of a place does."""
        found = self.smallest(place)
        if found.keywords in _OF_BEGINNINGS:
            return found
        schema = place.target.schema
        wanted = {keyword: value for keyword, value in schema.items() if keyword in _OF_SCALARS}
        if not wanted:
            return None
        conditions = ", ".join(f"{keyword} {shown(value)}" for keyword, value in wanted.items())
        reason = f"{_shown(place.value)} begins no value of {conditions}"
        return Refusal(place.path, pointer_of(place.target.location), ", ".join(wanted), reason)

    def impossible(self, place: Target) -> Iterator[Target]:
        """Yield the parts of a schema that no value ever has, in the order of the text.

        Raises
        ------
        SchemaError, LimitError
            A part is malformed; the step budget is exceeded.
        """
        lowering, todo = self.lowering, [place]
        seen: set[int] = set()
        while todo:
            schema, location = todo[-1].schema, todo[-1].location
            context = lowering.references.entered(schema, todo.pop().context, location)
            if not isinstance(schema, dict) or id(schema) in seen:
                continue
            seen.add(id(schema))
            possible: list[Target] = []
            whole: int | None = None
            for keyword, part in _parts(schema, context, location):
                lowering.formulas.spend(1)
                formula = lowering.below(part.schema, part.context, part.location)
                if keyword in _CHOICES:
                    whole = lowering.below(schema, context, location) if whole is None else whole
                    formula = lowering.formulas.conjunction([whole, formula])
                if self.containers.satisfiability.is_satisfiable(formula):
                    possible.append(part)
                elif keyword not in _CONDITIONAL:
                    yield part
            todo += reversed(possible)

    def has_value(self, place: _Site) -> bool:
        """Return whether some value satisfies the schema of a place by itself, or whether its value does."""
        target, value = place.target, place.value
        formula = self.lowering.below(target.schema, target.context, target.location)
        if isinstance(value, _Name):
            formula = self.lowering.formulas.conjunction([formula, value.formula])
        elif value is not _ANY:
            if id(value) not in self._constants:
                self._constants[id(value)] = constant(self.lowering, value, ITEM, 0)
            formula = self.lowering.formulas.conjunction([formula, self._constants[id(value)]])
        return self.containers.satisfiability.is_satisfiable(formula)

    def condition(self, schema: Any) -> int:
        """Return the formula of a schema of the newest draft, beside the document."""
        self._copies.append(schema)
        context = replace(self.root.context, dialect=DEFAULT, narrows=False)
        return self.lowering.below(schema, context, self.root.location)

    def _within(self, place: _Site, *, is_last: bool) -> tuple[_Site | None, list[Path]]:
        """Return a smaller place without a value; if there is none or this is the last one, the contradictory elements of this one."""
        schema, location = place.target.schema, place.target.location
        context = self.lowering.references.entered(schema, place.target.context, location)
        dialect = context.dialect
        anew = {keyword: value for keyword, value in schema.items() if keyword not in (dialect.identifier, "$schema")}
        is_late = dict(_elements(anew, dialect))
        elements = list(is_late)

        def is_empty(kept: list[Path]) -> bool:
            self.lowering.formulas.spend(1 + len(elements) // _ELEMENTS_PER_STEP)
            copy = _without(anew, {*elements} - {*kept})
            self._copies.append(copy)
            return not self.has_value(place._replace(target=Target(copy, context, location)))

        entered = place._replace(target=Target(anew, context, location))
        if not is_last:
            # PERF: one schema without a value, below one of thousands of names, needs no search.
            for path, below in self._parts(entered, elements):
                if not self.has_value(below) and not is_empty([other for other in elements if other != path]):
                    return below, []
        late = [path for path in elements if is_late[path]]
        kept = _needed(lambda some: is_empty([*some, *late]), [path for path in elements if not is_late[path]]) + late
        holding = {path[:-1] for path in kept}
        for path in late:
            fewer = [other for other in kept if other != path]
            if path not in holding and is_empty(fewer):
                kept = fewer
        needed = {*kept}
        kept = [path for path in elements if path in needed]
        if not is_last:
            for _, below in self._parts(entered, kept):
                if not self.has_value(below):
                    return below, []
        return None, kept

    def _parts(self, place: _Site, elements: list[Path]) -> Iterator[tuple[Path, _Site]]:
        """Yield the schemas of elements that each value of a place, or a part of it, must satisfy."""
        given, before = place.value, place.path
        schema, context, location = place.target.schema, place.target.context, place.target.location
        for path in elements:
            keyword = str(path[0])
            value, how = schema[keyword], context.dialect.positions.get(keyword, "")
            if path == ("$ref",) and isinstance(value, str):
                found = self.lowering.references.resolve("$ref", value, context, location)
            elif keyword in _CHOICES and isinstance(value, list):
                chosen = self._chosen(place, keyword)
                if chosen is None:
                    continue
                found = chosen
            elif keyword in _TESTS or not how:
                continue
            elif len(path) == 1 and how.startswith("schema"):
                found = Target(value, context, (location, keyword))
            elif len(path) > 1:
                found = Target(value[path[1]], context, (location, *path[:2]))
            else:
                continue
            if not isinstance(found.schema, dict):
                continue
            if given is _ANY or keyword in _OF_EVERY_TYPE:
                yield path, _Site(found, given, before)
            else:
                for step, part in self._parts_of_value(place, path):
                    yield path, _Site(found, part, (*before, step))

    def _chosen(self, place: _Site, keyword: str) -> Target | None:
        """Return the one branch of a choice that a value may have been meant for: the only one, or the only one of its type."""
        target, value, _ = place
        of = (target.location, keyword)
        branches = [Target(part, target.context, (*of, i)) for i, part in enumerate(target.schema[keyword])]
        if len(branches) > 1 and value is not _ANY:
            of_type = self.lowering.formulas.atom(("type", _type_of(value)))
            branches = [part for part in branches if self._may_be(part, of_type) and self._may_have_tag(part, value)]
        return branches[0] if len(branches) == 1 else None

    def _may_be(self, target: Target, condition: int) -> bool:
        """Return whether some value satisfies a schema and a formula."""
        formula = self.lowering.below(target.schema, target.context, target.location)
        return self.containers.satisfiability.is_satisfiable(self.lowering.formulas.conjunction([formula, condition]))

    def _may_have_tag(self, target: Target, value: Any) -> bool:
        """Return whether the members of a value for which a schema has one constant have that constant."""
        schema = target.schema
        if isinstance(schema, dict) and isinstance(schema.get("$ref"), str):
            target = self.lowering.references.resolve("$ref", schema["$ref"], target.context, target.location)
        declared = target.schema.get("properties") if isinstance(target.schema, dict) else None
        if not isinstance(declared, dict) or not isinstance(value, dict):
            return True
        return all(
            self.has_value(_Site(Target(part, target.context, (target.location, "properties", name)), value[name]))
            for name, part in declared.items()
            if name in value and isinstance(part, dict) and not _TAGS.isdisjoint(part)
        )

    def _parts_of_value(self, place: _Site, path: Path) -> Iterator[tuple[str | int, Any]]:
        """Yield the members or items that the schema of an element applies to, each with its name or position."""
        schema, value, keyword = place.target.schema, place.value, path[0]
        if isinstance(value, dict):
            declared, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
            if keyword == "properties" and path[1] in value:
                yield path[1], value[path[1]]
            elif keyword == "patternProperties":
                yield from ((name, part) for name, part in value.items() if self._matches(place, path[1], name))
            elif keyword == "additionalProperties":
                for name, part in value.items():
                    if name not in declared and not any(self._matches(place, each, name) for each in patterns):
                        yield name, part
        elif isinstance(value, list):
            if len(path) > 1 and isinstance(path[1], int):
                yield from [(path[1], value[path[1]])] if path[1] < len(value) else ()
            elif keyword in ("items", "additionalItems"):
                before = schema.get("prefixItems" if keyword == "items" else "items", [])
                first = len(before) if isinstance(before, list) else 0
                yield from enumerate(value[first:], first)

    def _reason(self, place: _Site, kept: list[Path]) -> str:
        """Return what is wrong with a value, given the elements of a schema that refuse it."""
        value, schema = place.value, place.target.schema
        named = _named(kept)
        if isinstance(value, _Name):
            return _reason_of_name(value, [str(path[-1]) for path in named])
        if len(named) != 1 or not isinstance(schema, dict):
            return f"{_shown(value)} is refused"
        path = named[0]
        wanted, keyword = _at(schema, path), str(path[-1])
        if keyword == "required" and isinstance(wanted, list):
            missing = next((name for name in wanted if name not in value), "")
            return f"{missing!r} is missing"
        if keyword == "additionalProperties" and wanted is False:
            undeclared = next(self._parts_of_value(place, (keyword,)), ("",))[0]
            return f"{undeclared!r} is not declared"
        if keyword == "type":
            names = [wanted] if isinstance(wanted, str) else wanted
            capped = (
                "" if self.lowering.options.caps == NO_CAPS else _over_cap(value, names, self.lowering.options.caps)
            )
            if capped:
                return capped
            return f"{_shown(value)} is {_A_TYPE.get(_type_of(value), '')}not of type {' or '.join(map(str, names))}"
        if keyword in _COUNTED:
            return f"{len(value):,} {_COUNTED[keyword]} {shown(wanted)}"
        return f"{_shown(value)} {_PREDICATES.get(keyword, f'does not satisfy {keyword}')}" + (
            f" {_shown(wanted)}" if keyword in _PREDICATES and wanted is not True else ""
        )

    def _matches(self, place: _Site, pattern: Any, name: str) -> bool:
        tested = {"pattern": pattern}
        self._copies.append(tested)
        return self.has_value(_Site(Target(tested, place.target.context, place.target.location), name))


def _reason_of_name(further: _Name, keywords: list[str]) -> str:
    """Return what is wrong with a further member, given the keywords that refuse it."""
    name, refusing = shown(further.name), " and ".join(keywords) or "the schema"
    if "maxProperties" in keywords:
        return "a further member is more than maxProperties allows"
    if not _CLOSING.isdisjoint(keywords):
        left = f"{name} begins no declared name that is left" if further.name else "no declared name is left"
        return f"{name} is not declared" if further.is_whole else left
    if not further.is_whole:
        return f"{name} begins only names that {refusing} {'refuses' if len(keywords) < 2 else 'refuse'}"
    return f"the name {name} is refused by {refusing}"


def _over_cap(value: Any, names: list[Any], caps: Caps) -> str:
    """Return what is wrong with a value of one of some types that a cap refuses; empty if it has another type."""
    if isinstance(value, str) and "string" in names:
        return f"{len(value):,} characters are more than the option max_length={caps.max_length} allows"
    if isinstance(value, list) and "array" in names:
        return f"{len(value):,} items are more than the option max_items={caps.max_items} allows"
    if isinstance(value, dict) and "object" in names:
        return f"{len(value):,} members are more than the option max_properties={caps.max_properties} allows"
    if is_number(value) and ("number" in names or ("integer" in names and value == int(value))):
        return f"{_shown(value)} has more digits than the option max_digits={caps.max_digits} allows"
    return ""


def _parts(schema: dict[str, Any], context: Context, location: Location) -> Iterator[tuple[str, Target]]:
    """Yield the schemas directly below a schema that do not only test or define, each with its keyword."""
    for tokens, part in subschemas(schema, context.dialect.positions):
        keyword = str(tokens[0])
        if keyword not in _TESTS and keyword not in _DEFINING and isinstance(part, dict) and part.keys() != {"not"}:
            yield keyword, Target(part, context, (location, *tokens))


def _needed(is_empty: Callable[[list[Path]], bool], elements: list[Path]) -> list[Path]:
    """Return a minimal subset of elements that has no value, given that all of them have none."""

    def search(base: list[Path], rest: list[Path], *, may_suffice: bool) -> list[Path]:
        if may_suffice and is_empty(base):
            return []
        if len(rest) <= 1:
            return rest
        left, right = rest[: len(rest) // 2], rest[len(rest) // 2 :]
        of_right = search([*base, *left], right, may_suffice=True)
        of_left = search([*base, *of_right], left, may_suffice=bool(of_right))
        return [*of_left, *of_right]

    return search([], elements, may_suffice=True)


def _elements(schema: dict[str, Any], dialect: Dialect, before: Path = ()) -> Iterator[tuple[Path, bool]]:
    """Yield the elements of a schema in the order of its text, parts before their keyword.

    With each, whether it comes last: without companions, declared names or listed items, a schema may have fewer values.
    """
    if dialect.reference_stands_alone and "$ref" in schema:
        yield (*before, "$ref"), False
        return
    for keyword, value in schema.items():
        is_companion = keyword in dialect.companions
        if keyword not in dialect.handlers and dialect.companions.get(keyword) not in schema:
            continue
        path = (*before, keyword)
        if keyword == "required" and isinstance(value, list):
            yield from (((*path, i), False) for i in range(len(value)))
        elif keyword in _TABLES and isinstance(value, dict):
            yield from (((*path, name), False) for name, part in value.items() if part is not True)
            yield path, True
        elif keyword in _EACH and isinstance(value, list):
            for i, part in enumerate(value):
                if keyword == "allOf" and _is_plain(part, before):
                    yield from _elements(part, dialect, (*path, i))
                elif part is not True:
                    yield (*path, i), False
            if keyword != "allOf":
                yield path, True
        else:
            yield path, is_companion


def _without(schema: dict[str, Any], gone: Set[Path], before: Path = ()) -> dict[str, Any]:
    """Return a copy of a schema without some elements."""
    copy: dict[str, Any] = {}
    for keyword, value in schema.items():
        path = (*before, keyword)
        if path in gone:
            continue
        if keyword == "required" and isinstance(value, list):
            value = [name for i, name in enumerate(value) if (*path, i) not in gone]
        elif keyword in _TABLES and isinstance(value, dict):
            value = {name: (*path, name) in gone or part for name, part in value.items()}
        elif keyword in _EACH and isinstance(value, list):
            parts = (
                _without(part, gone, (*path, i))
                if keyword == "allOf" and _is_plain(part, before)
                else (*path, i) in gone or part
                for i, part in enumerate(value)
            )
            value = list(parts)
        copy[keyword] = value
    return copy


def _is_plain(schema: Any, before: Path) -> bool:
    """Return whether the keywords of a schema below ``allOf`` are elements of the schema that holds it."""
    return isinstance(schema, dict) and len(before) < _DEEPEST and not schema.keys() & _NAMING


def _keywords(kept: list[Path]) -> list[str]:
    return ["/".join(map(str, path)) for path in _named(kept)]


def _named(kept: list[Path]) -> list[Path]:
    """Return the keywords of elements, without ``type`` beside keywords that concern values of one type only."""
    named = dict.fromkeys(path if len(path) % 2 else path[:-1] for path in kept)
    others = [path for path in named if path[-1] != "type"]
    return others if others and not any(path[-1] in _OF_EVERY_TYPE for path in others) else list(named)


def _type_of(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "true" if value else "false"
    if isinstance(value, _Name):
        return "object"
    return next((name for kind, name in _TYPES if isinstance(value, kind)), "number")


def _shown(value: Any) -> str:
    if isinstance(value, Decimal):
        return shown(value, 200).removeprefix("Decimal('").removesuffix("')")
    return (
        {None: "null", True: "true", False: "false"}[value]
        if value is None or value is True or value is False
        else shown(value)
    )


def _at(schema: Any, path: Path) -> Any:
    for step in path:
        schema = schema[step]
    return schema
