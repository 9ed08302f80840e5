"""What becomes of each keyword of a schema: enforced, an annotation, recorded instead of enforced, or refused.

All of the schema's own text is looked at, also what no reference leads to; of other documents nothing. A keyword that its draft does
not know, that only describes, or that holds definitions is an annotation; so is a format that is unknown or not asserted, and what
stands beside a ``$ref`` where the draft ignores it.

Complexity: linear in the schema. No recursion.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from guided.errors import SchemaError
from guided.limits import Limits
from guided.schema.atoms import JsonOptions
from guided.schema.dialects import Dialect
from guided.schema.formats import FORMATS, REFUSED, draft3
from guided.schema.formula import Formulas
from guided.schema.lowering import Lowering
from guided.schema.misspellings import meant
from guided.schema.resources import Context
from guided.schema.site import Location, pointer_of

__all__ = ["ANNOTATION", "ENFORCED", "RECORDED", "REFUSED_STATUS", "Finding", "report"]

ENFORCED, ANNOTATION, RECORDED, REFUSED_STATUS = "enforced", "annotation", "recorded", "refused"


@dataclass(frozen=True, slots=True)
class Finding:
    """One keyword at one place.

    Attributes
    ----------
    pointer : str
        JSON Pointer to the schema that holds it.
    keyword : str
    status : str
        ``"enforced"``, ``"annotation"``, ``"recorded"`` or ``"refused"``.
    reason : str
        Why it is not enforced, if it is known.
    """

    pointer: str
    keyword: str
    status: str
    reason: str = ""


def report(
    schema: Any, options: JsonOptions, limits: Limits, registry: Mapping[str, Any] | None = None
) -> tuple[Finding, ...]:
    """What becomes of each keyword, in the order of the text, the schema around before those within.

    Raises
    ------
    SchemaError, LimitError
        The schema is malformed, or passes a budget.
    """
    lowering = Lowering(
        schema, replace(options, unsupported="record", strict_keywords=False), Formulas(), limits, registry
    )
    lowering.check()
    missed = set(lowering.unenforced)
    status = RECORDED if options.unsupported == "record" else REFUSED_STATUS
    found: list[Finding] = []
    root = lowering.references.root
    todo: list[tuple[Any, Context, Location]] = [(schema, root, root.resource.location)]
    while todo:
        part, context, location = todo.pop()
        if not isinstance(part, dict):
            continue
        try:
            context = lowering.references.entered(part, context, location)
        except SchemaError as error:
            found.append(Finding(pointer_of(location), error.keyword, REFUSED_STATUS, error.reason))
            continue
        pointer = pointer_of(location)
        for keyword, value in part.items():
            if (pointer, keyword) in missed:
                found.append(Finding(pointer, keyword, status, _why(keyword, value)))
            else:
                found.append(Finding(pointer, keyword, *_known(context.dialect, part, keyword, value, options)))
        todo += reversed([(below, context, (location, *tokens)) for below, tokens in _parts(context.dialect, part)])
    return tuple(found)


def _why(keyword: str, value: Any) -> str:
    return REFUSED.get(value, "") if keyword == "format" and isinstance(value, str) else ""


def _known(dialect: Dialect, schema: dict[str, Any], keyword: str, value: Any, options: JsonOptions) -> tuple[str, str]:
    """Status and reason of a keyword that is not missed."""
    if keyword not in dialect.handlers:
        if dialect.companions.get(keyword) in schema:
            return ENFORCED, ""
        intended = meant(keyword, dialect)
        return ANNOTATION, "" if intended is None else f"is {intended!r} meant?"
    if dialect.reference_stands_alone and "$ref" in schema and keyword != "$ref":
        return ANNOTATION, "this draft ignores what stands beside a $ref"
    if keyword == "format" and (options.format == "annotate" or not _is_format(dialect, value)):
        return ANNOTATION, "formats are not asserted" if options.format == "annotate" else "this format is unknown"
    return ENFORCED, ""


def _is_format(dialect: Dialect, name: Any) -> bool:
    return name in FORMATS or (dialect.year == 3 and (name in draft3.NAMES or name in draft3.PATTERNS))


def _parts(dialect: Dialect, schema: dict[str, Any]) -> list[tuple[Any, tuple[str, ...]]]:
    """The schemas directly within a schema."""
    found: list[tuple[Any, tuple[str, ...]]] = []
    for keyword, how in dialect.positions.items():
        value = schema.get(keyword)
        if isinstance(value, dict) and how.startswith("map"):
            found += [(part, (keyword, name)) for name, part in value.items()]
        elif isinstance(value, list) and "schemas" in how:
            found += [(part, (keyword, str(i))) for i, part in enumerate(value)]
        elif isinstance(value, dict) and how.startswith("schema") and how != "schemas":
            found.append((value, (keyword,)))
    return found
