"""Compile the kernels ahead of time, into one extension module of CPython (ADR 0036).

In goes: the kernels that this process has compiled with numba (`guided.cli.warmup` runs small inputs through all of them). Out comes: a
shared library that needs neither numba nor LLVM, for every version of Python from 3.11 on (the stable ABI).

`_entries` takes the optimized LLVM code of each signature as numba shows it, without numba's Python wrappers, and emits
position-independent objects. `_source` writes C functions that check the types of arguments, release the GIL and call them. The C compiler
links all.

Only public kernels get signatures: those whose names begin with an underscore are called by kernels only. An array argument must be
aligned, C-contiguous and of the machine's byte order, and writable if the code writes it. Integers are Python's (int64), or NumPy scalars
of exactly the type. Calls with other arguments go to the fallback (`guided.kernels.jit`).
"""

import os
import re
import shlex
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numba.core import types

from guided.kernels.compiler import kernels
from guided.kernels.extension import MODULE, PROCESSORS, BuildError, file_name, processor

__all__ = ["build", "c_compiler"]


def c_compiler() -> list[str]:
    """Return the command of the C compiler, with the folders of header files.

    Raises
    ------
    BuildError
        There is no C compiler, or no header file of Python.
    """
    include = sysconfig.get_paths()["include"]
    command = shlex.split(os.environ.get("CC") or "cc")
    if shutil.which(command[0]) is None:
        raise BuildError(f"there is no C compiler ({command[0]}); CC names one")
    if not Path(include, "Python.h").is_file():
        raise BuildError(f"Python's header files are missing: there is no {include}/Python.h")
    return [*command, f"-I{include}", f"-I{np.get_include()}"]


def build(folder: Path) -> None:
    """Write the extension of all kernels that this process has compiled into a folder, beside its C source and objects.

    Raises
    ------
    BuildError
        As `c_compiler`; or the platform is not supported, or the compiler failed.
    """
    entries = {entry.key: entry for entry in _entries(processor())}
    inputs = [folder / "module.c"]
    inputs[0].write_text(_source(list(entries.values())), encoding="ascii")
    for entry in entries.values():
        inputs.append(folder / f"{entry.symbol}.o")
        inputs[-1].write_bytes(entry.code)
    # Why not the options that Python was built with: they name folders of the machine that built it.
    options = ["-shared", "-fPIC", "-O2", "-Wl,-s", "-o", str(folder / file_name())]
    done = subprocess.run([*c_compiler(), *options, *map(str, inputs)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"the C compiler failed:\n{done.stderr}")


@dataclass(frozen=True, slots=True)
class _Entry:
    """A kernel compiled for one signature."""

    kernel: str
    arguments: tuple["_Argument", ...]
    result: types.Type
    symbol: str
    code: bytes

    @property
    def key(self) -> tuple[str, tuple["_Argument", ...]]:
        """Entries with equal keys have equal code: numba compiles read-only and writable arrays apart."""
        return self.kernel, self.arguments


@dataclass(frozen=True, slots=True)
class _Argument:
    """The type of an argument: of an array's elements if it has dimensions; and whether the code writes the array."""

    type: types.Type
    n_dimensions: int = 0
    is_written: bool = False


def _entries(cpu: str) -> Iterator[_Entry]:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    triple = llvm.Target.from_triple(llvm.get_process_triple())
    machine = triple.create_target_machine(cpu=cpu, opt=3, reloc="pic", codemodel="default")
    number = 0
    for kernel in kernels():
        function = kernel.py_func
        if function.__name__.startswith("_"):
            continue
        for signature, compiled in kernel.overloads.items():
            if any(isinstance(argument, types.Literal) for argument in compiled.signature.args):
                continue  # only kernels pass constants that numba knows
            module = llvm.parse_assembly(kernel.inspect_llvm(signature))
            native = module.get_function(compiled.fndesc.llvm_func_name)
            native.name = f"kernel_{number}"
            _keep_only(native, module, machine)
            # The first two parameters are where the result and an exception go.
            is_read = iter([b"readonly" in b" ".join(argument.attributes) for argument in native.arguments][2:])
            yield _Entry(
                f"{function.__module__}.{function.__qualname__}",
                tuple(_argument(argument, is_read) for argument in compiled.signature.args),
                compiled.signature.return_type,
                f"kernel_{number}",
                machine.emit_object(module),
            )
            number += 1


def _keep_only(native: Any, module: Any, machine: Any) -> None:
    """Remove all but one function from a module, and what it does not use."""
    for value in [*module.functions, *module.global_variables]:
        if not value.is_declaration and value.name != native.name:
            value.linkage = "internal"
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))


def _argument(argument: types.Type, is_read: Iterator[bool]) -> _Argument:
    if not isinstance(argument, types.Array):
        next(is_read)
        return _Argument(argument)
    assert argument.layout == "C", argument
    assert argument.aligned, argument
    # Numba passes an array as: meminfo, parent, nitems, itemsize, data, shape, strides.
    parts = [next(is_read) for _ in range(5 + 2 * argument.ndim)]
    return _Argument(argument.dtype, argument.ndim, is_written=not parts[4])


def _source(entries: list[_Entry]) -> str:
    """Return the C source of the module."""
    by_kernel: dict[str, list[_Entry]] = {}
    for entry in entries:
        by_kernel.setdefault(entry.kernel, []).append(entry)
    functions, table = [], []
    for number, (kernel, found) in enumerate(by_kernel.items()):
        tries = "\n".join(f"    if (try_{entry.symbol}(arguments, count, &result)) return result;" for entry in found)
        functions += [_attempt(entry) for entry in found]
        functions.append(
            f"static PyObject *call_{number}(PyObject *fallback, PyObject *const *arguments, Py_ssize_t count) {{\n"
            f"    PyObject *result = NULL;\n{tries}\n    return call_fallback(fallback, arguments, count);\n}}"
        )
        short = kernel.rpartition(".")[2]
        table.append(
            f'    {{"{kernel}", {{"{short}", (PyCFunction)(void (*)(void))call_{number}, METH_FASTCALL, NULL}}}},'
        )
    condition = PROCESSORS[os.uname().machine][1]
    parts = {"MODULE": MODULE, "SUPPORTED": condition, "FUNCTIONS": "\n".join(functions), "TABLE": "\n".join(table)}
    return re.sub(r"@(\w+)@", lambda match: parts[match[1]], _TEMPLATE)


def _attempt(entry: _Entry) -> str:
    """Return the C function that calls one signature, if the arguments fit it."""
    declared, checks, values, parameters = [], [f"count == {len(entry.arguments)}"], [], []
    for place, argument in enumerate(entry.arguments):
        given = f"arguments[{place}]"
        kind = _C_TYPES[argument.type]
        if argument.n_dimensions:
            dimensions = range(argument.n_dimensions)
            written = int(argument.is_written)
            checks.append(f"is_array({given}, {kind.number}, {argument.n_dimensions}, {written})")
            array = f"((PyArrayObject *){given})"
            values += ["NULL", "NULL", f"PyArray_SIZE({array})", str(kind.size), f"PyArray_DATA({array})"]
            values += [f"PyArray_DIM({array}, {k})" for k in dimensions]
            values += [f"PyArray_STRIDE({array}, {k})" for k in dimensions]
            parameters += ["void *, void *, npy_intp, npy_intp, void *", *(["npy_intp"] * 2 * argument.n_dimensions)]
        else:
            declared.append(f"{kind.name} a{place};")
            checks.append(f"as_{kind.name}({given}, &a{place})")
            values.append(f"a{place}")
            parameters.append(kind.name)
    if entry.result == types.none:
        result, boxed = "void *", "Py_NewRef(Py_None)"
    else:
        result = _C_TYPES[entry.result].name
        boxed = _C_TYPES[entry.result].boxed
    return (
        f"int {entry.symbol}({', '.join([f'{result} *', 'void **', *parameters])});\n"
        f"static int try_{entry.symbol}(PyObject *const *arguments, Py_ssize_t count, PyObject **boxed) {{\n"
        f"    {' '.join(declared)}\n"
        f"    if (!({' && '.join(checks)})) return 0;\n"
        f"    {result} value = 0; void *raised = NULL; int status;\n"
        f"    PyThreadState *state = PyEval_SaveThread();\n"
        f"    status = {entry.symbol}({', '.join(['&value', '&raised', *values])});\n"
        f"    PyEval_RestoreThread(state);\n"
        f"    *boxed = status ? failed(status) : {boxed};\n"
        f"    return 1;\n}}"
    )


@dataclass(frozen=True, slots=True)
class _CType:
    """A type of numbers in C: its name, NumPy's number of it, its bytes, and the Python object of ``value``."""

    name: str
    number: str
    size: int
    boxed: str


_C_TYPES: dict[Any, _CType] = {
    types.boolean: _CType("npy_bool", "NPY_BOOL", 1, "PyBool_FromLong(value)"),
    types.uint8: _CType("npy_uint8", "NPY_UINT8", 1, "PyLong_FromLong(value)"),
    types.int16: _CType("npy_int16", "NPY_INT16", 2, "PyLong_FromLong(value)"),
    types.int32: _CType("npy_int32", "NPY_INT32", 4, "PyLong_FromLong(value)"),
    types.int64: _CType("npy_int64", "NPY_INT64", 8, "PyLong_FromLongLong(value)"),
    types.uint64: _CType("npy_uint64", "NPY_UINT64", 8, "PyLong_FromUnsignedLongLong(value)"),
}

_TEMPLATE = r"""
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#define NPY_NO_DEPRECATED_API NPY_1_26_API_VERSION
#define NPY_TARGET_VERSION NPY_1_26_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

static inline int is_array(PyObject *object, int type, int dimensions, int is_written) {
    if (!PyArray_Check(object)) return 0;
    PyArrayObject *array = (PyArrayObject *)object;
    int flags = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | (is_written ? NPY_ARRAY_WRITEABLE : 0);
    return PyArray_TYPE(array) == type && PyArray_NDIM(array) == dimensions
        && (PyArray_FLAGS(array) & flags) == flags && PyArray_ISNOTSWAPPED(array);
}

#define SCALAR(NAME, TYPE) \
    static inline int as_##NAME(PyObject *object, NAME *value) { \
        if (!PyArray_IsScalar(object, TYPE)) return 0; \
        PyArray_ScalarAsCtype(object, value); \
        return 1; \
    }
SCALAR(npy_uint8, UInt8)
SCALAR(npy_int16, Int16)
SCALAR(npy_int32, Int32)
SCALAR(npy_uint64, UInt64)

static inline int as_npy_int64(PyObject *object, npy_int64 *value) {
    if (PyLong_CheckExact(object)) {
        int overflow;
        *value = PyLong_AsLongLongAndOverflow(object, &overflow);
        return !overflow;
    }
    if (!PyArray_IsScalar(object, Int64)) return 0;
    PyArray_ScalarAsCtype(object, value);
    return 1;
}

static inline int as_npy_bool(PyObject *object, npy_bool *value) {
    if (!PyBool_Check(object) && !PyArray_IsScalar(object, Bool)) return 0;
    *value = (npy_bool)PyObject_IsTrue(object);
    return 1;
}

static PyObject *failed(int status) {
    PyErr_Format(PyExc_SystemError, "a compiled kernel failed with status %d", status);
    return NULL;
}

static PyObject *call_fallback(PyObject *fallback, PyObject *const *arguments, Py_ssize_t count) {
    PyObject *all = PyTuple_New(count);
    if (all == NULL) return NULL;
    for (Py_ssize_t i = 0; i < count; i++) PyTuple_SetItem(all, i, Py_NewRef(arguments[i]));
    PyObject *result = PyObject_Call(fallback, all, NULL);
    Py_DECREF(all);
    return result;
}

@FUNCTIONS@

static struct { const char *name; PyMethodDef method; } kernels[] = {
@TABLE@
};

static PyObject *bind(PyObject *module, PyObject *arguments) {
    const char *name;
    PyObject *fallback;
    if (!PyArg_ParseTuple(arguments, "sO", &name, &fallback)) return NULL;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (!strcmp(kernels[i].name, name)) return PyCFunction_NewEx(&kernels[i].method, fallback, NULL);
    return Py_NewRef(Py_None);
}

static PyMethodDef methods[] = {{"bind", bind, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "@MODULE@", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_@MODULE@(void) {
    if (!(@SUPPORTED@)) {
        PyErr_SetString(PyExc_ImportError, "this processor lacks the instructions that they were compiled for");
        return NULL;
    }
    import_array();
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL) PyModule_AddIntConstant(module, "n_kernels", sizeof kernels / sizeof *kernels);
    return module;
}
"""
