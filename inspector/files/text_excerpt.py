"""Part of a large text, around one of its tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.tokenizer import Tokens, gpt2

if TYPE_CHECKING:
    from collections.abc import Sequence

_IN_CHARACTER = bytes(range(0x80, 0xC0))  # bytes of UTF-8 that begin no character
_TOKENS_PER_CHARACTER = 4  # at most: a byte each
_MARGIN = 64  # tokens, in which one that begins with a character is found


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Part of a text.

    `tokens` are its characters and their IDs: what `Tokens.span` and `token_at` say of them is relative to `first`, the
    index in the whole text of the first of these tokens. `byte_offset` is where they begin in the file.
    """

    tokens: Tokens
    first: int
    byte_offset: int

    @property
    def last(self) -> int:
        """The index in the whole text of the token behind the last of these."""
        return self.first + len(self.tokens.ids)


def tokens_around(ids: Sequence[int], index: int, characters: int) -> tuple[Tokens, int]:
    """Return some `characters` with a token in their middle, and the index of the first of their tokens.

    They begin and end where a token does that does not share a character with the next.
    """
    before, after = characters // 2, characters - characters // 2
    start = max(0, index - before * _TOKENS_PER_CHARACTER - _MARGIN)
    read = ids[start : index + after * _TOKENS_PER_CHARACTER + _MARGIN]
    vocabulary = gpt2().token_bytes
    data = [vocabulary[i] for i in read]

    first = index - start
    while first and (before > 0 or _is_inside(data[first])):
        first -= 1
        before -= characters_of(data[first])
    last = index - start
    while last < len(data) and (after > 0 or last == index - start or _is_inside(data[last])):
        after -= characters_of(data[last])
        last += 1
    text = b"".join(data[first:last]).decode("utf-8", "replace")
    return Tokens(text, read[first:last]), start + first


def characters_of(token: bytes) -> int:
    """Return how many characters begin in a token."""
    return len(token.translate(None, _IN_CHARACTER))


def _is_inside(token: bytes) -> bool:
    return token[0] & 0xC0 == 0x80
