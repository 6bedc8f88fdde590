"""What was found: a list of all diagnoses, one of them in full with its repair, or what was proved."""

from __future__ import annotations

import html
from collections import Counter
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence, QPalette
from PySide6.QtWidgets import QFrame, QHBoxLayout, QListWidget, QListWidgetItem, QPushButton, QVBoxLayout, QWidget

from inspector import checks
from inspector.diagnosis import SEVERITY_ORDER, Diagnosis, Severity
from inspector.ui import marks, theme
from inspector.ui.arguments import is_of_layers
from inspector.ui.diagnosis_detail import DiagnosisDetail
from inspector.ui.panel import Muted, Panel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtCore import QEvent

    from inspector.result import Result
    from inspector.ui.explain_window import ExplainWindow
    from inspector.ui.session import Session

LINES = 4  # of text have room, with a fault or without: nothing jumps
LIST_WIDTH = 250
COLUMN_SPACING = 2


class DiagnosisPanel(Panel):
    """The diagnoses of the session's result: a list of all, and one of them in full.

    Signals: none; what is chosen and repaired goes to the session.
    """

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__("Diagnoses", parent)
        self._session = session
        self._explain: ExplainWindow | None = None
        self.title.hide()
        self.info.hide()
        self.detail = DiagnosisDetail(session)
        self.count = Muted()
        self.findings = FindingsList()
        self.fix_button = QPushButton("Fi&x")
        self.explain_button = QPushButton("Explai&n")
        self.explain_button.setToolTip("What this kind of fault is and how it comes about")
        self._lay_out()
        self._add_copy()
        self.first_stop = self.findings
        self.findings.currentRowChanged.connect(self._on_current)
        self.findings.itemClicked.connect(self._on_chosen)
        self.findings.itemActivated.connect(self._on_chosen)
        self.fix_button.clicked.connect(self._on_fix)
        self.explain_button.clicked.connect(self._on_explain)
        session.result_changed.connect(self._show_result)
        session.diagnosis_changed.connect(self._show_chosen)
        self._show_result(session.result)

    @property
    def diagnosis(self) -> Diagnosis | None:
        """The diagnosis that is shown in full."""
        found, row = self._found, self.findings.currentRow()
        return found[row] if 0 <= row < len(found) else None

    @property
    def _found(self) -> Sequence[Diagnosis]:
        return self._session.result.diagnoses if self._session.result is not None else ()

    # ---- what the session says -----------------------------------------------------------------------------------

    @Slot(object)
    def _show_result(self, _result: Result | None) -> None:
        found = self._found
        self.findings.show_diagnoses(found, self._session.diagnosis)
        for widget in (self.count, self.findings, self.explain_button):
            widget.setVisible(bool(found))
        self.count.setText(counted(found))
        self._show_current()

    @Slot(object)
    def _show_chosen(self, diagnosis: Diagnosis | None) -> None:
        if diagnosis in self._found:
            self.findings.setCurrentRow(self._found.index(diagnosis))

    def _show_current(self) -> None:
        diagnosis = self.diagnosis
        self.detail.show_diagnosis(diagnosis)
        repair = marks.repair(diagnosis) if diagnosis is not None and self._can_be_repaired(diagnosis) else ""
        self.fix_button.setVisible(bool(repair))
        self.fix_button.setToolTip(f"{repair} (Ctrl+Z takes it back)")
        self.fix_button.setAccessibleDescription(repair)

    def _can_be_repaired(self, diagnosis: Diagnosis) -> bool:
        """Return whether a repair can be made here: not in the layers of a live model, which stay as they are."""
        result = self._session.result
        live = result is not None and result.material.live is not None
        return not (live and any(map(is_of_layers, diagnosis.fix or ())))

    # ---- what the hand does --------------------------------------------------------------------------------------

    @Slot(int)
    def _on_current(self, _row: int) -> None:
        self._show_current()

    @Slot(QListWidgetItem)
    def _on_chosen(self, item: QListWidgetItem) -> None:
        self._session.set_diagnosis(self._found[self.findings.row(item)])

    @Slot()
    def _on_fix(self) -> None:
        if self.diagnosis is not None:
            self._session.apply_fix(self.diagnosis)

    @Slot()
    def _on_explain(self) -> None:
        from inspector.ui.explain_window import ExplainWindow  # a page of text is not needed to start

        if self.diagnosis is None:
            return
        if self._explain is None:
            self._explain = ExplainWindow(self.window())
        self._explain.show_fault(checks.of(self.diagnosis))

    @Slot()
    def _on_copy(self) -> None:
        """Copy the words that are selected in the detail, else message and help."""
        text = self.detail.selected_text()
        if not text and self.diagnosis is not None:
            text = f"{self.diagnosis.message}\n{self.diagnosis.help}"
        if text:
            QGuiApplication.clipboard().setText(text)

    # ---- layout --------------------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        buttons = QHBoxLayout()
        buttons.addWidget(self.fix_button)
        buttons.addWidget(self.explain_button)
        column = QVBoxLayout()
        column.setSpacing(COLUMN_SPACING)
        column.addWidget(self.count)
        column.addWidget(self.findings)
        column.addStretch(1)
        row = QHBoxLayout()
        row.setSpacing(16)
        row.addWidget(self.detail, 1)
        row.addLayout(buttons)
        row.addLayout(column)
        self.body.addLayout(row)
        self.findings.setFixedWidth(LIST_WIDTH)
        self._fix_height()

    def _fix_height(self) -> None:
        """Reserve the height of one diagnosis for good, with a whole number of lines in the list."""
        layout = self.layout()
        assert layout is not None
        margins, line = layout.contentsMargins(), self.fontMetrics().lineSpacing()
        text_height = LINES * line + 2 * DiagnosisDetail.SPACING
        self.findings.fit(LINES - 1)
        list_height = line + self.findings.height() + COLUMN_SPACING
        self.setFixedHeight(max(text_height, list_height) + margins.top() + margins.bottom())

    def _add_copy(self) -> None:
        copy = QAction("&Copy diagnosis", self)
        copy.setShortcut(QKeySequence.StandardKey.Copy)
        copy.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        copy.triggered.connect(self._on_copy)
        self.addAction(copy)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == event.Type.FontChange:
            self._fix_height()


class FindingsList(QListWidget):
    """One line for each diagnosis. Up and Down show one, Enter and a click choose it.

    Signals: those of every list.
    """

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName("Diagnoses")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.viewport().setBackgroundRole(QPalette.ColorRole.AlternateBase)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setUniformItemSizes(True)
        self._take_colors()

    def show_diagnoses(self, found: Sequence[Diagnosis], chosen: Diagnosis | None) -> None:
        """List what was found; the chosen one is current, else the one that was, else the first of the most severe."""
        before = self.currentItem().text() if self.currentItem() is not None else ""
        self.blockSignals(True)
        self.clear()
        for diagnosis in found:
            item = QListWidgetItem(f"{marks.SIGNS[diagnosis.severity]} {diagnosis.code} {diagnosis.name}", self)
            item.setData(Qt.ItemDataRole.UserRole, diagnosis.severity)
            item.setSizeHint(QSize(0, self._line_height()))
            item.setToolTip(f"<qt>{html.escape(diagnosis.message)}</qt>")
            spoken = f"{marks.WORDS[diagnosis.severity]} {diagnosis.code}: {diagnosis.message}"
            item.setData(Qt.ItemDataRole.AccessibleTextRole, spoken)
        self._color_items()
        texts = [self.item(i).text() for i in range(self.count())]
        worst = min(range(len(found)), key=lambda i: SEVERITY_ORDER[found[i].severity], default=0)
        if chosen in found:
            worst = found.index(chosen)
        elif before in texts and found[texts.index(before)].severity is found[worst].severity:
            worst = texts.index(before)
        self.setCurrentRow(worst)
        self.blockSignals(False)

    def fit(self, lines: int) -> None:
        """Be as high as a number of lines."""
        self.setFixedHeight(lines * self._line_height())

    def _line_height(self) -> int:
        return self.fontMetrics().height() + 2

    def _color_items(self) -> None:
        colors = theme.colors(self.palette())
        for row in range(self.count()):
            item = self.item(row)
            item.setForeground(marks.color(colors, Severity(item.data(Qt.ItemDataRole.UserRole))))

    def _take_colors(self) -> None:
        colors = theme.colors(self.palette())
        if self.palette().color(QPalette.ColorRole.Highlight) != colors.accent_wash:
            palette = QPalette()  # of two colours alone: the others are the window's
            palette.setColor(QPalette.ColorRole.Highlight, colors.accent_wash)
            palette.setColor(QPalette.ColorRole.HighlightedText, colors.text)
            self.setPalette(palette)
        self._color_items()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if theme.repaints_on(event):
            self._take_colors()


def counted(found: Sequence[Diagnosis]) -> str:
    """Return "3 findings: 1 error, 2 notes"; of one severity alone just "2 notes"."""
    numbers = Counter(d.severity for d in found)
    parts = [f"{numbers[s]} {s}" + ("" if numbers[s] == 1 else "s") for s in Severity if numbers[s]]
    return parts[0] if len(parts) == 1 else f"{len(found)} findings: {', '.join(parts)}" if parts else ""
