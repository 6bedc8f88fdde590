"""The page of a fault, put together from what the registry knows of it: Markdown that reads as plain text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from inspector import resources
from inspector.checks import FAULTS
from inspector.report import STAGE_NAMES

if TYPE_CHECKING:
    from inspector.diagnosis import Fault


def page(kind: Fault) -> str:
    """Return the long explanation of a fault."""
    lines = [
        f"# {kind.code} {kind.name}",
        f"{kind.summary} Stage: {STAGE_NAMES[kind.stage]}. Severity: {kind.severity}.",
        kind.explanation,
        f"PyTorch by itself: {kind.torch}",
    ]
    if kind.example:
        lines += ["An inspection that shows it:", f"    {json.dumps(_with_paths(kind))}"]
    return "\n\n".join(lines)


def _with_paths(kind: Fault) -> dict[str, Any]:
    """Return a fault's example with its file where it lies in this installation."""
    values = dict(kind.example)
    named = values.get("checkpoint")
    if isinstance(named, str):
        values["checkpoint"] = str(resources.path(named))
    return values


def index() -> str:
    """Return all kinds of fault, a line each."""
    width = max(len(kind.name) for kind in FAULTS)
    return "\n".join(f"{kind.code}  {kind.name:<{width}}  {kind.severity:<7}  {kind.summary}" for kind in FAULTS)


def table() -> str:
    """Return all kinds of fault as the Markdown table of the README."""
    lines = ["| code | name | stage | severity | what is wrong | PyTorch by itself |", "|---|---|---|---|---|---|"]
    for kind in FAULTS:
        cells = (kind.code, kind.name, STAGE_NAMES[kind.stage], kind.severity, kind.summary, f"`{kind.torch}`")
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines)
