"""The two containers that `torch.save` has written: a zip archive, and before torch 1.6 pickles followed by storages.

Either gives a pickle that describes the tensors, and where in the file each storage lies.
"""

from __future__ import annotations

import io
import struct
import zipfile
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.files.dtypes import ITEM_SIZES
from inspector.files.pickle_program import read_pickle
from inspector.files.pickle_values import BrokenPickle, NeedsCode, Storage, Stored
from inspector.files.shown import shown
from inspector.files.source import MOST_AT_ONCE
from inspector.trouble import FileTrouble, Trouble

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from inspector.files.source import Source, Stream

ZIP_MAGIC = b"PK\x03\x04"
PICKLE_MAGIC = b"\x80"
_LEGACY_NUMBER = b"l\xfc\x9cF\xf9 j\xa8P\x19."  # the end of the first pickle, whatever its protocol

_MOST_TABLE = 16 * 2**20  # bytes of a zip archive's table of contents: more than 100,000 members
_LOCAL = struct.Struct("<4s22xHH")  # what precedes a member: signature … length of its name, of its extra field
_COUNT = struct.Struct("<q")
_PIECES = (2**20, MOST_AT_ONCE)  # bytes of a legacy file in which its pickles are sought
_SAVE_AGAIN = "save or download it again"


class Place(NamedTuple):
    """Where a storage lies in the file."""

    offset: int
    nbytes: int


class Archive(NamedTuple):
    """What a file's pickle describes, and where its storages are, by key."""

    root: Any
    places: Mapping[str, Place]


def is_legacy(head: bytes) -> bool:
    """Return whether a file that begins like this was written by torch before 1.6."""
    return head.startswith(PICKLE_MAGIC) and _LEGACY_NUMBER in head[:32]


# ---- the zip archive -----------------------------------------------------------------------------------------------


def read_zip(source: Source) -> Archive:
    """Read the archive that `torch.save` writes.

    Raises:
        FileTrouble: it is none, or a broken one.
    """
    with source.reading() as stream:
        members = _members(source, stream)
        folder = next((n.removesuffix("data.pkl") for n in members if n.rpartition("/")[2] == "data.pkl"), None)
        if folder is None:
            raise _not_one(source, "it is a zip archive without the data.pkl that torch.save writes")
        if f"{folder}constants.pkl" in members:
            raise _not_one(source, "it is a TorchScript program", "save with torch.save(model.state_dict(), path)")
        order = members.get(f"{folder}byteorder")
        if order is not None and _content(source, stream, order) == b"big":
            raise _not_one(source, "its values are in big-endian order", "save it again on this kind of machine")
        prefix = f"{folder}data/"
        places = {n[len(prefix) :]: _place(source, stream, m) for n, m in members.items() if n.startswith(prefix)}
        content = _content(source, stream, members[f"{folder}data.pkl"])
    return Archive(_described(source, content), places)


def _members(source: Source, stream: Stream) -> dict[str, zipfile.ZipInfo]:
    """Return the members of an archive, none of them compressed, by name."""
    try:
        with zipfile.ZipFile(_Limited(source, stream)) as archive:
            found = {member.filename: member for member in archive.infolist()}
    except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error) as error:
        raise FileTrouble(
            Trouble.TRUNCATED,
            source.path,
            f"ends after {source.size:,} bytes without the table of contents that a zip archive ends with",
            _SAVE_AGAIN,
        ) from error
    for member in found.values():
        if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
            raise _not_one(
                source, f"{shown(member.filename)} in it is compressed or encrypted, which torch.save never does"
            )
    return found


class _Limited:
    """An archive's bytes for `zipfile`, which reads a table of contents as long as the archive claims it to be."""

    def __init__(self, source: Source, stream: Stream) -> None:
        self._source = source
        self.seek, self.tell, self.seekable = stream.seek, stream.tell, stream.seekable
        self._read = stream.read

    def read(self, length: int = -1) -> bytes:
        """Return up to `length` bytes.

        Raises:
            FileTrouble: there are more than a table of contents has.
        """
        if length > _MOST_TABLE:
            raise _not_one(self._source, f"its table of contents would have {length:,} bytes")
        return self._read(length)


def _place(source: Source, stream: Stream, member: zipfile.ZipInfo) -> Place:
    header = b""
    if member.header_offset >= 0:  # zipfile reckons from the end of the file, and may come out before its beginning
        stream.seek(member.header_offset)
        header = stream.read(_LOCAL.size)
    if len(header) < _LOCAL.size or not header.startswith(ZIP_MAGIC):
        raise _not_one(source, f"{shown(member.filename)} does not lie where its table of contents says")
    _, name_length, extra_length = _LOCAL.unpack(header)
    place = Place(member.header_offset + _LOCAL.size + name_length + extra_length, member.file_size)
    if place.offset + place.nbytes > source.size:
        raise _cut(source, place.offset + place.nbytes)
    return place


def _content(source: Source, stream: Stream, member: zipfile.ZipInfo) -> bytes:
    place = _place(source, stream, member)
    stream.seek(place.offset)
    return stream.read(place.nbytes)


# ---- the legacy format ---------------------------------------------------------------------------------------------


def read_legacy(source: Source) -> Archive:
    """Read what `torch.save` wrote before torch 1.6.

    Raises:
        FileTrouble: it is not that, or broken.
    """
    for piece in _PIECES:
        content = io.BytesIO(source.begins(piece))
        try:
            for _ in ("magic number", "version of the protocol", "sizes of the machine's numbers"):
                read_pickle(content)
            root, keys = read_pickle(content), read_pickle(content)
            break
        except BrokenPickle as error:
            if source.size <= piece or piece == _PIECES[-1]:
                raise _broken(source, error) from error
        except NeedsCode as error:
            raise _refused(source, error) from error
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise _not_one(source, "its list of storages is not one")
    storages = {s.key: s for s in _storages(root)}
    return Archive(root, _legacy_places(source, keys, storages, content.tell()))


def _legacy_places(source: Source, keys: list[str], storages: Mapping[str, Storage], start: int) -> dict[str, Place]:
    """Return where storages lie that follow one another, each behind the number of its values."""
    places: dict[str, Place] = {}
    with source.reading() as stream:
        for key in keys:
            storage = storages.get(key)
            if storage is None:
                # What lies behind it cannot be found: its values are of unknown size.
                break
            if start + _COUNT.size > source.size:
                raise _cut(source, start + _COUNT.size)
            stream.seek(start)
            (count,) = _COUNT.unpack(stream.read(_COUNT.size))
            if count != storage.values:
                raise _not_one(
                    source, f"storage {shown(key)} has {count:,} values where {storage.values:,} are declared"
                )
            places[key] = Place(start + _COUNT.size, count * ITEM_SIZES.get(storage.dtype or "", 1))
            start = places[key].offset + places[key].nbytes
    if start > source.size:
        raise _cut(source, start)
    return places


def _storages(root: Any) -> Iterator[Storage]:
    """Yield the storages of all tensors, however deep: each container once, since one may hold itself."""
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Stored):
            yield value.storage
        elif isinstance(value, Storage):
            yield value
        elif isinstance(value, dict | list | tuple) and id(value) not in seen:
            seen.add(id(value))
            waiting.extend(value.values() if isinstance(value, dict) else value)


def read_bare_pickle(source: Source) -> Archive:
    """Refuse a pickle that `torch.save` did not write, for the reason that it has.

    Raises:
        FileTrouble: always.
    """
    _described(source, source.begins(MOST_AT_ONCE))
    raise _not_one(source, "it is a pickle that torch.save did not write")


# ---- what can be wrong ---------------------------------------------------------------------------------------------


def _described(source: Source, content: bytes) -> Any:
    try:
        return read_pickle(io.BytesIO(content))
    except BrokenPickle as error:
        raise _broken(source, error) from error
    except NeedsCode as error:
        raise _refused(source, error) from error


def _not_one(
    source: Source, why: str, what_to_do: str = "save it with torch.save(model.state_dict(), path)"
) -> FileTrouble:
    return FileTrouble(Trouble.NOT_RECOGNISED, source.path, f"is not a PyTorch checkpoint: {why}", what_to_do)


def _broken(source: Source, error: BrokenPickle) -> FileTrouble:
    return FileTrouble(Trouble.NOT_RECOGNISED, source.path, f"holds a damaged pickle: {error}", _SAVE_AGAIN)


def _refused(source: Source, error: NeedsCode) -> FileTrouble:
    return FileTrouble(
        Trouble.PICKLE_REFUSED,
        source.path,
        f"holds a pickle that runs code when it is loaded: it asks for {shown(error.wanted)}",
        "save the weights alone: torch.save(model.state_dict(), path)",
    )


def _cut(source: Source, needed: int) -> FileTrouble:
    return FileTrouble(
        Trouble.TRUNCATED,
        source.path,
        f"ends after {source.size:,} of {needed:,} bytes: {needed - source.size:,} are missing",
        _SAVE_AGAIN,
    )
