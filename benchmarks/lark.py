"""Lark grammars, stage by stage: ``python -m benchmarks.lark [--repeat N]``.

For each grammar the states, terminals, contexts and scanner states, and median CPU milliseconds of the tables (Lark included), of the
scanner, and of what decides on dead ends, after one warm run.
"""

import argparse
from functools import partial
from pathlib import Path

import lark
from lark.indenter import PythonIndenter

from benchmarks.clock import median, no_collection, timed
from guided.automata.steps import Steps
from guided.lalr.deadends import DeadEnds
from guided.lalr.loading import tables_of_text
from guided.lalr.scanner import scanner_of
from guided.limits import Limits
from guided.resources import grammar_path

__all__ = ["main"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeat", type=int, default=3)
    repeat = parser.parse_args().repeat
    python = Path(lark.__file__).parent / "grammars" / "python.lark"
    load = partial(tables_of_text, lexer="contextual", import_paths=[], limits=Limits())
    grammars = {
        **{
            name: partial(load, grammar_path(name).read_text(), start=["start"], postlex=None, source=None)
            for name in ("json", "command", "sql")
        },
        "python": partial(load, python.read_text(), start=["file_input"], postlex=PythonIndenter(), source=str(python)),
    }
    for name, made in grammars.items():
        scanner_of(made().lexer, Limits())
        times = []
        for _ in range(repeat):
            with no_collection():
                tables, first, _ = timed(made)
                scanner, second, _ = timed(scanner_of, tables.lexer, Limits())
                start = tables.starts[0]
                ends, third, _ = timed(DeadEnds, tables, scanner, start, Limits(), Steps(1 << 62))
            times.append((first, second, third))
        tables_time, scanner_time, ends_time = (median(column) for column in zip(*times, strict=True))
        print(
            f"{name}: {tables.n_states} states, {len(tables.lexer.terminals)} terminals, "
            f"{len(tables.lexer.contexts)} contexts, {len(scanner.table)} scanner states; "
            f"tables {tables_time:.1f} ms, scanner {scanner_time:.1f} ms, "
            f"dead ends {ends_time:.1f} ms ({'proof' if ends.cells is None else 'cells'})"
        )


if __name__ == "__main__":
    main()
