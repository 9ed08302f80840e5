"""`load_index`: an index back from disk, and what is checked when it comes back.

A file belongs to one spec and one vocabulary, by their fingerprints. What is read is checked for damage by digest and, unless
it is mapped, for sense: every state, function and token number is in range, so that no file can make a kernel read outside
an array.
"""

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from guided.automata.automaton import Automaton
from guided.engine.index import Index
from guided.errors import IndexFormatError
from guided.index.regular import AUTOMATON_ARRAYS, KIND, TABLE_ARRAYS, RegularIndex
from guided.index.storage import read_arrays
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["load_index"]

_SHAPES = {"table": 2}
_DTYPES = {"classes": np.uint8, "accepting": np.bool_, "row_indptr": np.int64, "group_indptr": np.int64}


def load_index(path: str | os.PathLike[str], vocabulary: Vocabulary, mmap: bool = False) -> Index:
    """Read an index that `Index.save` wrote.

    Parameters
    ----------
    path : path
        The file.
    vocabulary : Vocabulary
        The one it was compiled for.
    mmap : bool
        Map the file in place of reading it: opening costs the same whatever its size, and processes share its memory.
        Only the header is checked then, so map files that you made yourself; and never overwrite one in place while it is
        mapped, which ends the process with SIGBUS (`Index.save` replaces files, which is safe).

    Raises
    ------
    IndexFormatError
        The file is missing, damaged, of another version, or was compiled for another vocabulary.
    TypeError
        ``vocabulary`` is no Vocabulary.

    Notes
    -----
    O(bytes); O(header) with ``mmap``.
    """
    if not isinstance(vocabulary, Vocabulary):
        raise TypeError(f"a Vocabulary is expected, not {type(vocabulary).__name__}")
    fields, arrays = read_arrays(path, mmap=mmap)
    if fields.get("kind") != KIND:
        raise IndexFormatError(
            f"{path} holds an index of the kind {fields.get('kind')!r}, which this release does not know"
        )
    if fields.get("vocabulary") != vocabulary.fingerprint:
        raise IndexFormatError(
            f"{path} was compiled for another vocabulary ({str(fields.get('vocabulary'))[:12]}, {fields.get('tokens')} tokens) "
            f"than the one given ({vocabulary.fingerprint[:12]}, {len(vocabulary)} tokens): compile it for this one"
        )
    _check_table_of_arrays(path, arrays)
    if not mmap:
        _check_ranges(path, arrays, vocabulary)
    automaton = Automaton(*(arrays[name] for name in AUTOMATON_ARRAYS))
    tables = RegularIndex(automaton, vocabulary.eos, vocabulary.size, *(arrays[name] for name in TABLE_ARRAYS))
    return Index(
        tables,
        vocabulary,
        _text(path, fields, "spec"),
        _texts(path, fields, "unenforced"),
        _texts(path, fields, "notes"),
    )


def _check_table_of_arrays(path: str | os.PathLike[str], arrays: dict[str, npt.NDArray[Any]]) -> None:
    for name in (*AUTOMATON_ARRAYS, *TABLE_ARRAYS):
        array = arrays.get(name)
        if array is None or array.ndim != _SHAPES.get(name, 1) or array.dtype != _DTYPES.get(name, np.int32):
            raise IndexFormatError(f"{path} is damaged: its array {name!r} is missing or of another type")


def _check_ranges(path: str | os.PathLike[str], arrays: dict[str, npt.NDArray[Any]], vocabulary: Vocabulary) -> None:
    table, rows, groups = arrays["table"], arrays["row_indptr"], arrays["group_indptr"]
    n_states, n_tokens = len(table), len(vocabulary)
    n_functions, n_pairs, n_grouped = len(groups) - 1, len(arrays["row_functions"]), len(arrays["group_tokens"])
    per_state = all(len(arrays[name]) == n_states for name in ("accepting", "labels", "distance", "mask_of"))
    fits = (
        n_states > 0
        and per_state
        and len(arrays["classes"]) == 256
        and n_tokens <= len(arrays["token_function"]) <= vocabulary.size
        and len(arrays["row_targets"]) == n_pairs
        and _is_indptr(rows, n_states, n_pairs)
        and _is_indptr(groups, n_functions, n_grouped)
        and _within(arrays["classes"], 0, table.shape[1])
        and _within(table, -1, n_states)
        and _within(arrays["token_function"], -1, n_functions)
        and _within(arrays["row_functions"], 0, n_functions)
        and _within(arrays["row_targets"], 0, n_states)
        and _within(arrays["group_tokens"], 0, len(arrays["token_function"]))
        and _within(arrays["mask_of"], 0, len(arrays["mask_state"]))
        and _within(arrays["mask_state"], 0, n_states)
    )
    if not fits:
        raise IndexFormatError(f"{path} is damaged: its tables refer to what they do not hold")


def _is_indptr(indptr: npt.NDArray[Any], n_rows: int, n_values: int) -> bool:
    ends = len(indptr) == n_rows + 1 and indptr[0] == 0 and indptr[-1] == n_values
    return bool(ends and (np.diff(indptr) >= 0).all())


def _within(array: npt.NDArray[Any], low: int, end: int) -> bool:
    return array.size == 0 or (int(array.min()) >= low and int(array.max()) < end)


def _text(path: str | os.PathLike[str], fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise IndexFormatError(f"{path} is damaged: its field {name!r} is no text")
    return value


def _texts(path: str | os.PathLike[str], fields: dict[str, Any], name: str) -> tuple[str, ...]:
    value = fields.get(name)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise IndexFormatError(f"{path} is damaged: its field {name!r} is no list of texts")
    return tuple(value)
