"""One diagnosis in full, under the calm line that says that there is no fault, and what was proved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QLabel, QScrollArea, QWidget

from inspector.diagnosis import Severity, Status
from inspector.ui import marks, theme
from inspector.ui.panel import Muted, plain_label

if TYPE_CHECKING:
    from PySide6.QtCore import QEvent
    from PySide6.QtGui import QColor

    from inspector.diagnosis import Diagnosis
    from inspector.ui.session import Rows, Session

NO_FAULT = "No fault found."
WAITING = "Loading the vocabulary …"
SUM_PROVED = "The sum equals torch’s forward, bit for bit."
ROWS_PROVED = "The rows equal torch’s own, bit for bit."
NOT_PROVED = "Checked without weights."

_SILENT = ("no error", "-", "")


class DiagnosisDetail(QScrollArea):
    """Message, help and PyTorch's words of one diagnosis; what does not fit is scrolled for.

    Signals: those of every scroll area.
    """

    SPACING = 3

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._severity = Severity.NOTE
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.verticalScrollBar().rangeChanged.connect(self._on_range)
        self.viewport().setAutoFillBackground(False)
        self._ok_sign = QLabel(marks.STATUS_SIGNS[Status.OK])
        self._verdict = QLabel(NO_FAULT)
        self._proof = Muted()
        self._sign = QLabel()
        self._message = _prose(plain_label())
        self._help = _prose(plain_label())
        self._torch = _prose(Muted())
        self._lay_out()
        session.rows_changed.connect(self._show_proof)

    def show_diagnosis(self, diagnosis: Diagnosis | None) -> None:
        """Show a diagnosis of the session's result, and that there is no fault where there is none."""
        self._show_proof(self._session.rows)
        for label in (self._sign, self._message, self._help, self._torch):
            label.setVisible(diagnosis is not None)
        if diagnosis is not None:
            self._severity = diagnosis.severity
            self._sign.setText(marks.SIGNS[diagnosis.severity])
            self._sign.setAccessibleName(marks.WORDS[diagnosis.severity])
            font = self.font()
            font.setBold(diagnosis.severity is not Severity.NOTE)
            self._message.setFont(font)
            self._message.setText(marks.sentence(diagnosis))
            self._message.setToolTip(marks.path(diagnosis))
            self._message.setAccessibleName(f"{marks.WORDS[diagnosis.severity]}: {diagnosis.message}")
            self._help.setText(marks.advice(diagnosis))
            self._help.setVisible(bool(diagnosis.help))
            self._torch.setText(_torch_says(diagnosis))
            self._torch.setVisible(bool(self._torch.text()))
        self._take_colors()
        self.verticalScrollBar().setValue(0)

    def selected_text(self) -> str:
        """Return what is selected in the words that have the focus."""
        labels = (self._message, self._help, self._torch)
        return next((label.selectedText() for label in labels if label.hasFocus()), "")

    @Slot(object)
    def _show_proof(self, rows: Rows) -> None:
        result = self._session.result
        calm = result is None or result.ok
        self._verdict.setVisible(calm)
        self._proof.setVisible(calm)
        self._ok_sign.setVisible(result is not None and result.ok)
        self._verdict.setText(WAITING if result is None else NO_FAULT)
        if result is None:
            self._proof.setText("")
        elif rows.trace is None or rows.trace.all_token_rows is None:
            self._proof.setText(NOT_PROVED)
        elif rows.trace.all_sums is None or any(s.status is Status.BLOCKED for s in result.shapes):
            self._proof.setText(ROWS_PROVED)
        else:
            self._proof.setText(ROWS_PROVED if result.config.segment_embedding is not None else SUM_PROVED)

    @Slot(int, int)
    def _on_range(self, _least: int, most: int) -> None:
        """Let Tab stop here only where the arrow keys can scroll."""
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if most else Qt.FocusPolicy.NoFocus)

    # ---- layout and colours --------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        calm = QHBoxLayout()
        calm.setSpacing(6)
        calm.addWidget(self._verdict)
        calm.addWidget(self._proof)
        calm.addStretch(1)
        content = QWidget()
        content.setAutoFillBackground(False)
        grid = QGridLayout(content)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(self.SPACING)
        top = Qt.AlignmentFlag.AlignTop
        grid.setRowStretch(0, 1)
        grid.addWidget(self._ok_sign, 1, 0)
        grid.addLayout(calm, 1, 1)
        grid.addWidget(self._sign, 2, 0, top)
        grid.addWidget(self._message, 2, 1)
        grid.addWidget(self._help, 3, 1)
        grid.addWidget(self._torch, 4, 1)
        grid.setRowStretch(5, 1)
        grid.setColumnStretch(1, 1)
        grid.setColumnMinimumWidth(0, self.fontMetrics().horizontalAdvance(marks.SIGNS[Severity.ERROR]))
        self.setWidget(content)
        content.setAutoFillBackground(False)  # setWidget() turns it on

    def minimumSizeHint(self) -> QSize:
        return QSize(200, 2 * self.fontMetrics().lineSpacing())

    def sizeHint(self) -> QSize:
        return self.minimumSizeHint()

    def _take_colors(self) -> None:
        colors = theme.colors(self.palette())
        _tint(self._ok_sign, colors.ok)
        _tint(self._sign, marks.color(colors, self._severity))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if theme.repaints_on(event) and self.widget() is not None:
            self._take_colors()


def _prose(label: QLabel) -> QLabel:
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    label.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)  # the panel's own menu copies the whole
    return label


def _tint(label: QLabel, color: QColor) -> None:
    palette = label.palette()
    palette.setColor(QPalette.ColorRole.WindowText, color)
    label.setPalette(palette)


def _torch_says(diagnosis: Diagnosis) -> str:
    """Return PyTorch's words; of what is merely worth knowing nobody expects any."""
    words = diagnosis.torch
    if words.startswith("no error") and diagnosis.severity is not Severity.NOTE:
        return f"PyTorch raises {words}"
    return f"PyTorch says: {words}" if words not in _SILENT else ""
