"""What it takes to build the layers again, bit for bit: a value to compare and to key by, without torch."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.config import InputConfig, PositionEmbeddingConfig, SegmentEmbeddingConfig, TokenEmbeddingConfig

ITEM_SIZES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}


class Role(StrEnum):
    """What a table is for; the value is the word people read."""

    TOKEN = "token"
    POSITION = "position"
    SEGMENT = "segment"


# The inspection file's key of each layer.
SECTIONS = {
    Role.TOKEN: "token_embedding",
    Role.POSITION: "position_embedding",
    Role.SEGMENT: "segment_embedding",
}


@dataclass(frozen=True, slots=True)
class Recipe:
    """Where each layer's rows come from: a constructor, or a table in a file; None where there is no such layer.

    Constructors are called in this order right after the seed is set. `offset` and `project_to` play no part: two
    inspections that differ only there share their layers.
    """

    token: LayerRecipe | StoredTable | None
    position: LayerRecipe | StoredTable | None
    seed: int
    segment: LayerRecipe | StoredTable | None = None

    @classmethod
    def of(cls, config: InputConfig, stored: Mapping[Role, StoredTable] | None = None) -> Recipe:
        """Return the recipe of an inspection whose sizes are filled in.

        With `stored`, every row comes from these tables: what a file does not have is not made up.
        """
        if stored is not None:
            return cls(stored.get(Role.TOKEN), stored.get(Role.POSITION), config.seed, stored.get(Role.SEGMENT))
        return cls(
            _layer(config.token_embedding),
            _layer(config.position_embedding),
            config.seed,
            _layer(config.segment_embedding),
        )

    @property
    def layers(self) -> tuple[LayerRecipe | StoredTable | None, ...]:
        """The three of them, in the order of their construction."""
        return self.token, self.position, self.segment

    @property
    def nbytes(self) -> int:
        """How many bytes the constructed tables take; a stored table takes none until rows are read."""
        return sum(layer.nbytes for layer in self.layers if isinstance(layer, LayerRecipe))


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


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table in a checkpoint: `rows` is how many it has, `width` how wide they are, also where it lies transposed."""

    path: str
    name: str
    num_embeddings: int
    embedding_dim: int
    dtype: str
    transposed: bool = False


def is_size(value: object) -> bool:
    """Return whether a constructor makes a usable table of this size: a whole number from 1 that fits 64 bits."""
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 2**63


def is_padding_idx(value: int | None, rows: int) -> bool:
    """Return whether nn.Embedding takes this padding_idx: none, or from -rows to rows - 1."""
    return value is None or -rows <= value < rows


def _layer(
    config: TokenEmbeddingConfig | PositionEmbeddingConfig | SegmentEmbeddingConfig | None,
) -> LayerRecipe | None:
    if config is None:
        return None
    rows, width = config.num_embeddings, config.embedding_dim
    # A segment table has neither a dtype nor a padding row of its own.
    dtype, padding_idx = getattr(config, "dtype", "float32"), getattr(config, "padding_idx", None)
    if not (is_size(rows) and is_size(width) and dtype in ITEM_SIZES):
        return None
    rows, width = int(rows or 0), int(width or 0)
    if rows * width >= 2**60 or not is_padding_idx(padding_idx, rows):
        return None
    return LayerRecipe(rows, width, padding_idx, getattr(config, "max_norm", None), dtype)
