"""In the text's place: what a large text or a file of IDs holds, and the text around the chosen cell."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, QTimer, Slot
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from inspector import passage
from inspector.passage import Passage
from inspector.tokenizer import Tokens
from inspector.trouble import FileTrouble
from inspector.ui import theme
from inspector.ui.panel import Muted
from inspector.ui.text_marks import chosen_token, passage_marks
from inspector.ui.washed_editor import WashedEditor

if TYPE_CHECKING:
    from inspector.config import InputConfig
    from inspector.diagnosis import Cell
    from inspector.result import Result
    from inspector.ui.session import Session

_KEPT_AROUND = 40  # tokens that stay visible on either side of the chosen one before another part is shown


class PassagePage(QWidget):
    """A note on the IDs, and part of their text, which can be read and clicked but not edited.

    Attributes:
        editor: the text around the chosen cell.
        note: which file it is, how many IDs it has, and what is shown of it.
        type_instead: the button that lets a text be typed.
    """

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._passage = Passage()
        self._of: object = None  # whose IDs the passage shows
        self.note = Muted()
        self.note.setTextFormat(Qt.TextFormat.PlainText)
        self.note.setWordWrap(True)
        self.editor = WashedEditor()
        self.editor.setReadOnly(True)
        self.editor.setAccessibleName("Text around the chosen cell")
        self.editor.setAccessibleDescription("A click chooses the cell of a token.")
        self.editor.character_chosen.connect(self._on_character_chosen)
        self.type_instead = QPushButton("Type a text instead")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addWidget(self.editor, 1)
        foot = QHBoxLayout()
        foot.addWidget(self.note, 1)
        foot.addWidget(self.type_instead, alignment=Qt.AlignmentFlag.AlignBottom)
        layout.addLayout(foot)
        session.result_changed.connect(self._show_result)
        session.cell_changed.connect(self._show_cell)
        # Another part of the text is decoded and laid out once the grid and the curves of a jump are painted.
        self._after_painting = QTimer(self, singleShot=True, interval=0)
        self._after_painting.timeout.connect(self._show)
        self._show_result(session.result)

    @Slot(object)
    def _show_result(self, _: Result | None) -> None:
        if self.editor.isVisible():
            self._after_painting.start()
        else:
            self._show()

    @Slot(object)
    def _show_cell(self, _: Cell | None) -> None:
        self._show()

    def _show(self) -> None:
        result, config = self._session.result, self._session.config
        named = config.token_ids_file or config.text_file
        if result is None or (result.config.token_ids_file or result.config.text_file) != named:
            self._say("Reading the file …" if named else _without_file(config))
            return
        ids, encoding = result.material.ids, result.config.tokenizer.encoding
        trouble = result.material.trouble
        if not named:
            self._say(_without_file(config))
        elif ids is None and trouble is not None:
            self._say_trouble(trouble)
        elif ids is None or result.tokens is not None:
            self._say("There is nothing to show of this file: the diagnosis says why.")
        elif not passage.is_decodable(encoding):
            self._say(f"{_about(result)}\nNo tokenizer is known, so there is no text to show.")
        else:
            self._show_passage(result)

    def _say(self, words: str, tool_tip: str = "") -> None:
        self._of = None
        self.editor.hide()
        self.note.setText(words)
        self.note.setToolTip(tool_tip)

    def _say_trouble(self, trouble: FileTrouble) -> None:
        """Say that a file cannot be read: its name in the line, where it is in the tool tip."""
        self._say(f"{PurePath(trouble.path).name} {trouble.reason}.", trouble.path)

    def _show_passage(self, result: Result) -> None:
        ids = result.material.ids
        assert ids is not None
        token = chosen_token(result.grid, self._session.cell) or 0
        known = self._passage
        near = known.first + _KEPT_AROUND <= token < known.last - _KEPT_AROUND or (
            known.first == 0 <= token < known.last
        )
        moved = self._of is not ids or not near
        if moved:
            try:
                self._passage = passage.around(ids, token, result.config.tokenizer.encoding)
            except FileTrouble as trouble:
                self._say_trouble(trouble)
                return
            self._of = ids
            self.editor.set_text(self._passage.text)
        self.editor.show()
        marks = passage_marks(self.editor, self._passage, result.grid, token, theme.colors(self.palette()))
        self.editor.set_washes(marks.washes)
        self.editor.set_marks(marks.muted)
        start, end = self._passage.span(token)
        self.editor.reveal(start, end)
        shown = (
            f"Shown is the text around the chosen cell: tokens {self._passage.first:,} to {self._passage.last - 1:,}."
        )
        self.note.setText(f"{_about(result)} {shown}")
        self.note.setToolTip("")

    @Slot(object)
    def _on_character_chosen(self, character: int) -> None:
        if self._passage.ends:
            self._session.choose_token(self._passage.token_at(character))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if theme.repaints_on(event):
            self._show()


def _without_file(config: InputConfig) -> str:
    ids = config.token_ids is not None
    return "This inspection holds token IDs in place of a text." if ids else "Reading the text …"


def _about(result: Result) -> str:
    """Return where the IDs come from: the file, and how their dtype was found or how long the text is."""
    found, text = result.material.id_file, result.material.tokens
    if found is not None:
        return f"{found.path.name}: {found.reason}."
    if text is None or isinstance(text, Tokens):
        return ""
    done = "" if text.complete else f", {text.bytes_done / text.bytes_total:.0%} of it encoded so far"
    return f"{text.path.name}: a text of {text.bytes_total:,} bytes, too long to edit{done}."
