"""Whether values as they lie in a file are numbers: NaN and infinity are found without torch."""

from __future__ import annotations

import math
import struct
import sys
from array import array

FLOATS = ("float64", "float32", "float16", "bfloat16")


def all_finite(data: bytearray, dtype: str) -> bool:
    """Return whether all of these little-endian values are finite.

    Args:
        data: the bytes of whole values.
        dtype: one of `FLOATS`.
    """
    if dtype == "float16":
        return math.isfinite(sum(struct.unpack(f"<{len(data) // 2}e", data)))
    values = array("d" if dtype == "float64" else "f")
    if dtype == "bfloat16":  # the upper half of a float32
        wide = bytearray(2 * len(data))
        wide[2::4], wide[3::4] = data[0::2], data[1::2]
        data = wide
    values.frombytes(data)
    if sys.byteorder == "big":
        values.byteswap()
    # A sum is finite only if each value is; it can pass double precision's range only if they are doubles themselves.
    return math.isfinite(sum(values)) or (dtype == "float64" and all(map(math.isfinite, values)))
