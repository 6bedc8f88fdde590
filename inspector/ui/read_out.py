"""The values at the cursor, in columns that stay where they are while the digits change."""

from __future__ import annotations

from math import ceil

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from inspector.ui import theme

LABELS = ("dimension", "token", "position", "sum")  # as they are spoken
_SHORT = ("dim", "token", "pos", "sum")  # as they are painted: the digits need the room
_WIDEST = len("−0.00012345678")  # as many characters as a float32 needs
_USUAL = len("−0.12345678")
_GAP = 4  # between a label and its value
_COLUMN_GAP = 10  # at least, between a value and the next label


class ReadOut(QWidget):
    """Four labelled values in a fixed-width face. Painted, because four labels would be laid out anew at each move."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.values = ("", "", "", "")
        self._font = theme.mono_font(-1)
        self._label_font = QFont(self.font())
        self._label_font.setPointSizeF(self._label_font.pointSizeF() - 1)
        self._metrics = QFontMetricsF(self._font)
        letters = QFontMetricsF(self._label_font)
        self._label_widths = [letters.horizontalAdvance(label) + _GAP for label in _SHORT]
        self._digit = self._metrics.horizontalAdvance("0")
        self._dimension_digits = 1
        self._height = int(max(self._metrics.height(), letters.height())) + 2
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def set_width(self, width: int) -> None:
        """Make room for the dimensions of rows of so many values."""
        digits = len(str(width - 1))
        if digits != self._dimension_digits:
            self._dimension_digits = digits
            self.updateGeometry()

    def set_values(self, values: tuple[str, str, str, str]) -> None:
        """Show a dimension and the three values there; "" where there is none."""
        if values == self.values:
            return
        self.values = values
        text = ", ".join(f"{label} {value or 'none'}" for label, value in zip(LABELS, values, strict=True))
        self.setAccessibleName(text)
        self.setToolTip(text if max(map(len, values)) > _USUAL else "")
        self.update()

    def _width(self, characters: int) -> float:
        digits = self._dimension_digits + 3 * characters
        return sum(self._label_widths) + digits * self._digit + (len(LABELS) - 1) * _COLUMN_GAP

    def sizeHint(self) -> QSize:
        return QSize(ceil(self._width(_WIDEST)), self._height)

    def minimumSizeHint(self) -> QSize:
        return QSize(ceil(self._width(_USUAL)), self._height)

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme.colors(self.palette())
        hues = (colors.text, colors.token, colors.position, colors.sum)
        painter = QPainter(self)
        # What is left over is shared out, so that the columns depend on the widths alone.
        spare = max(0.0, self.width() - self._width(_USUAL)) / 3
        x = 0.0
        for i, (label, value, hue, label_width) in enumerate(
            zip(_SHORT, self.values, hues, self._label_widths, strict=True)
        ):
            room = self._digit * (_USUAL if i else self._dimension_digits) + (spare if i else 0)
            painter.setFont(self._label_font)
            painter.setPen(colors.muted)
            painter.drawText(QRectF(x, 0, label_width, self._height), Qt.AlignmentFlag.AlignVCenter, label)
            x += label_width
            painter.setFont(self._font)
            painter.setPen(hue)
            shown = self._metrics.elidedText(value or "–", Qt.TextElideMode.ElideRight, room + 1)
            painter.drawText(QRectF(x, 0, room + 2, self._height), Qt.AlignmentFlag.AlignVCenter, shown)
            x += room + _COLUMN_GAP
