"""Nested lists of numbers as torch would see them: shape, rank, whether they are integers; without torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

INTEGER_DTYPES = {
    "uint8": (0, 2**8 - 1),
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
INDEX_DTYPES = ("int32", "int64")  # what torch's embedding look-up takes


@dataclass(frozen=True, slots=True)
class IdTensor:
    """A tensor as a person wrote it down.

    `shape` is None where rows of one level differ in length (torch refuses to make a tensor of it).
    """

    values: tuple[Any, ...]
    dtype: str
    shape: tuple[int, ...] | None

    @property
    def is_index(self) -> bool:
        """Whether dtype and values are what a look-up takes: whole numbers that int32 or int64 holds."""
        if self.dtype not in INDEX_DTYPES:
            return False
        lowest, highest = INTEGER_DTYPES[self.dtype]
        return all((isinstance(v, int) or v.is_integer()) and lowest <= v <= highest for v in self.flat())

    def flat(self) -> Iterator[int | float]:
        """Yield all numbers, in order."""
        return _flat(self.values)

    def rows(self) -> list[list[int | float]]:
        """Return the numbers as rows of one grid to look at, whatever the rank: the last axis is the row."""
        return list(_rows(self.values))


def tensor(values: tuple[Any, ...], dtype: str = "int64") -> IdTensor:
    """Return nested tuples of numbers as a tensor of `dtype`."""
    return IdTensor(values, dtype, _shape(values))


def _shape(value: Any) -> tuple[int, ...] | None:
    if not isinstance(value, tuple):
        return ()
    if not value:
        return (0,)
    inner = {_shape(item) for item in value}
    first = inner.pop()
    if inner or first is None:
        return None
    return (len(value), *first)


def _flat(value: Any) -> Iterator[int | float]:
    if isinstance(value, tuple):
        for item in value:
            yield from _flat(item)
    else:
        yield value


def _rows(value: tuple[Any, ...]) -> Iterator[list[int | float]]:
    if any(isinstance(item, tuple) for item in value):
        for item in value:
            yield from _rows(item) if isinstance(item, tuple) else [[item]]
    else:
        yield list(value)
