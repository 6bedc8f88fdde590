"""Files of token IDs: any batch of a file of any size is reached at once, and only its bytes are read.

To add a format, write a function that makes a `Found` of a `Source`, and add a line to `ID_FORMATS`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from inspector.files.source import Source
from inspector.files.token_arrays import NPY_MAGIC, is_pt, read_npy, read_pt
from inspector.files.token_json import read_json, read_jsonl
from inspector.files.token_layout import not_ids
from inspector.files.token_raw import is_llmc, read_llmc, read_raw
from inspector.files.token_sequence import FileIds
from inspector.trouble import FileTrouble, Trouble

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from inspector.files.token_layout import Found

_HEAD = 1024  # bytes that a format is recognised by


class IdFormat(NamedTuple):
    """A format of files of token IDs.

    `begins` says from a file's first bytes that it is of this format whatever its name; otherwise its name says it.
    `read` takes the file, the dtype that was stated for it, if any, and the size of the vocabulary, if known.
    """

    name: str
    suffixes: tuple[str, ...]
    begins: Callable[[bytes], bool]
    read: Callable[[Source, str | None, int | None], Found]


def _never(_head: bytes) -> bool:
    return False


_RAW = IdFormat("token IDs without a header", (".bin",), _never, read_raw)
ID_FORMATS: tuple[IdFormat, ...] = (
    IdFormat("NumPy array", (".npy",), lambda head: head.startswith(NPY_MAGIC), read_npy),
    IdFormat("PyTorch tensor", (".pt", ".pth"), is_pt, read_pt),
    IdFormat("llm.c token IDs", (".bin",), is_llmc, read_llmc),
    IdFormat("JSON lines", (".jsonl", ".ndjson"), _never, read_jsonl),
    IdFormat("JSON", (".json",), _never, read_json),
    _RAW,
)
ID_SUFFIXES = tuple(dict.fromkeys(suffix for f in ID_FORMATS for suffix in f.suffixes))


class IdFile(FileIds):
    """The IDs of a file, flattened; a slice is a list, for which only those bytes are read.

    Reading raises `FileTrouble` once the file was changed, cut or taken away.

    Attributes:
        path: the file.
        format: its name for people, with the dtype: "token IDs, uint16".
        dtype: torch's name of the dtype that the IDs are stored in.
        shape: the shape they are stored in.
        whole: whether that dtype holds whole numbers; of a file where it does not, the values are floats as they stand.
        reason: how the dtype was found, in a sentence.
        suspicion: why the IDs look wrong, in a sentence; None where they do not.
    """

    def __init__(self, path: Path, found: Found) -> None:
        self.path = path
        self.format = found.format
        self.dtype = found.dtype
        self.shape = found.shape
        self.whole = not found.dtype.startswith("float")
        self.reason = found.reason
        self.suspicion = found.suspicion
        self._found = found
        self._length = math.prod(found.shape)

    def __len__(self) -> int:
        return self._length

    def _read(self, first: int, last: int) -> list[int]:
        return self._found.read(first, last)

    def close(self) -> None:
        """Do nothing: no file is held open between two readings."""


def open_ids(path: Path, *, dtype: str | None = None, n_vocab: int | None = None) -> IdFile:
    """Open a file of token IDs. Its header is read, and of a file without one a sample.

    Args:
        path: the file.
        dtype: torch's name of the dtype that a file without a header was stated to hold.
        n_vocab: how many tokens the tokenizer has, where it is known.

    Raises:
        FileTrouble: the file cannot be read, is damaged, or holds something else.
    """
    source = Source(path)
    if not source.size:
        raise FileTrouble(Trouble.TRUNCATED, path, "is empty", "save or download it again")
    return IdFile(path, _format_of(source, dtype).read(source, dtype, n_vocab))


def _format_of(source: Source, dtype: str | None) -> IdFormat:
    head = source.begins(_HEAD)
    name: str = source.path.name.lower()
    sure = [f for f in ID_FORMATS if f.begins(head)]
    # Of two formats of one suffix, the file is not of the one that it would begin as.
    named = [f for f in ID_FORMATS if name.endswith(f.suffixes) and f.read is not read_llmc]
    if sure or named:
        return (sure + named)[0]
    if dtype is not None:
        return _RAW
    raise not_ids(
        source.path,
        f"is none of the formats of token IDs that are known: {', '.join(ID_SUFFIXES)}",
        "rename it to one of them, or state the dtype of its IDs",
    )
