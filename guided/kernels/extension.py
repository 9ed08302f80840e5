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

__all__ = ["MODULE", "cache_path", "file_name", "load", "path", "sources_hash"]

# Name of the module, which names its initialization function.
MODULE = "guided_compiled_kernels"
_PACKAGE = Path(__file__).parent
_logger = logging.getLogger("guided.kernels")


@cache
def load() -> Any:
    """Return the extension module; None if there is none for these sources, this platform and this environment.

    Its ``bind(name, fallback)`` returns the callable of a kernel, which calls ``fallback`` for arguments that fit no signature, or None.
    """
    found = path()
    if found is None or not _is_wanted():
        return None
    loader = ExtensionFileLoader(MODULE, str(found))
    try:
        module = module_from_spec(ModuleSpec(MODULE, loader, origin=str(found)))
        loader.exec_module(module)
    except ImportError as error:
        _logger.warning("the compiled kernels in %s cannot be used: %s; numba compiles them instead", found, error)
        return None
    return module


def path() -> Path | None:
    """Return the file of the extension: the wheel's, or the one in the cache folder; None if there is neither."""
    name = file_name()
    candidates = (_PACKAGE / name, *(folder / name for folder in _cache_folders()))
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def cache_path() -> Path:
    """Return where to write an extension: in the first folder that can be written.

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
            return folder / file_name()
    raise OSError("no writable cache folder for compiled kernels: set NUMBA_CACHE_DIR to a writable folder")


def file_name() -> str:
    """Return the name of the extension of the present sources, for this platform."""
    machine = os.uname().machine if hasattr(os, "uname") else "unknown"
    return f"{MODULE}-{sources_hash()}-{sys.platform}-{machine}.so"


@cache
def sources_hash() -> str:
    """Return a hash of all sources that kernels import, and of what compiles them. About 1 ms."""
    digest = hashlib.sha256()
    for source in [*_PACKAGE.parent.glob("arrays.py"), *sorted(_PACKAGE.glob("*.py"))]:
        data = source.read_bytes()
        digest.update(f" {source.name} {len(data)} ".encode() + data)
    return digest.hexdigest()[:16]


def _is_wanted() -> bool:
    modes = ("NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK")
    return os.environ.get("GUIDED_COMPILED_KERNELS") != "0" and all(os.environ.get(mode, "0") in ("", "0") for mode in modes)


def _cache_folders() -> list[Path]:
    """Return the folders that may hold an extension, as numba chooses those of its cache."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    if named:
        return [Path(named)]
    user = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return [_PACKAGE / "__pycache__", Path(user) / "guided"]
