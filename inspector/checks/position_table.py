"""Faults of the position table: positions without a row, on the wrong axis, too few or too many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.checks import words
from inspector.checks.arrangement import arrangement
from inspector.checks.registry import fault
from inspector.diagnosis import Severity, Stage
from inspector.recipe import is_size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.diagnosis import Diagnosis, Fault
    from inspector.facts import Facts

ROWS = "position_embedding.num_embeddings"
WIDTH = "position_embedding.embedding_dim"
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
    code="P401",
    name="position-out-of-range",
    stage=Stage.POSITION_EMBEDDING,
    torch=words.INDEX_ERROR,
    example={"position_embedding": {"num_embeddings": 3}},
)
def position_out_of_range(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The text is longer than the position table has rows.

    Positions 0 to T - 1 are looked up in `nn.Embedding(context_length, output_dim)`; a window of more than
    context_length tokens has no row for its last positions. PyTorch says `index out of range in self`, the very words
    of a token ID that is too large, which is why so many people search for the fault in the tokenizer. On a GPU it is a
    device-side assert at a later line. A position table that is a *parameter and sliced* (`self.pos[:, :T]`) raises
    nothing at the slice: it is silently short, and the sum fails.

    Some models skip rows: RoBERTa's positions start at padding_idx + 1 = 2, so its 514 rows hold 512 tokens; OPT's at
    2. A key-value cache adds the length of the past.

    What does not help: changing vocab_size or the tokenizer. For layers made afresh, give the table as many rows as the
    longest window. For a trained model, cut the text (`truncation=True, max_length=...`): rows added to a trained table
    are untrained.

        pos_emb = torch.nn.Embedding(max_length, output_dim)
    """
    layer, last = facts.position_layer, facts.last_position_row
    arranged = arrangement(facts)
    if layer is None or last is None or arranged.exchanged or arranged.position_transposed:
        return
    if not is_size(layer.num_embeddings) or alignment(facts) == "differs":
        return
    rows = int(layer.num_embeddings or 0)
    first = min((int(p) for p in facts.positions.flat()), default=0) if facts.positions else _first(facts)
    if first >= 0 and last < rows:
        return
    cells = list(facts.position_cells(lambda p: not 0 <= p < rows)) if alignment(facts) == "one-to-one" else []
    if first < 0:
        yield kind.diagnosis(
            f"position {first} has no row in the position table, whose rows are {words.rows(rows)}",
            "use positions from 0; set offset and past_length to 0 or more",
            cells=cells,
            fields=["positions"] if facts.positions else ["position_embedding.offset", "past_length"],
            fix=None if facts.positions else {"position_embedding.offset": 0, "past_length": 0},
            data={"min_position": first, "num_embeddings": rows},
        )
        return
    needed = last + 1
    help_, fix = _remedy(facts, needed)
    yield kind.diagnosis(
        f"position {last} has no row in the position table, whose rows are {words.rows(rows)}" + _sum_of(facts),
        help_,
        cells=cells,
        fields=_fields(facts),
        fix=fix,
        data={"max_position": last, "num_embeddings": rows, "needed": needed, "offset": layer.offset},
    )


def _first(facts: Facts) -> int:
    return (facts.position_layer.offset if facts.position_layer else 0) + facts.config.past_length


def _sum_of(facts: Facts) -> str:
    """Return where a position comes from when it is more than its column."""
    layer, past = facts.position_layer, facts.config.past_length
    if facts.positions is not None or layer is None:
        return ""
    parts = [f"{words.count(facts.columns or 0, 'token')} in a window"]
    if layer.offset:
        parts.append(f"{layer.offset} rows that positions skip")
    if past:
        parts.append(f"{past} tokens before them")
    usable = int(layer.num_embeddings or 0) - layer.offset - past
    limit = f", room for {max(0, usable)}" if len(parts) > 1 else ""
    return f" ({', '.join(parts)}{limit})"


def _fields(facts: Facts) -> list[str]:
    layer = facts.position_layer
    fields = [ROWS]
    if facts.positions is not None:
        fields.append("positions")
    elif layer is not None and layer.offset:
        fields.append("position_embedding.offset")
    return fields


def _remedy(facts: Facts, needed: int) -> tuple[str, dict[str, Any] | None]:
    """Return whether to lengthen the table or to shorten the window."""
    layer = facts.position_layer
    usable = int(layer.num_embeddings or 0) - _first(facts) if layer else 0
    if facts.config.checkpoint is not None:
        if facts.plan is not None and usable >= 1:
            return (
                f"the rows are trained: set max_length to {usable} rather than adding untrained rows",
                {"loader.max_length": usable},
            )
        return f"the rows are trained: cut the text to {max(0, usable)} tokens rather than adding untrained rows", None
    if facts.positions is not None:
        return (
            f"use positions below {int(layer.num_embeddings or 0) if layer else 0}, or set context_length to {needed}",
            {ROWS: needed},
        )
    shorter = f"; with trained layers cut the text to {usable} tokens instead" if usable >= 1 else ""
    return f"set context_length to {needed}{shorter}", {ROWS: needed}


@fault(
    code="P402",
    name="arguments-transposed",
    stage=Stage.POSITION_EMBEDDING,
    torch="RuntimeError: The size of tensor a must match the size of tensor b (late, at the sum)",
    example={"position_embedding": {"num_embeddings": 256, "embedding_dim": 4}},
)
def arguments_transposed(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The position layer's two sizes are in the wrong order.

    `nn.Embedding(num_embeddings, embedding_dim)` takes rows first: the context length, then the width. The other way
    round makes a table of 256 rows that are 4 wide: every position has a row, and the fault shows late, where rows of
    different widths are to be added.

        pos_emb = torch.nn.Embedding(context_length, output_dim)
    """
    layer, arranged = facts.position_layer, arrangement(facts)
    if layer is None or arranged.exchanged or not arranged.position_transposed:
        return
    yield kind.diagnosis(
        f"the position layer's arguments are exchanged: nn.Embedding({layer.num_embeddings}, {layer.embedding_dim}) "
        f"has {layer.num_embeddings} rows of width {layer.embedding_dim}",
        f"write nn.Embedding({layer.embedding_dim}, {layer.num_embeddings}): rows first, then the width",
        fields=[ROWS, WIDTH],
        fix={ROWS: layer.embedding_dim, WIDTH: layer.num_embeddings},
        data={"num_embeddings": layer.num_embeddings, "embedding_dim": layer.embedding_dim},
    )


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
    fails, and the model cannot tell the order of its tokens. `torch.arange(1)`, a position taken from the batch's first
    axis, or a cached decoding step used for a whole prompt do this.

        positions = torch.arange(ids.shape[1], device=ids.device)
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
    and nothing fails. It comes from `torch.arange(B).unsqueeze(1)`, from code written for (T, B) batches, and from
    `ids.shape[0]` where `ids.shape[1]` was meant.

        positions = torch.arange(ids.shape[1]).unsqueeze(0)   # (1, T)
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
    code="P406",
    name="no-position-table",
    stage=Stage.POSITION_EMBEDDING,
    severity=Severity.NOTE,
    torch="no error",
    example={"position_embedding": None},
)
def no_position_table(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The model adds no position rows: its input embedding is the token row alone.

    Models with rotary positions (Llama, Qwen, Mistral) or ALiBi bring positions in later, inside attention. That is no
    fault. In a model that learns absolute positions, it is.
    """
    if facts.position_layer is None:
        yield kind.diagnosis("there is no position table: the input embedding is the token row alone", "nothing to do")


@fault(
    code="P407",
    name="position-count-differs",
    stage=Stage.POSITION_EMBEDDING,
    torch="RuntimeError: The size of tensor a must match the size of tensor b",
    example={"token_ids": _FOUR, "positions": [0, 1, 2]},
)
def position_count_differs(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """There are more or fewer positions than columns.

    Token rows have shape (B, T, D) and position rows (P, D); they can be added only when P is T. With another P PyTorch
    complains of sizes at the sum. Usually the positions were made for another length: a buffer of the whole context
    that was not cut to T, or a batch padded after its positions were counted.

        positions = torch.arange(ids.shape[1])
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
        torch=_said_of_shapes(batch_shape, positions.shape),
        fields=["positions"],
        fix={"positions": None},
        data={"shape": list(positions.shape or ()), "columns": facts.columns},
    )


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
