"""JSON Schema, draft 2020-12, word by word: a plain recursive validator over parsed values, for comparison.

A value is None, a bool, a `Number` (exact, with its spelling), a str, a list, or a dict of such. `Validator` judges values; it knows all
keywords of the core, applicator, unevaluated and validation vocabularies, references by pointer, anchor, identifier and dynamic scope,
and `format` where it is given functions. Everything is recomputed at each place and nothing is fast.

Not covered: other drafts, custom vocabularies, and what ``$schema`` says.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias
from urllib.parse import unquote, urldefrag, urljoin

from tests.schema.oracle_ecma import search

__all__ = ["Number", "Undefined", "Validator", "equal", "lifted"]

Value: TypeAlias = Any

# Keywords whose value is a schema; a list of schemas; schemas by name.
ONE = (
    "additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip
SEVERAL = ("allOf", "anyOf", "oneOf", "prefixItems")
NAMED = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")


class Undefined(Exception):
    """The specification gives this schema no meaning: a reference that leads nowhere, or to itself and nothing else."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number by value and by spelling."""

    value: Fraction
    text: str

    @classmethod
    def of(cls, text: str) -> "Number":
        return cls(Fraction(text), text)


def lifted(value: Any) -> Value:
    """A value as `json.loads` gives it, as a value of the oracle."""
    if isinstance(value, bool) or value is None or isinstance(value, str | Number):
        return value
    if isinstance(value, int | float | Decimal):
        return Number.of(str(value))
    if isinstance(value, list | tuple):
        return [lifted(item) for item in value]
    return {name: lifted(item) for name, item in value.items()}


def equal(left: Value, right: Value) -> bool:
    """Equality of JSON: numbers by value, members without order."""
    if isinstance(left, Number) and isinstance(right, Number):
        return left.value == right.value
    if type(left) is not type(right):
        return False
    if isinstance(left, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(equal(left[name], right[name]) for name in left)
    return bool(left == right)


@dataclass(slots=True)
class _Result:
    """Whether a value is valid, and which of its members and items the schema looked at."""

    valid: bool
    names: set[str]
    places: set[int]


@dataclass(frozen=True, slots=True)
class _Place:
    """A schema and the base of its references."""

    schema: Any
    base: str


def _subschemas(schema: Any) -> Iterator[Any]:
    for key in ONE:
        if key in schema:
            yield schema[key]
    for key in SEVERAL:
        if isinstance(schema.get(key), list):
            yield from schema[key]
    for key in NAMED:
        if isinstance(schema.get(key), dict):
            yield from schema[key].values()


class Validator:
    """One schema with the documents that it may refer to.

    Parameters
    ----------
    schema : bool or dict
    registry : mapping of str to schema
        Documents by URI.
    formats : callable of (name, text), or None
        Whether a string has a format; None: formats are annotations.
    """

    def __init__(
        self,
        schema: Any,
        registry: Mapping[str, Any] | None = None,
        formats: Callable[[str, str], bool] | None = None,
    ) -> None:
        self.root, self.formats = schema, formats
        self.resources: dict[str, Any] = {}
        self.anchors: dict[tuple[str, str], Any] = {}
        self.dynamic: dict[tuple[str, str], Any] = {}
        self.bases: dict[int, str] = {}
        for uri, document in (registry or {}).items():
            self._collect(document, uri)
        self._collect(schema, "")

    def is_valid(self, value: Value) -> bool:
        """Whether the schema allows the value."""
        return self._evaluate(_Place(self.root, ""), value, (), frozenset()).valid

    # ------------------------------------------------------------------------------------------------- references

    def _collect(self, schema: Any, base: str) -> None:
        self.resources.setdefault(base, schema)
        if not isinstance(schema, dict):
            return
        base = self._base(schema, base)
        self.bases.setdefault(id(schema), base)
        self.resources.setdefault(base, schema)
        for key, table in (
            ("$anchor", self.anchors),
            ("$dynamicAnchor", self.anchors),
            ("$dynamicAnchor", self.dynamic),
        ):
            if isinstance(schema.get(key), str):
                table.setdefault((base, schema[key]), schema)
        for below in _subschemas(schema):
            self._collect(below, base)

    def _base(self, schema: Any, base: str) -> str:
        """The base of a schema's references, where that of what holds it is known."""
        if id(schema) in self.bases:
            return self.bases[id(schema)]
        if isinstance(schema, dict) and isinstance(schema.get("$id"), str):
            return _joined(base, schema["$id"])[0]
        return base

    def _resolve(self, reference: str, base: str) -> _Place:
        uri, fragment = _joined(base, reference)
        if uri not in self.resources:
            raise Undefined(f"nothing is known of {uri}")
        here = self.resources[uri]
        if not fragment.startswith("/") and fragment:
            found = self.anchors.get((self._base(here, uri), fragment))
            if found is None:
                raise Undefined(f"no anchor {fragment}")
            return _Place(found, uri)
        base = uri
        for part in fragment.split("/")[1:]:
            part = unquote(part).replace("~1", "/").replace("~0", "~")
            base = self._base(here, base)
            try:
                here = here[int(part)] if isinstance(here, list) else here[part]
            except (KeyError, IndexError, ValueError, TypeError) as error:
                raise Undefined(f"{reference} leads nowhere") from error
        return _Place(here, base)

    def _resolve_dynamic(self, reference: str, base: str, scope: tuple[str, ...]) -> _Place:
        found = self._resolve(reference, base)
        uri, fragment = _joined(base, reference)
        if (self._base(self.resources[uri], uri), fragment) in self.dynamic:
            for outer in scope:
                if (outer, fragment) in self.dynamic:
                    return _Place(self.dynamic[outer, fragment], outer)
        return found

    # ------------------------------------------------------------------------------------------------- evaluation

    def _evaluate(self, place: _Place, value: Value, scope: tuple[str, ...], busy: frozenset[Any]) -> _Result:
        schema = place.schema
        if isinstance(schema, bool):
            return _Result(schema, set(), set())
        if not isinstance(schema, dict):
            raise Undefined(f"{schema!r:.60} is no schema")
        base = self._base(schema, place.base)
        if (id(schema), id(value)) in busy:
            raise Undefined("a schema that refers to itself and nothing else")
        return _Evaluation(self, schema, base, value, (*scope, base), busy | {(id(schema), id(value))}).result()


class _Evaluation:
    """One schema object against one value."""

    def __init__(
        self, validator: Validator, schema: dict[str, Any], base: str, value: Value, scope: tuple[str, ...], busy: Any
    ) -> None:
        self.validator, self.schema, self.base, self.value, self.scope, self.busy = (
            validator, schema, base, value, scope, busy,
        )  # fmt: skip
        self.names: set[str] = set()
        self.places: set[int] = set()

    def result(self) -> _Result:
        # Why a list and not all() over a generator: annotations of every keyword are wanted.
        checks = [self._in_place(), self._general(), self._by_type()]
        checks.append(self._unevaluated())
        valid = all(checks)
        return _Result(valid, self.names if valid else set(), self.places if valid else set())

    def _below(self, schema: Any, value: Value) -> bool:
        """Of a member, an item or a name: another value, whose annotations are its own."""
        return self.validator._evaluate(_Place(schema, self.base), value, self.scope, frozenset()).valid

    def _same(self, place: _Place) -> bool:
        """Of this value: what it looked at counts, if it holds."""
        found = self.validator._evaluate(place, self.value, self.scope, self.busy)
        if found.valid:
            self.names |= found.names
            self.places |= found.places
        return found.valid

    def _here(self, schema: Any) -> bool:
        return self._same(_Place(schema, self.base))

    def _in_place(self) -> bool:
        schema, checks = self.schema, [True]
        if "$ref" in schema:
            checks.append(self._same(self.validator._resolve(schema["$ref"], self.base)))
        if "$dynamicRef" in schema:
            checks.append(self._same(self.validator._resolve_dynamic(schema["$dynamicRef"], self.base, self.scope)))
        for key in ("allOf", "anyOf", "oneOf"):
            if key in schema:
                # Why all of them first: each that holds leaves its annotations.
                held = [self._here(each) for each in schema[key]].count(True)
                checks.append(held == len(schema[key]) if key == "allOf" else held == 1 if key == "oneOf" else held > 0)
        if "not" in schema:
            place = _Place(schema["not"], self.base)
            checks.append(not self.validator._evaluate(place, self.value, self.scope, self.busy).valid)
        if "if" in schema:
            branch = "then" if self._here(schema["if"]) else "else"
            checks.append(branch not in schema or self._here(schema[branch]))
        if isinstance(self.value, dict):
            for name, each in schema.get("dependentSchemas", {}).items():
                checks.append(name not in self.value or self._here(each))
        return all(checks)

    def _general(self) -> bool:
        schema, value = self.schema, self.value
        if "type" in schema:
            types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
            if not any(self._is(each) for each in types):
                return False
        if "enum" in schema and not any(equal(value, lifted(each)) for each in schema["enum"]):
            return False
        return "const" not in schema or equal(value, lifted(schema["const"]))

    def _is(self, name: str) -> bool:
        value = self.value
        match name:
            case "null":
                return value is None
            case "boolean":
                return isinstance(value, bool)
            case "integer":
                return isinstance(value, Number) and value.value.denominator == 1
            case "number":
                return isinstance(value, Number)
            case "string":
                return isinstance(value, str)
            case "array":
                return isinstance(value, list)
            case "object":
                return isinstance(value, dict)
        raise Undefined(f"no type {name!r}")

    def _by_type(self) -> bool:
        match self.value:
            case Number():
                return self._number(self.value.value)
            case str():
                return self._string(self.value)
            case list():
                return self._array(self.value)
            case dict():
                return self._object(self.value)
        return True

    def _number(self, value: Fraction) -> bool:
        bounds: dict[str, Callable[[Fraction], bool]] = {
            "minimum": lambda bound: value >= bound,
            "maximum": lambda bound: value <= bound,
            "exclusiveMinimum": lambda bound: value > bound,
            "exclusiveMaximum": lambda bound: value < bound,
            "multipleOf": lambda divisor: (value / divisor).denominator == 1,
        }
        return all(check(lifted(self.schema[key]).value) for key, check in bounds.items() if key in self.schema)

    def _string(self, value: str) -> bool:
        schema = self.schema
        if not _within(len(value), schema.get("minLength", 0), schema.get("maxLength")):
            return False
        if "pattern" in schema and not search(schema["pattern"], value):
            return False
        formats = self.validator.formats
        return formats is None or "format" not in schema or formats(schema["format"], value)

    def _array(self, value: list[Value]) -> bool:
        schema, valid = self.schema, True
        if not _within(len(value), schema.get("minItems", 0), schema.get("maxItems")):
            valid = False
        if schema.get("uniqueItems") and any(equal(a, b) for i, a in enumerate(value) for b in value[:i]):
            valid = False
        prefix = schema.get("prefixItems", [])
        for place, (each, item) in enumerate(zip(prefix, value, strict=False)):
            self.places.add(place)
            valid &= self._below(each, item)
        if "items" in schema:
            for place in range(len(prefix), len(value)):
                self.places.add(place)
                valid &= self._below(schema["items"], value[place])
        if "contains" in schema:
            holding = {place for place, item in enumerate(value) if self._below(schema["contains"], item)}
            self.places |= holding
            valid &= _within(len(holding), schema.get("minContains", 1), schema.get("maxContains"))
        return valid

    def _object(self, value: dict[str, Value]) -> bool:
        schema, valid = self.schema, True
        if not _within(len(value), schema.get("minProperties", 0), schema.get("maxProperties")):
            valid = False
        valid &= all(name in value for name in schema.get("required", []))
        for name, needed in schema.get("dependentRequired", {}).items():
            valid &= name not in value or all(each in value for each in needed)
        if "propertyNames" in schema:
            valid &= all(self._below(schema["propertyNames"], name) for name in value)
        for name, member in value.items():
            known = False
            if name in schema.get("properties", {}):
                known = True
                valid &= self._below(schema["properties"][name], member)
            for pattern, each in schema.get("patternProperties", {}).items():
                if search(pattern, name):
                    known = True
                    valid &= self._below(each, member)
            if not known and "additionalProperties" in schema:
                known = True
                valid &= self._below(schema["additionalProperties"], member)
            if known:
                self.names.add(name)
        return valid

    def _unevaluated(self) -> bool:
        schema, value, valid = self.schema, self.value, True
        if "unevaluatedProperties" in schema and isinstance(value, dict):
            for name in value.keys() - self.names:
                valid &= self._below(schema["unevaluatedProperties"], value[name])
            self.names |= value.keys()
        if "unevaluatedItems" in schema and isinstance(value, list):
            for place in set(range(len(value))) - self.places:
                valid &= self._below(schema["unevaluatedItems"], value[place])
            self.places |= set(range(len(value)))
        return valid


def _joined(base: str, reference: str) -> tuple[str, str]:
    """The URI and the fragment that a reference means. Why not urljoin alone: it knows no URNs."""
    uri, fragment = urldefrag(base + reference if reference.startswith("#") else urljoin(base, reference))
    return uri, fragment


def _within(count: int, least: Any, most: Any) -> bool:
    return count >= lifted(least).value and (most is None or count <= lifted(most).value)
