"""One of the three plots: a caption, an axis, a curve made once, a cursor, and words where there is no curve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QGraphicsItem, QStyleOptionGraphicsItem, QWidget

from inspector.ui import theme

if TYPE_CHECKING:
    from numpy.typing import NDArray

AXIS_WIDTH = 44  # the same for the three plots, so that a dimension is at one x in all of them
TICK_LENGTH = 4
ROOM_FOR_NUMBERS = 36  # pixels of height, below which the ticks have none
Y_MARGIN = 0.06  # of the span, above and below the curve
LEAST_SPAN = 1e-6  # of the largest magnitude: below it a row counts as constant
_BAR_WIDTH = 160
_HALF = 0.25  # of a dimension, on either side of a row's only value
_GAP = 12


class Caption(pg.GraphicsWidget):  # type: ignore[misc]
    """What a row is called, at the left in the curve's colour, and its figures, quietly at the right."""

    def __init__(self) -> None:
        super().__init__()
        self.title = ""
        self.figures = ""
        self.alarm = False
        self._title_color = self._figures_color = self._alarm_color = QColor()
        self._title_font, self._figures_font = theme.mono_font(-0.5), QFont()
        self._figures_font.setPointSizeF(self._figures_font.pointSizeF() - 1)
        self._title_metrics = QFontMetricsF(self._title_font)
        self._figures_metrics = QFontMetricsF(self._figures_font)
        self.setFixedHeight(self._title_metrics.height() + 4)

    def set_texts(self, title: str, figures: str = "", *, alarm: bool = False) -> None:
        """Show what the row is called and its figures, marked where `alarm` says that they are not as they should."""
        if (title, figures, alarm) != (self.title, self.figures, self.alarm):
            self.title, self.figures, self.alarm = title, figures, alarm
            self.update()

    def set_colors(self, colors: theme.Colors, title: QColor) -> None:
        """Take the colours of the scheme."""
        self._title_color, self._figures_color, self._alarm_color = title, colors.muted, colors.fault
        self.update()

    def boundingRect(self) -> QRectF:
        # Clear of the axis, which reaches a little beyond its place and would be repainted with each caption.
        left = AXIS_WIDTH + TICK_LENGTH + 4
        return QRectF(left, 0, self.size().width() - left, self.size().height())

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        rect = self.boundingRect()
        title = self._title_metrics.elidedText(self.title, Qt.TextElideMode.ElideRight, rect.width())
        painter.setFont(self._title_font)
        painter.setPen(self._title_color)
        painter.drawText(rect, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, title)
        room = rect.width() - self._title_metrics.horizontalAdvance(title) - _GAP
        figures = f"▲ {self.figures}" if self.alarm else self.figures
        while figures and self._figures_metrics.horizontalAdvance(figures) > room:
            figures = figures.rpartition("   ")[0]  # a figure is shown whole or not at all
        painter.setFont(self._figures_font)
        painter.setPen(self._alarm_color if self.alarm else self._figures_color)
        painter.drawText(rect, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, figures)


class Backdrop(QGraphicsItem):
    """What lies behind a curve: lines at the ticks, or the words that stand in for the curve.

    pyqtgraph's own grid is drawn as part of the axis, anew with each repaint, and costs seven times the curves.
    """

    def __init__(self, box: Any, axis: Any) -> None:
        super().__init__(box)
        self._box = box
        self._axis = axis
        self._colors = theme.LIGHT
        self.words = ""
        self.fault = False
        self.progress: float | None = None
        self._ticks: tuple[tuple[float, float, float], list[float]] = ((0.0, 0.0, 0.0), [])

    def set_colors(self, colors: theme.Colors) -> None:
        """Take the colours of the scheme."""
        self._colors = colors
        self.update()

    def set_words(self, words: str, *, fault: bool, progress: float | None) -> None:
        """Show why there is no curve ("" when there is one), and how far the work is that will bring it."""
        self.words, self.fault, self.progress = words, fault, progress
        self.update()

    def resize(self) -> None:
        """Follow the plot's size."""
        self.prepareGeometryChange()

    def boundingRect(self) -> QRectF:
        rect: QRectF = self._box.rect()
        return rect

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        rect = self.boundingRect()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        if self.words:
            self._paint_words(painter, rect)
        else:
            painter.setPen(self._colors.grid)
            painter.drawLines([QLineF(rect.left(), y, rect.right(), y) for y in self._tick_places(rect)])
        painter.setPen(self._colors.border)
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())

    def _tick_places(self, rect: QRectF) -> list[float]:
        """Return where the axis has its ticks; pyqtgraph takes longer to find them than to draw the curve."""
        bottom, top = self._box.viewRange()[1]
        key = bottom, top, rect.height()
        if key != self._ticks[0]:
            values = self._axis.tickValues(*key)[0][1]
            self._ticks = key, [rect.top() + (top - value) / (top - bottom) * rect.height() for value in values]
        return self._ticks[1]

    def _paint_words(self, painter: QPainter, rect: QRectF) -> None:
        painter.setPen(self._colors.fault if self.fault else self._colors.muted)
        painter.setFont(QFont())
        room = rect.adjusted(_GAP, 2, -_GAP, -2)
        centred = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
        painter.drawText(room, centred, f"▲ {self.words}" if self.fault else self.words)
        if self.progress is None:
            return
        used = painter.boundingRect(room, centred, self.words)
        bar = QRectF(rect.center().x() - _BAR_WIDTH / 2, used.bottom() + 6, _BAR_WIDTH, 3)
        painter.fillRect(bar, self._colors.border)
        bar.setWidth(_BAR_WIDTH * self.progress)
        painter.fillRect(bar, self._colors.accent)


class Curve(pg.PlotCurveItem):  # type: ignore[misc]
    """A line through a row's values.

    Not a `PlotDataItem`, which looks for a log scale, points to leave out and symbols with every row.
    """

    def __init__(self) -> None:
        super().__init__(antialias=True)

    def set_values(self, x: NDArray[np.int64], y: NDArray[Any]) -> None:
        """Show other values; the line has a gap where one is not finite."""
        finite = bool(np.isfinite(y).all())
        if len(y) == 1:  # a point has no line: one across its dimension stands for it
            x, y = np.array([x[0] - _HALF, x[0] + _HALF]), np.repeat(y, 2)
        self.setData(x, y, connect="all" if finite else "finite", skipFiniteCheck=finite)

    def boundingRect(self) -> QRectF:
        box = self.getViewBox()
        return QRectF() if box is None else box.viewRect()  # pyqtgraph would look through the values for it


class CurvePlot:
    """A caption and a plot in two rows of a layout.

    Not a `PlotItem`: its menus alone take longer to make than all that is used here (measured: 25 ms a plot, not 6).
    """

    def __init__(self, layout: Any, row: int) -> None:
        self.caption = Caption()
        layout.addItem(self.caption, row, 0, 1, 2)
        self.box = pg.ViewBox(enableMenu=False, defaultPadding=0)
        self.box.setMouseEnabled(x=True, y=False)
        self.box.disableAutoRange()
        self.axis = pg.AxisItem("left", linkView=self.box)
        self.axis.enableAutoSIPrefix(False)
        self.axis.setStyle(autoExpandTextSpace=False, maxTickLevel=0, tickLength=-TICK_LENGTH)
        self.axis.setWidth(AXIS_WIDTH)
        layout.addItem(self.axis, row + 1, 0)
        layout.addItem(self.box, row + 1, 1)
        self._has_room = True
        self.backdrop = Backdrop(self.box, self.axis)
        self.backdrop.setZValue(-1)
        self.box.sigResized.connect(self._on_resized)
        self.curve = Curve()
        self.box.addItem(self.curve, ignoreBounds=True)
        self.cursor = pg.InfiniteLine(angle=90)
        self.box.addItem(self.cursor, ignoreBounds=True)
        self.set_limits(None)

    def _on_resized(self, _: object) -> None:
        """Follow the plot's size; where it is low, the numbers at the ticks would be printed over each other."""
        self.backdrop.resize()
        has_room = self.box.height() >= ROOM_FOR_NUMBERS
        if has_room != self._has_room:
            self._has_room = has_room
            self.axis.setStyle(showValues=has_room)

    def show_curve(self, x: NDArray[np.int64], y: NDArray[Any]) -> None:
        """Show the values of a row."""
        self.curve.set_values(x, y)
        if self.backdrop.words:
            self.backdrop.set_words("", fault=False, progress=None)
            self._set_curve_visible(True)

    def show_words(self, words: str, *, fault: bool = False, progress: float | None = None) -> None:
        """Say why there is no curve."""
        if not self.backdrop.words:
            self.curve.clear()
            self._set_curve_visible(False)
        if (words, fault, progress) != (self.backdrop.words, self.backdrop.fault, self.backdrop.progress):
            self.backdrop.set_words(words, fault=fault, progress=progress)

    def _set_curve_visible(self, visible: bool) -> None:
        self.curve.setVisible(visible)
        self.cursor.setVisible(visible)
        self.axis.setOpacity(1.0 if visible else 0.0)  # hidden, it would give up its width

    def set_limits(self, limits: tuple[float, float] | None) -> None:
        """Let the plot reach from the smallest to the largest of values, with a margin."""
        low, high = limits or (-1.0, 1.0)
        largest = max(abs(low), abs(high))
        if high - low <= LEAST_SPAN * largest:
            low, high = low - (largest or 1.0) / 2, high + (largest or 1.0) / 2
        margin = Y_MARGIN * (high - low) or 1.0
        self.box.setYRange(low - margin, high + margin, padding=0)

    def set_extent(self, first: float, last: float) -> None:
        """Let x reach from `first` to `last`, and no further when it is dragged or zoomed."""
        self.box.setLimits(xMin=first, xMax=last, minXRange=min(8.0, last - first))
        self.box.setXRange(first, last, padding=0)

    def set_colors(self, colors: theme.Colors, curve: QColor) -> None:
        """Take the colours of the scheme."""
        # Width 1: a thicker antialiased line takes Qt fifty times as long (measured: 53 ms for three).
        self.curve.setPen(pg.mkPen(curve, width=1))
        self.cursor.setPen(pg.mkPen(colors.muted, width=1, style=Qt.PenStyle.DashLine))
        self.axis.setPen(QPen(colors.border))
        self.axis.setTextPen(colors.muted)
        self.backdrop.set_colors(colors)
        self.caption.set_colors(colors, curve)
