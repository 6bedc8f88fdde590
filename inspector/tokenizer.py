"""Text to token IDs and back: GPT-2 BPE from the vocabulary in `resources/`, without a network.

tiktoken itself is imported only when text is encoded or a token's bytes are asked for.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

from inspector import resources

if TYPE_CHECKING:
    from collections.abc import Sequence

    import tiktoken

    from inspector.files.vocabulary import VocabularyFile

# Sizes (largest ID + 1) of tiktoken's encodings: IDs can be judged against an encoding that is not on this machine.
ENCODING_SIZES = {
    "gpt2": 50257,
    "r50k_base": 50257,
    "p50k_base": 50281,
    "p50k_edit": 50284,
    "cl100k_base": 100277,
    "o200k_base": 200019,
    "o200k_harmony": 201088,
}
AVAILABLE = ("gpt2", "r50k_base")  # two names of one vocabulary
SPECIAL_TOKEN = "<|endoftext|>"
SPECIAL_ID = 50256

_VOCABULARY = "gpt2/r50k_base.tiktoken"
_VOCABULARY_SHA256 = "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"


@dataclass(frozen=True)
class Tokens:
    """A text and its token IDs.

    `text` is what was encoded: lone surrogates, `replaced` of them, have become U+FFFD. `special_count` is how often
    the text of a special token occurs in it; `refused` says that there are no IDs because of that. `vocabulary` is the
    tokenizer's, None for GPT-2's; `special` says whether it took special tokens' text for these tokens.
    """

    text: str
    ids: Sequence[int]
    replaced: int = 0
    special_count: int = 0
    refused: bool = False
    vocabulary: VocabularyFile | None = None
    special: bool = False

    @property
    def characters(self) -> int:
        """How many characters the text has."""
        return len(self.text)

    @cached_property
    def max_id(self) -> int:
        """The largest ID; -1 when there is none."""
        return max(self.ids, default=-1)

    @cached_property
    def _byte_ends(self) -> list[int]:
        if self.vocabulary is not None:
            return list(accumulate(len(self.vocabulary.token_bytes(i) or b"") for i in self.ids))
        vocabulary = gpt2().token_bytes
        return list(accumulate(len(vocabulary[i]) for i in self.ids))

    @cached_property
    def _spans(self) -> Sequence[tuple[int, int]] | None:
        """The characters of each token, where its bytes do not tell: a tokenizer may change the text it takes."""
        return self.vocabulary.spans(self.text, special=self.special) if self.vocabulary is not None else None

    @cached_property
    def _utf8(self) -> bytes:
        return self.text.encode()

    def prepare_spans(self) -> None:
        """Do the work that `span` and `token_at` need, so that they answer at once afterwards."""
        if self._spans is None:
            self._byte_ends  # noqa: B018
            self._utf8  # noqa: B018

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Return the characters (start, end) that hold the tokens `first` to `last` - 1.

        A character that is split among tokens belongs to each of them.
        """
        if self._spans is not None:
            inside = self._spans[first:last]
            return (inside[0][0], inside[-1][1]) if inside else (len(self.text), len(self.text))
        ends = self._byte_ends
        if first >= len(ends) or last <= first:
            return len(self.text), len(self.text)
        start = ends[first - 1] if first else 0
        return self._characters_before(start, round_up=False), self._characters_before(ends[last - 1], round_up=True)

    def token_at(self, character: int) -> int | None:
        """Return the index of the first token that holds a character of the text."""
        if not 0 <= character < len(self.text):
            return None
        if self._spans is not None:
            return next((n for n, (start, end) in enumerate(self._spans) if start <= character < end), None)
        byte = len(self.text[:character].encode())
        return bisect_right(self._byte_ends, byte)

    def _characters_before(self, byte: int, *, round_up: bool) -> int:
        data = self._utf8
        step = 1 if round_up else -1
        while 0 < byte < len(data) and data[byte] & 0xC0 == 0x80:  # inside a character
            byte += step
        return byte if len(data) == len(self.text) else len(data[:byte].decode())


class Gpt2Tokenizer:
    """The GPT-2 vocabulary: 50,257 tokens.

    `token_bytes[i]` are the bytes of token i.
    """

    n_vocab = 50257

    def __init__(self) -> None:
        import tiktoken
        from tiktoken_ext.openai_public import r50k_pat_str

        ranks = _ranks()
        self._encoding: tiktoken.Encoding = tiktoken.Encoding(
            "gpt2",
            explicit_n_vocab=self.n_vocab,
            pat_str=r50k_pat_str,
            mergeable_ranks=ranks,
            special_tokens={SPECIAL_TOKEN: SPECIAL_ID},
        )
        self._ranks = ranks

    @cached_property
    def token_bytes(self) -> list[bytes]:
        """The bytes of each token, by ID."""
        table = [b""] * self.n_vocab
        for token, rank in self._ranks.items():
            table[rank] = token
        table[SPECIAL_ID] = SPECIAL_TOKEN.encode()
        return table

    def encode(self, text: str, *, special: bool) -> list[int]:
        """Return the IDs of a text without lone surrogates; `special` encodes a special token's text as that token."""
        if special:
            return self._encoding.encode(text, allowed_special="all")
        return self._encoding.encode_ordinary(text)


def _ranks() -> dict[bytes, int]:
    """Read the vocabulary: a line a token, its bytes in base 64 and its rank.

    tiktoken's own reader gives the same (a test holds them together), but it leaves a copy of the file in the system's
    temporary folder and obeys an environment variable.
    """
    import hashlib
    from binascii import a2b_base64

    data = resources.path(_VOCABULARY).read_bytes()
    if hashlib.sha256(data).hexdigest() != _VOCABULARY_SHA256:
        raise ValueError(f"{_VOCABULARY} is damaged: install Embedding Inspector again")
    words = data.split()
    return dict(zip(map(a2b_base64, words[::2]), map(int, words[1::2]), strict=True))


def import_libraries() -> None:
    """Import what loading the vocabulary takes."""
    import hashlib

    from tiktoken_ext import openai_public

    del hashlib, openai_public


@lru_cache(maxsize=1)
def gpt2() -> Gpt2Tokenizer:
    """Return the GPT-2 tokenizer, loaded on first use.

    Raises:
        ValueError: the vocabulary file is damaged.
        FileNotFoundError: it is missing.
    """
    return Gpt2Tokenizer()


_OPENED: dict[str, VocabularyFile] = {}


def use(encoding: str) -> None:
    """Open a tokenizer other than GPT-2's, by name or by the path of its file; it stays open under this name.

    Raises:
        FileTrouble: it cannot be used.
    """
    if encoding not in _OPENED:
        from inspector.files.tokenizer_files import open_tokenizer

        _OPENED[encoding] = open_tokenizer(encoding)


def encode(text: str, special_tokens: str, encoding: str | None = "gpt2") -> Tokens:
    """Encode any text a person can paste, with GPT-2's tokenizer or one that is in use.

    With `special_tokens` "refuse" and a special token's text inside, there are no IDs.
    Lone surrogates are replaced as tiktoken replaces them: by way of UTF-16, which also joins a pair.

    Raises:
        FileTrouble: the tokenizer has no IDs for the text.
    """
    sound, replaced = text, 0
    try:
        text.encode()
    except UnicodeEncodeError:
        sound = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        replaced = sound.count("\ufffd") - text.count("\ufffd")
    vocabulary = None if encoding in AVAILABLE else _OPENED[str(encoding)]
    names = (SPECIAL_TOKEN,) if vocabulary is None else tuple(vocabulary.special)
    special_count = sum(sound.count(name) for name in names)
    special = special_tokens == "special"
    if special_count and special_tokens == "refuse":
        return Tokens(sound, [], replaced, special_count, refused=True, vocabulary=vocabulary)
    if not sound:
        ids = []
    elif vocabulary is None:
        ids = gpt2().encode(sound, special=special)
    else:
        ids = _encoded(vocabulary, sound, special=special)
    return Tokens(sound, ids, replaced, special_count, vocabulary=vocabulary, special=special)


def _encoded(vocabulary: VocabularyFile, text: str, *, special: bool) -> list[int]:
    from inspector.files.vocabulary import CannotEncode
    from inspector.trouble import FileTrouble, Trouble

    try:
        return vocabulary.encode(text, special=special)
    except CannotEncode as error:
        help_ = "use the tokenizer that this text was made for, or give the IDs themselves"
        raise FileTrouble(Trouble.NOT_RECOGNISED, vocabulary.name, str(error), help_) from error


def known_size(encoding: str | None, n_vocab: int | None) -> int | None:
    """Return how many tokens the stated tokenizer has; None when nobody knows."""
    if n_vocab is not None or encoding is None:
        return n_vocab
    opened = _OPENED.get(encoding)
    return ENCODING_SIZES.get(encoding) if opened is None else opened.n_vocab


def token_bytes(encoding: str | None, token_id: int) -> bytes | None:
    """Return a token's bytes, or None where the encoding is not at hand or has no such ID."""
    if encoding in AVAILABLE and 0 <= token_id < Gpt2Tokenizer.n_vocab:
        return gpt2().token_bytes[token_id]
    opened = _OPENED.get(encoding) if encoding is not None else None
    return None if opened is None or token_id < 0 else opened.token_bytes(token_id)


def quoted(encoding: str | None, token_id: int) -> str | None:
    """Return a token's text as Python writes it, `' donkey'`, or its bytes where they are part of a character."""
    data = token_bytes(encoding, token_id)
    if data is None:
        return None
    try:
        return repr(data.decode())
    except UnicodeDecodeError:
        return repr(data)


_VISIBLE = {" ": "·", "\n": "↵", "\r": "\\r", "\t": "⇥"}


def visible(data: bytes) -> str:
    """Return a token's bytes so that all of them can be seen: white space as signs, part of a character as its bytes.

    Controls are written as Python writes them: few fonts have their pictures (U+2400 and on).
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return "".join(f"\\x{byte:02x}" for byte in data)
    return "".join(_visible_character(c, first=i == 0) for i, c in enumerate(text))


def _visible_character(character: str, *, first: bool) -> str:
    if character in _VISIBLE:
        return _VISIBLE[character]
    if character < " " or character == "\x7f":
        return f"\\x{ord(character):02x}"
    category = unicodedata.category(character)
    if category in ("Cc", "Cf", "Zs", "Zl", "Zp", "Co", "Cn"):
        return f"⟨U+{ord(character):04X}⟩"
    if first and category in ("Mn", "Me"):
        return "◌" + character
    return character
