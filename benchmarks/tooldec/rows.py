"""Rows: one measurement each, kept as JSON lines, so that a run can be stopped anywhere and goes on where it stood.

A row is known by experiment, setting, arm, problem and seed, and by a digest of what it was measured on (prompt, tools, model); a row
whose digest is another one does not count. Rows are appended and flushed one by one; a last line that was cut short is dropped.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Job", "Journal", "Row", "digest"]

Row = dict[str, Any]
KEYS = ("experiment", "setting", "arm", "problem", "seed")


@dataclass(frozen=True, slots=True)
class Job:
    """One measurement to be made.

    Attributes
    ----------
    key : tuple
        Experiment, setting, arm, problem, seed.
    digest : str
        Of what it is measured on.
    measure : callable
        Makes the rest of the row.
    """

    key: tuple[str, str, str, str, int]
    digest: str
    measure: Callable[[], Mapping[str, Any]]


class Journal:
    """The rows of one experiment in a file.

    Parameters
    ----------
    path : Path
        Made on the first row.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows: dict[tuple[Any, ...], Row] = {}
        for row in _read(path):
            self._rows[tuple(row[key] for key in KEYS)] = row

    def has(self, job: Job) -> bool:
        """Is there a row of this job, measured on the same?"""
        found = self._rows.get(job.key)
        return found is not None and found["digest"] == job.digest

    def add(self, job: Job) -> Row:
        """Measure, and keep the row."""
        row = {**dict(zip(KEYS, job.key, strict=True)), "digest": job.digest, **job.measure()}
        self._rows[job.key] = row
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
        return row

    def of(self, jobs: Sequence[Job]) -> list[Row]:
        """The rows of these jobs that there are, in their order."""
        return [self._rows[job.key] for job in jobs if self.has(job)]

    def found(self, *key: Any) -> Row | None:
        """The row of a key, if there is one."""
        return self._rows.get(key)


def digest(*parts: object) -> str:
    """A short digest of what something is measured on."""
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:12]


def _read(path: Path) -> Iterator[Row]:
    if not path.exists():
        return
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            yield json.loads(line)
        except json.JSONDecodeError as error:
            if number == len(lines):
                # Why rewritten: what is appended next must begin a line of its own.
                path.write_text("".join(line + "\n" for line in lines[:-1]), encoding="utf-8")
                return
            raise SystemExit(f"{path}, line {number}: {error}") from error
