"""Whole-index times of usual patterns over a vocabulary: ``python -m benchmarks.walk VOCABULARY_FILE [--repeat N]``.

One core, warm kernels, a fresh compile each time (nothing is cached between compiles). Columns: states of the byte
automaton, functions that tokens use, distinct masks; median milliseconds of the automaton (pattern to minimal byte
automaton), of the walk of the trie, of the whole index without masks, and of building every distinct mask; then the sum
of automaton, index and masks. What is left out: reading the vocabulary, compiling the kernels.
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
DATE = r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
TIME = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](Z|[+-][0-9][0-9]:[0-9][0-9])"
WHOLE = r"(0|[1-9][0-9]*)"
TEXT = r'"[^"\\\n]*"'
VERBS = ("get", "set", "list", "delete", "update")
NOUNS = ("user", "order", "invoice", "weather", "alarm", "message", "flight", "music", "currency", "report")
PATTERNS = {
    "integer": rf"-?{WHOLE}",
    "ISO date-time": f"{DATE}T{TIME}",
    "UUID": "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "5-field JSON object": (
        rf'\{{"name": {TEXT}, "age": {WHOLE}, "email": {TEXT}, "active": (true|false), '
        rf'"score": -?{WHOLE}(\.[0-9]+)?\}}'
    ),
    "choice of 50 names": "|".join(f"{verb}_{noun}" for verb in VERBS for noun in NOUNS),
    "quoted string {1,100}": STRING % 100,
    "quoted string {1,1000}": STRING % 1000,
    r"\w{1,64}": r"\w{1,64}",
    "email": r"[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}",
    ".{1,100}": ".{1,100}",
}


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


def report(vocabulary: Vocabulary, repeat: int) -> None:
    _, trie = timed(lambda: vocabulary.trie)
    print(f"{len(vocabulary):,} tokens, {vocabulary.trie.n_nodes:,} trie nodes (built in {trie:.0f} ms)")
    print(f"{'pattern':24}  states functions  masks automaton    walk   index   masks     all  ms")
    for name, pattern in PATTERNS.items():
        states, functions, distinct, *times = measure(pattern, vocabulary, repeat)
        columns = " ".join(f"{time:{width}.2f}" for time, width in zip(times, (9, 7, 7, 7, 7), strict=True))
        print(f"{name:24} {states:7,} {functions:9,} {distinct:6,} {columns}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("vocabulary", help="tokenizer.json, SentencePiece .model, tiktoken ranks, ...")
    parser.add_argument("--repeat", type=int, default=7)
    arguments = parser.parse_args()
    report(Vocabulary.from_file(arguments.vocabulary), arguments.repeat)


if __name__ == "__main__":
    main()
