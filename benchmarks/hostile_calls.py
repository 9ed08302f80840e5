"""What calls cost on indices of hostile schemas: rows of docs/limits_record.md, for `benchmarks.hostile`.

Each schema, in a process of its own, is compiled over a vocabulary of bytes. Then `mask`, `remaining` and `mask_within` (a budget of 10
above `remaining`) are called at the start and after each of five tokens, drawn from the mask within the budget. The cost of a call is the
largest of its calls, in CPU time. A call that passes a limit has the limit's name after its time.
"""

import multiprocessing
import random
from collections.abc import Callable
from typing import Any

import guided
from benchmarks.clock import settle, timed
from guided.cli.warmup import warm
from guided.errors import GuidedError, LimitError
from tests.masks import bits
from tests.schema.engine import BYTES

__all__ = ["SCHEMAS", "calls_table"]

KINDS = ("compile", "mask", "remaining", "mask_within", "advance")
N_TOKENS = 5


def _required(count: int) -> dict[str, Any]:
    return {"type": "object", "required": [f"name{i}" for i in range(count)]}


def _contains(count: int, **bounds: int) -> dict[str, Any]:
    parts = [{"contains": {"multipleOf": n + 2}, "minContains": 3, **bounds} for n in range(count)]
    return {"type": "array", "items": {"type": "integer"}, "allOf": parts}


SCHEMAS: dict[str, dict[str, Any]] = {
    "two `not patternProperties`, `maxProperties` 100": {
        "type": "object", "minProperties": 1, "maxProperties": 100, "propertyNames": {"pattern": "^[a-z]+$"},
        "allOf": [{"not": {"patternProperties": {"^a": {"type": "integer"}}}}, {"not": {"patternProperties": {"b$": {"type": "string"}}}}],
    },
    "oneOf of 12 open objects, `minProperties`": {
        "oneOf": [
            {"type": "object", "properties": {f"p{n}": {"type": "integer"}}, "required": [f"p{n}"], "minProperties": 2} for n in range(12)
        ],
    },
    "`minProperties` 250, names `[a-d]{4}`": {
        "type": "object", "minProperties": 250, "propertyNames": {"pattern": "^[a-d]{4}$"},
    },
    "`minProperties` 1,000": {"type": "object", "minProperties": 1_000},
    "`minProperties` 5,000": {"type": "object", "minProperties": 5_000},
    "3,000 required names": _required(3_000),
    "10,000 required names": _required(10_000),
    "`uniqueItems`, enum of 200, `minItems` 150": {
        "type": "array", "uniqueItems": True, "minItems": 150, "items": {"enum": list(range(200))},
    },
    "three `contains`, `minContains` 3": _contains(3),
    "six `contains`, `minContains` 3": _contains(6),
    "three `contains`, `maxContains` 40": _contains(3, maxContains=40),
    "six `contains`, `maxContains` 40": _contains(6, maxContains=40),
    "enum of 20,000 objects": {"enum": [{"id": n, "name": f"thing {n}", "tags": [n % 7]} for n in range(20_000)]},
    "pattern `(a|b)*a(a|b){18}`": {"type": "string", "pattern": "^(a|b)*a(a|b){18}$"},
    "`multipleOf` 101, 103 and 107": {"allOf": [{"type": "integer", "multipleOf": n} for n in (101, 103, 107)]},
    "pattern, ambiguous": {"type": "string", "pattern": "(a|b|ab|ba|aab)*(a.{12}b|b.{12}a)"},
}  # fmt: skip


def _measure(queue: Any, schema: dict[str, Any]) -> None:
    """Put the largest CPU time in ms of each kind of call, and the names of the limits passed."""
    worst, passed = dict.fromkeys(KINDS, 0.0), dict[str, str]()

    def call(kind: str, work: Callable[..., Any], *arguments: Any) -> Any:
        def outcome() -> Any:
            try:
                return work(*arguments)
            except LimitError as error:
                passed[kind] = error.what
            except GuidedError as error:
                passed[kind] = type(error).__name__

        result, cpu, _ = timed(outcome)
        worst[kind] = max(worst[kind], cpu)
        return result

    index = call("compile", guided.compile, guided.JsonSchema(schema, whitespace="compact"), BYTES)
    if index is not None:
        guide, draw = index.guide(), random.Random(1)
        for _ in range(N_TOKENS):
            mask, left = call("mask", guide.mask), call("remaining", lambda: guide.remaining)
            within = call("mask_within", guide.mask_within, left + 10) if left is not None else None
            chosen = within if within is not None else mask
            tokens = [token for token in bits(chosen) if token not in BYTES.eos] if chosen is not None else []
            if not tokens:
                break
            call("advance", guide.advance, draw.choice(tokens))
    queue.put((worst, passed))


def calls_table(names: list[str] | None = None, done: Callable[[str], None] = lambda _: None) -> list[str]:
    """A row for each schema: the largest time of each kind of call, in seconds."""
    warm(lambda _: None)
    settle()
    context = multiprocessing.get_context("fork")
    rows = [f"| schema | {', s | '.join(KINDS)}, s |", "|---|" + "---:|" * len(KINDS)]
    for name in names or SCHEMAS:
        queue = context.SimpleQueue()
        process = context.Process(target=_measure, args=(queue, SCHEMAS[name]))
        process.start()
        worst, passed = queue.get()
        process.join()
        cells = [
            f"{worst[kind] / 1000:.2f}" + (f" `LimitError`: `{passed[kind]}`" if kind in passed else "")
            for kind in KINDS
        ]
        rows.append(f"| {name.replace('|', chr(92) + '|')} | {' | '.join(cells)} |")
        done(rows[-1])
    return rows
