"""Positions on the wrong axis, too few or too many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.checks import torch_words
from inspector.checks.registry import fault
from inspector.diagnosis import Stage
from inspector.recipe import is_size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.diagnosis import Diagnosis, Fault
    from inspector.facts import Facts


_FOUR = [[464, 582, 318, 257], [11, 290, 262, 13], [1, 2, 3, 4], [5, 6, 7, 8]]


def alignment(facts: Facts) -> str:
    """Return how explicit positions line up with the batch: "one-to-one", "broadcast", "batch-axis" or "differs"."""
    positions = facts.positions
    if positions is None or facts.columns is None:
        return "one-to-one"
    shape, columns = positions.shape, facts.columns
    samples = len(facts.batch) if facts.batch is not None else None
    if shape in ((columns,), (1, columns)) or (len(shape or ()) == 2 and shape == (samples, columns)):
        return "one-to-one"
    if shape in ((1,), (1, 1)):
        return "broadcast"
    if len(shape or ()) == 2 and shape == (samples, 1):
        return "batch-axis"
    return "differs"


@fault(
    code="P404",
    name="positions-broadcast",
    stage=Stage.POSITION_EMBEDDING,
    torch="no error",
    example={"token_ids": _FOUR, "positions": [0]},
)
def positions_broadcast(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """One position row is added to every column.

    A position tensor of length 1 gives one row, and broadcasting adds it to all columns: shapes are right, nothing
    fails on the CPU, a GPU, MPS or under `torch.compile`, and the model cannot tell the order of its tokens.

    How people meet it: `torch.arange(1)`, a length taken from the wrong axis of a batch of one, a cached decoding step
    (one new token, one position) used for a whole prompt.

    What does not help: looking at the shape of the sum, which is the right one; a larger position table. Count the
    columns of the batch:

        import torch

        ids = torch.tensor([[464, 582, 318, 257]])
        pos_emb = torch.nn.Embedding(4, 8)
        positions = torch.arange(ids.shape[1], device=ids.device)
        assert positions.shape[-1] == ids.shape[1]
        print(pos_emb(positions).shape)
    """
    if facts.batch is None or facts.position_layer is None or alignment(facts) != "broadcast":
        return
    columns = facts.columns or 0
    yield kind.diagnosis(
        f"one position is given for {columns} columns: its row would be added to each of them",
        f"give one position a column: torch.arange({columns})",
        fields=["positions"],
        fix={"positions": None},
        data={"columns": columns},
    )


@fault(
    code="P405",
    name="positions-on-batch-axis",
    stage=Stage.POSITION_EMBEDDING,
    torch="no error",
    example={"token_ids": _FOUR, "positions": [[0], [1], [2], [3]]},
)
def positions_on_batch_axis(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The positions count samples, not columns.

    Positions of shape (B, 1) give each *sample* one row, which broadcasting adds to all of its tokens. Shapes are right
    and nothing fails, on any device or under `torch.compile`; on a square batch even a position tensor that was merely
    transposed passes.

    How people meet it: `torch.arange(B).unsqueeze(1)`, code written for (T, B) batches, `ids.shape[0]` where
    `ids.shape[1]` was meant.

    What does not help: testing with a square batch, which hides it; a larger position table. Count columns, and test
    with a batch that is not square:

        import torch

        ids = torch.zeros(2, 4, dtype=torch.long)
        positions = torch.arange(ids.shape[1]).unsqueeze(0)   # (1, T)
        print(positions.shape, positions.expand_as(ids).tolist())
    """
    if facts.batch is None or facts.position_layer is None or alignment(facts) != "batch-axis":
        return
    yield kind.diagnosis(
        f"the positions have shape ({len(facts.batch)}, 1): one for each sample instead of one for each of the "
        f"{facts.columns} columns",
        f"count columns: torch.arange({facts.columns})",
        fields=["positions"],
        fix={"positions": None},
        data={"samples": len(facts.batch), "columns": facts.columns},
    )


@fault(
    code="P407",
    name="position-count-differs",
    stage=Stage.POSITION_EMBEDDING,
    torch="RuntimeError: The size of tensor a (4) must match the size of tensor b (3) at non-singleton dimension 1",
    example={"token_ids": _FOUR, "positions": [0, 1, 2]},
)
def position_count_differs(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """There are more or fewer positions than columns.

    Token rows have shape (B, T, D) and position rows (P, D); they can be added only when P is T. With another P PyTorch
    complains at the sum: `The size of tensor a (4) must match the size of tensor b (3) at non-singleton dimension 1`.
    That comes from the shapes alone: at once on the CPU, a GPU and MPS, under `torch.compile` while it compiles. With a
    batch or a column of size 1 broadcasting may even swallow it, and the result has the wrong shape.

    How people meet it: positions made for another length, a buffer of the whole context that was not cut to T, a batch
    padded after its positions were counted.

    What does not help: padding the positions with zeros, which gives those tokens the place of the first one. Make them
    from the batch:

        import torch

        ids = torch.zeros(2, 4, dtype=torch.long)
        buffer = torch.arange(1024)                # made once for the whole context
        positions = buffer[: ids.shape[1]]         # cut to this batch
        print(positions.shape)
    """
    if facts.batch is None or facts.position_layer is None or alignment(facts) != "differs":
        return
    positions = facts.positions
    assert positions is not None
    if positions.shape is None:
        what = "the positions are lists of different lengths, which make no tensor"
    else:
        what = f"the positions have shape {positions.shape}, which gives no one row to each of {facts.columns} columns"
    batch_shape = (len(facts.batch), facts.columns or 0)
    yield kind.diagnosis(
        f"{what} of a batch of shape {batch_shape}",
        f"give one position a column: torch.arange({facts.columns})",
        torch=_said(facts, batch_shape, positions.shape),
        fields=["positions"],
        fix={"positions": None},
        data={"shape": list(positions.shape or ()), "columns": facts.columns},
    )


def _said(facts: Facts, batch: tuple[int, int], positions: tuple[int, ...] | None) -> str:
    """Return what torch says: the look-up comes before the sum."""
    rows, first, last = _rows(facts), facts.first_position_row, facts.last_position_row
    known = positions is not None and rows is not None and first is not None and last is not None
    if known and not ((first or 0) >= 0 and (last or 0) < (rows or 0)):
        return torch_words.INDEX_ERROR
    return _said_of_shapes(batch, positions)


def _rows(facts: Facts) -> int | None:
    layer = facts.position_layer
    return int(layer.num_embeddings or 0) if layer is not None and is_size(layer.num_embeddings) else None


def _said_of_shapes(batch: tuple[int, int], positions: tuple[int, ...] | None) -> str:
    """Return what torch says when rows of equal width are added, broadcasting from the last axis to the first."""
    if positions is None:
        return "ValueError: expected sequence of length"
    if 0 in positions:
        return "RuntimeError: Expected tensor for argument #1 'indices' to have one of the following scalar types"
    axes = max(2, len(positions))
    left, right = (1,) * (axes - 2) + batch, (1,) * (axes - len(positions)) + positions
    for axis in reversed(range(axes)):
        a, b = left[axis], right[axis]
        if a != b and 1 not in (a, b):
            sizes = f"The size of tensor a ({a}) must match the size of tensor b ({b})"
            return f"RuntimeError: {sizes} at non-singleton dimension {axis}"
    shape = tuple(max(a, b) for a, b in zip(left, right, strict=True))
    return f"no error, but the sum has axes {shape} and the embedding dim"
