"""Which format a file is of: by its content first, by its name second."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.files.beside import CONFIGS
from inspector.files.formats import HEAD
from inspector.files.source import Source
from inspector.trouble import FileTrouble, Trouble

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from inspector.files.formats import Format

# What lies in a checkpoint's place when a download went wrong, or another file was meant.
_IMPOSTORS = (
    (b"version https://git-lfs", "is a pointer of Git LFS, not the file it points to", "run git lfs pull"),
    (b"<!doctype html", "is a web page, not a checkpoint", "download the file itself"),
    (b"<html", "is a web page, not a checkpoint", "download the file itself"),
    (b"\x93numpy", "is an array of NumPy, not a checkpoint", "open it as a file of token IDs"),
)


def is_impostor(head: bytes) -> bool:
    """Return whether a file begins as what lies in a checkpoint's place when a download went wrong."""
    return any(head.lower().startswith(sign) for sign, _, _ in _IMPOSTORS)


def recognise(path: Path, formats: Sequence[Format]) -> Format:
    """Return the format of a file.

    Raises:
        FileTrouble: it is of none, or cannot be read.
    """
    source = Source(path)
    if not source.size:
        raise FileTrouble(Trouble.TRUNCATED, path, "is empty", "save or download it again")
    head = source.begins(HEAD)
    best = max(formats, key=lambda f: f.score(path, head))
    if best.score(path, head) > 0:
        return best
    for sign, reason, what_to_do in _IMPOSTORS:
        if head.lower().startswith(sign):
            raise FileTrouble(Trouble.NOT_RECOGNISED, path, reason, what_to_do)
    if not any(head):
        raise FileTrouble(Trouble.NOT_RECOGNISED, path, "begins with nothing but zeros", "save or download it again")
    if path.name in CONFIGS:
        raise FileTrouble(
            Trouble.NOT_RECOGNISED, path, "is a model's configuration, not its weights", "open the folder it is in"
        )
    # Its opener says what is wrong with the file as one of the format it claims to be.
    named = [f for f in formats if path.name.lower().endswith(f.suffixes)]
    if named:
        return named[0]
    raise FileTrouble(
        Trouble.NOT_RECOGNISED,
        path,
        f"is none of the formats that are known: {', '.join(f.name for f in formats)}",
        "open a checkpoint, or a folder that holds one",
    )
