"""The layers are torch's own, bit for bit, and looking at them leaves everything as it was."""

from __future__ import annotations

import itertools
import threading
import time
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from inspector import layers
from inspector.layers import Cancelled, NotEnoughMemory
from inspector.recipe import ITEM_SIZES, LayerRecipe, Recipe

LESSON = Recipe(LayerRecipe(50257, 256, None, None, "float32"), LayerRecipe(4, 256, None, None, "float32"), 123)


def constructed(recipe: Recipe) -> list[nn.Embedding | None]:
    """Return what a person's notebook makes of a recipe."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        return [
            layer
            and nn.Embedding(
                layer.num_embeddings,
                layer.embedding_dim,
                padding_idx=layer.padding_idx,
                max_norm=layer.max_norm,
                dtype=getattr(torch, layer.dtype),
            )
            for layer in (recipe.token, recipe.position, recipe.segment)
        ]


def embedding(table: layers.Table | None) -> nn.Embedding:
    assert isinstance(table, layers.BuiltTable)
    return table.layer


def assert_as_constructed(recipe: Recipe) -> None:
    built = layers.build(recipe)
    for table, expected in zip(built.tables, constructed(recipe), strict=True):
        if expected is None:
            assert table is None
            continue
        layer = embedding(table)
        assert type(layer) is nn.Embedding
        assert repr(layer) == repr(expected)
        assert layer.weight.dtype is expected.weight.dtype
        assert torch.equal(layer.weight, expected.weight)


@st.composite
def layer_recipes(draw: st.DrawFn) -> LayerRecipe:
    rows = draw(st.integers(1, 70))
    return LayerRecipe(
        num_embeddings=rows,
        embedding_dim=draw(st.integers(1, 20)),
        padding_idx=draw(st.none() | st.sampled_from([0, -1, rows - 1, -rows]) | st.integers(-rows, rows - 1)),
        max_norm=draw(st.none() | st.sampled_from([0.1, 1.0, 2.0, 4.0])),
        dtype=draw(st.sampled_from(sorted(ITEM_SIZES))),
    )


recipes = st.builds(
    Recipe,
    st.none() | layer_recipes(),
    st.none() | layer_recipes(),
    st.integers(-(2**63), 2**64 - 1) | st.integers(0, 200),
    st.none() | layer_recipes(),
)


# ---- building ----------------------------------------------------------------------------------------------------


def test_the_lesson_has_the_rows_that_everyone_sees() -> None:
    built = layers.build(LESSON)
    assert embedding(built.token).weight[40, :3].tolist() == pytest.approx([-0.06396, 0.33174, 0.10698], abs=5e-6)
    assert embedding(built.position).weight[0, :3].tolist() == pytest.approx([0.54232, -0.12239, -1.41497], abs=5e-6)
    assert_as_constructed(LESSON)


@given(recipes)
def test_layers_are_those_of_the_constructors(recipe: Recipe) -> None:
    assert_as_constructed(recipe)


@given(recipes, st.sampled_from([16, 32, 64, 160]))
def test_chunks_draw_what_one_fill_draws(recipe: Recipe, chunk: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layers, "_CHUNK", chunk)
        assert_as_constructed(recipe)


@pytest.mark.parametrize("dtype", sorted(ITEM_SIZES))
@pytest.mark.parametrize("surplus", [-1, 0, 1, 15, 16, 17])
def test_chunks_of_the_real_size_draw_what_one_fill_draws(dtype: str, surplus: int) -> None:
    values = 2 * layers._CHUNK + surplus
    token, position = LayerRecipe(1, values, None, None, dtype), LayerRecipe(values, 1, -1, None, dtype)
    assert_as_constructed(Recipe(token, position, 7))


def test_building_leaves_torch_as_it_was() -> None:
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    layers.build(LESSON)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads


def test_draws_elsewhere_do_not_disturb_a_build() -> None:
    done = threading.Event()

    def draw() -> None:
        while not done.is_set():
            torch.rand(100)

    other = threading.Thread(target=draw)
    with torch.random.fork_rng(devices=[]):
        other.start()
        built = layers.build(LESSON)
        done.set()
        other.join()
    expected = constructed(LESSON)[0]
    assert expected is not None
    assert torch.equal(embedding(built.token).weight, expected.weight)


def test_layers_are_filled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: nn.Embedding) -> None:
        raise AssertionError("filled a second time")

    monkeypatch.setattr(nn.Embedding, "reset_parameters", refuse)
    layers.build(LESSON)


def test_progress_rises_to_one() -> None:
    told: list[float] = []
    layers.build(LESSON, progress=told.append)
    assert len(told) > 10
    assert all(before < after for before, after in itertools.pairwise([0.0, *told]))
    assert told[-1] == 1.0


@pytest.mark.parametrize("dtype", sorted(ITEM_SIZES))
def test_a_build_stops_soon_after_it_is_cancelled(dtype: str) -> None:
    asked: list[float] = []

    def cancelled() -> bool:
        asked.append(time.perf_counter())
        return len(asked) > 20

    with pytest.raises(Cancelled):
        layers.build(Recipe(LayerRecipe(50257, 256, None, None, dtype), None, 1), cancelled=cancelled)
    assert len(asked) == 21
    gaps = sorted(after - before for before, after in itertools.pairwise(asked))
    assert gaps[len(gaps) // 2] < 0.05


# ---- memory ------------------------------------------------------------------------------------------------------


def free_memory(monkeypatch: pytest.MonkeyPatch, nbytes: float) -> None:
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=nbytes))


GPT_3 = Recipe(LayerRecipe(50257, 12288, None, None, "float32"), LayerRecipe(2048, 12288, None, None, "float32"), 1)


def test_layers_that_do_not_fit_are_refused_before_they_are_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    free_memory(monkeypatch, 1.1 * 2**30)
    monkeypatch.setattr(torch, "empty", None)
    with pytest.raises(NotEnoughMemory, match=r"^the layers take 2\.4 GiB and 1\.1 GiB of memory is free$"):
        layers.build(GPT_3)


def test_some_memory_stays_free(monkeypatch: pytest.MonkeyPatch) -> None:
    free_memory(monkeypatch, LESSON.nbytes / 0.85)
    layers.build(LESSON)
    free_memory(monkeypatch, LESSON.nbytes / 0.95)
    with pytest.raises(NotEnoughMemory):
        layers.build(LESSON)


def test_a_refusal_of_the_system_is_the_same_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    free_memory(monkeypatch, 2**70)
    with pytest.raises(NotEnoughMemory, match=r"^the system refused 2147483648\.0 GiB of memory$"):
        layers.build(Recipe(LayerRecipe(2**30, 2**28, None, None, "float64"), None, 1))


# ---- look-ups ----------------------------------------------------------------------------------------------------


@st.composite
def look_ups(draw: st.DrawFn) -> tuple[Recipe, np.ndarray]:
    layer = draw(layer_recipes())
    shape = draw(st.sampled_from([(0,), (5,), (2, 3), (8, 4), (1, 2, 3)]))
    ids = draw(st.lists(st.integers(0, layer.num_embeddings - 1), min_size=32, max_size=32))
    array = np.resize(np.array(ids, dtype=np.int64), shape)
    array.flags.writeable = False  # as a result's IDs are
    return Recipe(layer, None, draw(st.integers(0, 99))), array


@given(look_ups())
def test_rows_are_those_of_forward_and_the_layer_stays_as_it_is(look_up: tuple[Recipe, np.ndarray]) -> None:
    recipe, ids = look_up
    layer = embedding(layers.build(recipe).token)
    own = constructed(recipe)[0]  # forward may rewrite this one
    assert own is not None
    before = layer.weight.clone()

    found = layers.rows(layer, ids)

    expected = own(torch.from_numpy(ids.copy()))
    assert found.dtype is expected.dtype
    assert torch.equal(found, expected)
    assert torch.equal(layer.weight, before)
    found += 1  # a copy: what is done to it is not done to the layer
    assert torch.equal(layer.weight, before)


def test_a_layer_with_max_norm_rewrites_its_rows_but_not_for_us() -> None:
    layer = nn.Embedding(10, 8, max_norm=0.5)
    before = layer.weight.detach().clone()
    rows = layers.rows(layer, np.array([[3, 3], [7, 0]]))
    assert torch.equal(layer.weight, before)
    assert rows.norm(dim=-1).max() <= 0.5
    layer(torch.tensor([3]))
    assert not torch.equal(layer.weight, before)


def test_another_norm_is_honoured() -> None:
    layer, own = (nn.Embedding(6, 8, max_norm=1.0, norm_type=1.0, _weight=torch.arange(48.0).view(6, 8)) for _ in "ab")
    assert torch.equal(layers.rows(layer, np.array([5, 1])), own(torch.tensor([5, 1])))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_types_widen_exactly(dtype: torch.dtype) -> None:
    every = torch.arange(-(2**15), 2**15, dtype=torch.int16).view(dtype)
    numbers = every[~every.isnan()]
    wide = layers.widened(numbers)
    assert wide.dtype == np.float32
    assert torch.equal(torch.tensor(wide).to(dtype).view(torch.int16), numbers.view(torch.int16))


@pytest.mark.parametrize(("dtype", "expected"), [(torch.float32, np.float32), (torch.float64, np.float64)])
def test_other_types_stay_as_they_are(dtype: torch.dtype, expected: type) -> None:
    values = torch.tensor([0.1, -2.0], dtype=dtype)
    assert layers.widened(values).dtype == expected
    assert layers.widened(values).tolist() == values.tolist()
