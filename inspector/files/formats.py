"""Where formats are registered: the one place to look for what the program can open.

To add one, write a module with a function that opens it, decorate that with `file_format`, and import the module in
`inspector/files/__init__.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from inspector.files.checkpoint import Checkpoint

    Opener = Callable[[Path, Mapping[str, Any]], Checkpoint]
    Score = Callable[[Path, bytes], float]

HEAD = 512  # bytes that a format is recognised by


@dataclass(frozen=True, slots=True)
class Format:
    """A format of checkpoints.

    `score` says from a path and the first `HEAD` bytes how surely a file is of this format, 0 to 1. `open` takes the
    path and the configuration beside it, and raises `FileTrouble` for whatever is wrong with the file.
    """

    name: str
    suffixes: tuple[str, ...]
    score: Score
    open: Opener


FORMATS: list[Format] = []


def file_format(name: str, suffixes: tuple[str, ...], score: Score) -> Callable[[Opener], Opener]:
    """Register the function that opens a format; see `Format`."""

    def register(opener: Opener) -> Opener:
        FORMATS.append(Format(name, suffixes, score, opener))
        return opener

    return register
