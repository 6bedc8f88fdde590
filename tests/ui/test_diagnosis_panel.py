"""What was found, by mouse and keys: the calm line, the findings, their repair and their explanation."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QTextBrowser

from inspector import checks
from inspector.config import InputConfig
from inspector.diagnosis import Severity
from inspector.ui.diagnosis_detail import NO_FAULT, NOT_PROVED, ROWS_PROVED, SUM_PROVED
from inspector.ui.diagnosis_panel import DiagnosisPanel, counted
from inspector.ui.explain_window import ExplainWindow
from inspector.ui.session import Session

LESSON = "The lamp keeper counted the ships by the sound of their bells, one for each boat that came home. " * 4
SMALL_TABLE = {"token_embedding.num_embeddings": 20000}
MANY = {**SMALL_TABLE, "position_embedding.num_embeddings": 3, "loader.stride": 6}


@pytest.fixture
def open_panel(qtbot):
    sessions = []

    def open_(width=1252, **values):
        source = {} if "token_ids" in values else {"text": LESSON}
        session = Session(InputConfig().with_values({**source, **values}), pause_ms=0)
        sessions.append(session)
        panel = DiagnosisPanel(session)
        qtbot.addWidget(panel)
        panel.resize(width, panel.height())
        with qtbot.waitExposed(panel):
            panel.show()
        panel.activateWindow()
        session.start()
        qtbot.waitUntil(lambda: session.result is not None)
        return panel, session

    yield open_
    for session in sessions:
        session.close()


def words(panel):
    """Return the words on screen."""
    return [label.text() for label in panel.findChildren(QLabel) if label.isVisible()]


def click(button):
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def errors(session):
    return [d for d in session.result.diagnoses if d.severity is Severity.ERROR]


# ---- no fault --------------------------------------------------------------------------------------------------------


def test_no_fault_is_one_calm_line_and_says_only_what_was_proved(open_panel, qtbot):
    panel, session = open_panel(**{"loader.drop_last": False})
    assert NO_FAULT in words(panel)
    if session.rows.trace is None:
        assert NOT_PROVED in words(panel)
    qtbot.waitUntil(lambda: session.rows.trace is not None, timeout=20_000)
    assert words(panel) == ["✓", NO_FAULT, SUM_PROVED]
    session.set_value("token_embedding.embedding_dim", 255)
    assert NO_FAULT not in words(panel)
    assert SUM_PROVED not in words(panel)


def test_a_segment_table_leaves_the_sum_unproved(open_panel, qtbot):
    panel, session = open_panel(**{"loader.drop_last": False, "segment_embedding.num_embeddings": 2})
    qtbot.waitUntil(lambda: session.rows.trace is not None, timeout=20_000)
    assert ROWS_PROVED in words(panel)


def test_notes_are_quiet_under_the_calm_line(open_panel):
    panel, session = open_panel()
    (note,) = session.result.diagnoses
    assert note.severity is Severity.NOTE
    assert NO_FAULT in words(panel)
    assert "1 note" in words(panel)
    shown = next(label for label in panel.findChildren(QLabel) if label.text().endswith(note.message[1:]))
    assert not shown.font().bold()
    assert not any(text.startswith("PyTorch") for text in words(panel))


def test_the_panel_keeps_its_height(open_panel):
    panel, session = open_panel(**{"loader.drop_last": False})
    height = panel.height()
    session.set_values(MANY, "many")
    assert len(session.result.diagnoses) > 2
    QApplication.processEvents()
    assert panel.height() == height
    assert panel.maximumHeight() == height
    assert panel.minimumSizeHint().height() <= height


# ---- findings --------------------------------------------------------------------------------------------------------


def test_the_first_error_is_shown_in_full(open_panel):
    panel, session = open_panel(**MANY)
    fault = errors(session)[0]
    assert panel.diagnosis == fault
    shown = words(panel)
    assert any(text.lower() == fault.message.lower() for text in shown)
    assert any(text.lower().startswith(fault.help.lower()) for text in shown)
    assert f"PyTorch says: {fault.torch}" in shown
    assert counted(session.result.diagnoses) in shown
    assert session.diagnosis is None


def test_findings_are_counted():
    _, small, *_ = checks.FAULTS
    of = {s: small.diagnosis("m", "h", severity=s) for s in Severity}
    assert counted([]) == ""
    assert counted([of[Severity.ERROR]]) == "1 error"
    mixed = [of[Severity.NOTE], of[Severity.ERROR], of[Severity.NOTE]]
    assert counted(mixed) == "3 findings: 1 error, 2 notes"


def test_keys_show_a_finding_and_enter_chooses_it(open_panel):
    panel, session = open_panel(**MANY)
    found = session.result.diagnoses
    panel.findings.setFocus()
    QTest.keyClick(panel.findings, Qt.Key.Key_End)
    assert panel.diagnosis == found[-1]
    QTest.keyClick(panel.findings, Qt.Key.Key_Up)
    assert panel.diagnosis == found[-2]
    assert session.diagnosis is None
    QTest.keyClick(panel.findings, Qt.Key.Key_Down)
    QTest.keyClick(panel.findings, Qt.Key.Key_Return)
    assert session.diagnosis == found[-1]
    assert session.cell == found[-1].cells[0]


def test_a_click_chooses_a_finding(open_panel):
    panel, session = open_panel(**SMALL_TABLE)
    row = session.result.diagnoses.index(errors(session)[0])
    where = panel.findings.visualItemRect(panel.findings.item(row)).center()
    QTest.mouseClick(panel.findings.viewport(), Qt.MouseButton.LeftButton, pos=where)
    assert session.diagnosis == errors(session)[0]


def test_the_session_s_choice_is_shown(open_panel):
    panel, session = open_panel(**MANY)
    session.set_diagnosis(session.result.diagnoses[-1])
    assert panel.diagnosis == session.result.diagnoses[-1]
    session.set_text(LESSON + "More of it.")
    assert panel.diagnosis == session.diagnosis


def test_long_words_can_all_be_reached(open_panel):
    panel, _ = open_panel(width=620, **SMALL_TABLE)
    QApplication.processEvents()
    bar = panel.detail.verticalScrollBar()
    content = panel.detail.widget()
    assert content.width() <= panel.detail.viewport().width()
    for label in content.findChildren(QLabel):
        if label.isVisible():
            assert label.height() >= label.heightForWidth(label.width())
    assert content.height() == panel.detail.viewport().height() + bar.maximum()


def test_names_for_a_screen_reader(open_panel):
    panel, session = open_panel(**SMALL_TABLE)
    row = session.result.diagnoses.index(errors(session)[0])
    spoken = panel.findings.item(row).data(Qt.ItemDataRole.AccessibleTextRole)
    assert spoken == f"fault {errors(session)[0].code}: {errors(session)[0].message}"


# ---- repair, explain, copy -------------------------------------------------------------------------------------------


def test_fix_says_what_it_sets_and_can_be_undone(open_panel):
    panel, session = open_panel(**SMALL_TABLE)
    assert panel.fix_button.isVisible()
    assert panel.fix_button.toolTip().startswith("Set vocab_size to 50257")
    click(panel.fix_button)
    assert session.config.token_embedding.num_embeddings == 50257
    assert session.result.ok
    assert not panel.fix_button.isVisible()
    session.undo_stack.undo()
    assert not session.result.ok
    assert panel.fix_button.isVisible()


@pytest.mark.qt_log_ignore("This plugin does not support raise", extend=True)  # the offscreen platform does not
def test_explain_shows_the_page_in_one_window_that_escape_closes(open_panel):
    panel, session = open_panel(**MANY)
    click(panel.explain_button)
    (window,) = panel.findChildren(ExplainWindow)
    assert window.isVisible()
    assert not window.isModal()
    page = window.findChild(QTextBrowser)
    kind = checks.of(panel.diagnosis)
    assert kind.name in page.toPlainText()
    assert kind.summary in page.toPlainText()
    assert len(page.toPlainText()) > len(kind.summary) + len(kind.explanation) // 2
    session.set_diagnosis(errors(session)[1])
    click(panel.explain_button)
    assert panel.findChildren(ExplainWindow) == [window]
    assert errors(session)[1].code in window.windowTitle()
    QTest.keyClick(page, Qt.Key.Key_Escape)
    assert not window.isVisible()


def test_copy_takes_message_and_help(open_panel):
    panel, session = open_panel(**SMALL_TABLE)
    panel.findings.setFocus()
    QTest.keyClick(panel.findings, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    fault = errors(session)[0]
    assert QGuiApplication.clipboard().text() == f"{fault.message}\n{fault.help}"


def test_selected_words_alone_are_copied(open_panel):
    panel, session = open_panel(**SMALL_TABLE)
    label = next(x for x in panel.findChildren(QLabel) if x.text().lower() == errors(session)[0].message.lower())
    QTest.mouseDClick(label, Qt.MouseButton.LeftButton, pos=label.rect().topLeft() + label.rect().center() / 8)
    assert label.selectedText()
    QTest.keyClick(label, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == label.selectedText()


def test_a_click_on_the_chosen_finding_goes_back_to_its_cell(open_panel):
    panel, session = open_panel(**SMALL_TABLE)
    findings = panel.findings
    (row,) = [i for i, d in enumerate(session.result.diagnoses) if d.cells and d.severity is Severity.ERROR]
    where = findings.visualItemRect(findings.item(row)).center()
    QTest.mouseClick(findings.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, where)
    cell = session.diagnosis.cells[0]
    assert session.cell == cell
    session.set_cell(0, 0)
    assert session.cell != cell
    QTest.mouseClick(findings.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, where)
    assert session.cell == cell


# ---- which one is shown ----------------------------------------------------------------------------------------------


def test_a_more_severe_finding_is_shown_unless_one_was_chosen_by_hand(open_panel):
    panel, session = open_panel(**{"loader.drop_last": True})
    assert panel.diagnosis.severity is Severity.NOTE
    session.set_value("token_embedding.num_embeddings", 50_000)
    assert panel.diagnosis.severity is not Severity.NOTE
    session.undo_stack.undo()
    assert panel.diagnosis.severity is Severity.NOTE
    QTest.mouseClick(
        panel.findings.viewport(),
        Qt.MouseButton.LeftButton,
        pos=panel.findings.visualItemRect(panel.findings.currentItem()).center(),
    )
    chosen = panel.diagnosis
    session.set_value("token_embedding.num_embeddings", 50_000)
    assert panel.diagnosis.code == chosen.code
