"""A checkpoint beside an inspection: which tables it has, and what the inspection becomes with them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from inspector import files
from inspector.config import InputConfig, SegmentEmbeddingConfig
from inspector.files import tables
from inspector.recipe import ITEM_SIZES, SECTIONS, Role, StoredTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inspector.files.tables import Found, FoundTable, Settings
    from inspector.files.tensors import Opened


def beside(config: InputConfig, path: str | None) -> InputConfig:
    """Return the inspection with another checkpoint, or with none, and no size stated: they come from the file.

    The text, the loader and the tokenizer stay.
    """
    usual = InputConfig()
    unstated = (*SECTIONS.values(), "embedding_dim", "checkpoint", "checkpoint_tables")
    kept = {name for name in config.stated if name.partition(".")[0] not in unstated}
    return replace(
        config,
        checkpoint=path,
        stated=frozenset(kept | {"checkpoint"} if path else kept),
        checkpoint_tables=(),
        embedding_dim=usual.embedding_dim,
        token_embedding=usual.token_embedding,
        position_embedding=usual.position_embedding,
        segment_embedding=None,
    )


class Expected(NamedTuple):
    """What a layer's constructor is given, by whom; a size that nobody stated is None."""

    rows: int | float | None
    width: int | float | None
    source: str


@dataclass(frozen=True)
class Checkpoint:
    """An open checkpoint, the tables found in it, and what its configuration says of the model."""

    opened: Opened
    found: Found
    known: Settings

    @property
    def candidates(self) -> list[str]:
        """The names of all tensors that could be a table, those with telling names first."""
        return tables.candidates(self.opened.file.tensors)

    @property
    def stored(self) -> dict[Role, StoredTable]:
        """The tables whose rows can be looked up."""
        found = {role: self.found.table(role) for role in Role}
        return {
            role: StoredTable(str(self.opened.path), t.name, t.rows, t.width, t.dtype, t.transposed)
            for role, t in found.items()
            if t is not None and not t.empty
        }

    def filled(self, config: InputConfig) -> InputConfig:
        """Return the inspection with every size that it does not state as the file has it."""
        found, known = self.found, self.known
        token, position, segment = config.token_embedding, config.position_embedding, config.segment_embedding
        if found.token is not None and not found.token.empty:
            token = replace(
                token,
                num_embeddings=found.token.rows if token.num_embeddings is None else token.num_embeddings,
                embedding_dim=found.token.width if token.embedding_dim is None else token.embedding_dim,
                project_to=found.project_to if token.project_to is None else token.project_to,
                dtype=_dtype(found.token) if not config.is_stated("token_embedding.dtype") else token.dtype,
            )
        width = config.embedding_dim if config.is_stated("embedding_dim") else known.width
        if found.position is None or found.position.empty:
            position = position if config.is_stated("position_embedding") else None
            if position is not None and position.embedding_dim is None and width is None:
                position = replace(position, embedding_dim=token.project_to or token.embedding_dim)
        elif position is not None:
            position = replace(
                position,
                num_embeddings=found.position.rows if position.num_embeddings is None else position.num_embeddings,
                embedding_dim=found.position.width if position.embedding_dim is None else position.embedding_dim,
                offset=found.position.offset if not config.is_stated("position_embedding.offset") else position.offset,
                dtype=_dtype(found.position) if not config.is_stated("position_embedding.dtype") else position.dtype,
            )
        if found.segment is not None and not found.segment.empty and not config.is_stated("segment_embedding"):
            segment = SegmentEmbeddingConfig(found.segment.rows, found.segment.width)
        elif found.segment is not None and segment is not None:
            segment = replace(
                segment,
                num_embeddings=found.segment.rows if segment.num_embeddings is None else segment.num_embeddings,
                embedding_dim=found.segment.width if segment.embedding_dim is None else segment.embedding_dim,
            )
        return replace(
            config,
            token_embedding=token,
            position_embedding=position,
            segment_embedding=segment,
            embedding_dim=width,
        )

    def expected(self, role: Role, config: InputConfig) -> Expected:
        """Return what a layer's constructor is given: what the inspection states, else what the file's settings say."""
        layer, section = config.value(SECTIONS[role]), SECTIONS[role]
        if layer is None or not config.is_stated(section):
            return self._of_settings(role)
        stated = Expected(layer.num_embeddings, layer.embedding_dim, "the constructor was given")
        return stated if stated[:2] != (None, None) else self._of_settings(role)

    def _of_settings(self, role: Role) -> Expected:
        known, table = self.known, self.found.table(role)
        source = "config.json says" if self.opened.config else "the file's own settings say"
        if role is Role.TOKEN:
            width = known.token_width if self.found.project_to or known.token_width else known.width
            return Expected(known.vocab_size, width, source)
        if role is Role.SEGMENT:
            return Expected(known.segments, None, source)
        rows = known.positions
        if rows is not None and table is not None and table.rows == rows + table.offset:
            rows = table.rows  # some configurations count the rows that positions skip, some do not
        return Expected(rows, None, source)


def open_beside(path: str, n_vocab: int | None, chosen: Mapping[str, str]) -> Checkpoint:
    """Open a checkpoint and find its tables.

    Raises:
        FileTrouble: it cannot be used.
    """
    opened = files.open_checkpoint(Path(path))
    known = tables.settings(opened.file.settings, opened.config)
    return Checkpoint(
        opened,
        tables.find(
            opened.file.tensors, known, n_vocab=n_vocab, chosen={Role(role): name for role, name in chosen.items()}
        ),
        known,
    )


def _dtype(table: FoundTable) -> str:
    """Return the dtype whose arithmetic a table's rows have: float32 for what is widened or dequantised."""
    return table.dtype if table.dtype in ITEM_SIZES else "float32"
