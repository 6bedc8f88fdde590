"""The strip from text to sum: its words, its states, and the way from a box to the stage's diagnosis."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from inspector.config import InputConfig
from inspector.diagnosis import Severity, Stage
from inspector.ui.session import Session
from inspector.ui.stage_strip import StageStrip

LESSON = "The lamp keeper counted the ships by the sound of their bells, one for each boat that came home. " * 4


@pytest.fixture
def open_strip(qtbot):
    sessions = []

    def open_(**values):
        source = {} if "token_ids" in values else {"text": LESSON}
        session = Session(InputConfig().with_values({**source, **values}))
        sessions.append(session)
        strip = StageStrip(session)
        qtbot.addWidget(strip)
        strip.resize(1252, strip.sizeHint().height())
        with qtbot.waitExposed(strip):
            strip.show()
        strip.activateWindow()
        session.start()
        qtbot.waitUntil(lambda: session.result is not None)
        return strip, session

    yield open_
    for session in sessions:
        session.close()


def outputs(strip):
    boxes = (strip.text_box, *strip.boxes.values())
    return {box.text(): box.output for box in boxes if not box.isHidden()}


def test_shapes_of_the_lesson(open_strip):
    strip, session = open_strip()
    assert outputs(strip) == {
        "Text": f"{len(LESSON)} characters",
        "Tokenizer": f"{len(session.result.tokens.ids)} IDs",
        "Data loader": "(8, 4)",
        "Token embedding": "(8, 4, 256)",
        "Position embedding": "(4, 256)",
        "Sum": "(8, 4, 256)",
    }


def test_a_fault_stops_what_comes_after_it(open_strip):
    strip, session = open_strip()
    height, calm = strip.sizeHint().height(), strip.grab().toImage()
    session.set_value("token_embedding.num_embeddings", 20000)
    assert outputs(strip)["Token embedding"] == "no output"
    assert outputs(strip)["Position embedding"] == "(4, 256)"
    assert outputs(strip)["Sum"] == "blocked"
    assert strip.sizeHint().height() == height
    assert strip.grab().toImage() != calm


def test_names_for_a_screen_reader(open_strip):
    strip, session = open_strip()
    assert strip.boxes[Stage.TOKEN_EMBEDDING].accessibleName() == "Token embedding: ok, (8, 4, 256)"
    session.set_value("token_embedding.num_embeddings", 20000)
    assert strip.boxes[Stage.TOKEN_EMBEDDING].accessibleName() == "Token embedding: fault, output blocked"
    assert strip.boxes[Stage.SUM].accessibleName() == "Sum: blocked"


def test_a_warning_is_marked_and_said(open_strip):
    strip, session = open_strip()
    box = strip.boxes[Stage.DATA_LOADER]
    calm = box.grab().toImage()
    session.set_value("loader.stride", 5)
    assert any(d.severity is Severity.WARNING for d in session.result.diagnoses)
    assert box.accessibleName() == "Data loader: ok, warning, (8, 4)"
    assert box.grab().toImage() != calm


def test_hover_tells_input_table_output_and_what_was_found(open_strip):
    strip, session = open_strip(**{"position_embedding.num_embeddings": 3})
    assert "(8, 4) → table (50257, 256) → (8, 4, 256)" in strip.boxes[Stage.TOKEN_EMBEDDING].toolTip()
    (fault,) = [d for d in session.result.diagnoses if d.severity is Severity.ERROR]
    tip = strip.boxes[Stage.POSITION_EMBEDDING].toolTip()
    assert "table (3, 256)" in tip
    assert f"▲ {fault.message[:1].upper()}" in tip


def test_ids_given_as_a_batch_need_no_text(open_strip):
    strip, _ = open_strip(token_ids=((1, 2), (3, 4)))
    assert outputs(strip)["Text"] == "not used"
    assert outputs(strip)["Tokenizer"] == "not used"
    assert outputs(strip)["Token embedding"] == "(2, 2, 256)"


def test_a_segment_table_has_a_box_only_where_there_is_one(open_strip):
    strip, session = open_strip()
    assert "Segment embedding" not in outputs(strip)
    session.set_value("segment_embedding.num_embeddings", 2)
    assert outputs(strip)["Segment embedding"] == "(4, 256)"
    session.undo_stack.undo()
    session.set_value("position_embedding", None)
    assert outputs(strip)["Position embedding"] == "not used"


@pytest.mark.parametrize("key", [None, Qt.Key.Key_Space, Qt.Key.Key_Return])
def test_a_box_chooses_the_first_diagnosis_of_its_stage(open_strip, key):
    strip, session = open_strip(**{"position_embedding.num_embeddings": 3})
    box = strip.boxes[Stage.POSITION_EMBEDDING]
    if key is None:
        QTest.mouseClick(box, Qt.MouseButton.LeftButton)
    else:
        box.setFocus()
        QTest.keyClick(box, key)
    assert session.diagnosis is not None
    assert session.diagnosis.stage is Stage.POSITION_EMBEDDING
    assert session.cell == session.diagnosis.cells[0]


def test_a_box_without_diagnosis_chooses_nothing(open_strip):
    strip, session = open_strip()
    QTest.mouseClick(strip.boxes[Stage.SUM], Qt.MouseButton.LeftButton)
    assert session.diagnosis is None


def test_names_fit_a_window_of_1280(open_strip):
    strip, session = open_strip()
    session.set_value("segment_embedding.num_embeddings", 2)
    QTest.qWait(0)
    for box in strip.boxes.values():
        assert box.width() >= box.sizeHint().width()
