"""The header of a safetensors file: eight bytes of length, JSON, and what it says held against the file's size.

Read by ourselves, not by the library, so that each fault can be told from the others and nothing beyond is touched.
"""

from __future__ import annotations

import struct
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from inspector.files.dtypes import ITEM_SIZES
from inspector.files.jsontext import NotAnObject, json_object
from inspector.files.shown import shown
from inspector.files.source import MOST_AT_ONCE
from inspector.files.tensors import TensorInfo
from inspector.trouble import FileTrouble, Trouble

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from inspector.files.source import Source

_PREFIX = 8  # bytes of the header's length
_MOST_AXES = 64  # torch has no more
_NOT_ONE = "is not a well-formed safetensors file"
_SAVE_AGAIN = "save or download it again"

DTYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "F8_E8M0": "float8_e8m0fnu",
    "C64": "complex64",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U64": "uint64",
    "U32": "uint32",
    "U16": "uint16",
    "U8": "uint8",
    "BOOL": "bool",
}
_BITS = {name: 8 * ITEM_SIZES[dtype] for name, dtype in DTYPES.items()} | {"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6}


class Entry(NamedTuple):
    """A tensor that the header declares, and the byte of the file at which it begins."""

    info: TensorInfo
    offset: int


class _Declared(NamedTuple):
    """A tensor in the header's own terms: offsets count from the header's end."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


def read_header(source: Source) -> list[Entry]:
    """Return the tensors that a file declares.

    Raises:
        FileTrouble: the header is broken, or does not fit the file.
    """
    length = _header_length(source)
    with source.reading() as stream:
        stream.seek(_PREFIX)
        text = stream.read(length)
    try:
        header = json_object(text)
    except NotAnObject as error:
        raise _malformed(source.path, f"its header {error}") from error
    header.pop("__metadata__", None)
    declared = [_declared(source.path, name, entry) for name, entry in header.items()]
    start = _PREFIX + length
    _require_fit(source, declared, start)
    return [Entry(TensorInfo(d.name, d.shape, DTYPES.get(d.dtype, d.dtype)), start + d.begin) for d in declared]


def plausible(head: bytes) -> bool:
    """Return whether a file that begins like this may be a safetensors file."""
    return len(head) > _PREFIX and 2 <= _length(head) <= MOST_AT_ONCE and head[_PREFIX : _PREFIX + 1] == b"{"


def _length(head: bytes) -> int:
    (length,) = struct.unpack_from("<Q", head)
    return int(length)


def _header_length(source: Source) -> int:
    head = source.begins(_PREFIX + 1)
    if len(head) <= _PREFIX:
        raise FileTrouble(
            Trouble.TRUNCATED,
            source.path,
            f"ends after {len(head)} bytes, before the header of a safetensors file",
            _SAVE_AGAIN,
        )
    length = _length(head)
    if length > MOST_AT_ONCE or head[_PREFIX:] != b"{":
        raise _malformed(source.path, f"it would have a header of {length:,} bytes that begins with {head[_PREFIX:]!r}")
    if _PREFIX + length > source.size:
        raise FileTrouble(
            Trouble.TRUNCATED,
            source.path,
            f"ends after {source.size:,} bytes, within its header of {length:,} bytes",
            _SAVE_AGAIN,
        )
    return length


def _declared(path: Path, name: str, entry: Any) -> _Declared:
    if not isinstance(entry, dict):
        raise _malformed(path, f"its header says nothing of dtype, shape and offsets of {shown(name)}")
    dtype, shape, offsets = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if not isinstance(dtype, str):
        raise _malformed(path, f"its header gives {shown(name)} no dtype")
    if dtype not in _BITS:
        raise FileTrouble(
            Trouble.NOT_RECOGNISED,
            path,
            f"declares {shown(name)} with dtype {shown(dtype)}, which is not one of safetensors",
            "save it with a dtype that torch has",
        )
    if not _are_sizes(shape):
        raise _malformed(path, f"its header gives {shown(name)} the shape {shown(shape)}")
    if not _are_sizes(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise _malformed(path, f"its header gives {shown(name)} the offsets {shown(offsets)}")
    return _Declared(name, dtype, tuple(shape), *offsets)


def _require_fit(source: Source, declared: Iterable[_Declared], start: int) -> None:
    """Refuse tensors that do not lie one after the other from `start` to the file's end, each of its size."""
    end = 0
    before = ""
    for d in sorted(declared, key=attrgetter("begin", "end")):
        bits = _BITS[d.dtype]
        for size in d.shape:
            bits *= size
        if bits != 8 * (d.end - d.begin):
            raise _malformed(
                source.path,
                f"{shown(d.name)} has shape {shown(list(d.shape))} and dtype {d.dtype}, {_bytes_of(bits)}, "
                f"but {d.end - d.begin:,} bytes to lie in",
            )
        if d.begin < end:
            raise _malformed(source.path, f"{shown(d.name)} and {shown(before)} overlap by {end - d.begin:,} bytes")
        if d.begin > end:
            raise _malformed(source.path, f"there are {d.begin - end:,} bytes of nothing before {shown(d.name)}")
        end, before = d.end, d.name
    if start + end > source.size:
        raise FileTrouble(
            Trouble.TRUNCATED,
            source.path,
            f"ends after {source.size:,} of {start + end:,} bytes: {start + end - source.size:,} are missing",
            _SAVE_AGAIN,
        )
    if start + end < source.size:
        raise _malformed(source.path, f"{source.size - start - end:,} bytes follow its last tensor")


def _are_sizes(value: Any) -> TypeGuard[list[int]]:
    return (
        isinstance(value, list)
        and len(value) <= _MOST_AXES
        and set(map(type, value)) <= {int}
        and 0 <= min(value, default=0) <= max(value, default=0) < 2**63
    )


def _bytes_of(bits: int) -> str:
    return f"{bits / 8:.6g} bytes" if bits >= 2**60 or bits % 8 else f"{bits // 8:,} bytes"


def _malformed(path: Path, what: str) -> FileTrouble:
    return FileTrouble(Trouble.NOT_RECOGNISED, path, f"{_NOT_ONE}: {what}", _SAVE_AGAIN)
