"""tiktoken's encodings by name: GPT-2's from `resources/`, the others where tiktoken has kept them on this machine.

tiktoken downloads what it does not have, and again what it has but finds damaged. So its copy is looked at first, and
only one that is whole is given to it.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from inspector.files.vocabulary import CannotEncode
from inspector.trouble import FileTrouble, Trouble

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import tiktoken

    from inspector.files.vocabulary import VocabularyFile
    from inspector.tokenizer import Gpt2Tokenizer

_SHIPPED = ("gpt2", "r50k_base")  # two names of one vocabulary
_MOST_BYTES = 32 * 2**20  # the largest has 4 MB


class _Origin(NamedTuple):
    """Where tiktoken gets an encoding's ranks from, and what they hash to."""

    file: str
    sha256: str


# As tiktoken declares them; a test holds the two together.
_ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/"
_P50K = _Origin("p50k_base.tiktoken", "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069")
_O200K = _Origin("o200k_base.tiktoken", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d")
ORIGINS = {
    "r50k_base": _Origin("r50k_base.tiktoken", "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"),
    "p50k_base": _P50K,
    "p50k_edit": _P50K,
    "cl100k_base": _Origin("cl100k_base.tiktoken", "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"),
    "o200k_base": _O200K,
    "o200k_harmony": _O200K,
}
NAMES = ("gpt2", *ORIGINS)


class TiktokenVocabulary:
    """An encoding of tiktoken's."""

    def __init__(self, name: str, encoding: tiktoken.Encoding) -> None:
        self.name = name
        self.n_vocab = encoding.max_token_value + 1
        special = sorted(encoding.special_tokens_set)
        self.special: Mapping[str, int] = {token: encoding.encode_single_token(token) for token in special}
        self._encoding = encoding

    def encode(self, text: str, *, special: bool) -> list[int]:
        """Return the IDs of a text."""
        try:
            if special:
                return self._encoding.encode(text, allowed_special="all")
            return self._encoding.encode_ordinary(text)
        except ValueError as error:  # its pattern gives up on a text: too much to go back over
            raise CannotEncode(f"{self.name} cannot split this text into words") from error

    def spans(self, text: str, *, special: bool) -> Sequence[tuple[int, int]] | None:
        """Return None: the tokens' bytes are the text's."""
        return None

    def token_bytes(self, token_id: int) -> bytes | None:
        """Return a token's bytes; None for IDs that the encoding skips."""
        try:
            return self._encoding.decode_single_token_bytes(token_id)
        except (KeyError, OverflowError):  # no such ID; one that is negative or beyond 32 bits
            return None


class ShippedVocabulary:
    """GPT-2's encoding, which comes with this program."""

    def __init__(self, name: str, gpt2: Gpt2Tokenizer) -> None:
        from inspector.tokenizer import SPECIAL_ID, SPECIAL_TOKEN

        self.name = name
        self.n_vocab = gpt2.n_vocab
        self.special: Mapping[str, int] = {SPECIAL_TOKEN: SPECIAL_ID}
        self._gpt2 = gpt2

    def encode(self, text: str, *, special: bool) -> list[int]:
        """Return the IDs of a text."""
        return self._gpt2.encode(text, special=special)

    def spans(self, text: str, *, special: bool) -> Sequence[tuple[int, int]] | None:
        """Return None: the tokens' bytes are the text's."""
        return None

    def token_bytes(self, token_id: int) -> bytes | None:
        """Return a token's bytes."""
        return self._gpt2.token_bytes[token_id] if 0 <= token_id < self.n_vocab else None


def open_encoding(name: str) -> VocabularyFile:
    """Return one of `NAMES` as it lies on this machine.

    Raises:
        FileTrouble: it does not, or is damaged.
    """
    if name in _SHIPPED:
        # Imported late: the tokenizer of the lesson may itself open tokenizers by name.
        from inspector import tokenizer

        try:
            return ShippedVocabulary(name, tokenizer.gpt2())
        except (OSError, ValueError) as error:
            raise FileTrouble(
                Trouble.UNREADABLE, f"the encoding {name}", "is damaged", "install Embedding Inspector again"
            ) from error
    return open_cached(name)


def open_cached(name: str) -> TiktokenVocabulary:
    """Return an encoding from tiktoken's own copy.

    Raises:
        FileTrouble: there is no whole copy.
    """
    import tiktoken

    path = cached(name)
    try:
        is_here = path is not None and path.stat().st_size <= _MOST_BYTES
        data = path.read_bytes() if path is not None and is_here else b""
    except OSError:
        data = b""
    subject = f"the encoding {name}"
    if not data:
        raise FileTrouble(
            Trouble.UNREADABLE,
            subject,
            "is not on this machine",
            f'fetch it once: python -c "import tiktoken; tiktoken.get_encoding({name!r})"',
        )
    if hashlib.sha256(data).hexdigest() != ORIGINS[name].sha256:
        raise FileTrouble(
            Trouble.NOT_RECOGNISED, subject, f"is damaged: {path} is not what was published", "fetch it again"
        )
    try:
        return TiktokenVocabulary(name, tiktoken.get_encoding(name))
    except ValueError as error:  # an older tiktoken that does not know it
        raise FileTrouble(
            Trouble.NOT_RECOGNISED, subject, "is unknown to the tiktoken installed here", "pip install -U tiktoken"
        ) from error


def fetch(name: str) -> TiktokenVocabulary:
    """Download an encoding, once and for all, and return it. Called only when a person asks for it.

    Raises:
        FileTrouble: the download failed, or there is no such encoding.
    """
    import tiktoken

    try:
        return TiktokenVocabulary(name, tiktoken.get_encoding(name))
    except (OSError, ValueError) as error:  # the network's errors are OSErrors
        raise FileTrouble(
            Trouble.UNREADABLE, f"the encoding {name}", f"could not be fetched: {error}", "check the connection"
        ) from error


def cached(name: str) -> Path | None:
    """Return where tiktoken keeps an encoding once it has it; None where it is told to keep nothing."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if folder == "":
        return None
    key = hashlib.sha1(f"{_ADDRESS}{ORIGINS[name].file}".encode(), usedforsecurity=False).hexdigest()
    return Path(folder or Path(tempfile.gettempdir()) / "data-gym-cache") / key
