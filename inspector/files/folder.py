"""A folder with a checkpoint in it: which of its files that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from inspector.files.shard_names import shards_of
from inspector.files.sharded import INDEX
from inspector.files.source import unreadable
from inspector.trouble import FileTrouble, Trouble

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_MOST_ENTRIES = 100_000
_NAMED = ("model.safetensors", "pytorch_model.bin", "consolidated.safetensors")
_LOOKED_FOR = (
    "an index of a sharded checkpoint, model.safetensors, pytorch_model.bin, consolidated*.pth, and files ending in "
    ".safetensors, .gguf, .pt, .pth, .ckpt or .bin"
)
_SUFFIXES = (".safetensors", ".gguf", ".pt", ".pth", ".ckpt", ".bin")
# Saved beside a model, and no model.
_OTHERS = ("optimizer", "scheduler", "training_args", "rng_state", "scaler", "adapter_model")


class Choice(NamedTuple):
    """The files of a folder that make up its checkpoint, and of how many: partitioned tables are not joined."""

    files: tuple[Path, ...]
    expected: int


def choose(folder: Path) -> Choice:
    """Return what to open in a folder: an index, a file of a usual name, parts of one checkpoint, or the only file.

    Raises:
        FileTrouble: nothing in it can be recognised, or nothing says which of several is meant.
    """
    names = _names(folder)
    usual = [n for suffix in (f".safetensors{INDEX}", INDEX) for n in names if n.endswith(suffix)]
    usual += [n for n in _NAMED if n in names]
    if usual:
        return Choice((folder / usual[0],), 1)
    consolidated = [n for n in names if n.startswith("consolidated") and n.endswith(".pth")]
    if consolidated:
        return Choice((folder / consolidated[0],), len(consolidated))
    found: Sequence[str] = []
    for suffix in _SUFFIXES:
        found = [n for n in names if n.lower().endswith(suffix) and not n.startswith(_OTHERS)]
        if found:
            break
    return _only(folder, found)


def _only(folder: Path, found: Sequence[str]) -> Choice:
    if not found:
        raise FileTrouble(
            Trouble.NOT_RECOGNISED,
            folder,
            f"is a folder without a checkpoint; looked for were {_LOOKED_FOR}",
            "open the folder that holds the weights",
        )
    expected = {shards_of(folder / name).expected for name in found}
    if len(found) == 1 or (len(expected) == 1 and expected != {1} and len(found) <= max(expected)):
        return Choice(tuple(folder / name for name in found), max(expected))
    listed = ", ".join(found[:3]) + (", …" if len(found) > 3 else "")
    raise FileTrouble(
        Trouble.NOT_RECOGNISED,
        folder,
        f"is a folder with {len(found):,} checkpoints ({listed}), and nothing says which is meant",
        "open one of them",
    )


def _names(folder: Path) -> list[str]:
    """Return the names in a folder, in order, as many as are worth looking at."""
    names: list[str] = []
    try:
        for entry in folder.iterdir():
            names.append(entry.name)
            if len(names) == _MOST_ENTRIES:
                break
    except OSError as error:
        raise unreadable(folder, error) from error
    return sorted(names)
