"""A table whose values lie in the file as they are, in any order: rows and columns read from their places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.files.dtypes import ITEM_SIZES
from inspector.trouble import FileTrouble, Trouble

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import torch
    from torch import Tensor

    from inspector.files.source import Source
    from inspector.files.tensors import TensorInfo

_GAP = 16  # values between two columns that are cheaper read along than skipped


class PlainTable:
    """A tensor of a plain dtype at a place in a file.

    Attributes:
        info: what the file declares.
    """

    def __init__(self, source: Source, info: TensorInfo, offset: int, strides: tuple[int, ...] | None = None) -> None:
        """Describe the tensor.

        Args:
            source: the file.
            info: its name, shape and dtype, one of `ITEM_SIZES`.
            offset: the byte at which its first value begins.
            strides: values from one to the next along each axis; None where they lie row by row without gaps.
        """
        self.info = info
        self._source = source
        self._offset = offset
        self._given_strides = strides
        self._item = ITEM_SIZES[info.dtype]

    @property
    def _strides(self) -> tuple[int, ...]:
        return self._given_strides if self._given_strides is not None else contiguous_strides(self.info.shape)

    @property
    def is_row_by_row(self) -> bool:
        """Whether each row lies in the file without gaps."""
        return len(self.info.shape) >= 2 and self._strides[-1] == 1

    def rows(self, indices: Sequence[int]) -> Tensor:
        """Return rows, (indices, width), in the stored dtype."""
        return self._lines(-2, -1, indices)

    def columns(self, indices: Sequence[int]) -> Tensor:
        """Return columns, (indices, height), in the stored dtype."""
        return self._lines(-1, -2, indices)

    def raw_rows(self, indices: Sequence[int]) -> bytearray:
        """Return the bytes of rows that lie in the file without gaps, one after the other."""
        return self._whole_lines(indices, self.info.shape[-1], self._strides[-2])

    def _lines(self, across: int, along: int, indices: Sequence[int]) -> Tensor:
        """Return the lines with these indices on the axis `across`, each read along the axis `along`."""
        count, length = two_axes(self.info)[across], two_axes(self.info)[along]
        require_indices(indices, count)
        dtype = torch_dtype(self._source.path, self.info.dtype)
        require_room(self._source.path, len(indices) * length * self._item)
        import torch

        if not len(indices) or not length:
            return torch.empty((len(indices), length), dtype=dtype)
        if self._strides[along] == 1 or length == 1:
            data = self._whole_lines(indices, length, self._strides[across])
            return torch.frombuffer(data, dtype=dtype).view(len(indices), length)
        # As bytes, (length, columns read, bytes of a value): torch indexes these whatever the dtype is.
        data, places, read = self._scattered(indices, length, self._strides[across], self._strides[along])
        values = torch.frombuffer(data, dtype=torch.uint8).view(length, read, self._item)
        chosen = values[:, places].transpose(0, 1).contiguous()  # (indices, length, bytes of a value)
        return chosen.view(dtype).view(len(indices), length)

    def _whole_lines(self, indices: Sequence[int], length: int, stride: int) -> bytearray:
        """Return lines that lie in the file without gaps."""
        nbytes = length * self._item
        data = bytearray(len(indices) * nbytes)
        view = memoryview(data)
        with self._source.reading() as stream:
            for place, index in enumerate(indices):
                start = place * nbytes
                stream.fill(view[start : start + nbytes], self._offset + index * stride * self._item)
        return data

    def _scattered(
        self, indices: Sequence[int], length: int, across: int, along: int
    ) -> tuple[bytearray, list[int], int]:
        """Read lines whose values lie apart, value by value, neighbouring lines together.

        Returns:
            the bytes, `length` times what is read at once; where in that the lines wanted are; how many lines it is.
        """
        runs = _runs(sorted(set(indices)), _GAP if across == 1 else 0)
        read = sum(last - first + 1 for first, last in runs)
        require_room(self._source.path, length * read * self._item)
        data = bytearray(length * read * self._item)
        view = memoryview(data)
        place, places = 0, {}
        for first, last in runs:
            for index in range(first, last + 1):
                places[index] = place + index - first
            place += last - first + 1
        with self._source.reading() as stream:
            filled = 0
            for step in range(length):
                base = self._offset + step * along * self._item
                for first, last in runs:
                    nbytes = (last - first + 1) * self._item
                    stream.fill(view[filled : filled + nbytes], base + first * across * self._item)
                    filled += nbytes
        return data, [places[index] for index in indices], read


def _runs(indices: Sequence[int], gap: int) -> list[tuple[int, int]]:
    """Return ranges, first and last, that cover ascending indices, with no more than `gap` from one to the next."""
    runs: list[tuple[int, int]] = []
    for index in indices:
        if runs and index - runs[-1][1] <= gap:
            runs[-1] = runs[-1][0], index
        else:
            runs.append((index, index))
    return runs


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides, in values, of a tensor that lies row by row without gaps."""
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def two_axes(info: TensorInfo) -> tuple[int, int]:
    """Return (height, width) of a table.

    Raises:
        ValueError: the tensor is not a table.
    """
    *before, height, width = (0, *info.shape) if len(info.shape) < 2 else info.shape
    if len(info.shape) < 2 or any(size != 1 for size in before):
        raise ValueError(f"{info.name!r} has shape {info.shape}, not two axes")
    return height, width


def require_indices(indices: Sequence[int], count: int) -> None:
    """Refuse an index that is not from 0 to `count` - 1.

    Raises:
        IndexError: there is one.
    """
    for index in indices:
        if not 0 <= index < count:
            raise IndexError(f"index {index} is not one of 0 to {count - 1}")


def require_room(path: Path, nbytes: int) -> None:
    """Refuse to read more than fits in memory.

    Raises:
        FileTrouble: it does not fit.
    """
    from inspector.layers import NotEnoughMemory, require_memory

    try:
        require_memory(2 * nbytes, "reading these rows takes")
    except NotEnoughMemory as error:
        raise FileTrouble(
            Trouble.UNREADABLE, path, f"has rows too long for this machine: {error}", "ask for fewer rows"
        ) from error


def torch_dtype(path: Path, name: str) -> torch.dtype:
    """Return torch's dtype.

    Raises:
        FileTrouble: the torch installed does not have it.
    """
    import torch

    found = getattr(torch, name, None)
    if isinstance(found, torch.dtype):
        return found
    raise FileTrouble(
        Trouble.NOT_RECOGNISED,
        path,
        f"holds values of dtype {name}, which torch {torch.__version__} does not have",
        "install a newer torch",
    )
