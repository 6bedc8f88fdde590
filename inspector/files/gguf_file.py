"""GGUF, whose quantised tables the `gguf` package decodes by the row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.files.checkpoint import Checkpoint
from inspector.files.coded_table import CodedTable, UnreadTable
from inspector.files.dtypes import ITEM_SIZES
from inspector.files.formats import file_format
from inspector.files.gguf_header import MAGIC, read_header
from inspector.files.plain_table import PlainTable
from inspector.files.shard_names import shards_of
from inspector.files.shown import shown
from inspector.files.source import Source
from inspector.files.tensors import TensorInfo
from inspector.trouble import FileTrouble, Trouble

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from torch import Tensor

    from inspector.files.checkpoint import Table
    from inspector.files.gguf_header import Declared

# Types whose values lie in the file as they are: known here, so that a file without others needs no package.
_PLAIN = {
    0: "float32",
    1: "float16",
    24: "int8",
    25: "int16",
    26: "int32",
    27: "int64",
    28: "float64",
    30: "bfloat16",
}


class _Quantisation(NamedTuple):
    """A quantised type: its number and name, the values of a block, the bytes it takes."""

    kind: int
    name: str
    values: int
    nbytes: int


class QuantisedTable(CodedTable):
    """A table of blocks of codes."""

    def __init__(self, source: Source, declared: Declared, quantisation: _Quantisation) -> None:
        super().__init__(source, TensorInfo(declared.name, declared.shape, quantisation.name, quantised=True))
        blocks = declared.shape[-1] // quantisation.values
        shape = (*declared.shape[:-1], blocks * quantisation.nbytes)
        self._codes = PlainTable(source, TensorInfo(declared.name, shape, "uint8"), declared.offset)
        self._quantisation = quantisation

    def decode(self, indices: Sequence[int]) -> Tensor:
        """Return rows, (indices, width), as float32."""
        import numpy as np
        import torch
        from gguf import GGMLQuantizationType
        from gguf.quants import dequantize

        codes = np.frombuffer(self._codes.raw_rows(indices), np.uint8).reshape(len(indices), -1)
        try:
            with np.errstate(all="ignore"):  # a damaged scale makes rows that are not finite, which the checks tell of
                values = dequantize(codes, GGMLQuantizationType(self._quantisation.kind))
        except NotImplementedError:
            UnreadTable(self.source, self.info).decode(indices)
            raise
        return torch.from_numpy(values)


def _score(path: Path, head: bytes) -> float:
    return 1.0 if head.startswith(MAGIC) else 0.0


@file_format("GGUF", (".gguf",), _score)
def open_gguf(path: Path, config: Mapping[str, Any]) -> Checkpoint:
    """Open a GGUF file: its header is read, and nothing else.

    Raises:
        FileTrouble: the file is broken, or the package that knows its types is not installed.
    """
    source = Source(path)
    header = read_header(source)
    return Checkpoint(path, "GGUF", [_table(source, d) for d in header.tensors], header.settings, shards_of(path))


def _table(source: Source, declared: Declared) -> Table:
    plain = _PLAIN.get(declared.kind)
    if plain is not None:
        _require_inside(source, declared, ITEM_SIZES[plain], 1)
        return PlainTable(source, TensorInfo(declared.name, declared.shape, plain), declared.offset)
    quantisation = _quantisation(source, declared)
    if not declared.shape or declared.shape[-1] % quantisation.values:
        raise _broken(source, declared, f"is not made of blocks of {quantisation.values} values")
    _require_inside(source, declared, quantisation.nbytes, quantisation.values)
    return QuantisedTable(source, declared, quantisation)


def _quantisation(source: Source, declared: Declared) -> _Quantisation:
    try:
        from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
    except ModuleNotFoundError as error:
        raise FileTrouble(
            Trouble.NOT_RECOGNISED,
            source.path,
            "holds quantised tensors, which the package gguf decodes, and that is not installed",
            "pip install gguf",
        ) from error
    try:
        kind = GGMLQuantizationType(declared.kind)
        return _Quantisation(declared.kind, kind.name, *GGML_QUANT_SIZES[kind])
    except (ValueError, KeyError) as error:
        raise _broken(source, declared, f"is of type {declared.kind}, which the package gguf does not know") from error


def _require_inside(source: Source, declared: Declared, nbytes: int, values: int) -> None:
    """Refuse a tensor that does not lie in the file; `nbytes` hold `values` values."""
    count = 1
    for size in declared.shape:
        count *= size
    end = declared.offset + count // values * nbytes
    if end <= source.size:
        return
    if end > 2**63:
        raise _broken(source, declared, "would be larger than any file")
    raise FileTrouble(
        Trouble.TRUNCATED,
        source.path,
        f"ends after {source.size:,} bytes, where {shown(declared.name)} goes on to byte {end:,}",
        "save or download it again",
    )


def _broken(source: Source, declared: Declared, what: str) -> FileTrouble:
    return FileTrouble(
        Trouble.NOT_RECOGNISED,
        source.path,
        f"declares {shown(declared.name)} of shape {shown(declared.shape)}, which {what}",
        "convert it again with an up-to-date converter",
    )
