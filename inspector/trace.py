"""The rows of one batch as arrays: copied, read-only, NaN where there is no row.

Every value equals torch's own bit for bit. float32 and float64 tables give arrays of their own dtype; half types are
widened to float32, the sum after torch has added in its own dtype with its own promotion.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from inspector import id_tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from inspector.config import InputConfig
    from inspector.layers import Layers, Table
    from inspector.result import Result

Scalar = TypeVar("Scalar", bound=np.generic)
Kind = Literal["token", "position", "sum"]

_ABSENT = -1  # stands for an index that has no row


@dataclass(frozen=True, slots=True, eq=False)
class CellRows:
    """The rows of one cell, read-only; None where there is none.

    Values are float32, from a float64 table float64: each equals torch's bit for bit. Those of half types are float32,
    widened after torch computed the sum.
    """

    token: NDArray[Any] | None = None  # (token width,)
    position: NDArray[Any] | None = None  # (position width,)
    sum: NDArray[Any] | None = None  # (embedding_dim,)


@dataclass(frozen=True, eq=False)
class Trace:
    """The rows of one batch of B rows and T columns, the length of its longest row.

    Attributes:
        lengths: how many cells each row of the batch has.
        token_rows: (B, T, token width), NaN where an ID has no row; None without a token layer or a batch.
        token_present: (B, T) bool, whether there is a token row.
        position_rows: (T, position width), or (B, T, position width) for positions given row by row; None without a
            position layer or a batch, and where the positions given are not one for each column.
        position_present: (T,) or (B, T) bool, whether there is a position row.
        sums: (B, T, embedding_dim), token row + position row (+ the row of segment 0 in a model with segments), or the
            token row alone in a model without a position table; None where they cannot be added.
        sum_present: (B, T) bool, whether there is a sum.
    """

    lengths: tuple[int, ...] = ()
    token_rows: NDArray[Any] | None = None
    token_present: NDArray[np.bool_] | None = None
    position_rows: NDArray[Any] | None = None
    position_present: NDArray[np.bool_] | None = None
    sums: NDArray[Any] | None = None
    sum_present: NDArray[np.bool_] | None = None

    def cell(self, row: int, column: int) -> CellRows:
        """Return the rows of a cell; all None where there is no such cell."""
        if not (0 <= row < len(self.lengths) and 0 <= column < self.lengths[row]):
            return CellRows()
        return CellRows(
            _at(self.token_rows, self.token_present, row, column),
            _at(self.position_rows, self.position_present, row, column),
            _at(self.sums, self.sum_present, row, column),
        )

    @property
    def all_token_rows(self) -> NDArray[Any] | None:
        """The token rows where every one is present, else None."""
        return _complete(self.token_rows, self.token_present)

    @property
    def all_position_rows(self) -> NDArray[Any] | None:
        """The position rows where every one is present, else None."""
        return _complete(self.position_rows, self.position_present)

    @property
    def all_sums(self) -> NDArray[Any] | None:
        """The sums where every one is present, else None."""
        return _complete(self.sums, self.sum_present)

    def limits(self, kind: Kind) -> tuple[float, float] | None:
        """Return the smallest and the largest finite value of a kind in the whole batch; None where there is none."""
        return self._limits[kind]

    @cached_property
    def _limits(self) -> dict[Kind, tuple[float, float] | None]:
        return {
            "token": _limits(self.token_rows),
            "position": _limits(self.position_rows),
            "sum": _limits(self.sums),
        }


def of(result: Result, layers: Layers) -> Trace:
    """Look up the rows of a result's batch, or of the cells there are where a fault leaves no batch.

    An index outside its table has no row: none is clamped, wrapped or broadcast.

    Raises:
        NotEnoughMemory: the arrays do not fit.
    """
    cells: Sequence[Sequence[int | float]] = result.grid.rows if result.ids is None else result.ids
    lengths = tuple(len(row) for row in cells)
    columns = max(lengths, default=0)
    if not columns:
        return Trace()
    config, token, position = result.config, layers.token, layers.position
    lines = _position_indices(config, len(cells), columns)
    _require_memory(layers, len(cells) * columns, sum(len(line) for line in lines))

    ids = _in_table(token, cells, columns)  # (B, T)
    positions = _in_table(position, lines, columns)  # (1, T) or (B, T)
    if positions is not None and len(positions) == 1:
        positions = positions[0]  # (T,): one line of positions serves every row
    token_rows, token_present = _looked_up(token, ids)
    position_rows, position_present = _looked_up(position, positions)
    sums: NDArray[Any] | None = None
    sum_present: NDArray[np.bool_] | None = None
    if config.token_embedding.project_to is None:
        sums, sum_present = _added(layers, ids, positions, config)
    return Trace(lengths, token_rows, token_present, position_rows, position_present, sums, sum_present)


# ---- indices -----------------------------------------------------------------------------------------------------


def _position_indices(config: InputConfig, batch_size: int, columns: int) -> Sequence[Sequence[Any]]:
    """Return the indices of position rows: one line for all rows of the batch, or a line for each of them.

    There is no line without a position table, nor where the positions given are not one for each column.
    """
    layer = config.position_embedding
    if layer is None:
        return ()
    if config.positions is None:
        first = layer.offset + config.past_length
        return [range(first, first + columns)]
    shape = id_tensor.tensor(config.positions).shape
    if shape == (columns,):
        return [config.positions]
    if shape in ((1, columns), (batch_size, columns)):
        return config.positions
    return ()


def _in_table(layer: Table | None, lines: Sequence[Sequence[Any]], columns: int) -> NDArray[np.int64] | None:
    """Return (lines, columns) indices, `_ABSENT` where a line is short or its number is not that of a row.

    None without a layer or a line.
    """
    if layer is None or not lines:
        return None
    last = layer.num_embeddings - 1
    return np.array(
        [
            [i if type(i) is int and 0 <= i <= last else _ABSENT for i in line] + [_ABSENT] * (columns - len(line))
            for line in lines
        ],
        dtype=np.int64,
    )


# ---- rows --------------------------------------------------------------------------------------------------------


def _looked_up(
    layer: Table | None, indices: NDArray[np.int64] | None
) -> tuple[NDArray[Any], NDArray[np.bool_]] | tuple[None, None]:
    """Return the rows, (*indices.shape, width), and which of them are present; None without a layer or indices."""
    if layer is None or indices is None:
        return None, None
    present = indices != _ABSENT  # (T,) or (B, T)
    return _placed(layer.rows(indices[present]), present), _read_only(present)


def _added(
    layers: Layers, ids: NDArray[np.int64] | None, positions: NDArray[np.int64] | None, config: InputConfig
) -> tuple[NDArray[Any], NDArray[np.bool_]] | tuple[None, None]:
    """Return the input embedding, (B, T, width), and where it is present; None where the rows do not add up.

    The order is BERT's: token row, plus the row of segment 0 where there is a segment table, plus the position row.
    """
    token, position, segment = layers.token, layers.position, layers.segment
    wanted = (config.token_embedding, config.position_embedding, config.segment_embedding)
    tables = [table for table, layer in zip(layers.tables, wanted, strict=True) if layer is not None]
    if token is None or ids is None or any(t is None or t.embedding_dim != token.embedding_dim for t in tables):
        return None, None
    present = ids != _ABSENT  # (B, T)
    if position is not None:
        if positions is None:
            return None, None
        positions = np.broadcast_to(positions, ids.shape)  # (B, T)
        present = present & (positions != _ABSENT)
    added = token.rows(ids[present])  # (present, width)
    if segment is not None:
        added = added + segment.rows(np.zeros(1, np.int64))  # (present, width) + (1, width)
    if position is not None and positions is not None:
        added = added + position.rows(positions[present])
    return _placed(added, present), _read_only(present)


def _placed(rows: Tensor, present: NDArray[np.bool_]) -> NDArray[Any]:
    """Return (present cells, width) rows in their places, (*present.shape, width), and NaN in the others."""
    from inspector import layers

    values = layers.widened(rows)
    if present.all():
        return _read_only(values.reshape(*present.shape, -1))
    placed = np.full((*present.shape, values.shape[-1]), np.nan, values.dtype)
    placed[present] = values
    return _read_only(placed)


def _read_only(array: NDArray[Scalar]) -> NDArray[Scalar]:
    array.flags.writeable = False
    return array


def _at(rows: NDArray[Any] | None, present: NDArray[np.bool_] | None, row: int, column: int) -> NDArray[Any] | None:
    if rows is None or present is None:
        return None
    place = (row, column)[-present.ndim :]  # (column,) where one line of rows serves the whole batch
    found: NDArray[Any] | None = rows[place] if present[place] else None
    return found


def _complete(rows: NDArray[Any] | None, present: NDArray[np.bool_] | None) -> NDArray[Any] | None:
    return rows if present is not None and present.all() else None


def _limits(rows: NDArray[Any] | None) -> tuple[float, float] | None:
    if rows is None:
        return None
    finite = np.isfinite(rows)
    if not finite.any():
        return None
    return float(rows.min(where=finite, initial=np.inf)), float(rows.max(where=finite, initial=-np.inf))


# ---- memory ------------------------------------------------------------------------------------------------------


def _require_memory(layers: Layers, cells: int, positions: int) -> None:
    """Refuse a batch whose arrays do not fit: token rows, position rows and sums, and as much again on the way."""
    from inspector.layers import require_memory

    nbytes = 0
    for layer, count in ((layers.recipe.token, 2 * cells), (layers.recipe.position, positions)):
        if layer is not None:
            nbytes += count * layer.embedding_dim * (8 if layer.dtype == "float64" else 4)
    require_memory(2 * nbytes, "the rows of this batch take up to")
