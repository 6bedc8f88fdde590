"""From what a live model looked up, or is named like, to the layers of an inspection."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.config import PositionEmbeddingConfig, SegmentEmbeddingConfig, TokenEmbeddingConfig
from inspector.files import names, tables
from inspector.files.tensors import TensorInfo
from inspector.recipe import Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from torch import Tensor, nn

    from inspector.config import InputConfig
    from inspector.look_ups import Source
    from inspector.model_state import Held

_MOST_SEGMENTS = 16  # rows of a segment table, where nothing in its name says what it is
_NAMES = {Role.POSITION: names.POSITION, Role.SEGMENT: names.SEGMENT}


@dataclass(frozen=True, slots=True)
class Part:
    """A table of a model's, and how it is used.

    `indices` are the rows that the model asked for, in the axes they were added along; None where no pass showed them.
    """

    held: Held
    indices: Tensor | None = None
    offset: int = 0
    project_to: int | None = None
    changes: tuple[str, ...] = ()


class Layers(NamedTuple):
    """The parts of a model's input stage, by role, and the tables that are added as well and have none."""

    parts: Mapping[Role, Part]
    others: Sequence[Held] = ()


# ---- by what was looked up ---------------------------------------------------------------------------------------


def by_look_ups(sources: Sequence[Source], token: Source, *, whole: bool) -> Layers:
    """Return the layers that a pass looked up.

    Args:
        sources: what it looked up, in order.
        token: which of them is the token table's.
        whole: whether the pass went through the input stage; if not, rows may not have come to their addition.
    """
    parts = {Role.TOKEN: _part(token)}
    others = []
    for source in sources:
        if source is token or source.held is token.held:
            continue
        role = _role(source, token)
        if source.is_added or (not whole and role is not None and _named(source.held.name) is role):
            if role is None or role in parts:
                others.append(source.held)
            else:
                parts[role] = _part(source)
    return Layers(parts, others)


def _part(source: Source) -> Part:
    indices, place = source.indices, source.place
    if place is not None and _count(place) == indices.numel():
        indices = indices.reshape(place)
    if source.is_added:
        return Part(source.held, indices, project_to=source.projected_to, changes=tuple(source.changes))
    # Of rows that nothing is added to only a scale is theirs: what else comes first belongs to what follows.
    return Part(source.held, indices, changes=tuple(source.changes[:1]) if source.changes[:1] == ["mul"] else ())


def _role(source: Source, token: Source) -> Role | None:
    """Return what added rows are for: by the table's name, else by how they were asked for."""
    named = _named(source.held.name)
    if named is not None:
        return named
    if source.of_ids:
        return None  # a second table of token rows
    asked = source.indices
    constant = (
        asked.numel() > 1 and asked.numel() == token.indices.numel() and bool((asked == asked.flatten()[0]).all())
    )
    return Role.SEGMENT if constant and source.held.rows <= _MOST_SEGMENTS else Role.POSITION


def _named(name: str) -> Role | None:
    for role, known in _NAMES.items():
        if any(name == k or name.endswith(f".{k}") for k in known):
            return role
    return None


def _count(shape: Iterable[int]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


# ---- by name -----------------------------------------------------------------------------------------------------


def by_names(model: nn.Module, state: Sequence[Held], n_vocab: int | None = None) -> Layers:
    """Return the layers whose names and shapes tell what they are; the only `nn.Embedding` is the token layer."""
    usable = {held.name: held for held in state if held.tensor.is_floating_point() and not _is_bag(model, held)}
    infos = {name: TensorInfo(name, tuple(h.tensor.shape), dtype_name(h.tensor)) for name, h in usable.items()}
    found = tables.find(infos, tables.settings(_settings(model)), n_vocab=n_vocab)
    parts: dict[Role, Part] = {}
    for role in Role:
        table = found.table(role)
        if table is not None and not table.tied and not table.empty:
            held = usable[table.name]
            parts[role] = Part(held, offset=_offset(held, table.offset) if role is Role.POSITION else 0)
    if Role.TOKEN in parts:
        parts[Role.TOKEN] = replace(parts[Role.TOKEN], project_to=found.project_to)
        return Layers(parts)
    layers = [held for held in usable.values() if held.layer is not None]
    return Layers({Role.TOKEN: Part(layers[0])}) if len(layers) == 1 else Layers({})


def _offset(held: Held, told: int) -> int:
    """Return how many rows positions skip: as the layer says itself, or a padding row in it."""
    own = getattr(held.layer, "offset", None)
    if isinstance(own, int):
        return own
    padding = None if held.layer is None else held.layer.padding_idx
    return told if told or padding is None else padding + 1


def _is_bag(model: nn.Module, held: Held) -> bool:
    from torch import nn

    return isinstance(model.get_submodule(held.name.rpartition(".")[0]), nn.EmbeddingBag)


def _settings(model: nn.Module) -> dict[str, Any]:
    """Return what the model's own configuration says: a dictionary, or an object with attributes."""
    config = getattr(model, "config", None)
    values = config if isinstance(config, dict) else getattr(config, "__dict__", {})
    kind = getattr(config, "model_type", None)  # a class's attribute where there is one
    values = values | {"model_type": kind} if isinstance(kind, str) else values
    return {k: v for k, v in values.items() if isinstance(k, str) and isinstance(v, str | int | dict)}


# ---- to an inspection --------------------------------------------------------------------------------------------


def configured(config: InputConfig, layers: Layers) -> InputConfig:
    """Return an inspection with a model's layers."""
    token, position, segment = (layers.parts.get(role) for role in (Role.TOKEN, Role.POSITION, Role.SEGMENT))
    assert token is not None
    layer = token.held.layer
    config = replace(
        config,
        token_embedding=TokenEmbeddingConfig(
            *_sizes(token.held),
            padding_idx=None if layer is None else layer.padding_idx,
            max_norm=None if layer is None else layer.max_norm,
            dtype=dtype_name(token.held.tensor),
            project_to=token.project_to,
        ),
        position_embedding=None,
        segment_embedding=None,
    )
    if segment is not None:
        config = replace(config, segment_embedding=SegmentEmbeddingConfig(*_sizes(segment.held), _extreme(segment)))
    if position is None:
        return config
    layer = position.held.layer
    offset, positions = position.offset, None
    if position.indices is not None:
        rows, columns = _batch_axes(token, config)
        offset, positions = consecutive(position.indices, rows, columns, position.held.rows)
    return replace(
        config,
        position_embedding=PositionEmbeddingConfig(
            *_sizes(position.held),
            padding_idx=None if layer is None else layer.padding_idx,
            offset=offset,
            dtype=dtype_name(position.held.tensor),
        ),
        positions=positions if config.positions is None else config.positions,
    )


def consecutive(indices: Tensor, rows: int, columns: int, table_rows: int) -> tuple[int, tuple[Any, ...] | None]:
    """Return where positions start that count up by one from column to column, else 0 and the positions themselves.

    Args:
        indices: the rows of the position table that were asked for.
        rows: how many the batch has.
        columns: how many the batch has.
        table_rows: how many the position table has.
    """
    import torch

    if indices.dim() == 1 and rows > 1 and len(indices) == rows * columns:
        indices = indices.reshape(rows, columns)
    while indices.dim() > 2 and indices.shape[0] == 1:
        indices = indices[0]
    last = indices.reshape(-1, indices.shape[-1]) if indices.dim() else indices.reshape(1, 1)  # (lines, positions)
    first = int(last[0, 0]) if last.numel() else 0
    up = bool((last == first + torch.arange(last.shape[1])).all()) and first >= 0
    is_line = indices.dim() <= 1 or indices.shape[0] in (1, rows)
    # A slice that ends where the table ends is short of rows, not of positions.
    is_cut = last.shape[1] < columns and last.shape[1] > 1 and first + last.shape[1] == table_rows
    if up and is_line and indices.dim() <= 2 and (last.shape[1] == columns or is_cut):
        return first, None
    return 0, _tuples(indices.tolist() if indices.dim() else [int(indices)])


def votes(model: nn.Module, layers: Layers) -> int | None:
    """Return the width that the layers after the tables expect, where the tables disagree, or all of them depart.

    Where the tables agree and any later layer takes their width, they are what was meant: a projection may follow.
    """
    widths = [part.project_to or part.held.tensor.shape[-1] for part in layers.parts.values()]
    expected = Counter(_expected_widths(model))
    if len(set(widths)) > 1:
        counted = sorted(((expected[w], w) for w in set(widths)), reverse=True)
        return counted[0][1] if counted[0][0] > counted[1][0] else None
    if expected[widths[0]] or not expected:
        return None
    (most, count), *rest = expected.most_common(2)
    return most if count > 1 and (not rest or count > rest[0][1]) else None


def _expected_widths(model: nn.Module) -> Iterable[int]:
    from torch import nn

    for module in model.modules():
        if isinstance(module, nn.Linear):
            yield module.in_features
        elif isinstance(module, nn.MultiheadAttention):
            yield module.embed_dim
        elif "Norm" in type(module).__name__:
            shape = getattr(module, "normalized_shape", None)
            weight = getattr(module, "weight", None)
            if isinstance(shape, tuple | list) and shape:
                yield int(shape[-1])
            elif isinstance(weight, nn.Parameter) and weight.dim() == 1:
                yield len(weight)


def as_batch(indices: Tensor) -> tuple[Any, ...]:
    """Return what was looked up as a batch of IDs."""
    lines = indices if indices.dim() >= 2 else indices.reshape(1, -1)
    found: tuple[Any, ...] = _tuples(lines.tolist())
    return found


def dtype_name(tensor: Tensor) -> str:
    """Return a dtype as an inspection names it."""
    return str(tensor.dtype).removeprefix("torch.")


def _sizes(held: Held) -> tuple[int, int]:
    return held.rows, held.tensor.shape[-1]


def _extreme(segment: Part) -> int:
    """Return the segment ID that is most likely out of range: a negative one, else the largest."""
    if segment.indices is None or not segment.indices.numel():
        return 0
    least = int(segment.indices.min())
    return least if least < 0 else int(segment.indices.max())


def _batch_axes(token: Part, config: InputConfig) -> tuple[int, int]:
    """Return how many rows and columns the batch has that was looked up."""
    given = config.token_ids or ((),)
    rows = len(given)
    first = given[0]
    return rows, len(first) if isinstance(first, tuple) else 1


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value
