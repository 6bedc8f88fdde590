"""Tokenizers that the `tokenizers` package encodes with: `tokenizer.json`, and `vocab.json` with `merges.txt`.

The vocabulary is read here, so that what a token stands for never depends on a decoder's habits: decoders drop the
spaces of a first word, join pieces and leave special tokens out.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from inspector.files.beside import read_object
from inspector.files.shown import shown
from inspector.files.source import Source
from inspector.files.vocabulary import CannotEncode, as_text, byte_characters, from_byte_characters, from_pieces
from inspector.trouble import FileTrouble, Trouble

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from types import ModuleType

    import tokenizers

_MOST_BYTES = 64 * 2**20  # the largest in use have 35 MB
_MOST_ID = 2**31
_MOST_UNMADE = 0.1  # the part of a vocabulary that merges may leave unmade
_SPACE_PIECE = "▁"


class _Added(NamedTuple):
    """A token beside the model's own: special ones, and words that were added later."""

    text: str
    token_id: int
    special: bool


class TokenizersVocabulary:
    """A tokenizer of the `tokenizers` package; without one (`encoder` None) IDs can be read and no text encoded."""

    def __init__(
        self,
        path: Path,
        vocabulary: Mapping[str, int],
        added: Sequence[_Added],
        to_bytes: Callable[[str], bytes],
        encoder: tokenizers.Tokenizer | None,
    ) -> None:
        self.name = str(path)
        self.special: Mapping[str, int] = {token.text: token.token_id for token in added if token.special}
        self._added = {token.token_id: token.text for token in added}
        self._tokens = {token_id: token for token, token_id in vocabulary.items()}
        self.n_vocab = max((*self._tokens, *self._added)) + 1
        self._to_bytes = to_bytes
        self._encoder = encoder
        self._one_at_a_time = threading.Lock()  # how special tokens are taken is a setting of the encoder

    def encode(self, text: str, *, special: bool) -> list[int]:
        """Return the IDs of a text."""
        return list(self._encoded(text, special=special).ids)

    def spans(self, text: str, *, special: bool) -> Sequence[tuple[int, int]] | None:
        """Return the characters of each token, as the package tells them: a normaliser may have changed the text."""
        return list(self._encoded(text, special=special).offsets)

    def token_bytes(self, token_id: int) -> bytes | None:
        """Return a token's bytes."""
        if token_id in self._added:
            return as_text(self._added[token_id])
        token = self._tokens.get(token_id)
        return None if token is None else self._to_bytes(token)

    def _encoded(self, text: str, *, special: bool) -> tokenizers.Encoding:
        if self._encoder is None:
            raise CannotEncode(f"there is no merges.txt beside {self.name}: its IDs can be read, but no text encoded")
        with self._one_at_a_time:
            self._encoder.encode_special_tokens = not special
            try:
                return self._encoder.encode(text, add_special_tokens=False)
            except Exception as error:  # the package raises no narrower class
                raise CannotEncode(f"{self.name} has no tokens for this text: {error}") from error


# ---- tokenizer.json ----------------------------------------------------------------------------------------------


def is_json(_: Path, head: bytes) -> bool:
    """Return whether a file is a JSON object."""
    return head.lstrip().startswith(b"{")


def open_json(path: Path) -> TokenizersVocabulary:
    """Open a `tokenizer.json`.

    Raises:
        FileTrouble: the file is broken or of a kind that the package does not read, or the package is missing.
    """
    settings = read_object(path, _MOST_BYTES)
    model = settings.get("model")
    if not isinstance(model, dict) or "vocab" not in model:
        raise _not_one(path, "is not a tokenizer: it has no model with a vocab")
    vocabulary = _vocabulary(path, model["vocab"])
    added = list(_added(path, settings.get("added_tokens") or []))
    encoder = _parsed(path, _package(path))
    # What would make IDs differ from run to run, or from what the text has.
    encoder.no_truncation()
    encoder.no_padding()
    if getattr(encoder.model, "dropout", None) is not None:
        encoder.model.dropout = None
    return TokenizersVocabulary(path, vocabulary, added, _to_bytes(settings), encoder)


def _parsed(path: Path, package: ModuleType) -> tokenizers.Tokenizer:
    try:
        found: tokenizers.Tokenizer = package.Tokenizer.from_buffer(Source(path).begins(_MOST_BYTES))
    except Exception as error:  # the package raises no narrower class
        raise _not_one(path, f"is not a tokenizer that the tokenizers package reads: {error}") from error
    return found


def _vocabulary(path: Path, found: Any) -> dict[str, int]:
    """Return the IDs of a model's tokens: a mapping, or a list of tokens and their scores."""
    if isinstance(found, list):
        if not all(isinstance(entry, list) and entry and isinstance(entry[0], str) for entry in found):
            raise _not_one(path, "is damaged: its vocab does not list tokens")
        found = {entry[0]: i for i, entry in enumerate(found)}
    if not isinstance(found, dict) or not found:
        raise _not_one(path, "is damaged: its vocab is empty or no object")
    taken: set[int] = set()
    for token, token_id in found.items():
        if not _is_id(token_id) or token_id in taken:
            raise _not_one(path, f"is damaged: the ID of {shown(token)} is {shown(token_id)}, no number of its own")
        taken.add(token_id)
    return found


def _added(path: Path, entries: Any) -> Iterator[_Added]:
    if not isinstance(entries, list):
        raise _not_one(path, "is damaged: its added_tokens are no list")
    for entry in entries:
        text, token_id = (entry.get("content"), entry.get("id")) if isinstance(entry, dict) else (None, None)
        if not isinstance(text, str) or not _is_id(token_id):
            raise _not_one(path, "is damaged: one of its added_tokens has no content or no ID")
        yield _Added(text, token_id, entry.get("special") is True)


def _to_bytes(settings: Mapping[str, Any]) -> Callable[[str], bytes]:
    """Return how this tokenizer writes a token's bytes down, which its other parts give away."""
    words = {word for part in ("normalizer", "pre_tokenizer", "decoder") for word in _strings(settings.get(part))}
    if "ByteLevel" in words:
        return from_byte_characters
    if _SPACE_PIECE in words or "ByteFallback" in words or settings["model"].get("byte_fallback") is True:
        return from_pieces
    return as_text


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


# ---- vocab.json and merges.txt -----------------------------------------------------------------------------------


def is_vocabulary(path: Path, head: bytes) -> bool:
    """Return whether a file is one of the two, by its name: `vocab.json`, `gpt2-merges.txt`."""
    return (path.name.endswith("vocab.json") and is_json(path, head)) or path.name.endswith("merges.txt")


def open_vocabulary(path: Path) -> TokenizersVocabulary:
    """Open GPT-2's two files by either of them; without the merges no text can be encoded.

    Raises:
        FileTrouble: a file is broken, or the two do not belong together, or the package is missing.
    """
    vocab = path.with_name(path.name.replace("merges.txt", "vocab.json"))
    merges_path = path.with_name(path.name.replace("vocab.json", "merges.txt"))
    vocabulary = _vocabulary(vocab, read_object(vocab, _MOST_BYTES))
    is_byte_level = byte_characters().keys() <= vocabulary.keys()
    if not merges_path.exists():
        return TokenizersVocabulary(vocab, vocabulary, (), from_byte_characters if is_byte_level else as_text, None)
    if not is_byte_level:
        raise _not_one(vocab, "is not a byte-level vocabulary: it lacks tokens for some of the 256 bytes")
    merges = list(_merges(merges_path, vocabulary))
    added = _unmade(merges_path, vocabulary, merges)
    package = _package(vocab)
    try:
        encoder: tokenizers.Tokenizer = package.Tokenizer(package.models.BPE(vocabulary, merges))
    except Exception as error:  # the package raises no narrower class
        raise _not_one(vocab, f"cannot be used: {error}") from error
    encoder.pre_tokenizer = package.pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=False)
    encoder.add_special_tokens([token.text for token in added])
    return TokenizersVocabulary(vocab, vocabulary, added, from_byte_characters, encoder)


def _merges(path: Path, vocabulary: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of tokens that are joined, in order."""
    source = Source(path)
    if source.size > _MOST_BYTES:
        raise _not_one(path, f"is too long to be a list of merges: {source.size:,} bytes")
    try:
        lines = source.begins(source.size).decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise _not_one(path, f"is not UTF-8 text: byte {error.start:,} is 0x{error.object[error.start]:02x}") from error
    for number, line in enumerate(lines, 1):
        line = line.removesuffix("\r")
        if not line or (number == 1 and line.startswith("#version")):
            continue
        left, _, right = line.partition(" ")
        if not {left, right, left + right} <= vocabulary.keys():
            raise _not_one(path, f"does not belong to its vocab.json: line {number:,} is {shown(line)}")
        yield left, right


def _unmade(path: Path, vocabulary: Mapping[str, int], merges: Sequence[tuple[str, str]]) -> list[_Added]:
    """Return the special tokens: those in brackets (`<|endoftext|>`, `[PAD]`) that no merge makes from text."""
    unmade = vocabulary.keys() - byte_characters().keys() - {left + right for left, right in merges}
    special = {token for token in unmade if token[:1] in ("<", "[") and token[-1:] in (">", "]")}
    if len(unmade - special) > _MOST_UNMADE * len(vocabulary):
        raise FileTrouble(
            Trouble.TRUNCATED,
            path,
            f"is cut: its {len(merges):,} merges make {len(vocabulary) - len(unmade):,} of {len(vocabulary):,} tokens",
            "save or download it again",
        )
    return [_Added(token, vocabulary[token], special=True) for token in sorted(special, key=vocabulary.__getitem__)]


# ---- both --------------------------------------------------------------------------------------------------------


def _package(path: Path) -> ModuleType:
    try:
        import tokenizers
    except ImportError as error:
        raise FileTrouble(
            Trouble.UNREADABLE, path, "needs the tokenizers package to be read", "pip install tokenizers"
        ) from error
    return tokenizers


def _is_id(value: Any) -> TypeGuard[int]:
    return type(value) is int and 0 <= value < _MOST_ID


def _not_one(path: Path, why: str) -> FileTrouble:
    return FileTrouble(Trouble.NOT_RECOGNISED, path, why, "save or download it again")
