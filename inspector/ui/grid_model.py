"""The batch as Qt's item views read it: IDs, token texts, faults by cell, words for tooltips and screen readers."""

from __future__ import annotations

import html
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QGuiApplication

from inspector import tokenizer
from inspector.diagnosis import SEVERITY_ORDER, Cell, Severity
from inspector.result import Grid
from inspector.ui import marks, theme

if TYPE_CHECKING:
    from inspector.diagnosis import Diagnosis
    from inspector.result import Result

Index = QModelIndex | QPersistentModelIndex
ItemRole = Qt.ItemDataRole

DIAGNOSIS_ROLE = ItemRole.UserRole
"""The worst error or warning of a cell, a `Diagnosis` or None."""

_MISSING = Qt.ItemFlag.NoItemFlags
_CHOOSABLE = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemNeverHasChildren


@lru_cache(maxsize=8192)
def token_text(encoding: str | None, token_id: int | float) -> str:
    """Return a token's text with all white space and controls visible; "" for an ID the encoding does not know."""
    data = tokenizer.token_bytes(encoding, token_id) if isinstance(token_id, int) else None
    return "" if data is None else tokenizer.visible(data)


class GridModel(QAbstractTableModel):
    """One batch of a result: as many cells as a full batch has, those beyond the rows that exist without an ID.

    Signals: those of every item model.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.grid = Grid()
        self.encoding: str | None = None
        self._rows = 0
        self._columns = 0
        self._found: tuple[Diagnosis, ...] = ()
        self._by_cell: dict[Cell, Diagnosis] | None = None

    def set_result(self, result: Result) -> None:
        """Show a result's batch."""
        self.beginResetModel()
        self.grid = result.grid
        self.encoding = result.config.tokenizer.encoding
        self._rows = max(len(self.grid.rows), self.grid.expected_rows)
        self._columns = max((self.grid.expected_columns, *map(len, self.grid.rows)))
        if not self._columns:
            self._rows = 0  # a row without a cell is not to be seen
        self._found = tuple(d for d in result.diagnoses if d.cells and d.severity is not Severity.NOTE)
        self._by_cell = None
        self.endResetModel()

    def id_at(self, row: int, column: int) -> int | float | None:
        """Return the ID in a cell; None where there is none."""
        rows = self.grid.rows
        return rows[row][column] if row < len(rows) and column < len(rows[row]) else None

    def fault_at(self, row: int, column: int) -> Diagnosis | None:
        """Return the worst error or warning of a cell."""
        if not self._found:
            return None
        if self._by_cell is None:  # once a result, however many cells it has
            worst_last = sorted(self._found, key=lambda d: SEVERITY_ORDER[d.severity], reverse=True)
            self._by_cell = {cell: d for d in worst_last for cell in d.cells}
        return self._by_cell.get(Cell(row, column))

    # ---- Qt ------------------------------------------------------------------------------------------------------

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - an invalid index is a constant
        return 0 if parent.isValid() else self._rows

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else self._columns

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid() or self.id_at(index.row(), index.column()) is None:
            return _MISSING
        return _CHOOSABLE

    def data(self, index: Index, role: int = ItemRole.DisplayRole) -> Any:
        row, column = index.row(), index.column()
        token_id = self.id_at(row, column) if index.isValid() else None
        if token_id is None:
            return None
        if role == ItemRole.DisplayRole:
            return str(token_id)
        if role == DIAGNOSIS_ROLE:
            return self.fault_at(row, column)
        if role == ItemRole.BackgroundRole:
            fault = self.fault_at(row, column)
            return fault and marks.wash(theme.colors(QGuiApplication.palette()), fault.severity)
        if role == ItemRole.ToolTipRole:
            return self._tooltip(row, column, token_id)
        if role == ItemRole.AccessibleTextRole:
            return self._spoken(row, column, token_id)
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = ItemRole.DisplayRole) -> Any:
        samples = self.grid.samples
        if orientation is Qt.Orientation.Horizontal:
            words = f"position {section}"
        elif section < len(samples):
            words = f"sample {samples[section]}"
        else:
            words = f"no sample in row {section}"
        if role == ItemRole.DisplayRole and orientation is Qt.Orientation.Vertical:
            return str(samples[section]) if section < len(samples) else ""
        return words if role in (ItemRole.DisplayRole, ItemRole.AccessibleTextRole) else None

    # ---- words ---------------------------------------------------------------------------------------------------

    def _place(self, row: int, column: int) -> str:
        samples = self.grid.samples
        return f"sample {samples[row] if row < len(samples) else row}, position {column}"

    def _quoted(self, token_id: int | float) -> str | None:
        return tokenizer.quoted(self.encoding, token_id) if isinstance(token_id, int) else None

    def _spoken(self, row: int, column: int, token_id: int | float) -> str:
        quoted, fault = self._quoted(token_id), self.fault_at(row, column)
        words = f"{self._place(row, column)}: ID {token_id}"
        if quoted is not None:
            words += f", {quoted}"
        if fault is not None:
            words += f", {marks.WORDS[fault.severity]}: {marks.message(fault)}"
        return words

    def _tooltip(self, row: int, column: int, token_id: int | float) -> str:
        """Return all there is to say of a cell, as markup: a token may itself look like markup, or be very long."""
        lines = []
        if fault := self.fault_at(row, column):
            sign = marks.SIGNS[fault.severity]
            lines += [f"<b>{sign} {html.escape(marks.sentence(fault))}</b>", html.escape(marks.advice(fault)), ""]
        lines.append(f"<b>ID {token_id}</b>" + self._named(token_id))
        data = tokenizer.token_bytes(self.encoding, token_id) if isinstance(token_id, int) else None
        if data is not None:
            lines.append(f"bytes {data.hex(' ')}")
        targets = self.grid.targets
        if row < len(targets) and column < len(targets[row]):
            target = targets[row][column]
            lines.append(f"target ID {target}" + self._named(target))
        lines.append(self._place(row, column))
        return f"<qt>{'<br>'.join(lines)}</qt>"

    def _named(self, token_id: int | float) -> str:
        quoted = self._quoted(token_id)
        if quoted is None:
            return f", unknown to {self.encoding}" if self.encoding in tokenizer.AVAILABLE else ""
        return f" &nbsp;{html.escape(quoted)}"
