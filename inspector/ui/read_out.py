"""The values at the cursor, in columns that stay where they are while the digits change."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from inspector.ui import theme

LABELS = ("dimension", "token", "position", "sum")
_WIDEST = ("12287", "−0.00012345678", "−0.00012345678", "−0.00012345678")  # as many digits as a float32 needs
_USUAL = ("12287", "−0.12345678", "−0.12345678", "−0.12345678")
_GAP = 5  # between a label and its value


class ReadOut(QWidget):
    """Four labelled values in a fixed-width face. Painted, because four labels would be laid out anew at each move."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.values = ("", "", "", "")
        self._font = theme.mono_font(-1)
        self._label_font = QFont(self.font())
        self._label_font.setPointSizeF(self._label_font.pointSizeF() - 1)
        self._metrics = digits = QFontMetricsF(self._font)
        letters = QFontMetricsF(self._label_font)
        self._label_widths = [letters.horizontalAdvance(label) + _GAP for label in LABELS]
        self._widest = [digits.horizontalAdvance(value) for value in _WIDEST]
        self._usual = [digits.horizontalAdvance(value) for value in _USUAL]
        self._height = int(max(digits.height(), letters.height())) + 2
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def set_values(self, values: tuple[str, str, str, str]) -> None:
        """Show a dimension and the three values there; "" where there is none."""
        if values == self.values:
            return
        self.values = values
        text = ", ".join(f"{label} {value or 'none'}" for label, value in zip(LABELS, values, strict=True))
        self.setAccessibleName(text)
        self.setToolTip(text if any(len(v) > len(w) for v, w in zip(values, _USUAL, strict=True)) else "")
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(int(sum(self._label_widths) + sum(self._widest)) + 4 * _GAP, self._height)

    def minimumSizeHint(self) -> QSize:
        return QSize(int(sum(self._label_widths) + sum(self._usual)) + 4 * _GAP, self._height)

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme.colors(self.palette())
        hues = (colors.text, colors.token, colors.position, colors.sum)
        painter = QPainter(self)
        # What is left over is shared out, so that the columns depend on the width alone.
        spare = self.width() - sum(self._label_widths) - sum(self._usual)
        gap = spare / len(LABELS)
        x = gap
        for label, value, hue, label_width, width in zip(
            LABELS, self.values, hues, self._label_widths, self._usual, strict=True
        ):
            cell = QRectF(x, 0, label_width + width + gap - _GAP, self.height())
            painter.setFont(self._label_font)
            painter.setPen(colors.muted)
            painter.drawText(cell, Qt.AlignmentFlag.AlignVCenter, label)
            painter.setFont(self._font)
            painter.setPen(hue)
            room = cell.adjusted(label_width, 0, 0, 0)
            shown = self._metrics.elidedText(value or "–", Qt.TextElideMode.ElideRight, room.width())
            painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, shown)
            x += label_width + width + gap
