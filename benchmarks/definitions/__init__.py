"""The benchmarks' definitions: TOML, the same for every engine, with the counts that make each benchmark a test.

`load` reads them. The counts of a vocabulary that is new are printed, ready to be pasted, by

    python -m benchmarks.definitions VOCABULARY_NAME ...

which counts with the walk per state (`benchmarks.engines.walk`), not with the index. What a step means: at each of the
``len(tokens) + 1`` places of a text that is cut into tokens, how many tokens may come next, EOS not counted.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["SPELLINGS", "Pattern", "load"]

_FOLDER = Path(__file__).parent
# Why so few groups: more of them would slow an engine whose parser is slow. Ten slow none by what can be measured.
_GROUPS = 10
SPELLINGS = 1 << _GROUPS


@dataclass(frozen=True, slots=True)
class Pattern:
    """One pattern and what is known of it.

    Attributes
    ----------
    name, about : str
        Its name in tables; what it describes.
    regex : str
        In the common part of all engines' dialects.
    texts, refused : tuple of str
        Texts that match as a whole, and that do not.
    states : int
        States of the minimal byte automaton.
    allowed : mapping of str to int
        By vocabulary: tokens allowed at all steps of all texts together, EOS not counted.
    """

    name: str
    about: str
    regex: str
    texts: tuple[str, ...]
    refused: tuple[str, ...]
    states: int
    allowed: Mapping[str, int]

    def fresh(self, number: int) -> str:
        """The regex in a spelling of its own: the same language inside groups, capturing or not by the bits of ``number``.

        Raises
        ------
        ValueError
            There are not so many spellings.
        """
        if not 0 <= number < SPELLINGS:
            raise ValueError(f"spellings are numbered from 0 to {SPELLINGS - 1}, not {number}")
        bits = [number >> bit & 1 for bit in range(_GROUPS)]
        return "".join("(" if bit else "(?:" for bit in bits) + self.regex + ")" * _GROUPS


def load(path: Path = _FOLDER / "regex.toml") -> dict[str, Pattern]:
    """All patterns by name, in the order of the file."""
    found = {}
    for entry in tomllib.loads(path.read_text(encoding="utf-8"))["pattern"]:
        regex = entry["regex"] if "regex" in entry else "|".join(map(re.escape, entry["options"]))
        found[entry["name"]] = Pattern(
            name=entry["name"],
            about=entry["about"],
            regex=regex,
            texts=tuple(entry["texts"]),
            refused=tuple(entry["refused"]),
            states=entry["states"],
            allowed=entry["allowed"],
        )
    return found
