"""Samples of the grammars' languages, as tests/data/grammars has them: one file for each grammar, whatever parser reads them.

``accepted`` are texts of the language, and use every rule of the grammar; ``rejected`` are texts that no parser of the standard takes;
``uncovered`` are texts of the standard that the grammar leaves out, as its header says.
"""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

__all__ = ["FOLDER", "Samples", "samples_of", "slow_if_large"]

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


def slow_if_large(names: Iterable[str]) -> list[Any]:
    """Parameters for tests of grammars, of which those of whole languages take long."""
    return [pytest.param(name, marks=[pytest.mark.slow] * (name in ("python3", "sql"))) for name in names]
