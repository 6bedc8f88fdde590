"""What a tokenizer of any kind looks like to the rest of the program, and the ways a token's bytes are written down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class CannotEncode(Exception):
    """A text has no IDs in this vocabulary; the message says why, complete alone."""


class VocabularyFile(Protocol):
    """An open tokenizer.

    Attributes:
        name: what people call it: "cl100k_base", or the path of its file.
        n_vocab: its size: the largest ID + 1, tokens that were added and special ones included.
        special: the special tokens' IDs, by their text.
    """

    name: str
    n_vocab: int
    special: Mapping[str, int]

    def encode(self, text: str, *, special: bool) -> list[int]:
        """Return the IDs of a text without lone surrogates, and no more than those: none is put in front or behind.

        Args:
            text: what to encode.
            special: whether the text of a special token becomes that token, or is text like any other.

        Raises:
            CannotEncode: there is no encoder, or the vocabulary lacks what the text needs.
        """
        ...

    def spans(self, text: str, *, special: bool) -> Sequence[tuple[int, int]] | None:
        """Return the characters (start, end) of the text that each of its tokens stands for.

        None where `token_bytes`, one token after the other, give the text's own UTF-8 and so tell.

        Raises:
            CannotEncode: as of `encode`.
        """
        ...

    def token_bytes(self, token_id: int) -> bytes | None:
        """Return the bytes a token stands for, None where there is no such ID.

        A piece of a word that is marked as one (`##ing`, `ing</w>`) keeps its mark: the text has no bytes for it.
        """
        ...


def byte_characters() -> dict[str, int]:
    """Return the byte that each of GPT-2's 256 printable characters stands for.

    The printable ones of Latin-1 stand for themselves; the others are those from U+0100 on, in the order of the bytes.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + i): byte for i, byte in enumerate(others)}


_BYTES = byte_characters()


def from_byte_characters(token: str) -> bytes:
    """Return the bytes of a byte-level token: `Ġdonkey` is ` donkey`; one with other characters is plain text."""
    try:
        return bytes(map(_BYTES.__getitem__, token))
    except KeyError:
        return as_text(token)


def from_pieces(token: str) -> bytes:
    """Return the bytes of a token as SentencePiece writes it: `▁` is a space and `<0x0A>` a single byte."""
    if len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
        try:
            return bytes.fromhex(token[3:5])
        except ValueError:
            pass
    return as_text(token.replace("▁", " "))


def as_text(token: str) -> bytes:
    """Return the UTF-8 of a token; a lone surrogate, which a broken file may hold, becomes a question mark."""
    return token.encode("utf-8", "replace")
