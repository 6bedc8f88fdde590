"""JSON from a file that may be broken or hostile."""

from __future__ import annotations

import json
from typing import Any

from inspector.files.shown import shown


class NotAnObject(Exception):
    """The bytes are not a JSON object; the message says why, in words that follow "its header …"."""


def json_object(data: bytes) -> dict[str, Any]:
    """Return the object that UTF-8 bytes hold.

    Raises:
        NotAnObject: they hold something else.
    """
    try:
        found = json.loads(data.decode("utf-8"), object_pairs_hook=_without_repeats)
    except UnicodeDecodeError as error:
        raise NotAnObject(f"is not UTF-8 text: byte {error.start:,} of it is 0x{data[error.start]:02x}") from error
    except json.JSONDecodeError as error:
        raise NotAnObject(f"is not JSON: {error.msg[0].lower()}{error.msg[1:]} at character {error.pos:,}") from error
    except ValueError as error:  # a number of more digits than Python converts
        raise NotAnObject("holds a number of thousands of digits") from error
    except RecursionError as error:
        raise NotAnObject("is nested too deeply") from error
    if not isinstance(found, dict):
        raise NotAnObject("is JSON, but not an object")
    return found


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise NotAnObject(f"has the key {shown(key)} twice")
            seen.add(key)
    return found
