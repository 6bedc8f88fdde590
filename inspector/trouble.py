"""What is wrong with a file that a person names: a value that becomes a diagnosis."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class Trouble(StrEnum):
    """Why a file cannot be used; the value is the name of the fault it becomes."""

    UNREADABLE = "file-unreadable"
    TRUNCATED = "file-truncated"
    NOT_RECOGNISED = "not-recognised"
    PICKLE_REFUSED = "pickle-refused"


class FileTrouble(Exception):
    """A file cannot be used.

    Attributes:
        trouble: the kind of trouble.
        path: the file.
        reason: what is wrong with it, in words that follow "the file …": "ends after 1,000 of 4,096 bytes".
        help: what to do about it.
    """

    def __init__(self, trouble: Trouble, path: Path | str, reason: str, help: str) -> None:  # noqa: A002
        super().__init__(f"{path}: {reason}")
        self.trouble = trouble
        self.path = str(path)
        self.reason = reason
        self.help = help
