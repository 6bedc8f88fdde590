"""The rows of the chosen cell: three curves on one x axis, and the values at the cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPoint, Qt, Signal, Slot
from PySide6.QtGui import QCloseEvent, QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPen
from PySide6.QtWidgets import QGraphicsScene, QGraphicsView, QPushButton, QWidget

from inspector.trace import CellRows, Kind
from inspector.ui import row_words, theme
from inspector.ui.curve_plot import CurvePlot
from inspector.ui.panel import Panel
from inspector.ui.read_out import ReadOut

if TYPE_CHECKING:
    from PySide6.QtCore import QRectF

    from inspector.trace import Trace
    from inspector.ui.session import Session

KINDS: tuple[Kind, ...] = get_args(Kind)
PAGE = 16  # dimensions that Page Up and Page Down move
HOVER_RATE = 60  # looks at the pointer a second
X_MARGIN = 0.02  # of the width, beside the first and last dimension: it also keeps curves clear of the axis
LEAST_HEIGHT = 224  # three captions, and three plots in which a curve has a shape
_WIDEST = 2**20  # dimensions of rows that are not there; beyond it nobody means it
_NO_ROWS = CellRows()


class RowsView(pg.GraphicsView):  # type: ignore[misc]
    """The three plots in one view, which is one stop for the Tab key and one repaint.

    Signals:
        dimension_changed(object): the dimension that pointer or keys have reached, an int.
    """

    dimension_changed = Signal(object)
    _open = False  # Qt tells of changes as soon as pyqtgraph's constructor runs, and after its close()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, background=None)
        self.width_shown = 0
        self.dimension = 0
        layout = pg.GraphicsLayout()
        layout.layout.setContentsMargins(0, 0, 4, 0)
        layout.layout.setVerticalSpacing(0)
        layout.layout.setHorizontalSpacing(0)
        self.setCentralItem(layout)
        # A cell changes captions and curves in one column: one rectangle is painted sooner than the region of its
        # parts, and a plain background sooner than a cached one (measured: 1.6 ms, not 2.2).
        self.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.BoundingRectViewportUpdate)
        self.setCacheMode(QGraphicsView.CacheModeFlag.CacheNone)
        self.scene().setItemIndexMethod(QGraphicsScene.ItemIndexMethod.NoIndex)
        self.plots: dict[Kind, CurvePlot] = {kind: CurvePlot(layout, 2 * i) for i, kind in enumerate(KINDS)}
        first, *others = self.plots.values()
        for other in others:
            other.box.setXLink(first.box)
        self.x_axis = pg.AxisItem("bottom", linkView=others[-1].box)
        self.x_axis.enableAutoSIPrefix(False)
        self.x_axis.setStyle(tickLength=-4, maxTickLevel=1)
        layout.addItem(self.x_axis, 2 * len(KINDS), 1)
        self._pointer = pg.SignalProxy(self.scene().sigMouseMoved, rateLimit=HOVER_RATE, slot=self._on_pointer_moved)
        self.setMinimumHeight(LEAST_HEIGHT)
        self.setAccessibleName("Token row, position row and their sum")
        self.set_width(1)
        self._take_colors()
        self._open = True

    def set_width(self, width: int) -> None:
        """Let x reach over so many dimensions."""
        if width == self.width_shown:
            return
        self.width_shown = width
        self.reset_x()
        self.set_dimension(self.dimension)

    def reset_x(self) -> None:
        """Show every dimension again."""
        margin = max(0.5, X_MARGIN * self.width_shown)
        for plot in self.plots.values():
            plot.set_extent(-margin, self.width_shown - 1 + margin)

    def set_dimension(self, dimension: int) -> None:
        """Put the cursor on a dimension: the nearest there is."""
        dimension = min(max(0, dimension), self.width_shown - 1)
        for plot in self.plots.values():
            plot.cursor.setPos(dimension)
        if dimension != self.dimension:
            self.dimension = dimension
            self.dimension_changed.emit(dimension)

    def _on_pointer_moved(self, arguments: tuple[QPoint]) -> None:
        box = self.plots["token"].box
        place = box.mapSceneToView(arguments[0])
        first, last = box.viewRange()[0]
        if first <= place.x() <= last:
            self.set_dimension(round(place.x()))

    def _take_colors(self) -> None:
        colors = theme.colors(self.palette())
        self.setBackground(colors.panel)
        for plot, color in zip(self.plots.values(), (colors.token, colors.position, colors.sum), strict=True):
            plot.set_colors(colors, color)
        self.x_axis.setPen(QPen(colors.border))
        self.x_axis.setTextPen(colors.muted)

    def close(self) -> bool:
        """Take the plots apart while Qt is still there to do it."""
        if not self._open:
            return True
        self._open = False
        self._pointer.disconnect()
        return bool(super().close())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if self._open and event.type() is QEvent.Type.PaletteChange:
            self._take_colors()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        place = {
            Qt.Key.Key_Left: self.dimension - 1,
            Qt.Key.Key_Right: self.dimension + 1,
            Qt.Key.Key_PageUp: self.dimension - PAGE,
            Qt.Key.Key_PageDown: self.dimension + PAGE,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: self.width_shown - 1,
        }.get(Qt.Key(event.key()))
        if place is None or event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            event.ignore()
        else:
            self.set_dimension(place)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.reset_x()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()

    def drawForeground(self, painter: QPainter, rect: QRectF) -> None:
        if self.hasFocus():
            painter.resetTransform()
            painter.setPen(theme.colors(self.palette()).accent)
            painter.drawRect(self.viewport().rect().adjusted(0, 0, -1, -1))


class RowsPanel(Panel):
    """The rows of the session's chosen cell, or in their place the words that say why there are none."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__("Rows", parent)
        self._session = session
        self._seen: tuple[object, ...] = ()
        self._limits_of: Trace | None = None
        self._x = np.arange(0)
        self._rows = _NO_ROWS
        self.read_out = ReadOut()
        self.fit_button = QPushButton("F&it")
        self.fit_button.setCheckable(True)
        self.fit_button.setFixedWidth(self.fit_button.fontMetrics().horizontalAdvance("Fit") + 24)
        self.fit_button.setToolTip("Let the y axes fit this cell alone, instead of every cell of the batch")
        self.header.addWidget(self.read_out)
        self.header.addWidget(self.fit_button)
        self.view = RowsView()
        self.body.addWidget(self.view, 1)
        self.first_stop = self.view
        self.fit_button.toggled.connect(self._on_fit_toggled)
        self.view.dimension_changed.connect(self._on_dimension_changed)
        session.rows_changed.connect(self._on_rows_changed)  # follows each new result
        session.cell_changed.connect(self._on_rows_changed)
        self._show_rows()

    def fit(self) -> None:
        """Fit the y axes to the chosen cell alone, or to the whole batch again."""
        self.fit_button.toggle()

    @Slot(object)
    def _on_rows_changed(self, _: object) -> None:
        self._show_rows()

    @Slot(bool)
    def _on_fit_toggled(self, _: bool) -> None:
        self._show_limits()

    @Slot(object)
    def _on_dimension_changed(self, _: object) -> None:
        self._show_values()

    def _show_rows(self) -> None:
        session = self._session
        result, rows, cell = session.result, session.rows, session.cell
        seen = (result, rows, cell)
        if len(self._seen) == 3 and all(a is b for a, b in zip(seen, self._seen, strict=True)):
            return  # a new batch moves the cell too, and both are told
        self._seen = seen
        trace = rows.trace if result is not None and cell is not None else None
        self._rows = trace.cell(*cell) if trace is not None and cell is not None else _NO_ROWS
        self.title.setText(row_words.heading(result, cell))
        names = row_words.titles(result, cell)
        self._show_width()
        if trace is not self._limits_of or self.fit_button.isChecked():
            self._show_limits()
        figures = {kind: self._show_row(kind, names[kind]) for kind in KINDS}
        self.view.setAccessibleDescription(". ".join(f"{names[kind]}: {figures[kind]}" for kind in KINDS))
        self._show_values()

    def _show_row(self, kind: Kind, name: str) -> str:
        """Show a row in its plot, or say why there is none; return its figures or those words."""
        plot, values = self.view.plots[kind], getattr(self._rows, kind)
        if values is None:
            absence = self._absence(kind)
            first = kind == KINDS[0]
            rows = self._session.rows
            late = first and rows.trace is None and not absence.fault
            words = f"{absence.words}   Esc cancels" if late and rows.cancellable else absence.words
            plot.show_words(words, fault=absence.fault, progress=rows.progress if late else None)
            plot.caption.set_texts(name)
            return words
        plot.show_curve(self._x[: len(values)], values)
        figures, alarm = row_words.statistics(values, count=len(values) != self.view.width_shown)
        plot.caption.set_texts(name, figures, alarm=alarm)
        return figures

    def _absence(self, kind: Kind) -> row_words.Absence:
        session = self._session
        if session.result is None:
            return row_words.Absence(session.busy or session.rows.reason)
        if session.cell is None:
            return row_words.Absence("there is no token to look up")
        known = row_words.absence(session.result, session.cell, kind)
        return known or row_words.Absence(session.rows.reason or "there is no row")

    def _show_width(self) -> None:
        widths = [len(row) for row in (self._rows.token, self._rows.position, self._rows.sum) if row is not None]
        if not widths:
            self._show_stated_width()
            return
        if len(self._x) < max(widths):
            self._x = np.arange(max(widths))
        self.view.set_width(max(widths))
        self.read_out.set_width(max(widths))

    def _show_stated_width(self) -> None:
        """Let the axis reach as far as the rows will, or would: it does not jump when they come."""
        result = self._session.result
        width = result.config.token_embedding.embedding_dim if result is not None else None
        if isinstance(width, int) and 0 < width <= _WIDEST:
            self.view.set_width(width)
            self.read_out.set_width(width)

    def _show_limits(self) -> None:
        """Fix the y axes once for a trace, so that cells can be compared; or to the chosen cell, if so wanted."""
        trace = self._session.rows.trace
        for kind, plot in self.view.plots.items():
            values = getattr(self._rows, kind)
            if self.fit_button.isChecked() and values is not None:
                finite = values[np.isfinite(values)]
                plot.set_limits((float(finite.min()), float(finite.max())) if len(finite) else None)
            elif trace is not None:
                plot.set_limits(trace.limits(kind))
        self.view.scene().prepareForPaint()  # left to the first painting, this would ask for a second one
        self._limits_of = trace

    def _show_values(self) -> None:
        at = self.view.dimension
        token, position, total = (
            row_words.exact(row[at]) if row is not None and at < len(row) else ""
            for row in (self._rows.token, self._rows.position, self._rows.sum)
        )
        self.read_out.set_values((str(at), token, position, total))

    def closeEvent(self, event: QCloseEvent) -> None:
        self.view.close()
        super().closeEvent(event)
