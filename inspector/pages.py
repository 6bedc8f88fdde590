"""The page of a fault, put together from what the registry knows of it: Markdown that reads as plain text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from inspector.checks import FAULTS
from inspector.report import STAGE_NAMES

if TYPE_CHECKING:
    from inspector.diagnosis import Fault


def page(kind: Fault) -> str:
    """Return the long explanation of a fault."""
    example = json.dumps(dict(kind.example))
    return "\n".join(
        (
            f"# {kind.code} {kind.name}",
            "",
            f"{kind.summary} Stage: {STAGE_NAMES[kind.stage]}. Severity: {kind.severity}.",
            "",
            kind.explanation,
            "",
            f"PyTorch by itself: {kind.torch}",
            "",
            "An inspection that shows it:",
            "",
            f"    {example}",
        )
    )


def index() -> str:
    """Return all kinds of fault, a line each."""
    width = max(len(kind.name) for kind in FAULTS)
    return "\n".join(f"{kind.code}  {kind.name:<{width}}  {kind.severity:<7}  {kind.summary}" for kind in FAULTS)
