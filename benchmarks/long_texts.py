"""Step cost over long outputs of grammars: ``python -m benchmarks.long_texts [--grammar NAME ...] [--vocabulary NAME] [--tokens N]``.

One text of each grammar with at least so many tokens (the texts of `benchmarks.grammars`, one after the other as the grammar has it), on a
fresh index: a mask and an advance at each token, CPU time of the thread. For each tenth of the text the median and the mean of a step in
microseconds, how many masks had to be made, and the memory of the process. A step that costs the same however long the text is shows in
medians that are level; means fall, since ever fewer masks are new.
"""

import argparse
import json
from typing import Any

import numpy as np
import psutil

from benchmarks.clock import no_collection
from benchmarks.grammars_guided import Engine
from benchmarks.grammars_texts import texts_of
from benchmarks.vocabularies import NAMES, Cutter, vocabulary

__all__ = ["main"]

N_PARTS = 10
# Between texts of one grammar, and around all of them.
JOINED = {
    "json": (",\n", "[", "]"),
    "arithmetic": (" + ", "", ""),
    "sql": ("\n", "", ""),
    "graphql": ("\n", "", ""),
    "python": ("\n", "", ""),
}


def long_text(name: str, cut: Cutter, n_tokens: int) -> list[int]:
    """The tokens of one text of a grammar, at least so many."""
    joint, opening, closing = JOINED[name]
    # Why: future imports and docstrings may stand anywhere to Lark, so modules in a row are a text.
    once = joint.join(texts_of(name))
    times = n_tokens // len(cut(once)) + 1
    return cut(opening + joint.join([once] * times) + closing)


def measured(name: str, words_name: str, n_tokens: int) -> dict[str, Any]:
    """The figures of one grammar."""
    words = vocabulary(words_name)
    tokens = long_text(name, Cutter(words), n_tokens)
    before = psutil.Process().memory_info().rss
    made = Engine(name, words)
    step = made.start()
    parts = []
    for part in np.array_split(np.array(tokens), N_PARTS):
        n_misses, steps = len(made.misses), []
        for token in part.tolist():
            allowed, mask, after = step(token)
            if not allowed:
                raise ValueError(f"{name}: token {token} is refused")
            steps.append(mask + after)
        parts.append(
            {
                "median_us": float(np.median(steps)) / 1e3,
                "mean_us": float(np.mean(steps)) / 1e3,
                "misses": len(made.misses) - n_misses,
                "grown_mb": (psutil.Process().memory_info().rss - before) / 1e6,
            }
        )
    return {"grammar": name, "vocabulary": words_name, "tokens": len(tokens), "is_complete": made.end(), "parts": parts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--grammar", action="append", choices=list(JOINED))
    parser.add_argument("--vocabulary", choices=NAMES, default="gpt2")
    parser.add_argument("--tokens", type=int, default=100_000)
    given = parser.parse_args()
    # Kernels are loaded before anything is measured.
    measured("arithmetic", given.vocabulary, 100)
    for name in given.grammar or list(JOINED):
        with no_collection():
            print(json.dumps(measured(name, given.vocabulary, given.tokens)), flush=True)


if __name__ == "__main__":
    main()
