"""How the grid looks: a cell's ID above its token's text, marks and outlines, and headers of plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHeaderView, QStyledItemDelegate, QStyleOptionViewItem, QTableView, QWidget

from inspector.diagnosis import Cell, Severity
from inspector.ui import marks, theme
from inspector.ui.grid_model import GridModel, Index, token_text

if TYPE_CHECKING:
    from inspector.diagnosis import Diagnosis
    from inspector.ui.session import Session

PADDING = 9  # left of a cell's text
RIGHT_PADDING = 4
SHORT = len("▲ 50257")  # always has room


class CellDelegate(QStyledItemDelegate):
    """Paints a cell: the ID above its token's text, the mark of a fault, the outline of what is chosen."""

    def __init__(self, session: Session, model: GridModel, parent: QWidget) -> None:
        super().__init__(parent)
        self._session = session
        self._model = model
        self._colors = theme.LIGHT
        self._focused = False
        self._emphasised_for: Diagnosis | None = None
        self._emphasised: frozenset[Cell] = frozenset()
        self.take_fonts()

    def take_fonts(self) -> None:
        """Take the theme's fonts anew."""
        self._id_font = theme.mono_font()
        self._id_font.setBold(True)
        self._text_font = theme.mono_font(-1)
        self._id_metrics = QFontMetrics(self._id_font)
        self._text_metrics = QFontMetrics(self._text_font)
        self._character = self._text_metrics.horizontalAdvance("0")

    def begin(self, colors: theme.Colors, *, focused: bool) -> None:
        """Take what all cells of one repaint share: it is dear to ask for in each of them."""
        self._colors = colors
        self._focused = focused
        diagnosis = self._session.diagnosis
        if diagnosis is not self._emphasised_for:
            self._emphasised_for = diagnosis
            self._emphasised = frozenset(diagnosis.cells) if diagnosis is not None else frozenset()

    @property
    def smallest(self) -> QSize:
        """The smallest cell that holds a mark and a five-digit ID, and the token's text under it."""
        width = self._id_metrics.horizontalAdvance("▲ 50257") + PADDING + RIGHT_PADDING + 1
        return QSize(width, self._id_metrics.height() + self._text_metrics.height())

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        cell, colors = Cell(index.row(), index.column()), self._colors
        rect: QRect = option.rect
        token_id = self._model.id_at(*cell)
        if token_id is None:
            pen = QPen(colors.border, 1, Qt.PenStyle.DashLine)
            _outline(painter, rect.adjusted(2, 2, -2, -2), pen)
            return
        painter.fillRect(rect.right(), rect.top(), 1, rect.height(), colors.grid)
        painter.fillRect(rect.left(), rect.bottom(), rect.width(), 1, colors.grid)
        fault = self._model.fault_at(*cell)
        if fault is not None:
            painter.fillRect(rect.adjusted(1, 1, -2, -2), marks.wash(colors, fault.severity))
        if cell == self._session.cell:
            pen = QPen(colors.accent, 2.4 if self._focused else 1.6)
            _outline(painter, rect, pen, colors.accent_wash if fault is None else None)
        elif cell in self._emphasised:
            severity = fault.severity if fault is not None else Severity.NOTE
            _outline(painter, rect, QPen(marks.color(colors, severity), 1))
        self._paint_words(painter, rect, colors, token_id, fault)

    def _paint_words(
        self, painter: QPainter, rect: QRect, colors: theme.Colors, token_id: int | float, fault: Diagnosis | None
    ) -> None:
        words, text = str(token_id), token_text(self._model.encoding, token_id)
        if fault is not None:
            words = f"{marks.SIGNS[fault.severity]} {words}"
        id_height, text_height = self._id_metrics.height(), self._text_metrics.height()
        gap = min(6, max(0, (rect.height() - id_height - text_height - 4) // 3))
        top = rect.top() + (rect.height() - id_height - gap - text_height) // 2
        left, width = rect.left() + PADDING, rect.width() - PADDING - RIGHT_PADDING
        painter.setFont(self._id_font)
        painter.setPen(colors.text if fault is None else marks.color(colors, fault.severity))
        if len(words) > SHORT:
            words = self._id_metrics.elidedText(words, Qt.TextElideMode.ElideRight, width)
        painter.drawText(left, top + self._id_metrics.ascent(), words)
        if text:
            painter.setFont(self._text_font)
            painter.setPen(colors.muted)
            if 2 * len(text) * self._character > width:  # twice: some scripts' characters are two cells wide
                text = self._text_metrics.elidedText(text, Qt.TextElideMode.ElideRight, width)
            painter.drawText(left, top + id_height + gap + self._text_metrics.ascent(), text)


def _outline(painter: QPainter, rect: QRect, pen: QPen, wash: QColor | None = None) -> None:
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(pen)
    if wash is not None:
        painter.setBrush(wash)
    painter.drawRoundedRect(QRectF(rect).adjusted(1.5, 1.5, -2.5, -2.5), 3, 3)
    painter.restore()


class QuietHeader(QHeaderView):
    """A header of plain quiet words; those of the chosen cell stand out.

    Signals: those of every header.
    """

    def __init__(self, orientation: Qt.Orientation, parent: QWidget) -> None:
        super().__init__(orientation, parent)
        self.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.setMinimumSectionSize(1)
        self.setHighlightSections(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    def sizeHint(self) -> QSize:
        metrics = self.fontMetrics()
        if self.orientation() is Qt.Orientation.Horizontal:
            return QSize(0, metrics.height() + 6)
        last = self.model().rowCount() - 1
        labels = [str(self._words(section)) for section in {0, max(0, last)}]
        return QSize(max(metrics.horizontalAdvance("00"), *map(metrics.horizontalAdvance, labels)) + 12, 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the sections that are in sight; Qt's own way draws a box around each."""
        colors = theme.colors(self.palette())
        painter = QPainter(self.viewport())
        painter.fillRect(event.rect(), colors.panel)
        horizontal = self.orientation() is Qt.Orientation.Horizontal
        length = self.viewport().width() if horizontal else self.viewport().height()
        changed = event.rect()
        changed_first, changed_last = (
            (changed.left(), changed.right()) if horizontal else (changed.top(), changed.bottom())
        )
        first, last = self.logicalIndexAt(0), self.logicalIndexAt(length - 1)
        view = self.parent()
        assert isinstance(view, QTableView)
        current = view.currentIndex()
        chosen = current.column() if horizontal else current.row()
        for section in range(max(0, first), (self.count() - 1 if last < 0 else last) + 1):
            start, size = self.sectionViewportPosition(section), self.sectionSize(section)
            if start > changed_last or start + size < changed_first:
                continue
            painter.setPen(colors.text if section == chosen else colors.muted)
            if horizontal:
                words = self._words(section)
                if self.fontMetrics().horizontalAdvance(words) > size - PADDING - 2:
                    words = words.rpartition(" ")[2]
                rect = QRect(start + PADDING, 0, size - PADDING, self.viewport().height())
                painter.drawText(rect, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, words)
            else:
                rect = QRect(0, start, self.viewport().width() - 8, size)
                painter.drawText(
                    rect, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, self._words(section)
                )
        painter.end()

    def _words(self, section: int) -> str:
        return str(self.model().headerData(section, self.orientation()) or "")
