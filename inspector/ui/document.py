"""The file behind what is inspected: opening, saving, and whether it was changed since."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from PySide6.QtCore import QObject, Signal, Slot

from inspector.material import LARGE_TEXT
from inspector.ui.jobs import Lane
from inspector.ui.steps import NO_SOURCE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from inspector.config import InputConfig
    from inspector.ui.session import Session


class Opened(NamedTuple):
    """What a file brings to an inspection, and what is to be said about it.

    `change` makes another inspection of the one there is. `is_whole` says that the file holds an inspection itself,
    which Save writes back into it; `names` that the window is called after the file.
    """

    path: Path
    change: Callable[[InputConfig], InputConfig]
    is_whole: bool = False
    names: bool = False
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
        self._inspection = session.inspection
        self._opened_at = 0
        self._lane = Lane("opening", self)
        self._lane.done.connect(self._on_read)
        self._lane.failed.connect(self._on_failed)
        session.config_changed.connect(self._on_config_changed)
        session.undo_stack.indexChanged.connect(self._on_undo_index_changed)

    @property
    def path(self) -> Path | None:
        """The inspection file that Save writes; None asks for one, also when another inspection took its place."""
        return self._path if self._inspection == self._session.inspection else None

    @property
    def name(self) -> str:
        """The name of the file that was opened or saved last; "" where it is not what is inspected now."""
        return "" if self._path is not None and self.path is None else self._name

    @property
    def is_modified(self) -> bool:
        """Whether there is something to save."""
        return self._session.config != self._saved

    def open(self, paths: Sequence[Path]) -> None:
        """Open files in turn, each a step that can be undone.

        An inspection replaces what is inspected; a checkpoint, a tokenizer, IDs or a text only that part of it. What
        cannot be read at all changes nothing and is a notice; what is broken is named by the inspection, and diagnosed.
        """
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
        self._inspection, self._opened_at = self._session.inspection, self._session.undo_stack.index()
        self.changed.emit(self)

    @Slot(object)
    def _on_read(self, outcome: object) -> None:
        for opened in outcome:  # type: ignore[attr-defined]
            self._session.replace_config(opened.change(self._session.config), f"open {opened.path.name}")
            self._session.set_notice(opened.notice)
            if opened.names:
                self._take(opened.path if opened.is_whole else None, opened.path.name)

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
    """Find out what a file is, and read an inspection or a short text (UTF-8, its line ends as they are).

    Raises:
        NotOpened: it cannot be read, or is no inspection.
    """
    from inspector.files.kinds import FileKind, kind_of  # with every format, needed only now
    from inspector.trouble import FileTrouble

    path = path.absolute()
    try:
        kind = kind_of(path)
        if kind is FileKind.INSPECTION:
            return _inspection(path)
        if kind is FileKind.TEXT and path.stat().st_size <= LARGE_TEXT:
            return _text(path, path.read_bytes())
    except FileTrouble as trouble:
        raise NotOpened(_naming(path, f"{path.name} {trouble.reason}")) from trouble
    except OSError as error:
        raise NotOpened(f"{path.name} cannot be read: {error.strerror or error}.") from error
    if kind is FileKind.CHECKPOINT:
        from inspector import checkpoint

        return Opened(path, lambda config: checkpoint.beside(config, str(path)))
    if kind is FileKind.TOKENIZER:
        return _changing(path, {"tokenizer.encoding": str(path), "tokenizer.n_vocab": None})
    source = "text_file" if kind is FileKind.TEXT else "token_ids_file"
    return _changing(path, {**NO_SOURCE, source: str(path)})


def _inspection(path: Path) -> Opened:
    from inspector import inspection_file  # with its parsers

    try:
        config = inspection_file.read(path)
    except inspection_file.InspectionFileError as error:
        raise NotOpened(_naming(path, str(error))) from error
    return Opened(path, lambda _: config, is_whole=True, names=True)


def _text(path: Path, data: bytes) -> Opened:
    text = data.decode(errors="replace")
    replaced = text.count("\ufffd") - data.count(b"\xef\xbf\xbd")
    opened = _changing(path, {**NO_SOURCE, "text": text})._replace(names=True)
    if not replaced:
        return opened
    were = "1 place was" if replaced == 1 else f"{replaced:,} places were"
    return opened._replace(notice=f"{path.name} is not all UTF-8 text: {were} replaced by U+FFFD.")


def _changing(path: Path, values: Mapping[str, Any]) -> Opened:
    return Opened(path, lambda config: config.with_values(values))


def _naming(path: Path, words: str) -> str:
    """Return the words, beginning with the file's name unless they hold it."""
    words = words if path.name in words else f"{path.name}: {words}"
    return words if words.endswith(".") else f"{words}."
