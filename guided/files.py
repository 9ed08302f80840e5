"""Open and read untrusted files in bounded time and memory.

Only regular files are opened: a FIFO can block forever, and a device such as ``/dev/zero`` has no end. A file is read completely only up to
a given number of bytes, and a text file only up to its first zero byte, so a sparse file takes no memory.

Compressed parts of files are decompressed with a bound, which is checked before the result is kept.

Errors are `OSError` with a readable ``strerror``, or ValueError for damaged content; callers convert them to their own errors.
"""

import errno
import os
import stat
import zlib
from base64 import b64decode, b64encode
from io import BufferedReader

from guided.limits import Limits

__all__ = ["gunzip", "open_regular", "pack", "read_bytes", "read_open", "read_text", "unpack"]

_CHUNK = 1 << 20
# Why: a blocking open of a FIFO waits for a writer; opening a terminal may make it the controlling terminal of the process.
_FLAGS = os.O_RDONLY
for _name in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"):
    _FLAGS |= getattr(os, _name, 0)
_KINDS = (
    (stat.S_ISFIFO, "a FIFO (named pipe)"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def open_regular(path: str | os.PathLike[str]) -> BufferedReader:
    """Open a regular file for reading.

    Raises
    ------
    OSError
        The file does not exist, cannot be read, or is not a regular file; IsADirectoryError for a folder.
    """
    place = os.fspath(path)
    try:
        # Why before opening: opening some devices has side effects.
        _check_regular(os.stat(place), place)
        descriptor = os.open(place, _FLAGS)
    except ValueError as error:  # a zero byte, or a character that file names cannot contain
        raise OSError(errno.EINVAL, f"the path is invalid: {error}", place) from error
    try:
        # Why again: the file may have been replaced in between.
        _check_regular(os.fstat(descriptor), place)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_bytes(path: str | os.PathLike[str], most: int | None = None, *, is_text: bool = False) -> bytes:
    """Read a whole regular file.

    Parameters
    ----------
    path : path
    most : int, optional
        Maximum size of the file in bytes; `Limits.file_bytes` if not given.
    is_text : bool
        Refuse a file with a zero byte as soon as one is read.

    Raises
    ------
    OSError
        As `open_regular`; or the file is larger than ``most``, or is not text.
    """
    with open_regular(path) as file:
        return read_open(file, most, is_text=is_text)


def read_open(file: BufferedReader, most: int | None = None, *, is_text: bool = False) -> bytes:
    """Read an open file from its current position, as `read_bytes`. Raises as `read_bytes`."""
    bound = Limits().file_bytes if most is None else most
    size = os.fstat(file.fileno()).st_size
    if size > bound:
        raise OSError(errno.EFBIG, f"it has {size:,} bytes, more than the limit of {bound:,} for this kind of file")
    chunks, left = [], bound
    while chunk := file.read(min(_CHUNK, left + 1)):
        left -= len(chunk)
        # Why: files of /proc have the size 0 and may have no end.
        if left < 0:
            raise OSError(errno.EFBIG, f"it has more than {bound:,} bytes, the limit for this kind of file")
        if is_text and b"\0" in chunk:
            raise OSError(errno.EINVAL, "it is not text: it contains a zero byte")
        chunks.append(chunk)
    return b"".join(chunks)


def read_text(path: str | os.PathLike[str], most: int | None = None, encoding: str = "utf-8-sig") -> str:
    """Read a whole regular text file, with line ends converted to those of Unix.

    Raises
    ------
    OSError
        As `read_bytes`.
    UnicodeDecodeError
        The file is not in this encoding.
    """
    text = read_bytes(path, most, is_text=True).decode(encoding)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def pack(data: bytes, level: int = 1) -> str:
    """Return compressed bytes as ASCII text; `unpack` reverses it."""
    return b64encode(zlib.compress(data, level)).decode()


def unpack(text: str, most: int) -> bytes:
    """Return the bytes that `pack` compressed.

    Raises
    ------
    ValueError
        The text is damaged, or holds more than ``most`` bytes.
    """
    return _decompressed(b64decode(text, validate=True), most, zlib.MAX_WBITS)


def gunzip(data: bytes, most: int | None = None) -> bytes:
    """Return the bytes of a gzip file of one member, at most `Limits.file_bytes` if ``most`` is not given.

    Raises
    ------
    ValueError
        The file is damaged, or holds more bytes.
    """
    return _decompressed(data, Limits().file_bytes if most is None else most, zlib.MAX_WBITS | 16)


def _decompressed(data: bytes, most: int, window: int) -> bytes:
    # Why twice: the size is known only by decompressing, and a small file may expand to gigabytes.
    size, stream, rest = 0, zlib.decompressobj(window), data
    try:
        while not stream.eof and (piece := stream.decompress(rest, _CHUNK)):
            size, rest = size + len(piece), stream.unconsumed_tail
            if size > most:
                raise ValueError(f"it decompresses to more than the {most:,} bytes that are allowed")
        return zlib.decompress(data, window)
    except zlib.error as error:
        raise ValueError(f"compressed data is damaged: {error}") from error


def _check_regular(status: os.stat_result, place: str | bytes) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), place)
    if not stat.S_ISREG(status.st_mode):
        kind = next((name for test, name in _KINDS if test(status.st_mode)), "a special file")
        raise OSError(errno.EINVAL, f"it is {kind}, not a regular file", place)
