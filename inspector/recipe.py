"""What it takes to build the layers again, bit for bit: a value to compare and to key by, without torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inspector.config import InputConfig, PositionEmbeddingConfig, TokenEmbeddingConfig

ITEM_SIZES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}


@dataclass(frozen=True, slots=True)
class Recipe:
    """Two constructors and the seed set immediately before them; the token layer is built first.

    A layer is None where its constructor cannot work or the model has none. `offset` plays no part in a constructor,
    nor does `project_to`; two inspections that differ only there share their layers.
    """

    token: LayerRecipe | None
    position: LayerRecipe | None
    seed: int

    @classmethod
    def of(cls, config: InputConfig) -> Recipe:
        """Return the recipe of an inspection whose sizes are filled in."""
        return cls(_layer(config.token_embedding), _layer(config.position_embedding), config.seed)

    @property
    def nbytes(self) -> int:
        """How many bytes the tables take."""
        return sum(layer.nbytes for layer in (self.token, self.position) if layer)


@dataclass(frozen=True, slots=True)
class LayerRecipe:
    """`nn.Embedding(num_embeddings, embedding_dim, padding_idx, max_norm, dtype)`, all of them sound."""

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None
    max_norm: float | None
    dtype: str

    @property
    def nbytes(self) -> int:
        """How many bytes the table takes."""
        return self.num_embeddings * self.embedding_dim * ITEM_SIZES[self.dtype]


def is_size(value: object) -> bool:
    """Return whether a constructor makes a usable table of this size: a whole number from 1 that fits 64 bits."""
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 2**63


def is_padding_idx(value: int | None, rows: int) -> bool:
    """Return whether nn.Embedding takes this padding_idx: none, or from -rows to rows - 1."""
    return value is None or -rows <= value < rows


def _layer(config: TokenEmbeddingConfig | PositionEmbeddingConfig | None) -> LayerRecipe | None:
    if config is None:
        return None
    rows, width = config.num_embeddings, config.embedding_dim
    if not (is_size(rows) and is_size(width) and config.dtype in ITEM_SIZES):
        return None
    rows, width = int(rows or 0), int(width or 0)
    if rows * width >= 2**60 or not is_padding_idx(config.padding_idx, rows):
        return None
    return LayerRecipe(rows, width, config.padding_idx, getattr(config, "max_norm", None), config.dtype)
