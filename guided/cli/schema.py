"""``guided schema``: what a JSON Schema comes to: its rules, or what becomes of each of its keywords."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from guided.cli.boundary import ACCEPTED, REJECTED
from guided.cli.kinds import build_spec
from guided.cli.output import aligned, console, print_json, shown
from guided.cli.specs import JsonOption

if TYPE_CHECKING:
    from guided.engine.json_schema import JsonSchema

__all__ = ["show_schema"]


def show_schema(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="A file of JSON (schema.json), or a type (models.py:Person).")
    ],
    report: Annotated[
        bool, typer.Option("--report", help="What becomes of each keyword: enforced, annotation, recorded, refused.")
    ] = False,
    formats: Annotated[str, typer.Option("--formats", help="assert, annotate or strict.")] = "assert",
    property_order: Annotated[str, typer.Option("--property-order", help="schema or any.")] = "schema",
    as_json: JsonOption = False,
) -> int:
    """Show what a JSON Schema comes to: the rules that values must obey, or with --report each keyword and whether it is enforced.

    A rule says what must hold of a value: of the whole one, and then of each part, by its place in the schema.

    The exit code is 0 if all is enforced, 1 if some keyword can not be (--report), 2 after an error.

    For example:

      guided schema schema.json
      guided schema models.py:Person --report --json
    """
    from guided.engine.json_schema import JsonSchema

    options = {"unsupported": "record", "format": formats, "property_order": property_order}
    spec = build_spec("json_schema", source, options, Path())
    assert isinstance(spec, JsonSchema)
    return _report(spec, as_json=as_json) if report else _rules(spec, as_json=as_json)


def _rules(spec: "JsonSchema", *, as_json: bool) -> int:
    from guided.limits import Limits
    from guided.schema.formula import Formulas
    from guided.schema.lowering import Lowering
    from guided.schema.rules import rules

    formulas = Formulas()
    found = rules(Lowering(spec.schema, spec.options, formulas, Limits(), spec.registry), formulas)
    if as_json:
        print_json({"rules": [{"place": place, "rule": text} for place, text in found]})
        return ACCEPTED
    for place, text in found:
        console().print(f"{shown(place)} = {shown(text)}")
    return ACCEPTED


def _report(spec: "JsonSchema", *, as_json: bool) -> int:
    from dataclasses import asdict, replace

    from guided.limits import Limits
    from guided.schema.report import ENFORCED, REFUSED_STATUS, report

    found = report(spec.schema, replace(spec.options, unsupported="refuse"), Limits(), spec.registry)
    counts = Counter(finding.status for finding in found)
    if as_json:
        print_json({"counts": dict(counts), "keywords": [asdict(finding) for finding in found]})
    else:
        rows = [
            (finding.status, shown(f"{finding.pointer}/{finding.keyword}"), shown(finding.reason)) for finding in found
        ]
        for line in aligned(rows, indent=0):
            console().print(line)
        console().print(
            ", ".join(f"{count:,} {status}" for status, count in counts.items()) or f"nothing to be {ENFORCED}"
        )
    return REJECTED if counts[REFUSED_STATUS] else ACCEPTED
