"""``guided schema``: show how a JSON Schema is read: the treatment of each keyword, or a Lark grammar."""

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from guided.cli.boundary import ACCEPTED, REJECTED, UsageError
from guided.cli.kinds import build_spec
from guided.cli.output import console, print_json, print_table, shown
from guided.cli.specs import JsonOption, OptionOption, options_of_kinds
from guided.files import replace_file

if TYPE_CHECKING:
    from guided.engine.json_schema import JsonSchema

__all__ = ["show_schema"]


def show_schema(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="A file of JSON (schema.json), or a type (models.py:Person).")
    ],
    lark: Annotated[
        bool, typer.Option("--lark", help="Write a Lark grammar that accepts the same texts as the schema.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the grammar to a file (--lark).")
    ] = None,
    option: OptionOption = None,
    max_rules: Annotated[
        int | None, typer.Option("--max-rules", metavar="N", min=1, help="Largest grammar (--lark; 20000).")
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Show how a JSON Schema is read: keyword by keyword, or as an equivalent Lark grammar (--lark).

    Each keyword is listed as enforced, annotation, recorded or refused.

    The exit code is 0 if every keyword is enforced, 1 if one cannot be or if no value satisfies the schema, 2 after an error.

    For example:

      guided schema schema.json
      guided schema models.py:Person --json
      guided schema schema.json --lark -O whitespace=compact -o schema.lark
    """
    if not lark:
        unused = next(
            (name for name, value in (("output", output), ("max-rules", max_rules)) if value is not None), None
        )
        if unused is not None:
            raise UsageError(f"--{unused} needs --lark")
    from guided.engine.json_schema import JsonSchema

    given = options_of_kinds(option, ("json_schema",))["json_schema"]
    options = {"unsupported": "refuse" if lark else "record", **given}
    spec = build_spec("json_schema", source, options)
    assert isinstance(spec, JsonSchema)
    return _lark(spec, output, max_rules, as_json=as_json) if lark else _report(spec, as_json=as_json)


def _lark(spec: "JsonSchema[Any]", output: Path | None, max_rules: int | None, *, as_json: bool) -> int:
    from guided.export.lark import DEFAULT_RULES, lark_grammar
    from guided.limits import Limits

    most = DEFAULT_RULES if max_rules is None else max_rules
    found = lark_grammar(spec.schema, spec.options, Limits(), spec.registry, most_rules=most)
    if output is not None:
        replace_file(output, found.text)
    if as_json:
        counts = {"rules": found.n_rules, "terminals": found.n_terminals}
        print_json(counts | ({"grammar": found.text} if output is None else {"file": str(output)}))
    elif output is None:
        sys.stdout.buffer.write(found.text.encode())
    else:
        console().print(f"{shown(str(output))}: {found.n_rules:,} rules, {found.n_terminals:,} terminals")
    return ACCEPTED


def _report(spec: "JsonSchema[Any]", *, as_json: bool) -> int:
    from dataclasses import asdict, replace

    from guided.errors import GuidedError
    from guided.limits import Limits
    from guided.schema.report.keywords import ENFORCED, REFUSED_STATUS, report

    found = report(spec.schema, replace(spec.options, unsupported="refuse"), Limits(), spec.registry)
    counts = Counter(finding.status for finding in found)
    error: str | None = None
    notes: tuple[str, ...] = ()
    try:
        spec.pushdown(Limits(), bytes([1] * 256))
        notes = spec.impossible_parts(Limits())
    except GuidedError as caught:
        error = str(caught)
    if as_json:
        data = {"counts": dict(counts), "keywords": [asdict(finding) for finding in found]}
        print_json({**data, "error": error, "notes": list(notes)})
    else:
        rows = [
            (finding.status, shown(f"{finding.pointer}/{finding.keyword}"), shown(finding.reason)) for finding in found
        ]
        print_table(rows)
        console().print(
            ", ".join(f"{count:,} {status}" for status, count in counts.items()) or f"nothing to be {ENFORCED}"
        )
        for note in notes:
            console().print(f"note: {shown(note)}")
        if error is not None:
            console().print(f"the schema cannot be compiled: {shown(error)}")
    return REJECTED if counts[REFUSED_STATUS] or error is not None else ACCEPTED
