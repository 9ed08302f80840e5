"""Data of other projects, from archives on PyPI: fetched once, checked, unpacked into a cache folder, never in the repository.

The folder is that of `tests.real_vocabularies`. What cannot be fetched is skipped with a line that says so.
"""

import hashlib
import re
import shutil
import tempfile
import urllib.request
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.real_vocabularies import cache_folder, check_mark

__all__ = ["CHECK_JSONSCHEMA", "DATACITE", "FRICTIONLESS", "JSONSCHEMA", "Archive", "unpacked"]


@dataclass(frozen=True, slots=True)
class Archive:
    """A file on PyPI.

    Attributes
    ----------
    project : str
    name : str
        The file's.
    sha256 : str
        Hex.
    """

    project: str
    name: str
    sha256: str


# Its source archive has the official test suite of all drafts.
JSONSCHEMA = Archive(
    "jsonschema", "jsonschema-4.26.0.tar.gz", "0c26707e2efad8aa1bfc5b7ce170f3fccc2e4918ff85989ba9ffa9facb2be326"
)
# Schemas of configuration files, from SchemaStore.
CHECK_JSONSCHEMA = Archive(
    "check-jsonschema",
    "check_jsonschema-0.39.0-py3-none-any.whl",
    "14ce5c94871c551268ea948ffe21e9f1464dc48fb20bf9a4c13deeaaf756cf9b",
)
DATACITE = Archive(
    "datacite", "datacite-1.4.1-py3-none-any.whl", "782ca32fe423c66bc74d7b4ee39cb22190c128e1e61a188becda12fd6f91d23b"
)
FRICTIONLESS = Archive(
    "frictionless",
    "frictionless-5.21.0-py3-none-any.whl",
    "c76db03abaee4862aa04116057dbc13e788a2fc18b9be37c2d35dc07a67e1b11",
)


def unpacked(archive: Archive) -> tuple[Path | None, str]:
    """Return the folder of an archive's contents; or None and the reason why there is none."""
    check_mark()
    return _unpacked(archive)


@cache
def _unpacked(archive: Archive) -> tuple[Path | None, str]:
    folder = cache_folder() / f"{archive.name}.unpacked"
    if folder.is_dir():
        return folder, ""
    try:
        _fetch(archive, folder)
    except OSError as error:
        return None, f"{archive.name} is not in {folder.parent} and was not fetched: {error}"
    return folder, ""


def _fetch(archive: Archive, folder: Path) -> None:
    """Put the contents in place by one rename, so that parallel runs never see half of them."""
    index = f"https://pypi.org/simple/{archive.project}/"
    with urllib.request.urlopen(index, timeout=60) as answer:
        page = answer.read().decode()
    link = re.search(rf'href="([^"#]*/{re.escape(archive.name)})', page)
    if link is None:
        raise OSError(f"{index} does not list it")
    with urllib.request.urlopen(link[1], timeout=120) as answer:
        data = answer.read()
    if hashlib.sha256(data).hexdigest() != archive.sha256:
        raise OSError("its checksum is another")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        file, contents = Path(scratch) / archive.name, Path(scratch) / "contents"
        file.write_bytes(data)
        if file.suffix == ".whl":
            shutil.unpack_archive(file, contents, "zip")
        else:
            shutil.unpack_archive(file, contents, "gztar", filter="data")
        try:
            contents.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
