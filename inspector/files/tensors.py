"""What a checkpoint of any format looks like to the rest of the program: named tensors, read a few rows at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from torch import Tensor


class TensorInfo(NamedTuple):
    """A tensor as its file declares it.

    `shape` is that of its values: of a quantised table, what it has after dequantisation. `dtype` is torch's name
    ("bfloat16", "float8_e4m3fn"), or the quantisation's ("Q4_K", "4-bit, groups of 64"), and `quantised` says which.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    quantised: bool = False


@dataclass(frozen=True, slots=True)
class Shards:
    """Which of several files these tensors came from: `present` of `expected` files were there.

    `missing` names the tensors that an index promises and that no file present holds, each with the file it should be
    in. It is empty without an index: one shard opened alone does not know what the others hold.
    """

    present: int = 1
    expected: int = 1
    missing: Mapping[str, str] = field(default_factory=dict)


class TensorFile(Protocol):
    """An open checkpoint. Opening it read its header alone; values are read when rows are asked for.

    Attributes:
        path: the file, or the folder or index it was reached through.
        format: its name for people: "safetensors", "PyTorch", "GGUF".
        tensors: what it declares, by name.
        settings: what the file itself says of the model (nanoGPT's `model_args`, GGUF's keys), else empty.
        shards: which part of a sharded checkpoint it is.
    """

    path: Path
    format: str
    tensors: Mapping[str, TensorInfo]
    settings: Mapping[str, Any]
    shards: Shards

    def rows(self, name: str, indices: Sequence[int]) -> Tensor:
        """Return rows of a tensor of two axes, (indices, width), in the stored dtype (float32 once dequantised).

        Only these rows are read. Axes of size 1 before the last two do not count: (1, T, width) has T rows.

        Raises:
            FileTrouble: the file was changed, cut or taken away since it was opened, its values are of a kind that
                cannot be read, or the rows do not fit in memory.
            KeyError: there is no such tensor.
            IndexError: there is no such row.
            ValueError: the tensor has not two axes.
        """
        ...

    def columns(self, name: str, indices: Sequence[int]) -> Tensor:
        """Return columns of a tensor of two axes as rows, (indices, height): rows of a table stored transposed.

        Raises:
            FileTrouble, KeyError, IndexError, ValueError: as of `rows`.
        """
        ...

    def not_finite(self, name: str, indices: Sequence[int]) -> list[int]:
        """Return which of these rows hold NaN or infinity, without torch where the file needs none.

        Only tables whose values lie row by row as they are can be asked; of others none is returned.

        Raises:
            FileTrouble: as of `rows`.
        """
        ...

    def close(self) -> None:
        """Let go of the file."""
        ...


@dataclass(frozen=True, slots=True)
class Opened:
    """A checkpoint and what lies beside it: its `config.json`, its tokenizer's file; each empty or None if absent.

    `path` is what the person named. `notes` are sentences about what lay beside the file and was left aside.
    """

    path: Path
    file: TensorFile
    config: Mapping[str, Any] = field(default_factory=dict)
    tokenizer: Path | None = None
    notes: tuple[str, ...] = ()
