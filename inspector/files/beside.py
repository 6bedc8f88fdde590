"""What lies beside a checkpoint: the model's configuration and its tokenizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.files.jsontext import NotAnObject, json_object
from inspector.files.source import Source
from inspector.trouble import FileTrouble, Trouble

if TYPE_CHECKING:
    from pathlib import Path

CONFIGS = ("config.json", "params.json")
_MOST_CONFIG = 16 * 2**20  # bytes; label names of a classifier take some hundred thousand
# A tokenizer's file, and what must lie beside it for it to be one.
_TOKENIZERS = (("tokenizer.json", None), ("vocab.json", "merges.txt"), ("meta.pkl", None))


class Beside(NamedTuple):
    """The configuration, the tokenizer's file, and what was wrong with them."""

    config: dict[str, Any]
    tokenizer: Path | None
    notes: tuple[str, ...]


def look_beside(folder: Path) -> Beside:
    """Read the configuration in a folder and find the tokenizer; what is broken is left aside, with a note."""
    config: dict[str, Any] = {}
    notes: list[str] = []
    for name in CONFIGS:
        if is_there(folder / name):
            try:
                config = read_object(folder / name, _MOST_CONFIG)
                break
            except FileTrouble as error:
                notes.append(f"{name} was left aside: it {error.reason}")
    for name, companion in _TOKENIZERS:
        if is_there(folder / name) and (companion is None or is_there(folder / companion)):
            return Beside(config, folder / name, tuple(notes))
    return Beside(config, None, tuple(notes))


def read_object(path: Path, most: int) -> dict[str, Any]:
    """Return the JSON object in a file of no more than `most` bytes.

    Raises:
        FileTrouble: there is none.
    """
    source = Source(path)
    if source.size > most:
        raise _not_one(path, f"is too long to be one: {source.size:,} bytes")
    try:
        return json_object(source.begins(source.size))
    except NotAnObject as error:
        raise _not_one(path, str(error)) from error


def is_there(path: Path) -> bool:
    """Return whether there is a file; never an error."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name too long, a folder that may not be entered
        return False


def _not_one(path: Path, why: str) -> FileTrouble:
    return FileTrouble(Trouble.NOT_RECOGNISED, path, why, "save or download it again")
