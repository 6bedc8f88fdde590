"""The batch as a grid of token IDs: rows are samples, columns positions. Its cells choose what the plots show."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QSize, Qt, Slot
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QFrame, QTableView, QWidget

from inspector.diagnosis import Cell, Severity, Stage
from inspector.ui import marks, theme
from inspector.ui.batch_pager import BatchPager
from inspector.ui.grid_model import GridModel, Index
from inspector.ui.grid_paint import CellDelegate, QuietHeader
from inspector.ui.panel import Muted, Panel, plain_label

if TYPE_CHECKING:
    from PySide6.QtCore import QEvent

    from inspector.diagnosis import Diagnosis
    from inspector.result import Result
    from inspector.ui.session import Session

LESSON_ROWS = 8  # a smaller batch's cells are no higher than the lesson's
WAITING = "Loading the vocabulary …"
EMPTY = "No token IDs yet: type a text."

Key = Qt.Key
Modifier = Qt.KeyboardModifier


class TokenGrid(QTableView):
    """Shows the session's batch, chooses cells and, with Page Up and Page Down, batches.

    Signals: those of every item view; what is chosen goes to the session.
    """

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._model = GridModel(self)
        self._cells = CellDelegate(session, self._model, self)
        self.setAccessibleName("Batch of token IDs")
        self.setModel(self._model)
        self.setItemDelegate(self._cells)
        self.setHorizontalHeader(QuietHeader(Qt.Orientation.Horizontal, self))
        self.setVerticalHeader(QuietHeader(Qt.Orientation.Vertical, self))
        corner = self.findChild(QAbstractButton)  # "select all", which the style paints as a grey box
        if corner is not None:
            corner.setFixedSize(0, 0)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.viewport().setBackgroundRole(QPalette.ColorRole.AlternateBase)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)  # Tab leaves the grid
        session.result_changed.connect(self._show_result)
        session.cell_changed.connect(self._show_cell)
        session.diagnosis_changed.connect(self._show_diagnosis)
        if session.result is not None:
            self._show_result(session.result)

    @property
    def whole_visible(self) -> bool:
        """Whether nothing of the grid has to be scrolled for."""
        return self.horizontalScrollBar().maximum() == 0 and self.verticalScrollBar().maximum() == 0

    # ---- what the session says -----------------------------------------------------------------------------------

    @Slot(object)
    def _show_result(self, result: Result) -> None:
        self._model.set_result(result)
        self._size_cells()
        self._show_cell(self._session.cell)

    @Slot(object)
    def _show_cell(self, cell: Cell | None) -> None:
        self.setCurrentIndex(QModelIndex() if cell is None else self._model.index(cell.row, cell.column))

    @Slot(object)
    def _show_diagnosis(self, _diagnosis: Diagnosis | None) -> None:
        self.viewport().update()

    # ---- what the hand does --------------------------------------------------------------------------------------

    def currentChanged(self, current: Index, previous: Index) -> None:
        super().currentChanged(current, previous)
        if current.isValid():
            self._session.set_cell(current.row(), current.column())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Key.Key_PageUp: -1, Key.Key_PageDown: 1}.get(Key(event.key()))
        result = self._session.result
        if step and result is not None and event.modifiers() == Modifier.NoModifier and self.whole_visible:
            self._session.set_batch(result.batch + step)
        else:
            super().keyPressEvent(event)

    def moveCursor(self, action: QAbstractItemView.CursorAction, modifiers: Modifier) -> QModelIndex:
        """Go where Qt goes, but End to the last ID there is: rows may differ in length, and cells be missing."""
        rows = self._model.grid.rows
        if action is not QAbstractItemView.CursorAction.MoveEnd or not any(rows):
            return super().moveCursor(action, modifiers)
        row = max(r for r, ids in enumerate(rows) if ids)
        if not modifiers & Modifier.ControlModifier:
            row = self.currentIndex().row()
        return self._model.index(row, len(rows[row]) - 1)

    def keyboardSearch(self, search: str) -> None:
        """Do nothing: digits typed in the grid are not a search for an ID."""

    # ---- sizes ---------------------------------------------------------------------------------------------------

    def sizeHint(self) -> QSize:
        return self._size_of(4, LESSON_ROWS)

    def minimumSizeHint(self) -> QSize:
        return self._size_of(2, 3)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._size_cells()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == event.Type.FontChange:
            self._cells.take_fonts()
            self._size_cells()

    def _size_of(self, columns: int, rows: int) -> QSize:
        cell = self._cells.smallest
        header = self.fontMetrics().height() + 6
        return QSize(columns * cell.width() + self.verticalHeader().width(), rows * cell.height() + header)

    def _size_cells(self) -> None:
        """Share the space among the cells; those of a large batch keep their smallest size and scroll."""
        space, smallest = self.maximumViewportSize(), self._cells.smallest
        columns, rows = max(1, self._model.columnCount()), max(LESSON_ROWS, self._model.rowCount())
        width, height = space.width(), space.height()
        wide, high = columns * smallest.width(), self._model.rowCount() * smallest.height()
        if wide > width:  # the bar takes room from the other direction, once
            height -= self.horizontalScrollBar().sizeHint().height()
        if high > height:
            width -= self.verticalScrollBar().sizeHint().width()
        for header, size in (
            (self.horizontalHeader(), max(smallest.width(), width // columns)),
            (self.verticalHeader(), max(smallest.height(), height // rows)),
        ):
            if header.defaultSectionSize() != size:
                header.setDefaultSectionSize(size)

    # ---- paint ---------------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        self._cells.begin(theme.colors(self.palette()), focused=self.hasFocus())
        super().paintEvent(event)
        if self._model.rowCount() and self._model.columnCount():
            return
        painter = QPainter(self.viewport())
        painter.setPen(theme.colors(self.palette()).muted)
        words = why_empty(self._session.result)
        flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
        painter.drawText(self.viewport().rect().adjusted(12, 12, -12, -12), flags, words)
        painter.end()


class BatchPanel(Panel):
    """The batch, where it lies among all batches, and the way to the others.

    Attributes:
        grid: the cells.
        pager: the way to the other batches.
        samples: which samples the batch holds.
        verdict: why the loader gives no such batch; hidden where it does.

    Signals: none; what is chosen goes to the session.
    """

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__("Batch", parent)
        self._session = session
        self.grid = TokenGrid(session)
        self.first_stop = self.grid
        self.info.hide()
        self.samples = _Elided()
        self.header.insertWidget(2, self.samples, 1)
        self.header.setStretch(1, 0)  # the line of samples takes all there is
        self.pager = BatchPager(session)
        self.header.addWidget(self.pager)
        self.verdict = plain_label()
        self.verdict.setWordWrap(True)
        self.verdict.hide()
        self.body.addWidget(self.grid, 1)
        self.body.addWidget(self.verdict)
        session.result_changed.connect(self._show_result)
        self._show_result(session.result)

    @Slot(object)
    def _show_result(self, result: Result | None) -> None:
        self.title.setText(_where(result))
        self.samples.setText(_which_samples(result))
        self._show_verdict(result)

    def _show_verdict(self, result: Result | None) -> None:
        """Say beside the grid why the loader gives no batch, or not this one."""
        found = result.diagnoses if result is not None else ()
        fault = next((d for d in found if d.stage is Stage.DATA_LOADER and d.severity is Severity.ERROR), None)
        self.verdict.setVisible(fault is not None)
        if fault is not None:
            self.verdict.setText(f"{marks.SIGNS[fault.severity]} {marks.sentence(fault)}")
            self._color_verdict()

    def _color_verdict(self) -> None:
        palette = self.verdict.palette()
        palette.setColor(QPalette.ColorRole.WindowText, theme.colors(self.palette()).fault)
        self.verdict.setPalette(palette)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if theme.repaints_on(event) and not self.verdict.isHidden():
            self._color_verdict()


class _Elided(Muted):
    """A quiet line that gives way where there is no room for it."""

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        text = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, self.width())
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, text)
        painter.end()


def why_empty(result: Result | None) -> str:
    """Return why there is no cell to show."""
    if result is None:
        return WAITING
    trouble, tokens = result.material.trouble, result.tokens
    if result.config.token_ids is not None:
        return "The batch given holds no token ID."
    if trouble is not None:
        return f"No token IDs: {PurePath(trouble.path).name} cannot be read."
    if tokens is not None and tokens.refused:
        return "No token IDs: the text was refused, because it holds a special token."
    return EMPTY


def _where(result: Result | None) -> str:
    if result is None:
        return "Batch"
    if result.plan is None:
        if result.config.token_ids is not None:
            return "IDs given as a batch"
        return "Token IDs, no batch" if any(result.grid.rows) else "No token IDs"
    return f"Batch {result.batch + 1:,} of {result.batches:,}" if result.batches else "No batch"


def _which_samples(result: Result | None) -> str:
    """Return "samples 0–7 of 19"; the first and the last of a shuffled batch would say nothing."""
    if result is None or result.plan is None:
        return ""
    samples, total = result.grid.samples, result.plan.samples
    if not total or not samples:
        return ""
    if result.plan.shuffle:
        return f"{len(samples):,} of {total:,} samples, shuffled"
    last = min(samples[-1], total - 1)
    which = f"sample {samples[0]:,}" if last == samples[0] else f"samples {samples[0]:,}–{last:,}"
    left_over = ", and the tokens left over" if samples[-1] >= total else ""
    return f"{which} of {total:,}{left_over}"
