"""Encodes a large text to its end in the background, while what there is of it is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QElapsedTimer, QObject, Signal, Slot

from inspector import tokenizer
from inspector.ui.jobs import Job, Lane

if TYPE_CHECKING:
    from inspector.files.text_files import TextStore
    from inspector.material import Material

GROWN_MS = 500  # between two verdicts on a text that grows


class TextEncoding(QObject):
    """One text at a time; a text that is no longer looked at is let go of.

    Signals:
        grown(object): there are more IDs than when this was last said, or all: the `TextStore`.
        failed(object): the exception that encoding ended with.
        changed(object): `words` are others: this `TextEncoding`.
    """

    grown = Signal(object)
    failed = Signal(object)
    changed = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._text: TextStore | None = None
        self._left: list[TextStore] = []
        self._part = 0.0
        self._since = QElapsedTimer()
        self._lane = Lane("encoding", self)
        self._lane.progressed.connect(self._on_progressed)
        self._lane.done.connect(self._on_done)
        self._lane.failed.connect(self.failed)

    @property
    def busy(self) -> bool:
        """Whether a text is being encoded."""
        return self._lane.busy and self._text is not None

    @property
    def words(self) -> str:
        """How far it is, or ""."""
        if self._text is None or not self.busy:
            return ""
        return f"Encoding {self._text.path.name} … {self._part:.0%}   Esc stops"

    def follow(self, material: Material | None) -> None:
        """Encode the rest of the text that is looked at now, if it is one that is encoded piece by piece."""
        tokens = None if material is None else material.tokens
        text = None if tokens is None or isinstance(tokens, tokenizer.Tokens) else tokens
        if text is self._text:
            return
        self._lane.cancel()
        if self._text is not None:
            self._left.append(self._text)
        self._text = text
        if text is not None and not text.complete:
            self.go_on()
        else:
            if self._left:
                self._lane.submit(self._let_go)
            self.changed.emit(self)

    def go_on(self) -> None:
        """Encode what is not encoded yet."""
        text = self._text
        if text is None or text.complete or self._lane.busy:
            return
        self._part = text.bytes_done / text.bytes_total
        self._since.start()

        def work(job: Job) -> TextStore:
            self._let_go(job)
            text.encode(job.progress, job.cancelled)
            return text

        self._lane.submit(work)
        self.changed.emit(self)

    def stop(self) -> bool:
        """Stop where the text is encoded to, and return whether there was anything to stop."""
        was_busy = self.busy
        if was_busy:
            self._lane.cancel()
            self.changed.emit(self)
        return was_busy

    def close(self) -> None:
        """Stop, and let go of the texts."""
        self._lane.close()
        if self._text is not None:
            self._left.append(self._text)
            self._text = None
        self._let_go()

    def _let_go(self, _: Job | None = None) -> None:
        """Close what is no longer looked at: in the lane, where nothing encodes it any more."""
        while self._left:
            self._left.pop().close()

    @Slot(object)
    def _on_progressed(self, part: float) -> None:
        self._part = part
        self.changed.emit(self)
        if self._since.elapsed() >= GROWN_MS:
            self._since.start()
            self.grown.emit(self._text)

    @Slot(object)
    def _on_done(self, text: TextStore | None) -> None:
        self.changed.emit(self)
        if text is not None:
            self.grown.emit(text)
