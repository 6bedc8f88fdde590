"""The whole story in the window, by clicks and keys: type, choose, see three curves, break it, see who is at fault."""

from __future__ import annotations

import pytest
import torch
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QWidget
from torch import nn
from torch.utils.data import DataLoader

from inspector import material, tokenizer
from inspector.diagnosis import Cell, Severity, Stage
from inspector.ui import app, theme
from inspector.ui.diagnosis_detail import NO_FAULT, SUM_PROVED
from inspector.ui.grid_model import DIAGNOSIS_ROLE

SAMPLE = material.sample()
KINDS = ("token", "position", "sum")
TORCH_MS = 60_000  # the first of these tests imports it
TYPED = 12  # letters of a text that are typed one by one
DONKEYS = "donkey " * 40

Key = Qt.Key
CONTROL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier
ALT = Qt.KeyboardModifier.AltModifier


class Lesson:
    """The lesson as a notebook has it: torch's own loader and layers, nothing of ours but the tokenizer."""

    def __init__(self, text, token=(50257, 256), position=(4, 256)):
        ids = tokenizer.gpt2().encode(text, special=False)
        samples = [torch.tensor(ids[start : start + 4]) for start in range(0, len(ids) - 4, 4)]
        self.batches = list(DataLoader(samples, batch_size=8, shuffle=False, drop_last=True))
        torch.manual_seed(123)
        self.tok_emb = nn.Embedding(*token)
        self.pos_emb = nn.Embedding(*position)

    def rows(self, cell, batch=0):
        """Return the rows of a cell, as the whole batch's forward gives them."""
        with torch.no_grad():
            tokens, positions = self.tok_emb(self.batches[batch]), self.pos_emb(torch.arange(4))
            total = tokens + positions  # (batch_size, max_length, embedding_dim)
        found = tokens[*cell], positions[cell[1]], total[*cell]
        return dict(zip(KINDS, (row.numpy() for row in found), strict=True))


class Story:
    """A person before the window: what they do, and what they see."""

    def __init__(self, window, session, qtbot):
        self.window = window
        self.session = session
        self.qtbot = qtbot
        self.grid = window.batch_panel.grid
        self.editor = window.text_panel.editor
        self.plots = window.rows_panel.view.plots

    # ---- does

    def key(self, key, modifier=Qt.KeyboardModifier.NoModifier):
        QTest.keyClick(QApplication.focusWidget(), key, modifier)

    def type(self, words):
        for letter in words:
            QTest.keyClicks(QApplication.focusWidget(), letter)

    def click(self, widget, place=None, modifier=Qt.KeyboardModifier.NoModifier):
        QTest.mouseClick(widget, Qt.MouseButton.LeftButton, modifier, place or widget.rect().center())

    def click_cell(self, row, column):
        self.click(self.grid.viewport(), self.grid.visualRect(self.grid.model().index(row, column)).center())

    def click_text(self, character):
        before = self.editor.cursorRect(self.editor.selecting(character, character))
        self.click(self.editor.viewport(), QPoint(before.left() + 2, before.center().y()))

    def type_text(self, text):
        """Write a text in place of the one there is; a long one is pasted but for its last letters."""
        assert self.editor.hasFocus()
        self.key(Key.Key_A, CONTROL)
        self.key(Key.Key_Delete)
        if len(text) > TYPED:
            QGuiApplication.clipboard().setText(text[:-TYPED])
            self.key(Key.Key_V, CONTROL)
        self.type(text[-TYPED:])

    def type_value(self, name, value):
        """Write a value over that of an argument, and stay in its field."""
        field = self.field(name)
        self.click(field)
        self.key(Key.Key_A, CONTROL)
        self.type(str(value))

    def choose_in_menu(self, title, words):
        """Open a menu by a click, and go down to one of its actions by keys."""
        bar = self.window.menuBar()
        (opened,) = (action for action in bar.actions() if action.text().replace("&", "") == title)
        self.click(bar, bar.actionGeometry(opened).center())
        menu = QApplication.activePopupWidget()
        for _ in menu.actions():
            QTest.keyClick(menu, Key.Key_Down)
            if menu.activeAction().text().replace("&", "") == words:
                QTest.keyClick(menu, Key.Key_Return)
                return
        raise AssertionError(f"the menu {title} has no {words}")

    def go_to(self, panel):
        """Go to a panel with F6."""
        for _ in self.window.panels:
            focused = QApplication.focusWidget()
            if panel is focused or panel.isAncestorOf(focused):
                return
            self.key(Key.Key_F6)
        raise AssertionError(f"F6 does not lead to {panel}")

    def tab_to(self, widget, modifier=Qt.KeyboardModifier.NoModifier):
        """Go on with Tab until a widget has the focus."""
        for _ in range(60):
            if QApplication.focusWidget() is widget:
                return
            self.key(Key.Key_Tab, modifier)
        raise AssertionError(f"Tab does not lead to {accessible_name(widget)}")

    def wait_for_rows(self):
        """Wait for what goes on in the background."""
        settled = lambda: not self.session.busy and not self.session._pause.isActive()  # noqa: E731
        self.qtbot.waitUntil(settled, timeout=TORCH_MS)

    # ---- sees

    def field(self, name):
        return self.window.layers_panel.field(name)

    def ids(self):
        model = self.grid.model()
        places = [[model.index(r, c) for c in range(model.columnCount())] for r in range(model.rowCount())]
        return [[int(i.data()) for i in row if i.data() is not None] for row in places]

    def chosen_cell(self):
        index = self.grid.currentIndex()
        assert self.session.cell == Cell(index.row(), index.column())
        return tuple(self.session.cell)

    def marked_cells(self):
        model = self.grid.model()
        places = [(r, c) for r in range(model.rowCount()) for c in range(model.columnCount())]
        return {place for place in places if model.index(*place).data(DIAGNOSIS_ROLE) is not None}

    def marked_fields(self):
        fields = self.window.layers_panel._fields
        return {name for name, field in fields.items() if field.mark and field.mark.severity is Severity.ERROR}

    def faulty_stages(self):
        """Return the stages that the strip calls faulty."""
        boxes = self.window.stage_strip.boxes
        return [stage for stage, box in boxes.items() if ": fault, " in box.accessibleName()]

    def plot_words(self, kind):
        return self.plots[kind].backdrop.words

    def curve(self, kind):
        """Return what a plot draws; None where it says something instead."""
        plot = self.plots[kind]
        assert plot.curve.isVisible() is not bool(plot.backdrop.words)
        return None if plot.backdrop.words else plot.curve.getData()[1]

    def said(self):
        """Return the words on screen below the strip."""
        return [label.text() for label in self.window.diagnosis_panel.findChildren(QLabel) if label.isVisible()]

    def underlined(self):
        marks = self.editor.extraSelections()
        return [mark.cursor.selectedText() for mark in marks if mark.format.fontUnderline()]

    def color_at(self, widget, place):
        return widget.grab().toImage().pixelColor(place)

    # ---- expects

    def sees_rows(self, lesson, cell, batch=0):
        """The cell is chosen, and the three curves are torch's own rows, bit for bit."""
        assert self.chosen_cell() == cell
        for kind, row in lesson.rows(cell, batch).items():
            drawn = self.curve(kind)
            assert drawn is not None, self.plot_words(kind)
            assert (drawn.dtype, drawn.tobytes()) == (row.dtype, row.tobytes()), kind

    def sees_no_fault(self):
        assert self.marked_cells() == self.marked_fields() == set()
        assert self.faulty_stages() == []
        assert NO_FAULT in self.said()
        assert not any(self.plot_words(kind) for kind in KINDS)


@pytest.fixture
def story(qtbot, qapp):
    """The program as it starts, with its rows there, at the size it is made for."""
    program = app.Program(qapp, [], "light")
    window, session = program.window, program.session
    with qtbot.waitSignal(window.painted):
        window.showNormal()
    window.resize(1280, 800)
    window.activateWindow()
    qtbot.waitUntil(lambda: session.rows.trace is not None, timeout=TORCH_MS)
    QApplication.processEvents()  # what came last is laid out
    yield Story(window, session, qtbot)
    program.end()
    qapp.setPalette(theme.palette(theme.LIGHT))


@pytest.fixture(scope="module")
def lesson():
    return Lesson(SAMPLE)


# ---- start, choose, page ---------------------------------------------------------------------------------------------


def test_it_starts_with_the_lesson(story, lesson):
    assert story.editor.text == SAMPLE
    assert story.editor.hasFocus()
    assert story.window.batch_panel.title.text() == "Batch 1 of 2"
    assert story.ids() == lesson.batches[0].tolist()
    story.sees_rows(lesson, (0, 0))
    story.sees_no_fault()
    assert SUM_PROVED in story.said()
    assert story.underlined() == ["The"]


def test_a_click_on_a_cell_shows_its_rows(story, lesson):
    for cell in ((2, 1), (7, 3), (0, 2)):
        story.click_cell(*cell)
        story.sees_rows(lesson, cell)
        assert story.window.rows_panel.title.text() == f"Sample {cell[0]}, position {cell[1]}"
    assert story.underlined() == [" keeper"]


def test_arrows_home_and_end_choose_cells(story, lesson):
    story.click_cell(3, 1)
    for key, cell in (
        (Key.Key_Right, (3, 2)),
        (Key.Key_Down, (4, 2)),
        (Key.Key_End, (4, 3)),
        (Key.Key_Right, (4, 3)),
        (Key.Key_Up, (3, 3)),
        (Key.Key_Home, (3, 0)),
        (Key.Key_Left, (3, 0)),
    ):
        story.key(key)
        story.sees_rows(lesson, cell)
    story.key(Key.Key_End, CONTROL)
    story.sees_rows(lesson, (7, 3))
    story.key(Key.Key_Home, CONTROL)
    story.sees_rows(lesson, (0, 0))


def test_page_keys_and_buttons_go_to_other_batches(story, lesson):
    story.click_cell(5, 2)
    story.key(Key.Key_PageDown)
    assert story.ids() == lesson.batches[1].tolist()
    assert story.window.batch_panel.title.text() == "Batch 2 of 2"
    story.sees_rows(lesson, (5, 2), batch=1)
    story.key(Key.Key_PageDown)  # there is no third
    story.sees_rows(lesson, (5, 2), batch=1)
    story.key(Key.Key_PageUp)
    story.sees_rows(lesson, (5, 2))
    story.click(story.window.batch_panel.pager.number)
    story.key(Key.Key_A, CONTROL)
    story.type("2")
    story.key(Key.Key_Return)
    story.sees_rows(lesson, (5, 2), batch=1)


# ---- the text --------------------------------------------------------------------------------------------------------


def test_ids_and_curves_follow_what_is_typed(story):
    story.key(Key.Key_Home, CONTROL)
    typed = ""
    for letter in "donkey ":
        story.type(letter)
        typed += letter
        assert story.editor.text == typed + SAMPLE
        written = Lesson(typed + SAMPLE)
        assert story.ids() == written.batches[0].tolist()
        story.sees_rows(written, (0, 0))
    story.key(Key.Key_Z, CONTROL)
    story.sees_rows(Lesson(SAMPLE), (0, 0))


def test_a_click_in_the_text_chooses_the_cell_of_the_token(story, lesson):
    for word, batch in ((" lamp", 0), (" donkey", 1), (" twice", 1), (" ships", 0)):
        (token,) = tokenizer.gpt2().encode(word, special=False)
        ((row, column),) = (lesson.batches[batch] == token).nonzero().tolist()
        story.click_text(SAMPLE.index(word) + 2)
        story.sees_rows(lesson, (row, column), batch)
        assert story.underlined() == [word]
        assert story.plots["token"].caption.title == f'tok_emb.weight[{token}]  "·{word.strip()}"'
    assert story.editor.hasFocus()


# ---- faults ----------------------------------------------------------------------------------------------------------


def test_a_vocabulary_too_small_is_seen_fixed_undone_and_fixed_again(story):
    story.type_text(DONKEYS)
    written = Lesson(DONKEYS)
    story.click_cell(0, 0)
    story.sees_rows(written, (0, 0))
    story.type_value("token_embedding.num_embeddings", 50000)
    story.key(Key.Key_Tab)
    story.wait_for_rows()
    donkeys = {(r, c) for r, ids in enumerate(story.ids()) for c, token in enumerate(ids) if token >= 50000}
    assert donkeys

    def sees_the_fault():
        assert story.field("token_embedding.num_embeddings").text() == "50000"
        assert story.marked_cells() == donkeys
        assert story.marked_fields() == {"token_embedding.num_embeddings"}
        assert story.faulty_stages() == [Stage.TOKEN_EMBEDDING]
        assert story.window.stage_strip.boxes[Stage.SUM].output == "blocked"
        words = "Token ID 50085 (' donkey') has no row in the token table, whose rows are 0 to 49999"
        assert words in story.said()
        assert "Set vocab_size to 50257, the size of the gpt2 vocabulary." in story.said()
        assert "PyTorch says: IndexError: index out of range in self" in story.said()

    sees_the_fault()
    small = Lesson(DONKEYS, token=(50000, 256))
    place = min(donkeys)
    story.click_cell(*place)
    assert story.curve("token") is story.curve("sum") is None
    assert story.plot_words("token") == "ID 50085 has no row: rows are 0 to 49999"
    assert story.plot_words("sum") == "blocked: there is no token row to add"
    with torch.no_grad():
        assert story.curve("position").tobytes() == small.pos_emb.weight[place[1]].numpy().tobytes()

    story.click(story.window.diagnosis_panel.fix_button)
    story.wait_for_rows()
    assert story.field("token_embedding.num_embeddings").text() == "50257"
    story.sees_no_fault()
    story.sees_rows(written, place)
    story.key(Key.Key_Z, CONTROL)
    story.wait_for_rows()
    sees_the_fault()
    story.key(Key.Key_Z, CONTROL | SHIFT)
    story.wait_for_rows()
    story.sees_no_fault()
    story.sees_rows(written, place)


def test_one_output_dim_of_128_leaves_the_rows_and_no_sum(story):
    story.type_value("position_embedding.embedding_dim", 128)
    story.wait_for_rows()
    assert story.marked_fields() == {"position_embedding.embedding_dim"}
    assert story.faulty_stages() == [Stage.POSITION_EMBEDDING]
    narrow = Lesson(SAMPLE, position=(4, 128))
    story.click_cell(1, 3)
    with torch.no_grad():
        token = narrow.tok_emb(narrow.batches[0][1, 3]).numpy()
        position = narrow.pos_emb(torch.tensor(3)).numpy()
    assert story.curve("token").tobytes() == token.tobytes()
    assert story.curve("position").tobytes() == position.tobytes()
    assert story.plot_words("sum") == "256 and 128 values cannot be added"
    words = "size of tensor a (256) must match the size of tensor b (128)"
    assert any(words in text for text in story.said())


def test_layers_exchanged_are_recognised(story, lesson):
    story.type_value("token_embedding.num_embeddings", 4)
    story.type_value("position_embedding.num_embeddings", 50257)
    story.wait_for_rows()
    assert story.marked_fields() == {"token_embedding.num_embeddings", "position_embedding.num_embeddings"}
    assert story.faulty_stages() == [Stage.TOKEN_EMBEDDING]
    assert any("The two layers have each other's sizes" in text for text in story.said())
    assert story.curve("sum") is None
    story.click(story.window.diagnosis_panel.fix_button)
    story.wait_for_rows()
    story.sees_no_fault()
    story.sees_rows(lesson, (0, 0))


def test_a_context_too_short_marks_the_last_column(story):
    story.type_value("position_embedding.num_embeddings", 3)
    story.wait_for_rows()
    assert story.marked_cells() == {(row, 3) for row in range(8)}
    assert story.marked_fields() == {"position_embedding.num_embeddings"}
    assert story.faulty_stages() == [Stage.POSITION_EMBEDDING]
    short = Lesson(SAMPLE, position=(3, 256))
    story.click_cell(2, 3)
    with torch.no_grad():
        assert story.curve("token").tobytes() == short.tok_emb(short.batches[0][2, 3]).numpy().tobytes()
    assert story.plot_words("position") == "position 3 has no row: rows are 0 to 2"
    assert story.plot_words("sum") == "blocked: there is no position row to add"
    story.click_cell(2, 2)
    with torch.no_grad():
        assert story.curve("position").tobytes() == short.pos_emb.weight[2].numpy().tobytes()


def test_no_text_is_said_and_not_drawn(story, lesson):
    story.type_text("")
    assert story.ids() == [[] for _ in range(8)]
    assert story.session.cell is None
    assert story.faulty_stages() == [Stage.DATA_LOADER]
    assert story.editor.placeholderText().startswith("Type or paste a text")
    assert any(text.startswith("0 tokens give no sample") for text in story.said())
    assert any("at least 5 tokens" in text for text in story.said())
    assert all(story.plot_words(kind) == "there is no token to look up" for kind in KINDS)
    story.key(Key.Key_Z, CONTROL)
    story.sees_no_fault()
    story.sees_rows(lesson, (0, 0))


def test_three_tokens_fill_part_of_the_grid(story):
    story.type_text("I counted it")
    ids = tokenizer.gpt2().encode("I counted it", special=False)
    assert story.ids() == [ids, *([] for _ in range(7))]
    assert story.faulty_stages() == [Stage.DATA_LOADER]
    verdict = story.window.batch_panel.verdict
    assert verdict.isVisible()
    assert verdict.text() == "▲ 3 tokens give no sample: a window of max_length 4 and its target need 5"
    story.click_cell(0, 2)
    assert story.chosen_cell() == (0, 2)
    story.click_cell(4, 1)  # nothing is there
    assert story.chosen_cell() == (0, 2)


def test_nonsense_in_a_field_is_said_and_the_value_kept(story, lesson):
    story.type_value("loader.max_length", "abc")
    complaint = "▲ “abc” is not a number; 4 is still used"
    assert story.window.layers_panel.complaint.text() == complaint
    assert story.field("loader.max_length").text() == "abc"
    assert story.session.config.loader.max_length == 4
    story.sees_rows(lesson, (0, 0))
    story.click_cell(1, 1)  # it stays, to be mended
    assert story.window.layers_panel.complaint.text() == complaint
    story.sees_rows(lesson, (1, 1))
    story.click(story.field("loader.max_length"))
    story.key(Key.Key_Z, CONTROL)
    assert story.field("loader.max_length").text() == "4"
    assert story.window.layers_panel.complaint.text() == ""
    story.sees_no_fault()


# ---- colours, names, keyboard ----------------------------------------------------------------------------------------


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)  # what a menu asks of the screen
def test_light_and_dark_are_chosen_in_the_menu(story, lesson):
    corner = QPoint(2, story.window.height() - 3)
    for words, colors in (("Dark colors", theme.DARK), ("Light colors", theme.LIGHT)):
        story.choose_in_menu("View", words)
        story.qtbot.waitUntil(lambda: story.color_at(story.window, corner) == colors.surface)  # noqa: B023
        story.click_cell(1, 2)
        rows = story.window.rows_panel.view.grab().toImage()
        seen = {rows.pixelColor(x, y).name() for x in range(rows.width()) for y in range(rows.height())}
        for color in (colors.token, colors.position, colors.sum):
            assert color.name() in seen
        story.sees_rows(lesson, (1, 2))


def test_whatever_takes_the_focus_has_a_name(story):
    story.type_value("token_embedding.num_embeddings", 300)
    story.click(story.window.layers_panel.more_button)
    story.wait_for_rows()
    stops = tab_stops(story.window)
    assert len(stops) > 30
    assert [type(widget) for widget in stops if not accessible_name(widget)] == []
    fields = [field.accessibleName() for field in story.window.layers_panel._fields.values()]
    assert len(set(fields)) == len(fields)


def tab_stops(window):
    """Return what the Tab key should lead to."""
    stops = [w for w in window.findChildren(QWidget) if w.focusPolicy() & Qt.FocusPolicy.TabFocus]
    return [w for w in stops if w.isVisible() and w.isEnabled() and w.focusProxy() is None]


def test_tab_leads_to_whatever_takes_the_focus(story):
    story.type_value("token_embedding.num_embeddings", 300)
    story.wait_for_rows()
    stops, reached = tab_stops(story.window), []
    while QApplication.focusWidget() not in reached:
        reached.append(QApplication.focusWidget())
        story.key(Key.Key_Tab)
    assert {accessible_name(w) for w in stops} - {accessible_name(w) for w in reached} == set()


def accessible_name(widget):
    """Return what a screen reader says."""
    return QAccessible.queryAccessibleInterface(widget).text(QAccessible.Text.Name).strip()


def test_all_of_it_without_a_mouse(story):
    window = story.window
    story.type_text(DONKEYS)
    written = Lesson(DONKEYS)
    story.sees_rows(written, (0, 0))

    story.go_to(window.batch_panel)
    story.key(Key.Key_Right)
    story.key(Key.Key_Down)
    story.sees_rows(written, (1, 1))

    story.go_to(window.layers_panel)
    story.tab_to(story.field("token_embedding.num_embeddings"))
    story.key(Key.Key_A, CONTROL)
    story.type("50000")
    story.wait_for_rows()
    assert story.faulty_stages() == [Stage.TOKEN_EMBEDDING]

    story.go_to(window.rows_panel)
    assert story.curve("token") is None
    story.key(Key.Key_End)
    assert window.rows_panel.read_out.values[0] == "255"

    story.go_to(window.stage_strip)
    story.tab_to(window.stage_strip.boxes[Stage.TOKEN_EMBEDDING])
    story.key(Key.Key_Return)
    assert story.session.diagnosis.name == "token-id-out-of-range"
    assert story.chosen_cell() == min(story.marked_cells())

    story.go_to(window.diagnosis_panel)
    story.tab_to(window.diagnosis_panel.fix_button, SHIFT)
    story.key(Key.Key_Space)
    story.wait_for_rows()
    story.sees_no_fault()
    story.sees_rows(written, story.chosen_cell())

    story.go_to(window.batch_panel)
    story.key(Key.Key_Z, CONTROL)
    story.wait_for_rows()
    assert story.field("token_embedding.num_embeddings").text() == "50000"
    assert story.faulty_stages() == [Stage.TOKEN_EMBEDDING]
    story.key(Key.Key_Z, CONTROL | SHIFT)
    story.wait_for_rows()
    story.sees_no_fault()
    story.key(Key.Key_Home, CONTROL)
    story.sees_rows(written, (0, 0))


# ---- one sitting -----------------------------------------------------------------------------------------------------


def test_one_sitting_from_start_to_end(story, lesson):
    """One fault after the other in one window, each repaired by its button, and all of it undone in the end."""
    story.click_cell(6, 1)
    story.sees_rows(lesson, (6, 1))
    story.key(Key.Key_PageDown)
    story.sees_rows(lesson, (6, 1), batch=1)
    faults = (
        ("position_embedding.num_embeddings", 3, Stage.POSITION_EMBEDDING, "P401"),
        ("position_embedding.embedding_dim", 128, Stage.POSITION_EMBEDDING, "P403"),
        ("token_embedding.num_embeddings", 20000, Stage.TOKEN_EMBEDDING, "E301"),
        ("loader.stride", 0, Stage.DATA_LOADER, "B201"),
    )
    for name, value, stage, code in faults:
        story.type_value(name, value)
        story.key(Key.Key_Tab)
        story.wait_for_rows()
        assert story.faulty_stages() == [stage], name
        assert name in story.marked_fields()
        assert story.window.diagnosis_panel.diagnosis.code == code
        story.click(story.window.diagnosis_panel.fix_button)
        story.wait_for_rows()
        story.sees_no_fault()
        story.click_cell(6, 1)
        story.sees_rows(lesson, (6, 1), batch=story.session.result.batch)
    for _, value, stage, _ in reversed(faults):
        story.key(Key.Key_Z, CONTROL)
        story.wait_for_rows()
        assert story.faulty_stages() == [stage], value
        story.key(Key.Key_Z, CONTROL)
        story.wait_for_rows()
        story.sees_no_fault()
    assert not story.session.undo_stack.canUndo()
    story.click_cell(0, 0)
    story.sees_rows(lesson, (0, 0), batch=story.session.result.batch)
