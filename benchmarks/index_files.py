"""What it takes to write and to load index files: ``python -m benchmarks.index_files VOCABULARY_FILE [--repeat N]``.

For files from small to more than 100 MB: median CPU milliseconds of writing, of loading (all bytes are read and checked) and of
mapping (the header is), and how much of the mapped file is in memory after it was opened, and after ten steps of a text (Linux
only). The vocabulary is read, fingerprinted and its trie built before; kernels are warm. What is left out: the disk; the files are in the
system's cache.
"""

import argparse
import re
import tempfile
from pathlib import Path
from typing import Any

import guided
from benchmarks.clock import median, no_collection, timed
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["PATTERNS", "costs"]

PATTERNS = {
    "date and time": r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}",
    "string of 1,000": r'"[^"]{0,1000}"',
    "string of 10,000": r'"[^"]{0,10000}"',
    "string of 65,000": r'"[^"]{0,65000}"',
}
BYTES = Vocabulary([bytes([value]) for value in range(256)] + [None], eos=[256])


def costs(pattern: str, vocabulary: Vocabulary, repeat: int, path: Path) -> dict[str, Any]:
    """Bytes, milliseconds and megabytes of one pattern's file."""
    index = guided.compile(guided.Regex(pattern), vocabulary)
    rows = []
    for _ in range(repeat):
        with no_collection():
            _, written, _ = timed(index.save, path)
            _, loaded, _ = timed(guided.load_index, path, vocabulary)
            _, mapped, _ = timed(guided.load_index, path, vocabulary, True)
        rows.append((written, loaded, mapped))
    opened = guided.load_index(path, vocabulary, mmap=True)
    before = resident(path)
    guide = opened.guide()
    for _ in range(10):
        guide.mask()
        guide.advance(int(opened.allowed(guide.state)[0]))
    after = resident(path)
    save, load, map_ = map(median, zip(*rows, strict=True))
    return {"bytes": path.stat().st_size, "save": save, "load": load, "map": map_, "opened": before, "stepped": after}


def resident(path: Path) -> float:
    """Megabytes of a mapped file that are in this process's memory; NaN where the system does not say."""
    maps = Path("/proc/self/smaps")
    if not maps.exists():
        return float("nan")
    parts = maps.read_text().split(str(path))[1:]
    sizes = (re.search(r"^Rss: +(\d+) kB", part, flags=re.MULTILINE) for part in parts)
    return sum(int(size[1]) for size in sizes if size) / 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("vocabulary", help="tokenizer.json, SentencePiece .model, tiktoken ranks, ...")
    parser.add_argument("--repeat", type=int, default=7)
    given = parser.parse_args()
    vocabularies = {"bytes": BYTES, Path(given.vocabulary).name: Vocabulary.from_file(given.vocabulary)}
    print(
        "| tokens | pattern | file, MB | write, ms | load, ms | map, ms | in memory when mapped, MB | after ten steps, MB |"
    )
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, vocabulary in vocabularies.items():
            # Why first: what is made once for a vocabulary is in no figure.
            costs("a+", vocabulary, 1, Path(folder) / f"{name}.index")
            for label, pattern in PATTERNS.items():
                found = costs(pattern, vocabulary, given.repeat, Path(folder) / f"{label}.index")
                cells = [f"{found['bytes'] / 1e6:.3f}", *(f"{found[key]:.2f}" for key in ("save", "load", "map"))]
                cells += [f"{found['opened']:.2f}", f"{found['stepped']:.2f}"]
                print(f"| {len(vocabulary):,} | {label} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
