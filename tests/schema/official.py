"""The official JSON Schema test suite, draft 2020-12, where a copy of it lies at hand.

The folder ``json-schema-test-suite`` (with ``tests`` and ``remotes``) is looked for in ``GUIDED_DATA``, in ``tests/data``, and in the
``data`` folders beside the checkout. Where there is none, `cases` gives one that skips the test that asks, with a line that says so.
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema_specifications import REGISTRY

__all__ = ["Case", "Test", "cases", "data_folder", "folder", "registry"]

ROOT = Path(__file__).parent.parent.parent
MISSING = "not at hand: set GUIDED_DATA to the folder that holds it"
# Where the suite's remote documents are served.
HOST = "http://localhost:1234/"


@dataclass(frozen=True, slots=True)
class Test:
    """An instance and the verdict."""

    __test__ = False

    description: str
    data: Any
    valid: bool


@dataclass(frozen=True, slots=True)
class Case:
    """A schema with its instances.

    Attributes
    ----------
    kind : {"required", "format", "optional"}
    file : str
        Below the draft's folder.
    """

    kind: str
    file: str
    description: str
    schema: Any
    tests: tuple[Test, ...]

    @property
    def name(self) -> str:
        """Names the case in reports and in the ratchet."""
        return f"{self.file}: {self.description}"


def data_folder(name: str) -> Path | None:
    """The folder of data of that name, if there is one."""
    places = [Path(os.environ.get("GUIDED_DATA") or os.devnull), ROOT / "tests" / "data"]
    places += sorted(ROOT.parent.glob("*/data"))
    return next((place / name for place in places if (place / name).is_dir()), None)


def folder() -> Path | None:
    """The folder of the suite."""
    return data_folder("json-schema-test-suite")


@cache
def registry(suite: Path | None = None) -> Mapping[str, Any]:
    """The documents that schemas of a suite refer to, by URI: its remotes and the metaschemas; by default of the one at hand."""
    found: dict[str, Any] = {uri.rstrip("#"): REGISTRY[uri].contents for uri in REGISTRY}
    if (suite := suite or folder()) is not None:
        remotes = suite / "remotes"
        for path in sorted(remotes.rglob("*.json")):
            found[HOST + path.relative_to(remotes).as_posix()] = json.loads(path.read_bytes())
    return found


def cases(*kinds: str) -> list[Any]:
    """The cases of these kinds, for ``pytest.mark.parametrize``."""
    if folder() is None:
        return [pytest.param(None, marks=pytest.mark.skip(reason=f"json-schema-test-suite is {MISSING}"))]
    return [case for case in _all() if case.kind in kinds]


@cache
def _all() -> tuple[Case, ...]:
    return tuple(_read())


def _read() -> Iterator[Case]:
    suite = folder()
    assert suite is not None
    top = suite / "tests" / "draft2020-12"
    for path in sorted(top.rglob("*.json")):
        file = path.relative_to(top).as_posix()
        kind = (
            "format"
            if file.startswith("optional/format/")
            else "optional"
            if file.startswith("optional/")
            else "required"
        )
        for group in json.loads(path.read_bytes()):
            tests = tuple(Test(test["description"], test["data"], test["valid"]) for test in group["tests"])
            yield Case(kind, file, group["description"], group["schema"], tests)
