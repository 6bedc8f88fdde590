"""What a person stated: frozen values of the inspection file, described and never judged.

A value here may be wrong (a negative size, a width that fits nothing): only `inspector.checks` judges.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

Number = int | float

DEFAULT_TOKEN_ROWS = 50257
DEFAULT_POSITION_ROWS = 4
DEFAULT_EMBEDDING_DIM = 256


@dataclass(frozen=True, slots=True)
class TokenizerConfig:
    """The tokenizer the IDs come from.

    `encoding` None is a tokenizer we do not have, of `n_vocab` entries (largest ID + 1), or unknown when that is None
    too. `special_tokens` says what becomes of a special token's text: "special", "plain" or "refuse".
    """

    encoding: str | None = "gpt2"
    n_vocab: int | None = None
    special_tokens: str = "plain"


@dataclass(frozen=True, slots=True)
class LoaderConfig:
    """Arguments of the course's data loader; `seed` is given to `torch.manual_seed` right before it is iterated."""

    batch_size: Number = 8
    max_length: Number = 4
    stride: Number = 4
    shuffle: bool = False
    drop_last: bool = True
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class TokenEmbeddingConfig:
    """Arguments of the token layer's constructor; a size that is None was not stated."""

    num_embeddings: Number | None = None
    embedding_dim: Number | None = None
    padding_idx: int | None = None
    max_norm: float | None = None
    dtype: str = "float32"
    project_to: int | None = None


@dataclass(frozen=True, slots=True)
class PositionEmbeddingConfig:
    """Arguments of the position layer's constructor; `offset` is how many of its rows positions skip."""

    num_embeddings: Number | None = None
    embedding_dim: Number | None = None
    padding_idx: int | None = None
    offset: int = 0
    dtype: str = "float32"


@dataclass(frozen=True, slots=True)
class SegmentEmbeddingConfig:
    """Arguments of a BERT-like segment table, and the largest segment ID that is looked up in it."""

    num_embeddings: Number | None = 2
    embedding_dim: Number | None = None
    max_id: int = 0


@dataclass(frozen=True, slots=True)
class InputConfig:
    """One inspection: the source of the IDs, the loader, the layers. The keys are those of the inspection file.

    `checkpoint_tables` holds (role, tensor's name) of tables that the person chose in the checkpoint. `stated` holds
    the dotted names of what was written down rather than left at its default.
    """

    text: str | None = None
    text_file: str | None = None
    token_ids: tuple[Any, ...] | None = None
    token_ids_dtype: str = "int64"
    token_ids_file: str | None = None
    tokenizer: TokenizerConfig = field(default_factory=TokenizerConfig)
    loader: LoaderConfig = field(default_factory=LoaderConfig)
    embedding_dim: int | None = DEFAULT_EMBEDDING_DIM
    token_embedding: TokenEmbeddingConfig = field(default_factory=TokenEmbeddingConfig)
    position_embedding: PositionEmbeddingConfig | None = field(default_factory=PositionEmbeddingConfig)
    segment_embedding: SegmentEmbeddingConfig | None = None
    positions: tuple[Any, ...] | None = None
    past_length: int = 0
    checkpoint: str | None = None
    checkpoint_tables: tuple[tuple[str, str], ...] = ()
    seed: int = 123
    stated: frozenset[str] = frozenset()

    def is_stated(self, name: str) -> bool:
        """Return whether `name`, or anything inside it, was written down."""
        return any(s == name or s.startswith(f"{name}.") for s in self.stated)

    def value(self, name: str) -> Any:
        """Return the value of a dotted field such as "loader.stride"; None where its section is absent."""
        found: Any = self
        for part in name.split("."):
            if found is None:
                return None
            found = getattr(found, part)
        return found

    def with_values(self, changes: Mapping[str, Any]) -> InputConfig:
        """Return a copy with dotted fields changed: `{"loader.stride": 2, "seed": 1}`.

        A field of an absent section (no position table, say) brings the section with it.

        Raises:
            AttributeError: there is no such field.
        """
        config = self
        for name, value in changes.items():
            section, _, inner = name.partition(".")
            if inner:
                before = getattr(config, section)
                before = _SECTIONS[section]() if before is None else before
                if inner not in {f.name for f in fields(before)}:
                    raise AttributeError(name)
                value = replace(before, **{inner: value})
            elif section not in {f.name for f in fields(config)} - {"stated"}:
                raise AttributeError(name)
            config = replace(config, **{section: value}, stated=config.stated | {name})
        return config

    def resolved(self) -> InputConfig:
        """Return a copy in which every size that was not stated has the value it takes by default."""
        width = DEFAULT_EMBEDDING_DIM if self.embedding_dim is None else self.embedding_dim
        position, segment = self.position_embedding, self.segment_embedding
        return replace(
            self,
            token_embedding=_filled(self.token_embedding, DEFAULT_TOKEN_ROWS, width),
            position_embedding=position and _filled(position, DEFAULT_POSITION_ROWS, width),
            segment_embedding=segment and _filled(segment, 2, width),
        )


_Layer = TypeVar("_Layer", TokenEmbeddingConfig, PositionEmbeddingConfig, SegmentEmbeddingConfig)

_SECTIONS: dict[str, type[Any]] = {
    "tokenizer": TokenizerConfig,
    "loader": LoaderConfig,
    "token_embedding": TokenEmbeddingConfig,
    "position_embedding": PositionEmbeddingConfig,
    "segment_embedding": SegmentEmbeddingConfig,
}


def section_types() -> dict[str, type[Any]]:
    """Return the value class of each nested object of the inspection file, by key."""
    return dict(_SECTIONS)


def _filled(layer: _Layer, rows: int, width: int) -> _Layer:
    return replace(
        layer,
        num_embeddings=rows if layer.num_embeddings is None else layer.num_embeddings,
        embedding_dim=width if layer.embedding_dim is None else layer.embedding_dim,
    )
