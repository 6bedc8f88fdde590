"""Faults of the data loader: arguments that make none, and batches that are fewer than meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector import batches
from inspector.checks import words
from inspector.checks.registry import fault
from inspector.diagnosis import Severity, Stage

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

    `batch_size=0` is refused by DataLoader itself. `stride=0` is refused by `range()`, a negative stride or one that
    is computed to 0 by an integer division gives no window at all, and `max_length=0` gives windows of no tokens, which
    become float tensors that the embedding refuses, with words about dtypes.

        stride = max_length          # windows side by side: every token is read once
        stride = max_length // 2     # windows overlap by half
    """
    if facts.tokens is None:
        return
    loader = facts.config.loader
    said = {
        "batch_size": "ValueError: batch_size should be a positive integer value",
        "max_length": "RuntimeError: Expected tensor for argument #1 'indices' to have scalar types Long, Int",
        "stride": "ValueError: range() arg 3 must not be zero" if loader.stride == 0 else "no error: no window at all",
    }
    for name in batches.loader_faults(loader):
        value = getattr(loader, name)
        repaired = 4 if name != "batch_size" else 8
        if name == "stride" and "max_length" not in batches.loader_faults(loader):
            repaired = int(loader.max_length)
        yield kind.diagnosis(
            f"{name} is {value!r}, but a loader needs a whole number of at least 1",
            f"set {name} to {repaired}" + (", the length of a window" if name == "stride" else ""),
            torch=said[name] if isinstance(value, int) else f"TypeError or ValueError on {name}={value!r}",
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

    A sample is a window of `max_length` tokens and the same window one token later. Windows start at
    `range(0, len(token_ids) - max_length, stride)`, so a text needs `max_length + 1` tokens for the first one: a text
    of exactly `max_length` tokens gives none. The loop over the loader then runs zero times, the loss is never
    computed, and the first word of trouble is a `loss` that is not defined, a mean of nothing, or a `StopIteration`
    from `next(iter(dataloader))`. A loader that shuffles complains in its constructor: `num_samples=0`.

    Use a longer text or a smaller `max_length`. Most often this is the *validation* part of a short text.
    """
    if facts.given is not None:
        if facts.batch is not None and not (facts.batch and facts.columns):
            yield kind.diagnosis(
                "the batch holds no token ID at all", "give at least one row with at least one ID", fields=["token_ids"]
            )
        return
    if facts.tokens is None or facts.plan is None or facts.plan.samples:
        return
    count, length = len(facts.tokens.ids), facts.plan.max_length
    shorter = count - 1
    fix: dict[str, int | bool] | None = None
    if shorter >= 1:  # leaves one sample, which must also make a batch
        fix = {"loader.max_length": shorter}
        if facts.plan.drop_last and facts.plan.batch_size > 1:
            fix["loader.drop_last"] = False
    yield kind.diagnosis(
        f"{count} token{' gives' if count == 1 else 's give'} no sample: "
        f"a window of max_length {length} and its target need {length + 1}",
        f"use a text of at least {length + 1} tokens"
        + (f", or set max_length to {shorter} or less" if shorter >= 1 else ""),
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
    the loop runs zero times without a word; `len(dataloader)` is 0.

    Lower `batch_size`, lower `stride` so that windows overlap and there are more of them, use a longer text, or set
    `drop_last=False` (right for validation, where every sample should count).
    """
    plan = facts.plan
    if facts.tokens is None or plan is None or not plan.samples or plan.batches:
        return
    yield kind.diagnosis(
        f"{words.count(plan.samples, 'sample')} make{'s' if plan.samples == 1 else ''} no batch of {plan.batch_size}, "
        "and drop_last drops what is left over",
        f"set batch_size to {plan.samples} or less, set drop_last to False, or use a longer text",
        fields=["loader.batch_size", "loader.drop_last"],
        fix={"loader.drop_last": False},
        data={"samples": plan.samples, "batch_size": plan.batch_size},
    )


@fault(
    code="B204",
    name="samples-dropped",
    stage=Stage.DATA_LOADER,
    severity=Severity.NOTE,
    torch="no error",
    example={"text": " a" * 45},
)
def samples_dropped(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """drop_last leaves out the samples that do not fill a batch.

    That is what it is for: a last, smaller batch makes the loss jump. When the loader shuffles, other samples are left
    out in each epoch; when it does not, always the same ones at the end of the text are.
    """
    plan = facts.plan
    if plan is None or not plan.batches or not plan.dropped_samples:
        return
    yield kind.diagnosis(
        f"drop_last leaves out {plan.dropped_samples} of {words.count(plan.samples, 'sample')}: "
        f"they do not fill a batch of {plan.batch_size}",
        "nothing to do for training; for validation set drop_last to False",
        fields=["loader.drop_last"],
        data={"dropped": plan.dropped_samples, "samples": plan.samples},
    )


@fault(
    code="B205",
    name="tokens-skipped",
    stage=Stage.DATA_LOADER,
    severity=Severity.WARNING,
    torch="no error",
    example={"text": " a" * 60, "loader": {"stride": 6}},
)
def tokens_skipped(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The stride is longer than the window, so tokens between windows are never read.

    Windows start every `stride` tokens and are `max_length` long. With a longer stride the tokens in between are in no
    window: they are lost without a word, one part of the text in every window's worth.

        stride = max_length   # side by side: every token once
    """
    plan = facts.plan
    if plan is None or not plan.skipped_tokens:
        return
    yield kind.diagnosis(
        f"a stride of {plan.stride} is longer than a window of {plan.max_length}: "
        f"{words.count(plan.skipped_tokens, 'token')} between windows {words.are(plan.skipped_tokens)} never read",
        f"set stride to {plan.max_length}, the length of a window",
        fields=["loader.stride"],
        fix={"loader.stride": plan.max_length},
        data={"stride": plan.stride, "max_length": plan.max_length, "skipped": plan.skipped_tokens},
    )


@fault(
    code="B206",
    name="windows-overlap",
    stage=Stage.DATA_LOADER,
    severity=Severity.NOTE,
    torch="no error",
    example={"loader": {"stride": 2}},
)
def windows_overlap(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The stride is shorter than the window, so tokens are read more than once.

    That makes more samples from a short text and is often meant. Trained for many epochs on heavily overlapping
    windows a model overfits sooner; and a split into training and validation *after* windowing leaks text.
    """
    plan = facts.plan
    if plan is None or plan.stride >= plan.max_length or plan.samples < 2:
        return
    yield kind.diagnosis(
        f"windows overlap by {words.count(plan.max_length - plan.stride, 'token')}: "
        f"stride {plan.stride} is shorter than max_length {plan.max_length}",
        "nothing to do if that is meant",
        fields=["loader.stride"],
        data={"stride": plan.stride, "max_length": plan.max_length},
    )
