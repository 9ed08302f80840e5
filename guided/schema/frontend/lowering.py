"""Lower JSON Schema to formulas, lazily: a subschema becomes a formula when a value it applies to is reached.

`Lowering.root` is the formula of the whole value. A subschema that applies to a *part* of a value (below ``properties``, ``items``,
``contains``) becomes the atom ``("schema", key)`` until `expand` is called, if a reference leads to it or much has been lowered already.
The first few are lowered at once. Subschemas that apply to the *same* value (below ``allOf``, ``not``, behind ``$ref``) are lowered in
place, so a formula contains all constraints on its value. Only past a nesting depth do they become such an atom too, which
`guided.schema.values.restrict` expands.

Keys are small ints in order of discovery: the same schema gives the same keys. Equal subschemas give equal formulas where they are
lowered at once, and a referenced schema has one key.

Complexity: each schema is lowered once, in time linear in its keywords; recursion depth is bounded by a constant.
Not handled here: the texts that spell a value, and whether a formula is satisfiable.
"""

from collections.abc import Collection, Mapping
from functools import cached_property
from itertools import islice
from typing import Any
from urllib.parse import quote

from guided.automata.pushdown import PER_CONTROL
from guided.automata.steps import Steps
from guided.errors import ROOT, LimitError, SchemaError, shown
from guided.limits import Limits
from guided.schema.formula.atoms import CAPS, NO_CAPS, JsonOptions
from guided.schema.formula.formulas import FALSE, TRUE, Atom, Formulas
from guided.schema.frontend.dialect import Dialect
from guided.schema.frontend.json_values import check_levels
from guided.schema.frontend.keywords.caps import cap
from guided.schema.frontend.keywords.enumerations import constant
from guided.schema.frontend.keywords.unevaluated import close
from guided.schema.frontend.location import Location, loop, pointer_of
from guided.schema.frontend.meetings import Meetings
from guided.schema.frontend.misspellings import drafts_with, is_private, known_keywords, meant, plain_keywords
from guided.schema.frontend.names import Names
from guided.schema.frontend.references import References
from guided.schema.frontend.resources import Context, Target
from guided.schema.frontend.site import Site
from guided.schema.strings.overlay import canonical_body, has_one_body

__all__ = ["Lowering"]

# Nesting of schemas being lowered beyond which an atom replaces the next one: for a part of the value, and for the same value. Python's
# # stack holds about a thousand frames, and each schema takes five.
_DEEPEST_PART = 16
_DEEPEST = 32
# Subschemas of parts that are lowered together with their parent: all of a typical schema, and 0.2 ms of a large one.
_AT_ONCE = 64
# Most states of an automaton for all spellings of a character: four bytes, or two escapes of six that share a backslash with others.
_STATES_OF_CHARACTER = 16
# Limits that every schema was already checked against when it was compiled.
_LIMITS = Limits()
# Most names that a note lists.
_NAMED_IN_NOTES = 10
_SHORT_LIST = 32
_STRING = frozenset({str})
_BOUNDS = ("minimum", "maximum", "equals")
# Places of numbers that are compared at least: all those of a double.
_PLACES = 400
# See `guided.schema.numbers.automaton`.
_NARROWED = (
    "numbers='any': a number with an exponent has one digit before the point, not 0 (3e1, not 30e0 or 0.3e2), and of integers and "
    "multiples at most 17 digits with no 0 at the end, where numbers are compared or divided"
)
# Most unknown keywords that are compared with the known ones.
_COMPARED = 1000


class Lowering:
    """The formulas of one schema. Grows as subschemas are expanded; not thread-safe.

    Parameters
    ----------
    schema : dict or bool
        The schema as parsed JSON; numbers as int, float or Decimal. Must not be changed afterwards.
    options : JsonOptions
    formulas : Formulas
        The table that receives the formulas.
    limits : Limits
        ``reference_depth`` bounds the nesting of schemas that apply to the same value.
    registry : Mapping of str to schema, optional
        Documents by URI, for references.
    pointer : str
        JSON Pointer to the subschema of the whole value, if not the whole ``schema``.

    Attributes
    ----------
    root : int
        Formula of the whole value.
    sequence : dict of int to int
        Id of each ``properties`` and ``required`` atom -> its position in the schema's text.
    long_lists : dict of int to tuple
        Location of each atom of strings that are so long together that their automaton may be too large (`SchemaContext.check_sizes`).
    origins : dict of int to tuple
        Location of the first occurrence of some atoms: of minimum counts and ``uniqueItems`` that of the schema, of ``properties``,
        ``required`` and ``multipleOf`` that of the keyword.
    constants : dict of int to (list or dict, int)
        The arrays and objects of ``enum`` and ``const`` and their formulas, by their identity.
    types : dict of (str, int) to (int, frozenset of str)
        Formula and types of each type name in the drafts of a year; filled on first use.
    nested : int
        Current nesting of schemas being lowered.
    pattern_steps : Steps
        Steps of reading all patterns, each once, and of the automata that were built to check them.
    unenforced : dict of (str, str)
        The pairs of pointer and keyword recorded so far instead of being enforced.
    unknown_formats : dict
        Unknown formats in order of discovery, where formats are asserted.
    misspelled : dict of (str, str) to str
        JSON Pointer and name of each unknown keyword that looks misspelled -> the likely intended keyword.

    Raises
    ------
    SchemaError
        The schema is malformed or cannot be enforced. `expand` and `check` raise for subschemas not lowered here.
    LimitError
        It exceeds the limit on nesting, or its numbers are too long.
    """

    def __init__(
        self,
        schema: Any,
        options: JsonOptions,
        formulas: Formulas,
        limits: Limits,
        registry: Mapping[str, Any] | None = None,
        pointer: str = "",
    ) -> None:
        self.options = options
        self.formulas = formulas
        self.limits = limits
        formulas.steps.limit = limits.call_steps
        if (limits.schema_depth, limits.schema_parts) != (_LIMITS.schema_depth, _LIMITS.schema_parts):
            check_levels(schema, limits)
        self.sequence: dict[int, int] = {}
        self.long_lists: dict[int, Location] = {}
        self.origins: dict[int, Location] = {}
        self.references = References(
            schema, registry or {}, narrows=not options.additional_properties or options.caps != NO_CAPS
        )
        self._caps = options.caps if options.caps != NO_CAPS else None
        self._capped: dict[str, dict[Location, None]] = {}
        self.unenforced: dict[tuple[str, str], None] = {}
        self._n_recorded = 0
        self.unknown_formats: dict[str, None] = {}
        self.misspelled: dict[tuple[str, str], str] = {}
        self._excludes_exponents = False
        # By unknown keyword: the likely intended one.
        self._intended: dict[tuple[str, Dialect], str | None] = {}
        # Schema, context, location, depth, and whether it applies to a part of a value whose objects are closed.
        self._places: list[tuple[Any, Context | None, Location, int, bool]] = []
        self._keys: dict[tuple[Any, ...], int] = {}
        self._expanded: dict[int, int] = {}
        # Keys being lowered, each with the depth of its value within the value that lowering began with.
        self._active: dict[int, int] = {}
        self._parts = 0
        self._flat: dict[tuple[Any, ...], int] = {}
        self._inside: dict[tuple[int, int], int] = {}
        self._referred: dict[tuple[int, int], int] = {}
        self.constants: dict[int, tuple[Any, int]] = {}
        self.types: dict[tuple[str, int], tuple[int, frozenset[str]]] = {}
        self.nested = 0
        self.pattern_steps = Steps(limits.steps)
        self._room = _AT_ONCE
        self.root = self.at(pointer)

    def at(self, pointer: str) -> int:
        """Return the formula of the subschema at a JSON Pointer.

        Raises
        ------
        SchemaError, LimitError
            As the constructor.
        """
        root = self.references.root
        target = Target(root.resource.schema, root, root.resource.location)
        if pointer:
            target = self.references.resolve("$ref", f"#{quote(pointer)}", root, target.location)
        target = self._followed(target)
        found = self._later(target.schema, target.context, target.location)
        node = self.formulas.nodes[found]
        if node[0] == "schema":
            self.expand(node[1])
        return found

    @property
    def notes(self) -> tuple[str, ...]:
        """Behavior that a user might not expect.

        Unknown names without effect (formats, drafts in ``$schema``, misspelled keywords), caps, and excluded spellings of numbers.
        """
        formats, drafts = list(self.unknown_formats), list(self.references.unknown_drafts)
        found = [f"unknown formats are annotations: {_listed(formats)}"] if formats else []
        if drafts:
            found.append(f"unknown $schema, ignored: {_listed(drafts)}")
        misspelled = list(self.misspelled.items())
        found += [
            f"unknown keyword {shown(keyword)} at {pointer or ROOT} has no effect: is {intended!r} meant?"
            for (pointer, keyword), intended in misspelled[:_NAMED_IN_NOTES]
        ]
        if len(misspelled) > _NAMED_IN_NOTES:
            found.append(f"{len(misspelled) - _NAMED_IN_NOTES:,} more unknown keywords look misspelled")
        for name in CAPS:
            if name in self._capped:
                most = getattr(self.options.caps, name)
                found.append(f"{name}={most:,} bounds the values at {_places(self._capped[name])}")
        if self._excludes_exponents:
            found.append(_NARROWED)
        return tuple(found)

    def pointer(self, key: int) -> str:
        """Return the JSON Pointer to the first occurrence of a key's subschema; in another document, after its URI and ``#``."""
        return pointer_of(self._places[key][2])

    def location(self, key: int) -> Location:
        """Return the location that `pointer` spells."""
        return self._places[key][2]

    def expand(self, key: int) -> int:
        """Return the formula of the subschema behind an atom ``("schema", key)``.

        It contains no such atom about the same value, unless schemas nest very deep.

        Raises
        ------
        SchemaError, LimitError
            As the constructor.
        """
        found = self._expanded.get(key)
        if found is None:
            schema, context, location, depth, closes = self._places[key]
            if context is None:
                found = constant(self, schema, location, 0)
            else:
                self._active[key] = self._parts
                self._room = self._room if self.nested else _AT_ONCE
                try:
                    found = self._lower(schema, context, location, depth, closes)
                finally:
                    del self._active[key]
            self._expanded[key] = found
        return found

    def check(self) -> None:
        """Lower everything reachable, so that no error is left for later, and check all names of objects (`Names.check`).

        Raises
        ------
        SchemaError, LimitError
            As the constructor.
        """
        key = 0
        while key < len(self._places):
            self.expand(key)
            key += 1
        # Why now: later formulas are of the machine.
        self._excludes_exponents = self.options.numbers == "any" and any(map(_excludes_exponents, self.formulas.nodes))
        compared = [
            atom
            for atom, node in enumerate(self.formulas.nodes)
            if node[0] == "propertyNames" or (node[0] == "properties" and node[2])
        ]
        if compared:
            Names(self.formulas, self.meetings, self.origins, self.options, self.limits).check(self.root, compared)

    @cached_property
    def places(self) -> int:
        """The places before and after the point in which numbers of a text are compared.

        So many that numbers of all these places are left in each range of the schema, however many numbers of more places are ruled out.
        """
        numbers = [node for node in self.formulas.nodes if node[0] in (*_BOUNDS, "multipleOf")]
        digits = [(kind, max(len(f"{part:x}") for part in value.as_integer_ratio())) for kind, value, *_ in numbers]
        # Why a sum: what is a multiple of several numbers is one of their product.
        product = sum(count for kind, count in digits if kind == "multipleOf")
        # Why more: without exponents a number of many places is a long text.
        least = _PLACES if self.options.numbers == "any" else self.limits.digits
        return max(least, 2 * (max((count for _, count in digits), default=0) + product))

    @property
    def meetings(self) -> Meetings:
        """Which formulas may be about the same value."""
        return Meetings(self.formulas, self.expand, self.limits)

    def strings(self, texts: list[str], location: Location) -> int:
        """Return the atom of listed strings."""
        listed = tuple(sorted(set(texts)))
        found = self.formulas.atom(("strings", listed))
        most = self.limits.growth_bytes * 3 // (4 * PER_CONTROL)
        size = sum(map(len, listed)) * _STATES_OF_CHARACTER
        if size > most and has_one_body(listed, self.options.escapes):
            size = sum(len(canonical_body(text)) for text in listed)
        if size > most:
            self.long_lists.setdefault(found, location)
        return found

    def note_cap(self, name: str, location: Location) -> None:
        """Record that a cap bounds the values of a schema, for `notes`."""
        self._capped.setdefault(name, {})[location] = None
        self._n_recorded += 1

    def refuse(self, reason: str, location: Location, keyword: str) -> None:
        """Record a keyword that cannot be enforced, or raise, depending on the options."""
        pointer = pointer_of(location)
        if self.options.unsupported != "record":
            raise SchemaError(reason, pointer, keyword)
        self.unenforced[pointer, keyword] = None
        self._n_recorded += 1

    def _take_notes(self, schema: dict[str, Any], context: Context, location: Location) -> None:
        """Record notes about a schema's keywords; under ``strict_keywords``, reject unknown ones.

        Raises
        ------
        SchemaError
            A keyword is unknown, under ``strict_keywords``.
        """
        dialect = context.dialect
        known = known_keywords(dialect)
        if known.issuperset(schema) or ("$ref" in schema and dialect.reference_stands_alone):
            return
        for keyword in schema:
            if keyword in known or not isinstance(keyword, str) or is_private(keyword):
                continue
            name = keyword, dialect
            if name not in self._intended:
                self._intended[name] = meant(keyword, dialect) if len(self._intended) < _COMPARED else None
            intended = self._intended[name]
            if self.options.strict_keywords:
                drafts = drafts_with(keyword)
                reason = (
                    f"unknown keyword; is {intended!r} meant?"
                    if intended is not None
                    else f"a keyword of {drafts[-1]}, not of {dialect.name}"
                    if drafts
                    else "unknown keyword; an annotation of your own has the prefix x-"
                )
                raise SchemaError(reason, pointer_of(location), keyword)
            if intended is not None:
                self.misspelled[pointer_of(location), keyword] = intended

    def below(self, schema: Any, context: Context, location: Location) -> int:
        """Return the formula of a subschema about a part of the value, or an atom for it."""
        if schema is True:
            return TRUE
        if isinstance(schema, dict) and "$ref" in schema:
            target = self._followed(Target(schema, context, location))
            if target.schema is not schema:
                return self._later(target.schema, target.context, target.location)
        quick = self._quick(schema, context, location)
        if quick is not None:
            return quick
        if self._room <= 0 or self.nested >= _DEEPEST_PART:
            return self.formulas.atom(("schema", self._key(schema, context, location, 0, context.narrows)))
        self._room -= 1
        self._parts += 1
        try:
            return self._lower(schema, self.references.entered(schema, context, location), location, 0, context.narrows)
        finally:
            self._parts -= 1

    def _later(self, schema: Any, context: Context, location: Location) -> int:
        """Return an atom for a schema, or its formula if that is quick to compute."""
        # PERF: many references lead to the same schema (`python -m benchmarks.first_mask`).
        place = (id(schema), id(context))
        found = self._referred.get(place)
        if found is None:
            found = self._quick(schema, context, location)
            if found is None:
                found = self.formulas.atom(("schema", self._key(schema, context, location, 0, context.narrows)))
            self._referred[place] = found
        return found

    def inside(self, schema: Any, context: Context, location: Location, depth: int) -> int:
        """Return the formula of a subschema about the same value as its parent, ``depth`` such levels down."""
        if isinstance(schema, bool):
            return TRUE if schema else FALSE
        if not isinstance(schema, dict):
            raise _no_schema(schema, location)
        if depth > self.limits.reference_depth:
            raise LimitError(
                "reference_depth", depth, self.limits.reference_depth, "nested subschemas that apply to the same value"
            )
        # Why: one dict may occur in many places (in Python, or as a YAML alias), and occurrences double at every level.
        place = (id(schema), id(context))
        found = self._inside.get(place)
        if found is None:
            entered = self.references.entered(schema, context, location)
            self._take_notes(schema, entered, location)
            if self.nested >= _DEEPEST:
                return self.formulas.atom(("schema", self._key(schema, context, location, depth)))
            found = self._inside[place] = self._lower(schema, entered, location, depth)
        return found

    def referred(self, keyword: str, reference: str, context: Context, location: Location, depth: int) -> int:
        """Return the formula of a reference's target, about the same value."""
        target = self._followed(self.references.resolve(keyword, reference, context, location))
        quick = self._quick(target.schema, target.context, target.location)
        if quick is not None:
            return quick
        if depth > self.limits.reference_depth:
            raise LimitError(
                "reference_depth", depth, self.limits.reference_depth, "too many references in a row for the same value"
            )
        key = self._key(target.schema, target.context, target.location, depth)
        if self._active.get(key) == self._parts:
            raise loop(location)
        if key in self._active or (self.nested >= _DEEPEST and key not in self._expanded):
            return self.formulas.atom(("schema", key))
        return self.expand(key)

    def constant_later(self, value: Any, location: Location) -> int:
        """Return an atom for the values equal to a constant."""
        key = len(self._places)
        self._places.append((value, None, location, 0, False))
        return self.formulas.atom(("schema", key))

    def _followed(self, target: Target) -> Target:
        """Follow references without sibling keywords to their final target."""
        seen: set[tuple[int, int]] = set()
        while isinstance(target.schema, dict) and "$ref" in target.schema:
            schema, location = target.schema, target.location
            context = self.references.entered(schema, target.context, location)
            self._take_notes(schema, context, location)
            reference, dialect = schema["$ref"], context.dialect
            if not isinstance(reference, str) or "$ref" not in dialect.handlers:
                break
            has_more = len(schema) > 1 and not dialect.reference_stands_alone
            if has_more and any(keyword in dialect.handlers for keyword in schema if keyword != "$ref"):
                break
            place = (id(schema), id(context))
            if place in seen:
                raise loop(location)
            seen.add(place)
            target = self.references.resolve("$ref", reference, context, location)
        return target

    def _quick(self, schema: Any, context: Context, location: Location) -> int | None:
        """Return the formula of a schema without subschemas, shared by equal ones; None for any other schema."""
        if isinstance(schema, bool):
            return TRUE if schema else FALSE
        if not isinstance(schema, dict):
            raise _no_schema(schema, location)
        # PERF: so it is for nearly all schemas (`python -m benchmarks.first_mask`).
        if not plain_keywords(context.dialect).issuperset(schema):
            context = self.references.entered(schema, context, location)
            self._take_notes(schema, context, location)
        handlers, companions = context.dialect.handlers, context.dialect.companions
        content: list[Any] = [context.dialect, context.narrows]
        for keyword, value in schema.items():
            if keyword not in handlers and keyword not in companions:
                continue
            kind = type(value)
            if kind is str or kind is int:
                content += (keyword, value)
            elif kind is bool or kind is float:
                content += (keyword, kind, value)
            elif kind is list and len(value) <= _SHORT_LIST and _STRING.issuperset(map(type, value)):
                content += (keyword, tuple(value))
            else:
                return None
        if len(content) == 2:
            return TRUE
        if "$ref" in schema or "$dynamicRef" in schema or "$recursiveRef" in schema:
            return None
        memo = tuple(content)
        found = self._flat.get(memo)
        if found is None:
            recorded = self._n_recorded
            found = self._lower(schema, context, location, 0)
            if self._n_recorded == recorded:  # Why: recorded keywords and caps must be recorded each time
                self._flat[memo] = found
        return found

    def _key(
        self, schema: dict[str, Any], context: Context, location: Location, depth: int, closes: bool = False
    ) -> int:
        context = self.references.entered(schema, context, location)
        identity = (id(schema), id(context), closes)
        key = self._keys.get(identity)
        if key is None:
            key = self._keys[identity] = len(self._places)
            self._places.append((schema, context, location, depth, closes))
        return key

    def _lower(
        self, schema: dict[str, Any], context: Context, location: Location, depth: int, closes: bool = False
    ) -> int:
        """Return the formula of a schema whose notes have been taken."""
        site = Site(self, schema, context, location, depth)
        dialect = context.dialect
        handlers = dialect.handlers
        if "$ref" in schema and dialect.reference_stands_alone:
            schema = {"$ref": schema["$ref"]}
        self.nested += 1
        try:
            for keyword, value in schema.items():
                handler = handlers.get(keyword)
                if handler is not None:
                    handler(site, value)
            if self._caps is not None and context.narrows:
                cap(site)
            if closes and not self.options.additional_properties:
                close(site)
        finally:
            self.nested -= 1
        formulas, values, types = self.formulas, site.values, site.types
        if site.objects and (types is None or "object" in types):
            values.append(_typed(formulas, "object", site.objects))
        if site.strings and (types is None or "string" in types):
            values.append(_typed(formulas, "string", site.strings))
        if site.arrays and (types is None or "array" in types):
            values.append(_typed(formulas, "array", site.arrays))
        if site.numbers and (types is None or "number" in types):
            values.append(_typed(formulas, "number", site.numbers))
        return values[0] if len(values) == 1 else formulas.conjunction(values)


def _typed(formulas: Formulas, name: str, members: list[int]) -> int:
    """Return the formula that a value of this type (number, string, array or object) satisfies all members."""
    formula = members[0] if len(members) == 1 else formulas.conjunction(members)
    if formula > TRUE:
        return formulas.atom((name, formula))
    return TRUE if formula else formulas.negation(formulas.atom(("type", name)))


def _listed(names: list[str]) -> str:
    more = f", and {len(names) - _NAMED_IN_NOTES:,} more" if len(names) > _NAMED_IN_NOTES else ""
    return ", ".join(map(shown, names[:_NAMED_IN_NOTES])) + more


def _places(locations: Collection[Location]) -> str:
    """Return the pointers to the first of some locations, and the number of the others."""
    more = f", and {len(locations) - _NAMED_IN_NOTES:,} more" if len(locations) > _NAMED_IN_NOTES else ""
    return _listed([pointer_of(location) or "/" for location in islice(locations, _NAMED_IN_NOTES)]) + more


def _excludes_exponents(node: Atom) -> bool:
    """Return whether an atom constrains numbers beyond their type and sign."""
    kind = node[0]
    return kind == "multipleOf" or node == ("integer", False) or (kind in _BOUNDS and node[1] != 0)


def _no_schema(value: object, location: Location) -> SchemaError:
    keyword = str(location[1]) if len(location) > 1 else "schema"
    return SchemaError(f"a schema must be an object, true or false, not {shown(value)}", pointer_of(location), keyword)
