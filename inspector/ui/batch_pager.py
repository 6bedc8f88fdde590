"""The way to the other batches, of which there may be hundreds of thousands: first, previous, a number, next, last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QAbstractSpinBox, QHBoxLayout, QSpinBox, QToolButton, QWidget

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.result import Result
    from inspector.ui.session import Session


class BatchPager(QWidget):
    """Chooses which batch the session shows.

    Attributes:
        first, previous, following, last: the actions of the buttons, with their shortcuts; a menu may show them too.
        number: the field that takes the number of a batch, counted from 1.

    Signals: none; what is chosen goes to the session.
    """

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.first = self._action("First batch", "«", "Ctrl+Shift+PgUp", self._go_first)
        self.previous = self._action("Previous batch", "‹", "Ctrl+PgUp", self._go_previous)
        self.following = self._action("Next batch", "›", "Ctrl+PgDown", self._go_next)
        self.last = self._action("Last batch", "»", "Ctrl+Shift+PgDown", self._go_last)
        self.number = QSpinBox()
        self.number.setRange(1, 1)
        self.number.setKeyboardTracking(False)
        self.number.setButtonSymbols(QAbstractSpinBox.ButtonSymbols.NoButtons)
        self.number.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.number.setAccessibleName("Batch number")
        self.number.setToolTip("Number of the batch, counted from 1")
        self.number.valueChanged.connect(self._on_number)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        before, after = (self.first, self.previous), (self.following, self.last)
        for widget in (*map(_button, before), self.number, *map(_button, after)):
            layout.addWidget(widget)
        self._fit_number()
        session.result_changed.connect(self._show_result)
        self._show_result(session.result)

    def _action(self, text: str, sign: str, keys: str, go: Callable[[], None]) -> QAction:
        action = QAction(text, self)
        action.setIconText(sign)
        action.setShortcut(QKeySequence(keys))
        action.setToolTip(f"{text} ({action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)})")
        action.triggered.connect(go)
        self.addAction(action)
        return action

    # ---- what the hand does --------------------------------------------------------------------------------------

    @Slot()
    def _go_first(self) -> None:
        self._session.set_batch(0)

    @Slot()
    def _go_previous(self) -> None:
        if self._session.result is not None:
            self._session.set_batch(self._session.result.batch - 1)

    @Slot()
    def _go_next(self) -> None:
        if self._session.result is not None:
            self._session.set_batch(self._session.result.batch + 1)

    @Slot()
    def _go_last(self) -> None:
        if self._session.result is not None:
            self._session.set_batch(self._session.result.batches - 1)

    @Slot(int)
    def _on_number(self, number: int) -> None:
        self._session.set_batch(number - 1)

    # ---- what the session says -----------------------------------------------------------------------------------

    @Slot(object)
    def _show_result(self, result: Result | None) -> None:
        batches, batch = (result.batches, result.batch) if result is not None else (0, 0)
        for action in (self.first, self.previous):
            action.setEnabled(batch > 0)
        for action in (self.following, self.last):
            action.setEnabled(batch < batches - 1)
        self.number.blockSignals(True)
        if self.number.maximum() != max(1, batches):
            self.number.setMaximum(max(1, batches))
            self._fit_number()
        self.number.setValue(batch + 1)
        self.number.blockSignals(False)
        self.number.setEnabled(batches > 1)

    def _fit_number(self) -> None:
        digits = max(4, len(str(self.number.maximum())) + 1)
        self.number.setFixedWidth(self.number.fontMetrics().horizontalAdvance("0" * digits) + 14)


def _button(action: QAction) -> QToolButton:
    button = QToolButton()
    button.setDefaultAction(action)
    button.setAccessibleName(action.text())
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button
