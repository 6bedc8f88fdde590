"""Arguments in the wrong order and layers in each other's place: recognised before anything else about sizes.

Both would otherwise look like a small vocabulary, a wrong width or a short position table: one cause, several blames.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.recipe import is_size

if TYPE_CHECKING:
    from inspector.facts import Facts


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
    return Arrangement(
        token_transposed=_token_transposed(facts),
        position_transposed=_position_transposed(facts),
    )


def _exchanged(facts: Facts) -> bool:
    """Return whether each layer has the other's sizes: the vocabulary's rows lie in the position table."""
    token, position = facts.token_layer, facts.position_layer
    if position is None or not (is_size(token.num_embeddings) and is_size(position.num_embeddings)):
        return False
    rows, other = int(token.num_embeddings or 0), int(position.num_embeddings or 0)
    if rows >= other:
        return False
    if facts.n_vocab is not None:
        return rows < facts.n_vocab == other
    # Nobody knows the vocabulary: the token table has exactly the rows that positions need, and too few for the IDs,
    # all of which the position table would hold.
    needed = _needed_positions(facts)
    return facts.max_id is not None and rows == needed and rows <= facts.max_id < other


def _token_transposed(facts: Facts) -> bool:
    """Return whether the token layer was given (width, vocabulary)."""
    token = facts.token_layer
    rows, width = token.num_embeddings, token.embedding_dim
    if not (is_size(rows) and is_size(width)) or rows == width:
        return False
    rows, width = int(rows or 0), int(width or 0)
    if facts.n_vocab is not None and width == facts.n_vocab and rows < width:
        return token.project_to is None
    wanted = facts.config.embedding_dim
    if wanted is None and facts.position_layer is not None:
        wanted = _wanted_width(facts)
    holds_ids = facts.max_id is None or facts.max_id < width
    return rows == wanted != facts.token_width and width > rows and holds_ids


def _wanted_width(facts: Facts) -> int | None:
    """Return the width the position layer stands for, where nobody stated one: its rows, if it is transposed too."""
    position = facts.position_layer
    if position is None or not is_size(position.embedding_dim):
        return None
    return int(position.embedding_dim or 0)


def _position_transposed(facts: Facts) -> bool:
    """Return whether the position layer was given (width, context length)."""
    position = facts.position_layer
    if position is None:
        return False
    rows, width = position.num_embeddings, position.embedding_dim
    if not (is_size(rows) and is_size(width)) or rows == width:
        return False
    rows, width = int(rows or 0), int(width or 0)
    wanted = facts.config.embedding_dim
    if wanted is None and is_size(facts.token_width):
        wanted = facts.token_layer.num_embeddings if _token_transposed(facts) else int(facts.token_width or 0)  # type: ignore[assignment]
    if rows != wanted or width == wanted:
        return False
    needed = _needed_positions(facts)
    if needed is None or needed > width:
        return False
    # (1024, 768) beside a width of 1024 is a context length of 1024 and a wrong width, not a context length of 768.
    return width == needed or not _is_power_of_two(rows) or _is_power_of_two(width)


def _needed_positions(facts: Facts) -> int | None:
    """Return how many rows the position table needs; the window's length before there is a batch."""
    if facts.last_position_row is not None:
        return facts.last_position_row + 1
    length = facts.config.loader.max_length
    if facts.position_layer is None or not isinstance(length, int):
        return None
    return facts.position_layer.offset + facts.config.past_length + length


def _is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0
