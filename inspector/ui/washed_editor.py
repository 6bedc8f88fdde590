"""The text editor with washes behind its tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QTextCursor, QTextLine
from PySide6.QtWidgets import QWidget

from inspector.ui.text_editor import TextEditor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Wash(NamedTuple):
    """A colour behind the characters that a cursor selects; it moves with them."""

    cursor: QTextCursor
    color: QColor


class WashedEditor(TextEditor):
    """Paints washes behind its text, under Qt's own marks.

    As a mark of Qt's each would draw its lines of text once more, and a batch's 32 tokens take as long as the three
    curves (measured: 1.0 ms of a click's 4.2).

    Attributes:
        washes: what is behind the text.

    Signals: those of `TextEditor`.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.washes: Sequence[Wash] = ()
        self._place: object = None  # where the text was when the rectangles were found
        self._rects: list[tuple[QRectF, QColor]] = []

    def set_washes(self, washes: Sequence[Wash]) -> None:
        """Show these washes in place of those before."""
        self.washes = washes
        self._place = None
        self.viewport().update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.washes:
            page, document = self.viewport().size(), self.document()
            place = (page.width(), page.height(), self.verticalScrollBar().value(), document.revision(), self.font())
            if place != self._place:
                self._place = place
                self._rects = [(rect, wash.color) for wash in self.washes for rect in self._rects_of(wash.cursor)]
            painter = QPainter(self.viewport())
            painter.setClipRect(event.rect())
            for rect, color in self._rects:
                painter.fillRect(rect, color)
            painter.end()
        super().paintEvent(event)

    def _rects_of(self, selected: QTextCursor) -> Iterator[QRectF]:
        """Yield where the selected characters are in the viewport, line by line."""
        start, end = selected.selectionStart(), selected.selectionEnd()
        block = self.document().findBlock(start)
        while start < end and block.isValid():
            layout, begin = block.layout(), block.position()
            origin = self.blockBoundingGeometry(block).translated(self.contentOffset()).topLeft()
            last = min(end, begin + block.length() - 1)  # without the break at the block's end
            while start < last:
                line = layout.lineForTextPosition(start - begin)
                if not line.isValid():
                    break
                line_end = min(last, begin + line.textStart() + line.textLength())
                # The edges of the characters themselves: what follows may run in the other direction.
                left = _x(line, start - begin, QTextLine.Edge.Leading)
                right = _x(line, line_end - 1 - begin, QTextLine.Edge.Trailing)
                yield QRectF(left, line.y(), right - left, line.height()).normalized().translated(origin)
                start = line_end
            block = block.next()
            start = max(start, block.position())


def _x(line: QTextLine, character: int, edge: QTextLine.Edge) -> float:
    found = line.cursorToX(character, edge)  # with the place it was found for
    assert isinstance(found, tuple)
    return float(found[0])
