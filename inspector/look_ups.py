"""What a forward pass really looks up: every operation is seen before it runs, and none reads outside a table.

An index without a row is replaced before the look-up, so that the pass goes on (its values do not matter here) and a
GPU is not left with a failed assert. Rows that are added to token rows are known by their memory, or by the operations
that they went through.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from inspector.model_state import Held, storage_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import Tensor

    from inspector.model_state import Originals

_FROM_IDS = -1  # the mark of what was made from the token IDs
LOOKING_UP = frozenset({"embedding", "index", "index_select"})
ADDING = frozenset({"add", "add_"})
_MULTIPLYING = frozenset({"addmm", "mm", "bmm", "baddbmm", "linear", "matmul"})
# What leaves rows as they are, or in another type, or in another place.
_NEUTRAL = frozenset({"_to_copy", "clone", "copy_", "cat", "repeat", "_unsafe_view"}) | ADDING | _MULTIPLYING
# What a model does to a table before it adds its rows, or looks them up.
_COPYING = frozenset({"_to_copy", "clone"})
_TAKING = frozenset({"mul", "repeat", "cat"}) | _COPYING


@dataclass(eq=False)
class Source:
    """Rows that a pass took from one of the model's tensors.

    Attributes:
        held: the tensor.
        indices: the rows that were asked for, on the CPU, in any shape.
        of_ids: whether the indices are the token IDs, as given.
        from_ids: whether they were made from them.
        place: the axes that the rows were added along, all but the last; None while they were not added.
        is_added: whether they, or rows they were added to, were added to token rows.
        projected_to: the width that a matrix made of them before that.
        changes: the operations that changed their values before that.
    """

    held: Held
    indices: Tensor
    of_ids: bool = False
    from_ids: bool = False
    place: tuple[int, ...] | None = None
    is_added: bool = False
    projected_to: int | None = None
    changes: list[str] = field(default_factory=list)


class Watch:
    """What a pass has looked up so far.

    Attributes:
        sources: what rows were taken, in order.
        token: the look-up of the token IDs; None while there was none.
        adds_more: whether something that is no row of a table was added to token rows.
        running: the name of the operation that is under way.
    """

    def __init__(self, ids: Tensor, state: Sequence[Held], originals: Originals) -> None:
        from torch.utils.weak import WeakTensorKeyDictionary

        self.sources: list[Source] = []
        self.token: Source | None = None
        self.adds_more = False
        self.running = ""
        self._ids = ids
        # By memory: a tensor of the model's, and itself or a copy of the whole of it, kept so that its memory is.
        self._tables: dict[int, tuple[Held, Tensor]] = {}
        for held in state:
            self._tables.setdefault(storage_of(held.tensor), (held, held.tensor))
        self._originals = originals
        # Which sources (or the IDs) a tensor was made from; weak, so that a deep model's values are not kept.
        self._marks: Any = WeakTensorKeyDictionary()
        self._marks[ids] = frozenset({_FROM_IDS})

    def see(self, operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Carry out an operation as it should be, and note what it does."""
        name = operation._schema.name.partition("::")[2]
        self.running = name
        if name == "embedding_renorm_":  # what max_norm does: to undo it would take a copy of the whole table
            return args[0]
        self._take(name, args)
        marks = self._marks_of(args)
        if name in LOOKING_UP:
            args, marks = self._look_up(name, args, marks)
        elif name in ADDING:
            self._add(args)
            marks = self._marks_of(args)
        elif name in _MULTIPLYING and self._is_mixed(args):
            marks = frozenset()  # scores of attention: what is added to them is no row
        elif name not in _NEUTRAL and not _is_view(operation):
            for source in self._not_added(marks):
                source.changes.append(name)
        if operation._schema.is_mutable:
            self._save(operation, args, kwargs)
        out = operation(*args, **kwargs)
        if name in _COPYING and self._is_whole_table(args[0]):
            self._tables[storage_of(out)] = self._tables[storage_of(args[0])][0], out
        for tensor in _tensors((out,)) if marks else ():
            self._marks[tensor] = marks
            if name in _MULTIPLYING:
                for source in self._not_added(marks):
                    source.projected_to = tensor.shape[-1]
        self.running = ""
        return out

    def found_token(self) -> Source | None:
        """Return the look-up of the token IDs: where none has them as they were given, the first made from them."""
        if self.token is None:
            self.token = next((source for source in self.sources if source.from_ids), None)
        return self.token

    # ---- look-ups ----

    def _look_up(
        self, name: str, args: tuple[Any, ...], marks: frozenset[int]
    ) -> tuple[tuple[Any, ...], frozenset[int]]:
        """Return a look-up's arguments with every index in the table, and its mark."""
        import torch

        place, axis, indices = _index_of(name, args)
        if indices is None or not _is_whole(indices):
            return args, marks
        rows = args[0].shape[axis]
        if not rows and indices.numel():
            raise IndexError("a look-up in a table without rows")
        least = 0 if name == "embedding" else -rows
        taken = indices.detach().to("cpu", torch.int64)  # (...)
        sound = indices
        if taken.numel() and not least <= int(taken.min()) <= int(taken.max()) < rows:
            sound = indices.clamp(0, rows - 1)
        held, changes = self._table_behind(args[0])
        if held is not None and held.rows == rows:
            if name != "embedding":  # these count from the end where an index is negative
                taken = taken.where((taken >= 0) | (taken < least), taken + rows)
            marks = frozenset({self._note(held, taken, indices, changes)})
        changed = [*args]
        changed[place] = [None] * axis + [sound] if name == "index" else sound
        return tuple(changed), marks

    def _table_behind(self, tensor: Tensor) -> tuple[Held | None, list[str]]:
        """Return the table that a tensor is or was made from, and what changed its values."""
        held = self._held(tensor)
        if held is not None:
            return held, []
        copied = [self.sources[i] for i in self._marks.get(tensor, ()) if i != _FROM_IDS]
        return (copied[0].held, copied[0].changes) if len(copied) == 1 else (None, [])

    def _note(self, held: Held, taken: Tensor, indices: Tensor, changes: list[str]) -> int:
        ids = self._ids.to("cpu")
        of_ids = taken.numel() == ids.numel() and bool((taken.reshape(ids.shape) == ids).all())
        source = Source(held, taken, of_ids, _FROM_IDS in self._marks.get(indices, ()), changes=[*changes])
        self.sources.append(source)
        # Position rows may well be looked up first, at the very numbers that the IDs are: those come from no IDs.
        if of_ids and self.token is None and source.from_ids:
            self.token = source
        return len(self.sources) - 1

    # ---- sums ----

    def _add(self, args: tuple[Any, ...]) -> None:
        """Note whose rows are added to token rows; before it happens, as it may well fail."""
        tensors = list(_tensors(args[:2]))
        if len(tensors) < 2 or any(t.dim() < 2 for t in tensors):  # a number or a bias, not rows
            return
        left, right = (self._rows_in(t) for t in tensors)
        token = self._token_mark()
        if token in left ^ right and not (left and right) and not self.sources[token or 0].is_added:
            self.adds_more = True
        if not left or not right or left & right:
            return
        for tensor, marks in zip(tensors, (left, right), strict=True):
            for source in (self.sources[i] for i in marks):
                if source.place is None:
                    source.place = _axes(tensor)
        for mine, other in ((left, right), (right, left)):
            if token in mine:
                for source in (self.sources[i] for i in mine | other):
                    source.is_added = True

    def _rows_in(self, tensor: Tensor) -> frozenset[int]:
        """Return the sources of a summand; one is made for rows taken from the model's memory without a look-up."""
        marks: frozenset[int] = self._marks.get(tensor, frozenset()) - {_FROM_IDS}
        if marks:
            return marks
        held = self._held(tensor)
        taken = None if held is None else _taken(tensor, self._tables[storage_of(tensor)][1])
        if held is None or taken is None:
            return frozenset()
        self.sources.append(Source(held, taken))
        found = frozenset({len(self.sources) - 1})
        self._marks[tensor] = found
        return found

    def _token_mark(self) -> int | None:
        token = self.found_token()
        return None if token is None else self.sources.index(token)

    # ---- what becomes of rows ----

    def _take(self, name: str, args: tuple[Any, ...]) -> None:
        """Note rows that are copied from the model's memory, so that they are known in their copies."""
        if name in _TAKING and not (name in _COPYING and self._is_whole_table(args[0])):
            for tensor in _tensors(args):
                if tensor.dim() >= 2:
                    self._rows_in(tensor)

    def _is_mixed(self, args: tuple[Any, ...]) -> bool:
        """Return whether token rows meet token rows."""
        token = self._token_mark()
        return token is not None and sum(token in self._marks.get(t, ()) for t in _tensors(args)) > 1

    def _not_added(self, marks: frozenset[int]) -> Iterator[Source]:
        return (self.sources[i] for i in marks if i != _FROM_IDS and not self.sources[i].is_added)

    def _marks_of(self, args: Sequence[Any]) -> frozenset[int]:
        return frozenset().union(*(self._marks.get(t, frozenset()) for t in _tensors(args)))

    def _held(self, tensor: Tensor) -> Held | None:
        held, _ = self._tables.get(storage_of(tensor), (None, None))
        return held if held is not None and held.is_table and tensor.is_floating_point() else None

    def _is_whole_table(self, tensor: Tensor) -> bool:
        held = self._held(tensor)
        return held is not None and tensor.numel() == held.tensor.numel()

    def _save(self, operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for place, argument in enumerate(operation._schema.arguments):
            if argument.alias_info is not None and argument.alias_info.is_write:
                written = args[place] if place < len(args) else kwargs.get(argument.name)
                for tensor in _tensors((written,)):
                    self._originals.save(tensor)


def _tensors(values: Sequence[Any]) -> Iterator[Tensor]:
    import torch

    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors(value)


def _index_of(name: str, args: tuple[Any, ...]) -> tuple[int, int, Tensor | None]:
    """Return which argument of a look-up holds the indices, the axis they count along, and the indices.

    They are None for what is no look-up of rows: indices along several axes, or along none.
    """
    if name == "embedding":
        return 1, 0, args[1]
    if name == "index_select":
        return 2, args[1] % args[0].dim(), args[2]
    given = [i for i, index in enumerate(args[1]) if index is not None]
    return (1, given[0], args[1][given[0]]) if len(given) == 1 else (1, 0, None)


def _is_whole(indices: Tensor) -> bool:
    return not (indices.is_floating_point() or indices.is_complex()) and indices.dtype.itemsize > 1


def _is_view(operation: Any) -> bool:
    """Return whether an operation gives another view of the same memory."""
    return any(r.alias_info is not None and not r.alias_info.is_write for r in operation._schema.returns)


def _axes(tensor: Tensor) -> tuple[int, ...]:
    """Return the axes that hold rows; one along which the same row repeats counts as 1."""
    return tuple(
        1 if stride == 0 else size for size, stride in zip(tensor.shape[:-1], tensor.stride()[:-1], strict=True)
    )


def _taken(view: Tensor, whole: Tensor) -> Tensor | None:
    """Return which rows of a table a view of it holds, in the view's axes; None where it holds no rows."""
    import torch

    table = whole.detach().reshape(-1, whole.shape[-1])  # (rows, width)
    if storage_of(table) != storage_of(view) or view.stride(-1) != table.stride(-1) or not table.stride(0):
        return None
    start, inside = divmod(int(view.storage_offset() - table.storage_offset()), table.stride(0))
    if inside or not 0 <= start < len(table):
        return None
    rows = torch.full((1,), start)
    for size, stride in zip(_axes(view), view.stride()[:-1], strict=True):
        step, rest = divmod(stride if size > 1 else 0, table.stride(0))
        if rest:
            return None
        rows = rows.unsqueeze(-1) + step * torch.arange(size)
    return rows[0]
