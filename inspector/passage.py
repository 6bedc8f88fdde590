"""The text around a token of IDs that lie in a file, decoded where its tokenizer is at hand."""

from __future__ import annotations

from codecs import getincrementaldecoder
from typing import TYPE_CHECKING, NamedTuple

from inspector import tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

TOKENS_AROUND = 400  # on either side

_decoder = getincrementaldecoder("utf-8")


class Passage(NamedTuple):
    """Part of a text: `ends[n]` is the character behind the n-th of its tokens, `first` that token's index in the IDs.

    A character that is split among tokens belongs to the last of them.
    """

    text: str = ""
    first: int = 0
    ends: tuple[int, ...] = ()

    @property
    def last(self) -> int:
        """The index in the IDs of the token behind the last of these."""
        return self.first + len(self.ends)

    def span(self, token: int) -> tuple[int, int]:
        """Return the characters (start, end) of a token, by its index in the IDs; of one not here an empty span."""
        place = token - self.first
        if not 0 <= place < len(self.ends):
            return 0, 0
        return self.ends[place - 1] if place else 0, self.ends[place]

    def token_at(self, character: int) -> int:
        """Return the index in the IDs of the token that holds a character."""
        from bisect import bisect_right

        return self.first + min(bisect_right(self.ends, character), len(self.ends) - 1)


def around(ids: Sequence[int], token: int, encoding: str | None) -> Passage:
    """Return the text around a token; an ID that the tokenizer does not have stands as itself, `⟨50300⟩`.

    Raises:
        FileTrouble: the file of the IDs was changed, cut or taken away.
    """
    first = max(0, token - TOKENS_AROUND)
    read = ids[first : token + TOKENS_AROUND]
    decoder = _decoder("replace")
    text, ends = "", []
    for token_id in read:
        data = tokenizer.token_bytes(encoding, int(token_id))
        text += decoder.decode(f"⟨{token_id}⟩".encode() if data is None else data)
        ends.append(len(text))
    return Passage(text, first, tuple(ends))


def is_decodable(encoding: str | None) -> bool:
    """Return whether IDs of a tokenizer can be shown as text."""
    return tokenizer.token_bytes(encoding, 0) is not None
