"""The rows on show are torch's own, bit for bit, and where torch has none there is none."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from inspector import layers, pipeline, trace
from inspector.config import InputConfig, PositionEmbeddingConfig, SegmentEmbeddingConfig, TokenEmbeddingConfig
from inspector.layers import NotEnoughMemory
from inspector.pipeline import Request
from inspector.recipe import ITEM_SIZES, Recipe
from inspector.result import Grid, Result
from inspector.trace import CellRows, Trace

IDS = ((1, 2, 3, 4), (5, 6, 7, 8), (9, 9, 0, 1))


def config(token=(10, 6), position=(4, 6), **keys) -> InputConfig:
    """Return a small inspection; a layer is (rows, width) or its arguments."""
    return InputConfig(
        token_embedding=TokenEmbeddingConfig(*token) if isinstance(token, tuple) else token,
        position_embedding=PositionEmbeddingConfig(*position) if isinstance(position, tuple) else position,
        **keys,
    ).resolved()


def result(ids=IDS, inspection: InputConfig | None = None, *, looked_up: bool = True) -> Result:
    """Return the result of a batch; not `looked_up` where a fault forbids the batch but its cells are there."""
    grid = Grid(rows=tuple(map(tuple, ids)), expected_rows=len(ids), expected_columns=4, complete=looked_up)
    return Result(
        config=inspection or config(),
        batch=0,
        batches=1,
        diagnoses=(),
        shapes=(),
        grid=grid,
        ids=tuple(map(tuple, ids)) if looked_up else None,
    )


def notebook(inspection: InputConfig) -> tuple[nn.Embedding, nn.Embedding]:
    """Return the two layers of a person's notebook."""
    token, position = inspection.token_embedding, inspection.position_embedding
    assert position is not None
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(inspection.seed)
        made = [
            nn.Embedding(
                layer.num_embeddings,
                layer.embedding_dim,
                padding_idx=layer.padding_idx,
                max_norm=getattr(layer, "max_norm", None),
                dtype=getattr(torch, layer.dtype),
            )
            for layer in (token, position)
        ]
    return made[0], made[1]


def assert_equal(array: np.ndarray | None, expected: torch.Tensor) -> None:
    """Assert equality bit for bit, half types widened."""
    expected = expected.detach()
    wide = expected if expected.dtype is torch.float64 else expected.float()
    assert array is not None
    assert array.dtype == wide.numpy().dtype
    assert torch.equal(torch.from_numpy(array.copy()), wide)


# ---- a whole batch -----------------------------------------------------------------------------------------------


@st.composite
def sound(draw: st.DrawFn) -> Result:
    """Draw an inspection that torch takes, and its batch."""
    rows, width = draw(st.integers(1, 40)), draw(st.integers(1, 20))
    batch_size, columns = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    offset, past = draw(st.integers(0, 2)), draw(st.integers(0, 2))
    dtypes = st.sampled_from(sorted(ITEM_SIZES))
    padding = st.none() | st.sampled_from([0, -1])
    norm = draw(st.none() | st.sampled_from([0.5, 2.0]))
    ids = draw(
        st.lists(
            st.lists(st.integers(0, rows - 1), min_size=columns, max_size=columns),
            min_size=batch_size,
            max_size=batch_size,
        )
    )
    inspection = config(
        (rows, width, draw(padding), norm, draw(dtypes)),
        (offset + past + columns + draw(st.integers(0, 2)), width, draw(padding), offset, draw(dtypes)),
        past_length=past,
        seed=draw(st.integers(0, 99)),
    )
    return result(ids, inspection)


@given(sound())
def test_rows_and_sums_are_those_of_torch(sound: Result) -> None:
    inspection = sound.config
    token, position = notebook(inspection)
    assert sound.ids is not None
    assert inspection.position_embedding is not None
    ids = torch.tensor(sound.ids)
    first = inspection.position_embedding.offset + inspection.past_length
    positions = torch.arange(first, first + ids.shape[1])
    expected_rows, expected_positions = token(ids), position(positions)

    assert_equal(sound.token_rows, expected_rows)
    assert_equal(sound.position_rows, expected_positions)
    assert_equal(sound.sum, expected_rows + expected_positions)
    for r, c in np.ndindex(*ids.shape):
        cell = sound.trace.cell(r, c)
        assert_equal(cell.token, expected_rows[r, c])
        assert_equal(cell.position, expected_positions[c])
        assert_equal(cell.sum, expected_rows[r, c] + expected_positions[c])


def test_the_lesson() -> None:
    lesson = result([[40, 367, 2885, 1464]] * 8, InputConfig().resolved())
    cell = lesson.trace.cell(3, 0)
    assert cell.token[:3] == pytest.approx([-0.06396, 0.33174, 0.10698], abs=5e-6)
    assert cell.position[:3] == pytest.approx([0.54232, -0.12239, -1.41497], abs=5e-6)
    assert np.array_equal(cell.sum, cell.token + cell.position)
    assert lesson.sum.shape == (8, 4, 256)
    assert lesson.position_rows.shape == (4, 256)


def test_half_types_are_added_before_they_are_widened() -> None:
    both = result(inspection=config((10, 6, None, None, "float16"), (4, 6, None, 0, "float16")))
    token, position = notebook(both.config)
    rounded = token(torch.tensor(IDS)) + position(torch.arange(4))
    assert both.sum.dtype == np.float32
    assert_equal(both.sum, rounded)
    assert not np.array_equal(both.sum, both.token_rows + both.position_rows)


def test_mixed_types_are_promoted_as_torch_does() -> None:
    mixed = result(inspection=config((10, 6, None, None, "float16"), (4, 6, None, 0, "bfloat16")))
    token, position = notebook(mixed.config)
    added = token(torch.tensor(IDS)) + position(torch.arange(4))
    assert added.dtype is torch.float32
    assert_equal(mixed.sum, added)


def test_arrays_are_read_only_copies() -> None:
    seen = result(((1, 99),), config(position=(1, 6)))
    whole = result()
    built = layers.build(Recipe.of(whole.config))
    for made in (trace.of(whole, built), seen.trace, result(inspection=config(position=None)).trace):
        arrays = (made.token_rows, made.token_present, made.sums, made.sum_present, made.position_rows)
        cell = made.cell(0, 0)
        for array in (*arrays, made.position_present, cell.token, cell.position, cell.sum):
            if array is not None:
                with pytest.raises(ValueError, match="read-only"):
                    array[...] = 0
    made = trace.of(whole, built)
    before = made.token_rows.copy()
    assert isinstance(built.token, layers.BuiltTable)
    built.token.layer.weight.fill_(5)
    assert np.array_equal(made.token_rows, before)


# ---- through the pipeline ----------------------------------------------------------------------------------------

TEXT = "Hello, I am a donkey and the world is wide. " * 6


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_text_becomes_the_rows_that_the_notebook_has(shuffle: bool) -> None:
    inspection = InputConfig(text=TEXT).with_values({"loader.shuffle": shuffle, "loader.seed": 4})
    seen = pipeline.run(Request(inspection, batch=1))
    assert seen.ok
    token, position = notebook(seen.config)
    ids = torch.tensor(seen.token_ids)
    assert ids.shape == (8, 4)
    assert_equal(seen.token_rows, token(ids))
    assert_equal(seen.position_rows, position.weight)
    assert_equal(seen.sum, token(ids) + position(torch.arange(4)))


def test_only_the_cells_at_fault_have_no_row() -> None:
    seen = pipeline.run(Request(InputConfig(text=TEXT).with_values({"token_embedding.num_embeddings": 50000})))
    [fault] = [d for d in seen.diagnoses if d.code == "E301"]
    absent = {(r, c) for r, c in np.ndindex(8, 4) if seen.trace.cell(r, c).token is None}
    assert absent == set(fault.cells) != set()
    assert (seen.token_rows, seen.sum) == (None, None)
    assert seen.position_rows is not None


def test_a_text_too_short_for_a_batch_has_rows_for_its_tokens() -> None:
    seen = pipeline.run(Request(InputConfig(text="Hello there")))
    assert seen.ids is None
    assert seen.token_rows is None
    token, position = notebook(seen.config)
    assert_equal(seen.trace.cell(0, 1).sum, token.weight[612] + position.weight[1])


# ---- what is not there -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outside", [-1, -100, 10, 11, 2**70, 1.5, 3.0])
def test_an_id_that_has_no_row_is_absent_and_the_others_are_not(outside: float) -> None:
    made = result(((1, outside, 3, 4), (5, 6, 7, 8)), looked_up=False).trace
    token, position = notebook(config())
    cell = made.cell(0, 1)
    assert cell.token is None
    assert cell.sum is None
    assert_equal(cell.position, position.weight[1])
    assert np.isnan(made.token_rows[0, 1]).all()
    assert np.isnan(made.sums[0, 1]).all()
    assert made.token_present.tolist() == [[True, False, True, True], [True] * 4]
    assert made.sum_present.tolist() == made.token_present.tolist()
    assert made.all_token_rows is None
    assert made.all_sums is None
    assert made.all_position_rows is made.position_rows
    assert_equal(made.cell(1, 3).sum, token.weight[8] + position.weight[3])


def test_positions_beyond_the_table_are_absent() -> None:
    short = result(inspection=config(position=(2, 6)))
    assert short.trace.position_present.tolist() == [True, True, False, False]
    assert short.trace.sum_present.tolist() == [[True, True, False, False]] * 3
    assert np.isnan(short.trace.position_rows[2:]).all()
    assert short.trace.cell(0, 2).position is None
    assert short.trace.cell(0, 2).token is not None
    assert short.trace.cell(0, 2).sum is None
    assert (short.position_rows, short.sum) == (None, None)
    assert short.token_rows is not None


def test_positions_before_the_table_are_absent() -> None:
    made = result(inspection=config(past_length=-1)).trace
    token, position = notebook(config())
    assert made.position_present.tolist() == [False, True, True, True]
    assert_equal(made.cell(0, 1).sum, token.weight[2] + position.weight[0])


def test_offset_and_past_length_move_the_positions() -> None:
    inspection = config(position=(9, 6, None, 2), past_length=3)
    _, position = notebook(inspection)
    assert_equal(result(inspection=inspection).position_rows, position.weight[5:9])


def test_the_rows_of_an_unequal_batch_are_those_of_its_cells() -> None:
    made = result(((1, 2, 3, 4), (), (5, 6)), looked_up=False).trace
    token, position = notebook(config())
    assert made.token_present.tolist() == [[True] * 4, [False] * 4, [True, True, False, False]]
    assert made.token_rows.shape == (3, 4, 6)
    assert_equal(made.cell(2, 1).sum, token.weight[6] + position.weight[1])
    for r, c in ((1, 0), (2, 2), (3, 0), (0, 4), (-1, 0), (0, -1)):
        rows = made.cell(r, c)
        assert (rows.token, rows.position, rows.sum) == (None, None, None)


def test_a_result_without_a_batch_has_no_public_rows_though_its_cells_have() -> None:
    blocked = result(looked_up=False)
    assert (blocked.token_rows, blocked.position_rows, blocked.sum) == (None, None, None)
    assert blocked.trace.cell(0, 0).sum is not None


@pytest.mark.parametrize("ids", [(), ((),), ((), ())])
def test_without_cells_there_is_nothing(ids: tuple) -> None:
    made = result(ids, looked_up=False).trace
    assert made.token_rows is made.position_rows is made.sums is None
    assert made.all_token_rows is made.all_position_rows is made.all_sums is None
    assert made.limits("token") is made.limits("position") is made.limits("sum") is None
    assert made.cell(0, 0).token is None


def test_a_token_layer_that_cannot_be_built_has_no_rows() -> None:
    made = result(inspection=config(token=(-5, 6))).trace
    assert made.token_rows is made.token_present is made.sums is None
    assert made.cell(0, 0).token is None
    assert made.cell(0, 0).position is not None


def test_a_position_layer_that_cannot_be_built_has_neither_rows_nor_sums() -> None:
    made = result(inspection=config(position=(0, 6))).trace
    assert made.position_rows is made.sums is None
    assert made.cell(0, 0).token is not None


def test_without_a_position_table_the_sum_is_the_token_row() -> None:
    alone = result(inspection=config(position=None, positions=(0, 1, 2, 3)))
    assert alone.position_rows is None
    assert alone.trace.cell(0, 0).position is None
    assert np.array_equal(alone.sum, alone.token_rows)


@pytest.mark.parametrize("width", [1, 5, 7])
def test_rows_of_different_widths_have_no_sum(width: int) -> None:
    made = result(inspection=config(position=(4, width))).trace
    assert made.sums is made.sum_present is made.cell(0, 0).sum is None
    assert made.cell(0, 0).token.shape == (6,)
    assert made.cell(0, 0).position.shape == (width,)


@pytest.mark.parametrize("position", [(4, 6), None])
def test_a_projection_lies_between_token_row_and_sum(position: tuple | None) -> None:
    token = TokenEmbeddingConfig(10, 6, project_to=6)
    assert result(inspection=config(token, position)).sum is None


# ---- positions given ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("positions", [(3, 1, 1, 0), ((3, 1, 1, 0),)])
def test_one_line_of_positions_serves_every_row(positions: tuple) -> None:
    inspection = config(position=(4, 6, None, 2), past_length=1, positions=positions)  # neither is added
    given = result(inspection=inspection)
    token, position = notebook(inspection)
    assert_equal(given.position_rows, position(torch.tensor([3, 1, 1, 0])))
    assert_equal(given.sum, token(torch.tensor(IDS)) + position(torch.tensor(positions)))


def test_positions_row_by_row() -> None:
    lines = ((0, 1, 2, 3), (3, 2, 1, 0), (1, 1, 9, -1))
    inspection = config(positions=lines)
    made = result(inspection=inspection).trace
    token, position = notebook(inspection)
    assert made.position_rows.shape == (3, 4, 6)
    assert made.position_present.tolist() == [[True] * 4, [True] * 4, [True, True, False, False]]
    assert_equal(made.cell(1, 0).position, position.weight[3])
    assert_equal(made.cell(1, 0).sum, token.weight[5] + position.weight[3])
    assert made.cell(2, 2).position is made.cell(2, 3).sum is None

    whole = result(IDS[:2], config(positions=lines[:2]))
    assert_equal(whole.position_rows, position(torch.tensor(lines[:2])))
    assert_equal(whole.sum, token(torch.tensor(IDS[:2])) + position(torch.tensor(lines[:2])))


@pytest.mark.parametrize(
    "positions",
    [
        (),
        (0,),
        ((0,),),
        (0, 1, 2),
        (0, 1, 2, 3, 3),
        ((0,), (1,), (2,)),
        ((0, 1, 2, 3), (0, 1, 2, 3)),
        ((0, 1, 2, 3), (0, 1), (0, 1, 2, 3)),
        (((0, 1, 2, 3),),),
    ],
)
def test_positions_that_are_not_one_for_each_column_are_not_broadcast(positions: tuple) -> None:
    made = result(inspection=config(positions=positions)).trace
    assert made.position_rows is made.position_present is made.sums is None
    assert made.cell(0, 0).position is made.cell(0, 0).sum is None
    assert made.cell(0, 0).token is not None


# ---- limits and memory -------------------------------------------------------------------------------------------


def test_limits_are_those_of_the_whole_batch() -> None:
    made = result(((1, 2, 3, 4), (5, 99)), looked_up=False).trace
    token, position = notebook(config())
    rows = token.weight[1:6]
    assert made.limits("token") == (rows.min().item(), rows.max().item())
    assert made.limits("position") == (position.weight.min().item(), position.weight.max().item())
    sums = torch.stack([token.weight[i] + position.weight[p] for i, p in ((1, 0), (2, 1), (3, 2), (4, 3), (5, 0))])
    assert made.limits("sum") == (sums.min().item(), sums.max().item())


def test_limits_are_finite() -> None:
    made = Trace(token_rows=np.array([[[np.inf, 2.0, -1.0, np.nan, -np.inf]]]), sums=np.full((1, 1, 2), np.inf))
    assert made.limits("token") == (-1.0, 2.0)
    assert made.limits("sum") is None


def test_a_batch_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    inspection = config(token=(10, 1000), position=(4000, 1000))
    large = result([[1] * 4000] * 4, inspection)
    built = layers.build(Recipe.of(inspection))
    monkeypatch.setattr(layers, "rows", None)  # refused before it is begun
    monkeypatch.setattr(layers.psutil, "virtual_memory", lambda: type("Memory", (), {"available": 2**27}))
    with pytest.raises(NotEnoughMemory, match=r"^the rows of this batch take up to 0\.3 GiB and 0\.1 GiB of memory"):
        trace.of(large, built)


def test_cells_compare_without_looking_into_their_arrays() -> None:
    rows = np.zeros(3)
    assert CellRows(rows) != CellRows(rows)


def test_a_segment_table_adds_its_first_row_before_the_position() -> None:
    inspection = InputConfig(
        token_ids=((3, 1, 2),),
        embedding_dim=5,
        token_embedding=TokenEmbeddingConfig(9, 5),
        position_embedding=PositionEmbeddingConfig(3, 5),
        segment_embedding=SegmentEmbeddingConfig(2, 5),
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(123)
        token, position, segment = nn.Embedding(9, 5), nn.Embedding(3, 5), nn.Embedding(2, 5)
    ids = torch.tensor([[3, 1, 2]])
    expected = token(ids) + segment(torch.zeros(1, dtype=torch.long)) + position(torch.arange(3))
    assert_equal(result(((3, 1, 2),), inspection).sum, expected)
