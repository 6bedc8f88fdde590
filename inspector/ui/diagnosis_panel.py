"""What was found: what is wrong, what to do, what PyTorch would have said, and the repair. No fault: what was proved."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from PySide6.QtCore import QItemSelectionModel, QSize, Qt, Slot
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence, QPalette
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from inspector import checks
from inspector.diagnosis import Diagnosis, Severity
from inspector.ui import marks, theme
from inspector.ui.panel import Muted, Panel, plain_label

if TYPE_CHECKING:
    from PySide6.QtCore import QEvent

    from inspector.result import Result
    from inspector.ui.explain_window import ExplainWindow
    from inspector.ui.session import Session

LINES = 4  # of text have room, with a fault or without: nothing jumps
LIST_WIDTH = 270
NO_FAULT = "No fault found."
PROVED = "The sum equals torch’s forward, bit for bit."
NOT_PROVED = "Checked without weights."

_SILENT = ("no error", "-", "")


class DiagnosisPanel(Panel):
    """The diagnoses of the session's result, one of them in full.

    Signals: none; what is chosen and repaired goes to the session.
    """

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__("Diagnoses", parent)
        self._session = session
        self._explain: ExplainWindow | None = None
        self.title.hide()
        self.info.hide()
        self.count = Muted()
        self.list = _FindingsList()
        self.list.chosen.connect(self._on_chosen)
        self.list.currentRowChanged.connect(self._show_detail)
        self._detail = _Detail()
        self.fix_button = QPushButton("&Fix")
        self.fix_button.clicked.connect(self._on_fix)
        self.explain_button = QPushButton("E&xplain")
        self.explain_button.setToolTip("What this kind of fault is, and how it comes about")
        self.explain_button.clicked.connect(self._on_explain)
        self._lay_out()
        copy = QAction("&Copy diagnosis", self)
        copy.setShortcut(QKeySequence.StandardKey.Copy)
        copy.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        copy.triggered.connect(self._on_copy)
        self.addAction(copy)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        session.result_changed.connect(self._show_result)
        session.rows_changed.connect(self._show_proof)
        session.diagnosis_changed.connect(self._show_chosen)
        self._show_result(session.result)
