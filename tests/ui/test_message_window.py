"""The window for a pasted error: read while it is typed, its numbers used, its faults explained and tried."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QTextBrowser

from inspector import checks, messages, resources
from inspector.config import InputConfig
from inspector.ui import gallery, message_window, theme
from inspector.ui.explain_window import ExplainWindow
from inspector.ui.main_window import MainWindow
from inspector.ui.message_window import NOTHING_YET, UNKNOWN, MessageWindow, assigned
from inspector.ui.session import Session
from inspector.ui.theme import SchemeFollower

LOOKUP = "IndexError: index out of range in self"
WIDTHS = "RuntimeError: The size of tensor a (256) must match the size of tensor b (128) at non-singleton dimension 2"
NO_TENSOR = "TypeError: embedding(): argument 'indices' (position 2) must be Tensor, not list"

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support raise", extend=True)  # offscreen does not


@pytest.fixture
def open_window(qtbot):
    sessions = []

    def open_():
        session = Session(InputConfig(text=resources.text("sample.txt")), pause_ms=0)
        sessions.append(session)
        window = MessageWindow(session)
        qtbot.addWidget(window)
        with qtbot.waitExposed(window):
            window.present()
        session.start()
        qtbot.waitUntil(lambda: session.result is not None)
        return window, session

    yield open_
    for session in sessions:
        session.close()


def paste(window, text):
    window.box.selectAll()
    QGuiApplication.clipboard().setText(text)
    QTest.keyClick(window.box, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)


def words(window):
    return [label.text() for card in window.cards for label in card.findChildren(QLabel)]


def button(window, name):
    (found,) = (b for card in window.cards for b in card.findChildren(QPushButton) if b.accessibleName() == name)
    return found


def click(widget):
    QTest.mouseClick(widget, Qt.MouseButton.LeftButton)


def needed_height(label):
    return label.heightForWidth(label.width()) if label.wordWrap() else label.sizeHint().height()


# ---- reading ---------------------------------------------------------------------------------------------------------


def test_it_says_what_to_paste(open_window):
    window, _ = open_window()
    assert not window.isModal()
    assert "last line of the traceback" in window.box.placeholderText()
    assert window.verdict.text() == NOTHING_YET
    assert window.verdict.isVisible()
    assert window.cards == []
    assert window.box.hasFocus()


def test_a_message_is_read_while_it_is_typed(open_window, qtbot):
    window, _ = open_window()
    QTest.keyClicks(window.box, LOOKUP[:-1])
    assert window.cards == []
    assert window.verdict.text() == UNKNOWN
    QTest.keyClicks(window.box, LOOKUP[-1])
    assert len(window.cards) == 1
    assert not window.verdict.isVisible()
    QTest.keyClicks(window.box, "!")
    QTest.keyClick(window.box, Qt.Key.Key_Backspace)
    assert window.cards != []
    window.box.clear()
    assert window.cards == []
    assert window.verdict.text() == NOTHING_YET
    qtbot.waitUntil(lambda: not window.findChildren(message_window.ReadingCard))


def test_all_of_a_reading_is_shown(open_window):
    window, _ = open_window()
    paste(window, LOOKUP)
    (reading,) = messages.read(LOOKUP)
    shown = words(window)
    assert LOOKUP in shown
    assert f"{reading.aside[0].upper()}{reading.aside[1:]}." in shown
    assert f"To tell them apart: {reading.ask}." in shown
    for candidate in reading.candidates:
        assert f"{candidate.code} {candidate.fault.name}" in shown
        assert f"{candidate.when[0].upper()}{candidate.when[1:]}." in shown
    bold = [x.text() for card in window.cards for x in card.findChildren(QLabel) if x.font().bold()]
    assert bold == ["E301 token-id-out-of-range"]


def test_several_messages_are_several_cards(open_window):
    window, _ = open_window()
    paste(window, f"{LOOKUP}\n{WIDTHS}\n")
    assert {card.accessibleName() for card in window.cards} == {LOOKUP, WIDTHS}


def test_an_unknown_message_is_met_calmly(open_window):
    window, _ = open_window()
    paste(window, "KeyError: 'tok_emb'")
    assert window.verdict.text() == UNKNOWN
    assert window.cards == []


def test_a_reading_may_have_no_candidate(open_window):
    window, _ = open_window()
    paste(window, NO_TENSOR)
    assert "The layer was given a list: make it a tensor, torch.tensor(ids)." in words(window)


def test_a_long_log_is_read_when_the_hand_pauses(open_window, qtbot):
    window, _ = open_window()
    paste(window, "all is well\n" * 10_000 + LOOKUP)
    qtbot.waitUntil(lambda: len(window.cards) == 1)
    paste(window, "all is well\n" * 10_000)
    paste(window, LOOKUP)
    assert len(window.cards) == 1


# ---- the numbers -----------------------------------------------------------------------------------------------------


def test_the_numbers_are_used_and_undone(open_window):
    window, session = open_window()
    paste(window, WIDTHS)
    (card,) = window.cards
    assert card.use_button.isEnabled()
    assert card.numbers.text().startswith(
        "Sets the embedding dim to none stated, output_dim of tok_emb to 256 and output_dim of pos_emb to 128."
    )
    before = session.config
    values_before = {name: before.value(name) for name in card.reading.values}
    click(card.use_button)
    assert session.undo_stack.undoText() == "numbers of the message"
    assert session.config == before.with_values(card.reading.values)
    assert [d.code for d in session.result.diagnoses if d.severity == "error"] == ["S501"]
    assert not card.use_button.isEnabled()
    assert card.numbers.text().startswith("The window has them")
    session.undo_stack.undo()
    assert {name: session.config.value(name) for name in card.reading.values} == values_before
    assert card.use_button.isEnabled()


def test_without_numbers_there_is_nothing_to_use(open_window):
    window, _ = open_window()
    paste(window, LOOKUP)
    (card,) = window.cards
    assert not card.use_button.isEnabled()
    assert card.numbers.text() == "It holds no number that an argument could take."


def test_what_is_set_is_written_out():
    assert assigned({}) == ""
    assert assigned({"loader.stride": 0}) == "stride to 0"
    assert (
        assigned({"token_ids_dtype": "uint8", "positions": (0, 1)})
        == "token_ids_dtype to uint8 and positions to [0, 1]"
    )


# ---- explain and try -------------------------------------------------------------------------------------------------


def test_explain_shows_a_candidate_s_page(open_window):
    window, _ = open_window()
    paste(window, LOOKUP)
    click(button(window, "Explain P401 position-out-of-range"))
    (page,) = window.findChildren(ExplainWindow)
    assert page.isVisible()
    assert not page.isModal()
    assert "position-out-of-range" in page.findChild(QTextBrowser).toPlainText()
    click(button(window, "Explain E301 token-id-out-of-range"))
    assert window.findChildren(ExplainWindow) == [page]
    assert page.windowTitle().startswith("E301")


def test_try_opens_a_candidate_s_example(open_window):
    window, session = open_window()
    paste(window, LOOKUP)
    click(button(window, "Try P401 position-out-of-range"))
    (kind,) = checks.find("P401")
    assert session.config == gallery.example(kind)
    assert session.diagnosis.code == "P401"
    assert len(window.cards) == 1


def test_what_cannot_be_tried_says_so(open_window, monkeypatch):
    window, _ = open_window()
    monkeypatch.setattr(gallery, "can_be_tried", lambda kind: kind.code != "P401")
    paste(window, LOOKUP)
    assert not button(window, "Try P401 position-out-of-range").isEnabled()
    assert button(window, "Try E301 token-id-out-of-range").isEnabled()


# ---- keys, words, colours --------------------------------------------------------------------------------------------


def test_every_part_is_reached_by_tab(open_window):
    window, _ = open_window()
    paste(window, WIDTHS)
    QApplication.processEvents()
    seen = []
    window.box.setFocus()
    for _ in range(40):
        seen.append(QApplication.focusWidget())
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
    assert window.box.toPlainText() == WIDTHS
    assert {b for card in window.cards for b in card.findChildren(QPushButton)} <= set(seen)
    assert all(widget.accessibleName() or widget.text() for widget in set(seen))


def test_escape_closes_it_and_keeps_what_was_pasted(open_window):
    window, _ = open_window()
    paste(window, LOOKUP)
    QTest.keyClick(window.box, Qt.Key.Key_Escape)
    assert not window.isVisible()
    window.present()
    assert len(window.cards) == 1


def test_words_can_be_selected_and_none_is_cut(open_window, qtbot):
    window, _ = open_window()
    window.resize(460, 900)
    paste(window, f"{LOOKUP}\n{WIDTHS}\n")
    QApplication.processEvents()
    for card in window.cards:
        for label in card.findChildren(QLabel):
            assert label.textInteractionFlags() & Qt.TextInteractionFlag.TextSelectableByMouse
            assert label.textFormat() is Qt.TextFormat.PlainText
            qtbot.waitUntil(lambda label=label: label.height() >= needed_height(label))  # once all is laid out
        assert card.width() <= window.width()


def test_it_follows_the_scheme(open_window, qapp):
    window, _ = open_window()
    before = qapp.palette()
    paste(window, LOOKUP)
    try:
        for colors in (theme.LIGHT, theme.DARK):
            qapp.setPalette(theme.palette(colors))
            QApplication.processEvents()
            (card,) = window.cards
            assert card.grab().toImage().pixelColor(QPoint(card.width() // 2, 5)) == colors.panel
    finally:
        qapp.setPalette(before)


# ---- in the main window ----------------------------------------------------------------------------------------------


def test_the_help_menu_opens_it(qtbot, qapp):
    scheme = SchemeFollower(qapp)
    session = Session(InputConfig(text=resources.text("sample.txt")), pause_ms=0)
    window = MainWindow(session, scheme)
    with qtbot.waitSignal(window.painted):
        window.showNormal()
    session.start()
    qtbot.waitUntil(lambda: session.result is not None)
    assert window.findChildren(MessageWindow) == []
    (menu,) = (a.menu() for a in window.menuBar().actions() if a.text() == "&Help")
    (entry,) = (a for a in menu.actions() if a.text() == "I have an error &message…")
    assert menu.toolTipsVisible()
    assert entry.toolTip()
    entry.trigger()
    entry.trigger()
    (opened,) = window.findChildren(MessageWindow)
    assert opened.isVisible()
    assert QApplication.activeModalWidget() is None
    opened.close()
    window.close()
    window.deleteLater()
    scheme.deleteLater()
