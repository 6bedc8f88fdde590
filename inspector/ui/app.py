"""The window as a program: the application object, its colours, what becomes of exceptions, and a clean end."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING

os.environ.setdefault("PYQTGRAPH_QT_LIB", "PySide6")  # it would take another Qt where there are two

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QSettings, QTimer, Signal, Slot
from PySide6.QtWidgets import QApplication

from inspector import __version__, material
from inspector.config import InputConfig
from inspector.ui.main_window import TITLE, MainWindow
from inspector.ui.session import Session
from inspector.ui.theme import SchemeFollower
from inspector.ui.window_actions import SCHEME_SETTING, SCHEMES

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

_log = logging.getLogger(__name__)

_INTERRUPTED = 130  # what a shell calls an end by Ctrl-C
_WAKE_UP_MS = 250
_TURN_SECONDS = 0.0005  # after which a background thread hands the interpreter to the window's; Python's own is 5 ms


class ExceptionNotice(QObject):
    """Says in the window that something unexpected happened, in whatever thread, and logs it.

    Signals:
        raised(object): a sentence about an exception that nobody caught.
    """

    raised = Signal(object)

    def install(self) -> None:
        """Take the exceptions of this thread and the others."""
        sys.excepthook = self._on_exception
        threading.excepthook = self._on_thread_exception

    def remove(self) -> None:
        """Leave exceptions to Python again."""
        sys.excepthook = sys.__excepthook__
        threading.excepthook = threading.__excepthook__

    def _on_exception(self, kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            QCoreApplication.exit(_INTERRUPTED)
            return
        _log.error("an exception that nobody caught", exc_info=(kind, error, traceback))
        self.raised.emit(f"Something unexpected happened ({kind.__name__}: {error}); the log says where.")

    def _on_thread_exception(self, arguments: threading.ExceptHookArgs) -> None:
        if arguments.exc_value is not None:
            self._on_exception(arguments.exc_type, arguments.exc_value, arguments.exc_traceback)


class Program(QObject):
    """The window, the session behind it, and the order in which they begin and end.

    Signals: none.
    """

    def __init__(self, application: QApplication, paths: list[Path], scheme: str | None) -> None:
        super().__init__(application)
        self._paths = paths
        follower = SchemeFollower(application)
        remembered = QSettings().value(SCHEME_SETTING, "system", type=str)
        follower.set_choice(SCHEMES.get(scheme or str(remembered), SCHEMES["system"]))
        self.session = Session(InputConfig(text=material.sample()), self)
        self.window = MainWindow(self.session, follower)
        self.window.painted.connect(self._on_painted)

    @Slot(object)
    def _on_painted(self, _: object) -> None:
        """Begin what takes long, now that there is a window to look at."""
        self.session.start()
        if self._paths:
            self.window.document.open(self._paths)

    def end(self) -> None:
        """Stop what goes on and take the window apart while Qt is there to do it."""
        self.window.close()
        self.window.deleteLater()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def run(paths: list[Path], *, scheme: str | None = None) -> int:
    """Open the window, with files in it, and return the exit code once it is closed.

    Args:
        paths: inspection files and texts, opened in turn.
        scheme: "light", "dark" or "system"; None for what was chosen last.
    """
    sys.setswitchinterval(_TURN_SECONDS)
    application = make_application()
    program = Program(application, paths, scheme)
    notice = ExceptionNotice()
    notice.raised.connect(program.session.set_notice)  # by a queue, where another thread raised
    notice.install()
    wake_up = QTimer(interval=_WAKE_UP_MS)  # lets Python see Ctrl-C while Qt waits
    wake_up.timeout.connect(_look_up)
    wake_up.start()
    before = signal.signal(signal.SIGINT, lambda *_: application.exit(_INTERRUPTED))
    program.window.show()
    code = application.exec()
    wake_up.stop()
    program.end()
    notice.remove()
    signal.signal(signal.SIGINT, before)
    return code


def make_application() -> QApplication:
    """Return the application object with its name and style; one a process."""
    application = QApplication(sys.argv[:1])
    application.setOrganizationName(TITLE)
    application.setApplicationName(TITLE)
    application.setApplicationVersion(__version__)
    application.setStyle("Fusion")
    return application


def _look_up() -> None:
    """Do nothing: Python looks for signals whenever it runs at all."""
