"""The quiet rounded surface that every part of the window sits on: a title, a word beside it, the content."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from inspector.ui import theme

RADIUS = 6

_BUTTON_PADDING = 9  # above and below a button's word in Fusion


class Muted(QLabel):
    """A label in the quiet colour, which follows the scheme."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self.setForegroundRole(self.foregroundRole().PlaceholderText)


class Panel(QFrame):
    """A titled surface. `header` takes widgets to the right of the title, `body` the content.

    `first_stop` is where the focus goes when the panel as a whole is given it. It is no focus proxy: from a panel with
    one, Qt's Tab jumps past whatever comes before the proxy.
    """

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(title)
        self.first_stop: QWidget | None = None
        self.title = QLabel(title)
        font = self.title.font()
        font.setBold(True)
        self.title.setFont(font)
        # As high as with a button beside it, so that the titles of neighbours are on one line.
        self.title.setMinimumHeight(self.title.fontMetrics().height() + _BUTTON_PADDING)
        self.info = Muted()
        self.header = QHBoxLayout()
        self.header.setSpacing(8)
        self.header.addWidget(self.title)
        self.header.addStretch(1)
        self.header.addWidget(self.info)
        self.body = QVBoxLayout()
        self.body.setSpacing(6)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(14, 8, 14, 12)
        layout.setSpacing(6)
        layout.addLayout(self.header)
        layout.addLayout(self.body, 1)

    def setFocus(self, reason: Qt.FocusReason = Qt.FocusReason.OtherFocusReason) -> None:
        if self.first_stop is not None:
            self.first_stop.setFocus(reason)
        else:
            super().setFocus(reason)

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme.colors(self.palette())
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(colors.border)
        painter.setBrush(colors.panel)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
        painter.end()
        super().paintEvent(event)


def plain_label(text: str = "") -> QLabel:
    """Return a label that shows its text as it stands, never as markup."""
    label = QLabel(text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label
