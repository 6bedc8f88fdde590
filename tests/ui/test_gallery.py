"""The gallery: each kind of fault opens through the menu, shows itself and nothing worse, and is undone by one key."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel

from inspector import checks, resources
from inspector.config import InputConfig
from inspector.diagnosis import Cell, Severity, Stage
from inspector.ui import gallery, marks
from inspector.ui.arguments import ARGUMENTS, CHOICES, SWITCHES
from inspector.ui.main_window import MainWindow
from inspector.ui.session import Session
from inspector.ui.theme import SchemeFollower
from inspector.ui.token_grid import why_empty

# An inspection of one's own: not the default in text, arguments, batch, cell.
OWN_TEXT = resources.text("sample.txt") + "And so on. " * 40
OWN = {"loader.stride": 3, "token_embedding.num_embeddings": 50304}
KINDS = [kind for kind in checks.FAULTS if gallery.can_be_tried(kind)]


@pytest.fixture
def open_window(qtbot, qapp):
    scheme = SchemeFollower(qapp)
    windows = []

    def open_(text=OWN_TEXT, values=OWN):
        session = Session(InputConfig(text=text).with_values(values), pause_ms=0)
        window = MainWindow(session, scheme)
        windows.append(window)
        with qtbot.waitSignal(window.painted):
            window.showNormal()
        window.resize(1280, 800)
        window.activateWindow()
        session.start()
        qtbot.waitUntil(lambda: session.result is not None)
        return window, session

    yield open_
    for window in windows:
        window.close()
        window.deleteLater()
    scheme.deleteLater()


def menu_of(window, *titles):
    """Open a menu of the bar, and menus inside it, as a hand does; return the innermost."""
    actions = window.menuBar().actions()
    for title in titles:
        (menu,) = (a.menu() for a in actions if a.text().replace("&", "") == title)
        menu.aboutToShow.emit()
        actions = menu.actions()
    return menu


def entries(window):
    """Return all entries of the gallery by their text."""
    stages = menu_of(window, "Layers", "Try a fault").actions()
    return {entry.text(): entry for stage in stages for entry in stage.menu().actions()}


def own_of(session, kind):
    return [d for d in session.result.diagnoses if checks.of(d) is kind]


def undo():
    QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)


# ---- the menu --------------------------------------------------------------------------------------------------------


def test_the_menu_is_filled_when_it_is_first_opened(open_window):
    window, _ = open_window()
    (menu,) = window.findChildren(gallery.GalleryMenu)
    assert not menu.actions()
    found = entries(window)
    assert list(found) == [f"{kind.code}  {kind.name}" for kind in sorted(KINDS, key=_by_stage)]
    again = entries(window)
    assert list(again) == list(found)


def _by_stage(kind):
    """Return where a kind stands in the menu: stages in the order of their first kind, kinds in the registry's."""
    stages = list(dict.fromkeys(k.stage for k in KINDS))
    return stages.index(kind.stage), KINDS.index(kind)


def test_an_entry_says_what_it_is(open_window):
    window, _ = open_window()
    found = entries(window)
    for kind in KINDS:
        entry = found[f"{kind.code}  {kind.name}"]
        assert entry.toolTip() == entry.statusTip() == kind.summary
    assert menu_of(window, "Layers", "Try a fault", "Sum").toolTipsVisible()


def test_what_cannot_be_opened_is_left_out(open_window, monkeypatch):
    kept, unknown, missing, empty, *rest = checks.FAULTS
    changed = [
        kept,
        dataclasses.replace(unknown, example={"no_such_key": 1}),
        dataclasses.replace(missing, example={"text_file": "examples/not-in-this-installation.txt"}),
        dataclasses.replace(empty, example={}),
        *rest,
    ]
    monkeypatch.setattr(checks, "FAULTS", changed)
    window, _ = open_window()
    found = entries(window)
    assert f"{kept.code}  {kept.name}" in found
    for kind in (unknown, missing, empty):
        assert f"{kind.code}  {kind.name}" not in found


def test_every_kind_of_typed_in_configurations_can_be_tried():
    typed_in = [kind for kind in checks.FAULTS if kind.code[0] in "TBEPGS" and kind.name != "rows-not-finite"]
    assert not [kind.name for kind in typed_in if not gallery.can_be_tried(kind)]


def test_files_of_an_example_are_found_among_the_resources(tmp_path, monkeypatch):
    monkeypatch.setattr(resources, "path", lambda name: tmp_path / name)
    assert gallery._found({"checkpoint": "examples/a.pt", "loader": {"stride": 2}, "text": "x"}) == {
        "checkpoint": str(tmp_path / "examples" / "a.pt"),
        "loader": {"stride": 2},
        "text": "x",
    }


# ---- each fault ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.code}-{kind.name}")
def test_a_fault_is_opened_shown_and_undone(open_window, qtbot, kind):
    window, session = open_window()
    session.set_batch(2)
    session.set_cell(3, 2)
    before, found_before = session.config, session.result.diagnoses
    entries(window)[f"{kind.code}  {kind.name}"].trigger()
    qtbot.waitUntil(lambda: session.diagnosis is not None)  # files are read in the background
    assert QApplication.activeModalWidget() is None
    assert session.notice == ""
    assert session.config == gallery.example(kind)
    _assert_shown(window, session, kind)
    window.batch_panel.setFocus()
    assert session.undo_stack.undoText() == f"try {kind.code} {kind.name}"
    undo()
    assert session.config == before
    qtbot.waitUntil(lambda: session.cell == Cell(3, 2))
    assert session.result.diagnoses == found_before
    assert (session.result.batch, session.cell, session.diagnosis) == (2, Cell(3, 2), None)
    assert window.text_panel.editor.text == OWN_TEXT
    assert not session.undo_stack.canUndo()
    session.undo_stack.redo()
    qtbot.waitUntil(lambda: bool(own_of(session, kind)))


def _assert_shown(window, session, kind):
    (found,) = own_of(session, kind)
    # the panel
    assert window.diagnosis_panel.diagnosis == found == session.diagnosis
    words = {label.text() for label in window.diagnosis_panel.findChildren(QLabel) if label.isVisible()}
    assert {marks.sentence(found), marks.advice(found)} <= words
    # the fields, those that are folded away too
    for name in found.fields:
        if name in ARGUMENTS or name in CHOICES or name in SWITCHES:
            field = window.layers_panel.field(name)
            assert field.isVisible(), name
            assert field.mark is not None, name
            assert (field.mark.message, field.mark.chosen) == (marks.message(found), True)
    # the cells
    model = window.batch_panel.grid.model()
    for cell in found.cells if found.severity is not Severity.NOTE else ():
        assert model.fault_at(*cell) == found
    if found.cells:
        assert session.cell == found.cells[0]
    # the strip
    boxes = window.stage_strip.boxes
    first = [stage for stage, box in boxes.items() if box._first]
    errors = [d.stage for d in session.result.diagnoses if d.severity is Severity.ERROR and d.stage in boxes]
    assert first == errors[:1]
    if kind.severity is Severity.ERROR and kind.stage in boxes:
        assert first == [kind.stage]
        assert boxes[kind.stage].isVisible()


# ---- undo ------------------------------------------------------------------------------------------------------------


def test_the_chosen_diagnosis_comes_back(open_window):
    _, session = open_window()
    chosen = session.result.diagnoses[-1]
    session.set_diagnosis(chosen)
    gallery.try_fault(session, checks.find("E301")[0])
    session.undo_stack.undo()
    assert session.diagnosis == chosen


def test_one_after_the_other_is_undone_one_by_one(open_window):
    _, session = open_window()
    first, second = checks.find("E301")[0], checks.find("P401")[0]
    gallery.try_fault(session, first)
    gallery.try_fault(session, second)
    gallery.try_fault(session, second)  # is there already
    assert session.diagnosis == own_of(session, second)[0]
    session.undo_stack.undo()
    assert session.config == gallery.example(first)
    session.undo_stack.undo()
    assert session.config.text == OWN_TEXT
    assert not session.undo_stack.canUndo()


def test_a_long_text_comes_back_with_its_batch_and_cell(open_window, qtbot):
    _, session = open_window(text=OWN_TEXT * 40)
    session.set_batch(90)
    session.set_cell(5, 1)
    gallery.try_fault(session, checks.find("B211")[0])
    session.undo_stack.undo()
    qtbot.waitUntil(lambda: session.result.batch == 90)
    qtbot.waitUntil(lambda: session.cell == Cell(5, 1))


def test_an_inspection_of_files_comes_back_with_its_cell(open_window, qtbot):
    _, session = open_window()
    own = gallery.example(checks.find("F612")[0]).with_values({"token_ids": ((1, 2, 3), (4, 5, 6))})
    session.replace_config(own, "open files")
    qtbot.waitUntil(lambda: bool(own_of(session, checks.find("F612")[0])))
    session.set_cell(1, 2)
    gallery.try_fault(session, checks.find("E301")[0])
    qtbot.waitUntil(lambda: session.cell == Cell(0, 2))
    session.undo_stack.undo()
    qtbot.waitUntil(lambda: session.cell == Cell(1, 2))
    assert own_of(session, checks.find("F612")[0])


def test_before_the_first_verdict(qtbot):
    session = Session(InputConfig(text=OWN_TEXT), pause_ms=0)
    session.start()
    kind = checks.find("E301")[0]
    gallery.try_fault(session, kind)
    qtbot.waitUntil(lambda: session.diagnosis is not None, timeout=20_000)
    assert session.diagnosis == own_of(session, kind)[0]
    session.close()


def tried(window, session, qtbot, code):
    gallery.try_fault(session, next(kind for kind in checks.FAULTS if kind.code == code))
    qtbot.waitUntil(lambda: session.diagnosis is not None and session.diagnosis.code == code, timeout=20_000)


def test_a_text_file_that_cannot_be_read_is_named_and_not_taken_for_ids(open_window, qtbot):
    window, session = open_window()
    tried(window, session, qtbot, "F601")
    name = "a-file-that-is-not-there.txt"
    assert window.text_panel.passage_page.note.text() == f"{name} is not there."
    assert window.batch_panel.title.text() == "No token IDs"
    assert why_empty(session.result) == f"No token IDs: {name} cannot be read."
    assert window.stage_strip.text_box.output == "blocked"


@pytest.mark.parametrize("code", ["F602", "F603", "F604"])
def test_the_window_shows_a_files_name_and_its_path_in_the_tool_tip(open_window, qtbot, code):
    window, session = open_window()
    tried(window, session, qtbot, code)
    path = session.config.checkpoint
    shown = [label.text() for label in window.findChildren(QLabel) if label.isVisible()]
    shown += [plot.backdrop.words for plot in window.rows_panel.view.plots.values()]
    assert not any(path in words for words in shown)
    assert any(words.startswith(Path(path).name) for words in shown)
    assert path in {label.toolTip() for label in window.diagnosis_panel.findChildren(QLabel)}
    assert path in window.stage_strip.boxes[Stage.FILE].toolTip()


def test_a_refused_text_has_no_rows_and_says_so(open_window, qtbot):
    window, session = open_window()
    tried(window, session, qtbot, "T101")
    assert "refused" in why_empty(session.result)
    assert window.batch_panel.grid.model().rowCount() == 0
