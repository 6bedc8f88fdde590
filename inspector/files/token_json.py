"""Token IDs as JSON: nested lists, an object that holds one, or a line of either for each sample."""

from __future__ import annotations

import json
from array import array
from itertools import chain
from typing import TYPE_CHECKING, Any

from inspector.files.shown import shown
from inspector.files.token_layout import Found, not_ids

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.files.source import Source

NAMES = ("input_ids", "token_ids", "ids")  # under which objects hold their IDs, the surest first

# Bytes. IDs from JSON are held in memory, and take about eight times as much while they are read.
MOST_JSON = 32 * 2**20
MOST_LINES = 64 * 2**20

_PIECE = 2**20
_MOST_AXES = 64  # torch has no more
_HELP = "save the IDs as a .npy file of whole numbers, of which any part can be read"


def ids_of(value: Any) -> Any:
    """Return what an object holds under a name for IDs; anything else as it is."""
    if isinstance(value, dict):
        return next((value[name] for name in NAMES if name in value), value)
    return value


def read_json(source: Source, dtype: str | None, n_vocab: int | None) -> Found:
    """Read a list of IDs, nested or not, or an object that holds one."""
    _require_small(source, MOST_JSON)
    return found_lists(source, "JSON", _list(source, "it", source.begins(source.size)))


def read_jsonl(source: Source, dtype: str | None, n_vocab: int | None) -> Found:
    """Read a line for each sample; they follow one another."""
    _require_small(source, MOST_LINES)
    whole: array[int] | array[float] = array("q")
    samples = 0
    for number, line in enumerate(_lines(source), start=1):
        if not line.strip():
            continue
        values, _ = _flattened(source, _list(source, f"line {number:,}", line), f"line {number:,}")
        if values.typecode != whole.typecode:
            whole, values = array("d", whole), array("d", values)
        whole += values  # type: ignore[operator] # of one type by now
        samples += 1
    return _found("JSON lines", whole, (len(whole),), f", in {samples:,} lines")


def found_lists(source: Source, kind: str, root: list[Any]) -> Found:
    """Return nested lists of numbers as IDs, held in memory.

    Raises:
        FileTrouble: they hold something else.
    """
    values, shape = _flattened(source, root, "it")
    return _found(kind, values, shape, f", of shape {shape}")


def _found(kind: str, values: array[int] | array[float], shape: tuple[int, ...], more: str) -> Found:
    own = "int64" if values.typecode == "q" else "float32"
    why = "as torch.tensor makes them of whole numbers" if own == "int64" else "not all of them are written as integers"
    return Found(f"{kind}, {own}", own, shape, lambda first, last: values[first:last].tolist(), f"{own}: {why}{more}")


def _require_small(source: Source, most: int) -> None:
    if source.size > most:
        raise not_ids(
            source.path, f"has {source.size:,} bytes of JSON, and no more than {most:,} are held in memory", _HELP
        )


def _lines(source: Source) -> Iterator[bytes]:
    rest = b""
    with source.reading() as stream:
        while piece := stream.read(_PIECE):
            *whole, rest = (rest + piece).split(b"\n")
            yield from whole
    yield rest


def _list(source: Source, where: str, content: bytes) -> list[Any]:
    try:
        value = json.loads(content)
    except json.JSONDecodeError as error:
        why = f"{error.msg[0].lower()}{error.msg[1:]} at character {error.pos:,}"
        raise not_ids(source.path, f"is not JSON: {where} has {why}", "save it again") from error
    except ValueError as error:  # not Unicode, or a number of more digits than Python converts
        raise not_ids(
            source.path, f"is not JSON: {where} holds bytes or digits that are none", "save it again"
        ) from error
    except RecursionError as error:
        raise not_ids(source.path, f"is no list of token IDs: {where} is nested too deeply", "save it again") from error
    found = ids_of(value)
    if isinstance(found, list):
        return found
    kind = f"an object without {', '.join(NAMES)}" if isinstance(found, dict) else shown(found)
    raise not_ids(source.path, f"holds no list of token IDs: {where} is {kind}", "save a list of whole numbers")


def _flattened(source: Source, level: list[Any], where: str) -> tuple[array[int] | array[float], tuple[int, ...]]:
    """Return the numbers of nested lists in order, and their shape: that of one list where lengths differ."""
    shape: list[int] = [len(level)]
    even = True
    while (kinds := set(map(type, level))) and kinds <= {list, tuple}:
        lengths = set(map(len, level))
        even = even and len(lengths) == 1
        shape.append(max(lengths))
        if len(shape) > _MOST_AXES or sum(map(len, level)) > MOST_JSON:
            # A pickle may hold one list in many places, or in itself.
            raise not_ids(source.path, f"is no list of token IDs: {where} is nested too deeply", "save it again")
        level = list(chain.from_iterable(level))
    if not kinds <= {int, float}:
        odd = next(value for value in level if type(value) not in (int, float))
        raise not_ids(
            source.path, f"holds {shown(odd)} where {where} should hold a token ID", "save whole numbers alone"
        )
    values: array[int] | array[float]
    try:
        values = array("d", level) if float in kinds else array("q", level)
    except OverflowError as error:
        raise not_ids(
            source.path, f"holds a number in {where} that int64 cannot hold", "look where it comes from"
        ) from error
    return values, tuple(shape) if even else (len(level),)
