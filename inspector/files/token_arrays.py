"""Token IDs in a NumPy array or a PyTorch tensor, read without either library."""

from __future__ import annotations

import ast
import struct
from typing import TYPE_CHECKING, Any

from inspector.files.dtypes import ITEM_SIZES
from inspector.files.formats import HEAD
from inspector.files.pickle_values import Stored
from inspector.files.shown import shown
from inspector.files.token_json import found_lists, ids_of
from inspector.files.token_layout import TYPECODES, Found, Layout, contiguous, fits, not_ids
from inspector.files.token_width import challenge
from inspector.files.torch_archive import (
    PICKLE_MAGIC,
    ZIP_MAGIC,
    is_legacy,
    read_bare_pickle,
    read_legacy,
    read_zip,
)
from inspector.trouble import FileTrouble, Trouble

if TYPE_CHECKING:
    from inspector.files.source import Source

NPY_MAGIC = b"\x93NUMPY"

_MOST_HEADER = 64 * 2**10  # bytes; NumPy itself writes 118 for most arrays
_SAMPLE = 4096  # values at the beginning that are looked at for IDs that wrapped around
_NPY_DTYPES = {
    "b1": "bool",
    "u1": "uint8",
    "i1": "int8",
    "u2": "uint16",
    "i2": "int16",
    "u4": "uint32",
    "i4": "int32",
    "u8": "uint64",
    "i8": "int64",
    "f2": "float16",
    "f4": "float32",
    "f8": "float64",
}


# ---- NumPy ---------------------------------------------------------------------------------------------------------


def read_npy(source: Source, dtype: str | None, n_vocab: int | None) -> Found:
    """Read the array that `numpy.save` wrote, of any shape and of any dtype of numbers.

    The format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
    """
    header, offset = _npy_header(source)
    shape = header.get("shape")
    if not isinstance(shape, tuple) or not all(type(size) is int and size >= 0 for size in shape):
        raise _broken_npy(source, f"its shape is {shown(shape)}")
    order, own = _npy_dtype(source, header.get("descr"))
    strides = contiguous(shape[::-1])[::-1] if header.get("fortran_order") is True and len(shape) > 1 else None
    layout = Layout(own, offset, shape, strides, big_endian=order == ">")
    fits(source, layout, source.size - offset)
    return _found(source, "NumPy array", layout, dtype, n_vocab)


def _npy_header(source: Source) -> tuple[dict[str, Any], int]:
    """Return what the header says, and where the values begin."""
    head = source.begins(12)
    if not head.startswith(NPY_MAGIC):
        raise not_ids(source.path, f"is not a NumPy array: it begins with {shown(head)}")
    start, length_format = (10, "<H") if head[6:7] == b"\x01" else (12, "<I")
    if len(head) < start:
        raise _cut_npy(source, start)
    (length,) = struct.unpack(length_format, head[8:start])
    if length > _MOST_HEADER:
        raise _broken_npy(source, f"its header would have {length:,} bytes")
    if start + length > source.size:
        raise _cut_npy(source, start + length)
    text = source.begins(start + length)[start:]
    try:
        if b"\\" in text:  # no name in it needs one, and Python warns of those it does not know
            raise ValueError
        header = ast.literal_eval(text.decode("utf-8" if head[6] >= 3 else "latin-1").strip())
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError) as error:
        raise _broken_npy(source, "its header is not one") from error
    if not isinstance(header, dict):
        raise _broken_npy(source, "its header is not one")
    return header, start + length


def _npy_dtype(source: Source, descr: object) -> tuple[str, str]:
    """Return the order of the bytes and the dtype's name in torch."""
    if isinstance(descr, list):
        raise not_ids(source.path, "is an array of records, not of token IDs", "save the field that holds the IDs")
    if not isinstance(descr, str) or not descr.startswith(("<", ">", "|", "=")):
        raise _broken_npy(source, f"its dtype is {shown(descr)}")
    if descr[1:].startswith("O"):
        raise FileTrouble(
            Trouble.PICKLE_REFUSED,
            source.path,
            "is an array of Python objects, which are a pickle: loading one can run code",
            "save it as an array of whole numbers: numpy.save(path, numpy.array(ids, dtype=numpy.int64))",
        )
    if descr[1:] not in _NPY_DTYPES:
        raise not_ids(source.path, f"is an array of dtype {shown(descr)}, which are no token IDs")
    return descr[0], _NPY_DTYPES[descr[1:]]


def _broken_npy(source: Source, why: str) -> FileTrouble:
    return FileTrouble(Trouble.NOT_RECOGNISED, source.path, f"is a damaged NumPy array: {why}", "save it again")


def _cut_npy(source: Source, needed: int) -> FileTrouble:
    return FileTrouble(
        Trouble.TRUNCATED,
        source.path,
        f"ends after {source.size:,} of the {needed:,} bytes of its header",
        "save it again",
    )


# ---- PyTorch -------------------------------------------------------------------------------------------------------


def is_pt(head: bytes) -> bool:
    """Return whether a file begins as `torch.save` begins one."""
    return head.startswith(ZIP_MAGIC) or is_legacy(head)


def read_pt(source: Source, dtype: str | None, n_vocab: int | None) -> Found:
    """Read a tensor or a list that `torch.save` wrote, alone or in a mapping under a name for IDs."""
    head = source.begins(HEAD)
    if head.startswith(ZIP_MAGIC):
        archive = read_zip(source)
    elif is_legacy(head):
        archive = read_legacy(source)
    elif head.startswith(PICKLE_MAGIC):
        archive = read_bare_pickle(source)
    else:
        raise not_ids(source.path, f"does not begin as a file of torch.save does, but with {shown(head[:16])}")
    root = ids_of(archive.root)
    if type(root) in (list, tuple):
        return found_lists(source, "PyTorch list", list(root))
    if not isinstance(root, Stored):
        raise not_ids(
            source.path,
            "holds something other than a tensor of token IDs",
            "open it as a checkpoint if it is one, or save the IDs alone: torch.save(token_ids, path)",
        )
    if root.dtype not in TYPECODES:
        raise not_ids(source.path, f"is a tensor of {root.dtype}, which are no token IDs")
    place = archive.places.get(root.storage.key)
    start, room = place if place else (0, 0)
    skipped = root.offset * ITEM_SIZES[root.dtype]
    strides = None if root.strides == contiguous(root.shape) else root.strides
    layout = Layout(root.dtype, start + skipped, root.shape, strides)
    fits(source, layout, min(room, source.size - start) - skipped)
    return _found(source, "PyTorch tensor", layout, dtype, n_vocab)


def _found(source: Source, kind: str, layout: Layout, stated: str | None, n_vocab: int | None) -> Found:
    own = layout.dtype
    begins = layout.read(source, 0, min(layout.count, _SAMPLE))
    suspicion = challenge(own, min(begins, default=0), max(begins, default=0), n_vocab)
    if stated not in (None, own):
        suspicion = f"{stated} was stated, and the file says {own}"
    return Found(
        f"{kind}, {own}",
        own,
        layout.shape,
        lambda first, last: layout.read(source, first, last),
        f"{own}: the file says so, of shape {layout.shape}",
        suspicion,
    )
