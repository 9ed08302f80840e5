"""Whole-index times of usual patterns over a vocabulary: ``python -m benchmarks.walk VOCABULARY_FILE [--repeat N]``.

One core, warm kernels, a fresh compile each time (nothing is cached between compiles). Columns: states of the byte automaton, functions that
tokens use, distinct masks; median milliseconds of the automaton (pattern to minimal byte automaton), of the walk of the trie, of the
whole index without masks, and of building every distinct mask; then their sum. What is left out: reading the vocabulary, compiling the kernels.
"""

import argparse
import statistics
import time

from guided.automata.automaton import Automaton
from guided.engine.specs import Regex
from guided.index.regular import build_regular
from guided.index.walk import token_functions
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary

STRING = r'"[^"\\\n]{1,%d}"'
PATTERNS = {
    "integer": r"-?(0|[1-9][0-9]*)",
    "ISO date-time": r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(Z|[+-]\d\d:\d\d)".replace(r"\d", "[0-9]"),
    "UUID": r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    "5-field JSON object": r'\{"name": "[^"\\\n]*", "age": (0|[1-9][0-9]*), "email": "[^"\\\n]*", "active": (true|false), "score": -?(0|[1-9][0-9]*)(\.[0-9]+)?\}',
    "choice of 50 names": "|".join(f"{a}_{b}" for a in ("get", "set", "list", "delete", "update") for b in (
        "user", "order", "invoice", "weather", "alarm", "message", "flight", "music", "currency", "report")),
    "quoted string {1,100}": STRING % 100,
    "quoted string {1,1000}": STRING % 1000,
    r"\w{1,64}": r"\w{1,64}",
    r"email": r"[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}",
    r".{1,100}": r".{1,100}",
}  # fmt: skip


def timed(function, *arguments):
    start = time.perf_counter()
    result = function(*arguments)
    return result, 1e3 * (time.perf_counter() - start)


def masks(index) -> None:
    for state in index.mask_state.tolist():
        index.mask(state)


def measure(pattern: str, vocabulary: Vocabulary, repeat: int) -> list[float]:
    limits, rows = Limits(), []
    for _ in range(repeat):
        automaton, build = timed(Regex(pattern).lower, limits)
        assert isinstance(automaton, Automaton)
        _, walk = timed(token_functions, automaton, vocabulary.trie, limits)
        index, whole = timed(build_regular, automaton, vocabulary, limits)
        _, filled = timed(masks, index)
        rows.append([build, walk, whole, filled, build + whole + filled])
    shape = [automaton.n_states, len(index.group_indptr) - 1, len(index.mask_state)]
    return [*shape, *(statistics.median(column) for column in zip(*rows, strict=True))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("vocabulary", help="tokenizer.json, SentencePiece .model, tiktoken ranks, ...")
    parser.add_argument("--repeat", type=int, default=7)
    arguments = parser.parse_args()
    vocabulary = Vocabulary.from_file(arguments.vocabulary)
    _, trie = timed(lambda: vocabulary.trie)
    print(f"{len(vocabulary):,} tokens, {vocabulary.trie.n_nodes:,} trie nodes (built in {trie:.0f} ms)")
    print(f"{'pattern':24} {'states':>7} {'functions':>9} {'masks':>6} {'automaton':>9} {'walk':>7} {'index':>7} {'masks':>7} {'all':>7}  ms")
    for name, pattern in PATTERNS.items():
        states, functions, distinct, *times = measure(pattern, vocabulary, arguments.repeat)
        print(f"{name:24} {states:7,} {functions:9,} {distinct:6,} " + " ".join(f"{t:{w}.2f}" for t, w in zip(times, (9, 7, 7, 7, 7), strict=True)))


if __name__ == "__main__":
    main()
