"""Quantised tables in a safetensors file: MLX's, decoded by the row, and others, recognised and left undecoded.

MLX keeps `name.weight` as 32-bit words into which values of some bits are packed, low bits first and across word
borders, with a scale and a bias for each group of values along a row: value = scale * code + bias.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.files.coded_table import CodedTable, UnreadTable
from inspector.files.plain_table import PlainTable
from inspector.files.tensors import TensorInfo

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from torch import Tensor

    from inspector.files.checkpoint import Table
    from inspector.files.source import Source

_WORD = 32
_BITS = (4, 8, 6, 3, 5, 2)  # likeliest first
_GROUPS = (64, 32, 128)  # likewise
_CODES = ("uint32", "int8", "uint8", "float8_e4m3fn", "float8_e5m2")
_SCALES = (".SCB", ".absmax", "_scale", "_scale_inv")  # what other ways of quantising keep beside the codes


class _Packing(NamedTuple):
    bits: int
    group: int

    @property
    def name(self) -> str:
        return f"{self.bits}-bit, groups of {self.group}"


class PackedTable(CodedTable):
    """A table as MLX quantises it."""

    def __init__(self, source: Source, parts: tuple[PlainTable, PlainTable, PlainTable], packing: _Packing) -> None:
        """Describe the table.

        Args:
            source: the file.
            parts: the packed codes, the scales and the biases.
            packing: bits of a code, and codes that share a scale.
        """
        self._codes, self._scales, self._biases = parts
        self._packing = packing
        rows, groups = self._scales.info.shape
        shape = (rows, groups * packing.group)
        super().__init__(source, TensorInfo(self._codes.info.name, shape, packing.name, quantised=True))

    def decode(self, indices: Sequence[int]) -> Tensor:
        """Return rows, (indices, width), as float32."""
        import numpy as np
        import torch

        packed = np.frombuffer(self._codes.raw_rows(indices), np.uint8)
        bits = np.unpackbits(packed, bitorder="little").reshape(-1, self._packing.bits)  # (indices * width, bits)
        codes = bits @ (1 << np.arange(self._packing.bits, dtype=np.int64))  # (indices * width,)
        grouped = torch.from_numpy(codes).float().view(len(indices), -1, self._packing.group)
        scales = self._scales.rows(indices).float()[..., None]  # (indices, groups, 1)
        biases = self._biases.rows(indices).float()[..., None]  # (indices, groups, 1)
        return (grouped * scales + biases).flatten(1)


def packed_tables(source: Source, tables: Mapping[str, Table], config: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the tables of a file, its quantised ones each as the one table it stands for.

    Args:
        source: the file.
        tables: what it holds, by name.
        config: the configuration beside it, whose `quantization` says how its tables were packed.
    """
    parts: set[str] = set()
    packed: dict[str, Table] = {}
    for name in tables:
        stem = name.removesuffix(".weight")
        scales, biases = tables.get(f"{stem}.scales"), tables.get(f"{stem}.biases")
        if stem == name or tables[name].info.dtype != "uint32" or scales is None:
            continue
        table = _packed(source, tables, (tables[name], scales, biases), config)
        if table is not None:
            packed[name] = table
            parts |= {f"{stem}.scales", f"{stem}.biases"}
    for name, table in tables.items():
        if name in packed:
            yield packed[name]
        elif name in parts:
            continue
        elif table.info.dtype in _CODES and any(name + end in tables for end in _SCALES):
            yield UnreadTable(source, table.info._replace(dtype=f"scaled {table.info.dtype}", quantised=True))
        else:
            yield table


def _packed(
    source: Source, tables: Mapping[str, Table], parts: tuple[Table, Table, Table | None], config: Mapping[str, Any]
) -> Table | None:
    """Return the table that codes, scales and biases stand for; None where they do not belong together."""
    codes, scales, biases = parts
    if not isinstance(codes, PlainTable) or not isinstance(scales, PlainTable):
        return None
    if len(codes.info.shape) != 2 or len(scales.info.shape) != 2 or 0 in codes.info.shape + scales.info.shape:
        return None
    if codes.info.shape[0] != scales.info.shape[0]:
        return None
    stated = _stated(codes.info.name.removesuffix(".weight"), config)
    if biases is None:
        # Formats without biases have codes that are not whole numbers: only the shape can be told.
        shape = (codes.info.shape[0], codes.info.shape[1] * _WORD // (stated.bits if stated else 4))
        return UnreadTable(source, TensorInfo(codes.info.name, shape, "packed, with scales alone", quantised=True))
    if not isinstance(biases, PlainTable) or biases.info.shape != scales.info.shape:
        return None
    packing = _packing(codes.info, scales.info, stated, tables)
    return packing and PackedTable(source, (codes, scales, biases), packing)


def _packing(
    codes: TensorInfo, scales: TensorInfo, stated: _Packing | None, tables: Mapping[str, Table]
) -> _Packing | None:
    """Return a packing that fits the shapes: as stated, else of a width other tensors have, else the likeliest."""
    likeliest = [_Packing(bits, group) for group in _GROUPS for bits in _BITS]
    bits_in_a_row = codes.shape[1] * _WORD
    if stated is not None:
        likeliest.insert(0, stated)
    fitting = [packing for packing in likeliest if scales.shape[1] * packing.group * packing.bits == bits_in_a_row]
    if stated in fitting:
        return stated
    vectors = {table.info.shape[0] for table in tables.values() if len(table.info.shape) == 1}
    known = [packing for packing in fitting if scales.shape[1] * packing.group in vectors]
    return next(iter(known + fitting), None)


def _stated(stem: str, config: Mapping[str, Any]) -> _Packing | None:
    """Return what a configuration says of a table's packing, of this table or of all of them."""
    whole = config.get("quantization")
    if not isinstance(whole, dict):
        return None
    own = whole.get(stem)
    said = {**whole, **own} if isinstance(own, dict) else whole
    bits, group = said.get("bits"), said.get("group_size")
    if type(bits) is int and type(group) is int and bits in _BITS and group > 0:
        return _Packing(bits, group)
    return None
