"""What a sound loader leaves out or reads twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.checks import words
from inspector.checks.registry import fault
from inspector.diagnosis import Severity, Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.diagnosis import Diagnosis, Fault
    from inspector.facts import Facts


@fault(
    code="B204",
    name="samples-dropped",
    stage=Stage.DATA_LOADER,
    severity=Severity.NOTE,
    torch="no error",
    example={"text": " a" * 45},
)
def samples_dropped(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The loader leaves out the samples that do not fill a batch, because drop_last is on.

    That is what it is for: a last, smaller batch makes the loss jump, and a compiled model would be compiled once more
    for its shape. Nothing is said, on any device. When the loader shuffles, other samples are left out in each epoch;
    when it does not, always the same ones at the end of the text are.

    How people meet it: a score on a validation set that changes with the batch size.

    What does not help: dropping the batch size until it divides the samples, which slows everything. Keep it for
    training and turn it off for validation:

        from torch.utils.data import DataLoader

        samples = list(range(11))
        seen = [s for batch in DataLoader(samples, batch_size=8, drop_last=True) for s in batch.tolist()]
        print(len(seen), "of", len(samples))                                  # 8 of 11
        print(len(DataLoader(samples, batch_size=8, drop_last=False)))        # 2 batches: all of them
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
    window. All shapes are right and nothing is said, on any device: a part of the text is simply never seen.

    How people meet it: `max_length` was lowered to save memory and `stride` kept its old value.

    What does not help: more epochs, or shuffling the windows, which are the same ones each time. Let the stride follow
    the window:

        token_ids, max_length = list(range(40)), 4
        for stride in (6, max_length):
            starts = range(0, len(token_ids) - max_length, stride)
            read = {i for start in starts for i in range(start, start + max_length)}
            print(stride, len(read))   # side by side reads half as many again
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

    That makes more samples from a short text and is often meant, and nothing is said on any device. Two things to know:
    a model trained for many epochs on heavily overlapping windows overfits sooner, and a split into training and
    validation *after* the windows were cut puts the same tokens into both.

    How people meet it: `stride=1` copied from a first example, whose purpose is to show the shift by one.

    What does not help: removing repeated samples, because each window differs by a token. Cut the text first and the
    windows afterwards:

        token_ids = list(range(100))
        cut = int(0.9 * len(token_ids))
        train, validation = token_ids[:cut], token_ids[cut:]   # split the tokens, then make windows of each
        print(len(train), len(validation))
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
