"""Open and read untrusted files in bounded time and memory; replace files atomically.

Only regular files are opened: a FIFO can block forever, and a device such as ``/dev/zero`` has no end. A file is read completely only up to
a given number of bytes, and a text file only up to its first zero byte, so a sparse file takes no memory.

A file is written under a temporary name in the same folder, flushed to disk and renamed: whoever reads it, and whatever interrupts the
writer, it is the old file or the new one.

Compressed parts of files are decompressed with a bound, which is checked before the result is kept.

Errors are `OSError` with a readable ``strerror``, or ValueError for damaged content; callers convert them to their own errors.
"""

import errno
import os
import secrets
import stat
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable
from contextlib import suppress
from io import BufferedReader

from guided.limits import Limits

__all__ = ["gunzip", "open_regular", "pack", "read_bytes", "read_open", "read_text", "replace_file", "unpack"]

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

    def opener(_: str, __: int) -> int:
        descriptor = os.open(place, _FLAGS)
        try:
            # Why again: the file may have been replaced in between.
            _check_regular(os.fstat(descriptor), place)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    try:
        # Why before opening: opening some devices has side effects.
        _check_regular(os.stat(place), place)
        # Why not `os.fdopen`: interrupted as it returns, it has closed the descriptor, and whoever closes it again gets another error.
        return open(place, "rb", opener=opener)
    except ValueError as error:  # a zero byte, or a character that file names cannot contain
        raise OSError(errno.EINVAL, f"the path is invalid: {error}", place) from error


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


def read_text(path: str | os.PathLike[str], encoding: str = "utf-8-sig") -> str:
    """Read a whole regular text file, with line ends converted to those of Unix.

    Raises
    ------
    OSError
        As `read_bytes`.
    UnicodeDecodeError
        The file is not in this encoding.
    """
    text = read_bytes(path, is_text=True).decode(encoding)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def replace_file(path: str | os.PathLike[str], content: str | Iterable[bytes]) -> None:
    """Write a file atomically; on failure an existing file is unchanged, and nothing is left behind.

    A symbolic link stays, and the file that it names is replaced. Anything but a regular file, such as ``/dev/stdout`` or a FIFO, is
    written in place.

    Parameters
    ----------
    path : path
    content : str or iterable of bytes
        A str is written as UTF-8.

    Raises
    ------
    OSError
        The path cannot be written.
    """
    pieces = [content.encode()] if isinstance(content, str) else content
    try:
        target = os.path.realpath(path)
        is_special = os.path.exists(target) and not os.path.isfile(target)
    except ValueError as error:  # a zero byte, or a character that file names cannot contain
        raise OSError(errno.EINVAL, f"the path is invalid: {error}", os.fspath(path)) from error
    if is_special:
        with open(target, "wb") as file:
            file.writelines(pieces)
        return
    folder = os.path.dirname(target)
    # Why short: a name made longer than the file's own may be too long for the file system.
    temporary = os.path.join(folder, f".{secrets.token_hex(8)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        with os.fdopen(os.open(temporary, flags, 0o666), "wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):
            error.filename, error.filename2 = os.fspath(path), None
        raise
    # The rename itself; some file systems cannot flush folders.
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


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
