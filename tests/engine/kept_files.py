"""The indices whose files are kept for every version of the format, in tests/data/index.

``python -m tests.engine.kept_files FOLDER`` writes them, and what they must allow, into a folder.
"""

import hashlib
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import guided
from guided.automata.automaton import Automaton
from guided.engine.specs import Spec

__all__ = ["EXPECTED", "FOLDER", "SPECS", "VOCABULARY", "facts", "write"]

FOLDER = Path(__file__).resolve().parent.parent / "data" / "index"
EXPECTED = "expected.json"

# All bytes but one, tokens of several bytes, of parts of characters, two that spell the same, a hole, two ends, padding.
VOCABULARY = guided.Vocabulary(
    [
        *(bytes([value]) if value != 0x07 else None for value in range(256)),
        *(b"20", b"ab", b'":', b'"}', b"get_", b"\xc3\xa9\xc3", b"ab", b"yes", b" =", b"None"),
        *(None, None, None),
    ],
    eos=[266, 267],
    size=288,
    special={"<end>": 266, "<turn>": 267, "<T>": 268},
)


@dataclass(frozen=True, slots=True)
class Labelled:
    """Any text with an even number of ``<T>ab`` in it, and labels that say which are open; ``<T>`` may be a special token."""

    fingerprint: str = "0" * 64
    markers: tuple[str, ...] = ("<T>",)

    def lower(self, limits: guided.Limits) -> Automaton:
        """The automaton, from a table."""
        # After 0, 1, 2, 3, 4 bytes of the marker, twice.
        marker, table = b"<T>ab", np.zeros((10, 256), np.int32)
        for half in range(2):
            for count in range(5):
                table[5 * half + count, :] = 5 * half
                table[5 * half + count, marker[0]] = 5 * half + 1
                table[5 * half + count, marker[count]] = 5 * half + count + 1 if count < 4 else 5 - 5 * half
        accepting = np.arange(10) < 5
        return Automaton.from_table(table, np.arange(256), accepting, (np.arange(10) >= 5).astype(np.int32))


SPECS: dict[str, Spec] = {
    "month": guided.Regex(r"[0-9]{4}-[0-9]{2}"),
    "string": guided.Regex(r'"([^"\\\n]|\\["\\n])*"'),
    "unicode": guided.Regex(r"(?i)straße[Ā-ſ]{0,2}k?|[^\x00-\x7f]+"),
    "answer": guided.Choice(["yes", "no", "Ja", "né", "ab", "abab"]),
    "labelled": Labelled(),
}


def facts(index: guided.Index) -> dict[str, int | str]:
    """What an index allows: the number of states, and digests of all masks and of all next states."""
    masks, onward = hashlib.sha256(), hashlib.sha256()
    for state in range(index.n_states + 1):
        masks.update(index.mask(state).astype("<i4").tobytes())
        row = [index.next(state, token) for token in range(index.vocabulary.size)]
        onward.update(np.array(row, "<i4").tobytes())
    return {"states": index.n_states, "masks": masks.hexdigest(), "next": onward.hexdigest()}


def write(folder: Path) -> None:
    """Write the files of the version that is installed."""
    folder.mkdir(parents=True, exist_ok=True)
    expected = {}
    for name, spec in SPECS.items():
        index = guided.compile(spec, VOCABULARY)
        index.save(folder / f"{name}.index")
        expected[name] = facts(index)
    (folder / EXPECTED).write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
