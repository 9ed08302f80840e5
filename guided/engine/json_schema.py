"""`JsonSchema`: the spec of the JSON texts whose values a schema allows."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from guided.engine.specs import Lowered, fingerprint_of
from guided.errors import SchemaError
from guided.limits import Limits
from guided.schema.atoms import JsonOptions
from guided.schema.formula import Formulas
from guided.schema.lowering import Lowering
from guided.schema.machine import Machine

__all__ = ["JsonSchema"]


@dataclass(frozen=True, slots=True, init=False)
class JsonSchema:
    """The JSON texts (RFC 8259) whose values a schema allows; every keyword is enforced or refused. See docs/json-schema.md.

    Parameters
    ----------
    schema : dict, bool, str or path
        A JSON Schema as parsed JSON, as JSON text, or a file of it. Draft 2020-12 unless ``$schema`` names another.
    whitespace : str
        ``"compact"``, ``"flexible"``, or a regular expression.
    property_order : {"schema", "any"}
        Declared names in the order of the schema, or in any order.
    numbers : {"plain", "any"}
        Without exponents, and integers without a fraction; or all of RFC 8259.
    escapes : {"canonical", "any"}
        Each character in its shortest spelling, or in any.
    format : {"assert", "annotate", "strict"}
        Known formats are enforced; none is; or unknown ones are refused as well.
    unsupported : {"refuse", "record"}
        A keyword that cannot be enforced is refused, or dropped and listed in ``index.unenforced``.
    registry : mapping of str to schema, optional
        Schemas that ``$ref`` may lead to, by URI. Nothing is fetched.

    Raises
    ------
    SchemaError
        The text is no JSON; when compiled: the schema is malformed, or cannot be enforced, with JSON Pointer and keyword.
    TypeError, ValueError
        An argument is of another type, or an option unknown.
    """

    schema: Any
    options: JsonOptions
    registry: Mapping[str, Any] = field(repr=False)
    _text: str = field(repr=False)

    def __init__(
        self,
        schema: Any,
        *,
        whitespace: str = "flexible",
        property_order: Literal["schema", "any"] = "schema",
        numbers: Literal["plain", "any"] = "plain",
        escapes: Literal["canonical", "any"] = "canonical",
        format: Literal["assert", "annotate", "strict"] = "assert",  # noqa: A002 - the contract's name
        unsupported: Literal["refuse", "record"] = "refuse",
        registry: Mapping[str, Any] | None = None,
    ) -> None:
        parsed = _parsed(schema)
        options = JsonOptions(whitespace, property_order, numbers, escapes, format, unsupported)
        object.__setattr__(self, "schema", parsed)
        object.__setattr__(self, "options", options)
        object.__setattr__(self, "registry", dict(registry or {}))
        object.__setattr__(self, "_text", _text_of([parsed, self.registry]))

    def __hash__(self) -> int:
        return hash((self._text, self.options))

    @property
    def fingerprint(self) -> str:
        """SHA-256 in hex of schema, registry and options."""
        return fingerprint_of("json schema", self._text, repr(self.options))

    def pushdown(self, limits: Limits, alphabet: bytes) -> Lowered:
        """The automaton of the texts.

        Raises
        ------
        SchemaError, PatternError, LimitError
        """
        formulas = Formulas()
        lowering = Lowering(self.schema, self.options, formulas, limits, self.registry)
        machine = Machine(lowering, formulas, self.options, limits, alphabet)
        if machine.is_empty:
            raise SchemaError("no value satisfies the schema", "", "schema")
        common = machine.structure
        unenforced = tuple(f"{pointer or '/'} {keyword}" for pointer, keyword in lowering.unenforced)
        return Lowered(machine, common, common.tables.n_controls, unenforced)


def _parsed(schema: Any) -> Any:
    if isinstance(schema, (dict, bool)):
        return schema
    if isinstance(schema, os.PathLike):
        try:
            schema = Path(schema).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SchemaError(f"the file cannot be read: {error}", "", "schema") from error
    if isinstance(schema, str):
        try:
            return json.loads(schema, parse_float=Decimal)
        except (ValueError, RecursionError) as error:
            raise SchemaError(f"the text is no JSON: {error}", "", "schema") from error
    raise TypeError(f"a schema is a dict, a bool, JSON text or a path, not {type(schema).__name__}")


def _text_of(value: Any) -> str:
    try:
        return json.dumps(value, default=_written)
    except (TypeError, ValueError, RecursionError) as error:
        raise SchemaError(f"a schema is made of JSON values: {error}", "", "schema") from error


def _written(value: object) -> object:
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    raise TypeError(f"{type(value).__name__} is no type of JSON")
