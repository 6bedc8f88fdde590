"""Names of the parts of a checkpoint that was saved as several files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from inspector.files.tensors import Shards

if TYPE_CHECKING:
    from pathlib import Path

_PART = re.compile(r"-(\d{1,9})-of-(\d{1,9})\.\w+$")


def shards_of(path: Path) -> Shards:
    """Return what a file's name says of the parts: "model-00001-of-00003.safetensors" is one of three."""
    part = _PART.search(path.name)
    return Shards(1, max(1, int(part[2]))) if part else Shards()
