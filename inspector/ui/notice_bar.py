"""A slim bar in the window for a sentence on what did not work. It is there only while there is something to say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, Qt, Slot
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSizePolicy, QWidget

from inspector.ui import theme
from inspector.ui.panel import RADIUS, plain_label

if TYPE_CHECKING:
    from inspector.ui.session import Session


class NoticeBar(QWidget):
    """Shows the session's notice, with a button to take it away."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.setAccessibleName("Notice")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.words = plain_label()
        self.words.setWordWrap(True)
        self.words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.dismiss_button = QPushButton("&Dismiss")
        self.dismiss_button.clicked.connect(self._on_dismiss)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(14, 5, 8, 5)
        layout.addWidget(self.words, 1)
        layout.addWidget(self.dismiss_button)
        session.notice_changed.connect(self._show_notice)
        self._show_notice(session.notice)

    @Slot(object)
    def _show_notice(self, notice: str) -> None:
        self.words.setText(notice)
        self.words.setAccessibleName(notice)
        self.setVisible(bool(notice))
        self.update()

    @Slot()
    def _on_dismiss(self) -> None:
        self._session.set_notice("")

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme.colors(self.palette())
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        quiet = self._session.notice_is_quiet
        painter.setPen(colors.border if quiet else colors.warning)
        painter.setBrush(colors.panel if quiet else colors.warning_wash)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
