"""IDs that lie in a file, as a sequence: what is asked for is read when it is asked for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    from collections.abc import Iterator

_STEP = 2**16  # IDs that are read at a time when all are asked for


class FileIds(Sequence[int]):
    """IDs in a file; a slice of them is a list. Nothing is held in memory."""

    @abstractmethod
    def _read(self, first: int, last: int) -> list[int]:
        """Return the IDs `first` to `last` - 1, all of which there are."""

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> list[int]: ...
    def __getitem__(self, index: int | slice) -> int | list[int]:
        if isinstance(index, slice):
            places = range(*index.indices(len(self)))
            if places.step == 1:
                return self._read(places.start, max(places.start, places.stop))
            return [self[place] for place in places]
        place = range(len(self))[index]
        return self._read(place, place + 1)[0]

    def __iter__(self) -> Iterator[int]:
        first = 0
        while values := self[first : first + _STEP]:
            yield from values
            first += len(values)
