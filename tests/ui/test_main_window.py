"""The window as a whole: what is in it, its files, its menus and keys, and how it begins and ends."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch
from PySide6.QtCore import QMimeData, QPoint, QRect, QSettings, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QFileDialog, QLabel, QPushButton, QWidget

from inspector import check_model, inspection_file, resources
from inspector.config import InputConfig
from inspector.ui import app, shown, theme
from inspector.ui.curve_plot import ROOM_FOR_NUMBERS
from inspector.ui.main_window import MainWindow
from inspector.ui.session import Session
from inspector.ui.theme import SchemeFollower

ROOT = Path(__file__).resolve().parents[2]
Modifier = Qt.KeyboardModifier


@pytest.fixture
def scheme(qapp):
    follower = SchemeFollower(qapp)
    yield follower
    follower.deleteLater()


@pytest.fixture
def open_window(qtbot, scheme):
    windows = []

    def open_(size=(1280, 800), text=None):
        session = Session(InputConfig(text=text or resources.text("sample.txt")), pause_ms=0)
        window = MainWindow(session, scheme)
        windows.append(window)
        with qtbot.waitSignal(window.painted):
            window.showNormal()  # the screen there is here would be too small
        window.resize(*size)
        window.activateWindow()
        session.start()
        qtbot.waitUntil(lambda: session.result is not None)
        return window, session

    yield open_
    for window in windows:
        window.close()
        window.deleteLater()


def key(key_, modifier=Modifier.NoModifier):
    QTest.keyClick(QApplication.focusWidget(), key_, modifier)


def focused_panel(window):
    (panel,) = (
        p for p in window.panels if p is QApplication.focusWidget() or p.isAncestorOf(QApplication.focusWidget())
    )
    return panel


def opened(window, session, qtbot, *paths):
    window.document.open(list(paths))
    qtbot.waitUntil(lambda: not window.document._lane.busy)


# ---- layout --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(1280, 800), (1440, 900), (1920, 1080), (3840, 2160)], ids=str)
def test_everything_is_visible(open_window, qtbot, size):
    window, session = open_window(size)
    qtbot.waitUntil(lambda: session.rows.trace is not None, timeout=20_000)
    QApplication.processEvents()  # what came last is laid out
    assert (window.width(), window.height()) == size
    whole = window.rect()
    places = [QRect(p.mapTo(window, QPoint(0, 0)), p.size()) for p in [window.top_row, *window.panels]]
    for place in places:
        assert whole.contains(place)
        assert not any(place.intersects(other) for other in places if other is not place)
    for widget in window.centralWidget().findChildren(QWidget):
        is_line = isinstance(widget, QPushButton) or (isinstance(widget, QLabel) and not widget.wordWrap())
        if is_line and widget.isVisible() and "</" not in widget.text():
            words = widget.text().replace("&", "")
            assert widget.width() >= widget.fontMetrics().horizontalAdvance(words), words
    grid = window.batch_panel.grid
    assert not grid.verticalScrollBar().isVisible()
    assert not grid.horizontalScrollBar().isVisible()


def test_the_read_out_has_room_for_every_digit_of_a_float32(open_window, qtbot):
    window, session = open_window()
    qtbot.waitUntil(lambda: session.rows.trace is not None, timeout=20_000)
    session.set_cell(2, 3)
    QApplication.processEvents()
    read_out = window.rows_panel.read_out
    assert read_out.width() >= read_out.sizeHint().width()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_window_that_changes_its_scheme_looks_like_one_that_began_in_it(open_window, scheme, qtbot, dark):
    pictures = []
    after = Qt.ColorScheme.Dark if dark else Qt.ColorScheme.Light
    before = Qt.ColorScheme.Light if dark else Qt.ColorScheme.Dark
    for first in (after, before):
        scheme.set_choice(first)
        window, session = open_window()
        session.set_values({"token_embedding.num_embeddings": 20000, "loader.stride": 0}, "faults")
        session.set_values({"position_embedding.num_embeddings": 3}, "more faults")
        session.set_diagnosis(session.result.diagnoses[0])
        qtbot.waitUntil(lambda: session.rows.trace is not None, timeout=20_000)  # noqa: B023 - in this turn
        window.text_panel.editor.clearFocus()
        scheme.set_choice(after)
        QApplication.processEvents()
        pictures.append(window.centralWidget().grab().toImage())
        window.close()
    assert pictures[0] == pictures[1]


def test_says_what_the_layers_are_made_of(open_window):
    window, session = open_window()
    assert window.top_row.facts.text() == "seed 123 · float32 · fresh layers"
    session.set_values({"seed": 7, "position_embedding.dtype": "bfloat16"}, "other layers")
    assert window.top_row.facts.text() == "seed 7 · float32 and bfloat16 · fresh layers"


def test_nothing_moves_while_something_is_going_on(open_window, qtbot):
    window, session = open_window()
    before = [panel.geometry() for panel in window.panels]
    seen = []
    session.busy_changed.connect(lambda words: seen.append((words, window.top_row.busy.text())))
    session.set_text(resources.text("sample.txt") * 100)
    qtbot.waitUntil(lambda: session.busy == "", timeout=20_000)
    assert seen
    assert all(words == shown for words, shown in seen)
    assert [panel.geometry() for panel in window.panels] == before


# ---- presets and tokenizer -----------------------------------------------------------------------------------------


def test_a_preset_is_chosen_by_keys_and_undone(open_window):
    window, session = open_window()
    box = window.top_row.presets
    assert box.currentText().startswith("Lesson: 50,257")
    box.setFocus()
    key(Qt.Key.Key_Down)
    assert session.config.position_embedding.num_embeddings == 1024
    assert box.currentText() == "Lesson, context 1,024"
    window.window_actions.undo.trigger()
    assert box.currentIndex() == 0
    session.set_value("token_embedding.num_embeddings", 50_000)
    assert box.currentIndex() == -1
    assert box.placeholderText() == "Sizes of your own"


def test_a_live_model_says_where_its_rows_come_from_and_claims_no_tokenizer(qtbot, qapp, scheme):
    model = torch.nn.Sequential(torch.nn.Embedding(100, 8))
    window = shown.open_window(check_model(model, [[1, 2], [3, 4]]), qapp)
    qtbot.waitUntil(lambda: window.top_row.facts.text() == "rows of the live model · float32")
    assert "forward pass" in window.top_row.facts.toolTip()
    box = window.top_row.tokenizer
    assert (box.currentIndex(), box.placeholderText(), box.isEnabled()) == (-1, "no tokenizer", False)
    QTest.mouseClick(window.layers_panel.more_button, Qt.MouseButton.LeftButton)
    assert window.layers_panel.live_note.isVisible()
    assert "forward pass" in window.layers_panel.live_note.text()
    window.close()
    window.deleteLater()


@pytest.fixture
def live_window(qtbot, qapp):
    windows = []

    def open_(rows, ids):
        window = shown.open_window(check_model(torch.nn.Sequential(torch.nn.Embedding(rows, 8)), ids), qapp)
        windows.append(window)
        qtbot.waitUntil(lambda: window._session.result is not None)
        qtbot.waitUntil(lambda: window._session.rows.trace is not None)
        return window, window._session

    yield open_
    for window in windows:
        window.close()
        window.deleteLater()


def test_a_text_can_be_typed_beside_a_live_model(qtbot, live_window):
    window, session = live_window(50257, [[1, 2], [3, 4]])
    model = session.result.material.live
    QTest.mouseClick(window.text_panel.findChild(QPushButton), Qt.MouseButton.LeftButton)
    QTest.keyClicks(window.text_panel.editor, "the lamp")
    assert session.result.tokens.text == "the lamp"
    assert session.config.tokenizer.encoding == "gpt2"
    assert session.result.material.live is model
    session.undo_stack.undo()
    assert session.result.ids == ((1, 2), (3, 4))
    assert session.config.tokenizer.encoding is None


def test_other_layers_than_a_live_models_are_constructed_until_they_are_its_own_again(qtbot, live_window):
    window, session = live_window(100, [[1, 2], [3, 4]])
    session.set_values({"token_embedding.embedding_dim": 12}, "another width")
    assert session.result.material.live is None
    assert "fresh layers" in window.top_row.facts.text()
    qtbot.waitUntil(lambda: session.rows.trace is not None)
    session.undo_stack.undo()
    qtbot.waitUntil(lambda: session.rows.trace is not None)
    assert window.top_row.facts.text() == "rows of the live model · float32"


def test_more_scrolls_before_the_plots_lose_their_shape(qtbot, open_window):
    window, session = open_window((1440, 700))
    strip = window.stage_strip.y()
    QTest.mouseClick(window.layers_panel.more_button, Qt.MouseButton.LeftButton)
    session.set_values({"segment_embedding.num_embeddings": 2}, "a segment table")
    qtbot.wait(50)
    assert window.stage_strip.y() == strip
    assert window.height() == 700
    plots = window.rows_panel.view.plots.values()
    assert min(plot.box.height() for plot in plots) >= ROOM_FOR_NUMBERS
    area = window.layers_panel.folded
    assert area.verticalScrollBar().maximum() > 0
    last = window.layers_panel.field("segment_embedding.max_id")
    field = window.layers_panel.field("seed")
    field.setFocus()
    while not last.hasFocus():
        key(Qt.Key.Key_Tab)
    assert area.viewport().rect().contains(last.mapTo(area.viewport(), last.rect().center()))


def test_no_two_mnemonics_are_the_same(open_window):
    window, session = open_window()
    session.set_value("token_embedding.num_embeddings", 50)  # for the buttons of a finding
    session.set_notice("a word")
    assert window.diagnosis_panel.fix_button.isVisible()
    labels = [w for w in window.findChildren(QLabel) if w.buddy()]
    named = [*window.menuBar().actions(), *window.findChildren(QAbstractButton), *labels]
    keys = [QKeySequence.mnemonic(w.text()).toString() for w in named]
    keys = [k for k in keys if k]
    assert len(keys) > 12
    assert sorted(keys) == sorted(set(keys))


def test_about_is_a_quiet_word(open_window):
    window, session = open_window()
    window.window_actions.about.trigger()
    bar = window.notice_bar
    colors = theme.colors(bar.palette())
    assert bar.isVisible()
    assert bar.grab().toImage().pixelColor(bar.width() // 2, 2) == colors.panel
    session.set_notice("it did not work")
    assert bar.grab().toImage().pixelColor(bar.width() // 2, 2) == colors.warning_wash


def test_a_live_models_sizes_are_facts_that_no_hand_changes(qtbot, live_window):
    window, session = live_window(4, [[1, 2], [3, 9]])
    before = session.config
    (found,) = [d for d in session.result.diagnoses if d.severity == "error"]
    assert found.fix
    assert window.diagnosis_panel.detail._help.isVisible()
    assert not window.diagnosis_panel.fix_button.isVisible()
    field = window.layers_panel.field("token_embedding.num_embeddings")
    assert "model’s own" in field.toolTip()
    QTest.mouseClick(field, Qt.MouseButton.LeftButton)
    QTest.keyClicks(field, "000")
    QTest.keyClick(field, Qt.Key.Key_Up)
    assert session.config == before
    for name in ("token_embedding.dtype", "segment_embedding"):
        assert not window.layers_panel.field(name).isEnabled()
    assert not session.result.ok
    assert not window.diagnosis_panel.detail._proof.isVisible()
    session.set_values({"token_embedding.num_embeddings": 50}, "another table")
    assert not field.isReadOnly()  # of layers that are constructed here
    assert "model’s own" not in field.toolTip()


def test_another_tokenizer_is_called_by_its_name(open_window):
    window, session = open_window()
    box = window.top_row.tokenizer
    assert box.currentText() == "gpt2, <|endoftext|> is plain text"
    session.set_values({"tokenizer.encoding": "/somewhere/deep/tokenizer.json"}, "another tokenizer")
    assert box.currentText() == "tokenizer.json, special tokens are plain text"
    assert box.toolTip().startswith("/somewhere/deep/tokenizer.json")
    session.undo_stack.undo()
    assert box.currentText() == "gpt2, <|endoftext|> is plain text"


def test_the_special_token_is_the_persons_choice(open_window):
    window, session = open_window(text="One.<|endoftext|>Two. " * 8)
    box = window.top_row.tokenizer
    box.setFocus()
    counts = {}
    for value in ("plain", "special", "refuse"):
        assert box.currentData() == value
        counts[value] = len(session.result.tokens.ids)
        key(Qt.Key.Key_Down)
    assert counts["refuse"] == 0 < counts["special"] < counts["plain"]
    assert [d.code for d in session.result.diagnoses if d.severity == "error"] == ["T101"]


# ---- files ---------------------------------------------------------------------------------------------------------


def test_opens_a_text_as_it_is(open_window, qtbot, tmp_path):
    window, session = open_window()
    path = tmp_path / "notes.txt"
    path.write_bytes("one\r\ntwo 😀".encode())
    opened(window, session, qtbot, path)
    assert session.config.text == "one\r\ntwo 😀"
    assert session.notice == ""
    assert window.windowTitle() == "notes.txt[*] — Embedding Inspector"
    assert window.document.path is None  # Save must not write an inspection over the text
    window.window_actions.undo.trigger()
    assert session.config.text == resources.text("sample.txt")
    assert window.windowTitle() == "Embedding Inspector"


def test_says_what_is_not_utf8(open_window, qtbot, tmp_path):
    window, session = open_window()
    path = tmp_path / "latin.txt"
    path.write_bytes("na\u00efve caf\u00e9".encode("latin-1"))
    opened(window, session, qtbot, path)
    assert session.config.text == "na\ufffdve caf\ufffd"
    assert window.notice_bar.words.text() == "latin.txt is not all UTF-8 text: 2 places were replaced by U+FFFD."


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("bad.json", "{", "bad.json"),
        ("odd.json", '{"loader": {"strid": 4}}', "strid"),
        ("odd.toml", "= 3", "odd.toml"),
        ("none.txt", None, "none.txt is not there."),
        ("none.json", None, "none.json"),
    ],
)
def test_a_bad_file_is_one_sentence_and_nothing_is_lost(open_window, qtbot, tmp_path, name, content, words):
    window, session = open_window()
    before, path = session.config, tmp_path / name
    if content is not None:
        path.write_text(content)
    opened(window, session, qtbot, path)
    bar = window.notice_bar
    assert bar.isVisible()
    assert words in bar.words.text()
    assert name in bar.words.text()
    assert "\n" not in bar.words.text()
    assert session.config is before
    assert not session.undo_stack.canUndo()
    QTest.mouseClick(bar.dismiss_button, Qt.MouseButton.LeftButton)
    assert not bar.isVisible()
    assert session.notice == ""


def test_saves_and_opens_again(open_window, qtbot, tmp_path):
    window, session = open_window()
    path = tmp_path / "stage.json"
    session.set_value("loader.stride", 2)
    window.document.save(path)
    assert window.windowTitle() == "stage.json[*] — Embedding Inspector"
    assert not window.isWindowModified()
    session.set_value("loader.stride", 3)
    assert window.isWindowModified()
    window.text_panel.setFocus()
    key(Qt.Key.Key_S, Modifier.ControlModifier)
    assert not window.isWindowModified()
    assert inspection_file.read(path).loader.stride == 3
    session.set_value("loader.stride", 1)
    opened(window, session, qtbot, path)
    assert session.config.loader.stride == 3
    assert session.config.text == resources.text("sample.txt")


def test_an_opening_that_is_undone_is_not_saved_over(open_window, qtbot, tmp_path):
    window, session = open_window()
    path = tmp_path / "stage.json"
    path.write_text('{"text": "donkey"}')
    opened(window, session, qtbot, path)
    assert window.document.path == path
    session.undo_stack.undo()
    assert window.document.path is None
    assert window.windowTitle() == "Embedding Inspector"


@pytest.mark.parametrize("menus", [("Layers", "GPT-2 small"), ("Layers", "Try a fault", "Data loader", "B201")])
def test_what_takes_the_place_of_a_file_is_not_saved_over_it(open_window, qtbot, tmp_path, monkeypatch, menus):
    window, session = open_window()
    path = tmp_path / "stage.json"
    session.set_value("seed", 7)
    window.document.save(path)
    saved = path.read_bytes()
    choose(window, *menus)
    asked = []
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *arguments: asked.append(arguments) or ("", ""))
    window.activateWindow()
    window.top_row.setFocus()
    QTest.mouseClick(window.top_row.save_button, Qt.MouseButton.LeftButton)
    assert len(asked) == 1
    assert path.read_bytes() == saved
    session.undo_stack.undo()
    assert (window.document.path, window.document.name) == (path, "stage.json")
    session.undo_stack.redo()
    assert window.document.path is None


def choose(window, *words):
    """Choose an entry of the menus, as a hand does: each of the words begins one."""
    actions = window.menuBar().actions()
    for word in words:
        (action,) = (a for a in actions if a.text().replace("&", "").startswith(word))
        if action.menu() is None:
            action.trigger()
            return
        action.menu().aboutToShow.emit()
        actions = action.menu().actions()


def test_where_it_cannot_be_written_it_says_so(open_window, tmp_path):
    window, _session = open_window()
    window.document.save(tmp_path / "no such folder" / "stage.json")
    assert "stage.json cannot be written" in window.notice_bar.words.text()


def test_several_files_are_opened_in_turn(open_window, qtbot, tmp_path):
    window, session = open_window()
    stage, notes = tmp_path / "stage.json", tmp_path / "notes.txt"
    stage.write_text('{"text": "lamp", "loader": {"stride": 2}}')
    notes.write_text("donkey")
    opened(window, session, qtbot, stage, notes)
    assert (session.config.text, session.config.loader.stride) == ("donkey", 2)


@pytest.mark.parametrize("place", ["batch_panel", "text_panel"])
def test_a_dropped_file_is_opened(open_window, qtbot, tmp_path, place):
    window, session = open_window()
    path = tmp_path / "notes.txt"
    path.write_text("donkey")
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    target = window.text_panel.editor.viewport() if place == "text_panel" else window.batch_panel
    how = Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Modifier.NoModifier
    enter = QDragEnterEvent(QPoint(5, 5), *how)
    QApplication.sendEvent(target, enter)
    assert enter.isAccepted()
    QApplication.sendEvent(target, QDropEvent(QPoint(5, 5), *how))
    qtbot.waitUntil(lambda: session.config.text == "donkey")


# ---- keys ----------------------------------------------------------------------------------------------------------


def test_f6_goes_from_panel_to_panel(open_window):
    window, _session = open_window()
    assert focused_panel(window) is window.text_panel
    seen = []
    for _ in window.panels:
        key(Qt.Key.Key_F6)
        seen.append(focused_panel(window))
    assert seen == [*window.panels[1:], window.panels[0]]
    key(Qt.Key.Key_F6, Modifier.ShiftModifier)
    assert focused_panel(window) is window.panels[-1]


def test_tab_leaves_the_text(open_window):
    window, session = open_window()
    key(Qt.Key.Key_Tab)
    assert focused_panel(window) is not window.text_panel
    assert session.config.text == resources.text("sample.txt")


def test_undo_is_the_texts_while_it_is_typed_in(open_window):
    window, session = open_window(text="lamp")
    session.set_value("loader.stride", 2)
    window.text_panel.setFocus()
    QTest.keyClicks(QApplication.focusWidget(), "x")
    assert window.window_actions.undo.text() == "&Undo typing"
    key(Qt.Key.Key_Z, Modifier.ControlModifier)
    assert (session.config.text, session.config.loader.stride) == ("lamp", 2)
    assert window.window_actions.undo.text() == "&Undo change loader.stride"
    key(Qt.Key.Key_Z, Modifier.ControlModifier)
    assert session.config.loader.stride == 4
    assert not window.window_actions.undo.isEnabled()
    key(Qt.Key.Key_Z, Modifier.ControlModifier | Modifier.ShiftModifier)
    assert session.config.text == "xlamp"


def test_undo_elsewhere_leaves_the_text(open_window):
    _window, session = open_window(text="lamp")
    QTest.keyClicks(QApplication.focusWidget(), "x")
    session.set_value("loader.stride", 2)
    key(Qt.Key.Key_F6)
    key(Qt.Key.Key_Z, Modifier.ControlModifier)
    assert (session.config.text, session.config.loader.stride) == ("xlamp", 4)


def test_escape_cancels_and_f5_builds_again(open_window, qtbot):
    _window, session = open_window()
    qtbot.waitUntil(lambda: session.rows.trace is not None, timeout=20_000)
    session.set_values({"token_embedding.embedding_dim": 4096, "position_embedding.embedding_dim": 4096}, "wide")
    key(Qt.Key.Key_Escape)
    assert session.rows.reason.startswith("Cancelled")
    assert session.busy == ""
    session.set_values({"token_embedding.embedding_dim": 8, "position_embedding.embedding_dim": 8}, "narrow")
    key(Qt.Key.Key_Escape)
    key(Qt.Key.Key_F5)
    qtbot.waitUntil(lambda: session.rows.trace is not None, timeout=20_000)


# ---- colours and what is remembered --------------------------------------------------------------------------------


def test_the_scheme_is_chosen_and_remembered(open_window, scheme, qtbot):
    window, _session = open_window()
    actions = {a.text(): a for m in window.menuBar().actions() for a in m.menu().actions()}

    def corner():
        return window.grab().toImage().pixelColor(2, window.height() - 2)

    actions["&Dark colors"].trigger()
    qtbot.waitUntil(lambda: corner() == theme.DARK.surface)
    assert QSettings().value("view/scheme") == "dark"
    actions["&Light colors"].trigger()
    qtbot.waitUntil(lambda: corner() == theme.LIGHT.surface)
    assert QSettings().value("view/scheme") == "light"


def test_the_size_is_remembered(open_window):
    window, _ = open_window((1300, 820))
    window.close()
    again, _ = open_window()
    again.resize(1, 1)
    QSettings().setValue("window/geometry", "nonsense")
    QSettings().setValue("window/columns", [1, 2])
    third, _ = open_window()
    assert third.isVisible()


def test_a_window_off_every_screen_comes_back(open_window, qtbot):
    window, _ = open_window()
    window.move(20_000, 20_000)
    window.close()
    again, _ = open_window()
    here = again.screen().availableGeometry()
    assert here.intersects(again.geometry())


# ---- exceptions, begin and end -------------------------------------------------------------------------------------


def test_an_unexpected_exception_is_a_sentence(qtbot, caplog):
    notice = app.ExceptionNotice()
    said = []
    notice.raised.connect(said.append)
    notice.install()
    try:
        sys.excepthook(ValueError, ValueError("what a surprise"), None)
        thread = threading.Thread(target=lambda: 1 / 0)
        thread.start()
        thread.join()
    finally:
        notice.remove()
    qtbot.waitUntil(lambda: len(said) == 2)
    assert said[0] == "Something unexpected happened (ValueError: what a surprise); the log says where."
    assert "ZeroDivisionError" in said[1]
    assert len(caplog.records) == 2
    assert sys.excepthook is sys.__excepthook__


CYCLE = """
import sys
from PySide6.QtCore import QTimer
from inspector.ui import app

begin = app.Program._on_painted
def then_quit(self, painted):
    begin(self, painted)
    QTimer.singleShot({delay}, self.window.close)
app.Program._on_painted = then_quit
sys.exit(app.run([]))
"""


@pytest.mark.parametrize("delay", [*[0] * 12, *[150] * 4, *[800] * 4])  # while torch is being loaded, too
def test_starts_and_ends_cleanly(tmp_path, delay):
    script = tmp_path / "cycle.py"
    script.write_text(CYCLE.format(delay=delay))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, str(script)], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (done.returncode, _chatter_free(done.stderr)) == (0, "")


def _chatter_free(words):
    return "\n".join(line for line in words.splitlines() if "propagateSizeHints" not in line)
