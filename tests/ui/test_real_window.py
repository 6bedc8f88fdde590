"""The program in a real window on a screen of its own, driven by a mouse and keys: `pytest -m real_window tests/ui`."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QColor, QImage

from inspector.ui import theme
from tests.ui.screen import PATIENCE, Screen, bounds_of, colors_in, open_screen, places_of, share_of, stop

ROOT = Path(__file__).resolve().parents[2]
SIZE = (1280, 800)  # the smallest window that everything is legible in
DONKEYS = "donkey donkey donkey donkey donkey "
LINE = "tok_emb = nn.Embedding("  # what stands before the first field
ROUGHLY = 30  # of 255: signs and thin frames are blended with what is behind them
LIGHT, DARK = theme.LIGHT, theme.DARK

pytestmark = pytest.mark.real_window


class Program:
    """`python main.py` on a screen, with settings of its own, and where things are in its window."""

    def __init__(self, screen: Screen, folder: Path) -> None:
        self.screen = screen
        self.log = folder / "program.log"
        homes = {"HOME": folder, "XDG_CONFIG_HOME": folder / "config", "XDG_RUNTIME_DIR": folder / "run"}
        for home in homes.values():
            home.mkdir(mode=0o700, exist_ok=True)
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, ROOT / "main.py", "--scheme", "light"],
                cwd=folder,
                env={**screen.environment, **{name: str(home) for name, home in homes.items()}},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        words = ("search", "--sync", "--onlyvisible", "--pid", self.process.pid, "--name", "^Embedding Inspector$")
        self._window = screen.do(*words).split()[0]

        self.place = QRect()  # where the window is on the screen, without its frame

    def find(self, size: tuple[int, int]) -> QImage:
        """Wait until the window is found, in the colour behind its panels, and has a size; return that picture."""

        def is_there(picture: QImage) -> bool:
            whole = picture.rect()
            if share_of(picture, whole, LIGHT.surface, 0):
                found = bounds_of(picture, whole, LIGHT.surface, 0)  # its title bar may have a speck of it too
                margin = bounds_of(picture, QRect(found.left() + 3, 0, 1, whole.height()), LIGHT.surface, 0)
                self.place = QRect(found.left(), margin.top(), found.width(), margin.height())
            return self.place.size().toTuple() == size

        self.screen.wait_until(is_there, f"a window of {size[0]} x {size[1]}")
        return self.screen.wait_until_still()

    def move_and_resize(self, x: int, y: int, width: int, height: int) -> None:
        self.screen.do("windowmove", "--sync", self._window, x, y, "windowsize", "--sync", self._window, width, height)

    def part(self, left: float, top: float, right: float, bottom: float) -> QRect:
        """Return a part of the window, by fractions of its size."""
        place = self.place
        x, y = place.x() + round(left * place.width()), place.y() + round(top * place.height())
        return QRect(x, y, round((right - left) * place.width()), round((bottom - top) * place.height()))

    @property
    def batch(self) -> QRect:
        return self.part(0.03, 0.35, 0.41, 0.785)

    @property
    def layers(self) -> QRect:
        return self.part(0.43, 0.09, 0.99, 0.22)

    @property
    def plots(self) -> QRect:
        return self.part(0.465, 0.32, 0.98, 0.77)

    @property
    def strip(self) -> QRect:
        return self.part(0.0, 0.81, 1.0, 0.865)

    @property
    def findings(self) -> QRect:
        return self.part(0.0, 0.875, 1.0, 0.985)

    def chosen_cell(self, picture: QImage) -> QRect:
        """Return where the frame of the chosen cell is."""
        return bounds_of(picture, self.batch, LIGHT.accent)

    def wait_for(self, part: QRect, color: QColor, *, there: bool = True, what: str = "") -> QImage:
        """Wait until a part of the window has a colour, or has it no longer."""
        return self.screen.wait_until(
            lambda picture: (share_of(picture, part, color, ROUGHLY) > 0) is there,
            what or f"{'' if there else 'no '}{color.name()} at {part}",
        )

    def wait_for_change(self, before: QImage, part: QRect, what: str) -> QImage:
        self.screen.wait_until(lambda picture: picture.copy(part) != before.copy(part), what)
        return self.screen.wait_until_still()


@pytest.fixture
def screen(tmp_path):
    with open_screen(tmp_path, "1600x1000") as opened:
        yield opened


@pytest.fixture
def program(screen, tmp_path):
    started = Program(screen, tmp_path)
    yield started
    stop(started.process)


def test_the_lesson_is_shown_broken_fixed_and_closed(program, screen):
    # It starts at its own size, and is then made as small as it is legible.
    program.find((1440, 900))
    program.move_and_resize(40, 60, *SIZE)
    program.find(SIZE)
    program.wait_for(program.plots, LIGHT.token, what="the curves")
    start = screen.wait_until_still()
    screen.keep("start")
    assert start.size().toTuple() == (1600, 1000)
    for color in (LIGHT.token, LIGHT.position, LIGHT.sum):
        assert share_of(start, program.plots, color) > 0.0002  # most of a thin line is blended with what is behind
    assert len(colors_in(start, program.place)) > 100
    assert share_of(start, program.place, LIGHT.fault, ROUGHLY) == 0
    assert share_of(start, program.strip, LIGHT.ok, ROUGHLY) > 0

    # A click on another cell, and an arrow key, draw other curves.
    first = program.chosen_cell(start)
    assert first.left() < program.batch.center().x() - first.width() / 2
    second = first.translated(first.width(), 2 * first.height())
    screen.click(second.center())
    clicked = program.wait_for_change(start, program.plots, "the rows of the cell that was clicked")
    assert near(program.chosen_cell(clicked), second)
    screen.key("Right")
    stepped = program.wait_for_change(clicked, program.plots, "the rows of the cell to the right")
    assert near(program.chosen_cell(stepped), second.translated(first.width(), 0))
    screen.keep("cell")
    for before, after in ((start, clicked), (clicked, stepped)):
        for color in (LIGHT.token, LIGHT.position, LIGHT.sum):
            assert places_of(before, program.plots, color) != places_of(after, program.plots, color)

    # Text is typed before the rest: other IDs.
    screen.click(program.part(0.05, 0.18, 0.3, 0.2).center())
    screen.key("ctrl+Home")
    screen.type(DONKEYS)
    typed = program.wait_for_change(stepped, program.batch, "other IDs")
    screen.keep("typed")
    assert share_of(typed, program.place, LIGHT.fault, ROUGHLY) == 0

    # vocab_size 50000: the donkeys have no row.
    name = bounds_of(typed, program.part(0.425, 0.1, 0.475, 0.2), LIGHT.token, ROUGHLY)
    screen.click(QPoint(round(name.left() + name.width() / len("tok_emb") * len(LINE)) + 55, name.center().y()))
    screen.key("ctrl+a")
    screen.type("50000")
    program.wait_for(program.findings, LIGHT.fault, what="a fault")
    broken = screen.wait_until_still()
    screen.keep("fault")
    for part in (program.batch, program.strip, program.findings):
        assert share_of(broken, part, LIGHT.fault, ROUGHLY) > 0
    assert share_of(broken, program.batch, LIGHT.fault_wash) > 0.02
    assert share_of(broken, program.layers, LIGHT.fault, ROUGHLY) > 0

    # Fix repairs it, Ctrl+Z takes that back, Ctrl+Shift+Z repairs it again.
    place = program.place
    screen.click(QPoint(place.right() - 420, place.bottom() - 58))
    fixed = program.wait_for(program.place, LIGHT.fault, there=False, what="the fault repaired")
    assert share_of(fixed, program.batch, LIGHT.fault_wash) == 0
    program.wait_for(program.plots, LIGHT.sum, what="the curves of the repaired layers")
    screen.keep("fixed")
    screen.key("ctrl+z")
    program.wait_for(program.batch, LIGHT.fault, what="the fault again")
    screen.keep("undone")
    screen.key("ctrl+shift+z")
    program.wait_for(program.place, LIGHT.fault, there=False, what="the fault repaired again")

    # A menu opens and turns the window dark.
    light = screen.wait_until_still()
    screen.click(program.part(0.07, 0, 0.08, 0.025).center())
    menu = program.part(0.05, 0.03, 0.15, 0.15)
    program.wait_for_change(light, menu, "the menu View")
    screen.keep("menu")
    screen.key("Down", "Down", "Down", "Return")
    program.wait_for(program.part(0, 0.98, 1, 1), DARK.surface, what="a dark window")
    dark = program.wait_for(program.plots, DARK.token, what="curves on dark")
    screen.keep("dark")
    assert share_of(dark, program.place, LIGHT.surface) == 0

    # The window manager closes it; it ends by itself and has nothing to say.
    screen.key("alt+F4")
    assert wait_for_end(program.process) == 0
    assert program.log.read_text() == ""


def near(first: QRect, second: QRect) -> bool:
    """Return whether two rectangles are the same but for a few pixels."""
    return all(abs(a - b) <= 4 for a, b in zip(first.getRect(), second.getRect(), strict=True))


def wait_for_end(process: subprocess.Popen[bytes]) -> int:
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert process.returncode is not None, "the window is closed and the program goes on"
    return process.returncode
