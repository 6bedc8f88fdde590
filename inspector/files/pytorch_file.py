"""State dicts that `torch.save` wrote, alone or wrapped in what a training script keeps beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.files.checkpoint import Checkpoint
from inspector.files.dtypes import ITEM_SIZES
from inspector.files.formats import HEAD, file_format
from inspector.files.pickle_values import Stored
from inspector.files.plain_table import PlainTable
from inspector.files.shard_names import shards_of
from inspector.files.shown import shown
from inspector.files.source import Source
from inspector.files.tensors import TensorInfo
from inspector.files.torch_archive import (
    PICKLE_MAGIC,
    ZIP_MAGIC,
    is_legacy,
    read_bare_pickle,
    read_legacy,
    read_zip,
)
from inspector.trouble import FileTrouble, Trouble

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from inspector.files.torch_archive import Archive

    _Mapping = dict[Any, Any]

# Under which names training scripts keep the state dict, and what the model was built with.
_WEIGHTS = ("model", "state_dict", "model_state_dict", "module")
_SETTINGS = ("model_args", "hyper_parameters", "config", "args", "hparams")
_DEPTH = 3  # mappings within mappings


def _score(path: Path, head: bytes) -> float:
    if is_legacy(head):
        return 1.0
    if head.startswith(ZIP_MAGIC):
        return 0.8
    return 0.3 if head.startswith(PICKLE_MAGIC) else 0.0


@file_format("PyTorch", (".pt", ".pth", ".bin", ".ckpt"), _score)
def open_pytorch(path: Path, config: Mapping[str, Any]) -> Checkpoint:
    """Open a file that `torch.save` wrote: its pickle is read, and nothing else.

    Raises:
        FileTrouble: the file is broken, needs code, or holds no state dict.
    """
    source = Source(path)
    archive = _archive(source)
    tables = [_table(source, archive, name, stored) for name, stored in _state_dict(source, archive.root)]
    return Checkpoint(path, "PyTorch", tables, _settings(archive.root), shards_of(path))


def _archive(source: Source) -> Archive:
    head = source.begins(HEAD)
    if head.startswith(ZIP_MAGIC):
        return read_zip(source)
    if is_legacy(head):
        return read_legacy(source)
    if head.startswith(PICKLE_MAGIC):
        return read_bare_pickle(source)
    raise _no_state_dict(source, f"does not begin as a file of torch.save does, but with {shown(head[:16])}")


def _state_dict(source: Source, root: Any) -> Iterator[tuple[str, Stored]]:
    """Return the tensors of the state dict, by name."""
    if isinstance(root, Stored):
        raise _no_state_dict(source, "holds a single tensor, not the state dict of a model")
    if not isinstance(root, dict):
        raise _no_state_dict(source, "holds something other than the state dict of a model")
    found = _weights(root, _DEPTH, {})
    if found is None:
        raise _no_state_dict(source, "holds no tensor of two axes, so no table of a model")
    return _tensors(found, "", _DEPTH, set())


def _weights(mapping: _Mapping, depth: int, known: dict[int, _Mapping | None]) -> _Mapping | None:
    """Return the mapping that is the state dict: under a usual name, else this one, else the only one in it.

    `known` has the answers so far by identity: a damaged pickle may hold one mapping in a million places.
    """
    if id(mapping) in known:
        return known[id(mapping)]
    known[id(mapping)] = None
    inners = [(k, v) for k, v in mapping.items() if isinstance(k, str) and isinstance(v, dict)] if depth else []
    holding = {name: found for name, inner in inners if (found := _weights(inner, depth - 1, known)) is not None}
    usual = next((holding[name] for name in _WEIGHTS if name in holding), None)
    chosen: _Mapping | None
    if usual is not None:
        chosen = usual
    elif any(_is_table(value) for value in mapping.values()) or len(holding) > 1:
        chosen = mapping  # holding several: each layer's state dict by itself, which together are the model's
    else:
        chosen = next(iter(holding.values()), None)
    known[id(mapping)] = chosen
    return chosen


def _tensors(mapping: _Mapping, prefix: str, depth: int, seen: set[int]) -> Iterator[tuple[str, Stored]]:
    seen.add(id(mapping))
    for name, value in mapping.items():
        if isinstance(name, str) and isinstance(value, Stored):
            yield prefix + name, value
        elif isinstance(name, str) and isinstance(value, dict) and depth and id(value) not in seen:
            yield from _tensors(value, f"{prefix}{name}.", depth - 1, seen)


def _is_table(value: Any) -> bool:
    return isinstance(value, Stored) and len(value.shape) >= 2


def _table(source: Source, archive: Archive, name: str, stored: Stored) -> PlainTable:
    place = archive.places.get(stored.storage.key)
    last = stored.offset + sum((size - 1) * stride for size, stride in zip(stored.shape, stored.strides, strict=True))
    needed = 0 if 0 in stored.shape else (last + 1) * ITEM_SIZES[stored.dtype]
    if needed and (place is None or needed > place.nbytes):
        raise FileTrouble(
            Trouble.NOT_RECOGNISED,
            source.path,
            f"is damaged: tensor {shown(name)} of shape {shown(stored.shape)} does not lie within its storage",
            "save or download it again",
        )
    item = ITEM_SIZES[stored.dtype]
    offset = (place.offset if place else 0) + stored.offset * item
    return PlainTable(source, TensorInfo(name, stored.shape, stored.dtype), offset, stored.strides)


def _settings(root: Any) -> dict[str, Any]:
    """Return what the model was built with: the plain values that lie beside its weights."""
    kept: _Mapping = next((root[name] for name in _SETTINGS if isinstance(root.get(name), dict)), {})
    return {k: v for k, v in kept.items() if isinstance(k, str) and isinstance(v, str | int | float | None)}


def _no_state_dict(source: Source, why: str) -> FileTrouble:
    return FileTrouble(Trouble.NOT_RECOGNISED, source.path, why, "save one with torch.save(model.state_dict(), path)")
