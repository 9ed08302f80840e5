"""The status of each keyword of a schema: enforced, an annotation, recorded instead of enforced, or refused.

The report covers the whole text of the schema, including parts that no reference reaches, and no other documents. Annotations are:
keywords that the draft does not define, that only describe, or that contain definitions; formats that are unknown or not asserted; and
keywords beside a ``$ref`` if the draft ignores them.

Complexity: linear in the schema. No recursion.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from guided.errors import SchemaError
from guided.limits import Limits
from guided.schema.formats import FORMATS, REFUSED, draft3
from guided.schema.formula.atoms import JsonOptions
from guided.schema.formula.formulas import Formulas
from guided.schema.frontend.dialect import Dialect, subschemas
from guided.schema.frontend.location import Location, pointer_of
from guided.schema.frontend.lowering import Lowering
from guided.schema.frontend.misspellings import meant
from guided.schema.frontend.resources import Context

__all__ = ["ANNOTATION", "ENFORCED", "RECORDED", "REFUSED_STATUS", "Finding", "report"]

ENFORCED, ANNOTATION, RECORDED, REFUSED_STATUS = "enforced", "annotation", "recorded", "refused"


@dataclass(frozen=True, slots=True)
class Finding:
    """One keyword at one location.

    Attributes
    ----------
    pointer : str
        JSON Pointer to the schema that contains it.
    keyword : str
    status : str
        ``"enforced"``, ``"annotation"``, ``"recorded"`` or ``"refused"``.
    reason : str
        Why it is not enforced, if known.
    """

    pointer: str
    keyword: str
    status: str
    reason: str = ""


def report(
    schema: Any, options: JsonOptions, limits: Limits, registry: Mapping[str, Any] | None = None
) -> tuple[Finding, ...]:
    """Return the status of each keyword in text order, outer schemas before inner ones.

    Raises
    ------
    SchemaError, LimitError
        The schema is malformed, or exceeds a budget.
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
        below = subschemas(part, context.dialect.positions)
        todo += reversed([(inner, context, (location, *tokens)) for tokens, inner in below])
    return tuple(found)


def _why(keyword: str, value: Any) -> str:
    return REFUSED.get(value, "") if keyword == "format" and isinstance(value, str) else ""


def _known(dialect: Dialect, schema: dict[str, Any], keyword: str, value: Any, options: JsonOptions) -> tuple[str, str]:
    """Return the status and reason of a keyword that was not recorded as unenforced."""
    if keyword not in dialect.handlers:
        if dialect.companions.get(keyword) in schema:
            return ENFORCED, ""
        intended = meant(keyword, dialect)
        return ANNOTATION, "" if intended is None else f"is {intended!r} meant?"
    if dialect.reference_stands_alone and "$ref" in schema and keyword != "$ref":
        return ANNOTATION, "this draft ignores keywords beside a $ref"
    if keyword == "format" and (options.format == "annotate" or not _is_format(dialect, value, options)):
        return ANNOTATION, "formats are not asserted" if options.format == "annotate" else "this format is unknown"
    return ENFORCED, ""


def _is_format(dialect: Dialect, name: Any, options: JsonOptions) -> bool:
    return (
        name in FORMATS
        or name in dict(options.formats)
        or (dialect.year == 3 and (name in draft3.NAMES or name in draft3.PATTERNS))
    )
