"""The catalogue: every kind of fault, one registered function each.

To add one, write a function under `@fault(...)` in the module of its stage. The panel, `explain`, the table in the
README and the tests derive from the registry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# Importing a module registers its faults.
from inspector.checks import (  # noqa: F401
    checkpoints,
    files,
    id_dtypes,
    id_shapes,
    loader,
    model,
    out_of_place,
    padding,
    position_axes,
    position_table,
    segments,
    sizes,
    stored,
    text,
    token_table,
    values,
    vocabulary,
    widths,
    windows,
)
from inspector.checks.registry import FAULTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.diagnosis import Diagnosis, Fault, Stage
    from inspector.facts import Facts

__all__ = ["FAULTS", "find", "of", "run"]

FAULTS.sort(key=lambda kind: ("TBEPGSFMX".index(kind.code[0]), kind.code))


def run(stage: Stage, facts: Facts) -> Iterator[Diagnosis]:
    """Yield everything that is wrong in one stage."""
    for kind in FAULTS:
        if kind.stage is stage:
            yield from kind.check(facts)


def find(name: str) -> list[Fault]:
    """Return the kinds of fault with this name or code; empty when there is none."""
    return [kind for kind in FAULTS if name.lower() in (kind.name, kind.code.lower())]


def of(diagnosis: Diagnosis) -> Fault:
    """Return the kind of fault a diagnosis belongs to."""
    return next(kind for kind in FAULTS if (kind.code, kind.name) == (diagnosis.code, diagnosis.name))
