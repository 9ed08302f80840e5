"""Lark's own tests, beside this package: ``python -m benchmarks.lark_suite FOLDER``.

The folder is lark's unpacked source distribution (``pip download --no-deps --no-binary :all: lark``), of the installed version. Its tests
run as they are; whenever one parses a text by LALR, the grammar is compiled from the same Lark object, and must accept the text exactly if
Lark parses it. What is refused is counted by its reason, and the exit code is 1 where the two disagree.
"""

import argparse
import io
import logging
import sys
import unittest
from collections import Counter
from pathlib import Path
from typing import Any

import lark

import guided

__all__ = ["main"]

MODULES = (
    "test_parser",
    "test_grammar",
    "test_lexer",
    "test_python_grammar",
    "test_reconstructor",
    "test_tree_templates",
)
BYTES = guided.Vocabulary([*(bytes([byte]) for byte in range(256)), None], eos=[256])


class Beside:
    """Compares what Lark parses while its tests run."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self.mismatches: list[str] = []
        # With the parsers, whose addresses are the keys.
        self._indices: dict[tuple[int, str], tuple[lark.Lark, guided.Index | None]] = {}
        self._parse = lark.Lark.parse

    def parse(self, parser: lark.Lark, text: Any, start: str | None = None, on_error: Any = None) -> Any:
        """In place of ``Lark.parse``."""
        try:
            tree = self._parse(parser, text, start, on_error)
        except lark.exceptions.UnexpectedInput:
            self._compare(parser, text, start, is_parsed=False)
            raise
        if on_error is None:
            self._compare(parser, text, start, is_parsed=True)
        return tree

    def _compare(self, parser: lark.Lark, text: Any, start: str | None, *, is_parsed: bool) -> None:
        if parser.options.parser != "lalr" or not isinstance(text, str):
            return
        index = self._index(parser, start or parser.options.start[0])
        if index is None:
            self.counts["of refused grammars"] += 1
            return
        self.counts["parsed" if is_parsed else "not parsed"] += 1
        if index.accepts(text.encode("utf-8", "replace")) != is_parsed:
            self.mismatches.append(f"Lark says {is_parsed} of {text!r}, start {start}\n{parser.source_grammar}")

    def _index(self, parser: lark.Lark, start: str) -> guided.Index | None:
        key = id(parser), start
        if key not in self._indices:
            index = None
            try:
                index = guided.compile(guided.Grammar(parser, start=start), BYTES)
            except guided.GuidedError as error:
                self.refusals[str(error)] += 1
            self._indices[key] = parser, index
        return self._indices[key][1]


def main() -> int:
    """Run the tests, and print what was compared."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder.resolve()
    if not (folder / "tests" / "test_parser.py").is_file():
        parser.error(f"{folder} has no tests of Lark")
    sys.path.insert(0, str(folder))
    # This package's own tests have the same name.
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]
    logging.disable(logging.CRITICAL)
    beside = Beside()
    lark.Lark.parse = lambda *arguments, **options: beside.parse(*arguments, **options)  # type: ignore[method-assign]
    suite = unittest.defaultTestLoader.loadTestsFromNames([f"tests.{name}" for name in MODULES])
    result = unittest.TextTestRunner(stream=io.StringIO()).run(suite)
    counts = ", ".join(f"{count:,} {what}" for what, count in sorted(beside.counts.items()))
    print(
        f"{result.testsRun:,} tests of lark {lark.__version__}; texts: {counts}; {len(beside.mismatches)} disagreements"
    )
    for reason, count in beside.refusals.most_common():
        print(f"  {count:,} grammars refused: {reason}")
    print("\n".join(beside.mismatches))
    return 1 if beside.mismatches else 0


if __name__ == "__main__":
    raise SystemExit(main())
