"""safetensors, also with the quantised tables that MLX writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.files.checkpoint import Checkpoint
from inspector.files.coded_table import UnreadTable
from inspector.files.dtypes import ITEM_SIZES
from inspector.files.formats import file_format
from inspector.files.packed_table import packed_tables
from inspector.files.plain_table import PlainTable
from inspector.files.safetensors_header import plausible, read_header
from inspector.files.shard_names import shards_of
from inspector.files.source import Source

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from inspector.files.checkpoint import Table


def _score(path: Path, head: bytes) -> float:
    return 0.9 if plausible(head) else 0.0


@file_format("safetensors", (".safetensors",), _score)
def open_safetensors(path: Path, config: Mapping[str, Any]) -> Checkpoint:
    """Open a safetensors file: its header is read, and nothing else.

    Raises:
        FileTrouble: the file is broken.
    """
    source = Source(path)
    tables: dict[str, Table] = {}
    for info, offset in read_header(source):
        if info.dtype in ITEM_SIZES:
            tables[info.name] = PlainTable(source, info, offset)
        else:
            tables[info.name] = UnreadTable(source, info._replace(quantised=True))
    return Checkpoint(path, "safetensors", packed_tables(source, tables, config), shards=shards_of(path))
