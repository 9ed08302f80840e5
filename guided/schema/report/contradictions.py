"""Where a schema contradicts itself: the smallest place without a value and its keywords; and parts that no value ever has.

A *place* is one schema of the document. An *element* of a place is something that can be left out of it: a keyword, a required name, or a
schema below ``properties``, ``allOf`` or the like, which then becomes ``true``. The search keeps a minimal set of elements that together
have no value (QuickXplain, Junker 2004). If a schema among these has no value by itself, the search continues there. Elements are left out
of a copy of one schema; the schemas below it, and what refers to them, stay the same.

Complexity: O(k log n) tests of a place with n elements of which k are kept, each linear in n. All tests share a quarter of the step budget
of a call; where it ends, the place found so far is the answer.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import replace
from typing import Any, TypeAlias
from urllib.parse import quote

import numpy as np

from guided.errors import LimitError, SchemaError, shown
from guided.limits import Limits
from guided.schema.containers.opening import Containers
from guided.schema.formula.atoms import JsonOptions
from guided.schema.formula.formulas import Formulas
from guided.schema.frontend.dialect import Dialect
from guided.schema.frontend.location import Location, pointer_of
from guided.schema.frontend.lowering import Lowering
from guided.schema.frontend.resources import Context, Target
from guided.schema.values.context import SchemaContext

__all__ = ["contradiction", "impossible"]

# Keywords, and names or positions below them, in turn.
Path: TypeAlias = tuple[str | int, ...]

# Tables of schemas by name. Without the names that it declares, a schema may have fewer values.
_TABLES = frozenset({"properties", "patternProperties"})
# Lists of schemas that all must hold.
_EACH = frozenset({"allOf", "extends", "prefixItems", "items"})
_CHOICES = ("anyOf", "oneOf")
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
_NAMING = frozenset({"$id", "id", "$schema"})
_NOTES = 10
# The search is for an error message or a note, so it may take this part of the steps of a call.
_SHARE = 4
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
    root = search.lowering.references.root
    place = Target(schema, root, root.resource.location)
    try:
        if pointer:
            place = search.lowering.references.resolve("$ref", f"#{quote(pointer)}", root, place.location)
        return search.smallest(place)
    finally:
        search.containers.release()


def impossible(
    schema: Any, options: JsonOptions, limits: Limits, registry: Mapping[str, Any] | None = None
) -> tuple[str, ...]:
    """Return a note on each part that no value ever has, although the schema has values.

    These are schemas of members and items that have no value by themselves, and branches of ``anyOf`` and ``oneOf`` that contradict the
    keywords beside them. ``false`` and ``{"not": {}}`` say so themselves, so they are left out, and so are parts of impossible parts.
    """
    search = _Search(schema, options, limits, registry)
    found: list[str] = []
    try:
        for part in search.impossible():
            if len(found) == _NOTES:
                found.append("more parts of the schema have no value")
                break
            pointer = shown(pointer_of(part.location))[1:-1]
            if search.has_value(part):
                found.append(f"values never satisfy {pointer}: it contradicts the keywords beside {part.location[1]}")
            else:
                place, keywords = search.smallest(part)
                found.append(f"no value satisfies {pointer}, so texts never have it (at {place}, {keywords})")
    except (LimitError, SchemaError):
        pass
    finally:
        search.containers.release()
    return tuple(found)


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

    def smallest(self, place: Target) -> tuple[str, str]:
        """Return the pointer of the smallest place within a place without a value, and its keywords."""
        found = pointer_of(place.location), "schema"
        seen = set[int]()
        below: Target | None = place
        try:
            while below is not None and isinstance(below.schema, dict):
                found = pointer_of(below.location), "schema"
                # A place that is found within itself has values without end, if any.
                is_last = id(below.schema) in seen
                seen.add(id(below.schema))
                below, keywords = self._within(below, is_last=is_last)
                found = found[0], ", ".join(keywords) or "schema"
        except (LimitError, SchemaError):
            pass
        return found

    def impossible(self) -> Iterator[Target]:
        """Yield the parts that no value ever has, in the order of the text.

        Raises
        ------
        SchemaError, LimitError
            A part is malformed; the step budget is exceeded.
        """
        lowering, root = self.lowering, self.lowering.references.root
        todo = [Target(root.resource.schema, root, root.resource.location)]
        seen: set[int] = set()
        while todo:
            schema, location = todo[-1].schema, todo[-1].location
            context = lowering.references.entered(schema, todo.pop().context, location)
            if id(schema) in seen:
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

    def has_value(self, place: Target) -> bool:
        """Return whether some value satisfies a schema by itself."""
        formula = self.lowering.below(place.schema, place.context, place.location)
        return self.containers.satisfiability.is_satisfiable(formula)

    def _within(self, place: Target, *, is_last: bool) -> tuple[Target | None, list[str]]:
        """Return a smaller place without a value; if there is none or this is the last one, the contradictory keywords of this one."""
        schema, location = place.schema, place.location
        context = self.lowering.references.entered(schema, place.context, location)
        dialect = context.dialect
        anew = {keyword: value for keyword, value in schema.items() if keyword not in (dialect.identifier, "$schema")}
        is_late = dict(_elements(anew, dialect))
        elements = list(is_late)

        def is_empty(kept: list[Path]) -> bool:
            self.lowering.formulas.spend(1 + len(elements) // _ELEMENTS_PER_STEP)
            copy = _without(anew, {*elements} - {*kept})
            self._copies.append(copy)
            return not self.has_value(Target(copy, context, location))

        if not is_last:
            # PERF: one schema without a value, below one of thousands of names, needs no search.
            for path, below in self._parts(anew, elements, context, location):
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
            for _, below in self._parts(anew, kept, context, location):
                if not self.has_value(below):
                    return below, []
        return None, _keywords(kept)

    def _parts(
        self, schema: dict[str, Any], elements: list[Path], context: Context, location: Location
    ) -> Iterator[tuple[Path, Target]]:
        """Yield the schemas of elements that each value of a place, or a part of it, must satisfy."""
        positions = context.dialect.positions
        for path in elements:
            keyword = str(path[0])
            value, how = schema[keyword], positions.get(keyword, "")
            found: Target | None = None
            if path == ("$ref",) and isinstance(value, str):
                found = self.lowering.references.resolve("$ref", value, context, location)
            elif keyword in _CHOICES and isinstance(value, list) and len(value) == 1:
                found = Target(value[0], context, (location, keyword, 0))
            elif keyword in _TESTS or keyword in _CHOICES:
                continue
            elif len(path) == 1 and how.startswith("schema"):
                found = Target(value, context, (location, keyword))
            elif len(path) > 1 and how:
                found = Target(value[path[1]], context, (location, *path[:2]))
            if found is not None and isinstance(found.schema, dict):
                yield path, found


def _parts(schema: dict[str, Any], context: Context, location: Location) -> Iterator[tuple[str, Target]]:
    """Yield the schemas directly below a schema that do not only test or define, each with its keyword."""
    for keyword, value in schema.items():
        how = context.dialect.positions.get(keyword, "")
        parts: Iterable[tuple[Path, Any]] = ()
        if isinstance(value, dict) and how.startswith("map"):
            parts = (((name,), part) for name, part in value.items())
        elif isinstance(value, list) and "schemas" in how:
            parts = (((i,), part) for i, part in enumerate(value))
        elif how.startswith("schema"):
            parts = (((), value),)
        if keyword not in _TESTS and keyword not in _DEFINING:
            for path, part in parts:
                if isinstance(part, dict) and part.keys() != {"not"}:
                    yield keyword, Target(part, context, (location, keyword, *path))


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
    """Return the keywords of elements, without ``type`` beside keywords that concern values of one type only."""
    named = dict.fromkeys(path if len(path) % 2 else path[:-1] for path in kept)
    others = [path for path in named if path[-1] != "type"]
    shown = others if others and not any(path[-1] in _OF_EVERY_TYPE for path in others) else named
    return ["/".join(map(str, path)) for path in shown]
