"""``guided grammar check``: report Lark's silent decisions about a grammar, and the grammar's size."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from guided.cli.boundary import ACCEPTED, REJECTED, UsageError
from guided.cli.kinds import build_spec
from guided.cli.output import COMPILING, console, print_json, print_table, shown
from guided.cli.specs import JsonOption, OptionOption, options_of_kinds
from guided.progress import progress

if TYPE_CHECKING:
    from guided.lalr.review import Finding

__all__ = ["check_grammar"]


def check_grammar(
    action: Annotated[str, typer.Argument(metavar="check", help="What to do.")],
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE", help="A file (calc.lark, calc.gbnf), or a bundled grammar (json, python, ...)."
        ),
    ],
    option: OptionOption = None,
    as_json: JsonOption = False,
) -> int:
    """Check a grammar: report its conflicts, dead ends, conflicting lookaheads, and sizes.

    Each finding comes with a short example if the bounded search finds one.

    The exit code is 0 if there are no findings, 1 if there are conflicts or dead ends, 2 if the grammar is refused.

    For example:

      guided grammar check calc.lark
      guided grammar check python --json
    """
    if action != "check":
        raise UsageError(f"unknown action {action!r}: the only action is check")
    from guided.arrays import DEAD
    from guided.engine.grammar import Grammar
    from guided.lalr.scanner import scanner_of
    from guided.limits import Limits

    with progress(COMPILING):
        options = options_of_kinds(option, ("grammar",))["grammar"]
        spec = build_spec("grammar", source, options)
        assert isinstance(spec, Grammar)
        scanner = scanner_of(spec.tables.lexer, Limits())
        found = spec.review()
    tables = spec.tables
    sizes = {
        "rules": len(tables.rules),
        "terminals": len(tables.lexer.terminals),
        "states": tables.n_states,
        "contexts": len(tables.lexer.contexts),
        "scanner states": len(scanner.table),
        "scanner edges": int((scanner.table != DEAD).sum()),
    }
    if as_json:
        findings = [
            {"kind": one.kind, "note": one.note, "example": None if one.example is None else one.example._asdict()}
            for one in found
        ]
        print_json({"start": spec.start, "sizes": sizes, "notes": [one.note for one in found], "findings": findings})
    else:
        print_table([(name, f"{count:,}") for name, count in sizes.items()])
        for finding in found:
            console().print(shown(finding.note))
            for line in _example(finding):
                console().print(f"    {shown(line)}")
        if not found:
            console().print("no conflicts, no dead ends")
    return REJECTED if found else ACCEPTED


def _example(finding: "Finding") -> list[str]:
    if finding.kind == "doubt":
        return []
    if finding.example is None:
        return ["no example was found; it may never occur"]
    terminals, text = finding.example
    where = "at the beginning of a text" if not terminals else "after " + " ".join(terminals)
    return [where if not text else f"{where}, as in {json.dumps(text, ensure_ascii=False)}"]
