"""The layers and the loader as Python writes them, every argument a field."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from inspector.config import PositionEmbeddingConfig, SegmentEmbeddingConfig
from inspector.diagnosis import SEVERITY_ORDER, Severity
from inspector.ui import marks as marks_of
from inspector.ui import theme
from inspector.ui.arguments import ARGUMENTS, CHOICES, DTYPES, MODELS_OWN, MORE_LINES, SWITCHES, is_of_layers
from inspector.ui.fields import CheckField, ChoiceField, Mark, Tinted
from inspector.ui.number_field import NumberField
from inspector.ui.panel import Muted, Panel
from inspector.ui.table_choices import TableChoices

if TYPE_CHECKING:
    from PySide6.QtGui import QResizeEvent

    from inspector.ui.session import Session

LAYER_COLORS = {"tok_emb": "token", "pos_emb": "position"}

Field = NumberField | ChoiceField | CheckField


class LayersPanel(Panel):
    """The arguments of the two constructors and of the loader; the less usual ones are folded away."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__("Layers", parent)
        self._session = session
        self._fields: dict[str, Field] = {}
        self._more: QWidget | None = None
        self.folded: MoreArea | None = None  # what the folded lines scroll in
        self.tables: TableChoices | None = None  # which tensors of a checkpoint; among the folded lines
        self.live_note = Muted()  # how the layers of a live model were found; among the folded lines
        self._tables: dict[str, Any] = {
            "position_embedding": PositionEmbeddingConfig(),
            "segment_embedding": SegmentEmbeddingConfig(),
        }
        self.complaint = Tinted("", "fault")
        self.header.insertWidget(1, self.complaint)
        self.header.removeWidget(self.info)
        self.info.deleteLater()
        self.more_button = QPushButton("More")
        self.more_button.setCheckable(True)
        self.more_button.setToolTip(
            "Show every argument: padding_idx, max_norm, dtype, offset, seeds, segment table, tables"
        )
        self.more_button.setFixedWidth(self.more_button.fontMetrics().horizontalAdvance("▲ More") + 24)
        self.more_button.toggled.connect(self._on_more_toggled)
        self.more_button.clicked.connect(self._on_more_clicked)
        self._unfolded_for_mark = False  # by a chosen diagnosis, not by the person
        self.header.addWidget(Muted("embedding dim"))
        self.header.addWidget(self._number("embedding_dim"))
        self.header.addWidget(self.more_button)
        self.body.addLayout(self._layer_line("tok_emb", "token_embedding", "v&ocab_size", "ou&tput_dim"))
        self.body.addLayout(self._layer_line("pos_emb", "position_embedding", "&context_length", "out&put_dim"))
        self.body.addLayout(self._loader_line())
        self.first_stop = self._fields["token_embedding.num_embeddings"]
        session.config_changed.connect(self._on_config_changed)
        session.result_changed.connect(self._on_result_changed)
        session.diagnosis_changed.connect(self._on_verdict_changed)
        self._show_config()
        self._show_marks()

    def field(self, name: str) -> Field:
        """Return the field of an argument, by its dotted name; the folded ones are made when first asked for."""
        if name not in self._fields:
            self._make_more()
        return self._fields[name]

    # ---- lines of code -------------------------------------------------------------------------------------------

    def _layer_line(self, name: str, layer: str, rows: str, width: str) -> QHBoxLayout:
        rows_field, width_field = self._number(f"{layer}.num_embeddings"), self._number(f"{layer}.embedding_dim")
        names = [_buddy(Muted(f"{rows},"), rows_field), _buddy(Muted(width), width_field)]
        line = _line(_word(name), "= nn.Embedding(", rows_field, ",", width_field, ")", 10, *names)
        line.addStretch(1)
        return line

    def _loader_line(self) -> QHBoxLayout:
        parts: list[QWidget | str | int] = ["loader ", "= DataLoader("]
        for name, label in (("batch_size", "&batch_size="), ("max_length", "&max_length="), ("stride", "st&ride=")):
            field = self._number(f"loader.{name}")
            parts += [_buddy(QLabel(label), field), field]
        parts += [self._make("loader.shuffle"), self._make("loader.drop_last"), ")"]
        line = _line(*parts)
        line.addStretch(1)
        return line

    def _make_more(self) -> None:
        """Make the folded lines: not at the start, which they would slow down."""
        if self._more is not None:
            return
        self._more = QWidget()
        lines = QVBoxLayout(self._more)
        lines.setContentsMargins(0, 2, 0, 0)
        lines.setSpacing(self.body.spacing())
        for words in MORE_LINES:
            parts = [part.strip() for part in re.split(r"({.+?}|\w+_emb)", words) if part.strip()]
            line = _line(*(self._make(part[1:-1]) if part.startswith("{") else _word(part) for part in parts))
            line.addStretch(1)
            lines.addLayout(line)
        self.tables = TableChoices(self._session, self._more)
        lines.addWidget(self.tables)
        self.live_note.setWordWrap(True)
        self.live_note.setTextFormat(Qt.TextFormat.PlainText)
        lines.addWidget(self.live_note)
        self._show_live()
        self.folded = MoreArea(self._more)
        self.folded.hide()
        self.body.addWidget(self.folded)
        self._show_config()
        self._show_marks()

    def _make(self, name: str) -> Field:
        if name in ARGUMENTS:
            return self._number(name)
        return self._choice(name) if name in CHOICES else self._switch(name)

    def _number(self, name: str) -> NumberField:
        argument = ARGUMENTS[name]
        field = NumberField(
            optional=argument.optional,
            whole=argument.whole,
            least=argument.least,
            bounds=argument.bounds,
            digits=argument.digits,
        )
        field.setAccessibleName(argument.label)
        field.set_hint(f"{argument.hint}\nLegal: {argument.legal}.")
        field.value_changed.connect(partial(self._session.set_value, name))
        field.complaint_changed.connect(self._on_complaint_changed)
        field.editingFinished.connect(self._session.finish_edit)
        field.undo_wanted.connect(self._on_undo_wanted)
        field.redo_wanted.connect(self._on_redo_wanted)
        self._fields[name] = field
        return field

    def _choice(self, name: str) -> ChoiceField:
        field = ChoiceField(DTYPES)
        label, hint = CHOICES[name]
        field.setAccessibleName(label)
        field.set_hint(hint)
        field.textActivated.connect(partial(self._set_at_once, name))
        self._fields[name] = field
        return field

    def _switch(self, name: str) -> CheckField:
        text, hint = SWITCHES[name]
        field = CheckField(text)
        field.setAccessibleName(text.replace("&", ""))
        field.set_hint(hint)
        field.switched.connect(partial(self._on_switched, name))
        self._fields[name] = field
        return field

    # ---- gestures ------------------------------------------------------------------------------------------------

    def _set_at_once(self, name: str, value: Any) -> None:
        self._session.finish_edit()
        self._session.set_value(name, value)
        self._session.finish_edit()

    def _on_switched(self, name: str, on: object) -> None:
        self._set_at_once(name, (self._tables[name] if on else None) if name in self._tables else on)
        self._show_config()  # also where that changes nothing: a checkpoint may have no such table

    @Slot()
    def _on_undo_wanted(self) -> None:
        self._session.undo_stack.undo()
        self._session.finish_edit()

    @Slot()
    def _on_redo_wanted(self) -> None:
        self._session.undo_stack.redo()
        self._session.finish_edit()

    @Slot(object)
    def _on_complaint_changed(self, _: object) -> None:
        complaints = [f.complaint for f in self._fields.values() if isinstance(f, NumberField) and f.complaint]
        self.complaint.setText(f"▲ {complaints[0]}" if complaints else "")

    @Slot(bool)
    def _on_more_clicked(self, _: bool) -> None:
        self._unfolded_for_mark = False

    @Slot(bool)
    def _on_more_toggled(self, on: bool) -> None:
        if on:
            self._make_more()
        if self.folded is not None:
            self.folded.setVisible(on)
        self._show_marks()

    @Slot(object)
    def _on_config_changed(self, _: object) -> None:
        self._show_config()

    @Slot(object)
    def _on_result_changed(self, _: object) -> None:
        if self._session.config.checkpoint is not None:
            self._show_config()  # its sizes are known by now
        self._show_live()
        self._show_marks()

    @Slot(object)
    def _on_verdict_changed(self, _: object) -> None:
        self._show_marks()

    # ---- what is shown -------------------------------------------------------------------------------------------

    def _show_config(self) -> None:
        config = self._session.sizes
        for name in self._tables:
            self._tables[name] = getattr(self._session.config, name) or self._tables[name]
        for name, field in self._fields.items():
            value = config.value(name)
            if isinstance(field, NumberField):
                field.set_value(value)
            elif isinstance(field, ChoiceField):
                field.setCurrentText(value or DTYPES[0])
            else:
                field.setChecked(value is not None and value is not False)
            section, _, inner = name.partition(".")
            if inner and section in self._tables:
                is_there = getattr(config, section) is not None
                field.setEnabled(is_there and (isinstance(field, NumberField) or not field.fixed))

    def _show_live(self) -> None:
        result = self._session.result
        live = result.material.live if result is not None else None
        freed = False
        for name, field in self._fields.items():
            if is_of_layers(name):
                was_fixed = field.fixed
                field.set_fixed("" if live is None else MODELS_OWN)
                freed = freed or bool(was_fixed and not field.fixed)
        if freed:
            self._show_config()  # not the fields of a table that there is none of
        if self._more is not None:  # on its own, a label that is shown is a window
            self.live_note.setText("" if live is None else " ".join(filter(None, (live.how, *live.notes))))
            self.live_note.setHidden(not self.live_note.text())

    def _show_marks(self) -> None:
        """Mark what the diagnoses name: errors and warnings always, notes only while they are chosen."""
        marks: dict[str, Mark] = {}
        result, chosen = self._session.result, self._session.diagnosis
        diagnoses = result.diagnoses if result else ()
        for diagnosis in sorted(diagnoses, key=lambda d: (d != chosen, SEVERITY_ORDER[d.severity])):
            if diagnosis.severity is not Severity.NOTE or diagnosis == chosen:
                for name in diagnosis.fields:
                    marks.setdefault(name, Mark(diagnosis.severity, marks_of.message(diagnosis), diagnosis == chosen))
        folded = self._more is None or not self._more.isVisibleTo(self)
        wanted = any(m.chosen and self._is_folded(name) for name, m in marks.items())
        if folded and wanted:
            self._unfolded_for_mark = True
            self.more_button.setChecked(True)  # shows the marks again
            return
        if self._unfolded_for_mark and not folded and not wanted:
            self._unfolded_for_mark = False
            if not self._is_working_in_more():
                self.more_button.setChecked(False)
                return
        for name, field in self._fields.items():
            field.set_mark(marks.get(name))
        hidden = [m for name, m in marks.items() if folded and self._is_folded(name)]
        self.more_button.setText("▲ More" if hidden else "More")

    def _is_working_in_more(self) -> bool:
        focused = QApplication.focusWidget()
        return self._more is not None and focused is not None and self._more.isAncestorOf(focused)

    def _is_folded(self, name: str) -> bool:
        argument = name in ARGUMENTS or name in SWITCHES or name in CHOICES
        made = self._fields.get(name)
        return argument and (made is None or (self._more is not None and self._more.isAncestorOf(made)))


class MoreArea(QScrollArea):
    """The folded lines, which are scrolled for where the window is too low for them and the plots.

    Signals: those of every scroll area.
    """

    def __init__(self, lines: QWidget) -> None:
        super().__init__()
        self._lines = lines
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setWidgetResizable(True)
        self.setWidget(lines)
        lines.setAutoFillBackground(False)
        self.viewport().setAutoFillBackground(False)

    def sizeHint(self) -> QSize:
        lines = self._lines
        height = lines.heightForWidth(self.width()) if lines.hasHeightForWidth() else lines.sizeHint().height()
        return QSize(lines.minimumSizeHint().width(), height)

    def minimumSizeHint(self) -> QSize:
        # Two lines, so that one sees that there are more.
        return QSize(self.sizeHint().width(), min(self.sizeHint().height(), 2 * (self.fontMetrics().height() + 12)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()


def _line(*parts: QWidget | str | int) -> QHBoxLayout:
    """Return a line of code: words in the fixed-width face, fields, and gaps of so many pixels."""
    line = QHBoxLayout()
    line.setSpacing(4)
    for part in parts:
        if isinstance(part, int):
            line.addSpacing(part)
            continue
        widget = QLabel(part) if isinstance(part, str) else part
        if isinstance(widget, QLabel) and not isinstance(widget, Muted):
            widget.setFont(theme.mono_font(-0.5))
        line.addWidget(widget)
    return line


def _word(text: str) -> QLabel:
    """Return a word of code: a layer's name in the colour of its curve."""
    return Tinted(text, LAYER_COLORS[text]) if text in LAYER_COLORS else QLabel(text)


def _buddy(label: QLabel, field: QWidget) -> QLabel:
    """Let the label's mnemonic lead to the field."""
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setBuddy(field)
    return label
