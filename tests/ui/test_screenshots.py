"""Pictures of the real window; with `--screenshots` they go into resources/screenshots, where the README shows them."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication

from inspector import material
from inspector.config import InputConfig
from inspector.ui import theme
from inspector.ui.main_window import MainWindow
from inspector.ui.session import Session
from inspector.ui.theme import SchemeFollower

FOLDER = Path(__file__).resolve().parents[2] / "resources" / "screenshots"
SIZE = (1440, 900)
DONKEYS = (
    "Donkey, donkey, carry the oil up in the evening, said the lamp keeper to his donkey, and the donkey, who knew the "
    "path along the cliff better than any other donkey, carried it."
)
FAULT = {"text": DONKEYS, "token_embedding.num_embeddings": 50_000}
LESSON = {"text": material.sample()}


@pytest.fixture
def take(qtbot, qapp):
    """Return a picture of the window, once its curves are drawn or it says why there are none."""
    qapp.setStyle("Fusion")
    follower = SchemeFollower(qapp)
    windows = []

    def take_(scheme, values, cell):
        follower.set_choice(scheme)
        session = Session(InputConfig().with_values(values))
        window = MainWindow(session, follower)
        windows.append(window)
        window.showNormal()
        window.resize(*SIZE)
        session.start()
        qtbot.waitUntil(lambda: session.rows.trace is not None, timeout=30_000)
        session.set_cell(*cell)
        QApplication.processEvents()
        return window.grab().toImage()

    yield take_
    for window in windows:
        window.close()
        window.deleteLater()
    follower.set_choice(Qt.ColorScheme.Light)
    follower.deleteLater()


@pytest.mark.parametrize(
    ("name", "scheme", "values", "cell", "curve"),
    [
        ("start-light", Qt.ColorScheme.Light, LESSON, (1, 1), "token"),
        ("start-dark", Qt.ColorScheme.Dark, LESSON, (1, 1), "token"),
        ("fault-dark", Qt.ColorScheme.Dark, FAULT, (0, 3), "fault"),
    ],
)
def test_takes_a_picture(take, request, tmp_path, name, scheme, values, cell, curve):
    picture = take(scheme, values, cell)
    folder = FOLDER if request.config.getoption("--screenshots") else tmp_path
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.png"
    assert picture.save(str(path))

    seen = QImage(str(path))
    ratio = seen.width() / SIZE[0]
    assert (seen.width(), seen.height()) == (SIZE[0] * ratio, SIZE[1] * ratio)
    colors = theme.DARK if scheme is Qt.ColorScheme.Dark else theme.LIGHT
    present = {seen.pixel(x, y) for x in range(0, seen.width(), 2) for y in range(seen.height())}
    for wanted in (colors.surface, colors.panel, colors.text, colors.accent, getattr(colors, curve)):
        assert wanted.rgb() in present, wanted.name()
    assert len(present) > 200
