"""Long texts of schemas that must remember most of what was read, all by one index each: ``python -m benchmarks.soak_history``.

Items that differ, names that are counted, items that several keywords count: what comes next depends on all values so far, so an index
makes states that no other text needs. Each index, in a process of its own, reads random texts of 100 to 9,900 tokens until it has read
``--tokens`` or used ``--seconds``. Every step asks for the mask and the bound of what is left; every twentieth one, and those near the
end of the budget, for the mask within the budget; with ``--masks-only``, for the mask alone.
Tokens are drawn so that texts have many short values: mostly punctuation and digits,
and rarely what closes a container.

Times are CPU time. Memory is the resident set of the process, beyond what it had after a first text of 100 tokens, which is not counted.
The default vocabulary has a token for each byte; ``--vocabulary gpt2`` and others are those of `benchmarks.vocabularies`.
"""

import argparse
import multiprocessing
import random
import resource
import sys
from array import array
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import guided
from benchmarks.clock import settle, timed
from benchmarks.vocabularies import NAMES, vocabulary
from guided.errors import GuidedError
from guided.generate.warming import warm
from guided.vocabulary.vocabulary import Vocabulary
from tests.schema.engine import BYTES

__all__ = ["SCHEMAS", "main"]

SCHEMAS: dict[str, Any] = {
    "different integers": {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
    "different strings": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
    "different objects": {
        "type": "array", "uniqueItems": True,
        "items": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a"],
                  "additionalProperties": False},
    },
    "counted names": {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 50},
    "counted short names": {
        "type": "object", "propertyNames": {"maxLength": 8}, "maxProperties": 3_000, "additionalProperties": {"type": "boolean"},
    },
    "nested arrays that differ": {
        "type": "array", "uniqueItems": True,
        "items": {"type": "array", "uniqueItems": True, "items": {"type": "integer"}},
    },
    "counted items": {
        "type": "array", "items": {"type": ["integer", "string", "null"]}, "contains": {"type": "integer", "multipleOf": 7},
        "minContains": 30,
    },
    "patterns of names, counted": {
        "type": "object", "patternProperties": {"^[a-m]": {"type": "integer"}, "[0-9]$": {"minimum": 0, "type": "number"}},
        "additionalProperties": {"type": "string"}, "minProperties": 20, "maxProperties": 2_000,
    },
    "unevaluated names": {
        "type": "object", "anyOf": [{"properties": {"a": {"type": "integer"}}}, {"patternProperties": {"^b": {"type": "string"}}}],
        "unevaluatedProperties": {"type": "array", "items": {"type": "integer"}}, "minProperties": 10,
    },
    "names that need names": {
        "type": "object", "additionalProperties": {"type": "integer"},
        "dependentRequired": {f"n{i}": [f"n{(7 * i + 1) % 32}", f"n{(11 * i + 3) % 32}"] for i in range(32)},
    },
    "one of two counted objects": {
        "type": "array",
        "items": {"oneOf": [
            {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 3},
            {"type": "object", "additionalProperties": {"type": ["integer", "null"]}, "maxProperties": 5},
        ]},
    },
    "recursive arrays that differ": {"type": ["array", "integer"], "uniqueItems": True, "items": {"$ref": "#"}},
}  # fmt: skip
BUDGETS = (100, 1_000, 9_900)
# How often a token is drawn among punctuation and digits, and how often one that closes a container may be drawn.
SHORT, CLOSING = 0.7, 0.06
# The mask within the budget is asked for at every so many tokens, and wherever less than so many are left beyond the bound.
OFTEN, NEAR = 20, 80
KINDS = ("mask", "advance", "remaining", "mask_within")


class Draw:
    """Draws tokens from masks."""

    def __init__(self, words: Vocabulary, seed: str) -> None:
        self.random = random.Random(seed)
        self.ends = frozenset(words.eos)
        tokens = [words[token] or b"" for token in range(len(words))] + [b""] * (words.size - len(words))
        self.short = self._mask(
            words.size, [bool(data) and not data.strip(b'{}[]",:0123456789-abn') for data in tokens]
        )
        self.open = self._mask(words.size, [bool(data) and not set(data) & set(b"]}") for data in tokens])

    @staticmethod
    def _mask(size: int, chosen: list[bool]) -> np.ndarray:
        bits = np.zeros(-(-size // 32) * 32, bool)
        bits[:size] = chosen
        return np.packbits(bits, bitorder="little").view(np.int32)

    def token(self, mask: np.ndarray) -> int:
        """A token of the mask; one that ends the text only where there is no other."""
        for rate, among in ((1 - CLOSING, self.open), (SHORT, self.short)):
            if self.random.random() < rate and (mask & among).any():
                mask = mask & among
        tokens = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))
        others = [token for token in self.random.choices(tokens, k=8) if token not in self.ends]
        return int(others[0] if others else next((token for token in tokens if token not in self.ends), tokens[0]))


def resident() -> float:
    """Megabytes of the process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


def soak(name: str, words: Vocabulary, n_tokens: int, seconds: float, masks_only: bool) -> dict[str, Any]:
    """What one index cost while it read so many tokens, or for so many seconds of CPU time."""
    index = guided.compile(guided.JsonSchema(SCHEMAS[name], whitespace="compact"), words)
    # Why arrays: lists of a million numbers would count as growth.
    draw, times, errors = Draw(words, name), {kind: array("f") for kind in KINDS}, Counter[str]()
    before, most, spent, texts, longest = 0.0, 0.0, 0.0, 0, 0

    def ask(kind: str, work: Any, *arguments: Any) -> Any:
        nonlocal spent
        result, cpu, _ = timed(work, *arguments)
        times[kind].append(cpu * 1000)
        spent += cpu / 1000
        return result

    def read(left: int) -> int:
        nonlocal most
        guide = index.guide()
        left = left if masks_only else max(left, 2 * guide.remaining)
        try:
            while left and len(times["advance"]) < n_tokens and spent < seconds:
                mask = ask("mask", guide.mask)
                if not masks_only:
                    least = ask("remaining", lambda: guide.remaining)
                    if left < least:
                        break  # A token drawn where the budget was not asked for can need more than was left.
                    if len(guide) % OFTEN == 0 or left < least + NEAR:
                        mask = ask("mask_within", guide.mask_within, left)
                token = draw.token(mask)
                if token in words.eos:
                    break
                ask("advance", guide.advance, token)
                left -= 1
                if len(guide) % 500 == 0:
                    most = max(most, resident() - before)
        except GuidedError as error:
            errors[f"{type(error).__name__} after {len(guide):,} tokens: {error}"] += 1
        most = max(most, resident() - before)
        return len(guide)

    read(100)
    settle()
    before, most, spent = resident(), 0.0, 0.0
    for row in times.values():
        del row[:]
    while len(times["advance"]) < n_tokens and spent < seconds:
        longest = max(longest, read(BUDGETS[texts % len(BUDGETS)]))
        texts += 1
    return {
        "tokens": len(times["advance"]), "texts": texts, "longest": longest, "states": index.n_states, "MB": most,
        "times": {
            kind: [float(np.mean(row)), float(np.percentile(row, 99)), max(row)] for kind, row in times.items() if row
        },
        "errors": errors,
    }  # fmt: skip


def _child(queue: Any, *arguments: Any) -> None:
    queue.put(soak(*arguments))


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=100_000, help="of each schema")
    parser.add_argument(
        "--seconds", type=float, default=600, help="CPU time of a schema's calls, after which the next one begins"
    )
    parser.add_argument("--vocabulary", default="bytes", choices=["bytes", *NAMES])
    parser.add_argument(
        "--schema", action="append", choices=sorted(SCHEMAS), help="only this one; may come several times"
    )
    parser.add_argument(
        "--masks-only", action="store_true", help="ask for masks alone, not for what is left of budgets"
    )
    given = parser.parse_args()
    words = BYTES if given.vocabulary == "bytes" else vocabulary(given.vocabulary)
    warm(lambda _: None)
    print(
        "| schema | tokens | texts | longest | states | growth, MB | "
        + " | ".join(f"{kind}, us" for kind in KINDS)
        + " |"
    )
    print("|---|---:|---:|---:|---:|---:|" + "---:|" * len(KINDS))
    context, all_errors, total = multiprocessing.get_context("fork"), {}, 0
    for name in given.schema or SCHEMAS:
        queue = context.SimpleQueue()
        process = context.Process(
            target=_child, args=(queue, name, words, given.tokens, given.seconds, given.masks_only)
        )
        process.start()
        found = queue.get()
        process.join()
        shown = [" / ".join(f"{value:,.0f}" for value in found["times"].get(kind, ())) for kind in KINDS]
        cells = [
            name,
            *(f"{found[key]:,}" for key in ("tokens", "texts", "longest", "states")),
            f"{found['MB']:.0f}",
            *shown,
        ]
        print("| " + " | ".join(cells) + " |", flush=True)
        all_errors[name], total = found["errors"], total + found["tokens"]
    print(f"\nTimes: mean / p99 / largest. {total:,} tokens.")
    for name, errors in all_errors.items():
        for error, count in errors.most_common():
            print(f"{name}: {count} times {error}")
    return int(any(all_errors.values()))


if __name__ == "__main__":
    sys.exit(main())
