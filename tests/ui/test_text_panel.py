"""The text and its marks, by keys and mouse: the session gets the true text, and the editor keeps up at any size."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton

from inspector.config import InputConfig
from inspector.diagnosis import Cell
from inspector.ui import text_panel, theme
from inspector.ui.session import Session
from inspector.ui.text_panel import EXCERPT_CHARACTERS, TextPanel
from inspector.ui.text_units import characters_before, displayed, unit_count, units_before

LESSON = "The lamp keeper counted the ships by the sound of their bells, one for each boat that came home. "
MEGABYTE = "".join(f"{n} lamps and {n * 7} ships, " for n in range(45_000))[: 2**20]
HARD_TEXTS = [
    "",
    "x",
    "nul \0 and escape \x1b",
    "one\r\ntwo\rthree\nfour",
    "line \u2028 and paragraph \u2029 separators",
    "no\u00a0break",
    "emoji 👩‍👩‍👧‍👦 and 😀😀",
    "日本語のテキスト",
    "e\u0301 a\u0308 combining",
    "\ufeffbyte order mark",
    "noncharacters \ufdd0\ufdd1 and an object \ufffc",
    "next line \x85, form feed \x0c, vertical tab \x0b, tab \t",
    "<|endoftext|>",
    "\n\n\n",
    "a long line " * 250,
]


@pytest.fixture
def open_panel(qtbot):
    sessions = []

    def open_(text=LESSON, **values):
        session = Session(InputConfig(text=text).with_values(values))
        sessions.append(session)
        panel = TextPanel(session)
        qtbot.addWidget(panel)
        panel.resize(560, 180)
        with qtbot.waitExposed(panel):
            panel.show()
        panel.activateWindow()
        session.start()
        qtbot.waitUntil(lambda: session.result is not None)
        panel.editor.setFocus()
        return panel, session

    yield open_
    for session in sessions:
        session.close()


def shown(panel):
    """Return what the document holds, paragraph breaks as line feeds."""
    return panel.editor.document().toRawText().replace("\u2029", "\n")


def paste(panel, text):
    data = QMimeData()
    data.setText(text)
    panel.editor.insertFromMimeData(data)


def select_all(panel):
    QTest.keyClick(panel.editor, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)


def put_caret(panel, unit):
    cursor = panel.editor.textCursor()
    cursor.setPosition(unit)
    panel.editor.setTextCursor(cursor)


def place_of(panel, character):
    """Return a point on a shown character, in the viewport."""
    editor = panel.editor
    before = editor.cursorRect(editor.selecting(character, character))
    return QPoint(before.left() + 2, before.center().y())


def click(panel, character):
    QTest.mouseClick(panel.editor.viewport(), Qt.MouseButton.LeftButton, pos=place_of(panel, character))


def marked(panel, test):
    """Return the shown texts of the marks whose format passes a test."""
    return [mark.cursor.selectedText() for mark in panel.editor.extraSelections() if test(mark.format)]


def chosen(panel):
    return marked(panel, lambda look: look.fontUnderline())


def muted(panel):
    color = theme.colors(panel.palette()).muted
    return marked(panel, lambda look: look.foreground().color() == color)


def washed(panel):
    return [wash.cursor.selectedText() for wash in panel.editor.washes]


# ---- typing --------------------------------------------------------------------------------------------------------


def test_ids_follow_each_key(open_panel):
    panel, session = open_panel("")
    counts = []
    session.result_changed.connect(lambda result: counts.append((result.tokens.text, len(result.tokens.ids))))
    QTest.keyClicks(panel.editor, "donk")
    QTest.keyClick(panel.editor, Qt.Key.Key_Backspace)
    assert [text for text, _ in counts] == ["d", "do", "don", "donk", "don"]
    assert panel.info.text() == "3 characters · 1 token ID"
    assert panel.undo_stack.count() == 2


def test_an_empty_text_says_what_to_do(open_panel):
    panel, session = open_panel("")
    assert panel.editor.placeholderText().startswith("Type or paste")
    assert panel.info.text() == "0 characters · 0 token IDs"
    assert panel.editor.extraSelections() == []
    assert washed(panel) == []
    assert session.cell is None


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter])
@pytest.mark.parametrize("modifier", [Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier])
def test_enter_is_a_line_feed(open_panel, key, modifier):
    panel, session = open_panel("ab")
    put_caret(panel, 1)
    QTest.keyClick(panel.editor, key, modifier)
    assert session.config.text == "a\nb"
    assert shown(panel) == "a\nb"


def test_typing_over_everything(open_panel):
    panel, session = open_panel("😀 one\r\ntwo")
    select_all(panel)
    QTest.keyClicks(panel.editor, "z")
    assert session.config.text == "z"
    panel.undo_stack.undo()
    assert session.config.text == "😀 one\r\ntwo"
    assert shown(panel) == "😀 one⏎\ntwo"


@pytest.mark.parametrize("text", ["😀😀 bells", "\r\n\r\nbells", "\ufeff\0bells", "日本語 bells"])
def test_a_key_changes_only_its_place(open_panel, text):
    panel, session = open_panel(text)
    put_caret(panel, units_before(text, text.index("bells")))
    QTest.keyClicks(panel.editor, "x")
    assert session.config.text == text.replace("bells", "xbells")
    QTest.keyClick(panel.editor, Qt.Key.Key_Delete)
    assert session.config.text == text.replace("bells", "xells")
    QTest.keyClick(panel.editor, Qt.Key.Key_Backspace)
    assert session.config.text == text.replace("bells", "ells")
    assert panel.editor.text == session.config.text


def test_the_caret_stays_where_the_hand_is(open_panel):
    panel, session = open_panel()
    put_caret(panel, 40)
    QTest.keyClicks(panel.editor, "abc")
    assert panel.editor.textCursor().position() == 43
    session.set_cell(1, 1)
    assert panel.editor.textCursor().position() == 43


# ---- pasting -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", [t for t in HARD_TEXTS if t[:1] != "\ufeff"], ids=lambda text: ascii(text[:30])
)  # PySide drops a mark
def test_every_text_reaches_the_session_as_it_is(open_panel, text):
    panel, session = open_panel("before")
    select_all(panel)
    paste(panel, text)
    assert session.config.text == text
    assert panel.editor.text == text
    assert shown(panel) == displayed(text)
    put_caret(panel, panel.editor.document().characterCount() - 1)
    QTest.keyClicks(panel.editor, "!")
    assert session.config.text == text + "!"
    panel.undo_stack.undo()
    panel.undo_stack.undo()
    assert session.config.text == "before"
    panel.undo_stack.redo()
    assert session.config.text == text
    assert shown(panel) == displayed(text)


@pytest.mark.parametrize("text", [*HARD_TEXTS, "lone \ud800 surrogate \udfff"], ids=lambda text: ascii(text[:30]))
def test_every_text_can_be_opened(open_panel, text):
    panel, session = open_panel()
    session.replace_config(InputConfig(text=text), "open a text")
    assert shown(panel) == displayed(text)
    assert session.result.tokens is not None
    put_caret(panel, panel.editor.document().characterCount() - 1)
    QTest.keyClicks(panel.editor, "!")
    assert session.config.text == text + "!"


def test_copying_gives_the_true_characters(open_panel):
    panel, session = open_panel("one\r\ntwo\u00a0\u2029")
    select_all(panel)
    QTest.keyClick(panel.editor, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "one\r\ntwo\u00a0\u2029"
    QTest.keyClick(panel.editor, Qt.Key.Key_X, Qt.KeyboardModifier.ControlModifier)
    assert session.config.text == ""
    QTest.keyClick(panel.editor, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    assert session.config.text == "one\r\ntwo\u00a0\u2029"


# ---- undo ----------------------------------------------------------------------------------------------------------


def test_letters_typed_in_a_row_are_undone_together(open_panel):
    panel, session = open_panel("")
    QTest.keyClicks(panel.editor, "one two")
    QTest.keyClick(panel.editor, Qt.Key.Key_Return)
    QTest.keyClicks(panel.editor, "three")
    assert session.config.text == "one two\nthree"
    panel.undo_stack.undo()
    assert session.config.text == "one two\n"
    panel.undo_stack.undo()
    assert session.config.text == ""
    panel.undo_stack.redo()
    assert session.config.text == "one two\n"
    assert panel.editor.caret == len("one two\n")


def test_another_text_has_nothing_to_undo(open_panel):
    panel, session = open_panel("")
    QTest.keyClicks(panel.editor, "one")
    session.replace_config(InputConfig(text="two"), "open two")
    assert not panel.undo_stack.canUndo()
    session.undo_stack.undo()
    assert shown(panel) == "one"


# ---- marks and choosing --------------------------------------------------------------------------------------------


def test_marks_the_batch_and_the_chosen_token(open_panel):
    panel, session = open_panel(LESSON * 4)
    session.set_cell(0, 1)
    tokens = session.result.tokens
    _start, end = tokens.span(0, 32)
    assert chosen(panel) == [" lamp"]
    assert muted(panel) == [tokens.text[end:]]
    assert washed(panel)[:3] == ["The", " lamp", " keeper"]
    assert len(washed(panel)) == 32
    session.set_batch(1)
    assert muted(panel) == [tokens.text[: tokens.span(32, 33)[0]], tokens.text[tokens.span(0, 64)[1] :]]


def test_marks_characters_beyond_the_first_plane(open_panel):
    panel, session = open_panel("😀 the 😀 bells 😀😀 ring " * 6)
    for row, column in ((0, 0), (1, 2), (7, 3)):
        session.set_cell(row, column)
        index = session.result.grid.starts[row] + column
        assert chosen(panel) == [session.result.tokens.text[slice(*session.result.tokens.span(index, index + 1))]]


@pytest.mark.parametrize("text", ["日本語のテキスト、灯台守の夜。" * 8, "🏳️‍🌈👩‍👩‍👧‍👦" * 12, LESSON * 4])
def test_every_token_of_the_batch_is_marked_where_it_is(open_panel, text):
    panel, session = open_panel(text)
    tokens = session.result.tokens
    expected = [tokens.text[slice(*tokens.span(i, i + 1))] for i in range(32)]
    assert washed(panel) == expected


def test_a_batch_of_very_many_tokens_is_marked_as_a_whole(open_panel):
    panel, session = open_panel(LESSON * 40, **{"loader.batch_size": 32, "loader.max_length": 16, "loader.stride": 16})
    assert len(washed(panel)) == 1
    assert chosen(panel) == ["The"]
    assert muted(panel) == [session.result.tokens.text[session.result.tokens.span(0, 512)[1] :]]


def test_a_click_chooses_the_cell_of_the_token(open_panel):
    panel, session = open_panel(LESSON * 4)
    click(panel, LESSON.index("ships") + 1)
    assert chosen(panel) == [" ships"]
    assert session.cell == Cell(1, 1)
    click(panel, len(LESSON) + LESSON.index("sound"))
    assert chosen(panel) == [" sound"]


def test_a_click_on_either_half_of_a_letter_is_a_click_on_it(open_panel):
    panel, _session = open_panel("mmmm mmmm mmmm " * 20)
    editor = panel.editor
    for character in range(3, 9):
        left, right = (editor.cursorRect(editor.selecting(c, c)).left() for c in (character, character + 1))
        y = editor.cursorRect(editor.selecting(character, character)).center().y()
        for x in (left + 1, right - 1):
            assert editor.character_at(QPoint(x, y)) == character


def test_keys_that_move_the_caret_choose(open_panel):
    panel, session = open_panel(LESSON * 4)
    QTest.keyClick(panel.editor, Qt.Key.Key_Right, Qt.KeyboardModifier.ControlModifier)
    assert session.cell == Cell(0, 1)
    for _ in range(6):
        QTest.keyClick(panel.editor, Qt.Key.Key_Right)
    assert chosen(panel) == [" keeper"]


def test_a_token_chosen_elsewhere_is_scrolled_to(open_panel):
    panel, session = open_panel("".join(f"{n} ships in line {n}.\n" for n in range(400)))
    assert panel.editor.verticalScrollBar().value() == 0
    session.set_batch(30)
    (mark,) = [s for s in panel.editor.extraSelections() if s.format.fontUnderline()]
    rect = panel.editor.cursorRect(mark.cursor)
    assert panel.editor.viewport().rect().contains(rect.center())
    assert panel.editor.textCursor().position() == 0


def test_typing_never_scrolls_to_the_chosen_token(open_panel, qtbot):
    panel, session = open_panel("".join(f"{n} ships in line {n}.\n" for n in range(400)))
    put_caret(panel, panel.editor.document().characterCount() - 1)
    bottom = panel.editor.verticalScrollBar().value()
    assert bottom > 100
    QTest.keyClicks(panel.editor, "more")
    assert session.cell == Cell(0, 0)
    assert panel.editor.verticalScrollBar().value() == bottom


def test_marks_take_the_colours_of_the_scheme(open_panel):
    panel, _session = open_panel(LESSON * 4)
    panel.setPalette(theme.palette(theme.DARK))
    assert theme.DARK.token_wash in [wash.color for wash in panel.editor.washes]


# ---- long texts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [MEGABYTE, MEGABYTE.replace(", ", ",\n"), "a" * 2**20, "\n" * 300_000, "日" * 50_000, "😀\r\n" * 40_000],
    ids=["one line", "lines", "one letter", "empty lines", "wide", "CRLF"],
)
def test_a_long_text_is_shown_in_part(open_panel, qtbot, text):
    panel, session = open_panel()
    select_all(panel)
    paste(panel, text)
    assert session.config.text is not None
    assert session.config.text == text
    assert len(panel.editor.text) == EXCERPT_CHARACTERS
    assert panel.editor.caret == EXCERPT_CHARACTERS
    note = panel._excerpt_note
    assert note.isVisible()
    assert note.text().startswith(f"Showing characters {len(text) - EXCERPT_CHARACTERS:,} to {len(text) - 1:,} of ")
    assert panel.info.text() == f"{len(text):,} characters · … token IDs"
    qtbot.waitUntil(lambda: session.result.config.text == text, timeout=20_000)
    assert panel.info.text() == f"{len(text):,} characters · {len(session.result.tokens.ids):,} token IDs"
    session.set_cell(0, 1)
    assert panel.editor.text == text[:EXCERPT_CHARACTERS]
    assert chosen(panel)


def test_an_excerpt_can_be_edited(open_panel, qtbot):
    panel, session = open_panel(MEGABYTE)
    qtbot.waitUntil(lambda: session.result.config.text == MEGABYTE, timeout=20_000)
    session.set_batch(1000)
    qtbot.waitUntil(lambda: session.result.batch == 1000)
    first = MEGABYTE.index(panel.editor.text)
    assert first > 0
    put_caret(panel, 1500)
    QTest.keyClicks(panel.editor, "donkey")
    assert session.config.text == MEGABYTE[: first + 1500] + "donkey" + MEGABYTE[first + 1500 :]
    assert panel.editor.caret == 1506
    wanted = session.config.text
    qtbot.waitUntil(lambda: session.result.config.text == wanted, timeout=20_000)
    assert panel.editor.caret == 1506
    assert panel.editor.text == wanted[first : first + EXCERPT_CHARACTERS + 6]
    click(panel, 1503)
    assert chosen(panel) == ["key"]
    panel.undo_stack.undo()
    assert session.config.text == MEGABYTE


def test_undoing_far_from_the_excerpt_goes_there(open_panel, qtbot):
    panel, session = open_panel(MEGABYTE)
    qtbot.waitUntil(lambda: session.result.config.text == MEGABYTE, timeout=20_000)
    QTest.keyClicks(panel.editor, "donkey")
    wanted = session.config.text
    qtbot.waitUntil(lambda: session.result.config.text == wanted, timeout=20_000)
    session.set_batch(1000)
    qtbot.waitUntil(lambda: session.result.batch == 1000)
    assert panel.editor.text[:100] != wanted[:100]
    panel.undo_stack.undo()
    assert session.config.text == MEGABYTE
    assert panel.editor.text == MEGABYTE[:EXCERPT_CHARACTERS]


def test_a_line_that_grows_too_long_keeps_the_caret(open_panel):
    panel, session = open_panel("word " * 790)
    put_caret(panel, 1_000)
    paste(panel, "x" * 1_500)
    assert panel.editor.text == session.config.text  # already too long to open whole, but it does not jump
    assert not panel._excerpt_note.isVisible()
    paste(panel, "y" * 1_500)
    assert panel._excerpt_note.isVisible()
    assert panel.editor.caret == EXCERPT_CHARACTERS // 2
    assert panel.editor.text[: panel.editor.caret] == "y" * 1_500
    panel.undo_stack.undo()
    panel.undo_stack.undo()
    assert session.config.text == "word " * 790
    assert panel.editor.text == session.config.text


def test_a_text_that_becomes_short_is_shown_whole(open_panel):
    panel, session = open_panel("a" * 10_000)
    assert panel._excerpt_note.isVisible()
    session.set_text("short")
    assert shown(panel) == "short"
    assert not panel._excerpt_note.isVisible()


# ---- IDs in place of a text ----------------------------------------------------------------------------------------


def test_ids_have_no_text_until_one_is_wanted(open_panel):
    panel, session = open_panel(None, token_ids=((1, 2), (3, 4)))
    assert not panel.editor.isVisible()
    button = panel.findChild(QPushButton)
    assert button.text() == "Type a text instead"
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert panel.editor.isVisible()
    QTest.keyClicks(panel.editor, "ab")
    assert session.config.text == "ab"
    assert session.config.token_ids is None
    session.undo_stack.undo()
    assert session.config.token_ids == ((1, 2), (3, 4))
    assert not panel.editor.isVisible()


# ---- units ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [*HARD_TEXTS, "\ud800 and \udc00", "a😀b😀"], ids=lambda text: ascii(text[:30]))
def test_units_and_characters_agree(text):
    assert len(displayed(text)) == len(text)
    assert unit_count(displayed(text)) == unit_count(text)
    for character in range(min(len(text), 50) + 1):
        unit = units_before(text, character)
        assert characters_before(text, unit) == character


def test_limits_leave_room_for_an_excerpt():
    assert text_panel.EXCERPT_CHARACTERS < text_panel.LONGEST_EXCERPT_CHARACTERS < text_panel.WHOLE_CHARACTERS
