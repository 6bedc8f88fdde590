"""Embedding Inspector: what happens between a text and the first attention block of a GPT-style model.

Nothing here imports Qt or torch until it is needed: `check` judges without either.
"""

from __future__ import annotations

from inspector.api import check, check_model, show
from inspector.config import InputConfig
from inspector.diagnosis import Cell, Diagnosis, Severity, Stage
from inspector.pipeline import Request
from inspector.pipeline import run as inspect
from inspector.result import Result

__all__ = [
    "Cell",
    "Diagnosis",
    "InputConfig",
    "Request",
    "Result",
    "Severity",
    "Stage",
    "check",
    "check_model",
    "inspect",
    "show",
]
__version__ = "0.1.0"
