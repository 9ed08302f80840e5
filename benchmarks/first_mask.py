"""Where the time to a schema's first mask goes: ``python -m benchmarks.first_mask DIR [--vocabulary V] [--sample N] [--max-length N]``.

``DIR`` holds MaskBench's files. Each schema is taken once, in a process whose kernels and tables of strings are warm, under the options of
`benchmarks.maskbench`; the stages are those of `guided.compile` and `Guide.mask`, in CPU time. With ``--max-length``, only schemas are
taken in which some ``maxLength`` is at least N.
"""

import argparse
import json
import random
from pathlib import Path
from typing import Any

import numpy as np

import guided
from benchmarks.clock import no_collection, settle, timed
from benchmarks.vocabularies import MAIN, NAMES, vocabulary
from guided.engine import compile as compiling
from guided.engine.specs import Lowered
from guided.errors import GuidedError
from guided.generate.warming import warm
from guided.limits import Limits
from guided.schema.formula.formulas import Formulas
from guided.schema.frontend.lowering import Lowering
from guided.schema.pushdown.machine import SchemaMachine
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["STAGES", "largest_length", "stages"]

STAGES = {
    "spec": "the schema as text, its depth",
    "lowering": "keywords to formulas, all that can be reached",
    "automaton": "the start state, and whether any value satisfies it",
    "mask": "the index, and the mask of its first state",
}
_OPTIONS: dict[str, Any] = {"whitespace": "flexible", "property_order": "any", "numbers": "any"}


def stages(schema: Any, words: Vocabulary) -> list[float] | None:
    """CPU milliseconds of each stage; None where the schema is refused."""
    missing, limits = words.missing_bytes, Limits()
    alphabet = bytes(byte not in missing for byte in range(256))
    try:
        spec, of_spec, _ = timed(lambda: guided.JsonSchema(schema, **_OPTIONS))
        lowering, of_lowering, _ = timed(_lowered, spec, limits)
        machine, of_automaton, _ = timed(_started, lowering, spec, limits, alphabet)
        made = Made(spec, Lowered(machine, machine.structure, machine.structure.tables.n_controls))
        _, of_mask, _ = timed(lambda: compiling.compile(made, words).guide().mask())
    except GuidedError:
        return None
    return [of_spec, of_lowering, of_automaton, of_mask]


def _lowered(spec: guided.JsonSchema, limits: Limits) -> Lowering:
    lowering = Lowering(spec.schema, spec.options, Formulas(), limits, spec.registry)
    lowering.check()
    return lowering


def _started(lowering: Lowering, spec: guided.JsonSchema, limits: Limits, alphabet: bytes) -> SchemaMachine:
    machine = SchemaMachine(lowering, lowering.formulas, spec.options, limits, alphabet)
    if machine.is_empty:
        raise guided.SchemaError("no value satisfies the schema", "", "schema")
    return machine


def largest_length(schema: Any) -> int:
    """The largest ``maxLength`` anywhere in a schema; 0 without one."""
    if isinstance(schema, dict):
        own = schema.get("maxLength")
        return max([own if isinstance(own, int) else 0, *map(largest_length, schema.values())])
    return max(map(largest_length, schema), default=0) if isinstance(schema, list) else 0


class Made:
    """A spec whose automaton has been made."""

    kind = guided.JsonSchema.kind

    def __init__(self, spec: guided.JsonSchema, lowered: Lowered) -> None:
        self.spec, self.lowered = spec, lowered

    def __getattr__(self, name: str) -> Any:
        return getattr(self.spec, name)

    def pushdown(self, *_: object) -> Lowered:
        """That automaton."""
        return self.lowered


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--vocabulary", default=MAIN, choices=NAMES)
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--max-length", type=int, default=0, metavar="N")
    given = parser.parse_args()
    files = sorted(given.folder.glob("*.json"))
    if given.max_length:
        files = [path for path in files if largest_length(json.loads(path.read_bytes())["schema"]) >= given.max_length]
    files = random.Random(given.seed).sample(files, min(given.sample, len(files)))
    words = vocabulary(given.vocabulary)
    words.trie  # noqa: B018 - built on first use
    warm(lambda _: None)
    settle()
    rows = []
    with no_collection():
        for path in files:
            found = stages(json.loads(path.read_bytes())["schema"], words)
            if found is not None:
                rows.append(found)
    total = sum(map(sum, rows))
    print(f"{len(rows)} schemas, {given.vocabulary}, CPU milliseconds\n")
    print("| stage | mean | p50 | p90 | p99 | share |\n|---|---:|---:|---:|---:|---:|")
    for name, column in [*zip(STAGES, zip(*rows, strict=True), strict=True), ("all", [sum(row) for row in rows])]:
        what = f"{name}: {STAGES[name]}" if name in STAGES else name
        cells = [sum(column) / len(rows), *np.percentile(column, [50, 90, 99]).tolist()]
        print(f"| {what} | {' | '.join(f'{cell:.2f}' for cell in cells)} | {sum(column) / total:.0%} |")


if __name__ == "__main__":
    main()
