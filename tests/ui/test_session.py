"""The session: gestures go in, signals come out, and whatever is out of date is dropped."""

from __future__ import annotations

import pytest

from inspector.config import InputConfig
from inspector.diagnosis import Cell
from inspector.ui.session import Session

TEXT = "The lamp keeper counted the ships by the sound of their bells, one for each boat that came home. " * 4
SMALL = {"token_embedding.num_embeddings": 50257, "token_embedding.embedding_dim": 8, "embedding_dim": 8}


@pytest.fixture
def make(qtbot):
    made = []

    def make_(text=TEXT, **values):
        values = {"position_embedding.embedding_dim": 8, **SMALL, **values}
        session = Session(InputConfig(text=text).with_values(values), pause_ms=0)
        made.append(session)
        session.start()
        qtbot.waitUntil(lambda: session.result is not None)
        return session

    yield make_
    for session in made:
        session.close()


def codes(session):
    return [d.code for d in session.result.diagnoses if d.severity == "error"]


def test_starts_with_the_first_batch_and_cell(make, qtbot):
    session = make()
    assert session.cell == Cell(0, 0)
    assert session.result.ok
    qtbot.waitUntil(lambda: session.rows.trace is not None, timeout=20_000)
    assert session.busy == ""


def test_a_text_is_judged_at_once(make):
    session = make()
    order = []
    session.config_changed.connect(lambda config: order.append(("config", config.text)))
    session.result_changed.connect(lambda result: order.append(("result", len(result.tokens.ids))))
    session.set_text("donkey")
    assert order == [("config", "donkey"), ("result", 2)]


def test_the_digits_of_a_field_are_one_step_until_the_hand_leaves_it(make):
    session = make()
    for rows in (5, 50, 500, 5000):
        session.set_value("token_embedding.num_embeddings", rows)
    assert session.undo_stack.count() == 1
    session.finish_edit()
    session.set_value("token_embedding.num_embeddings", 50)
    assert session.undo_stack.count() == 2
    assert codes(session) == ["E301"]
    session.undo_stack.undo()
    assert session.config.token_embedding.num_embeddings == 5000
    session.undo_stack.undo()
    assert session.config.token_embedding.num_embeddings == 50257
    assert session.result.ok
    session.undo_stack.redo()
    assert session.config.token_embedding.num_embeddings == 5000


def test_two_fields_are_two_steps(make):
    session = make()
    session.set_value("loader.stride", 2)
    session.set_value("loader.max_length", 3)
    assert session.undo_stack.count() == 2


def test_a_value_that_is_there_already_is_no_step(make):
    session = make()
    session.set_value("loader.stride", 4)
    session.set_values({"loader.stride": 4, "seed": 123}, "nothing new")
    assert session.undo_stack.count() == 0


def test_a_fix_is_undone_like_any_change(make):
    session = make()
    session.set_value("token_embedding.num_embeddings", 2000)
    (fault,) = (d for d in session.result.diagnoses if d.code == "E301")
    session.apply_fix(fault)
    assert session.config.token_embedding.num_embeddings == 50257
    assert session.result.ok
    session.undo_stack.undo()
    assert session.config.token_embedding.num_embeddings == 2000
    assert codes(session) == ["E301"]


def test_a_text_typed_since_survives_the_undoing_of_an_argument(make):
    session = make()
    session.set_value("loader.stride", 2)
    session.set_text(TEXT + "More.")
    session.undo_stack.undo()
    assert session.config.loader.stride == 4
    assert session.config.text == TEXT + "More."


def test_another_inspection_is_undone_whole(make):
    session = make()
    session.replace_config(InputConfig(token_ids=((1, 2), (3, 4))), "open ids.json")
    assert session.result.grid.rows == ((1, 2), (3, 4))
    session.undo_stack.undo()
    assert session.config.text == TEXT
    assert session.result.tokens is not None


def test_a_long_text_is_judged_in_the_background_and_the_newest_wins(make, qtbot):
    session = make()
    shown = []
    session.result_changed.connect(lambda result: shown.append(result.tokens.text))
    texts = [TEXT * 100 + str(number) for number in range(5)]
    for text in texts:
        session.set_text(text)
    assert session.busy
    qtbot.waitUntil(lambda: shown[-1:] == texts[-1:])
    assert len(shown) == 1
    assert not session._reading.busy


def test_a_short_text_overtakes_a_long_one(make, qtbot):
    session = make()
    session.set_text(TEXT * 100)
    session.set_text("short")
    assert session.result.tokens.text == "short"
    session._reading.close()
    qtbot.wait(0)  # whatever was on its way arrives
    assert session.result.tokens.text == "short"


def test_choosing_a_token_goes_to_its_batch(make):
    session = make()
    session.choose_token(32 + 5)
    assert session.result.batch == 1
    assert session.cell == Cell(1, 1)
    session.choose_token(10**6)
    assert session.cell == Cell(1, 1)


def test_choosing_a_diagnosis_chooses_its_first_cell(make):
    session = make()
    session.set_value("token_embedding.num_embeddings", 10_000)
    (fault,) = (d for d in session.result.diagnoses if d.code == "E301")
    assert fault.cells[0] != Cell(0, 0)
    session.set_diagnosis(fault)
    assert session.cell == fault.cells[0]
    session.set_value("token_embedding.num_embeddings", 50_257)
    assert session.diagnosis is None


def test_the_chosen_cell_stays_inside_the_grid(make):
    session = make()
    session.set_cell(7, 3)
    session.set_value("loader.max_length", 2)
    assert session.cell == Cell(7, 1)
    session.set_text("")
    assert session.cell is None
    session.set_text(TEXT)
    assert session.cell == Cell(0, 0)


def test_cancelling_says_how_to_go_on(make, qtbot):
    session = make()
    qtbot.waitUntil(lambda: session.rows.trace is not None, timeout=20_000)
    session.set_values({"token_embedding.embedding_dim": 4096, "position_embedding.embedding_dim": 4096}, "wide")
    with qtbot.waitSignal(session.busy_changed):
        pass
    session.cancel()
    assert session.busy == ""
    assert session.rows.trace is None
    assert "F5" in session.rows.reason
    session.set_values({"token_embedding.embedding_dim": 8, "position_embedding.embedding_dim": 8}, "narrow")
    qtbot.waitUntil(lambda: session.rows.trace is not None, timeout=20_000)


def test_building_again_after_cancelling(make, qtbot):
    session = make()
    qtbot.waitUntil(lambda: session.rows.trace is not None, timeout=20_000)
    session.set_values({"token_embedding.embedding_dim": 512, "position_embedding.embedding_dim": 512}, "wider")
    session.cancel()
    session.rebuild()
    qtbot.waitUntil(lambda: session.rows.trace is not None, timeout=20_000)
    assert session.rows.trace.cell(0, 0).sum.shape == (512,)


@pytest.mark.parametrize("gesture", ["reading", "building"])
def test_closes_while_busy(make, qtbot, gesture):
    session = make()
    qtbot.waitUntil(lambda: session.rows.trace is not None, timeout=20_000)
    if gesture == "reading":
        session.set_text(TEXT * 2000)
    else:
        session.set_values({"token_embedding.embedding_dim": 2048, "position_embedding.embedding_dim": 2048}, "wide")
        qtbot.waitUntil(lambda: session._building.busy)
    heard = []
    for signal in (session.result_changed, session.rows_changed, session.busy_changed):
        signal.connect(heard.append)
    session.close()
    qtbot.wait(0)
    assert heard == []


# ---- no tokenizer, and what cannot be judged -----------------------------------------------------------------------


IDS = {"token_ids": ((1, 2), (3, 4)), "tokenizer.encoding": None}


@pytest.mark.parametrize(
    "to_text",
    [
        lambda session: session.set_text("the lamp"),
        lambda session: session.set_values({"token_ids": None, "text": "the lamp"}, "a text"),
        lambda session: session.replace_config(
            session.config.with_values({"token_ids": None, "text": "the lamp"}), "a text"
        ),
    ],
)
def test_a_text_where_there_was_no_tokenizer_is_read_with_gpt2(make, to_text):
    session = make(None, **IDS)
    to_text(session)
    assert session.config.tokenizer.encoding == "gpt2"
    assert session.result.tokens.text == "the lamp"
    assert session.undo_stack.count() <= 1
    if session.undo_stack.count():
        session.undo_stack.undo()
        assert session.config.tokenizer.encoding is None
        assert session.config.token_ids == ((1, 2), (3, 4))


def test_what_cannot_be_judged_is_said_and_leaves_the_undo_stack_whole(make, monkeypatch):
    session = make()

    def fail(*_):
        raise KeyError("nobody thought of this")

    with monkeypatch.context() as patch:
        patch.setattr("inspector.ui.session.read_and_judge", fail)
        session.set_value("loader.stride", 3)
        assert "KeyError" in session.notice
        assert session.undo_stack.count() == 1
    session.undo_stack.undo()
    assert session.notice == ""
    assert session.config.loader.stride != 3
    assert session.result.config.loader.stride == session.config.loader.stride
