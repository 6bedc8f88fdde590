"""Which tensors of a checkpoint are its tables, why it is these, and the way to choose others."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QComboBox, QGridLayout, QLabel, QWidget

from inspector.recipe import Role
from inspector.ui import theme
from inspector.ui.panel import Muted, plain_label

if TYPE_CHECKING:
    from inspector.checkpoint import Checkpoint
    from inspector.result import Result
    from inspector.ui.session import Session

FOUND_BY_ITSELF = "as found by itself"
_SHOWN_CHARACTERS = 34  # of a tensor's name, before it is cut


class TableChoices(QWidget):
    """A line for each table: the tensor, chosen or found, and the reason. Hidden where no checkpoint is open.

    Signals: none; what is chosen goes to the session.
    """

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._shown: Checkpoint | None = None
        self.boxes: dict[Role, QComboBox] = {}
        self.reasons: dict[Role, QLabel] = {}
        lines = QGridLayout(self)
        lines.setContentsMargins(0, 0, 0, 0)
        lines.setVerticalSpacing(4)
        lines.setColumnStretch(2, 1)
        for line, role in enumerate(Role):
            name, box, reason = plain_label(f"{role} table"), QComboBox(), Muted()
            name.setFont(theme.mono_font(-0.5))
            box.setFont(theme.mono_font(-0.5))
            box.setAccessibleName(f"{role} table in the checkpoint")
            box.setToolTip(f"The tensor whose rows are the {role} rows")
            box.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            box.setMinimumContentsLength(_SHOWN_CHARACTERS)
            box.activated.connect(partial(self._on_chosen, role))
            reason.setTextFormat(Qt.TextFormat.PlainText)
            reason.setWordWrap(True)
            for column, widget in enumerate((name, box, reason)):
                lines.addWidget(widget, line, column)
            self.boxes[role], self.reasons[role] = box, reason
        session.result_changed.connect(self._show_result)
        self._show_result(session.result)

    @Slot(object)
    def _show_result(self, result: Result | None) -> None:
        checkpoint = result.material.checkpoint if result is not None else None
        self.setVisible(checkpoint is not None)
        if checkpoint is None or checkpoint is self._shown:
            return
        self._shown = checkpoint
        chosen = dict(self._session.config.checkpoint_tables)
        for role, box in self.boxes.items():
            found = checkpoint.found.table(role)
            box.clear()
            box.addItem(FOUND_BY_ITSELF)
            box.addItems(checkpoint.candidates)
            name = chosen.get(role) or (found.name if found is not None else "")
            box.setCurrentIndex(max(0, box.findText(name)))
            if found is None:
                self.reasons[role].setText(f"no tensor is known to be a {role} table")
                box.setItemText(0, "none found")
            else:
                transposed = ", stored transposed" if found.transposed else ""
                sizes = f"{found.rows:,} × {found.width:,}, {found.dtype}{transposed}"
                self.reasons[role].setText(f"{sizes}: {found.reason}")

    @Slot(int)
    def _on_chosen(self, role: Role, index: int) -> None:
        chosen = dict(self._session.config.checkpoint_tables)
        chosen.pop(role, None)
        if index > 0:
            chosen[str(role)] = self.boxes[role].itemText(index)
        self._session.finish_edit()
        self._session.set_value("checkpoint_tables", tuple(sorted(chosen.items())))
        self._session.finish_edit()
