"""A plain-text editor that keeps the text as it is: what Qt's document cannot hold is shown by a sign and kept."""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QKeySequence, QMouseEvent, QPainter, QPaintEvent, QPalette, QTextCursor
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QTextEdit, QWidget

from inspector.ui.text_units import characters_before, displayed, unit_count, units_before

_BOLD = 0.6  # pixels beside
LARGER = 1.0  # point than the window's labels: a text is read, not glanced at


class Edit(NamedTuple):
    """The characters from `start` on were `old` and are `new`."""

    start: int
    old: str
    new: str


class TextEditor(QPlainTextEdit):
    """Shows and edits a text. All places are counted in characters of the true text, not in Qt's units.

    Qt's own undo is off: it would bring back signs in place of the characters they stand for.

    Signals:
        typed(object): an `Edit` that the person made and that is shown already.
        pasted(object): an `Edit` that the person wants; whoever hears of it may `apply` it, or show something else.
        character_chosen(object): the character that was clicked, or that the caret was moved to by a key.
    """

    typed = Signal(object)
    pasted = Signal(object)
    character_chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text = ""
        self._news: Edit | None = None
        self._by_program = False
        self._pressed = 0
        self._bold: QTextCursor | None = None
        self.setUndoRedoEnabled(False)
        self.setTabChangesFocus(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.viewport().setBackgroundRole(QPalette.ColorRole.AlternateBase)  # a page of the panel, not a field in it
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)  # lines are wrapped
        self.document().setDocumentMargin(2)  # room for the caret
        font = self.font()
        font.setPointSizeF(font.pointSizeF() + LARGER)
        self.setFont(font)
        self.document().contentsChange.connect(self._on_contents_change)
        self.textChanged.connect(self._on_text_changed)

    @property
    def text(self) -> str:
        """The true text of what is shown."""
        return self._text

    @property
    def caret(self) -> int:
        """The character that the caret is before."""
        return characters_before(self._text, self.textCursor().position())

    # ---- changes by the program ----------------------------------------------------------------------------------

    def set_text(self, text: str, caret: int = 0) -> None:
        """Show another text."""
        self._text = text
        self._by_program = True
        self.setPlainText(displayed(text))
        self._by_program = False
        self.set_caret(caret)

    def apply(self, edit: Edit) -> None:
        """Make an edit in what is shown and put the caret behind it."""
        cursor = self.selecting(edit.start, edit.start + len(edit.old))
        self._text = self._text[: edit.start] + edit.new + self._text[edit.start + len(edit.old) :]
        self._by_program = True
        cursor.insertText(displayed(edit.new))
        self._by_program = False
        self.setTextCursor(cursor)

    def set_caret(self, caret: int) -> None:
        """Put the caret before a character and bring it into view."""
        self.setTextCursor(self.selecting(caret, caret))

    def selecting(self, start: int, end: int) -> QTextCursor:
        """Return a cursor over the characters `start` to `end` - 1."""
        cursor = QTextCursor(self.document())
        cursor.setPosition(units_before(self._text, start))
        if end != start:
            cursor.setPosition(units_before(self._text, end), QTextCursor.MoveMode.KeepAnchor)
        return cursor

    def reveal(self, start: int, end: int) -> None:
        """Scroll until the characters are in view, the caret staying where it is."""
        first, last = (self.cursorRect(self.selecting(place, place)) for place in (start, end))
        page = self.viewport().rect()
        if page.top() <= first.top() and last.bottom() <= page.bottom():
            return
        cursor = self.selecting(start, start)
        block = cursor.block()
        self.blockBoundingGeometry(block)  # lays the block out, which Qt leaves until it is shown
        line = block.layout().lineForTextPosition(cursor.positionInBlock()).lineNumber()
        bar = self.verticalScrollBar()  # which counts lines
        bar.setValue(block.firstLineNumber() + line - bar.pageStep() // 2)

    # ---- marks ---------------------------------------------------------------------------------------------------

    def set_marks(self, marks: list[QTextEdit.ExtraSelection]) -> None:
        """Show these marks in place of those before; they move with the text. What is underlined is drawn bold too."""
        self._bold = next((QTextCursor(mark.cursor) for mark in marks if mark.format.fontUnderline()), None)
        self.setExtraSelections(marks)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._bold is None:
            return
        start, length = self._bold.selectionStart(), self._bold.selectionEnd() - self._bold.selectionStart()
        block = self.document().findBlock(start)
        origin = self.blockBoundingGeometry(block).translated(self.contentOffset()).topLeft()
        painter = QPainter(self.viewport())
        painter.setPen(self.palette().color(QPalette.ColorRole.Text))
        # The same glyphs once more, a little beside: a bold face would be wider and make the text jump from cell to
        # cell, and a mark's own outline costs ten times as much.
        for run in block.layout().glyphRuns(start - block.position(), length):
            painter.drawGlyphRun(origin + QPointF(_BOLD, 0), run)

    # ---- changes by the person -----------------------------------------------------------------------------------

    @Slot(int, int, int)
    def _on_contents_change(self, position: int, removed: int, _added: int) -> None:
        """Find out what was typed. Qt counts the document's closing break too at times, so `added` is not relied on."""
        if self._by_program:
            return
        before, after = unit_count(self._text), self.document().characterCount() - 1
        removed = min(removed, before - position)
        cursor = QTextCursor(self.document())
        cursor.setPosition(position)
        cursor.setPosition(position + after - (before - removed), QTextCursor.MoveMode.KeepAnchor)
        start, end = (characters_before(self._text, unit) for unit in (position, position + removed))
        edit = _trimmed(Edit(start, self._text[start:end], cursor.selectedText().replace("\u2029", "\n")))
        if edit.old != edit.new:
            self._text = self._text[: edit.start] + edit.new + self._text[edit.start + len(edit.old) :]
            self._news = edit

    @Slot()
    def _on_text_changed(self) -> None:
        """Report what was typed, now that the document has laid itself out."""
        if self._news is not None:
            edit, self._news = self._news, None
            self.typed.emit(edit)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return source.hasText() and not source.hasUrls()  # a dropped file is the window's to open

    def insertFromMimeData(self, source: QMimeData) -> None:
        cursor = self.textCursor()
        start, end = (characters_before(self._text, u) for u in (cursor.selectionStart(), cursor.selectionEnd()))
        edit = Edit(start, self._text[start:end], source.text())
        if edit.old != edit.new:
            self.pasted.emit(edit)

    def createMimeDataFromSelection(self) -> QMimeData:
        cursor = self.textCursor()
        start, end = (characters_before(self._text, u) for u in (cursor.selectionStart(), cursor.selectionEnd()))
        data = QMimeData()
        data.setText(self._text[start:end])
        return data

    # ---- choosing ------------------------------------------------------------------------------------------------

    def event(self, event: QEvent) -> bool:
        undoes = (QKeySequence.StandardKey.Undo, QKeySequence.StandardKey.Redo)
        if (
            event.type() is QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and any(event.matches(key) for key in undoes)
        ):
            event.ignore()  # the window's Undo and Redo know whose turn it is
            return False
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.InsertLineSeparator) and not self.isReadOnly():
            self.textCursor().insertText("\n")  # Qt would insert U+2028, which nobody means
            return
        text, place = self._text, self.textCursor().position()
        super().keyPressEvent(event)
        cursor = self.textCursor()
        if self._text is text and cursor.position() != place and not cursor.hasSelection():
            self._choose(self.caret)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pressed = self.character_at(event.position().toPoint())  # Qt may scroll under the pointer now
        super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        if event.button() is Qt.MouseButton.LeftButton and not self.textCursor().hasSelection():
            self._choose(self._pressed)

    def character_at(self, point: QPoint) -> int:
        """Return the character under a point of the viewport, or the nearest one."""
        cursor = self.cursorForPosition(point)  # before or behind that character, whichever is nearer
        unit = cursor.position()
        if self.cursorRect(cursor).left() > point.x() and not cursor.atBlockStart():
            unit -= 1
        return characters_before(self._text, unit + 1) - 1

    def _choose(self, character: int) -> None:
        if self._text:
            self.character_chosen.emit(min(max(0, character), len(self._text) - 1))


def _trimmed(edit: Edit) -> Edit:
    """Return the edit without what is the same before and after, which has to be kept as it truly was."""
    start, old, new = edit
    if not old or not new:
        return edit
    shown = displayed(old)
    head = next((i for i, (a, b) in enumerate(zip(shown, new, strict=False)) if a != b), min(len(shown), len(new)))
    old, new, shown = old[head:], new[head:], shown[head:]
    tail = 0
    while tail < min(len(old), len(new)) and shown[-1 - tail] == new[-1 - tail]:
        tail += 1
    return Edit(start + head, old[: len(old) - tail], new[: len(new) - tail])
