"""What arguments are typed and chosen in: a frame that can be marked, a list of choices, a check box."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QPen, QPolygonF, QWheelEvent
from PySide6.QtWidgets import QCheckBox, QComboBox, QLabel, QWidget

from inspector.diagnosis import Severity
from inspector.ui import theme

MARK_ROOM = 14  # at the left of a marked field
_RADIUS = 4
_PADDING = 6
_ARROW = 12


@dataclass(frozen=True, slots=True)
class Mark:
    """What a diagnosis says of a field. `chosen` is the diagnosis that the person looks at."""

    severity: Severity
    message: str
    chosen: bool = False


def paint_frame(widget: QWidget, painter: QPainter, mark: Mark | None) -> None:
    """Paint the field behind what is typed: calm, or in the colour of its mark with a triangle at the left."""
    colors = theme.colors(widget.palette())
    border, wash = {
        None: (colors.border, colors.field),
        Severity.ERROR: (colors.fault, colors.fault_wash),
        Severity.WARNING: (colors.warning, colors.warning_wash),
        Severity.NOTE: (colors.accent, colors.accent_wash),
    }[None if mark is None else mark.severity]
    pen = QPen(border, 2 if mark is not None and mark.chosen else 1)
    if widget.hasFocus():
        pen = QPen(border if mark is not None else colors.accent, 2)
    elif widget.underMouse() and widget.isEnabled() and mark is None:
        pen.setColor(colors.muted)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(pen)
    painter.setBrush(wash if widget.isEnabled() else Qt.BrushStyle.NoBrush)
    inset = pen.widthF() / 2
    frame = QRectF(widget.rect()).adjusted(inset, inset, -inset, -inset)
    painter.drawRoundedRect(frame, _RADIUS, _RADIUS)
    if mark is not None and mark.severity is not Severity.NOTE:
        paint_triangle(painter, QPointF(9, widget.height() / 2), border, filled=mark.severity is Severity.ERROR)


def paint_triangle(painter: QPainter, centre: QPointF, color: QColor, *, filled: bool) -> None:
    """Paint the sign that stands beside the colour: filled for an error, hollow for anything less."""
    x, y = centre.x(), centre.y()
    painter.setPen(QPen(color, 1))
    painter.setBrush(color if filled else Qt.BrushStyle.NoBrush)
    painter.drawPolygon(QPolygonF([QPointF(x - 3.5, y + 3), QPointF(x + 3.5, y + 3), QPointF(x, y - 3.5)]))


def describe(widget: QWidget, hint: str, mark: Mark | None, fixed: str = "") -> None:
    """Say in tool tip and to a screen reader what an argument is, and before that what is wrong with it.

    `fixed` says why it cannot be edited.
    """
    hint = f"{fixed}\n{hint}" if fixed else hint
    sign = "" if mark is None or mark.severity is Severity.NOTE else "▲ "
    widget.setToolTip(f"{sign}{mark.message}\n\n{hint}" if mark else hint)
    widget.setAccessibleDescription(f"{mark.message}. {hint}" if mark else hint)


class ChoiceField(QComboBox):
    """One of a few names, in the same frame as the numbers."""

    def __init__(self, choices: tuple[str, ...], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.mark: Mark | None = None
        self._hint = ""
        self.fixed = ""  # why it cannot be edited
        self.setFont(theme.mono_font(-0.5))
        self.addItems(choices)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # not by the wheel that passes over it

    def set_hint(self, hint: str) -> None:
        """Say what the argument is."""
        self._hint = hint
        describe(self, hint, self.mark, self.fixed)

    def set_fixed(self, why: str) -> None:
        """Show the argument without letting it be edited; "" lets it be edited again."""
        if why != self.fixed:
            self.fixed = why
            self.setEnabled(not why)
            describe(self, self._hint, self.mark, why)

    def set_mark(self, mark: Mark | None) -> None:
        """Show or take away what a diagnosis says of this argument."""
        if mark != self.mark:
            self.mark = mark
            describe(self, self._hint, mark, self.fixed)
            self.update()

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self.font())
        widest = max(metrics.horizontalAdvance(self.itemText(i)) for i in range(self.count()))
        return QSize(widest + 2 * _PADDING + _ARROW + MARK_ROOM, metrics.height() + 6)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme.colors(self.palette())
        painter = QPainter(self)
        paint_frame(self, painter, self.mark)
        color = colors.text if self.isEnabled() else colors.muted
        painter.setPen(color)
        left = MARK_ROOM + 2 if self.mark else _PADDING
        painter.drawText(self.rect().adjusted(left, 0, -_ARROW, 0), Qt.AlignmentFlag.AlignVCenter, self.currentText())
        x, y = self.width() - _ARROW, self.height() / 2
        painter.setPen(QPen(color, 1.2))
        painter.drawPolyline([QPointF(x - 3, y - 1.5), QPointF(x, y + 1.5), QPointF(x + 3, y - 1.5)])

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()


class CheckField(QCheckBox):
    """An argument that is True or False.

    Signals:
        switched(object): the person has switched it, a bool.
    """

    switched = Signal(object)

    def __init__(self, text: str, parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self.clicked.connect(self._on_clicked)
        self.mark: Mark | None = None
        self._hint = ""
        self.fixed = ""  # why it cannot be edited
        self.setFont(theme.mono_font(-0.5))

    def set_hint(self, hint: str) -> None:
        """Say what the argument is."""
        self._hint = hint
        describe(self, hint, self.mark, self.fixed)

    def set_fixed(self, why: str) -> None:
        """Show the argument without letting it be edited; "" lets it be edited again."""
        if why != self.fixed:
            self.fixed = why
            self.setEnabled(not why)
            describe(self, self._hint, self.mark, why)

    def set_mark(self, mark: Mark | None) -> None:
        """Show or take away what a diagnosis says of this argument."""
        if mark != self.mark:
            self.mark = mark
            describe(self, self._hint, mark, self.fixed)
            self.update()

    @Slot(bool)
    def _on_clicked(self, on: bool) -> None:
        self.switched.emit(on)

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self.font())
        return QSize(metrics.horizontalAdvance(self.text().replace("&", "")) + 26, metrics.height() + 6)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme.colors(self.palette())
        painter = QPainter(self)
        if self.mark is not None or self.hasFocus():
            paint_frame(self, painter, self.mark)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        side = 12
        box = QRectF(4.5, (self.height() - side) / 2, side, side)
        painter.setPen(QPen(colors.accent if self.isChecked() else colors.muted, 1))
        painter.setBrush(colors.accent if self.isChecked() else colors.field)
        painter.drawRoundedRect(box, 3, 3)
        if self.isChecked():
            painter.setPen(QPen(colors.panel, 1.8))
            x, y = box.center().x(), box.center().y()
            painter.drawPolyline([QPointF(x - 3, y), QPointF(x - 0.8, y + 2.6), QPointF(x + 3.4, y - 2.8)])
        painter.setPen(colors.text if self.isEnabled() else colors.muted)
        label = self.rect().adjusted(22, 0, 0, 0)
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextShowMnemonic
        painter.drawText(label, flags, self.text())


class Tinted(QLabel):
    """A label in one of the scheme's colours, which it takes anew with each repaint."""

    def __init__(self, text: str, color: str, parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self._color = color

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(getattr(theme.colors(self.palette()), self._color))
        painter.drawText(self.contentsRect(), self.alignment(), self.text())
