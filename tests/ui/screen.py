"""A screen of its own with a window manager, a hand on its mouse and keys, and an eye on its pixels."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QColor, QImage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

PACKAGES = {"Xvfb": "xvfb", "openbox": "openbox", "xdotool": "xdotool", "import": "imagemagick"}
PATIENCE = 60.0  # seconds that anything may take on a slow machine
_LOOK_EVERY = 0.15


class Screen:
    """An X display with a program on it. Waiting is looking again until the screen shows what it should."""

    def __init__(self, display: str, folder: Path) -> None:
        self.environment = {**os.environ, "DISPLAY": display, "QT_QPA_PLATFORM": "xcb"}
        self._folder = folder
        self._pictures = 0

    # ---- the hand ------------------------------------------------------------------------------------------------

    def do(self, *words: object) -> str:
        """Run xdotool with these words and return what it prints."""
        command = ["xdotool", *map(str, words)]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
        return done.stdout

    def click(self, place: QPoint) -> None:
        self.do("mousemove", place.x(), place.y(), "click", 1)

    def key(self, *names: str) -> None:
        self.do("key", "--clearmodifiers", *names)

    def type(self, words: str) -> None:
        self.do("type", "--delay", 15, words)

    # ---- the eye -------------------------------------------------------------------------------------------------

    def look(self) -> QImage:
        """Return what is on the screen."""
        path = self._folder / "looked.png"
        done = subprocess.run(
            ["import", "-window", "root", str(path)],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, done.stderr
        return QImage(str(path)).convertToFormat(QImage.Format.Format_RGB32)

    def keep(self, name: str) -> QImage:
        """Return what is on the screen, and keep the picture under a name."""
        picture = self.look()
        self._pictures += 1
        assert picture.save(str(self._folder / f"{self._pictures:02}-{name}.png"))
        return picture

    def wait_until(self, shows: Callable[[QImage], bool], what: str) -> QImage:
        """Look again until the screen shows something, and return that picture."""
        deadline = time.monotonic() + PATIENCE
        while True:
            picture = self.look()
            if shows(picture):
                return picture
            if time.monotonic() > deadline:
                self.keep("in-vain")
                pytest.fail(f"the screen does not show {what} after {PATIENCE:.0f} s; pictures are in {self._folder}")
            time.sleep(_LOOK_EVERY)

    def wait_until_still(self) -> QImage:
        """Look again until two looks in a row see the same."""
        before = [QImage()]

        def same(picture: QImage) -> bool:
            still, before[0] = picture == before[0], picture
            return still

        return self.wait_until(same, "a picture that stays")


@contextlib.contextmanager
def open_screen(folder: Path, size: str = "1440x900") -> Iterator[Screen]:
    """Start a display and a window manager, and end them afterwards."""
    missing = [package for program, package in PACKAGES.items() if shutil.which(program) is None]
    if missing:
        pytest.fail(f"the real-window test needs a screen: apt-get install {' '.join(missing)}", pytrace=False)
    reading, writing = os.pipe()
    with contextlib.ExitStack() as ends:
        command = ["Xvfb", "-displayfd", str(writing), "-screen", "0", f"{size}x24", "-nolisten", "tcp"]
        _start(ends, command, folder / "xvfb.log", pass_fds=(writing,))
        os.close(writing)
        with os.fdopen(reading) as number:
            ready, _, _ = select.select([number], [], [], PATIENCE)
            display = f":{number.readline().strip()}" if ready else ":"
        assert display != ":", (folder / "xvfb.log").read_text()
        screen = Screen(display, folder)
        _start(ends, ["openbox", "--sm-disable"], folder / "openbox.log", env=screen.environment)
        yield screen


def _start(ends: contextlib.ExitStack, command: list[str], log: Path, **arguments: object) -> None:
    file = ends.enter_context(log.open("wb"))
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, **arguments)
    ends.callback(stop, process)


def stop(process: subprocess.Popen[str]) -> None:
    """End a process that was started here, if it has not ended by itself."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def share_of(picture: QImage, part: QRect, color: QColor, tolerance: int = 4) -> float:
    """Return which share of a part of the picture has a colour, or nearly."""
    return float(_mask(picture, part, color, tolerance).mean())


def places_of(picture: QImage, part: QRect, color: QColor, tolerance: int = 4) -> bytes:
    """Return which pixels of a part of the picture have a colour."""
    return _mask(picture, part, color, tolerance).tobytes()


def bounds_of(picture: QImage, part: QRect, color: QColor, tolerance: int = 4) -> QRect:
    """Return the smallest rectangle around what has a colour in a part of the picture."""
    rows, columns = _mask(picture, part, color, tolerance).nonzero()
    assert len(rows), f"there is no {color.name()} at {part}"
    left, top = int(columns.min()), int(rows.min())
    size = int(columns.max()) - left + 1, int(rows.max()) - top + 1
    return QRect(part.left() + left, part.top() + top, *size)


def colors_in(picture: QImage, part: QRect) -> set[tuple[int, ...]]:
    """Return the colours of a part of the picture."""
    return set(map(tuple, np.unique(_pixels(picture, part).reshape(-1, 3), axis=0).tolist()))


def _mask(picture: QImage, part: QRect, color: QColor, tolerance: int) -> NDArray[np.bool_]:
    wanted = np.array([color.blue(), color.green(), color.red()])
    found: NDArray[np.bool_] = (np.abs(_pixels(picture, part) - wanted) <= tolerance).all(axis=-1)
    return found


def _pixels(picture: QImage, part: QRect) -> NDArray[np.int16]:
    """Return blue, green and red of each pixel, (height, width, 3)."""
    copied = picture.copy(part)
    whole = np.frombuffer(copied.constBits(), np.uint8).reshape(copied.height(), copied.width(), 4)
    return whole[..., :3].astype(np.int16)
