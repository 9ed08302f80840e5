"""``guided warmup``: compile every kernel in advance.

Where a C compiler is at hand, into an extension that later processes load without numba (`guided.kernels.build`); otherwise into numba's
cache. A wheel for the platform has the extension already.

`guided.generate.warming` runs small inputs through all of them.
"""

import logging
import os
import pkgutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from guided.cli.boundary import ACCEPTED, UsageError
from guided.cli.output import console, print_json
from guided.cli.specs import JsonOption
from guided.progress import announcement, progress

# Beginning of the records of `guided.kernels.compiler`.
_COMPILED = "compiled "

__all__ = ["build_extension", "kernels", "warmup"]


def warmup(as_json: JsonOption = False) -> int:
    """Compile all kernels now, so that nothing has to wait for it later.

    Needed once per machine (about a minute), unless the installed wheel has compiled kernels. With a C compiler, later processes load the
    code without numba; otherwise from numba's cache. NUMBA_CACHE_DIR sets the folder. Each kernel is shown on stderr.
    """
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        raise UsageError("nothing to compile: NUMBA_DISABLE_JIT switches numba's compiler off")
    from guided.generate.warming import warm
    from guided.kernels import extension

    begin = time.perf_counter()
    compiled, reason = 0, ""
    with progress("compiling kernels") as say:

        def advance(what: str) -> None:
            say(f"compiling kernels: {what}")
            if what.startswith(_COMPILED):
                announcement(what)

        path = extension.path()
        if extension.is_wanted() and path is None:
            try:
                path = extension.cache_path()
                compiled = build_extension(path, advance)
            except (extension.BuildError, OSError) as error:
                path, reason = None, str(error)
        if path is None or not extension.is_wanted():
            _import_all()
            with _each_kernel(advance):
                warm(advance)
            found = kernels()
            compiled = sum(sum(kernel.stats.cache_misses.values()) for kernel in found.values())
            paths = {kernel.stats.cache_path for kernel in found.values()} - {None}
            n_kernels, place = len(found), min(map(str, paths), default=None)
        else:
            n_kernels, place = extension.count(path), str(path)
    seconds = time.perf_counter() - begin
    if as_json:
        result = {"kernels": n_kernels, "compiled": compiled, "seconds": round(seconds, 3), "cache": place}
        print_json(result | {"extension": place == str(path), "reason": reason})
        return ACCEPTED
    out = console()
    how = f"{compiled} compiled now" if compiled else "all from the cache"
    out.print(f"{n_kernels} kernels are ready after {seconds:.1f} s: {how}")
    out.print(f"cache: {place or 'none: no folder is writable, so every process compiles; set NUMBA_CACHE_DIR'}")
    if reason:
        out.print(f"no extension was built, so processes import numba: {reason}")
    return ACCEPTED


def build_extension(target: Path, advance: Callable[[str], None]) -> int:
    """Write the extension of all kernels to a file, and return the number of its kernels. Takes about a minute.

    ``target``: named `guided.kernels.extension.file_name`, in an existing folder. ``advance`` receives the name of each stage.

    Raises
    ------
    BuildError
        It cannot be built here; the message says what is missing.
    """
    from guided.kernels import extension

    # Why a process: the processor to compile for is a setting of numba's import, and code from its cache cannot be taken apart.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    root = str(Path(__file__).parents[2])
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        settings = {
            "GUIDED_COMPILED_KERNELS": "0",
            "NUMBA_CACHE_DIR": folder,
            "NUMBA_CPU_NAME": extension.processor(),
            "NUMBA_CPU_FEATURES": "",
            "PYTHONPATH": os.pathsep.join(filter(None, [root, inherited.get("PYTHONPATH")])),
        }
        program = "import sys; from guided.cli.warmup import compile_all; compile_all(sys.argv[1])"
        command = [sys.executable, "-c", program, folder]
        errors = Path(folder, "errors")
        with (
            errors.open("w") as stream,
            subprocess.Popen(
                command, env=inherited | settings, stdout=subprocess.PIPE, stderr=stream, text=True
            ) as child,
        ):
            try:
                for line in child.stdout or ():
                    advance(line.rstrip())
            except BaseException:
                child.kill()
                raise
        if child.returncode:
            lines = errors.read_text(errors="replace").splitlines() or [f"status {child.returncode}"]
            raise extension.BuildError(lines[-1].partition("BuildError: ")[2] or "\n".join(lines))
        # Why: a process that starts meanwhile finds a whole file or none.
        os.replace(Path(folder, target.name), target)
    return extension.count(target)


def compile_all(folder: str) -> None:
    """Compile all kernels in this process and write their extension into a folder; print the name of each stage."""
    from guided.generate.warming import warm
    from guided.kernels.build import build, c_compiler

    def advance(what: str) -> None:
        print(what, flush=True)

    c_compiler()
    _import_all()
    with _each_kernel(advance):
        warm(advance)
    advance("an extension of all kernels")
    build(Path(folder))


@contextmanager
def _each_kernel(advance: Callable[[str], None]) -> Iterator[None]:
    """Pass on the records of the logger ``guided.kernels``, one for each kernel that was compiled."""
    from guided.kernels.compiler import without_notice

    without_notice()
    logger, level = logging.getLogger("guided.kernels"), logging.getLogger("guided.kernels").level
    handler = _Lines(advance)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)


class _Lines(logging.Handler):
    """Passes on the messages of records."""

    def __init__(self, advance: Callable[[str], None]) -> None:
        super().__init__()
        self._advance = advance

    def emit(self, record: logging.LogRecord) -> None:
        self._advance(record.getMessage())


def _import_all() -> None:
    """Import the modules of all kernels, so that progress is measured against all of them."""
    import guided.kernels as package

    for module in pkgutil.iter_modules(package.__path__):
        pkgutil.resolve_name(f"{package.__name__}.{module.name}")


def kernels() -> dict[str, Any]:
    """Numba's dispatchers of all kernels in the loaded modules, by module and name; empty if the extension is used."""
    from guided.kernels import compiler

    return {f"{one.py_func.__module__}.{one.py_func.__qualname__}": one for one in compiler.kernels()}
