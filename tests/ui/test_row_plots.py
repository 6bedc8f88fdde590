"""The three plots: the very values of the trace, true titles, and words where there is no row."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication

from inspector.config import InputConfig
from inspector.diagnosis import Cell
from inspector.ui import row_words, theme
from inspector.ui.row_plots import KINDS, PAGE, RowsPanel
from inspector.ui.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytestqt.qtbot import QtBot

TEXT = "I counted the ships by the sound of their bells, one for each boat that came home, and wrote it in a book."
WAIT_MS = 30_000  # torch is imported by the first of these tests


@pytest.fixture
def opened(qtbot: QtBot) -> Iterator[Callable[..., tuple[Session, RowsPanel]]]:
    """Return what opens a panel on an inspection whose rows are there."""
    sessions: list[tuple[Session, RowsPanel]] = []

    def open_panel(text: str | None = TEXT, /, **values: Any) -> tuple[Session, RowsPanel]:
        session = Session(InputConfig(text=text).with_values(values), pause_ms=0)
        panel = RowsPanel(session)
        sessions.append((session, panel))
        panel.resize(720, 460)
        panel.show()
        qtbot.waitExposed(panel)
        session.start()
        qtbot.waitUntil(
            lambda: session.rows.trace is not None or bool(session.rows.reason and not session.busy), timeout=WAIT_MS
        )
        return session, panel

    yield open_panel
    for session, panel in sessions:
        session.close()
        panel.close()
        panel.deleteLater()


def shown(panel: RowsPanel, kind: str) -> np.ndarray[Any, Any]:
    return panel.view.plots[kind].curve.getData()[1]


def words(panel: RowsPanel, kind: str) -> str:
    return panel.view.plots[kind].backdrop.words


def title(panel: RowsPanel, kind: str) -> str:
    return panel.view.plots[kind].caption.title


def place(panel: RowsPanel, dimension: float, kind: str = "position") -> QPoint:
    """Return where a dimension is on the view's viewport."""
    box = panel.view.plots[kind].box
    return panel.view.mapFromScene(box.mapViewToScene(QPointF(dimension, 0)))


# ---- the curves --------------------------------------------------------------------------------------------------


def test_curves_are_the_rows_of_the_trace_bit_for_bit(opened: Any) -> None:
    session, panel = opened()
    for cell in (Cell(0, 0), Cell(2, 1), Cell(5, 3)):
        session.set_cell(*cell)
        rows = session.rows.trace.cell(*cell)
        for kind in KINDS:
            expected = getattr(rows, kind)
            assert shown(panel, kind).tobytes() == expected.tobytes()
            assert shown(panel, kind).dtype == expected.dtype == np.float32
            assert list(panel.view.plots[kind].curve.getData()[0]) == list(range(256))


def test_titles_tell_the_true_rows(opened: Any) -> None:
    session, panel = opened()
    session.set_cell(0, 0)
    assert panel.title.text() == "Sample 0, position 0"
    assert title(panel, "token") == 'tok_emb.weight[40]  "I"'
    assert title(panel, "position") == "pos_emb.weight[0]"
    assert title(panel, "sum") == "tok_emb.weight[40] + pos_emb.weight[0]"
    session.set_cell(1, 2)
    assert panel.title.text() == "Sample 1, position 2"
    assert title(panel, "position") == "pos_emb.weight[2]"


def test_offset_and_past_length_count_in_the_position_row(opened: Any) -> None:
    session, panel = opened(
        **{"position_embedding.offset": 2, "past_length": 3, "position_embedding.num_embeddings": 9}
    )
    session.set_cell(0, 1)
    assert title(panel, "position") == "pos_emb.weight[6]"
    assert np.array_equal(shown(panel, "position"), session.rows.trace.position_rows[1])


def test_positions_given_name_their_own_rows(opened: Any) -> None:
    session, panel = opened(positions=(3, 2, 1, 0))
    session.set_cell(0, 1)
    assert title(panel, "position") == "pos_emb.weight[2]"


def test_y_ranges_stay_over_the_batch_and_fit_one_cell_on_wish(opened: Any, qtbot: QtBot) -> None:
    session, panel = opened()
    box = panel.view.plots["token"].box
    low, high = session.rows.trace.limits("token")
    before = box.viewRange()[1]
    assert before[0] < low < high < before[1]
    session.set_cell(3, 1)
    assert box.viewRange()[1] == before
    qtbot.mouseClick(panel.fit_button, Qt.MouseButton.LeftButton)
    row = session.rows.trace.cell(3, 1).token
    fitted = box.viewRange()[1]
    assert before[0] < fitted[0] < row.min()
    assert row.max() < fitted[1] < before[1]
    panel.fit()
    assert box.viewRange()[1] == before


def test_constant_row_has_a_range(opened: Any) -> None:
    _, panel = opened()
    plot = panel.view.plots["token"]
    for constant in (0.0, 2.5, -1e-8):
        plot.set_limits((constant, constant))
        low, high = plot.box.viewRange()[1]
        assert low < constant < high


def test_figures_are_those_of_the_row(opened: Any) -> None:
    session, panel = opened()
    row = session.rows.trace.cell(0, 0).token.astype(np.float64)
    figures = panel.view.plots["token"].caption.figures
    expected = f"min {row.min():.3f}   mean {row.mean():.3f}   max {row.max():.3f}   norm {np.linalg.norm(row):.3f}"
    assert figures == expected.replace("-", "−")
    assert figures in panel.view.accessibleDescription()


def test_values_that_are_not_finite_are_said() -> None:
    row = np.array([1.0, np.nan, 3.0, np.inf, np.nan], dtype=np.float32)
    assert row_words.statistics(row, count=True) == (
        "5 values   2 NaN   1 infinite   min 1.000   mean 2.000   max 3.000   norm 3.162",
        True,
    )
    assert row_words.statistics(np.full(2, np.nan, np.float32), count=False) == ("2 NaN", True)


# ---- cursor and read-out -----------------------------------------------------------------------------------------


def test_pointer_reads_the_exact_values(opened: Any, qtbot: QtBot) -> None:
    session, panel = opened()
    qtbot.mouseMove(panel.view.viewport(), place(panel, 117))
    qtbot.waitUntil(lambda: panel.view.dimension == 117)
    rows = session.rows.trace.cell(*session.cell)
    dimension, *values = panel.read_out.values
    assert dimension == "117"
    for kind, value in zip(KINDS, values, strict=True):
        assert np.float32(value.replace("−", "-")) == getattr(rows, kind)[117]
        assert panel.view.plots[kind].cursor.value() == 117
    assert "dimension 117" in panel.read_out.accessibleName()


def test_keys_move_the_cursor(opened: Any, qtbot: QtBot) -> None:
    _, panel = opened()
    view = panel.view
    steps = [
        (Qt.Key.Key_End, 255),
        (Qt.Key.Key_Right, 255),
        (Qt.Key.Key_Left, 254),
        (Qt.Key.Key_PageUp, 254 - PAGE),
        (Qt.Key.Key_Home, 0),
        (Qt.Key.Key_Left, 0),
        (Qt.Key.Key_PageDown, PAGE),
        (Qt.Key.Key_Right, PAGE + 1),
    ]
    for key, expected in steps:
        qtbot.keyClick(view, key)
        assert view.dimension == expected
        assert panel.read_out.values[0] == str(expected)


def test_read_out_columns_do_not_depend_on_the_values(opened: Any) -> None:
    _, panel = opened()
    hint = panel.read_out.sizeHint(), panel.read_out.minimumSizeHint()
    panel.read_out.set_values(("9", "1.0", "", "−0.00012345678"))
    assert (panel.read_out.sizeHint(), panel.read_out.minimumSizeHint()) == hint


def test_wheel_zooms_all_three_and_double_click_resets(opened: Any, qtbot: QtBot) -> None:
    _, panel = opened()
    boxes = [plot.box for plot in panel.view.plots.values()]
    whole, tall = boxes[0].viewRange()
    spot = place(panel, 100)
    viewport = panel.view.viewport()
    event = QWheelEvent(
        QPointF(spot),
        QPointF(viewport.mapToGlobal(spot)),
        QPoint(),
        QPoint(0, 480),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(viewport, event)
    for box in boxes:
        first, last = box.viewRange()[0]
        assert whole[0] < first < 100 < last < whole[1]
        assert (first, last) == pytest.approx(tuple(boxes[1].viewRange()[0]), abs=0.01)
    assert boxes[0].viewRange()[1] == tall
    qtbot.mouseDClick(viewport, Qt.MouseButton.LeftButton, pos=spot)
    for box in boxes:
        assert box.viewRange()[0] == pytest.approx(whole)


# ---- words in place ----------------------------------------------------------------------------------------------


def test_widths_that_differ_leave_the_two_rows_and_say_why_there_is_no_sum(opened: Any) -> None:
    _, panel = opened(**{"position_embedding.embedding_dim": 128})
    assert len(shown(panel, "token")) == 256
    assert len(shown(panel, "position")) == 128
    assert panel.view.plots["position"].caption.figures.startswith("128 values")
    assert words(panel, "sum") == "256 and 128 values cannot be added"
    assert panel.view.plots["sum"].backdrop.fault
    assert panel.view.plots["sum"].curve.getData()[1] is None
    assert panel.read_out.values[3] == ""
    assert "256 and 128 values cannot be added" in panel.view.accessibleDescription()


def test_id_and_position_without_a_row(opened: Any) -> None:
    session, panel = opened(**{"token_embedding.num_embeddings": 300, "position_embedding.num_embeddings": 3})
    session.set_cell(0, 1)
    assert words(panel, "token") == f"ID {session.result.grid.rows[0][1]} has no row: rows are 0 to 299"
    assert words(panel, "position") == ""
    assert words(panel, "sum") == "blocked: there is no token row to add"
    session.set_cell(0, 3)
    assert words(panel, "position") == "position 3 has no row: rows are 0 to 2"
    session.set_cell(0, 0)  # "I", ID 40
    assert [words(panel, kind) for kind in KINDS] == ["", "", ""]
    assert len(shown(panel, "sum")) == 256


def test_model_without_a_position_table(opened: Any) -> None:
    _, panel = opened(position_embedding=None)
    assert words(panel, "position") == "this model has no position table: the sum is the token row"
    assert not panel.view.plots["position"].backdrop.fault
    assert np.array_equal(shown(panel, "sum"), shown(panel, "token"))
    assert title(panel, "sum") == "tok_emb.weight[40], nothing added"


def test_width_one_is_said_to_be_repeated(opened: Any) -> None:
    _, panel = opened(**{"position_embedding.embedding_dim": 1})
    assert words(panel, "sum") == "256 and 1 values: PyTorch repeats the one value and says nothing"


def test_table_that_cannot_be_built_says_what_the_verdict_says(opened: Any) -> None:
    session, panel = opened(**{"token_embedding.num_embeddings": -5})
    assert words(panel, "token") in {d.message for d in session.result.diagnoses}
    assert len(shown(panel, "position")) == 256
    assert words(panel, "sum") == "blocked: there is no token row to add"


def test_empty_text(opened: Any) -> None:
    session, panel = opened("")
    assert session.cell is None
    assert panel.title.text() == "Rows"
    assert {words(panel, kind) for kind in KINDS} == {"there is no token to look up"}


def test_before_the_rows_are_there_the_plots_say_so(qtbot: QtBot) -> None:
    session = Session(InputConfig(text=TEXT), pause_ms=0)
    panel = RowsPanel(session)
    qtbot.addWidget(panel)
    assert {words(panel, kind) for kind in KINDS} == {"Loading torch …"}
    session.close()
    panel.close()


def test_a_row_of_one_value_can_be_seen(opened: Any) -> None:
    session, panel = opened(**{"token_embedding.embedding_dim": 1, "position_embedding.embedding_dim": 1})
    x, y = panel.view.plots["token"].curve.getData()
    assert x[0] < 0 < x[-1]
    assert set(y) == set(session.rows.trace.cell(0, 0).token)


def test_without_rows_the_axis_reaches_as_far_as_they_would(opened: Any) -> None:
    _, panel = opened("")
    assert panel.view.width_shown == 256


def test_a_segment_row_of_another_width_is_said_in_place_of_the_sum(opened: Any) -> None:
    values = {"segment_embedding.num_embeddings": 2, "segment_embedding.embedding_dim": 128}
    _, panel = opened(**values)
    assert words(panel, "sum") == "the segment row is 128 wide and cannot be added to 256 values"
    assert panel.view.plots["sum"].backdrop.fault


def test_fault_takes_the_curve_away(opened: Any, qtbot: QtBot) -> None:
    session, panel = opened()
    assert len(shown(panel, "sum")) == 256
    session.set_value("position_embedding.embedding_dim", 128)
    for kind in ("token", "position"):
        assert shown(panel, kind) is None
        assert words(panel, kind) == "Building the layers …" + ("   Esc cancels" if kind == "token" else "")
    assert words(panel, "sum") == "256 and 128 values cannot be added"  # known without the layers
    assert shown(panel, "sum") is None
    assert not panel.view.plots["sum"].curve.isVisible()
    qtbot.waitUntil(lambda: session.rows.trace is not None, timeout=WAIT_MS)
    assert len(shown(panel, "token")) == 256
    assert shown(panel, "sum") is None


def test_curve_returns_when_the_fault_is_mended(opened: Any, qtbot: QtBot) -> None:
    session, panel = opened(**{"position_embedding.embedding_dim": 128})
    session.set_value("position_embedding.embedding_dim", 256)
    qtbot.waitUntil(lambda: session.rows.trace is not None, timeout=WAIT_MS)
    assert words(panel, "sum") == ""
    assert np.array_equal(shown(panel, "sum"), session.rows.trace.cell(0, 0).sum)
    assert panel.view.plots["sum"].curve.isVisible()


# ---- scheme and end ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", [theme.LIGHT, theme.DARK], ids=["light", "dark"])
def test_plots_follow_the_scheme(opened: Any, scheme: theme.Colors) -> None:
    _, panel = opened()
    panel.setPalette(theme.palette(scheme))
    assert panel.view.plots["token"].curve.opts["pen"].color() == scheme.token
    picture = panel.view.grab().toImage()
    found = {picture.pixelColor(x, y).name() for x in range(0, picture.width(), 3) for y in range(picture.height())}
    assert picture.pixelColor(1, picture.height() - 2) == scheme.panel
    assert scheme.muted.name() in found


def test_closed_panel_ends_the_process_quietly() -> None:
    code = (
        "from PySide6.QtWidgets import QApplication\n"
        "app = QApplication([])\n"
        "from inspector.config import InputConfig\n"
        "from inspector.ui.row_plots import RowsPanel\n"
        "from inspector.ui.session import Session\n"
        "session = Session(InputConfig(text='a b c'))\n"
        "panel = RowsPanel(session)\n"
        "panel.show(); app.processEvents(); panel.close(); panel.close(); session.close()\n"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Error" not in done.stderr
