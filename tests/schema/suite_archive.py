"""The official test suite of all drafts, from the source archive of `jsonschema` on PyPI: fetched once, kept in a cache folder."""

import hashlib
import re
import tarfile
import tempfile
import urllib.request
from functools import cache
from pathlib import Path

from tests.real_vocabularies import cache_folder

__all__ = ["NAME", "SHA256", "archived_suite"]

NAME = "jsonschema-4.26.0.tar.gz"
SHA256 = "0c26707e2efad8aa1bfc5b7ce170f3fccc2e4918ff85989ba9ffa9facb2be326"
_INDEX = "https://pypi.org/simple/jsonschema/"


@cache
def archived_suite() -> tuple[Path | None, str]:
    """The folder with ``tests`` and ``remotes``; or none, and why."""
    folder = cache_folder() / NAME.removesuffix(".tar.gz") / "json"
    if folder.is_dir():
        return folder, ""
    try:
        _fetch(folder)
    except OSError as error:
        return None, f"{NAME} is not in {folder.parent.parent} and was not fetched: {error}"
    return folder, ""


def _fetch(folder: Path) -> None:
    """Put the suite in place by one rename, so that parallel runs never see half of it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with urllib.request.urlopen(_INDEX, timeout=60) as answer:
        page = answer.read().decode()
    link = re.search(rf'href="([^"#]*/{re.escape(NAME)})', page)
    if link is None:
        raise OSError(f"{_INDEX} does not list it")
    with urllib.request.urlopen(link[1], timeout=120) as answer:
        data = answer.read()
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise OSError("its checksum is another")
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        archive = Path(scratch) / NAME
        archive.write_bytes(data)
        with tarfile.open(archive) as content:
            content.extractall(scratch, filter="data")
        try:
            (Path(scratch) / NAME.removesuffix(".tar.gz") / "json").rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
