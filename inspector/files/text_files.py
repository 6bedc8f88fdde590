"""Texts of any size: encoded piece by piece in the background, their IDs kept in a file, any of them read at once."""

from __future__ import annotations

import hashlib
import os
import re
import time
import weakref
from array import array
from bisect import bisect_right
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from inspector.files.source import Source, unreadable
from inspector.files.text_cache import kept_store, new_store
from inspector.files.text_excerpt import Excerpt, characters_of, tokens_around
from inspector.files.text_pieces import piece_at
from inspector.files.token_sequence import FileIds
from inspector.tokenizer import SPECIAL_TOKEN, gpt2
from inspector.trouble import FileTrouble, Trouble

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

_SAMPLES, _SAMPLE_BYTES = 5, 4096  # of a text's bytes, which tell it from another of its name, size and time
_PROGRESS_SECONDS = 0.1

_LONE_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class _Counted:
    """What is known of a text up to a place; one value, so that another thread never sees half of a change."""

    count: int = 0
    bytes_done: int = 0
    characters: int = 0
    replaced: int = 0
    special_count: int = 0
    refused: bool = False
    max_id: int = -1


class StoredIds(FileIds):
    """The IDs of a text that there are so far."""

    def __init__(self, text: TextStore) -> None:
        self._text = text

    def __len__(self) -> int:
        return self._text.count

    def _read(self, first: int, last: int) -> list[int]:
        return self._text._read(first, last)


class TextStore:
    """A text file and its GPT-2 IDs, as far as they are encoded.

    One thread calls `encode`; any other may read meanwhile. Reading raises `FileTrouble` where the IDs are gone.

    Attributes:
        path: the file.
        bytes_total: its size.
        ids: its IDs so far; all, once `complete`.
    """

    def __init__(self, source: Source, key: str, special_tokens: str) -> None:
        self.path = source.path
        self.bytes_total = source.size
        self.ids: Sequence[int] = StoredIds(self)
        self._source = source
        self._key = key
        self._special_tokens = special_tokens
        # Of each piece: the index of its first token, its first byte, and how many of its bytes are not UTF-8.
        self._first_tokens, self._first_bytes, self._replaced = array("Q"), array("Q"), array("Q")
        if kept := kept_store(key):
            self._store, notes = kept
            self._remember(notes)
        else:
            self._counted, self._complete = _Counted(), False
            try:
                self._store = new_store()
            except OSError as error:
                raise self._no_room(error) from error
        # A text that is only looked at once, by the command or from a notebook, is closed by nobody.
        self._let_go = weakref.finalize(self, self._store.close)

    # ---- what is known -----------------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """How many IDs there are so far; none of a text that is refused."""
        return self._counted.count

    @property
    def complete(self) -> bool:
        """Whether the whole text is encoded, or refused."""
        return self._complete

    @property
    def bytes_done(self) -> int:
        """How much of the file is encoded."""
        return self._counted.bytes_done

    @property
    def characters(self) -> int:
        """How many characters that is."""
        return self._counted.characters

    @property
    def replaced(self) -> int:
        """How many bytes so far are not UTF-8; each has become U+FFFD."""
        return self._counted.replaced

    @property
    def special_count(self) -> int:
        """How often a special token's text occurs so far."""
        return self._counted.special_count

    @property
    def refused(self) -> bool:
        """Whether there are no IDs because of that."""
        return self._counted.refused

    @property
    def max_id(self) -> int:
        """The largest ID so far; -1 when there is none."""
        return self._counted.max_id

    # ---- encoding ----------------------------------------------------------------------------------------------------

    def encode(
        self,
        progress: Callable[[float], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
        first: Callable[[], None] | None = None,
    ) -> None:
        """Encode what is not encoded yet: all of it, or up to where it is cancelled, from where another call goes on.

        Args:
            progress: told the part that is done, 0 to 1, some ten times a second and at the end.
            cancelled: asked after each piece.
            first: called when there are IDs to show: after the first piece, and at once when there were before.

        Raises:
            FileTrouble: the file was changed, cut or taken away, is hardly a text, or there is no room for its IDs.
        """
        told = time.monotonic()
        while True:
            if first and (self._counted.bytes_done or self._complete):
                first()
                first = None
            if progress and (self._complete or time.monotonic() - told > _PROGRESS_SECONDS):
                told = time.monotonic()
                progress(1.0 if self._complete else self._counted.bytes_done / self.bytes_total)
            if self._complete or (cancelled and cancelled()):
                return
            if self._counted.bytes_done < self.bytes_total:
                try:
                    self._encode_piece()
                except OSError as error:
                    raise self._no_room(error) from error
            if self._counted.bytes_done == self.bytes_total:
                if self.refused:
                    self._store.clear()
                self._store.finish(self._notes(), self._key)
                self._complete = True

    def _encode_piece(self) -> None:
        before = self._counted
        data = piece_at(self._source, before.bytes_done)
        text, replaced = _sound(data)
        special_count = text.count(SPECIAL_TOKEN)
        refused = before.refused or (special_count > 0 and self._special_tokens == "refuse")
        count, max_id = 0, -1
        if not refused:
            ids = gpt2()._encoding.encode_to_numpy(
                text, allowed_special="all" if self._special_tokens == "special" else set(), disallowed_special=()
            )
            self._store.append(ids.astype("<u2").tobytes())
            self._first_tokens.append(before.count)
            self._first_bytes.append(before.bytes_done)
            self._replaced.append(replaced)
            count, max_id = before.count + len(ids), max(before.max_id, int(ids.max()))
        self._counted = _Counted(
            count=count,
            bytes_done=before.bytes_done + len(data),
            characters=before.characters + len(text),
            replaced=before.replaced + replaced,
            special_count=before.special_count + special_count,
            refused=refused,
            max_id=max_id,
        )

    def _notes(self) -> dict[str, Any]:
        pieces = [self._first_tokens.tolist(), self._first_bytes.tolist(), self._replaced.tolist()]
        return {**asdict(self._counted), "pieces": pieces if not self.refused else [[], [], []]}

    def _remember(self, notes: dict[str, Any]) -> None:
        for of_piece, values in zip(
            (self._first_tokens, self._first_bytes, self._replaced), notes.pop("pieces"), strict=True
        ):
            of_piece.extend(values)
        self._counted, self._complete = _Counted(**notes), True

    def _no_room(self, error: OSError) -> FileTrouble:
        why = error.strerror or str(error)
        return FileTrouble(
            Trouble.UNREADABLE,
            self.path,
            f"cannot be encoded, since its IDs cannot be kept: {why[0].lower()}{why[1:]}",
            "make room where temporary files go",
        )

    # ---- reading -----------------------------------------------------------------------------------------------------

    def _read(self, first: int, last: int) -> list[int]:
        try:
            return self._store.read(first, last)
        except (OSError, ValueError) as error:
            if self.refused:  # since they were asked for
                return []
            raise FileTrouble(
                Trouble.UNREADABLE,
                self.path,
                "was encoded, but its IDs are gone from where they were kept",
                "open it again",
            ) from error

    def text_around(self, token_index: int, characters: int) -> Excerpt:
        """Return some `characters` of the text with a token in their middle: whole tokens and whole characters.

        Raises:
            IndexError: there is no such token, or not yet.
            FileTrouble: the file was changed, cut or taken away.
        """
        if not 0 <= token_index < self.count:
            raise IndexError(token_index)
        tokens, first = tokens_around(self.ids, token_index, characters)
        return Excerpt(tokens, first, self._byte_of(first))

    def _byte_of(self, token_index: int) -> int:
        """Return where in the file a token begins that begins with a character."""
        piece = bisect_right(self._first_tokens, token_index) - 1
        before = self.ids[self._first_tokens[piece] : token_index]
        first_byte = self._first_bytes[piece]
        vocabulary = gpt2().token_bytes
        if not self._replaced[piece]:
            with self._source.reading():
                return first_byte + sum(len(vocabulary[i]) for i in before)
        # U+FFFD may stand for one byte of the file or for its own three.
        characters = sum(characters_of(vocabulary[i]) for i in before)
        text = piece_at(self._source, first_byte).decode("utf-8", "surrogateescape")
        return first_byte + len(text[:characters].encode("utf-8", "surrogateescape"))

    def close(self) -> None:
        """Let go of the IDs; unfinished ones are removed. No thread may be encoding any more."""
        self._let_go()


def open_text(path: Path, special_tokens: str) -> TextStore:
    """Open a text file of any size, at once: with all its IDs where it was encoded before, else with none yet.

    Args:
        path: the file.
        special_tokens: what becomes of a special token's text: "special", "plain" or "refuse".

    Raises:
        FileTrouble: it cannot be read, or there is no room for its IDs.
    """
    source = Source(path)
    return TextStore(source, _key(source, special_tokens), special_tokens)


def _key(source: Source, special_tokens: str) -> str:
    """Return what names the IDs of a text: where it lies, its size, its time, samples of it, and how it is encoded."""
    digest = hashlib.sha256()
    with source.reading() as stream:
        try:
            changed = os.stat(source.path).st_mtime_ns
        except OSError as error:
            raise unreadable(source.path, error) from error
        for n in range(_SAMPLES):
            stream.seek(max(0, source.size - _SAMPLE_BYTES) * n // (_SAMPLES - 1))
            digest.update(stream.read(_SAMPLE_BYTES))
    what = (os.path.abspath(source.path), source.size, changed, "gpt2", special_tokens)
    digest.update(repr(what).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()


def _sound(data: bytes) -> tuple[str, int]:
    """Return a text as `tokenizer.encode` makes it, each byte that is not UTF-8 one U+FFFD, and how many there are."""
    try:
        return data.decode(), 0
    except UnicodeDecodeError:
        return _LONE_SURROGATES.subn("\ufffd", data.decode("utf-8", "surrogateescape"))
