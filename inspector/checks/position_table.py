"""Positions without a row in the position table, and models that have none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.checks import torch_words, words
from inspector.checks.arrangement import arrangement
from inspector.checks.position_axes import alignment
from inspector.checks.registry import fault
from inspector.diagnosis import Severity, Stage
from inspector.recipe import is_size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.diagnosis import Diagnosis, Fault
    from inspector.facts import Facts


ROWS = "position_embedding.num_embeddings"


@fault(
    code="P401",
    name="position-out-of-range",
    stage=Stage.POSITION_EMBEDDING,
    torch=torch_words.INDEX_ERROR,
    example={"position_embedding": {"num_embeddings": 3}},
)
def position_out_of_range(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The text is longer than the position table has rows.

    Positions 0 to T - 1 are looked up in `nn.Embedding(context_length, output_dim)`; a window of more than
    context_length tokens has no row for its last positions. On the CPU PyTorch says `index out of range in self`, the
    very words of a token ID that is too large, which is why so many people search for the fault in the tokenizer. On a
    GPU it is a device-side assert at a later line, under `torch.compile` `index out of bounds`, on MPS often nothing. A
    position table that is a *parameter and sliced* (`self.pos[:, :T]`) raises nothing at the slice: it is silently
    short, and the sum fails.

    How people meet it: a prompt longer than the model's context, generation that runs past it, `max_length` raised in
    the loader only. Some models skip rows: RoBERTa's positions start at padding_idx + 1 = 2, so its 514 rows hold 512
    tokens. A key-value cache adds the length of the past.

    What does not help: changing vocab_size or the tokenizer. For layers made afresh, give the table as many rows as the
    longest window. For a trained model, cut the text: rows added to a trained table are untrained.

        import torch

        context_length = 4
        pos_emb = torch.nn.Embedding(context_length, 256)
        ids = torch.tensor([[464, 582, 318, 257, 1332, 13]])
        window = ids[:, -context_length:]                       # what the model can see
        print(pos_emb(torch.arange(window.shape[1])).shape)
    """
    layer, last = facts.position_layer, facts.last_position_row
    arranged = arrangement(facts)
    if layer is None or last is None or arranged.exchanged or arranged.position_transposed:
        return
    if not is_size(layer.num_embeddings) or alignment(facts) == "differs":
        return
    rows = int(layer.num_embeddings or 0)
    first = facts.first_position_row or 0
    if first >= 0 and last < rows:
        return
    cells = list(facts.position_cells(lambda p: not 0 <= p < rows)) if alignment(facts) == "one-to-one" else []
    if first < 0:
        yield kind.diagnosis(
            f"position {first} has no row in the position table, whose rows are {words.rows(rows)}",
            "use positions from 0"
            if facts.positions
            else "set offset and past_length to 0 or more: positions count from 0",
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
    shorter = f"; with trained layers cut the text to {words.count(usable, 'token')} instead" if usable >= 1 else ""
    return f"set context_length to {needed}{shorter}", {ROWS: needed}


@fault(
    code="P406",
    name="no-position-table",
    stage=Stage.POSITION_EMBEDDING,
    severity=Severity.NOTE,
    torch="no error",
    example={"position_embedding": None},
)
def no_position_table(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The model adds no position rows, so its input embedding is the token row alone.

    Models with rotary positions (Llama, Qwen, Mistral) or ALiBi bring positions in later, inside attention. That is no
    fault, on any device and under `torch.compile`. In a model that learns absolute positions, it is: attention alone
    cannot tell the order of its tokens, and nothing ever says so.

    How people meet it: an inspection of a model whose checkpoint has one table only.

    What does not help: adding a table to a model that was trained without one.

        import torch

        ids = torch.tensor([[464, 582, 318, 257]])
        rows = torch.nn.Embedding(50257, 8)(ids)
        print(torch.allclose(rows.sum(1), rows.flip(1).sum(1)))   # read backwards: the same rows
    """
    if facts.position_layer is None:
        yield kind.diagnosis("there is no position table: the input embedding is the token row alone", "nothing to do")
