r"""File format of an index: named arrays with a header.

Layout, all integers little-endian::

    0   8 bytes   magic: \x89 G I D X \r \n \x1a
    8   u32       version of the format
    12  u32       bytes of the header
    16  u64       bytes of the whole file
    24  8 bytes   zero
    32  32 bytes  SHA-256 of bytes 0..31 and 64..data
    64  ...       header: JSON, keys sorted, ASCII; zeros up to a multiple of 64
    data          arrays, each at a multiple of 64, zeros between

The header holds the caller's fields, the name, dtype, shape and offset (from ``data``) of each array, and the SHA-256 of
everything from ``data`` on. So every byte of the file is covered by a digest, and no pickle is involved.

Reading proceeds from small to large, and each step is checked before the next: 64 bytes; the header, at most 2 MiB; whether the arrays'
shapes fill the file exactly; the caller's own check of fields and shapes; the arrays. Rejecting a file that is not an index therefore
takes little time at any size.

Invariant: equal arrays and fields give equal bytes. A file is replaced atomically (`guided.files`), so a reader never sees a partial
file. Digests detect damage, not malice: an attacker who writes the file also writes its digest, so readers check
ranges too (`guided.engine.files`).
"""

import hashlib
import io
import json
import math
import mmap as mapping
import os
import struct
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from guided.errors import IndexFormatError, shown
from guided.files import open_regular, replace_file
from guided.limits import Limits

__all__ = ["FORMAT_VERSION", "ArrayShape", "CheckHeader", "read_arrays", "write_arrays"]

FORMAT_VERSION = 4

_MAGIC = b"\x89GIDX\r\n\x1a"
_PREFIX = struct.Struct("<8sIIQ8x")
_DIGEST_END = 64
_ALIGNMENT = 64
_DTYPES: dict[str, np.dtype[Any]] = {
    "<i4": np.dtype("<i4"),
    "<i8": np.dtype("<i8"),
    "|u1": np.dtype("u1"),
    "|b1": np.dtype("?"),
}
# Why this limit: parsed JSON takes up to 25 times the memory of its text.
_LARGEST_HEADER = 1 << 21


class ArrayShape(NamedTuple):
    """Header entry of one array.

    Attributes
    ----------
    dtype : str
        ``"<i4"``, ``"<i8"``, ``"|u1"`` or ``"|b1"``.
    shape : tuple of int
        One or two dimensions.
    """

    dtype: str
    shape: tuple[int, ...]


CheckHeader: TypeAlias = Callable[[dict[str, Any], Mapping[str, ArrayShape]], None]


class _Entry(NamedTuple):
    """An array's header entry, and its offset from the start of the data."""

    what: ArrayShape
    offset: int


def write_arrays(
    path: str | os.PathLike[str], fields: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> None:
    """Write a file atomically; on failure an existing file is unchanged.

    Parameters
    ----------
    path : path
        Replaced in one step at the end.
    fields : mapping
        JSON-serializable values.
    arrays : mapping of str to ndarray
        int32, int64, uint8 or bool.

    Raises
    ------
    IndexFormatError
        The path cannot be written, or the fields take more than 2 MiB as JSON.
    """
    table, offset = [], 0
    for name, array in arrays.items():
        little = array.dtype.newbyteorder("<")
        table.append({"name": name, "dtype": little.str, "shape": list(array.shape), "offset": offset})
        offset = _aligned(offset + array.nbytes)
    pieces = []
    for array in arrays.values():
        data = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
        pieces.append(data.ljust(_aligned(len(data)), b"\0"))
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    header = json.dumps(
        {**fields, "arrays": table, "sha256": digest.hexdigest()}, sort_keys=True, ensure_ascii=True
    ).encode()
    if len(header) > _LARGEST_HEADER:
        raise IndexFormatError(
            f"{path} cannot be written: its header has {len(header):,} bytes, at most {_LARGEST_HEADER:,} are allowed"
        )
    padded = header.ljust(_aligned(_DIGEST_END + len(header)) - _DIGEST_END, b"\0")
    prefix = _PREFIX.pack(_MAGIC, FORMAT_VERSION, len(header), _DIGEST_END + len(padded) + offset)
    seal = hashlib.sha256(prefix + padded).digest()
    try:
        replace_file(path, [prefix, seal, padded, *pieces])
    except OSError as error:
        raise IndexFormatError(f"{path} cannot be written: {error.strerror or error}") from error


def read_arrays(
    path: str | os.PathLike[str],
    *,
    mmap: bool = False,
    limits: Limits | None = None,
    check: CheckHeader | None = None,
) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Read a file, and return (fields, read-only arrays).

    Parameters
    ----------
    path : path
    mmap : bool
        Map the file and check its header only: a large file opens without being read. Damaged arrays then go unnoticed, and overwriting
        the file in place while it is mapped ends the process (SIGBUS); `write_arrays` replaces files, which is safe.
    limits : Limits, optional
        The arrays may have ``index_bytes + mask_bytes`` bytes together.
    check : callable, optional
        Called with the fields and the arrays' shapes before any array is read; raises IndexFormatError if they are wrong.

    Raises
    ------
    IndexFormatError
        The file is missing, not a regular file, truncated, damaged, too large, of another kind or another version.
    TypeError
        The path is not a str or path object.
    """
    # Why: Python treats an int as an open file descriptor, and would close it.
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"a path must be a str or a Path, not {type(path).__name__}")
    try:
        with open_regular(path) as file:
            begin, size, header = _read_header(path, file, limits or Limits())
            table = _array_table(path, header.pop("arrays", None), size - begin)
            digest = header.pop("sha256", None)
            if check is not None:
                check(header, {name: entry.what for name, entry in table.items()})
            data: memoryview
            if mmap:
                data = memoryview(mapping.mmap(file.fileno(), 0, access=mapping.ACCESS_READ))[begin:]
            else:
                data = memoryview(_read_data(path, file, size - begin, digest))
    except IsADirectoryError as error:
        raise IndexFormatError(f"{path} is a folder; pass an index file") from error
    except (OSError, MemoryError) as error:
        reason = getattr(error, "strerror", None) or str(error) or "not enough memory"
        raise IndexFormatError(f"{path} cannot be read: {reason}") from error
    arrays = {}
    for name, (what, offset) in table.items():
        dtype = _DTYPES[what.dtype]
        array = np.frombuffer(data, dtype, math.prod(what.shape), offset).reshape(what.shape)
        arrays[name] = array.astype(dtype.newbyteorder("="), copy=False)
        arrays[name].flags.writeable = False
    return header, arrays


def _read_header(
    path: str | os.PathLike[str], file: io.BufferedReader, limits: Limits
) -> tuple[int, int, dict[str, Any]]:
    """Return the offset of the arrays, the size of the file, and the header; every byte before the arrays has been checked."""
    actual = os.fstat(file.fileno()).st_size
    front = file.read(_DIGEST_END)
    if len(front) < _DIGEST_END or front[:8] != _MAGIC:
        raise IndexFormatError(f"{path} is not an index file" + (": it is empty" if not front else ""))
    _, version, length, size = _PREFIX.unpack_from(front)
    if version != FORMAT_VERSION:
        raise IndexFormatError(
            f"{path} has version {version} of the format, and this release reads version {FORMAT_VERSION}: compile it again"
        )
    if size != actual:
        raise IndexFormatError(f"{path} is truncated or has trailing data: {actual:,} bytes, its header says {size:,}")
    begin = _aligned(_DIGEST_END + length)
    if length > _LARGEST_HEADER or begin > size:
        raise IndexFormatError(
            f"{path} is damaged: its header has {length:,} bytes, at most {_LARGEST_HEADER:,} and the file's size are possible"
        )
    allowed = limits.index_bytes + limits.mask_bytes
    if size - begin > allowed:
        raise IndexFormatError(
            f"{path} has {size - begin:,} bytes of tables, and {allowed:,} are allowed "
            "(Limits.index_bytes + Limits.mask_bytes): pass larger limits if you trust the file"
        )
    text = file.read(begin - _DIGEST_END)
    if hashlib.sha256(front[:32] + text).digest() != front[32:]:
        raise IndexFormatError(f"{path} is damaged: its header does not fit its checksum; compile it again")
    try:
        header = json.loads(text[:length])
    except (ValueError, RecursionError) as error:
        raise IndexFormatError(f"{path} is damaged: its header is not JSON") from error
    if not isinstance(header, dict):
        raise IndexFormatError(f"{path} is damaged: its header is not a JSON object")
    return begin, size, header


def _array_table(path: str | os.PathLike[str], listed: object, n_bytes: int) -> dict[str, _Entry]:
    """Return the arrays by name. They must fill the data in order, each at the first aligned offset."""
    table: dict[str, _Entry] = {}
    end = 0
    for place, item in enumerate(listed if isinstance(listed, list) else [listed]):
        match item:
            case {"name": str(name), "dtype": str(dtype), "shape": list(shape), "offset": int(offset)} if (
                name not in table and dtype in _DTYPES and 1 <= len(shape) <= 2 and all(map(_is_length, shape))
            ):
                if offset != end:
                    raise _damaged_table(path, f"array {shown(name)} is at offset {shown(offset)}, not at {end:,}")
                table[name] = _Entry(ArrayShape(dtype, tuple(shape)), end)
                end = _aligned(end + math.prod(shape) * _DTYPES[dtype].itemsize)
                if end > n_bytes:
                    raise _damaged_table(path, f"array {shown(name)} reaches beyond the end of the file")
            case _:
                raise _damaged_table(path, f"entry {place} is not a name, dtype, shape and offset")
    if end != n_bytes:
        raise _damaged_table(path, f"the arrays have {end:,} bytes, the file has {n_bytes:,}")
    return table


def _is_length(value: object) -> bool:
    return type(value) is int and 0 <= value < 1 << 40


def _damaged_table(path: str | os.PathLike[str], reason: str) -> IndexFormatError:
    return IndexFormatError(f"{path} is damaged: its table of arrays is wrong ({reason})")


def _read_data(path: str | os.PathLike[str], file: io.BufferedReader, n_bytes: int, expected: object) -> bytearray:
    """Read and verify all arrays."""
    data = bytearray(n_bytes)
    view, filled = memoryview(data), 0
    while filled < n_bytes and (count := file.readinto(view[filled:])):
        filled += count
    if hashlib.sha256(view[:filled]).hexdigest() != expected:
        raise IndexFormatError(f"{path} is damaged: its content does not fit its checksum; compile it again")
    return data


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGNMENT) * _ALIGNMENT
