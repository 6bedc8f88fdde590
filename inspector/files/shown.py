"""Names and values from a file, as they may stand in a sentence."""

from __future__ import annotations

_LONGEST = 80  # characters


def shown(value: object) -> str:
    """Return how Python writes a value, cut where it is long: a broken file may hold a name of a million characters."""
    text = repr(value[: _LONGEST + 1] if isinstance(value, str | bytes) else value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
