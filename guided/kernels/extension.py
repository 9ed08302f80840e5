"""The extension module of kernels that were compiled ahead of time: where it is, and whether it is of the present sources.

Its name has a hash of all sources of kernels, so an extension of other sources is never loaded. A wheel for a platform has it in this
package; ``guided warmup`` writes it into the cache folder (`guided.kernels.build` makes it). It is not used with ``NUMBA_DISABLE_JIT`` or
``NUMBA_BOUNDSCHECK``, on processors without the instructions that it was compiled for, nor with ``GUIDED_COMPILED_KERNELS=0``.
"""

import hashlib
import logging
import os
import sys
from functools import cache
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any

__all__ = [
    "MODULE",
    "PROCESSORS",
    "BuildError",
    "cache_path",
    "count",
    "file_name",
    "is_wanted",
    "load",
    "path",
    "processor",
    "sources_hash",
]

# Name of the module, which names its initialization function.
MODULE = "guided_compiled_kernels"
# By machine: the processor compiled for, as LLVM names it, and the C expression that tells whether the present one has its instructions.
PROCESSORS = {"x86_64": ("x86-64-v3", '__builtin_cpu_supports("x86-64-v3")'), "aarch64": ("generic", "1")}
# Number of extensions kept side by side in a cache folder: those of other versions of the sources.
_KEPT = 4
_PACKAGE = Path(__file__).parent
_logger = logging.getLogger("guided.kernels")


class BuildError(Exception):
    """The extension cannot be built here; the message says what is missing."""


@cache
def load() -> Any:
    """Return the extension module; None if there is none for these sources, this platform and this environment.

    Its ``bind(name, fallback)`` returns the callable of a kernel, which calls ``fallback`` for arguments that fit no signature, or None.
    """
    found = path()
    if found is None or not is_wanted():
        return None
    try:
        return _import(found)
    except ImportError as error:
        _logger.warning("the compiled kernels in %s cannot be used: %s", found, error)
        return None


def count(extension: Path) -> int:
    """Return the number of kernels in an extension."""
    found: int = _import(extension).n_kernels
    return found


def is_wanted() -> bool:
    """Return whether the environment lets an extension be used."""
    modes = ("NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK")
    is_plain = all(os.environ.get(mode, "0") in ("", "0") for mode in modes)
    return is_plain and os.environ.get("GUIDED_COMPILED_KERNELS") != "0"


def processor() -> str:
    """Return the processor that extensions are compiled for.

    Raises
    ------
    BuildError
        There are none for this platform.
    """
    machine = _machine() if sys.platform == "linux" else sys.platform
    if machine not in PROCESSORS:
        supported = " and ".join(PROCESSORS)
        raise BuildError(f"kernels can be compiled ahead of time on Linux with {supported} only, not on {machine}")
    return PROCESSORS[machine][0]


def path() -> Path | None:
    """Return the file of the extension: the wheel's, or the one in the cache folder; None if there is neither."""
    name = file_name()
    candidates = (_PACKAGE / name, *(folder / name for folder in _cache_folders()))
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def cache_path() -> Path:
    """Return where to write an extension: in the first folder that can be written, where the oldest ones are removed.

    Raises
    ------
    OSError
        No folder can be written.
    """
    for folder in _cache_folders():
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            _remove_oldest(folder)
            return folder / file_name()
    raise OSError("no writable cache folder for compiled kernels: set NUMBA_CACHE_DIR to a writable folder")


def file_name() -> str:
    """Return the name of the extension of the present sources, for this platform."""
    return f"{MODULE}-{sources_hash()}-{sys.platform}-{_machine()}.so"


@cache
def sources_hash() -> str:
    """Return a hash of all sources that kernels import, and of what compiles them. About 1 ms."""
    digest = hashlib.sha256()
    for source in [*_PACKAGE.parent.glob("arrays.py"), *sorted(_PACKAGE.glob("*.py"))]:
        data = source.read_bytes()
        digest.update(f" {source.name} {len(data)} ".encode() + data)
    return digest.hexdigest()[:16]


def _remove_oldest(folder: Path) -> None:
    """Leave room for one more extension."""
    found = sorted(folder.glob(f"{MODULE}-*.so"), key=lambda other: other.stat().st_mtime, reverse=True)
    for other in found[_KEPT - 1 :]:
        other.unlink(missing_ok=True)


def _import(extension: Path) -> Any:
    loader = ExtensionFileLoader(MODULE, str(extension))
    module = module_from_spec(ModuleSpec(MODULE, loader, origin=str(extension)))
    loader.exec_module(module)
    return module


def _machine() -> str:
    return os.uname().machine if hasattr(os, "uname") else "unknown"


def _cache_folders() -> list[Path]:
    """Return the folders that may hold an extension, as numba chooses those of its cache."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    if named:
        return [Path(named)]
    user = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return [_PACKAGE / "__pycache__", Path(user) / "guided"]
