"""A checkpoint of any format: tables by name, whatever lies behind each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from inspector.files.finite import FLOATS, all_finite
from inspector.files.plain_table import PlainTable
from inspector.files.tensors import Shards

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from torch import Tensor

    from inspector.files.tensors import TensorInfo


class Table(Protocol):
    """A tensor in a file. A format is a way to make these from a header."""

    info: TensorInfo

    def rows(self, indices: Sequence[int]) -> Tensor:
        """Return rows, (indices, width); raise as `TensorFile.rows` does."""
        ...

    def columns(self, indices: Sequence[int]) -> Tensor:
        """Return columns as rows, (indices, height); raise as `TensorFile.rows` does."""
        ...


class Checkpoint:
    """Tables by name: a `TensorFile`, whose attributes it has."""

    def __init__(
        self,
        path: Path,
        format: str,  # noqa: A002 - the name it has in `TensorFile`
        tables: Iterable[Table],
        settings: Mapping[str, Any] | None = None,
        shards: Shards | None = None,
    ) -> None:
        self.path = path
        self.format = format
        self.tables = {table.info.name: table for table in tables}
        self.tensors: Mapping[str, TensorInfo] = {name: table.info for name, table in self.tables.items()}
        self.settings: Mapping[str, Any] = settings or {}
        self.shards = shards or Shards()

    def rows(self, name: str, indices: Sequence[int]) -> Tensor:
        """Return rows of a tensor; see `TensorFile`."""
        return self.tables[name].rows(indices)

    def columns(self, name: str, indices: Sequence[int]) -> Tensor:
        """Return columns of a tensor as rows; see `TensorFile`."""
        return self.tables[name].columns(indices)

    def not_finite(self, name: str, indices: Sequence[int]) -> list[int]:
        """Return which of these rows hold NaN or infinity; see `TensorFile`."""
        table = self.tables[name]
        if not isinstance(table, PlainTable) or table.info.dtype not in FLOATS or not table.is_row_by_row:
            return []
        return [index for index in indices if not all_finite(table.raw_rows([index]), table.info.dtype)]

    def close(self) -> None:
        """Do nothing: no file is held open between two readings."""
