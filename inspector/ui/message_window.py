"""A pasted error message, read while it is pasted: what can be behind it, and what tells the possibilities apart."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QRectF, QSize, Qt, QTimer, Slot
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from inspector import messages
from inspector.ui import gallery, marks, theme
from inspector.ui.explain_window import ExplainWindow
from inspector.ui.panel import RADIUS, Muted, plain_label

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from inspector.config import InputConfig
    from inspector.messages import Candidate, Reading
    from inspector.ui.session import Session

PLACEHOLDER = (
    "Paste what Python printed: the last line of the traceback, and better the whole of it, "
    "whose lines may name the table."
)
NOTHING_YET = "What can be behind a message appears here as soon as one is recognised."
UNKNOWN = (
    "No line of this is a message that is known here; it may not come from the input stage at all. If it does, paste "
    "the last line of the traceback and the lines above it."
)
SIZE = QSize(720, 640)
AT_ONCE_CHARACTERS = 50_000  # read within a frame (measured); a longer text when the hand pauses
PAUSE_MS = 150


class MessageWindow(QDialog):
    """A box to paste into above what its words can mean; the main window stays in use, Escape closes this one.

    Signals: those of every dialog; what is set and tried goes to the session.
    """

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._explain: ExplainWindow | None = None
        self._readings: list[Reading] = []
        self.setModal(False)
        self.setWindowTitle("I have an error message")
        self.resize(SIZE)
        self.box = QPlainTextEdit()
        self.box.setAccessibleName("Error message")
        self.box.setAccessibleDescription(PLACEHOLDER)
        self.box.setPlaceholderText(PLACEHOLDER)
        self.box.setFont(theme.mono_font(-0.5))
        self.box.setTabChangesFocus(True)
        self.verdict = Muted(NOTHING_YET)
        self.verdict.setWordWrap(True)
        self.verdict.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.cards: list[ReadingCard] = []
        self._column = QVBoxLayout()
        self._lay_out()
        self._pause = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._pause.timeout.connect(self._read)
        self.box.textChanged.connect(self._on_text_changed)
        self.box.setFocus()

    def present(self) -> None:
        """Show the window in front, ready to paste into."""
        self.show()
        self.raise_()
        self.activateWindow()
        self.box.setFocus()

    @Slot()
    def _on_text_changed(self) -> None:
        if self.box.document().characterCount() > AT_ONCE_CHARACTERS:
            self._pause.start()
        else:
            self._pause.stop()
            self._read()

    @Slot()
    def _read(self) -> None:
        text = self.box.toPlainText()
        readings = messages.read(text)
        self.verdict.setText(UNKNOWN if text.strip() else NOTHING_YET)
        self.verdict.setVisible(not readings)
        if readings != self._readings:
            self._readings = readings
            self._show_readings()

    def _show_readings(self) -> None:
        for card in self.cards:
            self._column.removeWidget(card)
            card.hide()
            card.deleteLater()
        self.cards = [ReadingCard(reading, self._session, self._on_explain) for reading in self._readings]
        for place, card in enumerate(self.cards):
            self._column.insertWidget(place, card)

    def _on_explain(self, candidate: Candidate) -> None:
        if self._explain is None:
            self._explain = ExplainWindow(self)
        self._explain.show_fault(candidate.fault)

    def _lay_out(self) -> None:
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(10)
        self._column.addStretch(1)
        content = QWidget()
        content.setLayout(self._column)
        results = QScrollArea()
        results.setFrameShape(QFrame.Shape.NoFrame)
        results.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        results.setWidgetResizable(True)
        results.setWidget(content)
        results.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(14, 12, 14, 14)
        layout.setSpacing(10)
        layout.addWidget(self.box, 2)
        layout.addWidget(self.verdict)
        layout.addWidget(results, 5)


class ReadingCard(QFrame):
    """One recognised line and all there is to say of it.

    Signals: none; `explain` is called with a candidate, what is set and tried goes to the session.
    """

    def __init__(self, reading: Reading, session: Session, explain: Callable[[Candidate], None]) -> None:
        super().__init__()
        self.reading = reading
        self._session = session
        self._explain = explain
        self.setAccessibleName(reading.quote)
        self.numbers = _prose(Muted())
        self.use_button = QPushButton("&Use these numbers")
        self.use_button.clicked.connect(self._on_use)
        self._lay_out()
        session.config_changed.connect(self._show_numbers)
        self._show_numbers(session.config)

    @Slot(object)
    def _show_numbers(self, config: InputConfig) -> None:
        values = self.reading.values
        is_set = all(config.value(name) == value for name, value in values.items())
        self.use_button.setEnabled(bool(values) and not is_set)
        if not values:
            self.numbers.setText("It holds no number that an argument could take.")
        elif is_set:
            self.numbers.setText(f"The window has them: {assigned(values)}.")
        else:
            self.numbers.setText(f"Sets {assigned(values)}. Ctrl+Z in the main window takes it back.")
        self.use_button.setAccessibleDescription(self.numbers.text())

    @Slot()
    def _on_use(self) -> None:
        self._session.set_values(self.reading.values, "numbers of the message")

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(14, 10, 14, 12)
        column.setSpacing(8)
        quote = _prose(plain_label(self.reading.quote))
        quote.setFont(theme.mono_font(-0.5))
        column.addWidget(quote)
        if self.reading.aside:
            column.addWidget(_prose(Muted(_sentence(self.reading.aside))))
        for place, candidate in enumerate(self.reading.candidates):
            column.addLayout(self._candidate_line(candidate, likeliest=place == 0))
        if self.reading.ask:
            what = "To tell them apart" if len(self.reading.candidates) > 1 else "To see it"
            column.addWidget(_prose(plain_label(f"{what}: {self.reading.ask}.")))
        line = QHBoxLayout()
        line.setSpacing(10)
        line.addWidget(self.numbers, 1)
        line.addWidget(self.use_button, 0, Qt.AlignmentFlag.AlignTop)
        column.addLayout(line)

    def _candidate_line(self, candidate: Candidate, *, likeliest: bool) -> QHBoxLayout:
        kind = candidate.fault
        name, when = plain_label(f"{kind.code} {kind.name}"), _prose(plain_label(_sentence(candidate.when)))
        font = name.font()
        font.setBold(likeliest)
        name.setFont(font)
        name.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        explain, try_it = QPushButton("Explain"), QPushButton("Try it")
        explain.setToolTip("What this kind of fault is and how it comes about")
        explain.setAccessibleName(f"Explain {kind.code} {kind.name}")
        explain.clicked.connect(partial(self._on_explain, candidate))
        try_it.setToolTip("Open an example of this fault in the main window, where Ctrl+Z takes it back")
        try_it.setAccessibleName(f"Try {kind.code} {kind.name}")
        try_it.setEnabled(gallery.can_be_tried(kind))
        try_it.clicked.connect(partial(self._on_try, candidate))
        words = QVBoxLayout()
        words.setSpacing(1)
        words.addWidget(name)
        words.addWidget(when)
        line = QHBoxLayout()
        line.setSpacing(8)
        line.addLayout(words, 1)
        line.addWidget(explain, 0, Qt.AlignmentFlag.AlignTop)
        line.addWidget(try_it, 0, Qt.AlignmentFlag.AlignTop)
        return line

    def _on_explain(self, candidate: Candidate, _checked: bool = False) -> None:
        self._explain(candidate)

    def _on_try(self, candidate: Candidate, _checked: bool = False) -> None:
        gallery.try_fault(self._session, candidate.fault)

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme.colors(self.palette())
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(colors.border)
        painter.setBrush(colors.panel)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)


def assigned(values: Mapping[str, Any]) -> str:
    """Return what is set to what: "vocab_size to 50257 and stride to 4"."""
    steps = [f"{marks.argument(name)} to {_written(value)}" for name, value in values.items()]
    return " and ".join(filter(None, (", ".join(steps[:-1]), steps[-1]))) if steps else ""


def _written(value: Any) -> str:
    if value is None:
        return "none stated"
    return value if isinstance(value, str) else messages.written(value)


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _prose(label: QLabel) -> QLabel:
    """Let a label wrap its words, and let them be selected."""
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label
