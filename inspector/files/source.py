"""The one way to the bytes of a file: opened for each reading, held against what it was, never trusted for a length.

A file is not kept open: nothing leaks, and a file that was changed, cut or replaced since it was opened is noticed
before its bytes are taken for rows. It is read, never mapped: touching a mapped page that was cut off ends the process.
"""

from __future__ import annotations

import os
import stat
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from inspector.trouble import FileTrouble, Trouble

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import FileIO
    from pathlib import Path

MOST_AT_ONCE = 100 * 2**20  # bytes; a file that claims a longer header than this is not believed

_KINDS = (
    (stat.S_ISDIR, "is a folder"),
    (stat.S_ISFIFO, "is a pipe, not a file"),
    (stat.S_ISSOCK, "is a socket, not a file"),
    (stat.S_ISCHR, "is a device, not a file"),
    (stat.S_ISBLK, "is a device, not a file"),
)


class Source:
    """A regular file as it was when it was first looked at.

    Attributes:
        path: where it is.
        size: its length in bytes.
    """

    def __init__(self, path: Path) -> None:
        """Look at the file.

        Raises:
            FileTrouble: it is not there, is not a regular file, or may not be read.
        """
        self.path = path
        with self._opened() as file:
            status = os.fstat(file.fileno())
        self.size = status.st_size
        self._identity = _identity(status)

    @contextmanager
    def reading(self) -> Iterator[Stream]:
        """Give access to the bytes, as long as they are those of the file that was first looked at.

        Raises:
            FileTrouble: the file was changed, cut or taken away, or cannot be read.
        """
        with self._opened() as file:
            self._require_unchanged(file)
            try:
                yield Stream(self, file)
            except OSError as error:
                raise unreadable(self.path, error) from error
            # Bytes that were overwritten during the reading are as wrong as those overwritten before it.
            self._require_unchanged(file)

    def begins(self, length: int) -> bytes:
        """Return the first bytes, fewer than `length` where the file is shorter."""
        with self.reading() as stream:
            return stream.read(min(length, self.size))

    @contextmanager
    def _opened(self) -> Iterator[FileIO]:
        try:
            # Asked before it is opened: opening a pipe waits for its other end, and opening a device may do anything.
            mode = os.stat(self.path).st_mode
            if not stat.S_ISREG(mode):
                reason = next((words for test, words in _KINDS if test(mode)), "is not a regular file")
                raise FileTrouble(Trouble.UNREADABLE, self.path, reason, "name the file itself")
            file = open(self.path, "rb", buffering=0, opener=_open_without_waiting)  # noqa: SIM115 - closed below
        except (OSError, ValueError) as error:
            raise unreadable(self.path, error) from error
        with file:
            yield file

    def _require_unchanged(self, file: FileIO) -> None:
        status = os.fstat(file.fileno())
        if _identity(status) == self._identity:
            return
        if status.st_size < self.size:
            raise FileTrouble(
                Trouble.TRUNCATED,
                self.path,
                f"was cut from {self.size:,} to {status.st_size:,} bytes since it was opened",
                "open it again once it is complete",
            )
        raise FileTrouble(Trouble.UNREADABLE, self.path, "was changed or replaced since it was opened", "open it again")


class Stream:
    """The bytes of an open file. It does what the standard library's readers ask of a file, within limits."""

    def __init__(self, source: Source, file: FileIO) -> None:
        self._source = source
        self._file = file
        self._place = 0

    def fill(self, buffer: memoryview, offset: int) -> None:
        """Fill a buffer with the bytes from `offset` on.

        Raises:
            FileTrouble: the file ends before that.
        """
        filled = 0
        while filled < len(buffer):
            count = _read_at(self._file, buffer[filled:], offset + filled)
            if not count:
                raise FileTrouble(
                    Trouble.TRUNCATED,
                    self._source.path,
                    f"ends after {offset + filled:,} bytes where {offset + len(buffer):,} were expected",
                    "open it again once it is complete",
                )
            filled += count

    def read(self, length: int = -1) -> bytes:
        """Return up to `length` bytes from the current place, or the rest of the file.

        Raises:
            FileTrouble: more is asked for than a header can be long.
        """
        rest = max(0, self._source.size - self._place)
        length = rest if length < 0 else min(length, rest)
        if length > MOST_AT_ONCE:
            raise FileTrouble(
                Trouble.NOT_RECOGNISED,
                self._source.path,
                f"declares a header of {length:,} bytes, more than any checkpoint has",
                "save or download the file again",
            )
        buffer = bytearray(length)
        self.fill(memoryview(buffer), self._place)
        self._place += length
        return bytes(buffer)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place in the file and return it."""
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._source.size}[whence]
        if start + offset < 0:
            raise ValueError("a place before the file's beginning")
        self._place = start + offset
        return self._place

    def tell(self) -> int:
        """Return the current place."""
        return self._place

    def seekable(self) -> bool:
        """Return True."""
        return True


def unreadable(path: Path, error: OSError | ValueError) -> FileTrouble:
    """Return the trouble that the system's refusal of a file is."""
    if isinstance(error, FileNotFoundError):
        return FileTrouble(Trouble.UNREADABLE, path, "is not there", "check its name and its folder")
    if isinstance(error, PermissionError):
        return FileTrouble(Trouble.UNREADABLE, path, "may not be read", "give yourself the permission to read it")
    why = error.strerror if isinstance(error, OSError) and error.strerror else "its name is not one of a file"
    return FileTrouble(
        Trouble.UNREADABLE, path, f"cannot be read: {why[0].lower()}{why[1:]}", "check its name and its folder"
    )


def _read_at(file: FileIO, buffer: memoryview, offset: int) -> int:
    """Read into a buffer, as much of it as the system gives at once; return how many bytes that was."""
    if sys.platform != "win32":
        return os.preadv(file.fileno(), [buffer], offset)
    file.seek(offset)
    return file.readinto(buffer) or 0


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _identity(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
