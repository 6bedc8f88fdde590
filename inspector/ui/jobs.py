"""Work off the window's thread: one lane a kind of work, in which only the newest request counts."""

from __future__ import annotations

import logging
from threading import Event
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QRunnable, QThreadPool, Signal, Slot

if TYPE_CHECKING:
    from collections.abc import Callable

_log = logging.getLogger(__name__)


class Job:
    """What a piece of work sees of its job: whether to stop, and where to report how far it is (0 to 1)."""

    def __init__(self, number: int, progressed: Callable[[object], None]) -> None:
        self.number = number
        self._stop = Event()
        self._progressed = progressed

    def cancelled(self) -> bool:
        """Return whether the result is no longer wanted."""
        return self._stop.is_set()

    def cancel(self) -> None:
        """Say that the result is no longer wanted."""
        self._stop.set()

    def progress(self, fraction: float) -> None:
        """Report how far the work is, 0 to 1."""
        if not self._stop.is_set():
            self._progressed((self.number, fraction))


class Lane(QObject):
    """Runs one piece of work at a time in a thread of its own; a newer one cancels and replaces the older.

    The signals live here, on an object of the window's thread: a signal owned by the runnable can be gone before it
    is delivered, which crashes the process.

    Signals:
        done(object): what the newest work returned.
        failed(object): the exception that the newest work raised.
        progressed(object): how far the newest work is, a float from 0 to 1.
        busy_changed(object): whether work is wanted and not finished, a bool.
    """

    done = Signal(object)
    failed = Signal(object)
    progressed = Signal(object)
    busy_changed = Signal(object)
    _finished = Signal(object)
    _reported = Signal(object)

    def __init__(self, name: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self._pool = QThreadPool(self)
        self._pool.setMaxThreadCount(1)
        self._number = 0
        self._job: Job | None = None
        self._finished.connect(self._on_finished)
        self._reported.connect(self._on_reported)

    @property
    def busy(self) -> bool:
        """Whether work is wanted and not finished."""
        return self._job is not None

    def submit(self, work: Callable[[Job], Any]) -> None:
        """Run `work(job)` in the lane's thread instead of whatever was wanted before."""
        was_busy = self.busy
        self._drop()
        self._number += 1
        self._job = Job(self._number, self._reported.emit)
        self._pool.start(_Runnable(work, self._job, self._finished.emit))
        if not was_busy:
            self.busy_changed.emit(True)

    def cancel(self) -> None:
        """Forget the work that is wanted, if any; it reports nothing any more."""
        if self.busy:
            self._drop()
            self.busy_changed.emit(False)

    def close(self) -> None:
        """Cancel the work and wait until the thread is idle."""
        self._drop()
        self._pool.clear()
        if not self._pool.waitForDone(10_000):
            _log.warning("work in lane %s did not stop in time", self.objectName())

    def _drop(self) -> None:
        if self._job is not None:
            self._job.cancel()
            self._job = None

    @Slot(object)
    def _on_finished(self, outcome: tuple[int, Any, Exception | None]) -> None:
        number, value, error = outcome
        if self._job is None or self._job.number != number:
            return
        self._job = None
        self.busy_changed.emit(False)
        (self.done if error is None else self.failed).emit(value if error is None else error)

    @Slot(object)
    def _on_reported(self, report: tuple[int, float]) -> None:
        number, fraction = report
        if self._job is not None and self._job.number == number:
            self.progressed.emit(fraction)


def attempt(work: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """Do a piece of work and return what it returned, or what it raised: on the undo stack nothing may be raised."""
    try:
        return work(), None
    except Exception as e:  # noqa: BLE001 - whatever it is, it is said in the window
        return None, e


class _Runnable(QRunnable):
    def __init__(self, work: Callable[[Job], Any], job: Job, finished: Callable[[object], None]) -> None:
        super().__init__()
        self._work = work
        self._job = job
        self._finished = finished

    def run(self) -> None:
        if self._job.cancelled():
            return
        value, error = attempt(lambda: self._work(self._job))
        if not self._job.cancelled():
            self._finished((self._job.number, value, error))
