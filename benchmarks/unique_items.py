"""What a token costs in an array whose items must differ, after few and after many items.

    python -m benchmarks.unique_items [--items 843]

Each array is read token by token over GPT-2's vocabulary, with the mask of every place, by an index that has read nothing before.
"""

import argparse
import json
import random
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

import guided
from guided.index.pushdown import PushdownIndex
from tests.real_vocabularies import real_vocabulary

ITEMS: dict[str, dict[str, Any]] = {
    "integers": {"type": "integer"},
    "integers from 0 to 1,000,000": {"type": "integer", "minimum": 0, "maximum": 1_000_000},
    "numbers": {"type": "number"},
    "strings": {"type": "string"},
    "strings up to 20 characters": {"type": "string", "maxLength": 20},
    "one of a list of strings": {"enum": [f"name {value}" for value in range(2_000)]},
}


def encoded(vocabulary: guided.Vocabulary, text: bytes) -> list[int]:
    """The tokens of a text, each the longest that fits."""
    ids = {token: number for number, token in reversed(list(enumerate(vocabulary.tokens))) if token}
    tokens, begin = [], 0
    while begin < len(text):
        end = next(end for end in range(min(begin + 16, len(text)), begin, -1) if text[begin:end] in ids)
        tokens.append(ids[text[begin:end]])
        begin = end
    return tokens


def measured(items: dict[str, Any], n_items: int, vocabulary: guided.Vocabulary) -> tuple[float, float, float]:
    """CPU microseconds a token after 10 to 20 items, and at the last tenth of the items; and MB that the index grew by."""
    draw = random.Random(1)
    values: list[Any] = draw.sample(items.get("enum", range(100_000)), n_items)
    if items.get("type") == "string":
        values = [f"w{value} x" for value in values]
    schema = {"type": "array", "items": items, "uniqueItems": True}
    index = guided.compile(guided.JsonSchema(schema), vocabulary)
    assert isinstance(index.tables, PushdownIndex)
    guide, times, before = index.guide(), list[float](), index.tables.n_bytes
    ends = []
    for token in encoded(vocabulary, json.dumps(values, separators=(",", ":")).encode()):
        begin = time.process_time()
        assert guide.mask()[token >> 5] >> (token & 31) & 1
        guide.advance(token)
        times.append(time.process_time() - begin)
        if b"," in (vocabulary[token] or b""):
            ends.append(len(times))
    few, many = times[ends[9] : ends[19]], times[ends[-n_items // 10] :]
    return 1e6 * float(np.mean(few)), 1e6 * float(np.mean(many)), (index.tables.n_bytes - before) / 1e6


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--items", type=int, default=843, help="how many items an array has")
    n_items = parser.parse_args(arguments).items
    vocabulary = real_vocabulary("gpt2")
    measured(ITEMS["integers"], 30, vocabulary)
    measured(ITEMS["strings"], 30, vocabulary)
    print("| items | us a token after 10 | after all but a tenth | MB |")
    print("|---|---:|---:|---:|")
    for name, items in ITEMS.items():
        few, many, size = measured(items, n_items, vocabulary)
        print(f"| {name} | {few:,.0f} | {many:,.0f} | {size:.1f} |", flush=True)


if __name__ == "__main__":
    main()
