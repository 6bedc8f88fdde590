"""A field for one number: every keystroke that reads as a number counts, anything else is kept and said."""

from __future__ import annotations

import math
import re

from PySide6.QtCore import QEvent, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QFocusEvent,
    QFontMetrics,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QPalette,
    QWheelEvent,
)
from PySide6.QtWidgets import QLineEdit, QWidget

from inspector.config import Number
from inspector.diagnosis import Severity
from inspector.ui import theme
from inspector.ui.fields import MARK_ROOM, Mark, describe, paint_frame

LONGEST = 40  # characters: Python refuses to read a number of thousands of digits
SAID = 20  # characters of what was typed that a complaint repeats
_WHOLE = re.compile(r"[+-]?(\d+(_\d+)*|\d{1,3}(,\d{3})+|\d{1,3}( \d{3})+)", re.ASCII)
_FLOAT = re.compile(r"[+-]?(\d+\.\d*|\.\d+|\d+(?=[eE]))([eE][+-]?\d+)?", re.ASCII)
_SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "−": "-", "×": "*"})


def parse(text: str) -> Number | None:
    """Return the number a text stands for; None where it stands for none.

    Thousands may be set apart as in `50_257`, `50,257` or `50 257`; whole numbers may be multiplied, as in `4*256`.
    """
    text = text.translate(_SPACES).strip()
    factors = [factor.strip() for factor in text.split("*")]
    if all(_WHOLE.fullmatch(factor) for factor in factors):
        return math.prod(int(re.sub("[_, ]", "", factor)) for factor in factors)
    if _FLOAT.fullmatch(text) and math.isfinite(value := float(text)):
        return value
    return None


class NumberField(QLineEdit):
    """A number, or nothing where the argument may be left out.

    Signals:
        value_changed(object): the number typed or stepped to, None for nothing.
        complaint_changed(object): a sentence on what was typed that is no number, or "".
        undo_wanted(): Ctrl+Z where there is nothing of the field's own to take back.
        redo_wanted(): Ctrl+Shift+Z.
    """

    value_changed = Signal(object)
    complaint_changed = Signal(object)
    undo_wanted = Signal()
    redo_wanted = Signal()

    def __init__(
        self,
        *,
        optional: bool = False,
        whole: bool = False,
        least: int = 0,
        bounds: tuple[int, int] | None = None,
        digits: int = 6,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.mark: Mark | None = None
        self.complaint = ""
        self._optional = optional
        self._whole = whole
        self._least = least  # where stepping down ends; anything can be typed
        self._bounds = bounds  # of 64 bits: there is no value beyond them, right or wrong
        self._digits = digits
        self._value: Number | None = None
        self._value_before: Number | None = None  # when the field was entered
        self._hint = ""
        self.fixed = ""  # why it cannot be edited
        self.setFont(theme.mono_font(-0.5))
        self.setFrame(False)
        self.setMaxLength(LONGEST)
        self.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.setPlaceholderText("none" if optional else "")
        self.setTextMargins(2, 0, 2, 0)
        self._show_colors()
        self.textEdited.connect(self._on_text_edited)
        self.editingFinished.connect(self._on_editing_finished)

    @property
    def value(self) -> Number | None:
        """The number that counts, whatever is typed."""
        return self._value

    def set_value(self, value: Number | None) -> None:
        """Show a number; what is typed stays as it is while the number is the one that counts here."""
        if value == self._value and type(value) is type(self._value):
            return
        self._value = value
        if not self.hasFocus():
            self._value_before = value
        self._show_value()

    def set_hint(self, hint: str) -> None:
        """Say what the argument is."""
        self._hint = hint
        self._show_tool_tip()

    def set_fixed(self, why: str) -> None:
        """Show the number without letting it be edited; "" lets it be edited again."""
        if why != self.fixed:
            self.fixed = why
            self.setReadOnly(bool(why))
            self._show_tool_tip()

    def set_mark(self, mark: Mark | None) -> None:
        """Show or take away what a diagnosis says of this argument."""
        if mark != self.mark:
            self.mark = mark
            self._show_mark()

    def _read(self, text: str) -> tuple[Number | None] | None:
        """Return what a text stands for, in a tuple; None where it stands for nothing that can be used."""
        if not text.strip():
            return (None,) if self._optional else None
        value = parse(text)
        if value is None or (self._whole and not isinstance(value, int)):
            return None
        if self._bounds and not self._bounds[0] <= value <= self._bounds[1]:
            return None
        return (value,)

    @Slot(str)
    def _on_text_edited(self, text: str) -> None:
        read = self._read(text)
        if read is None:
            self._complain(text)
            return
        self._set_complaint("")
        self._take(read[0])

    def _take(self, value: Number | None) -> None:
        if value != self._value or type(value) is not type(self._value):
            self._value = value
            self.value_changed.emit(value)

    def _complain(self, text: str) -> None:
        used = "nothing" if self._value is None else f"{self._value} is still used"
        typed = text.strip()
        typed = typed if len(typed) <= SAID else typed[: SAID - 1] + "…"
        if not typed:
            self._set_complaint(f"a number is needed; {used}")
        elif (value := parse(text)) is None:
            self._set_complaint(f"“{typed}” is not a number; {used}")
        elif self._bounds and isinstance(value, int):
            self._set_complaint(f"{typed} is more than 64 bits; {used}")
        else:
            self._set_complaint(f"{typed} is not a whole number; {used}")

    def _set_complaint(self, complaint: str) -> None:
        if complaint != self.complaint:
            self.complaint = complaint
            self._show_mark()
            self.complaint_changed.emit(complaint)

    @Slot()
    def _on_editing_finished(self) -> None:
        if not self.complaint:  # what is no number stays, so that it can be mended
            self._value_before = self._value
            self._show_value()

    def _show_value(self) -> None:
        """Write the number that counts."""
        text = "" if self._value is None else str(self._value)
        if text != self.text():
            self.setText(text)
        self._set_complaint("")

    def _show_mark(self) -> None:
        left = MARK_ROOM if self._shown_mark() else 2
        self.setTextMargins(left, 0, 2, 0)
        self._show_colors()
        self._show_tool_tip()
        self.update()

    def _shown_mark(self) -> Mark | None:
        return Mark(Severity.ERROR, self.complaint) if self.complaint else self.mark

    def _show_tool_tip(self) -> None:
        describe(self, self._hint, self._shown_mark(), self.fixed)

    def _show_colors(self) -> None:
        colors, palette = theme.colors(self.palette()), self.palette()
        mark = self._shown_mark()
        text = colors.fault if mark and mark.severity is Severity.ERROR else colors.text
        wanted = {QPalette.ColorRole.Base: Qt.GlobalColor.transparent, QPalette.ColorRole.Text: text}
        if any(palette.color(role) != color for role, color in wanted.items()):
            for role, color in wanted.items():
                palette.setColor(QPalette.ColorGroup.Active, role, color)
                palette.setColor(QPalette.ColorGroup.Inactive, role, color)
            palette.setColor(QPalette.ColorGroup.Disabled, QPalette.ColorRole.Base, Qt.GlobalColor.transparent)
            self.setPalette(palette)

    def _step(self, new: Number) -> None:
        if self.isReadOnly():
            return
        if self._value is None or new >= self._least or new > self._value:
            self._take(new)
            self._show_value()
            self.selectAll()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.PaletteChange:
            self._show_colors()

    def event(self, event: QEvent) -> bool:
        # The window's own undo and Escape would win over the field's otherwise.
        if event.type() is QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            undo = event.matches(QKeySequence.StandardKey.Undo) or event.matches(QKeySequence.StandardKey.Redo)
            if undo or (event.key() == Qt.Key.Key_Escape and self._is_changed()):
                event.accept()
                return True
            if event.key() == Qt.Key.Key_Escape:
                event.ignore()
                return False
        return super().event(event)

    def _is_changed(self) -> bool:
        return bool(self.complaint) or self._value != self._value_before

    def keyPressEvent(self, event: QKeyEvent) -> None:
        value = 0 if self._value is None else self._value
        step = 10 if event.modifiers() & Qt.KeyboardModifier.ControlModifier else 1
        key = event.key()
        if event.matches(QKeySequence.StandardKey.Undo):
            if self.complaint:
                self._show_value()
                self.selectAll()
            else:
                self.undo_wanted.emit()
        elif event.matches(QKeySequence.StandardKey.Redo):
            self.redo_wanted.emit()
        elif key == Qt.Key.Key_Up:
            self._step(value + step)
        elif key == Qt.Key.Key_Down:
            self._step(value - step)
        elif key == Qt.Key.Key_PageUp:
            self._step(value * 2 or 1)
        elif key == Qt.Key.Key_PageDown:
            self._step(value // 2 if isinstance(value, int) else value / 2)
        elif key == Qt.Key.Key_Escape and self._is_changed():
            self._take(self._value_before)
            self._show_value()
            self.selectAll()
        elif key == Qt.Key.Key_Escape:
            event.ignore()
        else:
            super().keyPressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if not self.hasFocus() or not event.angleDelta().y():
            event.ignore()
            return
        value = 0 if self._value is None else self._value
        self._step(value + (1 if event.angleDelta().y() > 0 else -1))
        event.accept()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._value_before = self._value

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self.font())
        return QSize(metrics.horizontalAdvance("0" * self._digits) + 14 + MARK_ROOM, metrics.height() + 6)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint() - QSize(MARK_ROOM, 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint_frame(self, painter, self._shown_mark())
        painter.end()
        super().paintEvent(event)
