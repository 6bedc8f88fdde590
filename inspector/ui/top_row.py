"""The row above the panels: the file, the sizes to begin with, the tokenizer, and what the layers are made of."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QPushButton, QSizePolicy, QWidget

from inspector import tokenizer
from inspector.presets import PRESETS
from inspector.ui import row_words
from inspector.ui.panel import Muted

if TYPE_CHECKING:
    from PySide6.QtGui import QAction

    from inspector.config import InputConfig
    from inspector.result import Result
    from inspector.ui.session import Session

_FACTS_WIDTH = 420  # pixels; a file may have a long name

SPECIAL_TOKENS = {
    "plain": "<|endoftext|> is plain text",
    "special": "<|endoftext|> is one token",
    "refuse": "<|endoftext|> is refused",
}
OTHER_SPECIAL_TOKENS = {
    "plain": "special tokens are plain text",
    "special": "special tokens are tokens",
    "refuse": "special tokens are refused",
}
NO_TOKENIZER = "no tokenizer"
_NAME_WIDTH = 120  # pixels, of a tokenizer's file


class TopRow(QWidget):
    """Buttons for two of the window's actions, the session's preset and tokenizer, and its facts in a line."""

    def __init__(self, session: Session, open_file: QAction, save: QAction, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.open_button = QPushButton("Open…")
        self.open_button.setToolTip("Open an inspection, a text, a checkpoint, token IDs or a tokenizer (Ctrl+O)")
        self.open_button.clicked.connect(open_file.trigger)
        self.save_button = QPushButton("Save")
        self.save_button.setToolTip("Save this inspection (Ctrl+S)")
        self.save_button.clicked.connect(save.trigger)
        self.presets = QComboBox()
        self.presets.setAccessibleName("Preset")
        self.presets.setToolTip("Well-known sizes of the two layers")
        self.presets.setPlaceholderText("Sizes of your own")
        self.presets.addItems([preset.name for preset in PRESETS])
        self.presets.activated.connect(self._on_preset)
        self.tokenizer = QComboBox()
        self.tokenizer.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.tokenizer.setAccessibleName("Tokenizer, and what becomes of the text of its special token")
        self._encoding: str | None = ""  # which tokenizer the choices name; "" none yet
        self.tokenizer.activated.connect(self._on_tokenizer)
        self.busy = Muted()
        self.busy.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.busy.setSizePolicy(
            QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred
        )  # coming and going moves nothing
        self.facts = Muted()
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        for widget in (self.open_button, self.save_button, self.presets, self.tokenizer):
            layout.addWidget(widget)
        layout.addWidget(self.busy, 1)
        layout.addSpacing(16)
        layout.addWidget(self.facts)
        session.config_changed.connect(self._show_config)
        session.result_changed.connect(self._show_result)
        session.busy_changed.connect(self._show_busy)
        self._show_config(session.config)
        if session.result is not None:
            self._show_result(session.result)

    @Slot(object)
    def _show_config(self, config: InputConfig) -> None:
        sizes = self._session.sizes
        unknown = {"embedding_dim"} if sizes.embedding_dim is None else set()
        fitting = [p for p in PRESETS if all(sizes.value(n) == v for n, v in p.values.items() if n not in unknown)]
        self.presets.setCurrentIndex(PRESETS.index(fitting[0]) if fitting else -1)
        self._show_tokenizer()
        if self._session.result is None:
            self._show_origin(f"seed {config.seed}")

    def _show_tokenizer(self) -> None:
        config, result = self._session.config, self._session.result
        encoding = config.tokenizer.encoding
        if result is not None and not config.is_stated("tokenizer.encoding"):
            encoding = result.config.tokenizer.encoding  # the one beside a checkpoint
        if encoding != self._encoding:
            self._encoding = encoding
            self._name_tokenizer(encoding)
        chosen = -1 if encoding is None else self.tokenizer.findData(config.tokenizer.special_tokens)
        self.tokenizer.setCurrentIndex(chosen)

    def _name_tokenizer(self, encoding: str | None) -> None:
        """Offer what can become of special tokens' text, under the name of the tokenizer that is in use."""
        name, words = PurePath(encoding or "").name, OTHER_SPECIAL_TOKENS
        if encoding in tokenizer.AVAILABLE:
            words = SPECIAL_TOKENS
        name = self.tokenizer.fontMetrics().elidedText(name, Qt.TextElideMode.ElideMiddle, _NAME_WIDTH)
        self.tokenizer.clear()
        self.tokenizer.setPlaceholderText(NO_TOKENIZER)
        self.tokenizer.setEnabled(encoding is not None)
        if encoding is None:
            self.tokenizer.setToolTip("The IDs do not say which tokenizer made them")
            return
        for value, meaning in words.items():
            self.tokenizer.addItem(f"{name}, {meaning}", value)
        special = "<|endoftext|>" if words is SPECIAL_TOKENS else "of a special token"
        where = f"{encoding}\n" if name != encoding else ""
        self.tokenizer.setToolTip(f"{where}What becomes of the text {special}")

    @Slot(object)
    def _show_result(self, result: Result) -> None:
        if result.material.checkpoint is not None:
            self._show_config(self._session.config)  # the sizes are the file's
        self._show_tokenizer()
        live = result.material.live
        about = () if live is None else tuple(filter(None, (live.how, *live.notes)))
        self._show_origin(row_words.origin(result), about)

    def _show_origin(self, words: str, about: tuple[str, ...] = ()) -> None:
        self.facts.setText(self.facts.fontMetrics().elidedText(words, Qt.TextElideMode.ElideMiddle, _FACTS_WIDTH))
        self.facts.setToolTip("\n".join((words, *about)))

    @Slot(object)
    def _show_busy(self, words: str) -> None:
        self.busy.setText(words)

    @Slot(int)
    def _on_preset(self, index: int) -> None:
        self._session.set_values(PRESETS[index].values, f"preset {PRESETS[index].name}", is_another=True)

    @Slot(int)
    def _on_tokenizer(self, index: int) -> None:
        self._session.set_values(
            {"tokenizer.special_tokens": self.tokenizer.itemData(index)}, "change of the special token"
        )
