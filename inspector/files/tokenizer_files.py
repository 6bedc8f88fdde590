"""Tokenizers a person has: tiktoken's encodings by name, and the files that other libraries write.

`KINDS` is the one place to look for what can be opened. To add one, write a function that opens it and name it there.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from inspector.files import bpe_tokenizers, character_vocabulary, tiktoken_encodings
from inspector.files.beside import look_beside
from inspector.files.source import Source, unreadable
from inspector.files.vocabulary import CannotEncode, VocabularyFile
from inspector.trouble import FileTrouble, Trouble

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["KINDS", "CannotEncode", "VocabularyFile", "fetch", "open_tokenizer"]

_HEAD = 64  # bytes that tell JSON from a pickle

fetch = tiktoken_encodings.fetch


class Kind(NamedTuple):
    """A kind of tokenizer file: what people call it, whether a file is one by its name and first bytes, its opener."""

    name: str
    accepts: Callable[[Path, bytes], bool]
    open: Callable[[Path], VocabularyFile]


KINDS = (
    Kind("vocab.json and merges.txt", bpe_tokenizers.is_vocabulary, bpe_tokenizers.open_vocabulary),
    Kind("tokenizer.json", bpe_tokenizers.is_json, bpe_tokenizers.open_json),
    Kind("meta.pkl", character_vocabulary.is_pickle, character_vocabulary.open_characters),
)


def open_tokenizer(path_or_name: Path | str) -> VocabularyFile:
    """Open a tokenizer: an encoding of tiktoken's by its name, a file of any kind, or a folder that holds one.

    Nothing is downloaded and no code in a file is run.

    Raises:
        FileTrouble: it cannot be used, whatever the reason.
    """
    if isinstance(path_or_name, str) and path_or_name in tiktoken_encodings.NAMES:
        return tiktoken_encodings.open_encoding(path_or_name)
    path = Path(path_or_name)
    try:
        is_folder, is_there = path.is_dir(), path.exists()
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error
    if not is_there and isinstance(path_or_name, str) and not path.suffix and len(path.parts) == 1:
        names = ", ".join(tiktoken_encodings.NAMES)
        raise FileTrouble(
            Trouble.UNREADABLE,
            path_or_name,
            "is neither a file nor the name of an encoding",
            f"name a tokenizer's file, or one of {names}",
        )
    if is_folder:
        path = _inside(path)
    head = Source(path).begins(_HEAD)
    for kind in KINDS:
        if kind.accepts(path, head):
            return kind.open(path)
    raise FileTrouble(
        Trouble.NOT_RECOGNISED, path, "is not a tokenizer", f"name a {', a '.join(kind.name for kind in KINDS)}"
    )


def _inside(folder: Path) -> Path:
    found = look_beside(folder).tokenizer
    if found is None:
        names = ", ".join(kind.name for kind in KINDS)
        raise FileTrouble(Trouble.NOT_RECOGNISED, folder, "holds no tokenizer", f"name a folder with {names}")
    return found
