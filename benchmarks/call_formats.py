"""What a call format costs: 30 tools in each, and one tool with each kind of value in each, all at their first use.

    python -m benchmarks.call_formats [FORMAT ...] [--json FILE]

Times are of the process's CPU. Each format has a process of its own, which has loaded the kernels and the vocabulary and has called a tool
in the format "json"; the first kind of value pays for what all values of a format share. A step is a mask and an advance over a call of the
format, cut greedily into tokens; the first pass makes what is not there yet, the second finds it.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal

from benchmarks import machine
from benchmarks.clock import no_collection, settle
from benchmarks.tables import table
from benchmarks.vocabularies import MAIN, NAMES, Cutter, vocabulary
from guided.calls.formats import format_named, format_names
from guided.calls.reads import Call
from guided.calls.rendering import render_calls
from guided.calls.spec import Tools
from guided.engine.compile import compile as compile_spec
from guided.generate.warming import load_kernels
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["VALUES", "cells_of", "measured", "run"]

ARGUMENTS: dict[str, Any] = {"city": "Oslo, by the sea", "day": "tomorrow", "days": 12, "exact": True}
PROPERTIES: dict[str, Any] = {
    "city": {"type": "string"},
    "day": {"enum": ["today", "tomorrow"]},
    "days": {"type": "integer"},
    "exact": {"type": "boolean"},
}
TOOLS = [f"get_{kind}_{number}" for number in range(6) for kind in ("weather", "wind", "waves", "tide", "sun")]
# The pattern that zod writes for e-mail addresses.
EMAIL = r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$"
# Kinds of values: a schema, and a value of it.
VALUES: dict[str, tuple[dict[str, Any], Any]] = {
    **{f"maxLength {length}": ({"type": "string", "maxLength": length}, "Oslo") for length in (10, 500, 4096, 65536)},
    "uri, 2083": ({"type": "string", "format": "uri", "maxLength": 2083}, "https://example.com/a"),
    "zod's e-mail": ({"type": "string", "format": "email", "pattern": EMAIL}, "ann@example.com"),
    "list of strings": ({"type": "array", "items": {"type": "string"}}, ["Oslo", "Bergen"]),
    "nested object": (
        {
            "type": "object",
            "properties": {
                "place": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
                "days": {"type": "integer"},
            },
            "required": ["place"],
        },
        {"place": {"city": "Oslo"}, "days": 2},
    ),
}


def signature(name: str) -> Any:
    """A function with those arguments."""

    def function(city: str, day: Literal["today", "tomorrow"], days: int = 1, exact: bool = False) -> None: ...

    function.__name__ = name
    return function


def definition(name: str) -> Any:
    """A definition in JSON of the same."""
    return {"name": name, "parameters": {"properties": PROPERTIES, "required": ["city", "day"]}}


def tool_of(kind: str) -> dict[str, Any]:
    """A tool with one argument of a kind of `VALUES`."""
    return {"name": "f", "parameters": {"properties": {"value": VALUES[kind][0]}, "required": ["value"]}}


def measured(tools: Sequence[Any], call: Call, form: str, words: Vocabulary) -> dict[str, float]:
    """CPU milliseconds of spec, compile and first mask together; median and worst step of a call, in microseconds, at first and again."""
    clock = time.process_time
    begin = clock()
    spec = Tools(tools, form)
    index = compile_spec(spec, words)
    index.guide().mask()
    found = {"ready ms": 1e3 * (clock() - begin)}
    text = render_calls([call], spec.argument_lists, spec.format)
    tokens = Cutter(words)(f"So.{text}".encode())
    for again in ("first", "again"):
        guide, steps = index.guide(), []
        for token in tokens:
            begin = clock()
            guide.mask()
            guide.advance(token)
            steps.append(1e6 * (clock() - begin))
        found[f"{again}, median us"], found[f"{again}, worst us"] = statistics.median(steps), max(steps)
    return {name: round(value, 1) for name, value in found.items()}


def run(names: Sequence[str], kinds: Sequence[str], vocabulary_name: str) -> dict[str, dict[str, dict[str, float]]]:
    """All cells by format: one tool with each of some kinds of values, and 30 tools by signatures and by definitions."""
    given = [(name, tuple(kinds), vocabulary_name) for name in names]
    with get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        return dict(zip(names, pool.starmap(cells_of, given, chunksize=1), strict=True))


def cells_of(name: str, kinds: Sequence[str], vocabulary_name: str) -> dict[str, dict[str, float]]:
    """The cells of one format."""
    words = vocabulary(vocabulary_name)
    load_kernels()
    measured([definition("warm")], Call("warm", ARGUMENTS, (0, 0)), "json", words)
    cells = [(kind, [tool_of(kind)], Call("f", {"value": VALUES[kind][1]}, (0, 0))) for kind in kinds]
    for way, make in (("signatures", signature), ("definitions", definition)):
        cells.append((way, list(map(make, TOOLS)), Call(TOOLS[-1], ARGUMENTS, (0, 0))))
    found = {}
    for cell, tools, call in cells:
        settle()
        with no_collection():
            found[cell] = measured(tools, call, name, words)
    return found


def shown(found: dict[str, dict[str, dict[str, float]]], kinds: Sequence[str]) -> str:
    """Two tables: steps of 30 tools, and by kind of value the time to the first mask and the worst step, in milliseconds."""
    tools = ["signatures", "definitions"]
    heads = ["format", *(f"{cell}: ready ms, first pass, second pass us" for cell in tools)]
    first = [
        [name]
        + [
            f"{each['ready ms']:.1f}, {each['first, median us']:.0f} / {each['first, worst us']:.0f}, "
            f"{each['again, median us']:.0f} / {each['again, worst us']:.0f}"
            for each in (cells[cell] for cell in tools)
        ]
        for name, cells in found.items()
    ]
    second = [
        [name] + [f"{cells[kind]['ready ms']:.1f} + {cells[kind]['first, worst us'] / 1e3:.1f}" for kind in kinds]
        for name, cells in found.items()
    ]
    worst = max((cells[kind]["ready ms"], name, kind) for name, cells in found.items() for kind in kinds)
    step = max((cells[kind]["first, worst us"] / 1e3, name, kind) for name, cells in found.items() for kind in kinds)
    return "\n\n".join(
        [
            f"{len(TOOLS)} tools: ms until the first mask; us of a step (median / worst)",
            table(heads, first),
            "One tool, by kind of its value: ms until the first mask + the worst step of a call, at first use",
            table(["format", *kinds], second),
            f"Worst: {worst[0]:.1f} ms to a first mask ({worst[1]}, {worst[2]}), {step[0]:.1f} ms a step ({step[1]}, {step[2]}).",
        ]
    )


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("formats", nargs="*", help="names of formats; all by default")
    parser.add_argument("--vocabulary", default=MAIN, choices=NAMES)
    parser.add_argument("--json", type=Path, help="write the record here")
    given = parser.parse_args()
    names = [format_named(name).name for name in given.formats or format_names()]
    head = {"command": " ".join(["python -m benchmarks.call_formats", *sys.argv[1:]]), **machine.describe()}
    found: dict[str, dict[str, dict[str, float]]] = {}
    if given.json and given.json.exists():
        # A run of some formats goes into the record of the others.
        found = json.loads(given.json.read_text(encoding="utf-8"))["formats"]
    for name in names:
        found.update(run([name], list(VALUES), given.vocabulary))
        if given.json:
            machine.write(
                {**head, "load at end": machine.load(), "vocabulary": given.vocabulary, "formats": found}, given.json
            )
    print(shown(found, list(VALUES)))


if __name__ == "__main__":
    main()
