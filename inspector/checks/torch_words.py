"""What PyTorch says when layers of sound sizes are built, looked up and added, from the numbers alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.recipe import is_padding_idx, is_size

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inspector.facts import Facts

INDEX_ERROR = "IndexError: index out of range in self"
PADDING_ERROR = "AssertionError: Padding_idx must be within num_embeddings"
SUM_ERROR = "RuntimeError: The size of tensor a ({}) must match the size of tensor b ({}) at non-singleton dimension 2"


def of_token_ids(facts: Facts) -> str:
    """Return what is said of a token ID without a row.

    With max_norm rows are rewritten before they are read, and that counts a negative ID from the end.
    """
    rows = facts.token_layer.num_embeddings
    if facts.token_layer.max_norm is None or not is_size(rows):
        return INDEX_ERROR
    beyond = any(not -int(rows or 0) <= i < int(rows or 0) for line in facts.batch or () for i in line)
    return "IndexError: select(): index" if beyond else INDEX_ERROR


def of_sum(widths: Iterable[object]) -> str:
    """Return what is said when rows of these widths are added one after the other."""
    sizes = [int(w) for w in widths if isinstance(w, int)]
    summed = sizes[0] if sizes else 0
    for size in sizes[1:]:
        if size != summed and 1 not in (size, summed):
            return SUM_ERROR.format(summed, size)
        summed = size if summed == 1 else summed
    if any(size != summed for size in sizes):
        return "no error: a width of 1 is added to every dimension"
    return f"no error, but the sum is {summed} wide"


def widths(facts: Facts) -> list[object]:
    """Return the widths that meet at the sum, as they were stated."""
    position, segment = facts.position_layer, facts.config.segment_embedding
    return [facts.token_width, *(layer.embedding_dim for layer in (position, segment) if layer is not None)]


def of_layers(facts: Facts) -> str:
    """Return what is said of layers whose sizes are sound, in the order in which PyTorch meets them."""
    token, position, segment = facts.token_layer, facts.position_layer, facts.config.segment_embedding
    for layer in (token, position):
        if layer is not None and not is_padding_idx(layer.padding_idx, int(layer.num_embeddings or 0)):
            return PADDING_ERROR
    if facts.max_id is not None and facts.max_id >= int(token.num_embeddings or 0):
        return of_token_ids(facts)
    last = facts.last_position_row
    if position is not None and last is not None and is_size(position.num_embeddings):
        first = facts.first_position_row or 0
        if first < 0 or last >= int(position.num_embeddings or 0):
            return INDEX_ERROR
    rows = segment.num_embeddings if segment is not None else None
    if segment is not None and is_size(rows) and not 0 <= segment.max_id < int(rows or 0):
        return INDEX_ERROR
    return of_sum(widths(facts))
