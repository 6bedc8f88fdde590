"""What the checks judge: one inspection's values, taken apart once, without torch, numpy or Qt."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from inspector import id_tensor, tokenizer
from inspector.config import InputConfig
from inspector.diagnosis import Cell
from inspector.material import Material
from inspector.recipe import Role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from inspector.batches import LoaderPlan
    from inspector.checkpoint import Checkpoint, Expected
    from inspector.config import PositionEmbeddingConfig, TokenEmbeddingConfig
    from inspector.files.text_files import TextStore
    from inspector.id_tensor import IdTensor
    from inspector.tokenizer import Tokens


@dataclass(frozen=True)
class Facts:
    """The facts of one inspection and one of its batches.

    `config` has every size filled in. `given` is a batch written down as IDs; `plan` is the
    loader's, None where its arguments make none or it plays no part. `batch` holds the (B, T) IDs of the batch that is
    looked up, None where there is none; `columns` is T, known even where the IDs themselves are unfit. `material` is
    what was read from outside the inspection. `stated` is the inspection as it was written, its sizes not filled in.
    """

    config: InputConfig
    given: IdTensor | None = None
    plan: LoaderPlan | None = None
    batch_index: int = 0
    batch: tuple[tuple[int, ...], ...] | None = None
    columns: int | None = None
    material: Material = field(default_factory=Material)
    stated: InputConfig = field(default_factory=InputConfig)

    @property
    def tokens(self) -> Tokens | TextStore | None:
        """A text's tokens; None for IDs that come from elsewhere."""
        return self.material.tokens

    @property
    def ids(self) -> Sequence[int] | None:
        """The IDs that the loader cuts into batches; None where a batch is given, or nothing could be read."""
        return self.material.ids

    @property
    def ids_whole(self) -> bool:
        """Whether a file's IDs are of a dtype that holds whole numbers; True without a file."""
        return self.material.id_file is None or self.material.id_file.whole

    @property
    def checkpoint(self) -> Checkpoint | None:
        """The open checkpoint beside the inspection."""
        return self.material.checkpoint

    @cached_property
    def expected(self) -> dict[Role, Expected]:
        """What each layer's constructor is given, to compare the checkpoint's tables with; empty without one."""
        checkpoint = self.checkpoint
        return {} if checkpoint is None else {role: checkpoint.expected(role, self.stated) for role in Role}

    def not_finite(self, role: Role, indices: Iterable[int]) -> list[int]:
        """Return which of these rows of a stored table hold NaN or infinity; none where the layers are constructed.

        Raises:
            FileTrouble: the file was changed or taken away.
        """
        table, file = (self.material.stored or {}).get(role), self.material.file
        if table is None or file is None or table.transposed:
            return []
        return file.not_finite(table.name, sorted({i for i in indices if 0 <= i < table.num_embeddings}))

    @property
    def knows_token_table(self) -> bool:
        """Whether the token layer's sizes are anybody's: a checkpoint without the table has not got the default's."""
        checkpoint = self.checkpoint
        return checkpoint is None or Role.TOKEN in checkpoint.stored or self.stated.is_stated("token_embedding")

    @property
    def token_layer(self) -> TokenEmbeddingConfig:
        """The token layer's constructor arguments."""
        return self.config.token_embedding

    @property
    def position_layer(self) -> PositionEmbeddingConfig | None:
        """The position layer's constructor arguments; None where the model has no position table."""
        return self.config.position_embedding

    @cached_property
    def n_vocab(self) -> int | None:
        """How many tokens the stated tokenizer has; None when nobody knows."""
        stated = self.config.tokenizer
        return tokenizer.known_size(stated.encoding, stated.n_vocab)

    @cached_property
    def max_id(self) -> int | None:
        """The batch's largest ID; None without a batch or any ID in it."""
        return max((i for row in self.batch for i in row), default=None) if self.batch else None

    @cached_property
    def positions(self) -> IdTensor | None:
        """The explicit positions, where the inspection gives them."""
        given = self.config.positions
        return None if given is None else id_tensor.tensor(given)

    @cached_property
    def last_position_row(self) -> int | None:
        """The largest row of the position table that is looked up; None without a batch or a position table."""
        layer = self.position_layer
        if layer is None or not self.columns:
            return None
        if self.positions is not None:
            return max((int(p) for p in self.positions.flat()), default=None)
        return layer.offset + self.config.past_length + self.columns - 1

    @cached_property
    def first_position_row(self) -> int | None:
        """The smallest row of the position table that is looked up; None without a batch or a position table."""
        layer = self.position_layer
        if layer is None or not self.columns:
            return None
        if self.positions is not None:
            return min((int(p) for p in self.positions.flat()), default=None)
        return layer.offset + self.config.past_length

    @property
    def token_width(self) -> int | float | None:
        """The width of a token's row when it reaches the sum: after the projection, where there is one."""
        layer = self.token_layer
        return layer.embedding_dim if layer.project_to is None else layer.project_to

    def cells(self, wanted: Callable[[int], bool]) -> list[Cell]:
        """Return the cells of the batch whose ID is wanted, row by row."""
        rows: Iterable[Iterable[int]] = self.batch or ()
        return [Cell(r, c) for r, row in enumerate(rows) for c, i in enumerate(row) if wanted(i)]

    def id_at(self, cell: Cell) -> int:
        """Return the ID in a cell of the batch."""
        assert self.batch is not None
        return self.batch[cell.row][cell.column]

    def describe_id(self, token_id: int) -> str:
        """Return an ID with its token's text, where we have it: `50085 (' donkey')`."""
        quoted = tokenizer.quoted(self.config.tokenizer.encoding, token_id)
        return str(token_id) if quoted is None else f"{token_id} ({quoted})"

    def position_cells(self, wanted: Callable[[int], bool]) -> Iterator[Cell]:
        """Yield the cells whose position row is wanted, for positions that count up from offset + past_length or are
        given as one list or one list a row.
        """
        if self.batch is None or self.position_layer is None:
            return
        first = self.position_layer.offset + self.config.past_length
        given: tuple[Any, ...] | None = None if self.positions is None else self.positions.values
        for r, row in enumerate(self.batch):
            for c in range(len(row)):
                if given is None:
                    position = first + c
                else:
                    line = given if not isinstance(given[0], tuple) else given[r if len(given) > 1 else 0]
                    position = line[c if len(line) > 1 else 0]
                if wanted(position):
                    yield Cell(r, c)
