"""`load_index` reads and checks a saved index; `read_index_file` returns the content of a file.

For an index with a stack, a file holds the spec, from which the automaton is rebuilt, and the explored states and masks (docs/adr/0008).

A file belongs to one spec and one vocabulary, identified by fingerprints. Files are untrusted: the limits in a file never exceed the
caller's; the shapes of the arrays are checked against each other and the limits before they are read (`_SHAPES`); then every number that
refers to another table is checked to be in range (`_RANGES`).
Invariant: no file makes a kernel read outside an array. With ``mmap`` the content of the arrays is trusted.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from dataclasses import fields as fields_of
from typing import Any

import numpy as np
import numpy.typing as npt

from guided.arrays import mask_words
from guided.automata.automaton import Automaton
from guided.engine.compile import remake
from guided.engine.composed import Composed
from guided.engine.grammar import Grammar
from guided.engine.index import Index, Origin
from guided.engine.json_schema import JsonSchema
from guided.engine.marked_grammar import MarkedGrammar
from guided.engine.reading import loaded_reader
from guided.engine.specs import STORED_SPECS, StoredSpec
from guided.engine.templates import Template
from guided.errors import GuidedError, IndexFormatError, LimitError, shown
from guided.index.pushdown import PushdownIndex
from guided.index.pushdown_files import restore
from guided.index.regular import AUTOMATON_ARRAYS, KIND, TABLE_ARRAYS, RegularIndex
from guided.index.storage import ArrayShape, read_arrays
from guided.limits import Limits
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["IndexFile", "add_stack_spec", "load_index", "read_index_file"]

STORED_SPECS.update({spec.kind: spec for spec in (JsonSchema, Template, Grammar, MarkedGrammar, Composed)})

# Per array: its dtype and the length of each dimension, a named number (the same throughout a file) plus the int.
_AS_MANY = "; a tokenizer's file may name other end tokens than its model's folder: compile it with the folder"
_Shapes = Mapping[str, tuple[str, tuple[tuple[str, int], ...]]]
_SHAPES: _Shapes = {
    "table": ("<i4", (("states", 0), ("classes", 0))),
    "classes": ("|u1", (("", 256),)),
    "accepting": ("|b1", (("states", 0),)),
    "labels": ("<i4", (("states", 0),)),
    "token_function": ("<i4", (("tokens", 0),)),
    "function_size": ("<i4", (("functions", 0),)),
    "row_indptr": ("<i8", (("states", 1),)),
    "row_functions": ("<i4", (("pairs", 0),)),
    "row_targets": ("<i4", (("pairs", 0),)),
    "distance": ("<i4", (("states", 0),)),
    "mask_of": ("<i4", (("states", 0),)),
    "mask_state": ("<i4", (("masks", 0),)),
}
_SHAPES_WITH_STACK: _Shapes = {
    "parent": ("<i4", (("states", -2),)),
    "text_indptr": ("<i8", (("states", -1),)),
    "text": ("|u1", (("bytes", 0),)),
    "masks": ("<i4", (("masks", 0), ("words", 0))),
    "mask_of": ("<i4", (("states", 0),)),
}
_SPEC_SHAPE: _Shapes = {"data": ("|u1", (("data", 0),))}
# Per array: its minimum value, and the dimension that bounds its values (exclusive).
_RANGES: Mapping[str, tuple[int, str]] = {
    "table": (-1, "states"),
    "classes": (0, "classes"),
    "token_function": (-1, "functions"),
    "row_functions": (0, "functions"),
    "row_targets": (0, "states"),
    "distance": (-1, "states"),
    "mask_of": (0, "masks"),
    "mask_state": (0, "states"),
}


def add_stack_spec(spec: type[StoredSpec]) -> None:
    """Register a kind of specs, defined by another layer, whose indices files may hold."""
    STORED_SPECS[spec.kind] = spec


@dataclass(frozen=True, slots=True, eq=False)
class IndexFile:
    """Content of an index file; without a vocabulary it answers for whole texts, not for tokens."""

    # The byte automaton; None if the language needs a stack.
    automaton: Automaton | None
    # All arrays, including those of the automaton, in file order; read-only.
    arrays: dict[str, npt.NDArray[Any]]
    # Fingerprints of the spec and the vocabulary.
    spec_fingerprint: str
    vocabulary_fingerprint: str
    # Number of token ids of the vocabulary.
    n_tokens: int
    # As in `Index`.
    unenforced: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    # Source of an index with a stack.
    origin: Origin | None = None
    # As in `Index`, of a finite automaton.
    reader: Any = None


def read_index_file(path: str | os.PathLike[str], limits: Limits | None = None) -> IndexFile:
    """Read a file of `Index.save`, for any vocabulary. O(bytes).

    Parameters
    ----------
    path : path
    limits : Limits, optional
        As in `load_index`.

    Raises
    ------
    IndexFormatError
        The file is missing, damaged, of another version, or exceeds ``limits``.
    """
    return _read(path, None, limits or Limits(), mmap=False)


def load_index(
    path: str | os.PathLike[str], vocabulary: Vocabulary, mmap: bool = False, limits: Limits | None = None
) -> Index:
    """Load an index that `Index.save` wrote; parameters and errors are those of `guided.calls.files.load_index`.

    O(bytes); O(header) with ``mmap``.
    """
    if not isinstance(vocabulary, Vocabulary):
        raise TypeError(f"expected a Vocabulary, not {type(vocabulary).__name__}")
    found = _read(path, vocabulary, Limits.of(limits), mmap=mmap)
    if found.automaton is None:
        return _with_stack(path, found, vocabulary)
    tables = RegularIndex(
        found.automaton,
        vocabulary.eos,
        vocabulary.size,
        *(found.arrays[name] for name in TABLE_ARRAYS),
        mask_bytes=(limits or Limits()).mask_bytes,
    )
    return Index(tables, vocabulary, found.spec_fingerprint, found.unenforced, found.notes, reader=found.reader)


def _with_stack(path: str | os.PathLike[str], found: IndexFile, vocabulary: Vocabulary) -> Index:
    assert found.origin is not None
    try:
        index = found.origin.remake(found.origin, vocabulary)
        if isinstance(index.tables, PushdownIndex):
            restore(index.tables, found.arrays)
        elif found.arrays:
            raise ValueError("its arrays do not belong to a composition")
    except LimitError as error:
        raise IndexFormatError(
            f"{path} exceeds the limits ({error}): pass larger limits if you trust the file"
        ) from error
    except GuidedError as error:
        raise IndexFormatError(f"{path} is damaged: {error}") from error
    except Exception as error:  # Why: a forged spec can make any part of the compiler fail
        raise IndexFormatError(f"{path} is damaged: {type(error).__name__}: {error}") from error
    return index


def _read(path: str | os.PathLike[str], vocabulary: Vocabulary | None, limits: Limits, *, mmap: bool) -> IndexFile:
    """Return the content of a file; with ``mmap`` only its header is checked."""
    lengths: dict[str, int] = {}

    def check(fields: dict[str, Any], shapes: Mapping[str, ArrayShape]) -> None:
        _check_fields(path, fields, vocabulary, limits)
        has_stack = fields["kind"] != KIND
        lengths.update(_lengths(path, shapes, has_stack=has_stack))
        _check_lengths(path, fields, lengths, vocabulary, limits, has_stack=has_stack)

    fields, arrays = read_arrays(path, mmap=mmap, limits=limits, check=check)
    kind = fields["kind"]
    origin = automaton = None
    if kind == KIND:
        if not mmap:
            _check_ranges(path, arrays, lengths)
        automaton = Automaton(*(arrays[name] for name in AUTOMATON_ARRAYS))
    else:
        origin = _origin(path, fields, arrays.pop("data"), limits)
    return IndexFile(
        automaton,
        arrays,
        fields["spec"],
        fields["vocabulary"],
        fields["tokens"],
        tuple(_pair(each) for each in fields["unenforced"]),
        tuple(fields["notes"]),
        origin,
        _reader(path, fields) if origin is None else None,
    )


def _reader(path: str | os.PathLike[str], fields: Mapping[str, Any]) -> Any:
    try:
        return loaded_reader(fields.get("reads"))
    except ValueError as error:
        raise IndexFormatError(f"{path} is damaged: its field 'reads' is {error}") from error


def _check_fields(
    path: str | os.PathLike[str], fields: dict[str, Any], vocabulary: Vocabulary | None, limits: Limits
) -> None:
    """Check the header's fields, except those of the arrays."""
    kind = fields.get("kind")
    if not isinstance(kind, str) or (kind != KIND and kind not in STORED_SPECS):
        raise IndexFormatError(f"{path} holds an index of the kind {shown(kind)}, which this release does not know")
    for name in ("spec", "vocabulary"):
        if not isinstance(fields.get(name), str):
            raise IndexFormatError(f"{path} is damaged: its field {name!r} is not a string")
    tokens = fields.get("tokens")
    if type(tokens) is not int or not 0 <= tokens <= limits.tokens:
        raise IndexFormatError(f"{path} is damaged: its field 'tokens' is not a number from 0 to {limits.tokens:,}")
    for name in ("unenforced", "notes"):
        value = fields.get(name)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise IndexFormatError(f"{path} is damaged: its field {name!r} is not a list of strings")
    if vocabulary is None:
        return
    if fields["vocabulary"] != vocabulary.fingerprint:
        raise IndexFormatError(
            f"{path} was compiled for another vocabulary ({fields['vocabulary'][:12]!a}, {tokens} tokens) "
            f"than the one given ({vocabulary.fingerprint[:12]}, {len(vocabulary)} tokens): compile it for this one"
            f"{_AS_MANY if tokens == len(vocabulary) else ''}"
        )
    if tokens != len(vocabulary):
        raise IndexFormatError(f"{path} is damaged: its field 'tokens' does not fit its vocabulary")


def _lengths(path: str | os.PathLike[str], shapes: Mapping[str, ArrayShape], *, has_stack: bool) -> dict[str, int]:
    """Return the lengths of the dimensions named in `_SHAPES`, each the same in all arrays."""
    expected = _SHAPES
    if has_stack:
        expected = {**(_SHAPES_WITH_STACK if shapes.keys() - _SPEC_SHAPE.keys() else {}), **_SPEC_SHAPE}
    lengths: dict[str, int] = {}
    for name, (dtype, dimensions) in expected.items():
        found = shapes.get(name)
        if found is None or found.dtype != dtype or len(found.shape) != len(dimensions):
            raise IndexFormatError(f"{path} is damaged: its array {name!r} is missing or of another type")
        for length, (dimension, more) in zip(found.shape, dimensions, strict=True):
            if length - more != (lengths.setdefault(dimension, length - more) if dimension else 0):
                raise IndexFormatError(f"{path} is damaged: the shape of its array {name!r} does not fit the others")
    if unknown := shapes.keys() - expected.keys():
        raise IndexFormatError(f"{path} is damaged: it has an unknown array {shown(min(unknown))}")
    return lengths


def _check_lengths(
    path: str | os.PathLike[str],
    fields: dict[str, Any],
    lengths: Mapping[str, int],
    vocabulary: Vocabulary | None,
    limits: Limits,
    *,
    has_stack: bool,
) -> None:
    """Check the dimensions against the limits and the vocabulary."""
    states, masks = lengths.get("states", 0), lengths.get("masks", 0)
    fits = masks <= states
    bounds = [("states", states, limits.states), ("file_bytes", lengths.get("data", 0), limits.file_bytes)]
    if has_stack:
        fits = fits and (states >= 2 or "states" not in lengths)
        if vocabulary is not None:
            longest = states * vocabulary.trie.max_depth
            fits = fits and lengths.get("words", 0) in (0, mask_words(vocabulary.size))
            fits = fits and lengths.get("bytes", 0) <= longest
    else:
        tokens = lengths["tokens"]
        bounds.append(("transitions", states * lengths["classes"], limits.transitions))
        bounds.append(("tokens", tokens, limits.tokens))
        fits = fits and states > 0 and 0 < lengths["classes"] <= 256 and fields["tokens"] <= tokens
        fits = fits and lengths["functions"] <= tokens and (vocabulary is None or tokens <= vocabulary.size)
    for what, given, limit in bounds:
        if given > limit:
            raise IndexFormatError(
                f"{path} exceeds the limits ({what}: {given:,} needed, {limit:,} allowed): "
                "pass larger limits if you trust the file"
            )
    if not fits:
        raise IndexFormatError(f"{path} is damaged: the shapes of its arrays do not fit each other or the vocabulary")


def _check_ranges(path: str | os.PathLike[str], arrays: dict[str, npt.NDArray[Any]], lengths: dict[str, int]) -> None:
    """Reject tables with references out of range or with contradictory content."""
    accepting, distance, indptr = arrays["accepting"], arrays["distance"], arrays["row_indptr"]
    functions = arrays["token_function"]
    fits = (
        all(_within(arrays[name], least, lengths[end]) for name, (least, end) in _RANGES.items())
        and _within(accepting.view(np.uint8), 0, 2)
        and indptr[0] == 0
        and indptr[-1] == lengths["pairs"]
        and (indptr[1:] >= indptr[:-1]).all()
        and _within(arrays["function_size"], 1, lengths["tokens"] + 1)
        and np.array_equal(
            np.bincount(functions[functions >= 0], minlength=lengths["functions"]), arrays["function_size"]
        )
        and _is_ascending(arrays["row_functions"], indptr)
        and np.array_equal(distance, _distances(arrays))
        and distance[0] >= 0
    )
    if fits:
        # States with equal masks have rows of equal length and agree on acceptance.
        sizes, same = np.diff(indptr), arrays["mask_state"][arrays["mask_of"]]
        fits = np.array_equal(sizes, sizes[same]) and np.array_equal(accepting, accepting[same])
    if not fits:
        raise IndexFormatError(f"{path} is damaged: its tables contain numbers out of range")


def _is_ascending(values: npt.NDArray[Any], indptr: npt.NDArray[Any]) -> bool:
    """Return whether the values of each row are strictly ascending."""
    if not len(values):
        return True
    ascends = np.empty(len(values), np.bool_)
    ascends[0] = True
    np.greater(values[1:], values[:-1], out=ascends[1:])
    begins = indptr[:-1]
    ascends[begins[begins < len(values)]] = True
    return bool(ascends.all())


def _distances(arrays: dict[str, npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Compute the distance of each state from the distances of its successors; all -1 if a successor has none."""
    indptr, accepting = arrays["row_indptr"], arrays["accepting"]
    after = arrays["distance"][arrays["row_targets"]]
    found = np.where(accepting, 0, -1).astype(np.int32)
    if after.size:
        if int(after.min()) < 0:
            return np.full(len(accepting), -1, np.int32)
        has_row = indptr[1:] > indptr[:-1]
        least = np.minimum.reduceat(after, indptr[:-1][has_row])
        found[has_row] = np.where(accepting[has_row], 0, least + 1)
    return found


def _within(array: npt.NDArray[Any], low: int, end: int) -> bool:
    return array.size == 0 or (int(array.min()) >= low and int(array.max()) < end)


def _origin(path: str | os.PathLike[str], fields: dict[str, Any], data: npt.NDArray[Any], limits: Limits) -> Origin:
    own = _limits(path, fields)
    allowed = replace(
        own, **{each.name: min(getattr(own, each.name), getattr(limits, each.name)) for each in fields_of(own)}
    )
    try:
        text = data.tobytes().decode("utf-8", "surrogatepass")
        spec = STORED_SPECS[fields["kind"]].from_data(text, allowed)
    except Exception as error:  # Why: a forged spec can make any part of its reader fail
        raise IndexFormatError(f"{path} is damaged: {error}") from error
    if spec.fingerprint != fields["spec"]:
        raise IndexFormatError(f"{path} is damaged: its spec does not match the fingerprint in its header")
    return Origin(remake, spec, allowed)


def _limits(path: str | os.PathLike[str], fields: dict[str, Any]) -> Limits:
    try:
        return Limits(**fields["limits"])
    except (KeyError, TypeError, ValueError) as error:
        raise IndexFormatError(f"{path} is damaged: its field 'limits' is invalid") from error


def _pair(text: str) -> tuple[str, str]:
    """Split into JSON Pointer and keyword; a keyword contains no space."""
    pointer, _, keyword = text.rpartition(" ")
    return pointer, keyword
