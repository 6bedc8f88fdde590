"""Token IDs to batches, as the course's loader cuts them: windows, targets, and what is skipped or dropped.

Everything here is arithmetic on plain sequences, so any batch is reached without building the ones before it. Only a
shuffled order needs torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.config import LoaderConfig


@dataclass(frozen=True, slots=True)
class LoaderPlan:
    """What a loader with sound arguments makes of `token_count` IDs.

    Sample i is the window that starts at i * stride; its targets are shifted by one.
    """

    token_count: int
    batch_size: int
    max_length: int
    stride: int
    drop_last: bool
    shuffle: bool
    seed: int | None

    @property
    def samples(self) -> int:
        """How many windows there are: one for each start in range(0, token_count - max_length, stride)."""
        return len(range(0, self.token_count - self.max_length, self.stride))

    @property
    def batches(self) -> int:
        """How many batches the loader yields."""
        whole, rest = divmod(self.samples, self.batch_size)
        return whole + (1 if rest and not self.drop_last else 0)

    @property
    def dropped_samples(self) -> int:
        """How many samples `drop_last` leaves out."""
        return self.samples % self.batch_size if self.drop_last else 0

    @property
    def skipped_tokens(self) -> int:
        """How many tokens lie between two windows and so are in none (as inputs): stride > max_length."""
        return max(0, self.samples - 1) * max(0, self.stride - self.max_length)

    @property
    def tail_tokens(self) -> int:
        """How many tokens come after the last window; the first of them is still read as its last target."""
        if not self.samples:
            return self.token_count
        return self.token_count - (self.samples - 1) * self.stride - self.max_length

    def samples_of(self, batch: int) -> list[int]:
        """Return the numbers of the samples in a batch, in order; empty where there is no such batch.

        With `shuffle` the order is torch's own, which imports torch.
        """
        if not 0 <= batch < self.batches:
            return []
        first = batch * self.batch_size
        last = min(first + self.batch_size, self.samples)
        if not self.shuffle:
            return list(range(first, last))
        return list(shuffled_order(self.samples, self.seed)[first:last])

    def window(self, ids: Sequence[int], sample: int) -> list[int]:
        """Return the max_length input IDs of a sample."""
        start = sample * self.stride
        return list(ids[start : start + self.max_length])

    def target(self, ids: Sequence[int], sample: int) -> list[int]:
        """Return the max_length target IDs of a sample: its inputs shifted by one."""
        start = sample * self.stride + 1
        return list(ids[start : start + self.max_length])

    def batch_holding(self, token_index: int) -> tuple[int, int, int] | None:
        """Return (batch, row, column) of the first sample in loader order that holds a token as an input."""
        first = max(0, -(-(token_index - self.max_length + 1) // self.stride))
        last = min(token_index // self.stride, self.samples - 1)
        if first > last:
            return None
        if not self.shuffle:
            place, sample = first, first
        else:
            place_of = shuffled_places(self.samples, self.seed)
            place, sample = min((place_of[s], s) for s in range(first, last + 1))
        batch, row = divmod(place, self.batch_size)
        if batch >= self.batches:
            return None
        return batch, row, token_index - sample * self.stride


def plan(token_count: int, loader: LoaderConfig) -> LoaderPlan | None:
    """Return the plan of a loader, or None where its arguments cannot make one (`loader_faults` says which)."""
    if loader_faults(loader):
        return None
    return LoaderPlan(
        token_count=token_count,
        batch_size=int(loader.batch_size),
        max_length=int(loader.max_length),
        stride=int(loader.stride),
        drop_last=loader.drop_last,
        shuffle=loader.shuffle,
        seed=loader.seed,
    )


def loader_faults(loader: LoaderConfig) -> tuple[str, ...]:
    """Return which of batch_size, max_length and stride is not a positive whole number."""
    names = ("batch_size", "max_length", "stride")
    return tuple(n for n in names if not isinstance(v := getattr(loader, n), int) or isinstance(v, bool) or v < 1)


@lru_cache(maxsize=4)
def shuffled_order(samples: int, seed: int | None) -> tuple[int, ...]:
    """Return the order in which a shuffling DataLoader visits its samples after `torch.manual_seed(seed)`.

    It is asked of torch's own DataLoader, whose order does not depend on the batch size. Without a seed it is one
    order of many, kept for as long as the program runs. torch's global generator is left as it was.
    """
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Numbers(Dataset[int]):
        def __len__(self) -> int:
            return samples

        def __getitem__(self, index: int) -> int:
            return index

    with torch.random.fork_rng(devices=[]):
        if seed is not None:
            torch.manual_seed(seed)
        else:
            torch.seed()
        loader = DataLoader(Numbers(), batch_size=max(1, samples), shuffle=samples > 0, collate_fn=tuple)
        order: tuple[int, ...] = next(iter(loader), ())
    return order


@lru_cache(maxsize=2)
def shuffled_places(samples: int, seed: int | None) -> list[int]:
    """Return the place of each sample in the shuffled order."""
    places = [0] * samples
    for place, sample in enumerate(shuffled_order(samples, seed)):
        places[sample] = place
    return places
