"""Arguments in the wrong order and layers in each other's place: recognised before anything else about sizes.

Both would otherwise look like a small vocabulary, a wrong width or a short position table: one cause, several blames.
A layer that is fine as it was stated is never touched: a story is told only of a width that is not the wanted one, or
of a token table that is too small for its tokenizer or its IDs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.recipe import is_size

if TYPE_CHECKING:
    from inspector.config import PositionEmbeddingConfig, SegmentEmbeddingConfig, TokenEmbeddingConfig
    from inspector.facts import Facts

    Layer = TokenEmbeddingConfig | PositionEmbeddingConfig | SegmentEmbeddingConfig

# Vocabulary sizes (and one padded) of published models that no context length has by chance.
_KNOWN_VOCABULARIES = frozenset(
    {
        *(50257, 50258, 50265, 50272, 50281, 50284, 50304),  # GPT-2 and its kin, RoBERTa, OPT
        *(28996, 30522, 40478, 21128, 119547),  # BERT, GPT
        *(32001, 32100, 32128, 65024, 100277, 100352, 128256, 151643, 151936, 152064, 200019, 250002, 250880),
    }
)
_LONG = 8192  # a table with more rows than this is hardly there for positions
_PADDING = 512  # a vocabulary is padded by fewer rows than this


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Which layers are not where or how they should be; at most one story at a time for each layer."""

    exchanged: bool = False
    token_transposed: bool = False
    position_transposed: bool = False


def arrangement(facts: Facts) -> Arrangement:
    """Return how the two layers and their arguments are arranged."""
    if _exchanged(facts):
        return Arrangement(exchanged=True)
    token = _token_transposed(facts)
    return Arrangement(token_transposed=token, position_transposed=_position_transposed(facts, token))


def intended_rows(facts: Facts) -> tuple[int | None, int | None]:
    """Return how many rows the token and the position table have once exchanges are undone; None where unknown."""
    arranged, position = arrangement(facts), facts.position_layer
    token_rows, token_width = facts.token_layer.num_embeddings, facts.token_layer.embedding_dim
    rows, width = (position.num_embeddings, position.embedding_dim) if position is not None else (None, None)
    if arranged.exchanged:
        token_rows, rows = rows, token_rows
    if arranged.token_transposed:
        token_rows = token_width
    if arranged.position_transposed:
        rows = width
    return int(token_rows or 0) if is_size(token_rows) else None, int(rows or 0) if is_size(rows) else None


# ---- exchanged layers ----------------------------------------------------------------------------------------------


def _exchanged(facts: Facts) -> bool:
    """Return whether each layer has the other's sizes: the vocabulary's rows lie in the position table."""
    rows, other = facts.token_layer.num_embeddings, facts.position_layer and facts.position_layer.num_embeddings
    if not (is_size(rows) and is_size(other)):
        return False
    rows, other = int(rows or 0), int(other or 0)
    if rows > other:
        return _short_vocabulary(facts, rows, other)
    if rows == other or (facts.n_vocab is not None and rows >= facts.n_vocab):
        return False
    needed = _needed_positions(facts)
    if needed > rows and other <= _LONG:  # the token table would not do for positions
        return False
    return _holds_vocabulary(facts, rows, other, needed) or _ids_tell(facts, rows, other, needed)


def _holds_vocabulary(facts: Facts, rows: int, other: int, needed: int) -> bool:
    """Return whether the position table is that of the whole vocabulary, also while all IDs happen to be small."""
    n_vocab, like_context = facts.n_vocab, _like_context(rows, needed)
    if n_vocab is None:
        return other in _KNOWN_VOCABULARIES and like_context
    if other == n_vocab:  # 256 is a vocabulary of bytes and a context length: then the token table must be one too
        return other > _LONG or not _is_power_of_two(other) or like_context
    if not n_vocab < other < n_vocab + _PADDING or other % 8 or (_is_power_of_two(other) and other <= _LONG):
        return False
    return n_vocab >= 2 * rows and n_vocab >= _PADDING and like_context


def _short_vocabulary(facts: Facts, rows: int, other: int) -> bool:
    """Return whether a vocabulary shorter than the context lies in the position table, which is too short for that."""
    needed = _needed_positions(facts)
    if facts.n_vocab != other or not other < needed <= rows:
        return False
    return rows == needed or (rows >= 2 * other and _is_power_of_two(rows))


def _ids_tell(facts: Facts, rows: int, other: int, needed: int) -> bool:
    """Return whether the IDs, too large for the token table, fit the position table and nothing else explains it."""
    largest = facts.max_id
    if largest is None or not rows <= largest < other or not _like_context(rows, needed):
        return False
    if facts.n_vocab is not None and other <= _LONG:
        return False
    if other > _LONG:
        return largest >= 2 * rows
    return not _like_context(other, needed) or (rows == needed and largest >= 2 * rows)


# ---- transposed arguments ------------------------------------------------------------------------------------------


def _token_transposed(facts: Facts) -> bool:
    """Return whether the token layer was given (width, vocabulary)."""
    sizes = _sizes(facts.token_layer)
    if sizes is None or sizes[0] == sizes[1] or 1 in sizes or facts.token_layer.project_to is not None:
        return False
    (rows, width), n_vocab = sizes, facts.n_vocab
    wanted = _wanted(facts, facts.position_layer, facts.config.segment_embedding)
    if width == wanted or n_vocab == rows:
        return False
    if n_vocab is not None and rows < n_vocab == width and (rows == wanted or not _like_width(width)):
        return True
    if n_vocab is not None and width < n_vocab <= rows:
        return False  # the rows do for the tokenizer, the width would not
    if facts.max_id is not None and facts.max_id >= width:
        return False
    # Both layers have the same "rows", which then are the width they share.
    position = _sizes(facts.position_layer)
    shared = facts.config.embedding_dim is None and position is not None and position[0] == rows != position[1]
    if rows != wanted and not (shared and (n_vocab == width or (facts.max_id or 0) >= rows)):
        return False
    return width > rows or n_vocab == width or (n_vocab is None and facts.max_id == width - 1)


def _position_transposed(facts: Facts, token_transposed: bool) -> bool:
    """Return whether the position layer was given (width, context length)."""
    sizes = _sizes(facts.position_layer)
    if sizes is None or sizes[0] == sizes[1] or 1 in sizes:
        return False
    rows, width = sizes
    wanted = _stated(facts)
    if wanted is None and token_transposed:
        wanted = int(facts.token_layer.num_embeddings or 0)
    elif wanted is None:
        wanted = int(facts.token_width or 0) if is_size(facts.token_width) else None
    if rows != wanted or width == wanted:
        return False
    needed = _needed_positions(facts)
    if needed > width or needed == rows:  # the rows are as many as positions need
        return False
    # (1024, 768) beside a width of 1024 is a context length of 1024 and a wrong width, not a context length of 768.
    return width == needed or not _is_power_of_two(rows) or _is_power_of_two(width)


def _wanted(facts: Facts, *others: Layer | None) -> int | None:
    """Return the width a layer should have: the stated one, else that of another layer; None where nobody knows."""
    widths = (sizes[1] for sizes in map(_sizes, others) if sizes)
    stated = _stated(facts)
    return next(widths, None) if stated is None else stated


def _stated(facts: Facts) -> int | None:
    return facts.config.embedding_dim if is_size(facts.config.embedding_dim) else None


# ---- what sizes look like ------------------------------------------------------------------------------------------


def _sizes(layer: Layer | None) -> tuple[int, int] | None:
    """Return a layer's rows and width, where both are sound."""
    if layer is None or not (is_size(layer.num_embeddings) and is_size(layer.embedding_dim)):
        return None
    return int(layer.num_embeddings or 0), int(layer.embedding_dim or 0)


def _needed_positions(facts: Facts) -> int:
    """Return how many rows the position table needs; as many as the loader's windows before there is a batch."""
    if facts.last_position_row is not None:
        return facts.last_position_row + 1
    length = facts.config.loader.max_length
    if facts.position_layer is None or not isinstance(length, int) or facts.given is not None:
        return 1
    return facts.position_layer.offset + facts.config.past_length + length


def _like_context(rows: int, needed: int) -> bool:
    """Return whether a number of rows looks like a context length: just enough, or a power of two and skipped rows."""
    return rows == needed or _is_power_of_two(rows) or (rows > 4 and _is_power_of_two(rows - 2))


def _like_width(number: int) -> bool:
    return (number % 64 == 0 and number <= 2 * _LONG) or _is_power_of_two(number)


def _is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0
