"""The fields of the constructors and the loader: what is typed counts at once, and nothing typed can break."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication

from inspector.config import InputConfig, PositionEmbeddingConfig, SegmentEmbeddingConfig
from inspector.diagnosis import Severity
from inspector.ui import theme
from inspector.ui.arguments import ARGUMENTS, CHOICES, SWITCHES
from inspector.ui.config_panel import LayersPanel
from inspector.ui.fields import CheckField, ChoiceField
from inspector.ui.number_field import NumberField, parse
from inspector.ui.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from PySide6.QtWidgets import QWidget
    from pytestqt.qtbot import QtBot

TEXT = "I counted the ships by the sound of their bells, one for each boat that came home, and wrote it in a book."
VOCAB_SIZE = "token_embedding.num_embeddings"
CONTROL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier
WAIT_MS = 30_000  # torch is imported by the first of these tests


@pytest.fixture
def opened(qtbot: QtBot) -> Iterator[Callable[..., tuple[Session, LayersPanel]]]:
    """Return what opens a panel on an inspection that has been judged."""
    made: list[tuple[Session, LayersPanel]] = []

    def open_panel(**values: Any) -> tuple[Session, LayersPanel]:
        session = Session(InputConfig(text=f"{TEXT} {TEXT}").with_values(values), pause_ms=0)
        panel = LayersPanel(session)
        made.append((session, panel))
        panel.resize(720, panel.sizeHint().height())
        panel.show()
        qtbot.waitActive(panel)
        panel.activateWindow()
        session.start()
        qtbot.waitUntil(lambda: session.result is not None, timeout=WAIT_MS)
        return session, panel

    yield open_panel
    for session, panel in made:
        session.close()
        panel.close()
        panel.deleteLater()


def type_over(qtbot: QtBot, field: QWidget, text: str) -> None:
    field.setFocus()
    qtbot.keyClick(field, Qt.Key.Key_A, CONTROL)
    if text:
        qtbot.keyClicks(field, text)
    else:
        qtbot.keyClick(field, Qt.Key.Key_Delete)


def turn_wheel(field: QWidget, angle: int) -> None:
    spot = QPointF(field.rect().center())
    event = QWheelEvent(
        spot,
        QPointF(field.mapToGlobal(spot.toPoint())),
        QPoint(),
        QPoint(0, angle),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(field, event)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("50257", 50257),
        (" 50_257 ", 50257),
        ("50,257", 50257),
        ("50 257", 50257),
        ("50\u202f257", 50257),
        ("-3", -3),
        ("−3", -3),
        ("4*256", 1024),
        ("4 × 256", 1024),
        ("25128.5", 25128.5),
        (".5", 0.5),
        ("1e4", 10000.0),
        ("1,5", None),
        ("50,2", None),
        ("1e999", None),
        ("nan", None),
        ("0x10", None),
        ("4*", None),
        ("", None),
        ("-", None),
        ("abc", None),
        ("1_", None),
        ("٣", None),
    ],
)
def test_what_reads_as_a_number(text: str, number: float | None) -> None:
    assert parse(text) == number
    assert type(parse(text)) is type(number)


def test_fields_show_the_resolved_arguments(opened: Any) -> None:
    _, panel = opened(**{"position_embedding.num_embeddings": 1024})
    shown = {name: panel.field(name).text() for name in ARGUMENTS}
    assert shown[VOCAB_SIZE] == "50257"
    assert shown["token_embedding.embedding_dim"] == "256"
    assert shown["position_embedding.num_embeddings"] == "1024"
    assert shown["loader.batch_size"] == "8"
    assert shown["loader.seed"] == shown["token_embedding.padding_idx"] == ""
    assert shown["seed"] == "123"


def test_each_keystroke_counts_and_undo_takes_the_number_back_as_one_step(opened: Any, qtbot: QtBot) -> None:
    session, panel = opened()
    field = panel.field(VOCAB_SIZE)
    seen: list[object] = []
    session.config_changed.connect(lambda config: seen.append(config.token_embedding.num_embeddings))
    type_over(qtbot, field, "300")
    assert seen == [3, 30, 300]
    qtbot.keyClick(field, Qt.Key.Key_Z, CONTROL)
    assert session.config.resolved().token_embedding.num_embeddings == 50257
    assert field.text() == "50257"
    qtbot.keyClick(field, Qt.Key.Key_Z, CONTROL | SHIFT)
    assert session.config.token_embedding.num_embeddings == 300
    assert field.text() == "300"


def test_leaving_the_field_ends_the_step(opened: Any, qtbot: QtBot) -> None:
    session, panel = opened()
    field = panel.field("loader.stride")
    type_over(qtbot, field, "2")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    type_over(qtbot, field, "3")
    assert session.undo_stack.count() == 2
    session.undo_stack.undo()
    assert session.config.loader.stride == 2
    assert field.text() == "2"


@pytest.mark.parametrize("typed", ["abc", "", "5x", "-", "9" * 60 + "x"])
def test_what_is_no_number_is_kept_and_said_and_changes_nothing(opened: Any, qtbot: QtBot, typed: str) -> None:
    session, panel = opened()
    field = panel.field("loader.batch_size")
    before = session.config
    type_over(qtbot, field, typed)
    if typed.startswith(("5", "9")):  # the first characters were a number
        assert field.value == parse(typed[:1] if typed.startswith("5") else field.text().rstrip("x"))
        return
    assert session.config == before
    assert field.text() == typed
    complaint = f"“{typed}” is not a number; 8 is still used" if typed else "a number is needed; 8 is still used"
    assert field.complaint == complaint
    assert panel.complaint.text() == f"▲ {complaint}"
    assert complaint in field.toolTip()
    assert complaint in field.accessibleDescription()
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert field.text() == typed
    session.set_value("loader.stride", 1)  # another field's change does not touch what is typed here
    assert field.text() == typed
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert field.text() == "8"
    assert panel.complaint.text() == ""


def test_fraction_is_passed_on_where_the_checks_can_judge_it(opened: Any, qtbot: QtBot) -> None:
    session, panel = opened()
    type_over(qtbot, panel.field(VOCAB_SIZE), "25128.5")
    assert session.config.token_embedding.num_embeddings == 25128.5
    assert panel.field(VOCAB_SIZE).mark.severity is Severity.ERROR
    type_over(qtbot, panel.field("seed"), "1.5")
    assert session.config.seed == 1
    assert panel.field("seed").complaint == "1.5 is not a whole number; 1 is still used"


def test_seed_that_torch_cannot_take_is_not_passed_on(opened: Any, qtbot: QtBot) -> None:
    session, panel = opened()
    field = panel.field("seed")
    field.setFocus()
    qtbot.keyClicks(field, "4567890123456789012")  # after 123
    assert session.config.seed == 12345678901234567890
    assert field.complaint == "1234567890123456789… is more than 64 bits; 12345678901234567890 is still used"


def test_undo_first_takes_back_what_is_no_number(opened: Any, qtbot: QtBot) -> None:
    session, panel = opened()
    field = panel.field(VOCAB_SIZE)
    session.set_value("loader.stride", 2)
    type_over(qtbot, field, "abc")
    qtbot.keyClick(field, Qt.Key.Key_Z, CONTROL)
    assert field.text() == "50257"
    assert session.config.loader.stride == 2


def test_escape_restores_the_number_the_field_was_entered_with(opened: Any, qtbot: QtBot) -> None:
    session, panel = opened()
    field = panel.field(VOCAB_SIZE)
    type_over(qtbot, field, "12")
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert field.text() == "50257"
    assert session.config.token_embedding.num_embeddings == 50257


def test_keys_step(opened: Any, qtbot: QtBot) -> None:
    session, panel = opened()
    field = panel.field("position_embedding.num_embeddings")
    field.setFocus()
    for key, modifier, expected in [
        (Qt.Key.Key_Up, Qt.KeyboardModifier.NoModifier, 5),
        (Qt.Key.Key_PageUp, Qt.KeyboardModifier.NoModifier, 10),
        (Qt.Key.Key_Up, CONTROL, 20),
        (Qt.Key.Key_PageDown, Qt.KeyboardModifier.NoModifier, 10),
        (Qt.Key.Key_Down, Qt.KeyboardModifier.NoModifier, 9),
        (Qt.Key.Key_Down, CONTROL, 9),  # not below 1
    ]:
        qtbot.keyClick(field, key, modifier)
        assert session.config.position_embedding.num_embeddings == expected
        assert field.text() == str(expected)


def test_wheel_turns_the_number_only_in_the_field_that_has_the_focus(opened: Any) -> None:
    session, panel = opened()
    field, other = panel.field("loader.max_length"), panel.field("loader.stride")
    other.setFocus()
    turn_wheel(field, 120)
    assert session.config.loader.max_length == 4
    field.setFocus()
    turn_wheel(field, 120)
    assert session.config.loader.max_length == 5
    turn_wheel(field, -120)
    assert session.config.loader.max_length == 4


def test_optional_argument_is_none_when_it_is_empty(opened: Any, qtbot: QtBot) -> None:
    session, panel = opened()
    qtbot.mouseClick(panel.more_button, Qt.MouseButton.LeftButton)
    field = panel.field("token_embedding.padding_idx")
    assert field.isVisible()
    type_over(qtbot, field, "-1")
    assert session.config.token_embedding.padding_idx == -1
    type_over(qtbot, field, "")
    assert session.config.token_embedding.padding_idx is None
    assert field.complaint == ""


def test_change_from_elsewhere_is_shown_and_the_caret_is_left_alone(opened: Any, qtbot: QtBot) -> None:
    session, panel = opened()
    field = panel.field(VOCAB_SIZE)
    type_over(qtbot, field, "50,000")
    assert session.config.token_embedding.num_embeddings == 50000
    assert field.text() == "50,000"
    field.setCursorPosition(2)
    session.set_value("loader.stride", 3)
    assert (field.text(), field.cursorPosition()) == ("50,000", 2)
    session.set_values({VOCAB_SIZE: 50257}, "fix")
    assert field.text() == "50257"


def test_switches(opened: Any, qtbot: QtBot) -> None:
    session, panel = opened()
    qtbot.mouseClick(panel.field("loader.drop_last"), Qt.MouseButton.LeftButton)
    assert session.config.loader.drop_last is False
    field = panel.field("loader.shuffle")
    field.setFocus()
    qtbot.keyClick(field, Qt.Key.Key_Space)
    assert session.config.loader.shuffle is True
    session.undo_stack.undo()
    assert not field.isChecked()


def test_position_table_can_be_taken_away_and_comes_back_as_it_was(opened: Any, qtbot: QtBot) -> None:
    session, panel = opened(**{"position_embedding.num_embeddings": 1024})
    qtbot.mouseClick(panel.more_button, Qt.MouseButton.LeftButton)
    switch, rows = panel.field("position_embedding"), panel.field("position_embedding.num_embeddings")
    assert switch.isChecked()
    qtbot.mouseClick(switch, Qt.MouseButton.LeftButton)
    assert session.config.position_embedding is None
    assert not rows.isEnabled()
    qtbot.mouseClick(switch, Qt.MouseButton.LeftButton)
    assert session.config.position_embedding == PositionEmbeddingConfig(num_embeddings=1024)
    assert rows.isEnabled()
    assert rows.text() == "1024"


def test_segment_table(opened: Any, qtbot: QtBot) -> None:
    session, panel = opened()
    qtbot.mouseClick(panel.more_button, Qt.MouseButton.LeftButton)
    field = panel.field("segment_embedding.max_id")
    assert not field.isEnabled()
    qtbot.mouseClick(panel.field("segment_embedding"), Qt.MouseButton.LeftButton)
    assert session.config.segment_embedding == SegmentEmbeddingConfig()
    type_over(qtbot, field, "2")
    assert field.mark.severity is Severity.ERROR


def test_dtype_is_chosen_by_key(opened: Any, qtbot: QtBot) -> None:
    session, panel = opened()
    qtbot.mouseClick(panel.more_button, Qt.MouseButton.LeftButton)
    field = panel.field("token_embedding.dtype")
    turn_wheel(field, -120)
    assert session.config.token_embedding.dtype == "float32"
    field.setFocus()
    qtbot.keyClick(field, Qt.Key.Key_Down)
    assert session.config.token_embedding.dtype == "float64"


def test_field_that_a_diagnosis_names_is_marked(opened: Any, qtbot: QtBot) -> None:
    session, panel = opened()
    field = panel.field("position_embedding.embedding_dim")
    assert field.mark is None
    type_over(qtbot, field, "128")
    error = next(d for d in session.result.diagnoses if d.severity is Severity.ERROR)
    assert field.mark.message == error.message
    assert not field.mark.chosen
    assert error.message in field.toolTip()
    assert error.message in field.accessibleDescription()
    session.set_diagnosis(error)
    assert field.mark.chosen
    picture = field.grab().toImage()
    colors = theme.colors(panel.palette())
    found = {picture.pixelColor(x, y).name() for x in range(picture.width()) for y in range(picture.height())}
    assert {colors.fault.name(), colors.fault_wash.name()} <= found
    session.apply_fix(error)
    assert field.mark is None
    assert error.message not in field.toolTip()


def test_folded_field_that_is_at_fault_is_announced_and_unfolded_when_chosen(opened: Any) -> None:
    session, panel = opened(**{"token_embedding.padding_idx": 60000})
    assert panel.more_button.text() == "▲ More"
    assert not panel.more_button.isChecked()
    session.set_diagnosis(next(d for d in session.result.diagnoses if d.severity is Severity.ERROR))
    assert panel.more_button.isChecked()
    assert panel.field("token_embedding.padding_idx").isVisible()
    assert panel.field("token_embedding.padding_idx").mark.chosen


def test_every_argument_has_a_field_a_name_and_a_hint(opened: Any) -> None:
    _, panel = opened()
    for name in (*ARGUMENTS, *SWITCHES, *CHOICES):
        field = panel.field(name)
        assert isinstance(field, NumberField | ChoiceField | CheckField)
        assert field.accessibleName()
        assert field.toolTip()
    fields = {name for name in InputConfig.__slots__ if name in ARGUMENTS or name in SWITCHES}
    assert fields == {"embedding_dim", "position_embedding", "segment_embedding", "past_length", "seed"}


def test_mnemonic_leads_to_the_field(opened: Any, qtbot: QtBot) -> None:
    _, panel = opened()
    qtbot.keyClick(panel, Qt.Key.Key_C, Qt.KeyboardModifier.AltModifier)
    assert panel.field("position_embedding.num_embeddings").hasFocus()


def test_colours_follow_the_scheme(opened: Any, qtbot: QtBot) -> None:
    _, panel = opened()
    field = panel.field("loader.stride")
    type_over(qtbot, field, "x")
    for scheme in (theme.DARK, theme.LIGHT):
        panel.setPalette(theme.palette(scheme))
        assert field.palette().color(field.foregroundRole()) == scheme.fault
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert field.palette().color(field.foregroundRole()) == theme.LIGHT.text


def test_fits_the_right_half_of_a_small_window(opened: Any) -> None:
    _, panel = opened()
    assert panel.minimumSizeHint().width() <= 700
    panel.field("seed")
    assert panel.minimumSizeHint().width() <= 700


FOLDED_FAULT = {"segment_embedding.num_embeddings": 2, "segment_embedding.embedding_dim": 128}


def test_more_folds_back_when_the_diagnosis_that_unfolded_it_is_gone(opened: Any) -> None:
    session, panel = opened()
    session.set_values(FOLDED_FAULT, "fault")
    session.set_diagnosis(next(d for d in session.result.diagnoses if "segment_embedding.embedding_dim" in d.fields))
    assert panel.more_button.isChecked()
    session.undo_stack.undo()
    assert not panel.more_button.isChecked()


def test_more_stays_open_where_the_person_unfolded_it(opened: Any, qtbot: QtBot) -> None:
    session, panel = opened()
    qtbot.mouseClick(panel.more_button, Qt.MouseButton.LeftButton)
    session.set_values(FOLDED_FAULT, "fault")
    session.set_diagnosis(next(d for d in session.result.diagnoses if "segment_embedding.embedding_dim" in d.fields))
    session.undo_stack.undo()
    assert panel.more_button.isChecked()


def test_more_stays_open_under_the_hand_that_mends_the_field(opened: Any, qtbot: QtBot) -> None:
    session, panel = opened(**FOLDED_FAULT)
    session.set_diagnosis(next(d for d in session.result.diagnoses if "segment_embedding.embedding_dim" in d.fields))
    type_over(qtbot, panel.field("segment_embedding.embedding_dim"), "256")
    assert session.result.ok
    assert panel.more_button.isChecked()
