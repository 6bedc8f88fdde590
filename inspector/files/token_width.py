"""How wide the IDs of a file without a header are, and whether IDs look as if they were read in a wrong width.

The bytes know it better than the reader: IDs read in half their width are 0 at every second place, and IDs read in
twice their width exceed any vocabulary.
"""

from __future__ import annotations

import sys
from array import array
from typing import TYPE_CHECKING, NamedTuple

from inspector.files.token_layout import TYPECODES
from inspector.id_tensor import INTEGER_DTYPES

if TYPE_CHECKING:
    from collections.abc import Iterable

UINT16_IDS = 2**16
LARGEST_VOCABULARY = 2**18  # a bound where none is stated: the largest in common use has 262,144 tokens

_WIDTHS = ("uint16", "uint32", "int64")  # what a file without a header holds, narrow to wide
_WIDER = {"uint16": "uint32", "int16": "uint32", "uint32": "int64", "int32": "int64"}
_MARKS = (-1, -100)  # what training code puts where no token is
_ENOUGH = 4  # IDs other than 0; fewer tell nothing
_FEW = 256  # a vocabulary so small that its IDs in uint16, two taken as one, look like those of a large one


class Evidence(NamedTuple):
    """What a sample of a file's bytes says, by the dtype that it is read as.

    Attributes:
        least: the smallest ID.
        largest: the largest ID.
        halved: the dtypes as which every second ID is 0, and the others are not.
        largest_low: the largest ID at even places, as uint16.
    """

    least: dict[str, int]
    largest: dict[str, int]
    halved: frozenset[str]
    largest_low: int


def evidence(pieces: Iterable[bytes], stated: str | None = None) -> Evidence:
    """Read a sample as each dtype that a file without a header can have, and as the stated one."""
    pieces = list(pieces)
    least, largest, halved, largest_low = {}, {}, set(), 0
    for dtype in dict.fromkeys((*_WIDTHS, stated or "uint16")):
        if dtype not in INTEGER_DTYPES:
            continue
        values = [v for piece in pieces if (v := _values(piece, dtype))]
        least[dtype] = min(map(min, values), default=0)
        largest[dtype] = max(map(max, values), default=0)
        low = sum(len(v[::2]) - v[::2].count(0) for v in values)
        high = sum(len(v[1::2]) - v[1::2].count(0) for v in values)
        if low >= _ENOUGH and not high:
            halved.add(dtype)
        if dtype == "uint16":
            largest_low = max((max(v[::2]) for v in values), default=0)
    return Evidence(least, largest, frozenset(halved), largest_low)


def _values(piece: bytes, dtype: str) -> array[int]:
    values: array[int] = array(TYPECODES[dtype])
    values.frombytes(piece[: len(piece) // values.itemsize * values.itemsize])
    if sys.byteorder == "big":
        values.byteswap()
    return values


def infer(found: Evidence, size: int, n_vocab: int | None) -> tuple[str, str]:
    """Return the dtype of the IDs in `size` bytes without a header, and why it is that one.

    The bytes decide where they can; otherwise the vocabulary does, and where nothing is known of it, it is uint16.
    """
    if size % 8 == 0 and "uint32" in found.halved:
        return "int64", "read as uint32, every second ID would be 0"
    if size % 4 == 0 and "uint16" in found.halved:
        return "uint32", "read as uint16, every second ID would be 0"
    if n_vocab is None:
        if size % 4 == 0 and found.largest_low >= _FEW and found.largest["uint32"] < LARGEST_VOCABULARY:
            return "uint32", f"read so, no ID is beyond {found.largest['uint32']:,}"
        return "uint16", "no vocabulary is stated, and uint16 is usual"
    if n_vocab <= UINT16_IDS:
        return "uint16", f"the vocabulary of {n_vocab:,} fits"
    if size % 4 == 0 and found.largest["uint32"] < n_vocab:
        return "uint32", f"the vocabulary of {n_vocab:,} does not fit uint16"
    return "uint16", f"read as uint32, IDs would exceed the vocabulary of {n_vocab:,}"


def challenge_width(dtype: str, found: Evidence, size: int, n_vocab: int | None) -> str | None:
    """Return in a sentence why `size` bytes without a header look wrong as `dtype`; None where they do not."""
    width = array(TYPECODES[dtype]).itemsize if TYPECODES[dtype] not in "?e" else 1
    largest = found.largest.get(dtype, 0)
    bound = n_vocab or LARGEST_VOCABULARY
    if dtype in found.halved and dtype in _WIDER:
        wider = "int64" if "uint32" in found.halved else _WIDER[dtype]
        return f"read as {dtype}, every second ID is 0: the file likely holds {wider}"
    if width > 2 and largest >= bound and found.largest["uint16"] < min(bound, UINT16_IDS):
        beyond = f"the vocabulary of {n_vocab:,}" if n_vocab else "any vocabulary"
        return f"read as {dtype}, IDs reach {largest:,}, beyond {beyond}; read as uint16 they all fit"
    if size % width:
        return f"{size:,} bytes are no whole number of {dtype} IDs: the file was cut, or is not {dtype}"
    return challenge(dtype, found.least.get(dtype, 0), largest, n_vocab)


def challenge(dtype: str, least: int, largest: int, n_vocab: int | None) -> str | None:
    """Return in a sentence why IDs between two of a sample look as if they had wrapped around in their dtype."""
    if dtype not in INTEGER_DTYPES:
        return None
    lowest, highest = INTEGER_DTYPES[dtype]
    span = highest - lowest + 1
    if n_vocab is not None and highest < n_vocab - 1:
        return f"{dtype} ends at {highest:,} and the vocabulary has {n_vocab:,} tokens: larger IDs became smaller ones"
    if least < 0 and least not in _MARKS and least + span < (n_vocab or LARGEST_VOCABULARY):
        return f"ID {least:,} is likely {least + span:,}, which {dtype} cannot hold"
    if largest >= (n_vocab or LARGEST_VOCABULARY) and largest - span in _MARKS:
        return f"ID {largest:,} is {largest - span}, which {dtype} cannot hold"
    return None
