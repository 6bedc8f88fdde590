"""A checkpoint saved as several files: those that an index names, as far as they are there, taken together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.files.beside import is_there, read_object
from inspector.files.checkpoint import Checkpoint
from inspector.files.formats import FORMATS, file_format
from inspector.files.recognise import recognise
from inspector.files.shown import shown
from inspector.files.source import MOST_AT_ONCE
from inspector.files.tensors import Shards
from inspector.trouble import FileTrouble, Trouble

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

INDEX = ".index.json"
_MOST_FILES = 100_000


def _score(path: Path, head: bytes) -> float:
    if not head.lstrip().startswith(b"{"):
        return 0.0
    return 1.0 if path.name.endswith(INDEX) else 0.7 * (b'"weight_map"' in head)


@file_format("Index of a sharded checkpoint", (INDEX,), _score)
def open_index(path: Path, config: Mapping[str, Any]) -> Checkpoint:
    """Open the files that an index names; those that are not there are counted, and what they hold is named.

    Raises:
        FileTrouble: the index is broken, none of its files is there, or one of them is broken.
    """
    weight_map = read_object(path, MOST_AT_ONCE).get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise _not_one(path, "has no weight_map that says which file holds which tensor")
    for name in weight_map.values():
        # An index speaks of the files beside it: one that leads elsewhere is not followed.
        if not isinstance(name, str) or name in ("", ".", "..") or set(name) & set("/\\\0:"):
            raise _not_one(path, f"names {shown(name)}, which is not a file beside it")
    expected = sorted(set(weight_map.values()))
    if len(expected) > _MOST_FILES:
        raise _not_one(path, f"names {len(expected):,} files")
    present = [name for name in expected if is_there(path.parent / name)]
    if not present:
        raise FileTrouble(
            Trouble.UNREADABLE,
            path,
            f"names {len(expected):,} files, the first of them {shown(expected[0])}, and none of them is beside it",
            "put them into the same folder",
        )
    joined = join(path, [path.parent / name for name in present], config)
    missing = {tensor: name for tensor, name in weight_map.items() if tensor not in joined.tables}
    joined.shards = Shards(len(present), len(expected), missing)
    return joined


def join(path: Path, parts: Iterable[Path], config: Mapping[str, Any]) -> Checkpoint:
    """Return the tables of several files as one checkpoint, reached through `path`.

    Raises:
        FileTrouble: one of them is broken.
    """
    opened = [recognise(part, [f for f in FORMATS if f.open is not open_index]).open(part, config) for part in parts]
    tables = [table for checkpoint in opened for table in checkpoint.tables.values()]
    settings = {key: value for checkpoint in reversed(opened) for key, value in checkpoint.settings.items()}
    expected = max(checkpoint.shards.expected for checkpoint in opened)
    return Checkpoint(path, opened[0].format, tables, settings, Shards(len(opened), expected))


def _not_one(path: Path, why: str) -> FileTrouble:
    return FileTrouble(Trouble.NOT_RECOGNISED, path, why, "save or download it again")
