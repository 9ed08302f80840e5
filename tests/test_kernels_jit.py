"""The cache of kernels: edits of what they import take effect, and where no folder can be written there is one warning.

Each test runs a copy of the package in a process of its own. To be unable to write also for root, ``__pycache__`` is a
file there, and HOME a place below a device.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import guided
from guided.kernels import pushdown
from guided.kernels.jit import python_function

pytestmark = pytest.mark.slow

PACKAGE = Path(guided.__file__).resolve().parent
WARNING = "no writable cache folder for compiled kernels"

PROBE = '''"""Two kernels, one of them called by the other."""

import numpy as np

from guided.kernels.jit import kernel


@kernel
def double(value: int) -> int:
    return 2 * value


@kernel
def sum_of_doubles(values: "np.ndarray[tuple[int], np.dtype[np.int32]]") -> int:
    total = 0
    for index in range(len(values)):
        total += double(values[index])
    return total
'''

RUN_PROBE = """
import numpy as np
from guided.kernels.probe import double, sum_of_doubles
print(double(21), sum_of_doubles(np.arange(4, dtype=np.int32)))
print("from the cache" if double.stats.cache_hits else "compiled")
"""

COMPILED = "42 12\ncompiled\n"
CACHED = "42 12\nfrom the cache\n"

IMPORT_ALL = """
import importlib, pkgutil
import guided.kernels
names = [module.name for module in pkgutil.iter_modules(guided.kernels.__path__)]
for name in names:
    importlib.import_module(f"guided.kernels.{name}")
print(*names)
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with a copy of the package, a module of two kernels in it."""
    target = tmp_path / "site"
    shutil.copytree(PACKAGE, target / "guided", ignore=shutil.ignore_patterns("__pycache__"))
    (target / "guided" / "kernels" / "probe.py").write_text(PROBE, encoding="utf-8")
    return target


def run(copy: Path, program: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("NUMBA_", "XDG_", "COV_", "COVERAGE_"))
    }
    # Why -B: Python itself must not make the folder that numba is to find missing.
    return subprocess.run(
        [sys.executable, "-B", "-W", "always", "-c", program],
        env=inherited | {"PYTHONPATH": str(copy), "GUIDED_PROGRESS": "0"} | environment,
        cwd=copy.parent,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )


def forbid_writing(copy: Path) -> dict[str, str]:
    """Make the copy's ``__pycache__`` unusable; the environment that does the same to the user's folders."""
    (copy / "guided" / "kernels" / "__pycache__").write_text("not a folder", encoding="utf-8")
    return {"HOME": "/dev/null/home", "XDG_CACHE_HOME": "/dev/null/cache", "LOCALAPPDATA": "/dev/null/local"}


INTEGERS = """
import numpy as np
from guided.kernels.jit import kernel

@kernel
def _double(value: int) -> int:
    return 2 * value

@kernel
def doubles(values: "np.ndarray[tuple[int], np.dtype[np.int32]]", small: "np.ndarray[tuple[int], np.dtype[np.uint8]]") -> int:
    return _double(values[0]) + _double(small[0]) + _double(1) + _double(len(values)) + _double(True)
"""

RUN_INTEGERS = """
import numpy as np
from guided.kernels.integers import _double, doubles
print(doubles(np.array([-3], np.int32), np.array([255], np.uint8)), *_double.signatures)
"""


def test_integers_that_kernels_pass_to_others_need_one_signature(copy: Path) -> None:
    (copy / "guided" / "kernels" / "integers.py").write_text(INTEGERS, encoding="utf-8")
    assert run(copy, RUN_INTEGERS).stdout == "510 (int64,) (bool,)\n"


def test_without_a_writable_cache_kernels_work_and_warn_once(copy: Path) -> None:
    done = run(copy, RUN_PROBE, **forbid_writing(copy))
    assert done.stdout == COMPILED
    assert done.stderr.count(WARNING) == 1
    assert "Set NUMBA_CACHE_DIR to a writable folder" in done.stderr
    assert "RuntimeWarning" in done.stderr


def test_without_a_writable_cache_every_kernel_can_be_imported(copy: Path) -> None:
    done = run(copy, IMPORT_ALL, **forbid_writing(copy))
    assert {"jit", "probe"} <= set(done.stdout.split())
    assert done.stderr.count(WARNING) == 1


def test_a_folder_that_the_user_names_is_used(copy: Path, tmp_path: Path) -> None:
    environment = forbid_writing(copy) | {"NUMBA_CACHE_DIR": str(tmp_path / "named")}
    first, second = (run(copy, RUN_PROBE, **environment) for _ in range(2))
    assert (first.stdout, second.stdout) == (COMPILED, CACHED)
    assert first.stderr == second.stderr == ""
    assert list((tmp_path / "named").rglob("*.nbi"))


def test_a_writable_install_caches_beside_the_source(copy: Path) -> None:
    done = run(copy, RUN_PROBE)
    assert done.stdout == COMPILED
    assert done.stderr == ""
    assert list((copy / "guided" / "kernels" / "__pycache__").glob("guided-*/probe.double*.nbi"))


def test_any_other_failure_of_the_cache_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    from guided.kernels import compiler

    def refuse(function: object) -> object:
        raise RuntimeError("unknown locator")

    monkeypatch.setattr(compiler, "_Cache", refuse)
    with pytest.raises(RuntimeError, match="unknown locator"):
        compiler.dispatcher(lambda value: value)


SHARED = """
from guided.kernels.jit import kernel
FACTOR = {factor}
@kernel
def scaled(value: int) -> int:
    return FACTOR * value {more}
"""
USER = """
from guided.kernels.jit import kernel
from guided.kernels.shared import FACTOR, scaled
@kernel
def both(value: int) -> int:
    return 100 * scaled(value) + FACTOR
"""
RUN_USER = """
from guided.kernels.user import both
print(both(3), "from the cache" if both.stats.cache_hits else "compiled")
"""


def folders(copy: Path) -> set[str]:
    return {path.name for path in (copy / "guided" / "kernels" / "__pycache__").glob("guided-*")}


def test_an_edit_of_an_imported_constant_or_kernel_takes_effect(copy: Path) -> None:
    kernels = copy / "guided" / "kernels"
    (kernels / "user.py").write_text(USER, encoding="utf-8")
    for factor, more, expected in [(2, "", 602), (5, "", 1505), (5, "+ 1", 1605)]:
        (kernels / "shared.py").write_text(SHARED.format(factor=factor, more=more), encoding="utf-8")
        assert run(copy, RUN_USER).stdout == f"{expected} compiled\n"
        assert run(copy, RUN_USER).stdout == f"{expected} from the cache\n"
    # The folders of the versions before are kept, so a return to one of them compiles nothing.
    (kernels / "shared.py").write_text(SHARED.format(factor=2, more=""), encoding="utf-8")
    assert run(copy, RUN_USER).stdout == "602 from the cache\n"


def test_code_with_bounds_checks_has_a_folder_of_its_own(copy: Path) -> None:
    assert run(copy, RUN_PROBE).stdout == COMPILED
    assert run(copy, RUN_PROBE, NUMBA_BOUNDSCHECK="1").stdout == COMPILED
    assert len(folders(copy)) == 2
    assert run(copy, RUN_PROBE).stdout == CACHED
    assert run(copy, RUN_PROBE, NUMBA_BOUNDSCHECK="1").stdout == CACHED


def test_the_oldest_folders_are_removed(copy: Path) -> None:
    from guided.kernels.compiler import _KEPT

    parent = copy / "guided" / "kernels" / "__pycache__"
    for age in range(6):
        (parent / f"guided-{age}").mkdir(parents=True)
        os.utime(parent / f"guided-{age}", (1000 - age, 1000 - age))
    (parent / "probe.pyc").write_bytes(b"")
    assert run(copy, RUN_PROBE).stdout == COMPILED
    (new,) = folders(copy) - {f"guided-{age}" for age in range(6)}
    assert folders(copy) == {new, *(f"guided-{age}" for age in range(_KEPT - 1))}
    assert (parent / "probe.pyc").exists()


def test_python_hashes_negative_numbers() -> None:
    rows, slots = np.zeros((4, 3), np.int32), np.full(8, -1, np.int32)
    enter = python_function(pushdown._enter)
    with np.errstate(over="ignore"):
        assert [enter(-1, -2, i, rows, slots, max(i, 0)) for i in (-1, 1, 2)] == [0, 1, 2]
    assert rows.tolist() == [[-1, -2, -1], [-1, -2, 1], [-1, -2, 2], [0, 0, 0]]
