"""Where the IDs of an inspection come from: a text in it, a text beside it, the sample, or IDs as they stand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from inspector import resources

if TYPE_CHECKING:
    from inspector.config import InputConfig

SAMPLE = "sample.txt"


class UnreadableFile(Exception):
    """A file that an inspection names cannot be read.

    Attributes:
        field: the inspection-file key that names it.
        path: the file.
        reason: what the system says.
    """

    def __init__(self, field: str, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.field = field
        self.path = path
        self.reason = reason


def load(config: InputConfig) -> InputConfig:
    """Return the inspection with its text in `text`; the sample text where no source is given.

    Bytes that are not UTF-8 become lone surrogates, which the verdict then speaks of.

    Raises:
        UnreadableFile: the text file cannot be read.
    """
    if config.text is not None or config.token_ids is not None:
        return config
    if config.text_file is None:
        return replace(config, text=resources.text(SAMPLE).strip())
    return replace(config, text=read_text(config.text_file))


def read_text(path: str, field: str = "text_file") -> str:
    """Return a text file as it stands, line ends included.

    Raises:
        UnreadableFile: it cannot be read.
    """
    try:
        return Path(path).read_bytes().decode("utf-8", "surrogateescape")
    except OSError as e:
        raise UnreadableFile(field, path, e.strerror or str(e)) from e
