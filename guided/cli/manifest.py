"""``manifest.json``: the list of index files in a folder, used to skip specs that are up to date.

An entry is a function of its spec, its vocabulary and the release, so the same input gives the same bytes: it contains no times and no
machine-specific paths. Entries of several runs are kept side by side, by name.

An index is up to date if its entry has the same spec, vocabulary, format and release of guided, and its file has the hash in the entry.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guided.errors import GuidedError
from guided.files import open_regular, read_text, replace_file

if TYPE_CHECKING:
    from guided.engine.specs import AnySpec
    from guided.vocabulary.vocabulary import Vocabulary

__all__ = [
    "COMPILED",
    "FAILED",
    "MANIFEST",
    "UP_TO_DATE",
    "Outcome",
    "file_name",
    "identity",
    "is_up_to_date",
    "read_manifest",
    "release",
    "sha256_of",
    "write_manifest",
]

MANIFEST = "manifest.json"
COMPILED, UP_TO_DATE, FAILED = "compiled", "up to date", "failed"
_VERSION = 1

Entry = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one spec."""

    # Name of the spec.
    name: str
    # `COMPILED`, `UP_TO_DATE` or `FAILED`.
    status: str
    # Its entry in the manifest.
    entry: Entry
    # Error message for people.
    message: str = ""


def identity(
    name: str, kind: str, spec: "AnySpec | None", vocabulary: "Vocabulary", explore: int = 0
) -> dict[str, Any]:
    """The part of an entry that determines the index; ``explore``: the number of states computed in advance."""
    from guided.engine.specs import needs_stack
    from guided.index.storage import FORMAT_VERSION

    return {
        "name": name,
        "kind": kind,
        "spec": None if spec is None else spec.fingerprint,
        "vocabulary": vocabulary.fingerprint,
        "tokens": len(vocabulary),
        "format": FORMAT_VERSION,
        "guided": release(),
        **({"explore": explore} if needs_stack(spec) else {}),
    }


def release() -> str:
    """The release of guided; empty where it runs without the metadata of its distribution, such as from a copied folder."""
    try:
        return version("guided-decoding")
    except PackageNotFoundError:
        return ""


def file_name(name: str) -> str:
    """Name of the index file of a spec."""
    return f"{name}.index"


def read_manifest(folder: Path) -> dict[str, Entry]:
    """The entries in a folder by name; empty if there is no readable manifest."""
    try:
        document = json.loads(read_text(folder / MANIFEST))
        if document["version"] != _VERSION:
            return {}
        return {str(entry["name"]): entry for entry in document["indices"]}
    # Why: a damaged manifest is rebuilt.
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}


def write_manifest(folder: Path, entries: Iterable[Entry]) -> None:
    """Write the entries, sorted by name, atomically.

    Raises
    ------
    GuidedError
        The folder is not writable.
    """
    ordered = sorted(entries, key=lambda entry: str(entry["name"]))
    text = json.dumps({"version": _VERSION, "indices": ordered}, indent=1, default=str) + "\n"
    try:
        replace_file(folder / MANIFEST, text)
    except OSError as error:
        raise GuidedError(f"{folder / MANIFEST} cannot be written: {error.strerror or error}") from error


def is_up_to_date(folder: Path, entry: Entry, current: Mapping[str, Any]) -> bool:
    """Return whether an entry agrees with ``current``, and its file with the entry. O(bytes of the file).

    Without a known release nothing is up to date.
    """
    if not current["guided"]:
        return False
    if entry.get("status") != "ok" or any(entry.get(key) != value for key, value in current.items()):
        return False
    return sha256_of(folder / file_name(str(entry["name"]))) == entry.get("sha256")


def sha256_of(path: Path) -> str | None:
    """SHA-256 of a file in hex; None if it cannot be read."""
    try:
        with open_regular(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
