"""Faults of the values in stored rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.checks import words
from inspector.checks.registry import fault
from inspector.diagnosis import Severity, Stage
from inspector.recipe import Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inspector.diagnosis import Diagnosis, Fault
    from inspector.facts import Facts

_UNKNOWN = {"tokenizer": {"encoding": None}, "embedding_dim": None}


@fault(
    code="E311",
    name="rows-not-finite",
    stage=Stage.TOKEN_EMBEDDING,
    severity=Severity.WARNING,
    torch="no error",
    example={"token_ids": [[1, 2, 3]], "checkpoint": "examples/not-finite-wte.safetensors", **_UNKNOWN},
)
def token_rows_not_finite(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """A token's row holds NaN or infinity.

    The look-up copies it, the sum keeps it, and from the first attention block on the whole sample is NaN: every token
    looks at every other. PyTorch says nothing; it is the same everywhere. The loss is NaN and stays so.

    How people meet it: training that diverged (a learning rate too high, half precision without loss scaling) and was
    saved all the same; a file damaged in the middle; rows added to a table with `torch.empty` and never filled.

    What does not help: `nan_to_num` in the forward pass, which hides that the rest of the weights is damaged as well.
    Look how many rows it is, and go back to an earlier checkpoint:

        import torch

        weight = torch.zeros(10, 4)
        weight[3] = float("nan")
        print((~weight.isfinite().all(dim=1)).nonzero().flatten().tolist())
    """
    rows = facts.not_finite(Role.TOKEN, (i for row in facts.batch or () for i in row))
    if rows:
        cells = facts.cells(lambda i: i in rows)
        yield kind.diagnosis(
            f"{words.ids(facts, rows)} {words.have(rows)} a row that holds NaN or infinity",
            "go back to an earlier checkpoint: training diverged, or the file is damaged",
            cells=cells,
            fields=["checkpoint"],
            data={"rows": rows},
        )


@fault(
    code="P408",
    name="rows-not-finite",
    stage=Stage.POSITION_EMBEDDING,
    severity=Severity.WARNING,
    torch="no error",
    example={"token_ids": [[1, 2, 3, 4]], "checkpoint": "examples/not-finite-wpe.safetensors", **_UNKNOWN},
)
def position_rows_not_finite(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """A position's row holds NaN or infinity.

    It is added to every token at that position, and from the first attention block on the whole sample is NaN. PyTorch
    says nothing; it is the same everywhere.

    How people meet it: training that diverged and was saved all the same; positions beyond those ever trained, in a
    table enlarged with `torch.empty`.

    What does not help: shorter texts, unless the damaged positions are never used.

        import torch

        weight = torch.zeros(10, 4)
        weight[3] = float("inf")
        print(weight.isfinite().all().item())
    """
    bad = facts.not_finite(Role.POSITION, _looked_up(facts))
    if bad:
        listed = words.python_list([str(row) for row in bad[: words.SHOWN_IDS]])
        yield kind.diagnosis(
            f"position row{'s' if len(bad) > 1 else ''} {listed} hold{'' if len(bad) > 1 else 's'} NaN or infinity"
            + (f" (and {len(bad) - words.SHOWN_IDS} more)" if len(bad) > words.SHOWN_IDS else ""),
            "go back to an earlier checkpoint: training diverged, or the file is damaged",
            cells=facts.position_cells(lambda p: p in bad) if facts.batch else (),
            fields=["checkpoint"],
            data={"rows": bad},
        )


def _looked_up(facts: Facts) -> Iterable[int]:
    """Return the rows of the position table that are looked up."""
    if facts.positions is not None:
        return (int(position) for position in facts.positions.flat())
    first, last = facts.first_position_row, facts.last_position_row
    return range(first, last + 1) if first is not None and last is not None else ()
