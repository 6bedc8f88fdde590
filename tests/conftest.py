"""What every test stands on: no screen, no settings of the person's own, and nothing left behind."""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
import traceback
from typing import TYPE_CHECKING

import hypothesis
import pytest

from inspector import startup

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GRACE_SECONDS = 2.0  # for a thread that was told to end and is on its way

hypothesis.settings.register_profile("tests", deadline=None, derandomize="CI" in os.environ, database=None)
hypothesis.settings.load_profile("tests")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--screenshots", action="store_true", help="write pictures of the real window into resources/screenshots"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    # Before pytest-qt imports Qt, whose own words for a missing library are a loader's traceback.
    platform = "xcb" if config.option.markexpr == "real_window" else "offscreen"
    if platform == "offscreen":
        os.environ["QT_QPA_PLATFORM"] = platform
    if reason := startup.missing_system_libraries(platform):
        pytest.exit(reason, returncode=2)


@pytest.fixture(autouse=True)
def _own_settings(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Keep settings, caches and data of each test in a folder of its own, in this process and in those it starts."""
    from PySide6.QtCore import QSettings

    home = tmp_path_factory.mktemp("home")
    for variable in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(variable, str(home))
    # Qt reads XDG_CONFIG_HOME once in the life of a process.
    for form in (QSettings.Format.NativeFormat, QSettings.Format.IniFormat):
        QSettings.setPath(form, QSettings.Scope.UserScope, str(home))
    return home


@pytest.fixture(autouse=True)
def _nothing_left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test after which a thread, a job, a timer or a window lives on."""
    threads_before = set(threading.enumerate())
    yield
    left = _threads(threads_before)
    if {"qtbot", "qapp"} & set(request.fixturenames):
        left += _qt_objects()
        _clear_clipboard()
    if left:
        pytest.fail("left behind by this test:\n  " + "\n  ".join(left), pytrace=False)


def _clear_clipboard() -> None:
    """Take what a test copied: Qt would destroy it after Python has ended, which crashes where Python made it."""
    from PySide6.QtGui import QGuiApplication

    if QGuiApplication.instance() is not None:
        QGuiApplication.clipboard().clear()


def _threads(before: set[threading.Thread]) -> list[str]:
    # A thread of Qt's that has ever run Python stays enumerated as a dummy; `_qt_objects` sees those that still run.
    new = [t for t in threading.enumerate() if t not in before and not isinstance(t, threading._DummyThread)]
    deadline = time.monotonic() + GRACE_SECONDS
    for thread in new:
        thread.join(max(0.0, deadline - time.monotonic()))
    return [f"thread {t.name}, at {_line_of(t)}" for t in new if t.is_alive()]


def _line_of(thread: threading.Thread) -> str:
    stack = traceback.extract_stack(sys._current_frames().get(thread.ident or 0))
    frame = next((f for f in reversed(stack) if f.filename != threading.__file__), stack[-1])
    return f"{frame.filename}:{frame.lineno}"


def _qt_objects() -> list[str]:
    """Name windows, timers and jobs that live on, and stop them so that the next test is not blamed for them."""
    from PySide6.QtCore import QCoreApplication, QEvent, QThread, QThreadPool, QTimer
    from PySide6.QtWidgets import QApplication
    from shiboken6 import isValid

    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    left = []
    for widget in QApplication.topLevelWidgets():
        if widget.isVisible():
            left.append(f"window {_name_of(widget)}")
            widget.hide()

    def active() -> list[QTimer | QThread | QThreadPool]:
        # By type(): isinstance() would ask objects of other libraries for their __class__, and some import at that.
        ours = [o for o in gc.get_objects() if issubclass(type(o), (QTimer, QThread, QThreadPool)) and isValid(o)]
        return [o for o in {*ours, QThreadPool.globalInstance()} if _is_active(o)]

    if active():
        gc.collect()  # an unreachable one is not left behind, only not yet collected
    for found in active():
        if isinstance(found, QTimer):
            left.append(f"timer {_name_of(found)}, {found.interval()} ms")
            found.stop()
        elif isinstance(found, QThreadPool):
            if not found.waitForDone(int(GRACE_SECONDS * 1000)):
                left.append(f"{found.activeThreadCount()} jobs in pool {_name_of(found)}")
        elif not found.wait(int(GRACE_SECONDS * 1000)):
            left.append(f"thread {_name_of(found)}")
    return left


def _is_active(found: object) -> bool:
    from PySide6.QtCore import QThread, QThreadPool, QTimer

    if isinstance(found, QTimer):
        return found.isActive()
    if isinstance(found, QThreadPool):
        return found.activeThreadCount() > 0
    return isinstance(found, QThread) and found.isRunning() and found is not QThread.currentThread()


def _name_of(found: object) -> str:
    """Return the object's type and name, and its parents' up to the window."""
    from PySide6.QtCore import QObject

    names = []
    while isinstance(found, QObject):
        names.append(type(found).__name__ + (f" {found.objectName()!r}" if found.objectName() else ""))
        found = found.parent()
    return " in ".join(names)
