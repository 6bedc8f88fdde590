"""nanoGPT's character-level vocabulary: `meta.pkl`, a pickle of two dictionaries, read without running it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from inspector.files.pickle_program import read_pickle
from inspector.files.pickle_values import BrokenPickle, NeedsCode
from inspector.files.shown import shown
from inspector.files.source import Source
from inspector.files.vocabulary import CannotEncode, as_text
from inspector.trouble import FileTrouble, Trouble

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_MOST_BYTES = 64 * 2**20  # every character of Unicode, in both dictionaries, takes 20 MB
_MOST_ID = 2**31
_PICKLE = b"\x80"


class CharacterVocabulary:
    """A token for each character of a text."""

    def __init__(self, path: Path, characters: Mapping[int, str], ids: Mapping[str, int], n_vocab: int) -> None:
        self.name = str(path)
        self.n_vocab = n_vocab
        self.special: Mapping[str, int] = {}
        self._characters = characters
        self._ids = ids

    def encode(self, text: str, *, special: bool) -> list[int]:
        """Return the ID of each character.

        Raises:
            CannotEncode: a character is not in the vocabulary.
        """
        try:
            return [self._ids[character] for character in text]
        except KeyError as error:
            raise CannotEncode(
                f"the character {error.args[0]!r} is not among the {len(self._ids)} characters of {self.name}"
            ) from error

    def spans(self, text: str, *, special: bool) -> Sequence[tuple[int, int]] | None:
        """Return None: the tokens' bytes are the text's."""
        return None

    def token_bytes(self, token_id: int) -> bytes | None:
        """Return a character's UTF-8."""
        character = self._characters.get(token_id)
        return None if character is None else as_text(character)


def is_pickle(path: Path, head: bytes) -> bool:
    """Return whether a file is a pickle."""
    return path.suffix.lower() in (".pkl", ".pickle") or head.startswith(_PICKLE)


def open_characters(path: Path) -> CharacterVocabulary:
    """Open a `meta.pkl`: a dictionary with `itos`, `stoi` and, as a rule, `vocab_size`.

    Raises:
        FileTrouble: the file is broken, needs code, or holds something else.
    """
    source = Source(path)
    if source.size > _MOST_BYTES:
        raise _not_one(path, f"is too long to be a vocabulary of characters: {source.size:,} bytes")
    try:
        root = read_pickle(io.BytesIO(source.begins(source.size)))
    except NeedsCode as error:
        raise FileTrouble(
            Trouble.PICKLE_REFUSED,
            path,
            f"is a pickle that would run code to be read: it asks for {shown(error.wanted)}",
            "save a dictionary of plain numbers and strings",
        ) from error
    except BrokenPickle as error:
        raise _not_one(path, f"holds a pickle that cannot be read: {error}") from error
    if not isinstance(root, dict) or "itos" not in root or "stoi" not in root:
        raise _not_one(path, "is a pickle without itos and stoi, the two dictionaries of a character-level vocabulary")
    characters, ids = _characters(path, root["itos"]), _ids(path, root["stoi"])
    for character, token_id in ids.items():
        if characters.get(token_id) != character:
            raise _not_one(path, f"contradicts itself: stoi says {shown(character)} is {token_id}, itos does not")
    largest = max(characters)
    size = root.get("vocab_size", largest + 1)
    if type(size) is not int or size <= largest:
        raise _not_one(path, f"contradicts itself: vocab_size is {shown(size)}, and its largest ID {largest}")
    return CharacterVocabulary(path, characters, ids, min(size, _MOST_ID))


def _characters(path: Path, itos: Any) -> dict[int, str]:
    """Return the character of each ID; some scripts keep a list."""
    if isinstance(itos, list):
        itos = dict(enumerate(itos))
    if not isinstance(itos, dict) or not itos or not all(_is_id(k) and isinstance(v, str) for k, v in itos.items()):
        raise _not_one(path, "has an itos that does not give a string for each ID")
    return itos


def _ids(path: Path, stoi: Any) -> dict[str, int]:
    if not isinstance(stoi, dict) or not all(isinstance(k, str) and _is_id(v) for k, v in stoi.items()):
        raise _not_one(path, "has a stoi that does not give an ID for each string")
    return stoi


def _is_id(value: Any) -> bool:
    return type(value) is int and 0 <= value < _MOST_ID


def _not_one(path: Path, why: str) -> FileTrouble:
    return FileTrouble(Trouble.NOT_RECOGNISED, path, why, "write it again with the script that prepares the data")
