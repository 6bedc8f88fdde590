"""What a file is for, when all that is known is its path: its content decides, and its name where that says nothing."""

from __future__ import annotations

import json
from enum import Enum
from typing import TYPE_CHECKING

from inspector import files
from inspector.config import InputConfig
from inspector.files import formats, token_files, token_json
from inspector.files.beside import CONFIGS
from inspector.files.recognise import is_impostor
from inspector.files.sharded import INDEX
from inspector.files.source import Source
from inspector.trouble import FileTrouble, Trouble

if TYPE_CHECKING:
    from pathlib import Path

_SURE = 0.8  # the least score of a format that its first bytes alone make sure of
_INSPECTION_KEYS = frozenset(InputConfig.__dataclass_fields__) - {"stated"} | {"schema"}
_TOKENIZER_NAMES = ("tokenizer.json", "vocab.json", "merges.txt")
_PICKLES = (".pkl", ".pickle")
_RAW_IDS = (".bin",)  # what begins as no format of checkpoints
_ONLY_IDS = (".npy", ".jsonl", ".ndjson")


class FileKind(Enum):
    """What a file can be to an inspection; the value is the key that names it there."""

    INSPECTION = ""
    CHECKPOINT = "checkpoint"
    TOKEN_IDS = "token_ids_file"
    TOKENIZER = "tokenizer.encoding"
    TEXT = "text_file"


def kind_of(path: Path) -> FileKind:
    """Return what a file is to be opened as. A broken one is what it claims to be.

    Raises:
        FileTrouble: it is not there, or may not be read.
    """
    if path.is_dir():
        return FileKind.CHECKPOINT
    source = Source(path)
    head, name = source.begins(formats.HEAD), path.name.lower()
    if name.endswith(".toml"):
        return FileKind.INSPECTION
    if name.endswith(_TOKENIZER_NAMES) or name.endswith(_PICKLES):
        return FileKind.TOKENIZER
    if name.endswith(INDEX) or name in CONFIGS:
        return FileKind.CHECKPOINT
    if name.endswith(".json"):
        return _of_json(source)
    if name.endswith(_ONLY_IDS) or head.lower().startswith(b"\x93numpy"):
        return FileKind.TOKEN_IDS
    best = max(f.score(path, head) for f in files.FORMATS)
    claims = name.endswith(files.SUFFIXES)
    if best >= _SURE or (claims and (best > 0 or is_impostor(head))):
        return FileKind.TOKEN_IDS if _holds_ids(path) else FileKind.CHECKPOINT
    if name.endswith(_RAW_IDS):
        return FileKind.TOKEN_IDS
    return FileKind.CHECKPOINT if claims else FileKind.TEXT


def _holds_ids(path: Path) -> bool:
    """Return whether a file that a library for checkpoints wrote holds one tensor of IDs, and no state dict."""
    try:
        files.open_checkpoint(path).file.close()
    except FileTrouble as trouble:
        if trouble.trouble is not Trouble.NOT_RECOGNISED:
            return False
    else:
        return False
    try:
        token_files.open_ids(path)
    except FileTrouble:
        return False
    return True


def _of_json(source: Source) -> FileKind:
    """Tell apart what is written as JSON by its keys; what is none of the rest is an inspection, and judged as one."""
    if source.begins(formats.HEAD).lstrip().startswith(b"["):
        return FileKind.TOKEN_IDS
    try:
        found = json.loads(source.begins(min(source.size, token_json.MOST_JSON)))
    except (ValueError, RecursionError):
        return FileKind.INSPECTION
    if not isinstance(found, dict) or _INSPECTION_KEYS & found.keys() or not found:
        return FileKind.INSPECTION
    if "weight_map" in found:
        return FileKind.CHECKPOINT
    if isinstance(found.get("model"), dict):
        return FileKind.TOKENIZER
    return FileKind.TOKEN_IDS if found.keys() & set(token_json.NAMES) else FileKind.INSPECTION
