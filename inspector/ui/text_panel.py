"""The text, editable, with the chosen token and the shown batch marked in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Slot
from PySide6.QtGui import QUndoCommand, QUndoStack
from PySide6.QtWidgets import QStackedWidget, QWidget

from inspector.ui import theme
from inspector.ui.panel import Muted, Panel
from inspector.ui.passage_page import PassagePage
from inspector.ui.text_editor import Edit
from inspector.ui.text_marks import BatchMarks, batch_marks, chosen_mark, chosen_token
from inspector.ui.washed_editor import WashedEditor

if TYPE_CHECKING:
    from inspector.config import InputConfig
    from inspector.diagnosis import Cell
    from inspector.result import Result
    from inspector.ui.session import Session

# What Qt's editor shows and edits well within a frame (measured); a longer text is shown in part.
WHOLE_CHARACTERS = 100_000
WHOLE_LINES = 5_000
WHOLE_LINE_CHARACTERS = 4_000
EXCERPT_CHARACTERS = 3_000
LONGEST_EXCERPT_CHARACTERS = 6_000  # by typing into it

_UNDO_LIMIT = 1_000


class TextPanel(Panel):
    """Edits the session's text.

    `undo_stack` undoes what was typed here: Qt's own undo knows neither the true characters nor excerpts.
    """

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__("Text", parent)
        self._session = session
        self._text = ""  # the whole text as it was shown last
        self._first = 0  # the character of it that the editor begins with
        self._edit: tuple[Edit, bool] | None = None  # what the session is being told; whether the editor has it already
        self._awaiting = False  # whether the verdict on such an edit is still to come
        self._choosing = False  # whether a token is being chosen here
        self._batch_marks: BatchMarks | None = None  # None: to be made anew
        self._seen: int | None = None  # the chosen token that was brought into view last
        self.undo_stack = QUndoStack(self)
        self.undo_stack.setUndoLimit(_UNDO_LIMIT)
        self.editor = WashedEditor()
        self.editor.setAccessibleName("Text")
        self.editor.setAccessibleDescription("The text that becomes token IDs. A click chooses the cell of a token.")
        self.editor.setPlaceholderText("Type or paste a text: its token IDs appear as you type.")
        self._excerpt_note = Muted()
        self._excerpt_note.setWordWrap(True)
        self._excerpt_note.hide()
        self.passage_page = PassagePage(session)
        self._pages = QStackedWidget()
        self._pages.addWidget(self.editor)
        self._pages.addWidget(self.passage_page)
        self.body.addWidget(self._pages, 1)
        self.body.addWidget(self._excerpt_note)
        self.editor.typed.connect(self._on_typed)
        self.editor.pasted.connect(self._on_pasted)
        self.editor.character_chosen.connect(self._on_character_chosen)
        self.passage_page.type_instead.clicked.connect(self._on_type_instead)
        session.config_changed.connect(self._show_config)
        session.result_changed.connect(self._show_result)
        session.cell_changed.connect(self._show_cell)
        self._show_config(session.config)

    # ---- the text ------------------------------------------------------------------------------------------------

    @property
    def _last(self) -> int:
        """The character of the text behind the last one in the editor."""
        return self._first + len(self.editor.text)

    @Slot(object)
    def _show_config(self, config: InputConfig) -> None:
        found = self._text_of(config)
        self._pages.setCurrentIndex(0 if found is not None else 1)
        self.first_stop = self.editor if found is not None else self.passage_page.type_instead
        text = found or ""
        if text != self._text:
            self._text = text
            if self._edit is not None:
                self._show_edit(*self._edit)
            else:  # another text altogether
                self.undo_stack.clear()
                self._seen = None
                self._show_around(0)
        self._show_counts()

    def _text_of(self, config: InputConfig) -> str | None:
        """Return the text that can be edited: the inspection's own, or a short file's once it is read."""
        if config.text is not None or config.token_ids is not None or config.token_ids_file is not None:
            return config.text
        result = self._session.result
        if result is None or result.tokens is None:
            return None
        read_for = result.config
        return result.tokens.text if (read_for.text, read_for.text_file) == (None, config.text_file) else None

    def _show_edit(self, edit: Edit, in_editor: bool) -> None:
        """Show the text after an edit of the person's, moving what is shown only where it must."""
        local = edit.start - self._first
        inside = in_editor or (local >= 0 and local + len(edit.old) <= len(self.editor.text))
        length = len(self.editor.text) + (0 if in_editor else len(edit.new) - len(edit.old))
        if _is_short(self._text):
            stays = inside and length == len(self._text)
        else:
            stays = inside and 0 < length <= LONGEST_EXCERPT_CHARACTERS
        if not stays:
            self._show_around(edit.start + len(edit.new))
        elif not in_editor:
            self.editor.apply(edit._replace(start=local))

    def _show_around(self, character: int) -> None:
        """Show the text, or where that is too long a part of it, with the caret before a character."""
        if _is_short(self._text):
            self._first, shown = 0, self._text
        else:
            last_start = max(0, len(self._text) - EXCERPT_CHARACTERS)
            self._first = min(max(0, character - EXCERPT_CHARACTERS // 2), last_start)
            shown = self._text[self._first : self._first + EXCERPT_CHARACTERS]
        self.editor.set_text(shown, character - self._first)
        self._batch_marks = None

    def _show_counts(self) -> None:
        result, text = self._session.result, self._text
        if self._pages.currentIndex():
            known = result.material.ids if result is not None else None
            self.info.setText("" if known is None else _counted(len(known), "token ID"))
        else:
            ids = "… token IDs"
            if result is not None and result.tokens is not None and self._is_about_this_text(result):
                ids = _counted(len(result.tokens.ids), "token ID")
            self.info.setText(f"{_counted(len(text), 'character')} · {ids}")
        whole = len(self.editor.text) == len(text)
        self._excerpt_note.setHidden(whole)
        if not whole:
            self._excerpt_note.setText(
                f"Showing characters {self._first:,} to {self._last - 1:,} of {len(text):,}. "
                "Choosing a cell shows the text around it."
            )

    # ---- gestures ------------------------------------------------------------------------------------------------

    @Slot(object)
    def _on_typed(self, edit: Edit) -> None:
        self.undo_stack.push(_Typing(self, edit._replace(start=self._first + edit.start), in_editor=True))

    @Slot(object)
    def _on_pasted(self, edit: Edit) -> None:
        self.undo_stack.push(_Typing(self, edit._replace(start=self._first + edit.start), in_editor=False))

    def tell(self, edit: Edit, *, in_editor: bool) -> None:
        """Tell the session of an edit, counted in the whole text, that the editor has already or is to get."""
        self._awaiting = True
        self._edit = edit, in_editor
        self._session.replace_text(edit.start, edit.start + len(edit.old), edit.new)
        self._edit = None

    @Slot(object)
    def _on_character_chosen(self, character: int) -> None:
        result = self._session.result
        if result is None or result.tokens is None or not self._is_about_this_text(result):
            return
        token = result.tokens.token_at(self._first + character)
        if token is not None:
            self._choosing = True
            self._session.choose_token(token)
            self._choosing = False

    @Slot()
    def _on_type_instead(self) -> None:
        no_ids = {"token_ids": None, "token_ids_file": None, "text_file": None, "text": ""}
        self._session.replace_config(self._session.config.with_values(no_ids), "type a text")
        self.editor.setFocus()

    # ---- marks ---------------------------------------------------------------------------------------------------

    def _is_about_this_text(self, result: Result) -> bool:
        if result.tokens is None:
            return False
        return (result.tokens.text if result.config.text is None else result.config.text) == self._text

    @Slot(object)
    def _show_result(self, result: Result) -> None:
        if self._session.config.text is None:
            self._show_config(self._session.config)  # a file has been read by now
        typing = self._awaiting
        self._batch_marks = None
        if self._is_about_this_text(result):
            self._awaiting = False
        self._show_counts()
        self._show_choice(follow=not typing)

    @Slot(object)
    def _show_cell(self, _cell: Cell | None) -> None:
        self._show_choice(follow=not self._awaiting)

    def _show_choice(self, *, follow: bool) -> None:
        """Mark the batch and the chosen token; bring the token into view where it was chosen elsewhere."""
        result = self._session.result
        if result is None or not self._is_about_this_text(result):
            return  # the marks there are move with the text until its verdict comes
        chosen = chosen_token(result.grid, self._session.cell)
        if chosen != self._seen:
            self._seen = chosen
            if chosen is not None and follow and not self._choosing:
                self._bring_into_view(result, chosen)
        self._show_marks()

    def _bring_into_view(self, result: Result, token: int) -> None:
        assert result.tokens is not None
        start, end = result.tokens.span(token, token + 1)
        if self._first <= start and end <= self._last:
            self.editor.reveal(start - self._first, end - self._first)
        else:
            self._show_around(start)
            self._show_counts()

    def _show_marks(self) -> None:
        result = self._session.result
        if result is not None and self._is_about_this_text(result):
            colors = theme.colors(self.palette())
            if self._batch_marks is None:
                self._batch_marks = batch_marks(self.editor, self._first, result, colors)
                self.editor.set_washes(self._batch_marks.washes)
            chosen = chosen_token(result.grid, self._session.cell)
            over = [] if chosen is None else chosen_mark(self.editor, self._first, result, chosen, colors)
            self.editor.set_marks(self._batch_marks.muted + over)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if theme.repaints_on(event):
            self._batch_marks = None
            self._show_marks()


class _Typing(QUndoCommand):
    """An edit of the whole text. Letters typed one after the other are one step, up to the end of a line."""

    def __init__(self, panel: TextPanel, edit: Edit, *, in_editor: bool) -> None:
        super().__init__("typing")
        self._panel = panel
        self._edit = edit
        self._in_editor = in_editor
        self._typed = in_editor

    def redo(self) -> None:
        self._panel.tell(self._edit, in_editor=self._in_editor)
        self._in_editor = False

    def undo(self) -> None:
        start, old, new = self._edit
        self._panel.tell(Edit(start, new, old), in_editor=False)

    def id(self) -> int:
        return 1 if self._typed else -1  # Qt offers a command to the one before it when the numbers are equal

    def mergeWith(self, other: QUndoCommand) -> bool:
        if not isinstance(other, _Typing):
            return False
        (start, old, new), (next_start, next_old, next_new) = self._edit, other._edit
        if not next_old and next_start == start + len(new) and not new.endswith("\n"):
            self._edit = Edit(start, old, new + next_new)
        elif not new and not next_new and next_start + len(next_old) == start:
            self._edit = Edit(next_start, next_old + old, "")
        else:
            return False
        return True


def _is_short(text: str) -> bool:
    """Return whether Qt's editor keeps up with the whole of a text."""
    if len(text) > WHOLE_CHARACTERS:
        return False
    lines = text.split("\n")
    return len(lines) <= WHOLE_LINES and max(map(len, lines)) <= WHOLE_LINE_CHARACTERS


def _counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"
