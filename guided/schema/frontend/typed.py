"""Python types -> JSON Schema by pydantic, adjusted so that the schema allows what the type reads.

`schema_of` is ``TypeAdapter(...).json_schema(mode="validation")`` with these differences, which generation needs:

- objects of models, dataclasses and TypedDicts have no undeclared properties, unless the model allows them (``extra="allow"``);
- dates and times are those of Python: years 1 to 9999, no second 60, microseconds; seconds are optional, and the offset unless the type
  requires one;
- durations have at most six digits per unit; the version of a UUID and the scheme of a URL are enforced;
- a Decimal with bounds or digits is a number; without, a number or a string of one; a number has at most 15 digits, since pydantic reads a
  double; a float satisfies its bounds as a double, too;
- keys of a dict have the dict's key type; a tagged union requires its tag, or the constants of its branches if a function finds the tag;
- items of sets and keys have one text for each value, as far as case, offsets and trailing zeros go: else a type reads fewer;
- beside an Iterable in a union, a type reads no text, array or object as what it is;
- mail addresses are those of email_validator; bytes have the type's encoding;
- fields have no titles.

Constraints that JSON Schema cannot express (bounds of dates, ``Json[...]``) are listed with their location, to be refused. Validators
are code: they run when a value is read and do not affect the schema.
"""

import enum
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from decimal import Decimal
from fractions import Fraction
from itertools import compress
from math import copysign, inf, isfinite, nextafter
from typing import Any, cast

import pydantic
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, PydanticOmit  # type: ignore[attr-defined]

from guided.errors import PatternError, SchemaError, annotation_text, without_addresses
from guided.schema.formats.dates import CLOCK, DATE
from guided.schema.frontend.location import pointer_to
from guided.schema.frontend.type_patterns import WHITE_SPACE, type_pattern

__all__ = ["adapter_of", "schema_of", "shown_schema"]

_MARK = "\0unenforced"
# A union whose branches a function of the type tells apart.
_TAGGED = "\0tagged"
_TIME = rf"{CLOCK}(?::[0-5][0-9](?:\.[0-9]{{1,6}})?)?"
_OFFSET = f"(?:Z|[+-]{CLOCK})"
_N = "[0-9]{1,6}"
_DURATION = (
    rf"-?P(?:{_N}W|(?:{_N}Y(?:{_N}M)?(?:{_N}D)?|{_N}M(?:{_N}D)?|{_N}D)(?:T(?:{_N}H(?:{_N}M)?(?:{_N}S)?|{_N}M(?:{_N}S)?|{_N}S))?"
    rf"|T(?:{_N}H(?:{_N}M)?(?:{_N}S)?|{_N}M(?:{_N}S)?|{_N}S))"
)
# The same times and durations, each by one text: with seconds, in UTC, without zeros at an end.
_ONE_TIME = rf"{CLOCK}:[0-5][0-9](?:\.[0-9]{{0,5}}[1-9])?"
_TO_59 = "(?:[1-9]|[1-5][0-9])"
_ONE_DURATION = (
    rf"PT0S|-?P(?=.)(?:[1-9][0-9]{{0,5}}D)?(?:T(?=.)(?:(?:[1-9]|1[0-9]|2[0-3])H)?(?:{_TO_59}M)?(?:{_TO_59}S)?)?"
)
_DECIMAL = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?"
# Decimals are read as doubles, which tell those of 15 digits apart. After the point are four of them if the type has no number of places,
# and at most nine; all except one, where its bounds are below a size.
_DIGITS, _PLACES, _FINE_PLACES, _TINY = 15, 4, 9, 1e-6
# Finite floats are below. Each digit of a bound is a state of the automaton.
_FINITE = 1e60
# The least positive number of a float above 0: of 32 bits. Each zero before its digits is a state of the automaton.
_LEAST = 1e-45
# A multiple as a double must be closer than 1e-9 to one of the divisor as a double.
_MULTIPLES = 1e6
_UUID = re.compile("uuid([1-8])")
# URLs that the type's parser (https://url.spec.whatwg.org) accepts, among those of RFC 3986: the last label of a domain is not a
# number, unless the host is an IPv4 address; no label begins with "xn--"; a port is at most 65,535.
_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_HOST = (
    r"(?:(?:[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*\.)*[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*"
    rf"|(?:{_OCTET}\.){{3}}{_OCTET}|\[[0-9A-Fa-f:.]+\])"
)
_PORT = "(?::(?:6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[0-9]{1,4}))?"
_AUTHORITY = rf"//(?:[^/?#@]*@)?{_HOST}{_PORT}"
_SPECIAL = "(?i:https?|wss?|ftp)"
_REST = "(?:[/?#].*)?$"
_ANY_URL = (
    rf"^(?:{_SPECIAL}:{_AUTHORITY}{_REST}|(?i:file):///.*$"
    rf"|(?!{_SPECIAL}:|(?i:file):)[A-Za-z][A-Za-z0-9+.-]*:(?:{_AUTHORITY}{_REST}|///.*$|(?!//).*$))"
)
# Mail addresses that email_validator takes, of those of RFC 5321: no quotes, at least two labels, none with "--" behind two characters; the
# last one ends in a letter and is not reserved (RFC 6761).
_DOMAIN = r"@(?:(?!..--)[^@.]+\.)+(?!..--|(?i:arpa|invalid|local|localhost|onion|test)>?$)[^@.]*[A-Za-z]"
_EMAIL = {"type": "string", "format": "email", "pattern": f'^[^"]*{_DOMAIN}$'}
_WORD = "[A-Za-z0-9_.!#$%&'*+/=?^`{|}~-]"
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
# Why without points: before pydantic 2.14, a name with one needs quotes.
_NAME = _WORD.replace(".", "")
_LONG_NAME = rf'(?:{_NAME}+(?: {_NAME}+)*|"[A-Za-z0-9_ ,.!#$%&()*+/:;=?^`{{|}}~\'-]+")'
_ADDRESS = rf"{_WORD}{{1,64}}@{_LABEL}(?:\.{_LABEL})+"
_NAME_EMAIL = {
    "type": "string",
    "pattern": rf"^{_LONG_NAME} <(?!\.){_ADDRESS}>$",
    "allOf": [{"pattern": rf"^[^<]*<[^.@]+(?:\.[^.@]+)*{_DOMAIN}>$"}],
    "maxLength": 254,
}
# Bytes in base64, of either alphabet: characters, and the ends of last groups of no, one or two bytes.
_ALPHABETS = ("[A-Za-z0-9_-]", "[A-Za-z0-9+/]")
_ENDS = ("", "[AQgw]==", "[AEIMQUYcgkosw048]=")
# What a string type that changes case may change: upper and title case, capitals among numbers and symbols, and unassigned characters.
_CASED = {
    "to_lower": r"\p{Lu}\p{Lt}\p{Cn}\u2160-\u216f\u24b6-\u24cf",
    "to_upper": r"\p{Ll}\p{Lt}\p{Cn}\u0345\u2170-\u217f\u24d0-\u24e9",
}
# A number of bytes, with a unit in which an integer is one.
_BYTES = "(?:0|[1-9][0-9]{0,14}) ?(?:(?:[KMGTPEkmgtpe][Ii]?)?[Bb])?"
_FRACTION = "-?[0-9]{1,40}(?:/[1-9][0-9]{0,39})?"
# Of the patterns of ECMA-262 those that Python reads, too.
_PYTHON_REGEX = r"^(?:[^\\{(\[-]|\((?!\?)|\[(?!\^?\])|-(?!\\)|\\(?:[dDwWsS](?!-)|[bBnrtfv]|[^A-Za-z0-9]))*$"
# Functions of pydantic that check what no schema expresses, with the types that have them.
_CHECKS = {
    "validate_file": "FilePath",
    "validate_directory": "DirectoryPath",
    "validate_new": "NewPath",
    "validate_socket": "SocketPath",
    "pattern_bytes_validator": "Pattern[bytes]",
    "validate_str_is_valid_iana_tz": "ZoneInfo",
    "PaymentCardNumber.validate": "PaymentCardNumber",
}
_INTEGER = "0|-?[1-9][0-9]*"
# Texts that a type strips nothing from.
_STRIPPED = rf"^(?:[^{WHITE_SPACE}](?:[^]*[^{WHITE_SPACE}])?)?$"
_BOUNDS = ("gt", "ge", "lt", "le", "now_op")
_TIMES = ("date", "time", "datetime", "timedelta")
_NUMBER_BOUNDS = {
    "gt": "exclusiveMinimum",
    "ge": "minimum",
    "lt": "exclusiveMaximum",
    "le": "maximum",
    "multiple_of": "multipleOf",
}
_SIDES = (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum"))
_KINDS = ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (type(None), "null"))
_OF_STRINGS = ("minLength", "maxLength", "pattern")
# Functions of pydantic that read mail addresses, with what they read.
_MAIL: Mapping[str, JsonSchemaValue] = {
    "EmailStr._validate": _EMAIL,
    "NameEmail._validate": {"anyOf": [_EMAIL, _NAME_EMAIL]},
}
# Members of a union that are read as themselves behind an Iterable, and before it: pydantic iterates over other texts, arrays and objects.
_BEHIND_ITERABLES = ("generator", "none", "bool", "int", "float")
_BEFORE_ITERABLES = (*_BEHIND_ITERABLES, "literal", "uuid")
_WRAPPERS = ("function-after", "function-before", "function-wrap", "default", "nullable")
# Key types whose keys are spelled like string values of the type.
_STRING_KEYS = (
    "str",
    "any",
    "date",
    "datetime",
    "time",
    "timedelta",
    "uuid",
    "url",
    "definition-ref",
    "definitions",
    "json-or-python",
)
_FIELDS = ("model-field", "dataclass-field", "typed-dict-field")
# Names of pydantic's own types that no JSON Schema format describes.
_OTHER_FORMATS = frozenset({
    "base64", "base64url", "ipv4interface", "ipv4network", "ipv6interface", "ipv6network", "ipvanyaddress", "ipvanyinterface",
    "ipvanynetwork", "json-string", "multi-host-uri",
})  # fmt: skip


def adapter_of(annotation: Any) -> "pydantic.TypeAdapter[Any]":
    """Return pydantic's reader of a type.

    Raises
    ------
    SchemaError
        Pydantic does not know the type, or a name in it cannot be resolved.
    """
    if isinstance(annotation, pydantic.TypeAdapter):
        return annotation
    try:
        return pydantic.TypeAdapter(annotation)
    except Exception as error:  # Why: annotations and their hooks are evaluated, which can raise anything
        raise _refused(error, annotation) from error


def schema_of(adapter: "pydantic.TypeAdapter[Any]", annotation: Any) -> tuple[Any, tuple[tuple[str, str], ...]]:
    """Return the schema of a type, and (pointer, keyword) of each constraint that it does not express.

    Raises
    ------
    SchemaError
        The type has no JSON representation.
    """
    try:
        schema = adapter.json_schema(schema_generator=_Schemas, mode="validation")
    except (PatternError, SchemaError):
        raise
    except Exception as error:  # Why: as above
        raise _refused(error, annotation) from error
    return schema, _without_marks(schema)


def shown_schema(adapter: "pydantic.TypeAdapter[Any]") -> Any:
    """Return the schema of a type for models and people: dates, times and durations have the names of their formats."""
    schema = adapter.json_schema(schema_generator=_Shown, mode="validation")
    _without_marks(schema)
    return schema


def _refused(error: Exception, annotation: Any) -> SchemaError:
    name = annotation.__name__ if isinstance(annotation, type) else annotation_text(annotation)
    if isinstance(error, RecursionError):
        return SchemaError("the schema of the type exceeds Python's recursion limit (sys.setrecursionlimit)", "", name)
    reason = without_addresses(str(error)).partition("\n\n")[0].strip().removesuffix(".")
    return SchemaError(f"this type has no JSON Schema: {reason or type(error).__name__}", "", name)


def _without_marks(schema: Any) -> tuple[tuple[str, str], ...]:
    """Remove the marks from a schema; return (pointer, keyword) of each."""
    found: list[tuple[str, str]] = []
    work: list[tuple[str, Any]] = [("", schema)]
    while work:
        pointer, value = work.pop()
        if isinstance(value, dict):
            found.extend((pointer, keyword) for keyword in (*value.pop(_MARK, ()), *_inapplicable(value)))
            if value.pop(_TAGGED, False):
                value["anyOf"] = [_with_constants(branch, schema.get("$defs", {})) for branch in value["anyOf"]]
            work.extend((pointer + pointer_to(key), inner) for key, inner in reversed(value.items()))
        elif isinstance(value, list):
            work.extend((f"{pointer}/{place}", inner) for place, inner in reversed(list(enumerate(value))))
    return tuple(found)


def _inapplicable(schema: Mapping[str, Any]) -> list[str]:
    """Return the constraints that pydantic checks but describes by keywords which do not exist or do not apply."""
    kind = schema.get("type")
    if not isinstance(kind, str) and "anyOf" not in schema:
        return []
    names = [*_NUMBER_BOUNDS, *(_OF_STRINGS if kind in ("integer", "number", "boolean", "null") else ())]
    return [name for name in names if isinstance(schema.get(name), int | float | str | Decimal)]


def _with_constants(branch: JsonSchemaValue, definitions: Mapping[str, JsonSchemaValue]) -> JsonSchemaValue:
    """Return a branch of a union with the properties required that have one value: a function tells the branches apart by them."""
    inner = branch
    while "$ref" in inner:
        inner = definitions[inner["$ref"].removeprefix("#/$defs/")]
    names = [name for name, part in inner.get("properties", {}).items() if isinstance(part, dict) and "const" in part]
    needed = [name for name in names if name not in inner.get("required", ())]
    return {**branch, "required": [*branch.get("required", ()), *needed]} if needed else branch


class _FieldError(Exception):
    """A field cannot be described."""

    def __init__(self, field: Any, reason: str) -> None:
        super().__init__()
        self.field, self.reason = field, reason


class _Schemas(GenerateJsonSchema):
    """Pydantic's schema generator with the differences listed above."""

    # Whether the type reads the texts: its doubles limit the numbers.
    _is_read = True
    # Whether the type compares the values, as items of a set or keys: each has one text then.
    _are_distinct = False
    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - pydantic's own name and type

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's signature
        return False

    def field_is_present(self, field: Any) -> bool:
        # Why init: no constructor takes the others.
        return super().field_is_present(field) and field.get("init", True)

    def str_schema(self, schema: Any) -> JsonSchemaValue:
        result = super().str_schema(schema)
        # Why: before pydantic 2.14, its schema has only the lengths of the type itself.
        least, most = getattr(self._config, "str_min_length", 0), getattr(self._config, "str_max_length", None)
        result = ({"minLength": least} if least else {}) | ({} if most is None else {"maxLength": most}) | result
        given = schema.get("pattern")
        if isinstance(given, re.Pattern) and given.flags & ~re.UNICODE:
            return _marked(result, "pattern")
        is_stripped = schema.get("strip_whitespace", getattr(self._config, "str_strip_whitespace", False))
        narrower = [_STRIPPED] if is_stripped else []
        if given is not None:
            engine = schema.get("regex_engine") or getattr(self._config, "regex_engine", None)
            is_rust = isinstance(given, str) and engine != "python-re"
            found = type_pattern(given if isinstance(given, str) else given.pattern, is_rust=is_rust)
            if found is None:
                return _marked(result, "pattern")
            if found.is_other_syntax:
                result["pattern"] = found.source
            elif found.is_narrower:
                narrower.append(found.source)
        if schema.get("ascii_only"):
            narrower.append(r"^[\x00-\x7f]*$")
        if self._are_distinct:
            is_set = (schema.get(name, getattr(self._config, f"str_{name}", False)) for name in _CASED)
            narrower += [f"^[^{cased}]*$" for cased, changes in zip(_CASED.values(), is_set, strict=True) if changes]
        if narrower:
            result["allOf"] = [{"pattern": pattern} for pattern in narrower]
        return result

    def bytes_schema(self, schema: Any) -> JsonSchemaValue:
        encoding = getattr(self._config, "val_json_bytes", "utf8")
        if encoding != "utf8":
            return _matching(_encoded(encoding, schema.get("min_length", 0), schema.get("max_length")))
        result = super().bytes_schema(schema) | {"format": "binary"}
        if "min_length" in schema or "max_length" in schema:
            # Why: the type counts bytes, a schema counts characters.
            result["pattern"] = r"^[\u0000-\u007f]*$"
        return result

    def set_schema(self, schema: Any) -> JsonSchemaValue:
        with self._distinct():
            return super().set_schema(schema)

    def frozenset_schema(self, schema: Any) -> JsonSchemaValue:
        with self._distinct():
            return super().frozenset_schema(schema)

    @contextmanager
    def _distinct(self, are: bool = True) -> Iterator[None]:
        before, self._are_distinct = self._are_distinct, are and self._is_read
        try:
            yield
        finally:
            self._are_distinct = before

    def uuid_schema(self, schema: Any) -> JsonSchemaValue:
        result = super().uuid_schema(schema)
        return result | {"allOf": [{"pattern": "^[^A-F]*$"}]} if self._are_distinct else result

    def date_schema(self, schema: Any) -> JsonSchemaValue:  # noqa: ARG002 - pydantic's signature
        return {"type": "string", "format": "date", "pattern": "^(?!0000)"}

    def time_schema(self, schema: Any) -> JsonSchemaValue:
        return _matching(self._time(schema))

    def _time(self, schema: Mapping[str, Any]) -> str:
        """Return the pattern of a time, with the offset that the type requires."""
        time, offset = (_ONE_TIME, "Z") if self._are_distinct else (_TIME, _OFFSET)
        return time + {"aware": offset, "naive": ""}.get(schema.get("tz_constraint", ""), f"{offset}?")

    def datetime_schema(self, schema: Any) -> JsonSchemaValue:
        return _matching(f"(?!0000){DATE}T{self._time(schema)}")

    def timedelta_schema(self, schema: Any) -> JsonSchemaValue:  # noqa: ARG002 - pydantic's signature
        return _matching(_ONE_DURATION if self._are_distinct else _DURATION)

    def url_schema(self, schema: Any) -> JsonSchemaValue:
        result = super().url_schema(schema)
        schemes = schema.get("allowed_schemes")
        result["pattern"] = _ANY_URL
        if schemes == ["file"]:
            result["pattern"] = "^file:///"
        elif schemes:
            result["pattern"] = f"^(?:{'|'.join(map(re.escape, schemes))}):{_AUTHORITY}{_REST}"
        if "maxLength" in result:
            # The type counts the URL as it writes it: with a path, and with quotes of the query encoded.
            result["maxLength"] -= 1
            result["allOf"] = [{"pattern": "^[^'?]*(?:[?][^']*)?$"}]
        return result

    def fraction_schema(self, schema: Any) -> JsonSchemaValue:  # noqa: ARG002 - pydantic's signature
        return {"anyOf": [{"type": "number"}, _matching(_FRACTION)]}

    def custom_error_schema(self, schema: Any) -> JsonSchemaValue:
        if schema["custom_error_type"] == "is_hashable":
            return {"type": ["null", "boolean", "number", "string"]}
        return super().custom_error_schema(schema)

    def float_schema(self, schema: Any) -> JsonSchemaValue:
        # Why: the type compares the nearest double. Rounding keeps the order, so a bound that is a double and is allowed is exact.
        result = super().float_schema(schema)
        for name, keyword, end in (("gt", "minimum", inf), ("lt", "maximum", -inf)):
            if name in schema and isfinite(schema[name]):
                bound = nextafter(float(schema[name]), end) if schema[name] else copysign(_LEAST, end)
                del result[_NUMBER_BOUNDS[name]]
                result[keyword] = sorted((bound, result.get(keyword, bound)))[end > 0]
        if "multiple_of" in schema:
            most = max(_MULTIPLES, float(Fraction(2**53, Fraction(schema["multiple_of"]).denominator)))
        elif schema.get("allow_inf_nan", getattr(self._config, "allow_inf_nan", True)):
            return result
        else:
            most = max(_FINITE, *(abs(result.get(keyword, 0)) for keyword in ("minimum", "maximum")))
        result["minimum"] = max(result.get("minimum", -most), -most)
        result["maximum"] = min(result.get("maximum", most), most)
        return result

    def decimal_schema(self, schema: Any) -> JsonSchemaValue:
        number: JsonSchemaValue = {"type": "number"}
        for name, keyword in _NUMBER_BOUNDS.items():
            if name in schema and (bound := Decimal(schema[name])).is_finite():
                number[keyword] = bound
        places, digits = schema.get("decimal_places"), schema.get("max_digits")
        if digits is not None and places is None:
            _marked(number, "max_digits")
        is_number = len(number) > 1 or places is not None
        if self._is_read or places is not None:
            whole = None if digits is None or places is None else digits - places
            after, before = _exact(number, places, whole) if self._is_read else (places, whole)
            number["allOf"] = [_decimals(after, before)]
            if after == 0:
                # Why: integers are read exactly.
                number["type"] = "integer"
            if whole == 0:
                # The type counts the digit of 0.
                number["allOf"].append({"not": {"const": 0}})
            if whole is not None and whole < 0:
                _marked(number, "max_digits")
        return number if is_number else {"anyOf": [number, _matching(_DECIMAL)]}

    def literal_schema(self, schema: Any) -> JsonSchemaValue:
        values = [value.value if isinstance(value, enum.Enum) else value for value in schema["expected"]]
        is_json = all(isinstance(value, str | int | type(None)) for value in values)
        return _typed(super().literal_schema(schema), values) if is_json else _marked({}, "Literal")

    def enum_schema(self, schema: Any) -> JsonSchemaValue:
        result = super().enum_schema(schema)
        is_json = all(isinstance(member.value, str | int | float | type(None)) for member in schema["members"])
        return _typed(result, [member.value for member in schema["members"]]) if is_json else _marked(result, "Enum")

    def is_subclass_schema(self, schema: Any) -> JsonSchemaValue:
        return self.handle_invalid_for_json_schema(schema, "a class")

    def complex_schema(self, schema: Any) -> JsonSchemaValue:  # noqa: ARG002 - pydantic's signature
        return _marked({"type": "string"}, "complex")

    def json_schema(self, schema: Any) -> JsonSchemaValue:
        return _marked(super().json_schema(schema), "Json")

    def dict_schema(self, schema: Any) -> JsonSchemaValue:
        # Without the values, which are generated below: generating them twice per level would take 2**n steps for n nested dicts.
        without_values: Any = {name: part for name, part in schema.items() if name != "values_schema"}
        result = super().dict_schema(without_values)
        result.pop("patternProperties", None)
        result.pop("propertyNames", None)
        result["additionalProperties"] = (
            self.generate_inner(schema["values_schema"]) if "values_schema" in schema else True
        )
        keys = self._keys(schema["keys_schema"]) if "keys_schema" in schema else {}
        if keys not in ({}, {"type": "string"}):
            result["propertyNames"] = keys
        return result

    def _keys(self, schema: Any) -> JsonSchemaValue:
        with self._distinct():
            return self._keys_of(schema)

    def _keys_of(self, schema: Any) -> JsonSchemaValue:
        inner = schema
        while inner["type"] in _WRAPPERS:
            inner = inner["schema"]
        if inner["type"] == "int":
            constrained = [name for name in _NUMBER_BOUNDS if name in inner]
            return _marked(_matching(_INTEGER), *constrained)
        if inner["type"] == "literal":
            return {"enum": [value for value in inner["expected"] if isinstance(value, str)]}
        members = _members(inner)
        if members and all(isinstance(member.value, str) for member in members):
            return self.generate_inner(inner)
        if inner["type"] in _STRING_KEYS:
            return self.generate_inner(inner)
        return _marked({"type": "string"}, "keys")

    def union_schema(self, schema: Any) -> JsonSchemaValue:
        choices = [choice[0] if isinstance(choice, tuple) else choice for choice in schema["choices"]]
        kinds = [choice["type"] for choice in choices]
        if self._is_read and "generator" in kinds:
            first = kinds.index("generator")
            kept = [
                one["type"] in (_BEFORE_ITERABLES if n < first else _BEHIND_ITERABLES) for n, one in enumerate(choices)
            ]
            schema = {**schema, "choices": list(compress(choices, kept))}
        return super().union_schema(schema)

    def tagged_union_schema(self, schema: Any) -> JsonSchemaValue:
        result = super().tagged_union_schema(schema)
        if "oneOf" in result:
            # The required tag makes the choices disjoint.
            result["anyOf"] = result.pop("oneOf")
        tag = result.get("discriminator", {}).get("propertyName")
        if tag is not None:
            result["required"] = [tag]
        elif callable(schema["discriminator"]):
            result[_TAGGED] = True
        return result

    def chain_schema(self, schema: Any) -> JsonSchemaValue:
        # Why: pydantic describes the first step only, and checks a pattern of a string type of its own in a later one.
        result, *later = map(self.generate_inner, schema["steps"])
        if result.get("type") == "string":
            narrower = [part for part in later if part.get("type") == "string" and len(part) > 1]
            return {**result, "allOf": [*result.get("allOf", ()), *narrower]} if narrower else result
        return result

    def model_schema(self, schema: Any) -> JsonSchemaValue:
        # Why not distinct: other values may share the definition.
        with self._distinct(False):
            result = super().model_schema(schema)
        return result if schema.get("root_model") else _closed(result)

    def dataclass_schema(self, schema: Any) -> JsonSchemaValue:
        with self._distinct(False):
            return _closed(super().dataclass_schema(schema))

    def typed_dict_schema(self, schema: Any) -> JsonSchemaValue:
        with self._distinct(False):
            result = super().typed_dict_schema(schema)
            if "extras_schema" in schema:
                result["additionalProperties"] = self.generate_inner(schema["extras_schema"])
            return _closed(result)

    def _is_within_others(self, alias: Any) -> bool:
        """Return whether the type reads a field only from within others: by a path, or several of which none is a name."""
        by_name = any(getattr(self._config, name, False) for name in ("populate_by_name", "validate_by_name"))
        is_path = isinstance(alias, list) and not any(isinstance(path, list) and len(path) == 1 for path in alias)
        return is_path and not by_name

    def generate_inner(self, schema: Any) -> JsonSchemaValue:
        check = _function_of_pydantic(schema)
        if check == "import_string":
            # Why not recorded: to read the value would import what the model wrote.
            return self.handle_invalid_for_json_schema(schema, "a name to import")
        try:
            if schema["type"] in _FIELDS and self._is_within_others(schema.get("validation_alias")):
                raise _FieldError(schema, "is read from within another (AliasPath): give it a plain alias")
            result = super().generate_inner(schema)
        except PydanticOmit:
            if schema["type"] in _FIELDS and self.field_is_required(schema, total=True):
                reason = "is required and has no schema (SkipJsonSchema or WithJsonSchema(None)): give it a default"
                raise _FieldError(schema, reason) from None
            raise
        except _FieldError as error:
            fields = schema.get("fields", ())
            named = fields.items() if isinstance(fields, dict) else [(field["name"], field) for field in fields]
            name = next((name for name, field in named if field is error.field), None)
            if name is None:
                raise
            raise SchemaError(f"the field {name!r} {error.reason}", "", name) from None
        if check in _CHECKS:
            return _marked(result, _CHECKS[check])
        if check == "ByteSize._validate":
            return {"anyOf": [_matching(_BYTES), {"type": "integer", "minimum": 0}]}
        if check in _MAIL and self._is_read:
            # No format of JSON Schema is the one with a name.
            result.pop("format", None)
            result["allOf"] = [*result.get("allOf", ()), deepcopy(_MAIL[check])]
        if result.get("format") == "regex":
            result["pattern"] = _PYTHON_REGEX
        if schema["type"] == "lax-or-strict" and result.get("format") == "fraction":
            # Before pydantic 2.14, the type has no schema of its own.
            return self.fraction_schema(schema)
        if schema["type"] in _TIMES:
            # Why here: pydantic 2.6 passes the methods above a schema without the type's own metadata.
            result = _bounded(result, schema)
        version = _UUID.fullmatch(str(result.get("format")))
        if version is not None:
            result["format"], result["pattern"] = "uuid", f"^.{{14}}{version[1]}.{{4}}[89abAB]"
        if result.get("format") in _OTHER_FORMATS and result.get("type") == "string" and not result.get("pattern"):
            return _marked(result, "format")
        return result


class _Shown(_Schemas):
    _is_read = False
    float_schema = GenerateJsonSchema.float_schema
    date_schema = GenerateJsonSchema.date_schema
    time_schema = GenerateJsonSchema.time_schema
    datetime_schema = GenerateJsonSchema.datetime_schema
    timedelta_schema = GenerateJsonSchema.timedelta_schema


def _function_of_pydantic(schema: Any) -> str:
    """Return the name of the function of pydantic's own that validates a type; empty for others."""
    if schema["type"] not in ("function-plain", "function-after"):
        return ""
    function = schema["function"]["function"]
    if not str(getattr(function, "__module__", "")).startswith("pydantic."):
        return ""
    name = str(getattr(function, "__qualname__", ""))
    return name if name in _CHECKS or name in _MAIL or name == "ByteSize._validate" else name.rpartition(".")[2]


def _members(schema: Mapping[str, Any]) -> Sequence[enum.Enum]:
    """Return the members of an Enum; none for another type."""
    if schema["type"] == "enum":
        return cast("Sequence[enum.Enum]", schema["members"])
    # Up to pydantic 2.6, an Enum is a function for JSON and an instance check for Python.
    kind = schema.get("strict_schema", {}).get("python_schema", {}).get("cls")
    return tuple(kind) if isinstance(kind, enum.EnumType) else ()


def _closed(schema: JsonSchemaValue) -> JsonSchemaValue:
    if schema.get("type") == "object":
        schema.setdefault("additionalProperties", False)
    return schema


def _exact(number: JsonSchemaValue, places: int | None, whole: int | None) -> tuple[int, int | None]:
    """Return how many digits a Decimal within bounds has after the point, and before it: 15 in all, which a double holds; or none after it.

    Parameters
    ----------
    number : dict
        The bounds, as keywords.
    places, whole : int or None
        The most digits that the type allows.
    """
    low, high = ([number[name] for name in names if name in number] for names in _SIDES)
    sizes, is_between = [abs(bound) for bound in (*low, *high)], bool(low and high)
    reach = max((max(size.adjusted() + 1, 1) for size in sizes), default=0)
    if is_between and reach <= _DIGITS:
        after, before = _DIGITS - 1 if max(sizes) < _TINY else _FINE_PLACES, reach
    else:
        after, before = _PLACES, max(_DIGITS - _PLACES, reach + (not is_between))
    if places is not None:
        after = min(places, _FINE_PLACES)
        before = max(before if is_between else reach, _DIGITS - after)
    if before > _DIGITS:
        before = _DIGITS - after
        if any(bound >= 10**before for bound in low) or any(bound <= -(10**before) for bound in high):
            return 0, whole
    return min(after, _DIGITS - before), before if whole is None else min(before, whole)


def _decimals(places: int, whole: int | None) -> JsonSchemaValue:
    """Return the numbers with a limited number of digits after the point, and before it."""
    result: JsonSchemaValue = {"multipleOf": Decimal(1).scaleb(-places)}
    if whole is not None:
        most = Decimal(10) ** whole
        result |= {"exclusiveMinimum": -most, "exclusiveMaximum": most}
    return result


def _matching(pattern: str) -> JsonSchemaValue:
    return {"type": "string", "pattern": f"^(?:{pattern})$"}


def _encoded(encoding: str, least: int, most: int | None) -> str:
    """Return the pattern of a number of bytes in base64 or hex."""
    if encoding == "hex":
        return f"(?:[0-9A-Fa-f]{{2}}){{{least},{'' if most is None else most}}}"
    found = []
    for sign in _ALPHABETS:
        for n_last in range(3):
            low = max(0, -((n_last - least) // 3))
            high = None if most is None else (most - n_last) // 3
            last = f"{sign}{{{n_last}}}{_ENDS[n_last]}" if n_last else ""
            if high is None or low <= high:
                found.append(f"(?:{sign}{{4}}){{{low},{'' if high is None else high}}}{last}")
    return "|".join(found)


def _typed(result: JsonSchemaValue, values: Sequence[Any]) -> JsonSchemaValue:
    """Add the types of listed values: 1.0 is 1, which a type may read as True."""
    found = {next(name for kind, name in _KINDS if isinstance(value, kind)) for value in values}
    return {"type": sorted(found), **result} if found else result


def _bounded(result: JsonSchemaValue, schema: Mapping[str, Any]) -> JsonSchemaValue:
    """Mark the bounds of dates and times."""
    if isinstance(schema.get("tz_constraint"), int):
        _marked(result, "tz_constraint")
    return _marked(
        result, *(schema[name] if name == "now_op" else name for name in _BOUNDS if schema.get(name) is not None)
    )


def _marked(result: JsonSchemaValue, *keywords: str) -> JsonSchemaValue:
    """Mark keywords that the schema does not express; return the schema."""
    if keywords:
        marks = cast("list[str]", result.setdefault(_MARK, []))
        marks.extend(keyword for keyword in keywords if keyword not in marks)
    return result
