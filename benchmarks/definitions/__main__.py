"""Print the counts of vocabularies: states, and tokens allowed along the texts, by the walk per state."""

import sys

from benchmarks import vocabularies
from benchmarks.compare import along, count_bits, eos_words
from benchmarks.definitions import load
from benchmarks.engines.walk import Engine


def main(names: list[str]) -> None:
    for name in names:
        vocabulary = vocabularies.vocabulary(name)
        engine, cut, eos = Engine(vocabulary), vocabularies.Cutter(vocabulary), eos_words(vocabulary)
        for pattern in load().values():
            compiled = engine.compile(pattern.regex)
            counts = [
                count_bits(words & ~eos)
                for text in pattern.texts
                for words in along(compiled.start(), cut(text), vocabulary.size)
            ]
            print(f"{pattern.name}\t{compiled.automaton.n_states}\t{name}\t{sum(counts)}")


if __name__ == "__main__":
    main(sys.argv[1:])
