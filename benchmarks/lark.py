"""Lark grammars, stage by stage: ``python -m benchmarks.lark [--repeat N]``.

For each grammar the states, terminals, contexts and scanner states, and median CPU milliseconds of the tables (Lark included) and of the
scanner, after one warm run.
"""

import argparse
from functools import partial
from pathlib import Path

import lark
from lark.indenter import PythonIndenter

from benchmarks.clock import median, no_collection, timed
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
        "json": partial(load, grammar_path("json").read_text(), start=["start"], postlex=None, source=None),
        "python": partial(load, python.read_text(), start=["file_input"], postlex=PythonIndenter(), source=str(python)),
    }
    for name, made in grammars.items():
        scanner_of(made().lexer, Limits())
        times = []
        for _ in range(repeat):
            with no_collection():
                tables, first, _ = timed(made)
                scanner, second, _ = timed(scanner_of, tables.lexer, Limits())
            times.append((first, second))
        print(
            f"{name}: {tables.n_states} states, {len(tables.lexer.terminals)} terminals, "
            f"{len(tables.lexer.contexts)} contexts, {len(scanner.table)} scanner states; "
            f"tables {median(first for first, _ in times):.1f} ms, scanner {median(second for _, second in times):.1f} ms"
        )


if __name__ == "__main__":
    main()
