"""Where the IDs of large texts are kept, so that a text that was encoded once opens at once."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
import threading
import time
from array import array
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_KEPT = 4 * 2**30  # bytes of IDs, of all texts together
ABANDONED_SECONDS = 24 * 3600  # after which an unfinished file is taken for one that a crash has left

ID_BYTES = 2  # uint16 holds each of GPT-2's 50,257 IDs
_MAGIC = b"ids of a text 1\n"
_DIGEST_BYTES = 32
_LENGTH_BYTES = 8
_TAIL = _LENGTH_BYTES + _DIGEST_BYTES + len(_MAGIC)
_MOST_NOTES = 64 * 2**20  # bytes; more than a text of 10 TB needs


class IdStore:
    """IDs in a file: one thread appends to them while others read.

    A kept store is the IDs, what is to be remembered of them as JSON, the length and digest of that, and a magic. One
    that grows has another name, and is removed when it is closed.
    """

    def __init__(self, path: Path, *, grows: bool = False, keepable: bool = False) -> None:
        self._path = path
        self._keepable = keepable
        # Two handles, so that a reader never waits for the disk to take what is written.
        self._writer = open(path, "r+b", buffering=0) if grows else None  # noqa: SIM115 - closed by `close`
        self._reader = open(path, "rb", buffering=0)  # noqa: SIM115 - closed by `close`
        self._reading = threading.Lock()
        self._length = 0

    def append(self, content: bytes) -> None:
        """Add bytes: IDs of two each, little endian.

        Raises:
            OSError: there is no room for them.
        """
        assert self._writer is not None
        self._writer.seek(self._length)
        rest = memoryview(content)
        while rest:
            rest = rest[self._writer.write(rest) :]
        self._length += len(content)

    def clear(self) -> None:
        """Take all IDs out again."""
        assert self._writer is not None
        self._writer.truncate(0)
        self._length = 0

    def read(self, first: int, last: int) -> list[int]:
        """Return the IDs `first` to `last` - 1, all of which were appended.

        Raises:
            OSError: the file was cut by someone else.
        """
        values = array("H")
        values.frombytes(self._bytes(first * ID_BYTES, max(0, last - first) * ID_BYTES))
        if sys.byteorder == "big":
            values.byteswap()
        return values.tolist()

    def _bytes(self, offset: int, length: int) -> bytes:
        pieces = []
        with self._reading:
            self._reader.seek(offset)
            while length:
                piece = self._reader.read(length)
                if not piece:
                    raise OSError("the file that keeps the IDs was cut")
                pieces.append(piece)
                length -= len(piece)
        return b"".join(pieces)

    def notes(self) -> dict[str, Any]:
        """Return what is remembered of the IDs of a kept store.

        Raises:
            ValueError, OSError: it is not one, or not a whole one.
        """
        size = os.fstat(self._reader.fileno()).st_size
        tail = self._bytes(max(0, size - _TAIL), min(size, _TAIL))
        length = int.from_bytes(tail[:_LENGTH_BYTES], "little")
        if not tail.endswith(_MAGIC) or length > min(_MOST_NOTES, size - _TAIL):
            raise ValueError("not a store that was finished")
        content = self._bytes(size - _TAIL - length, length)
        if hashlib.sha256(content).digest() != tail[_LENGTH_BYTES : _LENGTH_BYTES + _DIGEST_BYTES]:
            raise ValueError("its notes are damaged")
        notes: dict[str, Any] = json.loads(content)
        if notes["count"] * ID_BYTES != size - _TAIL - length:
            raise ValueError("it has not as many IDs as it says")
        return notes

    def finish(self, notes: dict[str, Any], key: str) -> None:
        """Keep the IDs, and what is to be remembered of them, for the next opening, if there is room."""
        assert self._writer is not None
        if not self._keepable:
            return
        content = json.dumps(notes).encode()
        tail = len(content).to_bytes(_LENGTH_BYTES, "little") + hashlib.sha256(content).digest() + _MAGIC
        with suppress(OSError):
            self.append(content + tail)
            os.fsync(self._writer.fileno())
            self._rename(self._path.with_name(f"{key}.ids"))
            _remove_oldest(self._path)

    def _rename(self, path: Path) -> None:
        assert self._writer is not None
        self._writer.close()
        with self._reading:
            self._reader.close()  # Windows moves no open file
            try:
                os.replace(self._path, path)
                self._path, self._writer = path, None
            finally:
                self._reader = open(self._path, "rb", buffering=0)  # noqa: SIM115 - closed by `close`

    def close(self) -> None:
        """Let go of the file; one that is not kept is removed. Nothing may be appended any more."""
        with self._reading:
            self._reader.close()
        if self._writer is not None:
            self._writer.close()
            with suppress(OSError):
                self._path.unlink()


def new_store() -> IdStore:
    """Return an empty store: in the person's cache, or where it cannot be written, among the temporary files.

    Raises:
        OSError: neither can be written.
    """
    try:
        folder().mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(suffix=".part", dir=folder())
        keepable = True
    except OSError:
        descriptor, name = tempfile.mkstemp(suffix=".ids")
        keepable = False
    os.close(descriptor)
    return IdStore(Path(name), grows=True, keepable=keepable)


def kept_store(key: str) -> tuple[IdStore, dict[str, Any]] | None:
    """Return the store that was kept under a key, and what is remembered of its IDs; None without a sound one."""
    path = folder() / f"{key}.ids"
    try:
        store = IdStore(path)
    except OSError:
        return None
    try:
        notes = store.notes()
    except (OSError, ValueError):
        store.close()
        return None
    with suppress(OSError):
        os.utime(path)  # those that were opened longest ago are removed first
    return store, notes


def folder() -> Path:
    """Return the folder in the person's cache, which need not exist."""
    stated = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(stated):
        base = Path(stated)
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path.home() / ".cache"
    return base / "embedding-inspector" / "texts"


def _remove_oldest(newest: Path) -> None:
    """Remove the stores that were opened longest ago until the rest is not too much, and what crashes have left."""
    total = 0
    for changed, size, path in sorted(_kept(newest.parent), reverse=True):
        total += size
        abandoned = path.suffix == ".part" and time.time() - changed > ABANDONED_SECONDS
        if abandoned or (path.suffix == ".ids" and path != newest and total > MOST_KEPT):
            with suppress(OSError):
                path.unlink()


def _kept(place: Path) -> Iterator[tuple[float, int, Path]]:
    for path in place.iterdir():
        with suppress(OSError):
            status = path.stat()
            yield status.st_mtime, status.st_size, path
