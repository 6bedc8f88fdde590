"""A gallery of misconfigurations: the example of each kind of fault, opened in the window to look at and to teach."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QUndoCommand
from PySide6.QtWidgets import QMenu, QWidget

from inspector import checks, material, resources
from inspector.report import STAGE_NAMES

if TYPE_CHECKING:
    from inspector.config import InputConfig
    from inspector.diagnosis import Fault
    from inspector.ui.session import Session

EXAMPLES = "examples/"  # how a path in an example begins that lies among the resources

# The slots run once, when the signal's other receivers are done.
_AFTERWARDS = Qt.ConnectionType(Qt.ConnectionType.QueuedConnection.value | Qt.ConnectionType.SingleShotConnection.value)


class GalleryMenu(QMenu):
    """All kinds of fault by stage; choosing one opens its example. Filled when it is first opened.

    Signals: those of every menu.
    """

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__("&Try a fault", parent)
        self._session = session
        self.setToolTipsVisible(True)
        self.aboutToShow.connect(self._fill)

    @Slot()
    def _fill(self) -> None:
        if self.actions():
            return
        stages: dict[str, QMenu] = {}
        for kind in checks.FAULTS:
            if not can_be_tried(kind):
                continue
            name = STAGE_NAMES[kind.stage]
            if name not in stages:
                stages[name] = self.addMenu(name)
                stages[name].setToolTipsVisible(True)
            action = stages[name].addAction(f"{kind.code}  {kind.name}")
            action.setToolTip(kind.summary)
            action.setStatusTip(kind.summary)
            action.triggered.connect(partial(self._on_chosen, kind))

    def _on_chosen(self, kind: Fault, _checked: bool = False) -> None:
        try_fault(self._session, kind)


def can_be_tried(kind: Fault) -> bool:
    """Return whether a kind of fault has an example that this version can open."""
    from inspector import inspection_file  # with its parsers, needed only now

    try:
        example(kind)
    except (inspection_file.InspectionFileError, FileNotFoundError):
        return False
    return bool(kind.example)


def example(kind: Fault) -> InputConfig:
    """Return a kind's own example, its files found among the resources and the sample as its text if it has no source.

    Raises:
        InspectionFileError: this version does not know a key or a value of it.
        FileNotFoundError: a file of it is missing from this installation.
    """
    from inspector import inspection_file  # with its parsers, needed only now

    config = inspection_file.from_mapping(_found(kind.example))
    if all(getattr(config, name) is None for name in inspection_file.SOURCES):
        return replace(config, text=material.sample())
    return config


def try_fault(session: Session, kind: Fault) -> None:
    """Open a kind's example and choose its diagnosis; one step of undo leads back to what was there."""
    config, before = example(kind), session.result
    if config != session.config:
        label = f"try {kind.code} {kind.name}"
        session.undo_stack.beginMacro(label)
        place = _Place(session)
        session.undo_stack.push(place)
        session.replace_config(config, label, is_another=True)
        session.undo_stack.push(_Leaving(session, place))
        session.undo_stack.endMacro()
        if session.result is before:  # judged in the background
            session.result_changed.connect(partial(_choose, session, kind), _AFTERWARDS)
            return
    _choose(session, kind)


def _choose(session: Session, kind: Fault, _result: object = None) -> None:
    found = session.result.diagnoses if session.result is not None else ()
    session.set_diagnosis(next((d for d in found if checks.of(d) is kind), None))


def _found(value: Any) -> Any:
    """Return an example's value with the places on disk of the files it names."""
    if isinstance(value, dict):
        return {key: _found(inner) for key, inner in value.items()}
    if isinstance(value, str) and value.startswith(EXAMPLES):
        return str(resources.path(value))
    return value


class _Place(QUndoCommand):
    """The batch, the diagnosis and the cell that were chosen; undone once the inspection is back.

    `left` is the result on screen when undoing began: while it still is, the one to return to is being made.
    """

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self.left = session.result
        self._batch = 0
        self._diagnosis = session.diagnosis
        self._cell = session.cell

    def redo(self) -> None:
        session = self._session
        self._batch = session.result.batch if session.result is not None else 0
        self._diagnosis, self._cell = session.diagnosis, session.cell

    def undo(self) -> None:
        if self._session.result is self.left:
            self._session.result_changed.connect(self._return, _AFTERWARDS)
        else:
            self._return()

    def _return(self, _result: object = None) -> None:
        session = self._session
        session.set_batch(self._batch)
        found = session.result.diagnoses if session.result is not None else ()
        session.set_diagnosis(self._diagnosis if self._diagnosis in found else None)
        if self._cell is not None:
            session.set_cell(*self._cell)


class _Leaving(QUndoCommand):
    """The last step of a trial and so the first to be undone: tells its place what is being left."""

    def __init__(self, session: Session, place: _Place) -> None:
        super().__init__()
        self._session = session
        self._place = place

    def undo(self) -> None:
        self._place.left = self._session.result
