"""The real `nn.Embedding` layers, built bit for bit as a recipe says, and look-ups that never change them.

The only module that imports torch eagerly. It sets nothing global: neither the random state nor the threads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import psutil
import torch
from torch import nn
from torch.nn import functional

from inspector.recipe import ITEM_SIZES, LayerRecipe, StoredTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from inspector.files.tensors import TensorFile
    from inspector.recipe import Recipe

_BLOCK = 16  # values that torch's normal_ draws together on a CPU
_CHUNK = 2**18  # values filled between two looks at `cancelled`: 2 ms, 15 ms as float64
_KEPT_FREE = 0.1  # the part of free memory that stays free
_GIB = 2**30


class NotEnoughMemory(MemoryError):
    """What was asked for does not fit in the memory that is free."""


class Cancelled(Exception):
    """The layers are no longer wanted."""


class Table(Protocol):
    """Rows to look up, wherever they lie."""

    @property
    def num_embeddings(self) -> int:
        """How many rows there are."""

    @property
    def embedding_dim(self) -> int:
        """How wide they are."""

    def rows(self, ids: NDArray[np.int64]) -> Tensor:
        """Return copies of rows, (..., embedding_dim), in the table's dtype; all of the (...) IDs are in it."""


@dataclass(frozen=True)
class BuiltTable:
    """The rows of an `nn.Embedding`, which is never changed by looking at them."""

    layer: nn.Embedding

    @property
    def num_embeddings(self) -> int:
        """How many rows the layer has."""
        return self.layer.num_embeddings

    @property
    def embedding_dim(self) -> int:
        """How wide its rows are."""
        return self.layer.embedding_dim

    def rows(self, ids: NDArray[np.int64]) -> Tensor:
        """Return rows as the layer's forward gives them."""
        return rows(self.layer, ids)


_ADDED_IN = tuple(getattr(torch, name) for name in ITEM_SIZES)


@dataclass(frozen=True)
class FileTable:
    """The rows of a table in a checkpoint, of which only those asked for are read."""

    stored: StoredTable
    file: TensorFile

    @property
    def num_embeddings(self) -> int:
        """How many rows the table has."""
        return self.stored.num_embeddings

    @property
    def embedding_dim(self) -> int:
        """How wide its rows are."""
        return self.stored.embedding_dim

    def rows(self, ids: NDArray[np.int64]) -> Tensor:
        """Read rows.

        Raises:
            FileTrouble: the file was changed, cut or taken away since it was opened.
        """
        wanted, places = torch.unique(torch.as_tensor(ids), return_inverse=True)  # (unique,), (...)
        read = self.file.columns if self.stored.transposed else self.file.rows
        found = read(self.stored.name, wanted.tolist())  # (unique, embedding_dim)
        # Nothing is added in 8 bits or in whole numbers: such rows are widened first, which loses nothing of 8 bits.
        return found[places] if found.dtype in _ADDED_IN else found.float()[places]


@dataclass(frozen=True)
class Layers:
    """The tables of one recipe, None where the recipe has none, and the file that stored ones are read from."""

    recipe: Recipe
    token: Table | None
    position: Table | None
    segment: Table | None = None
    file: TensorFile | None = field(default=None, kw_only=True)

    @property
    def tables(self) -> tuple[Table | None, ...]:
        """The three of them, in the recipe's order."""
        return self.token, self.position, self.segment


def build(
    recipe: Recipe,
    progress: Callable[[float], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    file: TensorFile | None = None,
) -> Layers:
    """Build the layers that `torch.manual_seed(seed)` and the constructors give, bit for bit, without gradients.

    Args:
        recipe: the constructors' arguments and the seed.
        progress: is told the part that is done, rising to 1.0, after each chunk.
        cancelled: is asked before each chunk whether to stop.
        file: the checkpoint that holds the recipe's stored tables.

    Raises:
        NotEnoughMemory: the layers do not fit.
        Cancelled: `cancelled` said so.
    """
    require_memory(recipe.nbytes, "the layers take")
    # A generator of its own draws what the global one would, and cannot be disturbed by other threads.
    generator = torch.Generator().manual_seed(recipe.seed)
    total = sum(part.num_embeddings * part.embedding_dim for part in recipe.layers if isinstance(part, LayerRecipe))
    done = 0
    built: list[Table | None] = []
    for part in recipe.layers:
        if part is None:
            built.append(None)
            continue
        if isinstance(part, StoredTable):
            assert file is not None
            built.append(FileTable(part, file))
            continue
        table = _empty(part)  # (num_embeddings, embedding_dim)
        for chunk in _chunks(table):  # (values,)
            if cancelled is not None and cancelled():
                raise Cancelled
            chunk.normal_(generator=generator)
            done += chunk.numel()
            if progress is not None:
                progress(done / total)
        if part.padding_idx is not None:
            table[part.padding_idx] = 0
        built.append(BuiltTable(_frozen(table, part)))
    return Layers(recipe, *built, file=file)


def rows(layer: nn.Embedding, ids: NDArray[np.int64]) -> Tensor:
    """Look up rows as the layer's forward does, bit for bit, and leave the layer as it is.

    Args:
        layer: any embedding layer; its `max_norm` is honoured.
        ids: (...) IDs, all of them in the table.

    Returns:
        The rows, (..., embedding_dim), copied, in the table's dtype.
    """
    table = layer.weight.detach()  # (num_embeddings, embedding_dim)
    wanted = torch.tensor(ids, device=table.device)  # (...)
    if layer.max_norm is not None:
        # forward shrinks the rows it reads in place: let it shrink copies of them
        present, wanted = torch.unique(wanted, return_inverse=True)  # (unique,), (...)
        table = table[present]  # (unique, embedding_dim)
    return functional.embedding(wanted, table, max_norm=layer.max_norm, norm_type=layer.norm_type)


def widened(tensor: Tensor) -> NDArray[np.float32] | NDArray[np.float64]:
    """Return a tensor's values as an array: half types as float32, which holds each exactly, others as they are."""
    wide = tensor.float() if tensor.itemsize < torch.float32.itemsize else tensor
    array: NDArray[np.float32] | NDArray[np.float64] = wide.cpu().numpy()
    return array


def require_memory(nbytes: int, what: str) -> None:
    """Refuse what does not fit in memory.

    Args:
        nbytes: how many bytes are to be allocated.
        what: the beginning of the refusal: "the layers take".

    Raises:
        NotEnoughMemory: it does not fit, with a tenth of the free memory kept back.
    """
    free = psutil.virtual_memory().available
    if nbytes > free * (1 - _KEPT_FREE):
        raise NotEnoughMemory(f"{what} {nbytes / _GIB:.1f} GiB and {free / _GIB:.1f} GiB of memory is free")


def _empty(layer: LayerRecipe) -> Tensor:
    """Return an uninitialised table."""
    shape = (layer.num_embeddings, layer.embedding_dim)
    try:
        return torch.empty(shape, dtype=getattr(torch, layer.dtype))
    except RuntimeError as error:  # all that can fail here is the allocation: a limit of the process, say
        raise NotEnoughMemory(f"the system refused {layer.nbytes / _GIB:.1f} GiB of memory") from error


def _frozen(table: Tensor, layer: LayerRecipe) -> nn.Embedding:
    """Return the layer of a filled table, without filling it again."""
    made: nn.Embedding = nn.Embedding.from_pretrained(  # type: ignore[no-untyped-call]
        table, padding_idx=layer.padding_idx, max_norm=layer.max_norm
    )
    return made


def _chunks(table: Tensor) -> Iterator[Tensor]:
    """Yield flat views that cover a table and, filled one by one, get the values that one fill of the whole draws.

    torch draws in blocks of 16, a last incomplete block anew together with the values before it, and fewer than 16
    values in another way altogether: so chunks are whole blocks and the last chunk is at least one.
    """
    values = table.view(-1)  # (num_embeddings * embedding_dim,)
    start = 0
    while values.numel() - start >= _CHUNK + _BLOCK:
        yield values[start : start + _CHUNK]
        start += _CHUNK
    yield values[start:]
