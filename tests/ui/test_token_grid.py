"""The batch and its grid, by mouse and keys: what is shown, what is chosen, what a hover says."""

from __future__ import annotations

import math

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolButton

from inspector.config import InputConfig
from inspector.diagnosis import Cell, Severity
from inspector.ui import theme
from inspector.ui.grid_model import DIAGNOSIS_ROLE, token_text
from inspector.ui.session import Session
from inspector.ui.token_grid import BatchPanel

LESSON = "The lamp keeper counted the ships by the sound of their bells, one for each boat that came home. " * 4
Role = Qt.ItemDataRole


@pytest.fixture
def open_panel(qtbot):
    sessions = []

    def open_(size=(510, 450), **values):
        source = {} if "token_ids" in values else {"text": LESSON}
        session = Session(InputConfig().with_values({**source, **values}))
        sessions.append(session)
        panel = BatchPanel(session)
        qtbot.addWidget(panel)
        panel.resize(*size)
        with qtbot.waitExposed(panel):
            panel.show()
        panel.activateWindow()
        session.start()
        qtbot.waitUntil(lambda: session.result is not None)
        panel.grid.setFocus()
        return panel, session

    yield open_
    for session in sessions:
        session.close()


def click(panel, row, column):
    grid = panel.grid
    QTest.mouseClick(
        grid.viewport(), Qt.MouseButton.LeftButton, pos=grid.visualRect(grid.model().index(row, column)).center()
    )


def keys(panel, *names):
    for name in names:
        modifier = Qt.KeyboardModifier.ControlModifier if name.startswith("Ctrl+") else Qt.KeyboardModifier.NoModifier
        QTest.keyClick(panel.grid, Qt.Key[f"Key_{name.removeprefix('Ctrl+')}"], modifier)


def said(panel, row, column, role=Role.DisplayRole):
    return panel.grid.model().index(row, column).data(role)


# ---- what is shown ---------------------------------------------------------------------------------------------------


def test_the_model_is_sound(open_panel, qtmodeltester):
    panel, _ = open_panel(**{"token_embedding.num_embeddings": 20000})
    qtmodeltester.check(panel.grid.model())


def test_ids_of_the_batch_stand_in_the_cells(open_panel):
    panel, session = open_panel()
    model = panel.grid.model()
    shown = [[int(said(panel, r, c)) for c in range(model.columnCount())] for r in range(model.rowCount())]
    assert shown == session.result.token_ids.tolist()
    assert len(shown) == 8
    assert len(shown[0]) == 4


def test_all_of_the_lesson_is_visible_and_fills_the_space(open_panel):
    panel, _ = open_panel()
    grid = panel.grid
    assert grid.whole_visible
    last = grid.visualRect(grid.model().index(7, 3))
    viewport = grid.viewport().rect()
    assert viewport.contains(last)
    assert viewport.right() - last.right() < 4
    assert viewport.bottom() - last.bottom() < 8


def test_eight_by_eight_is_seen_whole(open_panel):
    panel, _ = open_panel((580, 350), **{"loader.batch_size": 8, "loader.max_length": 8, "loader.stride": 8})
    assert panel.grid.model().rowCount() == panel.grid.model().columnCount() == 8
    assert panel.grid.whole_visible


def test_the_header_says_that_a_row_is_only_the_tokens_left_over(open_panel):
    panel, session = open_panel(**{"loader.batch_size": 40, "loader.max_length": 8, "loader.stride": 8})
    total = session.result.plan.samples
    assert session.result.grid.samples[-1] == total
    assert panel.samples.text() == f"samples 0–{total - 1} of {total}, and the tokens left over"


def test_header_says_which_batch_and_samples(open_panel):
    panel, session = open_panel()
    assert panel.title.text() == f"Batch 1 of {session.result.batches}"
    assert panel.samples.text() == f"samples 0–7 of {session.result.plan.samples}"
    keys(panel, "PageDown")
    assert panel.title.text() == f"Batch 2 of {session.result.batches}"
    assert panel.grid.model().headerData(0, Qt.Orientation.Vertical) == "8"
    assert panel.grid.model().headerData(3, Qt.Orientation.Horizontal) == "position 3"


@pytest.mark.parametrize(
    ("token_id", "shown"),
    [
        (464, "The"),
        (262, "·the"),
        (198, "↵"),
        (50256, "<|endoftext|>"),
        (50257, ""),
        (-1, ""),
        (1.5, ""),
        (188, "\\x00"),
    ],
)
def test_token_text_makes_everything_visible(token_id, shown):
    assert token_text("gpt2", token_id) == shown


def test_part_of_a_character_is_shown_as_its_bytes():
    assert token_text("gpt2", 447) == "\\xe2\\x80"


def test_ids_of_an_unknown_tokenizer_stand_alone(open_panel):
    panel, _ = open_panel(token_ids=((5, 6), (7, 8)), **{"tokenizer.encoding": None})
    assert said(panel, 0, 1) == "6"
    assert said(panel, 0, 1, Role.AccessibleTextRole) == "sample 0, position 1: ID 6"
    assert panel.title.text() == "IDs given as a batch"
    assert panel.samples.text() == ""


@pytest.mark.parametrize("ids", [((1.5, 2.0), (math.nan, 4.0)), ((1, 2, 3), (4,)), (7, 8, 9), ((),)])
def test_ids_that_are_no_batch_are_shown_as_they_are(open_panel, ids):
    panel, _ = open_panel(token_ids=ids)
    rows = ids if isinstance(ids[0], tuple) else (ids,)
    shown = [[said(panel, r, c) for c in range(len(row))] for r, row in enumerate(rows)]
    assert shown == [[str(i) for i in row] for row in rows]
    assert not panel.grid.grab().isNull()


def test_missing_cells_are_empty_and_the_loader_says_why(open_panel):
    panel, session = open_panel(text="Every effort moves you")
    model = panel.grid.model()
    assert (model.rowCount(), model.columnCount()) == (8, 4)
    assert said(panel, 5, 0) is None
    assert not model.index(5, 0).flags() & Qt.ItemFlag.ItemIsEnabled
    (verdict,) = [d for d in session.result.diagnoses if d.severity is Severity.ERROR]
    assert not panel.verdict.isHidden()
    assert verdict.message[1:] in panel.verdict.text()
    click(panel, 0, 1)
    click(panel, 5, 0)
    assert session.cell == Cell(0, 1)
    session.set_text(LESSON)
    assert panel.verdict.isHidden()


def test_an_empty_text_leaves_no_cell_to_choose(open_panel):
    panel, session = open_panel(text="")
    assert session.cell is None
    assert not panel.grid.currentIndex().isValid()
    assert not panel.verdict.isHidden()


def test_a_large_batch_keeps_a_legible_cell_and_scrolls(open_panel):
    values = {"loader.batch_size": 64, "loader.max_length": 1024, "loader.stride": 16}
    panel, session = open_panel(text=LESSON * 25, **values)
    grid = panel.grid
    assert not grid.whole_visible
    assert grid.columnWidth(0) >= grid.fontMetrics().horizontalAdvance("50257")
    keys(panel, "Ctrl+End")
    assert session.cell == Cell(len(session.result.grid.rows) - 1, 1023)
    assert grid.viewport().rect().contains(grid.visualRect(grid.currentIndex()).center())


# ---- faults ----------------------------------------------------------------------------------------------------------


def test_a_faulty_cell_has_a_mark_a_colour_and_words(open_panel, qtbot):
    panel, session = open_panel()
    assert said(panel, 0, 1, DIAGNOSIS_ROLE) is None
    calm = panel.grid.grab().toImage()
    session.set_value("token_embedding.num_embeddings", 20000)
    assert session.result.diagnoses
    fault = said(panel, 0, 1, DIAGNOSIS_ROLE)
    assert fault.code == "E301"
    assert said(panel, 0, 0, DIAGNOSIS_ROLE) is None
    assert said(panel, 0, 1, Role.BackgroundRole) == theme.colors(QGuiApplication.palette()).fault_wash
    assert fault.help[1:] in said(panel, 0, 1, Role.ToolTipRole).replace("&#x27;", "'")
    assert said(panel, 0, 1, Role.AccessibleTextRole).startswith("sample 0, position 1: ID 20450, ' lamp', fault: ")
    marked = panel.grid.grab().toImage()
    where = panel.grid.visualRect(panel.grid.model().index(0, 1)).center()
    where = panel.grid.viewport().mapTo(panel.grid, where + QPoint(20, 0))
    assert calm.pixelColor(where) != marked.pixelColor(where)


def test_a_fault_outranks_a_warning_in_its_cell(open_panel):
    panel, session = open_panel(**{"token_embedding.padding_idx": 262})
    (cell,) = [c for d in session.result.diagnoses for c in d.cells]
    assert said(panel, *cell, DIAGNOSIS_ROLE).severity is Severity.WARNING
    session.set_value("position_embedding.offset", 3)  # no row for positions 1 to 3
    assert sum(cell in d.cells for d in session.result.diagnoses) == 2
    assert said(panel, *cell, DIAGNOSIS_ROLE).severity is Severity.ERROR


def test_hover_tells_token_bytes_and_target(open_panel):
    panel, session = open_panel()
    tip = said(panel, 0, 0, Role.ToolTipRole)
    target = session.result.grid.targets[0][0]
    for words in ("ID 464", "&#x27;The&#x27;", "bytes 54 68 65", f"target ID {target}", "sample 0, position 0"):
        assert words in tip


def test_markup_in_a_token_is_not_markup_in_its_tooltip(open_panel):
    panel, _ = open_panel(token_ids=((50256, 1),))
    assert "&lt;|endoftext|&gt;" in said(panel, 0, 0, Role.ToolTipRole)


def test_cells_of_the_chosen_diagnosis_are_outlined(open_panel):
    panel, session = open_panel(**{"token_embedding.num_embeddings": 20000})
    (fault,) = [d for d in session.result.diagnoses if d.severity is Severity.ERROR]
    before = panel.grid.grab().toImage()
    session.set_diagnosis(fault)
    assert session.cell == fault.cells[0]
    session.set_cell(7, 3)
    second = panel.grid.visualRect(panel.grid.model().index(*fault.cells[1]))
    edge = panel.grid.viewport().mapTo(panel.grid, QPoint(second.center().x(), second.top() + 1))
    assert before.pixelColor(edge) != panel.grid.grab().toImage().pixelColor(edge)


# ---- gestures --------------------------------------------------------------------------------------------------------


def test_a_click_chooses_a_cell(open_panel):
    panel, session = open_panel()
    click(panel, 6, 2)
    assert session.cell == Cell(6, 2)
    assert panel.grid.currentIndex() == panel.grid.model().index(6, 2)


@pytest.mark.parametrize(
    ("pressed", "cell"),
    [
        (["Right"], (3, 2)),
        (["Left"], (3, 0)),
        (["Down", "Down"], (5, 1)),
        (["Up"], (2, 1)),
        (["Home"], (3, 0)),
        (["End"], (3, 3)),
        (["Ctrl+Home"], (0, 0)),
        (["Ctrl+End"], (7, 3)),
        (["5"], (3, 1)),
    ],
)
def test_keys_move_the_chosen_cell(open_panel, pressed, cell):
    panel, session = open_panel()
    click(panel, 3, 1)
    keys(panel, *pressed)
    assert session.cell == Cell(*cell)


def test_end_goes_to_the_last_id_of_a_short_row(open_panel):
    panel, session = open_panel(token_ids=((1, 2, 3), (4, 5)))
    click(panel, 1, 0)
    keys(panel, "End")
    assert session.cell == Cell(1, 1)
    keys(panel, "Ctrl+Home", "Ctrl+End")
    assert session.cell == Cell(1, 1)


def test_the_session_chooses_the_cell_that_is_current(open_panel):
    panel, session = open_panel()
    session.set_cell(4, 3)
    assert panel.grid.currentIndex() == panel.grid.model().index(4, 3)
    session.set_text(LESSON + "More.")
    assert panel.grid.currentIndex() == panel.grid.model().index(4, 3)


def test_page_keys_turn_batches_and_keep_the_cell(open_panel):
    panel, session = open_panel()
    click(panel, 2, 2)
    keys(panel, "PageDown")
    assert (session.result.batch, session.cell) == (1, Cell(2, 2))
    keys(panel, "PageUp", "PageUp")
    assert (session.result.batch, session.cell) == (0, Cell(2, 2))


def test_tab_leaves_the_grid(open_panel):
    panel, session = open_panel()
    QTest.keyClick(panel.grid, Qt.Key.Key_Tab)
    assert not panel.grid.hasFocus()
    assert session.cell == Cell(0, 0)


def test_buttons_and_shortcuts_turn_batches(open_panel):
    panel, session = open_panel()
    last = session.result.batches - 1
    buttons = {b.accessibleName(): b for b in panel.findChildren(QToolButton)}
    assert not buttons["Previous batch"].isEnabled()
    QTest.mouseClick(buttons["Last batch"], Qt.MouseButton.LeftButton)
    assert session.result.batch == last
    assert not buttons["Next batch"].isEnabled()
    QTest.mouseClick(buttons["Previous batch"], Qt.MouseButton.LeftButton)
    assert session.result.batch == last - 1
    QTest.keyClick(panel.grid, Qt.Key.Key_PageDown, Qt.KeyboardModifier.ControlModifier)
    assert session.result.batch == last
    QTest.mouseClick(buttons["First batch"], Qt.MouseButton.LeftButton)
    assert session.result.batch == 0
    assert "Ctrl+" in buttons["Next batch"].toolTip()


def test_any_of_many_batches_is_reached_by_its_number(open_panel):
    panel, session = open_panel(text="a b c d " * 4000, **{"loader.batch_size": 1, "loader.stride": 1})
    assert session.result.batches > 10_000
    number = panel.pager.number
    number.setFocus()
    number.selectAll()
    QTest.keyClicks(number, "9000")
    assert session.result.batch == 0
    QTest.keyClick(number, Qt.Key.Key_Return)
    assert session.result.batch == 8999
    assert panel.title.text().startswith("Batch 9,000 of ")


def test_the_bar_of_a_wide_batch_covers_no_row(open_panel):
    panel, _ = open_panel(token_ids=tuple(tuple(range(8 * i, 8 * i + 8)) for i in range(8)))
    panel.resize(514, 420)
    QApplication.processEvents()
    grid = panel.grid
    assert grid.horizontalScrollBar().maximum() > 0
    assert grid.verticalScrollBar().maximum() == 0
    last = grid.visualRect(grid.model().index(7, 0))
    assert grid.viewport().rect().bottom() >= last.bottom()
    assert grid.columnWidth(0) >= grid._cells.smallest.width()
