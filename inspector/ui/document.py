"""The file behind what is inspected: opening, saving, and whether it was changed since."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QObject, Signal, Slot

from inspector.config import InputConfig
from inspector.ui.jobs import Lane

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.ui.session import Session

INSPECTION_SUFFIXES = (".json", ".toml")
LARGEST_TEXT = 64 * 2**20  # bytes; a text to look at is far smaller

_NO_IDS = {"text_file": None, "token_ids": None, "token_ids_file": None}


class Opened(NamedTuple):
    """What was in a file: an inspection or a text, and what is to be said about it."""

    path: Path
    content: InputConfig | str
    notice: str = ""


class NotOpened(Exception):
    """A file could not be read; the words name it and say what is wrong."""


class Document(QObject):
    """Reads files in the background and puts them into the session, and writes the session's inspection.

    Signals:
        changed(object): the name to show, or whether there are unsaved changes, is another: this `Document`.
    """

    changed = Signal(object)

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._path: Path | None = None  # the inspection file that Save writes
        self._name = ""
        self._saved = session.config
        self._opened_at = 0
        self._lane = Lane("opening", self)
        self._lane.done.connect(self._on_read)
        self._lane.failed.connect(self._on_failed)
        session.config_changed.connect(self._on_config_changed)
        session.undo_stack.indexChanged.connect(self._on_undo_index_changed)

    @property
    def path(self) -> Path | None:
        """The inspection file that Save writes; None asks for one."""
        return self._path

    @property
    def name(self) -> str:
        """The name of the file that was opened or saved last, or ""."""
        return self._name

    @property
    def is_modified(self) -> bool:
        """Whether there is something to save."""
        return self._session.config != self._saved

    def open(self, paths: Sequence[Path]) -> None:
        """Open files in turn: an inspection replaces what is inspected, any other file its text; undoable."""
        wanted = list(paths)
        self._lane.submit(lambda _: [read(path) for path in wanted])

    def save(self, path: Path) -> None:
        """Write the inspection; what does not work is said in the session's notice."""
        from inspector import inspection_file  # with its parsers, needed only now

        try:
            inspection_file.write(self._session.config, path)
        except OSError as error:
            self._session.set_notice(f"{path.name} cannot be written: {error.strerror or error}.")
            return
        except inspection_file.InspectionFileError as error:
            self._session.set_notice(f"{path.name} cannot be written: {error}.")
            return
        self._session.set_notice("")
        self._take(path, path.name)

    def close(self) -> None:
        """Stop reading."""
        self._lane.close()

    def _take(self, path: Path | None, name: str) -> None:
        self._path, self._name, self._saved = path, name, self._session.config
        self._opened_at = self._session.undo_stack.index()
        self.changed.emit(self)

    @Slot(object)
    def _on_read(self, outcome: object) -> None:
        for opened in outcome:  # type: ignore[attr-defined]
            path, content, notice = opened
            if isinstance(content, str):
                config = self._session.config.with_values({**_NO_IDS, "text": content})
            else:
                config = content
            self._session.replace_config(config, f"open {path.name}")
            self._session.set_notice(notice)
            self._take(path if content is config else None, path.name)

    @Slot(object)
    def _on_failed(self, error: object) -> None:
        self._session.set_notice(str(error))

    @Slot(object)
    def _on_config_changed(self, _: object) -> None:
        self.changed.emit(self)

    @Slot(int)
    def _on_undo_index_changed(self, index: int) -> None:
        """Forget the file when its opening is undone: Save must not write another inspection over it."""
        if index < self._opened_at:
            self._path, self._name, self._opened_at = None, "", 0
            self.changed.emit(self)


def read(path: Path) -> Opened:
    """Read an inspection file, or any other file as a text in UTF-8, its line ends as they are.

    Raises:
        NotOpened: it cannot be read, or is no inspection.
    """
    try:
        if path.suffix.lower() in INSPECTION_SUFFIXES:
            from inspector import inspection_file  # with its parsers, needed only now

            try:
                return Opened(path, inspection_file.read(path))
            except inspection_file.InspectionFileError as error:
                raise NotOpened(_naming(path, str(error))) from error
        if path.stat().st_size > LARGEST_TEXT:
            raise NotOpened(f"{path.name} holds more than {LARGEST_TEXT // 2**20} MiB, too much text to look at.")
        data = path.read_bytes()
    except OSError as error:
        raise NotOpened(f"{path.name} cannot be read: {error.strerror or error}.") from error
    text = data.decode(errors="replace")
    replaced = text.count("\ufffd") - data.count(b"\xef\xbf\xbd")
    if not replaced:
        return Opened(path, text)
    were = "1 place was" if replaced == 1 else f"{replaced:,} places were"
    return Opened(path, text, f"{path.name} is not all UTF-8 text: {were} replaced by U+FFFD.")


def _naming(path: Path, words: str) -> str:
    """Return the words, beginning with the file's name unless they hold it."""
    words = words if path.name in words else f"{path.name}: {words}"
    return words if words.endswith(".") else f"{words}."
