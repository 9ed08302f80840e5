"""guided's own stages, pattern by pattern: ``python -m benchmarks.walk VOCABULARY_FILE [--repeat N]``.

One core, warm kernels, a fresh compile each time. Columns: states of the byte automaton, functions that tokens use, distinct
masks; median CPU milliseconds of the automaton (pattern to minimal byte automaton), of the walk of the trie, of the whole index
without masks (the walk included), and of building every distinct mask; then the sum of automaton, index and masks. What is
left out: reading the vocabulary, compiling the kernels.
"""

import argparse
from typing import Any

from benchmarks.clock import median, no_collection, timed
from benchmarks.definitions import load
from guided.automata.automaton import Automaton
from guided.engine.specs import Regex
from guided.index.regular import RegularIndex, build_regular
from guided.index.walk import token_functions
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["COLUMNS", "PATTERNS", "stages"]

# The definitions, and a pattern that costs most: a counted Unicode class has hundreds of byte states for each repetition.
PATTERNS = {name: pattern.regex for name, pattern in load().items()} | {r"\w{1,64}": r"\w{1,64}"}
COLUMNS = ("automaton", "walk", "index", "masks", "all")


def stages(name: str, vocabulary: Vocabulary, repeat: int) -> dict[str, Any]:
    """Counts and milliseconds of one pattern."""
    limits, rows = Limits(), []
    for _ in range(repeat):
        with no_collection():
            automaton, build, _ = timed(Regex(PATTERNS[name]).lower, limits)
            assert isinstance(automaton, Automaton)
            _, walk, _ = timed(token_functions, automaton, vocabulary.trie, limits)
            index, whole, _ = timed(build_regular, automaton, vocabulary, limits)
            _, filled, _ = timed(_masks, index)
        rows.append([build, walk, whole, filled, build + whole + filled])
    counts = {
        "states": automaton.n_states,
        "functions": len(index.function_size),
        "masks": len(index.mask_state),
    }
    medians = map(median, zip(*rows, strict=True))
    return counts | {f"{column}_ms": found for column, found in zip(COLUMNS, medians, strict=True)}


def _masks(index: RegularIndex) -> None:
    for state in index.mask_state.tolist():
        index.mask(state)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("vocabulary", help="tokenizer.json, SentencePiece .model, tiktoken ranks, ...")
    parser.add_argument("--repeat", type=int, default=7)
    given = parser.parse_args()
    vocabulary = Vocabulary.from_file(given.vocabulary)
    print(f"{len(vocabulary):,} tokens, {len(vocabulary.trie.byte):,} trie nodes")
    print(f"{'pattern':24}  states functions  masks automaton    walk   index   masks     all  ms")
    for name in PATTERNS:
        row = stages(name, vocabulary, given.repeat)
        columns = " ".join(
            f"{row[f'{key}_ms']:{width}.2f}" for key, width in zip(COLUMNS, (9, 7, 7, 7, 7), strict=True)
        )
        print(f"{name:24} {row['states']:7,} {row['functions']:9,} {row['masks']:6,} {columns}")


if __name__ == "__main__":
    main()
