"""Token IDs as they lie in a file: where they begin, how wide each is, and how some of them are read."""

from __future__ import annotations

import math
import struct
import sys
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.trouble import FileTrouble, Trouble

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from inspector.files.source import Source

# What `struct` calls each dtype that IDs can be read from.
TYPECODES = {
    "bool": "?",
    "uint8": "B",
    "int8": "b",
    "uint16": "H",
    "int16": "h",
    "uint32": "I",
    "int32": "i",
    "uint64": "Q",
    "int64": "q",
    "float16": "e",
    "float32": "f",
    "float64": "d",
}
MOST_VALUES = sys.maxsize  # what Python can count; a hostile header declares more

_SAMPLE_BLOCKS = 64
_SAMPLE_BYTES = 4096  # a multiple of every width, so that each block begins where an ID does


class Found(NamedTuple):
    """What a format makes of a file; the attributes of `IdFile`, and `read(first, last)` for its values."""

    format: str
    dtype: str
    shape: tuple[int, ...]
    read: Callable[[int, int], list[Any]]
    reason: str
    suspicion: str | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the values of an array lie.

    `strides` are in values; None is the usual order, the last axis closest together. `big_endian` says that the most
    significant byte comes first.
    """

    dtype: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    big_endian: bool = False

    @property
    def count(self) -> int:
        """How many values there are."""
        return math.prod(self.shape)

    @property
    def width(self) -> int:
        """How many bytes a value takes."""
        return struct.calcsize(f"={TYPECODES[self.dtype]}")

    def read(self, source: Source, first: int, last: int) -> list[Any]:
        """Return the values `first` to `last` - 1 of the flattened array; only their bytes are read.

        Raises:
            FileTrouble: the file was changed, cut or taken away.
        """
        if last <= first:
            return []
        content = bytearray((last - first) * self.width)
        view = memoryview(content)
        with source.reading() as stream:
            if self.strides is None:
                stream.fill(view, self.offset + first * self.width)
            else:
                for n, place in enumerate(self._places(first, last)):
                    stream.fill(view[n * self.width : (n + 1) * self.width], self.offset + place * self.width)
        return self._values(content)

    def _values(self, content: bytearray) -> list[Any]:
        code = TYPECODES[self.dtype]
        if code in "?e":  # `array` does not know these
            return list(struct.unpack(f"{'>' if self.big_endian else '<'}{len(content) // self.width}{code}", content))
        # Its standard sizes on every machine that torch runs on: 1, 2, 4, 8 bytes.
        values = array(code, bytes(content))
        if self.big_endian != (sys.byteorder == "big"):
            values.byteswap()
        return values.tolist()

    def _places(self, first: int, last: int) -> Iterator[int]:
        """Yield where the values `first` to `last` - 1 lie, in values: the last axis counts fastest."""
        assert self.strides is not None
        for index in range(first, last):
            place, rest = 0, index
            for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
                rest, along = divmod(rest, size)
                place += along * stride
            yield place


def fits(source: Source, layout: Layout, room: int) -> None:
    """Require that the values lie within `room` bytes, from `layout.offset` on.

    Raises:
        FileTrouble: they do not.
    """
    if layout.count > MOST_VALUES:
        raise not_ids(source.path, f"declares {layout.count:,} values, more than a file can hold")
    if not layout.count:
        return
    strides = layout.strides or contiguous(layout.shape)
    last = sum((size - 1) * stride for size, stride in zip(layout.shape, strides, strict=True))
    needed = (last + 1) * layout.width
    if needed > room:
        raise FileTrouble(
            Trouble.TRUNCATED,
            source.path,
            f"ends after {source.size:,} bytes: of {needed:,} bytes of IDs, {needed - max(0, room):,} are missing",
            "save or download it again",
        )


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of the usual order, in values."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def not_ids(path: Path, reason: str, help: str = "save the IDs as a .npy file of whole numbers") -> FileTrouble:  # noqa: A002
    """Return the trouble that a file is which holds something other than token IDs."""
    return FileTrouble(Trouble.NOT_RECOGNISED, path, reason, help)


def sample(source: Source, offset: int, end: int) -> list[bytes]:
    """Return pieces of the bytes from `offset` to `end` - 1, spread over all of them; all, where they are few.

    Each begins a multiple of 8 bytes behind `offset`.
    """
    length = end - offset
    if length <= _SAMPLE_BLOCKS * _SAMPLE_BYTES:
        starts, piece = [0], length
    else:
        step = (length - _SAMPLE_BYTES) // (_SAMPLE_BLOCKS - 1) // 8 * 8
        starts, piece = [n * step for n in range(_SAMPLE_BLOCKS)], _SAMPLE_BYTES
    pieces = []
    with source.reading() as stream:
        for start in starts:
            content = bytearray(piece)
            stream.fill(memoryview(content), offset + start)
            pieces.append(bytes(content))
    return pieces
