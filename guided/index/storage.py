r"""One file of named arrays with a header: how an index lies on disk.

Layout, all integers little-endian (docs/format.md has it as a table)::

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

Invariant: equal arrays and fields give equal bytes. A file is written beside its place, forced to the disk and renamed, so
a reader never sees a half. Digests tell damage, not malice: who can write the file can write its digest, so readers check
ranges too (`guided.engine.files`).
"""

import contextlib
import hashlib
import json
import mmap as mapping
import os
import struct
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from guided.errors import IndexFormatError

__all__ = ["FORMAT_VERSION", "read_arrays", "write_arrays"]

FORMAT_VERSION = 2

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
_LARGEST_HEADER = 1 << 24


def write_arrays(
    path: str | os.PathLike[str], fields: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> None:
    """Write a file, or leave what was there as it was.

    Parameters
    ----------
    path : path
        Replaced at the end in one step.
    fields : mapping
        What JSON can hold.
    arrays : mapping of str to ndarray
        int32, int64, uint8 or bool.

    Raises
    ------
    IndexFormatError
        The place cannot be written.
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
    padded = header.ljust(_aligned(_DIGEST_END + len(header)) - _DIGEST_END, b"\0")
    prefix = _PREFIX.pack(_MAGIC, FORMAT_VERSION, len(header), _DIGEST_END + len(padded) + offset)
    seal = hashlib.sha256(prefix + padded).digest()
    _replace(Path(path), [prefix, seal, padded, *pieces])


def read_arrays(
    path: str | os.PathLike[str], *, mmap: bool = False
) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Read a file: (fields, read-only arrays).

    Parameters
    ----------
    path : path
    mmap : bool
        Map the file and check its header only: a large file opens without being read. Damage of the arrays is then not noticed, and a
        file that is overwritten in place while mapped ends the process (SIGBUS); `write_arrays` replaces, which is safe.

    Raises
    ------
    IndexFormatError
        The file is missing, cut, damaged, of another kind or another version.
    TypeError
        The path is no path.
    """
    # Why: Python takes an int for the number of an open file, and closes that.
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"a path is a str or a Path, not {type(path).__name__}")
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            content: bytes | mapping.mmap
            if mmap and size:
                content = mapping.mmap(file.fileno(), 0, access=mapping.ACCESS_READ)
            else:
                content = file.read()
    except IsADirectoryError as error:
        raise IndexFormatError(f"{path} is a folder; give an index file, such as those in it") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise IndexFormatError(f"{path} cannot be read: {reason}") from error
    begin, header = _checked_header(path, content)
    if not mmap and hashlib.sha256(memoryview(content)[begin:]).hexdigest() != header.get("sha256"):
        raise IndexFormatError(f"{path} is damaged: its content does not fit its checksum; compile it again")
    arrays = {}
    try:
        for entry in header.pop("arrays"):
            dtype, shape = _DTYPES[entry["dtype"]], tuple(entry["shape"])
            count = int(np.prod(shape, dtype=np.int64))
            array = np.frombuffer(content, dtype, count, begin + entry["offset"]).reshape(shape)
            arrays[entry["name"]] = array.astype(dtype.newbyteorder("="), copy=False)
            arrays[entry["name"]].flags.writeable = False
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise IndexFormatError(f"{path} is damaged: its table of arrays is no such table") from error
    return header, arrays


def _checked_header(path: str | os.PathLike[str], content: "bytes | mapping.mmap") -> tuple[int, dict[str, Any]]:
    """Where the arrays begin, and the header; every byte before them has been checked."""
    if len(content) < _DIGEST_END or content[:8] != _MAGIC:
        raise IndexFormatError(f"{path} is no index file" + (": it is empty" if not len(content) else ""))
    _, version, length, size = _PREFIX.unpack_from(content)
    if version != FORMAT_VERSION:
        raise IndexFormatError(
            f"{path} has version {version} of the format, and this release reads version {FORMAT_VERSION}: compile it again"
        )
    if size != len(content):
        raise IndexFormatError(f"{path} is cut or grown: {len(content):,} bytes where its header says {size:,}")
    begin = _aligned(_DIGEST_END + length)
    if length > _LARGEST_HEADER or begin > size:
        raise IndexFormatError(f"{path} is damaged: its header is longer than it can be")
    seal = hashlib.sha256(content[:32])
    seal.update(content[_DIGEST_END:begin])
    if seal.digest() != content[32:_DIGEST_END]:
        raise IndexFormatError(f"{path} is damaged: its header does not fit its checksum; compile it again")
    try:
        header = json.loads(content[_DIGEST_END : _DIGEST_END + length])
    except (ValueError, RecursionError) as error:
        raise IndexFormatError(f"{path} is damaged: its header is no JSON") from error
    if not isinstance(header, dict):
        raise IndexFormatError(f"{path} is damaged: its header is no JSON object")
    return begin, header


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGNMENT) * _ALIGNMENT


def _replace(path: Path, pieces: list[bytes]) -> None:
    """Write beside, force to the disk, rename."""
    temporary: str | None = None
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        # Why: mkstemp makes files private; an index is as readable as anything else its owner writes.
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
        temporary = None
        with contextlib.suppress(OSError):
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    except OSError as error:
        raise IndexFormatError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
