"""Kernels without code compiled ahead of time: Python runs them until numba is worth its time, with the same results."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from guided.arrays import Int32Array, Int64Array
from guided.kernels import copying, jit
from guided.kernels.jit import compile_at_once, python_function
from tests.kernels.digest import digest
from tests.kernels.test_modes import run

pytestmark = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")


def doubled(value: int) -> int:
    return 2 * value


def total(values: Int32Array) -> tuple[int, bool]:
    found = np.int64(0)
    for k in range(len(values)):
        found += doubled(values[k])
    return found, found > 3


copy = copying._copy


def copied(source: Int64Array, target: Int64Array) -> None:
    copy(target[0], source[0], 20)


def kernels(monkeypatch: pytest.MonkeyPatch) -> jit._Uncompiled:
    """The kernel of `total`, which calls that of `doubled`."""
    monkeypatch.setitem(globals(), "doubled", jit._Uncompiled(python_function(doubled), is_inlined=False))
    return jit._Uncompiled(total, is_inlined=False)


def is_compiled(kernel: jit._Uncompiled) -> bool:
    return kernel._dispatcher is not None


def test_small_inputs_are_run_as_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "_PATIENCE", np.inf)
    monkeypatch.setitem(sys.modules, "guided.kernels.compiler", None)  # type: ignore[arg-type]
    kernel = kernels(monkeypatch)
    result = kernel(np.arange(4, dtype=np.int32))
    assert result == (12, True)
    assert [type(value) for value in result] == [int, bool]
    assert not is_compiled(kernel)
    assert not is_compiled(globals()["doubled"])
    assert python_function(kernel) is total  # type: ignore[arg-type]


def test_large_inputs_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = kernels(monkeypatch)
    assert kernel(np.ones(jit._LARGE + 1, np.int32)) == (2 * jit._LARGE + 2, True)
    assert is_compiled(kernel)


def test_a_kernel_that_took_long_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "_PATIENCE", np.inf)
    monkeypatch.setitem(sys.modules, "guided.kernels.compiler", None)  # type: ignore[arg-type]
    kernel = kernels(monkeypatch)
    values = np.arange(4, dtype=np.int32)
    assert kernel(values) == (12, True)
    assert not is_compiled(kernel)
    monkeypatch.undo()
    monkeypatch.setattr(jit, "_PATIENCE", 0.0)
    monkeypatch.setitem(globals(), "doubled", jit._Uncompiled(doubled, is_inlined=False))
    assert kernel(values) == (12, True)
    assert is_compiled(kernel)


def test_a_kernel_in_the_cache_of_numba_is_loaded_once_numba_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "_PATIENCE", np.inf)
    values = np.arange(4, dtype=np.int32)
    with compile_at_once():
        first = kernels(monkeypatch)
        first(values)
    assert is_compiled(first)
    second = kernels(monkeypatch)
    assert second(values) == (12, True)
    assert is_compiled(second)


def test_what_only_numba_can_run_is_compiled() -> None:
    kernel = jit._Uncompiled(copied, is_inlined=False)
    source, target = np.arange(5, dtype=np.int32), np.zeros(5, np.int32)
    kernel(np.array([source.ctypes.data]), np.array([target.ctypes.data]))
    assert target.tolist() == source.tolist()
    assert is_compiled(kernel)


@pytest.mark.slow
def test_indices_without_compiled_kernels_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert run("GUIDED_COMPILED_KERNELS", "-m", "tests.kernels.digest").split() == digest()
