"""The way of the data as a strip of boxes: what leaves each stage, where it stops, what is merely blocked."""

from __future__ import annotations

import html
from pathlib import PurePath
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QHBoxLayout, QSizePolicy, QWidget

from inspector.diagnosis import Severity, Stage, StageShape, Status
from inspector.ui import marks, theme
from inspector.ui.panel import RADIUS

if TYPE_CHECKING:
    from inspector.config import InputConfig
    from inspector.diagnosis import Diagnosis
    from inspector.result import Result
    from inspector.ui.session import Session

ARROW = 24  # room for an arrow between two boxes
PADDING = 10
SIGN = 18  # room for the sign left of a box's words

NAMES = {
    Stage.FILE: "File",
    Stage.TOKENIZER: "Tokenizer",
    Stage.DATA_LOADER: "Data loader",
    Stage.TOKEN_EMBEDDING: "Token embedding",
    Stage.POSITION_EMBEDDING: "Position embedding",
    Stage.SEGMENT_EMBEDDING: "Segment embedding",
    Stage.SUM: "Sum",
}
_MANY = 10_000_000  # of characters or IDs; the box has no room for so many digits
TEXT = "Text"  # what the tokenizer takes; no stage of its own
_STATUS_WORDS = {Status.OK: "ok", Status.FAULT: "fault", Status.BLOCKED: "blocked", Status.UNUSED: "not used"}


class StageStrip(QWidget):
    """Text, tokenizer, loader, tables, sum, each with its state and the shape that leaves it.

    Signals: none; a box chooses its stage's first diagnosis in the session.
    """

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Stages from text to sum")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(ARROW)
        self.text_box = StageBox(TEXT, session)
        self.boxes: dict[Stage, StageBox] = {stage: StageBox(name, session) for stage, name in NAMES.items()}
        self._in_order = [self.boxes[Stage.FILE], self.text_box]
        self._in_order += [box for stage, box in self.boxes.items() if stage is not Stage.FILE]
        for box in self._in_order:
            long = box.text().endswith("embedding") or box is self.boxes[Stage.FILE]
            layout.addWidget(box, 4 if long else 3)  # long names get more room
        self.setFocusProxy(self.text_box)
        for stage in (Stage.FILE, Stage.SEGMENT_EMBEDDING):
            self.boxes[stage].hide()
        session.result_changed.connect(self._show_result)
        if session.result is not None:
            self._show_result(session.result)

    @Slot(object)
    def _show_result(self, result: Result) -> None:
        self.boxes[Stage.FILE].setVisible(any(shape.stage is Stage.FILE for shape in result.shapes))
        path = _file_of(result)
        self.boxes[Stage.FILE].content, self.boxes[Stage.FILE].path = PurePath(path).name, path
        faults = [shape.stage for shape in result.shapes if shape.status is Status.FAULT]
        for shape in result.shapes:
            if shape.stage not in self.boxes:
                continue
            found = tuple(d for d in result.diagnoses if d.stage is shape.stage)
            self.boxes[shape.stage].show_stage(shape, found, first=faults[:1] == [shape.stage])
            if shape.stage is Stage.SEGMENT_EMBEDDING:
                self.boxes[shape.stage].setVisible(shape.status is not Status.UNUSED)
            elif shape.stage is Stage.TOKENIZER:
                self.text_box.show_stage(_text_shape(shape, result.config), (), first=False)

    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.LayoutRequest:
            self.update()  # a box came or went: the arrows are elsewhere
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint an arrow into each gap between two boxes."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.colors(self.palette()).muted, 1.2))
        shown = [box for box in self._in_order if not box.isHidden()]
        for box in shown[:-1]:
            tip = QPointF(box.geometry().right() + ARROW - 5.5, self.height() / 2)
            painter.drawLine(tip - QPointF(12, 0), tip)
            painter.drawPolyline([tip + QPointF(-4, -4), tip, tip + QPointF(-4, 4)])
        painter.end()


class StageBox(QAbstractButton):
    """One stage: its sign and name above the shape that leaves it.

    Signals: those of every button.
    """

    def __init__(self, name: str, session: Session) -> None:
        super().__init__()
        self._session = session
        self._name = name
        self.content = ""  # what the second line says where no shape does
        self.path = ""  # of the file whose name that is
        self._shown: tuple[object, ...] = ()
        self._shape: StageShape | None = None
        self._found: tuple[Diagnosis, ...] = ()
        self._first = False
        self._small = theme.mono_font(-1)
        self.setText(name)
        self.setAccessibleName(name)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.clicked.connect(self._on_clicked)

    def show_stage(self, shape: StageShape, found: tuple[Diagnosis, ...], *, first: bool) -> None:
        """Show a stage's shapes, state and diagnoses; `first` marks the stage where the data stops."""
        shown = (shape, found, first, self.content, self.path)
        if shown == self._shown:
            return
        self._shown = shown
        self._shape, self._found, self._first = shape, found, first
        self.setAccessibleName(self._spoken())
        self.setToolTip(self._tooltip())
        self.setCursor(Qt.CursorShape.PointingHandCursor if found else Qt.CursorShape.ArrowCursor)
        self.update()

    @Slot()
    def _on_clicked(self) -> None:
        if self._found:
            self._session.set_diagnosis(self._found[0])

    # ---- words ---------------------------------------------------------------------------------------------------

    @property
    def output(self) -> str:
        """What the second line says: the shape that leaves the stage, or why none does."""
        if self._shape is None:
            return "…"
        if self.content:
            return self.content
        if self._shape.status is Status.UNUSED:
            return "not used"
        if self._shape.output is None:
            return "no output" if self._shape.status is Status.FAULT else "blocked"
        if len(self._shape.output) == 1 and self._shape.stage is Stage.TOKENIZER:
            count = self._shape.output[0]
            thing = "character" if self._name == TEXT else "ID"
            if count >= _MANY:
                return f"{count / 1e6:,.1f} M {thing}s"
            return f"{count:,} {thing}" + ("" if count == 1 else "s")
        return _written(self._shape.output)

    @property
    def _worst(self) -> Severity | None:
        """The severity of an error or warning in the stage."""
        found = {d.severity for d in self._found} - {Severity.NOTE}
        return Severity.ERROR if Severity.ERROR in found else next(iter(found), None)

    def _spoken(self) -> str:
        assert self._shape is not None
        state = _STATUS_WORDS[self._shape.status]
        if self._shape.status is Status.FAULT:
            output = "output blocked" if self._shape.output is None else f"output {self.output}"
            return f"{self._name}: {state}, {output}"
        warned = ", warning" if self._worst is Severity.WARNING else ""
        shown = f", {self.output}" if self._shape.status is Status.OK else ""
        return f"{self._name}: {state}{warned}{shown}"

    def _tooltip(self) -> str:
        shape = self._shape
        assert shape is not None
        lines = [f"<b>{self._name}: {_STATUS_WORDS[shape.status]}</b>"]
        way = [] if self._name == TEXT or self.content else [_written(shape.input)]
        if shape.table is not None:
            way.append(f"table {_written(shape.table)}")
        if shape.status is not Status.UNUSED:
            lines.append(html.escape(" → ".join([*way, self.path or self.output])))
        lines += [f"{marks.SIGNS[d.severity]} {html.escape(marks.sentence(d))}" for d in self._found]
        return f"<qt>{'<br>'.join(lines)}</qt>"

    # ---- keys, sizes, paint --------------------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)

    def sizeHint(self) -> QSize:
        words = max(self.fontMetrics().horizontalAdvance(self._name), 90)
        height = 2 * self.fontMetrics().height() + 10
        return QSize(words + SIGN + 2 * PADDING, height)

    def minimumSizeHint(self) -> QSize:
        return QSize(SIGN + 2 * PADDING + 40, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        colors, status = theme.colors(self.palette()), self._shape.status if self._shape else Status.UNUSED
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        faulty, quiet = status is Status.FAULT, status in (Status.BLOCKED, Status.UNUSED)
        border = colors.fault if faulty else colors.border
        if self.underMouse() and self._found and not faulty:
            border = colors.muted
        pen = QPen(border, 1.8 if self._first else 1)
        if status is Status.UNUSED:
            pen.setStyle(Qt.PenStyle.DashLine)
        painter.setPen(pen)
        painter.setBrush(colors.fault_wash if faulty else colors.surface if quiet else colors.panel)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), RADIUS, RADIUS)
        if self.hasFocus():
            painter.setPen(QPen(colors.accent, 1.4))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(3, 3, -3, -3), RADIUS - 2, RADIUS - 2)
        self._paint_words(painter, colors, status)
        painter.end()

    def _paint_words(self, painter: QPainter, colors: theme.Colors, status: Status) -> None:
        left, middle = Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignVCenter
        painter.setPen(marks.status_color(colors, status))
        painter.drawText(QRect(PADDING, 0, SIGN, self.height()), left | middle, marks.STATUS_SIGNS[status])
        start = PADDING + SIGN if marks.STATUS_SIGNS[status] else PADDING
        width = self.width() - start - PADDING
        warned = status is not Status.FAULT and self._worst is Severity.WARNING
        if warned:
            width -= SIGN
            painter.setPen(colors.warning)
            where = QRect(self.width() - SIGN - PADDING + 4, 0, SIGN, self.height())
            painter.drawText(where, Qt.AlignmentFlag.AlignRight | middle, marks.SIGNS[Severity.WARNING])
        half = self.height() // 2
        quiet = status in (Status.BLOCKED, Status.UNUSED)
        font = self.font()
        font.setBold(self._first)
        painter.setFont(font)
        painter.setPen(colors.muted if quiet else colors.text)
        name = painter.fontMetrics().elidedText(self._name, Qt.TextElideMode.ElideRight, width)
        painter.drawText(QRect(start, 3, width, half - 3), left | middle, name)
        painter.setFont(self._small)
        painter.setPen(colors.muted)
        output = painter.fontMetrics().elidedText(self.output, Qt.TextElideMode.ElideMiddle, width)
        painter.drawText(QRect(start, half, width, half - 3), left | middle, output)


def _written(shape: tuple[int, ...] | None) -> str:
    """Return a shape as Python writes it."""
    return "nothing" if shape is None else str(shape)


def _file_of(result: Result) -> str:
    """Return the path of the file that the rows, else that the IDs come from."""
    config, material = result.config, result.material
    paths = (config.checkpoint, config.token_ids_file, config.text_file)
    return next((p for p in (material.trouble.path if material.trouble else None, *paths) if p), "")


def _text_shape(tokenizer: StageShape, config: InputConfig) -> StageShape:
    """Return what the text itself is to the strip: what goes into the tokenizer, and no fault of its own."""
    if tokenizer.input is not None:
        status = Status.OK
    else:
        wanted = config.token_ids is None and config.token_ids_file is None
        status = Status.BLOCKED if wanted else Status.UNUSED
    return StageShape(Stage.TOKENIZER, None, None, tokenizer.input, status)
