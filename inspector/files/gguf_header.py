"""The header of a GGUF file, every count and length in it held against the file before it is followed.

The `gguf` package's own reader maps the whole file and makes an array for each token and each merge: measured on a
header with a vocabulary of 128,256 and 280,000 merges, 16.8 s and 680 MB. Here they are counted and stepped over.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.files.shown import shown
from inspector.trouble import FileTrouble, Trouble

if TYPE_CHECKING:
    from inspector.files.source import Source, Stream

MAGIC = b"GGUF"

_VERSIONS = (2, 3)
_MOST_BYTES = 256 * 2**20  # of a header; the largest vocabularies take some 20 MB
_MOST_STRINGS = 8_000_000  # in all its arrays
_MOST_NAMES = 200_000  # of keys, and of tensors
_LONGEST = 2**16  # bytes of a name, or of a string that is kept
_WINDOW = 2**20
_MOST_AXES = 8
_STRING, _ARRAY, _BOOL = 8, 9, 7
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", _BOOL: "?", 10: "Q", 11: "q", 12: "d"}
_LENGTH = struct.Struct("<Q")  # of a string, before it
_DEFAULT_ALIGNMENT = 32


class Declared(NamedTuple):
    """A tensor: its shape in row-major order, the number of its type, and the byte at which it begins."""

    name: str
    shape: tuple[int, ...]
    kind: int
    offset: int


class Header(NamedTuple):
    """What a file says of itself: an array in `settings` is its length."""

    settings: dict[str, Any]
    tensors: list[Declared]


def read_header(source: Source) -> Header:
    """Read a header.

    Raises:
        FileTrouble: it is broken, or not one.
    """
    with source.reading() as stream:
        cursor = _Cursor(source, stream)
        if cursor.take(4) != MAGIC:
            raise _malformed(source, "it does not begin with GGUF")
        version = cursor.number("I")
        if version not in _VERSIONS:
            if version & 0xFFFF == 0:
                raise _malformed(source, "its numbers are in big-endian order")
            raise _malformed(source, f"it is of version {version}, of which only 2 and 3 are known")
        tensor_count, key_count = cursor.number("Q"), cursor.number("Q")
        if tensor_count > _MOST_NAMES or key_count > _MOST_NAMES:
            raise _malformed(source, f"it would have {tensor_count:,} tensors and {key_count:,} keys")
        settings: dict[str, Any] = {}
        for _ in range(key_count):
            name = cursor.name()
            settings[name] = cursor.value(cursor.number("I"))
        declared = [_tensor(cursor) for _ in range(tensor_count)]
        start = cursor.place
    alignment = settings.get("general.alignment", _DEFAULT_ALIGNMENT)
    if type(alignment) is not int or alignment < 1 or alignment & (alignment - 1):
        raise _malformed(source, f"its alignment is {shown(alignment)}, which is not a power of two")
    if len({d.name for d in declared}) < len(declared):
        raise _malformed(source, "two of its tensors have the same name")
    start = -(-start // alignment) * alignment
    return Header(settings, [d._replace(offset=start + d.offset) for d in declared])


def _tensor(cursor: _Cursor) -> Declared:
    name = cursor.name()
    axes = cursor.number("I")
    if axes > _MOST_AXES:
        raise _malformed(cursor.source, f"{shown(name)} would have {axes:,} axes")
    sizes = [cursor.number("Q") for _ in range(axes)]
    kind, offset = cursor.number("I"), cursor.number("Q")
    # A file lists the axis along which values follow one another first.
    return Declared(name, tuple(reversed(sizes)), kind, offset)


class _Cursor:
    """A place in the header, moved on by what is read. A window of the file around it is held."""

    def __init__(self, source: Source, stream: Stream) -> None:
        self.source = source
        self._stream = stream
        self._window = b""
        self._start = 0  # of the window, in the file
        self._at = 0  # in the window
        self._strings = 0

    @property
    def place(self) -> int:
        """Where in the file it is."""
        return self._start + self._at

    def take(self, length: int) -> bytes:
        """Return the next bytes."""
        self._require(length)
        self._at += length
        return self._window[self._at - length : self._at]

    def number(self, code: str) -> Any:
        """Return the next number, of a `struct` code."""
        (found,) = struct.unpack(f"<{code}", self.take(struct.calcsize(f"<{code}")))
        return found

    def name(self) -> str:
        """Return the next string, a name."""
        length = self.number("Q")
        if length > _LONGEST:
            raise _malformed(self.source, f"a name in its header would be {length:,} bytes long")
        try:
            return self.take(length).decode("utf-8")
        except UnicodeDecodeError as error:
            raise _malformed(self.source, "a name in its header is not UTF-8 text") from error

    def value(self, kind: int) -> Any:
        """Return the next value of a type: a number, a string (cut where it is very long) or an array's length."""
        if kind in _SCALARS:
            # A truth value of another byte than 0 and 1 is one all the same.
            return self.number(_SCALARS[kind])
        if kind == _STRING:
            length = self.number("Q")
            text = self.take(min(length, _LONGEST)).decode("utf-8", "replace")
            self._skip(length - min(length, _LONGEST))
            return text
        if kind == _ARRAY:
            return self._array()
        raise _malformed(self.source, f"its header has a value of the unknown type {kind}")

    def _array(self) -> int:
        kind, count = self.number("I"), self.number("Q")
        if kind in _SCALARS:
            self._skip(count * struct.calcsize(f"<{_SCALARS[kind]}"))
        elif kind == _STRING:
            self._strings += count
            if self._strings > _MOST_STRINGS:
                raise _malformed(self.source, f"it would have {self._strings:,} strings")
            self._skip_strings(count)
        else:
            raise _malformed(self.source, f"its header has an array of values of type {kind}")
        return int(count)

    def _skip_strings(self, count: int) -> None:
        # Hundreds of thousands of them: within the window without a call for each.
        length_of = _LENGTH.unpack_from
        while count:
            self._require(_LENGTH.size)
            window, at = self._window, self._at
            last = len(window) - _LENGTH.size
            while count and at <= last:
                at += _LENGTH.size + length_of(window, at)[0]
                count -= 1
            self._skip(at - self._at)

    def _skip(self, length: int) -> None:
        if length <= len(self._window) - self._at:
            self._at += length
            return
        self._move(self.place + length)

    def _require(self, length: int) -> None:
        if length > len(self._window) - self._at:
            self._move(self.place)
            if length > len(self._window):
                raise self._cut(self.place + length)

    def _move(self, place: int) -> None:
        if place > self.source.size:
            raise self._cut(place)
        if place > _MOST_BYTES:
            raise _malformed(self.source, f"its header would be longer than {_MOST_BYTES:,} bytes")
        self._stream.seek(place)
        self._window, self._start, self._at = self._stream.read(_WINDOW), place, 0

    def _cut(self, place: int) -> FileTrouble:
        return FileTrouble(
            Trouble.TRUNCATED,
            self.source.path,
            f"ends after {self.source.size:,} bytes, within its header, which goes on at least to byte {place:,}",
            "save or download it again",
        )


def _malformed(source: Source, what: str) -> FileTrouble:
    return FileTrouble(
        Trouble.NOT_RECOGNISED, source.path, f"is not a GGUF file that can be read: {what}", "convert it again"
    )
