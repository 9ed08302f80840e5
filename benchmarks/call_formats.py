"""What a call format costs: compile, first masks and steps of 30 tools in each, by definitions and by signatures.

    python -m benchmarks.call_formats [FORMAT ...]

Times are of the process's CPU. A step is a mask and an advance over a call of the format, cut greedily into tokens; the first pass makes
what is not there yet, the second finds it.
"""

import gc
import statistics
import sys
import time
from collections.abc import Iterable
from typing import Any, Literal

from benchmarks.vocabularies import MAIN, Cutter, vocabulary
from guided.calls.formats import format_named, format_names
from guided.calls.reads import Call
from guided.calls.rendering import render_calls
from guided.calls.spec import Tools
from guided.engine.compile import compile as compile_spec

ARGUMENTS: dict[str, Any] = {"city": "Oslo, by the sea", "day": "tomorrow", "days": 12, "exact": True}
PROPERTIES: dict[str, Any] = {
    "city": {"type": "string"},
    "day": {"enum": ["today", "tomorrow"]},
    "days": {"type": "integer"},
    "exact": {"type": "boolean"},
}


def signature(name: str) -> Any:
    """A function with those arguments."""

    def function(city: str, day: Literal["today", "tomorrow"], days: int = 1, exact: bool = False) -> None: ...

    function.__name__ = name
    return function


def definition(name: str) -> Any:
    """A definition in JSON of the same."""
    return {"name": name, "parameters": {"properties": PROPERTIES, "required": ["city", "day"]}}


def main(names: Iterable[str]) -> None:
    """Print a line for each format."""
    tokens = vocabulary(MAIN)
    cutter = Cutter(tokens)
    tools = [f"get_{kind}_{number}" for number in range(6) for kind in ("weather", "wind", "waves", "tide", "sun")]
    # Why: what all formats share is made, and numba's kernels are loaded, before anything is measured.
    for make in (signature, definition):
        compile_spec(Tools([make("warm")], "json"), tokens).guide().mask()
    print(f"{len(tools)} tools, {MAIN}; ms of compile, us of a step (median, then worst) at first and again\n")
    print(
        f"{'format':20} {'signatures':>10} {'first':>14} {'again':>14}   {'definitions':>11} {'first':>14} {'again':>14}"
    )
    for name in names:
        form = format_named(name)
        cells = []
        for make in (signature, definition):
            gc.collect()
            gc.disable()
            began = time.process_time()
            spec = Tools([make(tool) for tool in tools], form)
            index = compile_spec(spec, tokens)
            cells.append(f"{(time.process_time() - began) * 1e3:11.0f}")
            text = render_calls([Call(tools[-1], ARGUMENTS, (0, 0))], spec.argument_lists, form)
            ids = cutter(f"So.{text}".encode())
            for _ in range(2):
                guide, steps = index.guide(), []
                for token in ids:
                    began = time.process_time()
                    guide.mask()
                    guide.advance(token)
                    steps.append((time.process_time() - began) * 1e6)
                cells.append(f"{statistics.median(steps):6.0f} {max(steps):7.0f}")
            gc.enable()
        print(f"{name:20}", *cells[:3], " ", *cells[3:])


if __name__ == "__main__":
    main(sys.argv[1:] or format_names())
