"""A table whose rows have to be decoded: what the kinds of quantised tables have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.files.plain_table import require_indices, require_room, two_axes
from inspector.files.shown import shown
from inspector.trouble import FileTrouble, Trouble

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from inspector.files.source import Source
    from inspector.files.tensors import TensorInfo

_AT_ONCE = 2**22  # values decoded at once on the way to a column


class CodedTable:
    """A table whose rows are decoded to float32; a column takes all of them, some at a time.

    Attributes:
        info: what the file declares.
    """

    def __init__(self, source: Source, info: TensorInfo) -> None:
        self.info = info
        self.source = source

    def decode(self, indices: Sequence[int]) -> Tensor:
        """Return rows, (indices, width), as float32."""
        raise NotImplementedError

    def rows(self, indices: Sequence[int]) -> Tensor:
        """Return rows, (indices, width), as float32."""
        height, width = two_axes(self.info)
        require_indices(indices, height)
        require_room(self.source.path, len(indices) * width * 4)
        if not len(indices):
            import torch

            return torch.empty((0, width))
        return self.decode(indices)

    def columns(self, indices: Sequence[int]) -> Tensor:
        """Return columns, (indices, height), as float32."""
        import torch

        height, width = two_axes(self.info)
        require_indices(indices, width)
        require_room(self.source.path, len(indices) * height * 4)
        found = torch.empty((len(indices), height))
        step = max(1, _AT_ONCE // max(1, width))
        for start in range(0, height, step):
            block = range(start, min(height, start + step))
            found[:, block.start : block.stop] = self.decode(block)[:, list(indices)].T
        return found


class UnreadTable(CodedTable):
    """A table quantised in a way that is not decoded here: its shape can be judged, its rows cannot be read."""

    def decode(self, indices: Sequence[int]) -> Tensor:
        """Refuse: stored codes are not the rows that a model adds.

        Raises:
            FileTrouble: always.
        """
        raise FileTrouble(
            Trouble.NOT_RECOGNISED,
            self.source.path,
            f"holds {shown(self.info.name)} quantised as {self.info.dtype}, whose rows cannot be decoded here",
            "open the checkpoint it was quantised from",
        )
