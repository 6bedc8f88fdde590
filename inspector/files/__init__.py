"""Files that a person opens: checkpoints of any format, one reader a format.

A reader registers itself with `formats.file_format`; the dialog's filter and the list of suffixes come from there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# Importing a reader registers it.
from inspector.files import folder, gguf_file, pytorch_file, safetensors_file, sharded  # noqa: F401
from inspector.files.beside import look_beside
from inspector.files.formats import FORMATS
from inspector.files.recognise import recognise
from inspector.files.source import unreadable
from inspector.files.tensors import Opened, Shards
from inspector.trouble import FileTrouble, Trouble

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from inspector.files.checkpoint import Checkpoint

__all__ = ["FORMATS", "SUFFIXES", "FileTrouble", "Opened", "Trouble", "dialog_filter", "open_checkpoint"]

SUFFIXES = tuple(suffix for f in FORMATS for suffix in f.suffixes)


def open_checkpoint(path: Path) -> Opened:
    """Open a checkpoint: a file of any format, an index of several, or a folder with one of these.

    Headers are read, and no values.

    Raises:
        FileTrouble: it cannot be used, whatever the reason.
    """
    try:
        is_folder = path.is_dir()
    except OSError as error:
        raise unreadable(path, error) from error
    beside = look_beside(path if is_folder else path.parent)
    file = _open_folder(path, beside.config) if is_folder else recognise(path, FORMATS).open(path, beside.config)
    return Opened(path, file, beside.config, beside.tokenizer, beside.notes)


def _open_folder(path: Path, config: Mapping[str, Any]) -> Checkpoint:
    choice = folder.choose(path)
    if len(choice.files) > 1:
        return sharded.join(path, choice.files, config)
    (only,) = choice.files
    file = recognise(only, FORMATS).open(only, config)
    if choice.expected > 1:
        file.shards = Shards(1, choice.expected)
    return file


def dialog_filter() -> str:
    """Return the filter of an open dialog: all checkpoints, then each format, then all files."""
    patterns = {f.name: " ".join(f"*{suffix}" for suffix in f.suffixes) for f in FORMATS}
    every = f"Checkpoints ({' '.join(patterns.values())})"
    each = [f"{name} ({pattern})" for name, pattern in patterns.items()]
    return ";;".join([every, *each, "All files (*)"])
