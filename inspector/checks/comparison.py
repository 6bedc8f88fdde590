"""A checkpoint's tables beside what the layers they are to be loaded into are given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.checks.arrangement import arrangement
from inspector.recipe import SECTIONS, Role

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.checkpoint import Expected
    from inspector.facts import Facts
    from inspector.files.tables import FoundTable

MISMATCH = "RuntimeError: Error(s) in loading state_dict: size mismatch"


def tables(facts: Facts) -> Iterator[tuple[Role, FoundTable, Expected]]:
    """Yield the tables that can be compared with what their constructors are given: arguments in their own places."""
    checkpoint = facts.checkpoint
    if checkpoint is None:
        return
    arranged = arrangement(facts)
    out_of_place = {
        Role.TOKEN: arranged.exchanged or arranged.token_transposed,
        Role.POSITION: arranged.exchanged or arranged.position_transposed,
    }
    for role in Role:
        table = checkpoint.found.table(role)
        if out_of_place.get(role) and facts.stated.is_stated(SECTIONS[role]):
            continue
        if table is not None and not table.empty:
            yield role, table, facts.expected[role]


def said(table: FoundTable, want: Expected) -> str:
    """Return what load_state_dict says of a table and the layer it is to go into."""
    rows = table.rows if want.rows is None else want.rows
    width = table.width if want.width is None else want.width
    stored = f"{table.width}, {table.rows}" if table.transposed else f"{table.rows}, {table.width}"
    return (
        f"{MISMATCH} for {table.name}: copying a param with shape torch.Size([{stored}]) from checkpoint, "
        f"the shape in current model is torch.Size([{rows}, {width}])."
    )


def width_departs(facts: Facts, role: Role) -> bool:
    """Return whether the file's table has another width than the layer it is to be loaded into."""
    return any(
        want.width is not None and want.width != table.width and not is_stored_transposed(table, want)
        for found, table, want in tables(facts)
        if found is role
    )


def is_stored_transposed(table: FoundTable, want: Expected) -> bool:
    """Return whether a table lies in the file the other way round than its layer has it."""
    return not table.transposed and (want.width, want.rows) == (table.rows, table.width) and table.rows != table.width


def is_part(table: FoundTable, want: Expected) -> bool:
    """Return whether a token table is one of equal slices of the one that is meant."""
    if table.role is not Role.TOKEN or not isinstance(want.rows, int) or not table.rows or want.rows % table.rows:
        return False
    parts = want.rows // table.rows
    # A vocabulary is divided among 2, 4, 8, … processes.
    return 2 <= parts <= 128 and parts & (parts - 1) == 0
