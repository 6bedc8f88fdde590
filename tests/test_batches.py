"""The plan of the loader, held against the course's own loader: torch's Dataset and DataLoader, written out here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import DataLoader, Dataset

from inspector import batches
from inspector.batches import LoaderPlan
from inspector.config import LoaderConfig

ROOT = Path(__file__).parent.parent


class CourseDataset(Dataset):
    """The course's dataset, with the number of each sample beside it."""

    def __init__(self, token_ids: list[int], max_length: int, stride: int) -> None:
        self.inputs, self.targets = [], []
        for i in range(0, len(token_ids) - max_length, stride):
            self.inputs.append(torch.tensor(token_ids[i : i + max_length]))
            self.targets.append(torch.tensor(token_ids[i + 1 : i + max_length + 1]))

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, index: int) -> tuple[int, torch.Tensor, torch.Tensor]:
        return index, self.inputs[index], self.targets[index]


def course_loader(token_ids: list[int], loader: LoaderConfig) -> DataLoader:
    dataset = CourseDataset(token_ids, loader.max_length, loader.stride)
    # DataLoader itself refuses to shuffle nothing, in some versions.
    shuffle = loader.shuffle and len(dataset) > 0
    return DataLoader(dataset, batch_size=loader.batch_size, shuffle=shuffle, drop_last=loader.drop_last)


def course_batches(token_ids: list[int], loader: LoaderConfig) -> list[tuple[list, list, list]]:
    """Return (sample numbers, inputs, targets) of every batch that the course's loader yields."""
    with torch.random.fork_rng(devices=[]):
        made = course_loader(token_ids, loader)
        torch.manual_seed(loader.seed or 0)
        return [tuple(part.tolist() for part in batch) for batch in made]


loaders = st.builds(
    LoaderConfig,
    batch_size=st.integers(1, 9),
    max_length=st.integers(1, 9),
    stride=st.integers(1, 12),
    shuffle=st.booleans(),
    drop_last=st.booleans(),
    seed=st.integers(0, 2**32),
)
counts = st.integers(0, 90)


def ids_of(count: int) -> list[int]:
    return [7 * i + 100 for i in range(count)]  # no two alike, and none its own index


def planned(count: int, loader: LoaderConfig) -> LoaderPlan:
    plan = batches.plan(count, loader)
    assert plan is not None
    return plan


# ---- against torch -----------------------------------------------------------------------------------------------


@given(counts, loaders)
def test_every_batch_is_the_course_loader_s(count: int, loader: LoaderConfig) -> None:
    ids, plan = ids_of(count), planned(count, loader)
    expected = course_batches(ids, loader)
    assert plan.batches == len(expected) == len(course_loader(ids, loader))
    for batch, (numbers, inputs, targets) in enumerate(expected):
        samples = plan.samples_of(batch)
        assert samples == numbers
        assert [plan.window(ids, s) for s in samples] == inputs
        assert [plan.target(ids, s) for s in samples] == targets


@given(counts, loaders)
def test_what_is_left_out_is_counted(count: int, loader: LoaderConfig) -> None:
    ids, plan = ids_of(count), planned(count, loader)
    dataset = CourseDataset(ids, loader.max_length, loader.stride)
    yielded = sum(len(numbers) for numbers, _, _ in course_batches(ids, loader))
    read = {i for window in dataset.inputs for i in window.tolist()}
    after_last = ids.index(dataset.inputs[-1][-1].item()) + 1 if len(dataset) else 0

    assert plan.samples == len(dataset)
    assert plan.dropped_samples == len(dataset) - yielded
    assert plan.skipped_tokens == sum(i not in read for i in ids[:after_last])
    assert plan.tail_tokens == len(ids[after_last:])


@given(counts, loaders)
def test_the_batch_that_holds_a_token_is_the_first_that_does(count: int, loader: LoaderConfig) -> None:
    ids, plan = ids_of(count), planned(count, loader)
    holding: dict[int, tuple[int, int, int]] = {}
    for batch, (_, inputs, _) in enumerate(course_batches(ids, loader)):
        for row, window in enumerate(inputs):
            for column, token_id in enumerate(window):
                holding.setdefault(token_id, (batch, row, column))
    for index, token_id in enumerate(ids):
        assert plan.batch_holding(index) == holding.get(token_id)
    for outside in (-1, -10, count, count + 10):
        assert plan.batch_holding(outside) is None


@pytest.mark.parametrize(("count", "samples"), [(0, 0), (3, 0), (4, 0), (5, 1), (8, 1), (9, 2), (32, 7), (33, 8)])
def test_a_text_of_exactly_max_length_gives_no_sample(count: int, samples: int) -> None:
    plan = planned(count, LoaderConfig())
    assert plan.samples == samples
    assert plan.batches == (samples == 8)  # the lesson's full batch takes 33 tokens


@pytest.mark.parametrize("batch", [-1, 2, 3])
@pytest.mark.parametrize("shuffle", [True, False])
def test_there_is_nothing_in_a_batch_that_is_not(batch: int, shuffle: bool) -> None:
    plan = planned(66, LoaderConfig(shuffle=shuffle, seed=1))
    assert plan.batches == 2
    assert plan.samples_of(batch) == []


# ---- arguments ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["batch_size", "max_length", "stride"])
@pytest.mark.parametrize("value", [0, -1, 2.0, 2.5, True, None])
def test_an_argument_that_makes_no_plan_is_named(name: str, value: object) -> None:
    loader = LoaderConfig(**{name: value})
    assert batches.loader_faults(loader) == (name,)
    assert batches.plan(100, loader) is None


def test_all_faulty_arguments_are_named_and_sound_ones_are_not() -> None:
    assert batches.loader_faults(LoaderConfig(0, -1, 0.5)) == ("batch_size", "max_length", "stride")
    assert batches.loader_faults(LoaderConfig(1, 1, 1)) == ()


# ---- shuffling ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [None, 5])
def test_a_shuffled_order_leaves_the_random_state_alone(seed: int | None) -> None:
    batches.shuffled_order.cache_clear()
    state = torch.get_rng_state()
    order = batches.shuffled_order(50, seed)
    assert sorted(order) == list(range(50))
    assert torch.equal(torch.get_rng_state(), state)


def test_without_a_seed_the_order_is_some_order_and_stays() -> None:
    plan = planned(201, LoaderConfig(shuffle=True))
    first = [plan.samples_of(batch) for batch in range(plan.batches)]
    torch.rand(3)
    assert [plan.samples_of(batch) for batch in range(plan.batches)] == first
    batches.shuffled_order.cache_clear()
    assert [plan.samples_of(batch) for batch in range(plan.batches)] != first


def test_an_order_without_a_seed_is_not_that_of_the_global_generator() -> None:
    with torch.random.fork_rng(devices=[]):
        orders = []
        for _ in range(2):
            batches.shuffled_order.cache_clear()
            torch.manual_seed(0)
            orders.append(batches.shuffled_order(50, None))
    assert orders[0] != orders[1]


def test_only_a_shuffled_order_imports_torch() -> None:
    program = """
import sys
from pathlib import Path
from inspector import batches
from inspector.config import LoaderConfig

for shuffle in (False, True):
    plan = batches.plan(100, LoaderConfig(shuffle=shuffle, seed=1))
    plan.samples_of(0), plan.window(range(100), 0), plan.target(range(100), 0), plan.batch_holding(9)
    print("torch" in sys.modules)
"""
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "True"]
