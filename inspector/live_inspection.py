"""What was found in a live model: values, and rows that are copied from its tensors."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.files.tensors import Shards
from inspector.recipe import StoredTable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from inspector.config import InputConfig
    from inspector.diagnosis import Stage
    from inspector.files.tensors import TensorInfo
    from inspector.layers import Table
    from inspector.model_state import Held
    from inspector.recipe import Role


MODEL = "live model"  # what stands where a file's path would


class Raised(NamedTuple):
    """What a forward pass raised inside the input stage: where, and its own text."""

    stage: Stage
    text: str


@dataclass(frozen=True)
class LiveTable:
    """The rows of a tensor of a live model, copied when they are asked for."""

    held: Held

    @property
    def num_embeddings(self) -> int:
        """How many rows the table has."""
        return self.held.rows

    @property
    def embedding_dim(self) -> int:
        """How wide they are."""
        return self.held.tensor.shape[-1]

    def rows(self, ids: NDArray[np.int64]) -> Tensor:
        """Return rows as a look-up gives them, on the CPU."""
        import torch

        from inspector import layers

        layer = self.held.layer
        if layer is not None and layer.max_norm is not None:
            return layers.rows(layer, ids).cpu()
        table = self.held.tensor.detach().reshape(-1, self.embedding_dim)  # (num_embeddings, embedding_dim)
        return table[torch.as_tensor(ids, device=table.device)].cpu()  # (..., embedding_dim)


@dataclass(frozen=True)
class LiveInspection:
    """What was found in a live model.

    Attributes:
        config: the inspection that its layers make, every size stated.
        tables: the rows of each layer; a layer whose values cannot be read has none.
        names: what each layer is called in the model: `transformer.wte`.
        how: how the layers were found, a sentence.
        notes: what the model does that a look-up and a sum do not show, sentences.
        indices: the rows that each layer was really asked for, where a forward pass showed them.
        missing: why no token layer was found; None where one was.
        raised: what the forward pass raised inside the input stage.
    """

    config: InputConfig
    tables: Mapping[Role, Table] = field(default_factory=dict)
    names: Mapping[Role, str] = field(default_factory=dict)
    how: str = ""
    notes: tuple[str, ...] = ()
    indices: Mapping[Role, Tensor] = field(default_factory=dict)
    missing: str | None = None
    raised: Raised | None = None

    @property
    def stored(self) -> dict[Role, StoredTable]:
        """The layers as tables to look up in, by name."""
        return {
            role: StoredTable(MODEL, self.names[role], table.num_embeddings, table.embedding_dim, self._dtype(role))
            for role, table in self.tables.items()
        }

    @cached_property
    def file(self) -> LiveFile:
        """The model's tables, read as those of a file are."""
        return LiveFile(self)

    def _dtype(self, role: Role) -> str:
        return str(getattr(self.config.value(f"{role}_embedding"), "dtype", "float32"))


class LiveFile:
    """A live model's tables, read as those of a file are.

    Attributes are those of `inspector.files.tensors.TensorFile`.
    """

    def __init__(self, live: LiveInspection) -> None:
        self.path = Path(MODEL)
        self.format = MODEL
        self.tensors: Mapping[str, TensorInfo] = {}
        self.settings: Mapping[str, Any] = {}
        self.shards = Shards()
        self._tables = {live.names[role]: table for role, table in live.tables.items()}

    def rows(self, name: str, indices: Sequence[int]) -> Tensor:
        """Return copies of rows, (indices, width), in the stored dtype."""
        import numpy as np

        return self._tables[name].rows(np.array(indices, np.int64))

    def columns(self, name: str, indices: Sequence[int]) -> Tensor:
        """Raise: a live model's table is never transposed.

        Raises:
            ValueError: always.
        """
        raise ValueError(f"{name} is not stored transposed: {len(indices)} columns are no rows")

    def not_finite(self, name: str, indices: Sequence[int]) -> list[int]:
        """Return which of these rows hold NaN or infinity."""
        sound = self.rows(name, indices).isfinite().all(dim=-1).tolist()  # (indices,)
        return [index for index, is_sound in zip(indices, sound, strict=True) if not is_sound]

    def close(self) -> None:
        """Do nothing: the model is its owner's."""
