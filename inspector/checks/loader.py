"""Loaders that yield nothing: arguments that make none, texts that are too short."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector import batches
from inspector.checks import words
from inspector.checks.registry import fault
from inspector.diagnosis import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.diagnosis import Diagnosis, Fault
    from inspector.facts import Facts


_EIGHT_WORDS = "one two three four five six seven eight"


@fault(
    code="B201",
    name="loader-argument-invalid",
    stage=Stage.DATA_LOADER,
    torch="ValueError: batch_size should be a positive integer value",
    example={"loader": {"batch_size": 0}},
)
def loader_argument_invalid(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """A loader argument is not a positive whole number.

    `batch_size=0` is refused by DataLoader with a `ValueError`, `stride=0` by `range()`. A negative stride gives no
    window at all, without a word. `max_length=0` gives windows of no tokens, which become float tensors that the
    embedding refuses with words about scalar types. All of this happens in Python before a device is used: it is the
    same on the CPU, on a GPU, on MPS and under `torch.compile`.

    How people meet it: `stride = max_length // 8` with a short window is 0, a size read from a configuration is a text
    or a float, an argument is left at a placeholder.

    What does not help: converting the empty windows with `.long()`; more workers; another batch size.

        max_length = 4
        stride = max(1, max_length // 8)                         # a division that rounds down to 0 never loops
        starts = list(range(0, 33 - max_length, max_length))     # windows side by side: every token is read once
        print(stride, len(starts))
    """
    if facts.given is not None:
        return
    loader = facts.config.loader
    for name in batches.loader_faults(loader):
        value = getattr(loader, name)
        repaired = 4 if name != "batch_size" else 8
        if name == "stride" and "max_length" not in batches.loader_faults(loader):
            repaired = int(loader.max_length)
        yield kind.diagnosis(
            f"{name} is {value!r}, but a loader needs a whole number of at least 1",
            f"set {name} to {repaired}" + (", the length of a window" if name == "stride" else ""),
            torch=_said(name, value),
            fields=[f"loader.{name}"],
            fix={f"loader.{name}": repaired},
            data={name: value},
        )


@fault(
    code="B202",
    name="no-sample",
    stage=Stage.DATA_LOADER,
    torch="no error: the loader is empty",
    example={"text": "one two three four", "loader": {"batch_size": 1}},
)
def no_sample(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The text is too short for a single window and its target.

    A sample is a window of `max_length` tokens and the same window one token later. Windows start at `range(0,
    len(token_ids) - max_length, stride)`, so the first needs `max_length + 1` tokens: a text of exactly `max_length`
    tokens gives none. The loop over the loader then runs zero times, on any device, and the first word of trouble is a
    `loss` that is not defined, a division by zero in the mean, or `StopIteration` from `next(iter(dataloader))`. Only a
    loader that shuffles complains: `num_samples should be a positive integer value`.

    How people meet it: the *validation* part of a short text, a window as long as GPT-2's 1,024 on a page of text.

    What does not help: `drop_last=False` or a smaller batch, because there is no sample to put into one; more epochs.
    Use a longer text or a smaller `max_length`:

        token_ids = list(range(5))
        for max_length in (5, 4):
            starts = range(0, len(token_ids) - max_length, max_length)
            print(max_length, len(starts))   # 5 gives no sample, 4 gives one
    """
    if facts.given is not None:
        if facts.batch is not None and not (facts.batch and facts.columns):
            yield kind.diagnosis(
                "the batch holds no token ID at all",
                "give at least one row with at least one ID",
                torch="no error",
                fields=["token_ids"],
            )
        return
    if facts.ids is None or facts.plan is None or facts.plan.samples:
        return
    count, length = len(facts.ids), facts.plan.max_length
    shorter, unfilled = count - 1, facts.plan.drop_last and facts.plan.batch_size > 1
    fix: dict[str, int | bool] | None = None
    if shorter >= 1:  # leaves one sample, which must also make a batch
        fix = {"loader.max_length": shorter}
        if unfilled:
            fix["loader.drop_last"] = False
    yield kind.diagnosis(
        f"{count} token{' gives' if count == 1 else 's give'} no sample: "
        f"a window of max_length {length} and its target need {length + 1}",
        f"use a text of at least {length + 1} tokens"
        + (
            f", or set max_length to {shorter}{_or_less(shorter)}{', and drop_last to False' if unfilled else ''}"
            if fix
            else ""
        ),
        torch="ValueError: num_samples should be a positive integer value, but got num_samples=0"
        if facts.plan.shuffle
        else "no error: the loader is empty",
        fields=["loader.max_length", "text"],
        fix=fix,
        data={"tokens": count, "max_length": length, "needed": length + 1},
    )


@fault(
    code="B203",
    name="no-batch",
    stage=Stage.DATA_LOADER,
    torch="no error: the loader is empty",
    example={"text": _EIGHT_WORDS},
)
def no_batch(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """There are samples, but fewer than one batch, and drop_last drops them all.

    With `drop_last=True` a DataLoader yields full batches only. Fewer samples than `batch_size` make no full batch, so
    the loop runs zero times without a word and `len(dataloader)` is 0; on any device and under `torch.compile`.

    How people meet it: a small validation set with the batch size of training, or a small text to try things out.

    What does not help: more epochs, or shuffling. Lower `batch_size`, lower `stride` so that overlapping windows make
    more samples, use a longer text, or set `drop_last=False`, which is right for validation, where every sample should
    count.

        from torch.utils.data import DataLoader

        samples = list(range(3))
        print(len(DataLoader(samples, batch_size=8, drop_last=True)))    # 0
        print(len(DataLoader(samples, batch_size=8, drop_last=False)))   # 1, of three samples
    """
    plan = facts.plan
    if facts.ids is None or plan is None or not plan.samples or plan.batches:
        return
    yield kind.diagnosis(
        f"{words.count(plan.samples, 'sample')} make{'s' if plan.samples == 1 else ''} no batch of {plan.batch_size}, "
        "and drop_last drops what is left over",
        f"set batch_size to {plan.samples}{_or_less(plan.samples)}, set drop_last to False, or use a longer text",
        fields=["loader.batch_size", "loader.drop_last"],
        fix={"loader.drop_last": False},
        data={"samples": plan.samples, "batch_size": plan.batch_size},
    )


def _or_less(number: int) -> str:
    return " or less" if number > 1 else ""


def _said(name: str, value: object) -> str:
    """Return what Python, DataLoader or the look-up says of a loader argument."""
    if name == "batch_size":
        return f"ValueError: batch_size should be a positive integer value, but got batch_size={value}"
    if not isinstance(value, int):
        return f"TypeError: {type(value).__name__!r} object cannot be interpreted as an integer"
    if name == "stride":
        return "no error: no window at all" if value else "ValueError: range() arg 3 must not be zero"
    if value < 0:
        return "no error: windows that are not what was meant"
    return (
        "RuntimeError: Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int"
    )
