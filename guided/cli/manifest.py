"""``manifest.json``: what lies in a folder of index files, and whether a spec needs to be compiled again.

An entry is a function of its spec, its vocabulary and the release, so the same input gives the same bytes: there are no times and
no paths of a machine in it. Entries of several runs live side by side, by name.

An index is up to date if its entry names the same spec, vocabulary, format and release of guided, and its file has the bytes that
the entry says.
"""

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guided.errors import GuidedError
from guided.files import open_regular, read_text

if TYPE_CHECKING:
    from guided.engine.specs import Spec, StackSpec
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
    "sha256_of",
    "write_manifest",
]

MANIFEST = "manifest.json"
COMPILED, UP_TO_DATE, FAILED = "compiled", "up to date", "failed"
_VERSION = 1

Entry = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one spec.

    Attributes
    ----------
    name : str
        Of the spec.
    status : str
        `COMPILED`, `UP_TO_DATE` or `FAILED`.
    entry : dict
        Its entry in the manifest.
    message : str
        What went wrong, for people.
    """

    name: str
    status: str
    entry: Entry
    message: str = ""


def identity(name: str, kind: str, spec: "Spec | StackSpec | None", vocabulary: "Vocabulary") -> dict[str, Any]:
    """The part of an entry that tells whether an index would be the same."""
    from guided.index.storage import FORMAT_VERSION

    return {
        "name": name,
        "kind": kind,
        "spec": None if spec is None else spec.fingerprint,
        "vocabulary": vocabulary.fingerprint,
        "tokens": len(vocabulary),
        "format": FORMAT_VERSION,
        "guided": version("guided-decoding"),
    }


def file_name(name: str) -> str:
    """The file of a spec's index."""
    return f"{name}.index"


def read_manifest(folder: Path) -> dict[str, Entry]:
    """The entries in a folder by name; none where there is no manifest, or none that can be read."""
    try:
        document = json.loads(read_text(folder / MANIFEST))
        if document["version"] != _VERSION:
            return {}
        return {str(entry["name"]): entry for entry in document["indices"]}
    # Why: what is damaged is made anew.
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}


def write_manifest(folder: Path, entries: Iterable[Entry]) -> None:
    """Write the entries, in order of their names, in one step.

    Raises
    ------
    GuidedError
        The folder can not be written to.
    """
    ordered = sorted(entries, key=lambda entry: str(entry["name"]))
    text = json.dumps({"version": _VERSION, "indices": ordered}, indent=1, default=str) + "\n"
    temporary = None
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{MANIFEST}.", dir=folder)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        # Why: mkstemp makes files private; a manifest is as readable as the indices beside it.
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, folder / MANIFEST)
        temporary = None
    except OSError as error:
        raise GuidedError(f"{folder / MANIFEST} cannot be written: {error.strerror or error}") from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def is_up_to_date(folder: Path, entry: Entry, current: Mapping[str, Any]) -> bool:
    """Does an entry say what ``current`` says, and does its file hold what the entry says? O(bytes of the file)."""
    if entry.get("status") != "ok" or any(entry.get(key) != value for key, value in current.items()):
        return False
    return sha256_of(folder / file_name(str(entry["name"]))) == entry.get("sha256")


def sha256_of(path: Path) -> str | None:
    """SHA-256 of a file in hex; None if it can not be read."""
    try:
        with open_regular(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
