"""Samples of the grammars' languages, as tests/data/grammars has them: one file for each grammar, whatever parser reads them.

``accepted`` are texts of the language, and use every rule of the grammar; ``rejected`` are texts that no parser of the standard takes;
``uncovered`` are texts of the standard that the grammar leaves out, as its header says.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["FOLDER", "Samples", "samples_of"]

FOLDER = Path(__file__).resolve().parent.parent / "data" / "grammars"


@dataclass(frozen=True, slots=True)
class Samples:
    """Texts of one grammar."""

    accepted: tuple[str, ...]
    rejected: tuple[str, ...]
    uncovered: tuple[str, ...] = ()


@cache
def samples_of(name: str) -> Samples:
    """The samples of a grammar."""
    with (FOLDER / f"{name}.toml").open("rb") as file:
        table = tomllib.load(file)
    return Samples(**{key: tuple(texts) for key, texts in table.items()})
