"""A window that a script or a notebook opens on a result it has."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QApplication

from inspector.ui.app import make_application
from inspector.ui.main_window import MainWindow
from inspector.ui.session import Session
from inspector.ui.theme import SchemeFollower

if TYPE_CHECKING:
    from inspector.result import Result

_TURN_SECONDS = 0.01  # between two looks at Qt's events beside another event loop

_shown: set[MainWindow] = set()  # windows live as long as they are open
_pumps: set[asyncio.Task[None]] = set()


def show(result: Result) -> None:
    """Open a window on a result; return when it is closed, or at once beside an event loop that runs already."""
    application = QApplication.instance()
    if not isinstance(application, QApplication):
        application = make_application()
    window = open_window(result, application)
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        application.exec()
        return
    pump = loop.create_task(_pump(application, window))
    _pumps.add(pump)
    pump.add_done_callback(_pumps.discard)


def open_window(result: Result, application: QApplication) -> MainWindow:
    """Show a window on a result: its rows come from where the result's do."""
    session = Session(result.config, material=result.material)
    window = MainWindow(session, SchemeFollower(application))
    session.setParent(window)
    window.painted.connect(session.start)
    _shown.add(window)
    window.closed.connect(_shown.discard)
    window.show()
    return window


async def _pump(application: QApplication, window: MainWindow) -> None:
    """Let Qt answer while the loop that runs already goes on."""
    while window in _shown:
        application.processEvents()
        await asyncio.sleep(_TURN_SECONDS)
