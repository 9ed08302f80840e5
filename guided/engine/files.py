"""`load_index`: an index back from disk, and what is checked when it comes back; `read_index_file`: what a file holds.

Of an index with a stack, a file holds the spec, from which the index is made anew, and the states and masks that were explored
(docs/adr/0008).

A file belongs to one spec and one vocabulary, by their fingerprints. What is read is checked for damage by digest and, unless
it is mapped, for sense: every state, function and token number is in range, so that no file can make a kernel read outside
an array.
"""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from guided.automata.automaton import Automaton
from guided.engine.compile import remake
from guided.engine.grammar import Grammar
from guided.engine.index import Index, Origin
from guided.engine.json_schema import JsonSchema
from guided.engine.marked_grammar import MarkedGrammar
from guided.engine.specs import StackSpec
from guided.engine.templates import Template
from guided.errors import GuidedError, IndexFormatError
from guided.index.pushdown import PushdownIndex
from guided.index.pushdown_files import restore
from guided.index.regular import AUTOMATON_ARRAYS, KIND, TABLE_ARRAYS, RegularIndex
from guided.index.storage import read_arrays
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["IndexFile", "add_stack_spec", "load_index", "read_index_file"]

# Specs that need a stack, by the kind of their files.
_STACK_SPECS: dict[str, type[StackSpec]] = {spec.kind: spec for spec in (JsonSchema, Template, Grammar, MarkedGrammar)}
_SHAPES = {"table": 2}
_DTYPES = {"classes": np.uint8, "accepting": np.bool_, "row_indptr": np.int64}


def add_stack_spec(spec: type[StackSpec]) -> None:
    """Have files hold indices of a kind of specs that another layer defines."""
    _STACK_SPECS[spec.kind] = spec


@dataclass(frozen=True, slots=True, eq=False)
class IndexFile:
    """What a file of an index holds; without its vocabulary it answers for whole texts, not for tokens.

    Attributes
    ----------
    automaton : Automaton or None
        The byte automaton; None where the language needs a stack.
    arrays : dict of str to ndarray
        All arrays, those of the automaton among them, in the order of the file; read-only.
    spec_fingerprint, vocabulary_fingerprint : str
        What was compiled, and for which vocabulary.
    n_tokens : int
        Token ids of the vocabulary.
    unenforced : tuple of (str, str)
    notes : tuple of str
        As those of `Index`.
    origin : Origin or None
        What an index with a stack is made of.
    """

    automaton: Automaton | None
    arrays: dict[str, npt.NDArray[Any]]
    spec_fingerprint: str
    vocabulary_fingerprint: str
    n_tokens: int
    unenforced: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    origin: Origin | None = None


def read_index_file(path: str | os.PathLike[str]) -> IndexFile:
    """Read what `Index.save` wrote, whatever vocabulary it was compiled for. O(bytes).

    Raises
    ------
    IndexFormatError
        The file is missing, damaged, or of another version.
    """
    found = _read(path, mmap=False)
    if found.automaton is not None:
        _check_ranges(path, found.arrays, found.n_tokens, None)
    return found


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
    found = _read(path, mmap=mmap)
    if found.vocabulary_fingerprint != vocabulary.fingerprint:
        raise IndexFormatError(
            f"{path} was compiled for another vocabulary ({found.vocabulary_fingerprint[:12]}, {found.n_tokens} tokens) "
            f"than the one given ({vocabulary.fingerprint[:12]}, {len(vocabulary)} tokens): compile it for this one"
        )
    if found.automaton is None:
        return _with_stack(path, found, vocabulary)
    if not mmap:
        _check_ranges(path, found.arrays, len(vocabulary), vocabulary.size)
    tables = RegularIndex(
        found.automaton, vocabulary.eos, vocabulary.size, *(found.arrays[name] for name in TABLE_ARRAYS)
    )
    return Index(tables, vocabulary, found.spec_fingerprint, found.unenforced, found.notes)


def _with_stack(path: str | os.PathLike[str], found: IndexFile, vocabulary: Vocabulary) -> Index:
    assert found.origin is not None
    try:
        index = found.origin.remake(found.origin, vocabulary)
        assert isinstance(index.tables, PushdownIndex)
        restore(index.tables, found.arrays)
    except (ValueError, GuidedError) as error:
        raise IndexFormatError(f"{path} is damaged: {error}") from error
    if index.spec_fingerprint != found.spec_fingerprint:
        raise IndexFormatError(f"{path} is damaged: its spec is another than its fingerprint says")
    return index


def _read(path: str | os.PathLike[str], *, mmap: bool) -> IndexFile:
    """The content of a file; with ``mmap`` nothing behind its header is looked at."""
    fields, arrays = read_arrays(path, mmap=mmap)
    kind = fields.get("kind")
    has_stack = isinstance(kind, str) and kind in _STACK_SPECS
    if kind != KIND and not has_stack:
        raise IndexFormatError(f"{path} holds an index of the kind {kind!r}, which this release does not know")
    if not has_stack:
        _check_table_of_arrays(path, arrays)
    return IndexFile(
        None if has_stack else Automaton(*(arrays[name] for name in AUTOMATON_ARRAYS)),
        arrays,
        _text(path, fields, "spec"),
        _text(path, fields, "vocabulary"),
        _number(path, fields, "tokens"),
        tuple(_pair(each) for each in _texts(path, fields, "unenforced")),
        _texts(path, fields, "notes"),
        _origin(path, str(kind), fields, arrays.pop("data", None)) if has_stack else None,
    )


def _origin(path: str | os.PathLike[str], kind: str, fields: dict[str, Any], data: npt.NDArray[Any] | None) -> Origin:
    try:
        text = _text(path, fields, "data") if data is None else data.tobytes().decode("utf-8", "surrogatepass")
        spec = _STACK_SPECS[kind].from_data(text)
    except ValueError as error:
        raise IndexFormatError(f"{path} is damaged: {error}") from error
    return Origin(remake, spec, _limits(path, fields))


def _check_table_of_arrays(path: str | os.PathLike[str], arrays: dict[str, npt.NDArray[Any]]) -> None:
    for name in (*AUTOMATON_ARRAYS, *TABLE_ARRAYS):
        array = arrays.get(name)
        if array is None or array.ndim != _SHAPES.get(name, 1) or array.dtype != _DTYPES.get(name, np.int32):
            raise IndexFormatError(f"{path} is damaged: its array {name!r} is missing or of another type")


def _check_ranges(
    path: str | os.PathLike[str], arrays: dict[str, npt.NDArray[Any]], n_tokens: int, size: int | None
) -> None:
    """Refuse tables that point outside; ``size`` is the width of the logits, where it is known."""
    table, rows, sizes = arrays["table"], arrays["row_indptr"], arrays["function_size"]
    n_states, n_functional = len(table), len(arrays["token_function"])
    n_functions, n_pairs = len(sizes), len(arrays["row_functions"])
    per_state = all(len(arrays[name]) == n_states for name in ("accepting", "labels", "distance", "mask_of"))
    fits = (
        n_states > 0
        and per_state
        and len(arrays["classes"]) == 256
        and n_tokens <= n_functional
        and (size is None or n_functional <= size)
        and len(arrays["row_targets"]) == n_pairs
        and _is_indptr(rows, n_states, n_pairs)
        and _within(arrays["classes"], 0, table.shape[1])
        and _within(table, -1, n_states)
        and _within(sizes, 1, n_functional + 1)
        and _within(arrays["token_function"], -1, n_functions)
        and np.array_equal(_counts(arrays["token_function"], n_functions), sizes)
        and _within(arrays["row_functions"], 0, n_functions)
        and _within(arrays["row_targets"], 0, n_states)
        and _within(arrays["mask_of"], 0, len(arrays["mask_state"]))
        and _within(arrays["mask_state"], 0, n_states)
    )
    if not fits:
        raise IndexFormatError(f"{path} is damaged: its tables refer to what they do not hold")


def _is_indptr(indptr: npt.NDArray[Any], n_rows: int, n_values: int) -> bool:
    ends = len(indptr) == n_rows + 1 and indptr[0] == 0 and indptr[-1] == n_values
    return bool(ends and (np.diff(indptr) >= 0).all())


def _counts(token_function: npt.NDArray[Any], n_functions: int) -> npt.NDArray[Any]:
    return np.bincount(token_function[token_function >= 0], minlength=n_functions)


def _within(array: npt.NDArray[Any], low: int, end: int) -> bool:
    return array.size == 0 or (int(array.min()) >= low and int(array.max()) < end)


def _number(path: str | os.PathLike[str], fields: dict[str, Any], name: str) -> int:
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise IndexFormatError(f"{path} is damaged: its field {name!r} is no number")
    return value


def _limits(path: str | os.PathLike[str], fields: dict[str, Any]) -> Limits:
    try:
        return Limits(**fields["limits"])
    except (KeyError, TypeError, ValueError) as error:
        raise IndexFormatError(f"{path} is damaged: its field 'limits' holds no limits") from error


def _text(path: str | os.PathLike[str], fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise IndexFormatError(f"{path} is damaged: its field {name!r} is no text")
    return value


def _pair(text: str) -> tuple[str, str]:
    """Pointer and keyword; a keyword has no space."""
    pointer, _, keyword = text.rpartition(" ")
    return pointer, keyword


def _texts(path: str | os.PathLike[str], fields: dict[str, Any], name: str) -> tuple[str, ...]:
    value = fields.get(name)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise IndexFormatError(f"{path} is damaged: its field {name!r} is no list of texts")
    return tuple(value)
