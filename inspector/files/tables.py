"""Find the embedding tables in a checkpoint, by names and shapes, and say why it is these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.files import names
from inspector.recipe import Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from inspector.files.tensors import TensorInfo


_NAMES = {Role.TOKEN: names.TOKEN, Role.POSITION: names.POSITION, Role.SEGMENT: names.SEGMENT}


class Settings(NamedTuple):
    """What a configuration beside or inside the file says of the model; None where it says nothing."""

    vocab_size: int | None = None
    width: int | None = None
    token_width: int | None = None
    positions: int | None = None
    segments: int | None = None
    padding: int | None = None
    model: str | None = None


class FoundTable(NamedTuple):
    """A table and how it was found.

    `rows` and `width` are its sizes as a look-up needs them: exchanged where it is stored `transposed`. `prefix` is
    what a wrapper put in front of its name. `tied` says that the output layer's weight stands for it. `empty` is a
    table saved without its values, by a partitioned save. `offset` is how many rows positions skip.
    """

    role: Role
    name: str
    rows: int
    width: int
    dtype: str
    reason: str
    quantised: bool = False
    transposed: bool = False
    tied: bool = False
    empty: bool = False
    prefix: str = ""
    offset: int = 0


class Found(NamedTuple):
    """The tables of a checkpoint; None where it has none of a role. `project_to` is the width after a projection."""

    token: FoundTable | None = None
    position: FoundTable | None = None
    segment: FoundTable | None = None
    project_to: int | None = None

    def table(self, role: Role) -> FoundTable | None:
        """Return the table of a role."""
        return {Role.TOKEN: self.token, Role.POSITION: self.position, Role.SEGMENT: self.segment}[role]


def settings(*sources: Mapping[str, Any]) -> Settings:
    """Return what the first of several configurations that knows says of each setting.

    A setting may stand in a part of its own (`text_config`) or behind an architecture's name (`gpt2.context_length`).
    """
    flat: dict[str, Any] = {}
    for source in sources:
        for key, value in _flattened(source):
            flat.setdefault(key, value)
            flat.setdefault(key.rpartition(".")[2], value)
    values: dict[str, Any] = {}
    for setting, keys in names.SETTINGS.items():
        wanted = str if setting == "model" else int
        for key in keys:
            value = flat.get(key)
            if isinstance(value, wanted) and not isinstance(value, bool):
                values[setting] = value
                break
    return Settings(**values)


def find(
    tensors: Mapping[str, TensorInfo],
    known: Settings,
    *,
    n_vocab: int | None = None,
    chosen: Mapping[Role, str] | None = None,
) -> Found:
    """Return the embedding tables among a checkpoint's tensors.

    Args:
        tensors: what the file declares, by name.
        known: what its configuration says.
        n_vocab: the size of the tokenizer, where it is known: tells a transposed table.
        chosen: tables that the person chose, by role.
    """
    chosen = chosen or {}
    token = _picked(tensors, chosen, Role.TOKEN) or _token(tensors, known, n_vocab)
    position = _picked(tensors, chosen, Role.POSITION) or _named(tensors, Role.POSITION, token, known)
    segment = _picked(tensors, chosen, Role.SEGMENT) or _named(tensors, Role.SEGMENT, token, known)
    if (
        token is not None
        and not token.transposed
        and not token.empty
        and _is_transposed(token, position, known, n_vocab)
    ):
        token = token._replace(rows=token.width, width=token.rows, transposed=True)
    if position is not None and token is not None and not position.empty:
        if position.width != token.width and position.rows == token.width:
            position = position._replace(rows=position.width, width=position.rows, transposed=True)
        position = position._replace(offset=_offset(position, known))
    return Found(token, position, segment, _projection(tensors, token))


def candidates(tensors: Mapping[str, TensorInfo]) -> list[str]:
    """Return the names of all tensors that could be a table: two axes, those with telling names first."""
    tables = [name for name, info in tensors.items() if len(info.shape) == 2]
    return sorted(tables, key=lambda name: (not ("emb" in name or "wte" in name or "wpe" in name), name))


# ---- by name -----------------------------------------------------------------------------------------------------


def _token(tensors: Mapping[str, TensorInfo], known: Settings, n_vocab: int | None) -> FoundTable | None:
    found = _named(tensors, Role.TOKEN, None, known)
    if found is not None:
        return found
    heads = [t for t in (_table(tensors[n], Role.TOKEN, "") for n in _matching(tensors, names.HEAD)) if t]
    if heads:
        head = heads[0]
        reason = f"no token table was saved; {head.name} is the output layer's weight, which tied models share"
        return head._replace(tied=True, reason=reason)
    sizes = {size for size in (known.vocab_size, n_vocab) if size is not None}
    for name in candidates(tensors):
        if tensors[name].shape[0] in sizes:
            return _table(tensors[name], Role.TOKEN, f"{name} has {tensors[name].shape[0]} rows, the vocabulary's size")
    return None


def _named(
    tensors: Mapping[str, TensorInfo], role: Role, token: FoundTable | None, known: Settings
) -> FoundTable | None:
    """Return the table of a role whose name is known; of several the one nearest to the token table."""
    matching = _matching(tensors, _NAMES[role])
    usable = [name for name in matching if _table(tensors[name], role, "") is not None]
    if token is not None:  # places in an image are no places in a text, also where the text part has no table for them
        usable = [name for name in usable if not any(p in name and p not in token.name for p in names.NOT_TEXT)]
    if not usable:
        return None

    def distance(name: str) -> tuple[bool, int, int, bool, int]:
        table = _table(tensors[name], role, "")
        assert table is not None
        same_width = token is None or token.width == table.width
        near = _shared_prefix(name, token.name) if token is not None else 0
        preference = next(i for i, known_name in enumerate(_NAMES[role]) if _ends_with(name, known_name))
        expected = {Role.TOKEN: known.vocab_size, Role.POSITION: known.positions, Role.SEGMENT: known.segments}[role]
        return (
            any(part in name for part in names.NOT_TEXT),
            -near,
            preference,
            not same_width,
            -(table.rows == expected),
        )

    best = min(usable, key=distance)
    return _table(tensors[best], role, f"its name is {best}" + (f", of {len(usable)} such" if len(usable) > 1 else ""))


def _picked(tensors: Mapping[str, TensorInfo], chosen: Mapping[Role, str], role: Role) -> FoundTable | None:
    name = chosen.get(role)
    return _table(tensors[name], role, "you chose it") if name is not None and name in tensors else None


def _matching(tensors: Mapping[str, TensorInfo], known: Sequence[str]) -> list[str]:
    endings = tuple(known)  # a checkpoint has thousands of names, and few end in any of these
    order = {
        name: next((i for i, k in enumerate(known) if _ends_with(name, k)), None)
        for name in tensors
        if name.endswith(endings)
    }
    return sorted((n for n, i in order.items() if i is not None), key=lambda n: (order[n], len(n), n))


def _ends_with(name: str, known: str) -> bool:
    return name == known or name.endswith("." + known)


def _shared_prefix(name: str, other: str) -> int:
    count = 0
    for a, b in zip(name.split(".")[:-1], other.split(".")[:-1], strict=False):
        if a != b:
            break
        count += 1
    return count


def _table(info: TensorInfo, role: Role, reason: str) -> FoundTable | None:
    """Return a tensor as a table: two axes, or none left by a partitioned save, or one in front of the two."""
    shape = info.shape
    if len(shape) == 3 and shape[0] == 1 and role is Role.POSITION:
        shape = shape[1:]
    prefix = _wrapper_prefix(info.name)
    if 0 in shape and len(shape) <= 2:
        return FoundTable(role, info.name, 0, 0, info.dtype, reason, empty=True, prefix=prefix)
    if len(shape) != 2:
        return None
    return FoundTable(role, info.name, shape[0], shape[1], info.dtype, reason, info.quantised, prefix=prefix)


def _wrapper_prefix(name: str) -> str:
    rest = name
    while True:
        wrapper = next((w for w in names.WRAPPERS if rest.startswith(w)), None)
        if wrapper is None:
            return name[: len(name) - len(rest)]
        rest = rest.removeprefix(wrapper)


# ---- by shape ----------------------------------------------------------------------------------------------------


def _is_transposed(token: FoundTable, position: FoundTable | None, known: Settings, n_vocab: int | None) -> bool:
    """Return whether the token table is stored (width, rows): the vocabulary lies along its second axis."""
    rows, width = token.rows, token.width
    if rows >= width or token.quantised:
        return False
    votes = [width == size for size in (known.vocab_size, n_vocab) if size is not None]
    votes += [rows == size for size in (known.token_width or known.width,) if size is not None]
    if position is not None and not position.empty and position.width != width:
        votes.append(position.width == rows)
    return any(votes) and not (known.vocab_size == rows or n_vocab == rows)


def _offset(position: FoundTable, known: Settings) -> int:
    """Return how many rows positions skip, by the kind of model or by a number of rows that gives it away."""
    model = (known.model or "").lower()
    named = position.name.lower()
    if any(kind in model or f"{kind}." in named for kind in names.AFTER_PADDING):
        return (1 if known.padding is None else known.padding) + 1
    if model in names.SKIP_TWO:
        return 2
    told = named.endswith(("embed_positions.weight", "position_embeddings.weight"))
    return 2 if told and not model and _is_power_of_two(position.rows - 2) else 0


def _is_power_of_two(number: int) -> bool:
    return number >= 64 and number & (number - 1) == 0


def _projection(tensors: Mapping[str, TensorInfo], token: FoundTable | None) -> int | None:
    for name in _matching(tensors, names.PROJECTION):
        shape = tensors[name].shape
        if token is not None and len(shape) == 2 and shape[1] == token.width:
            return shape[0]
    return None


def _flattened(source: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """Yield a configuration's settings, those of its text part first."""
    parts = [value for key, value in source.items() if key in ("text_config", "llm_config") and isinstance(value, dict)]
    for part in parts:
        yield from part.items()
    yield from source.items()
