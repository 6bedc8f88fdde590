"""A pasted PyTorch error read as a person would: which faults can be behind it, which numbers it holds, what to ask.

This is the only place that reads the text of an exception: somebody's pasted one. The verdict never does.
"""

from __future__ import annotations

import json
from collections import deque
from typing import TYPE_CHECKING, Any

# Importing a module registers its messages.
from inspector import message_files, message_lookups, message_shapes  # noqa: F401
from inspector.message_patterns import PATTERNS, Candidate, Reading

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

__all__ = ["Candidate", "Reading", "read", "words", "written"]

_READ_AT_MOST = 1_000_000  # characters; a log may be pasted whole, and what matters is at its end
_MATCHES_AT_MOST = 200  # of one message; a model has as many tensors
_LONGEST_QUOTE = 300
_LONGEST_VALUE = 40  # characters of a value that is written out


def read(text: str) -> list[Reading]:
    """Return what a pasted message or traceback can mean, one reading for each line that is known; empty for none.

    A line without a candidate is left out where another has one.
    """
    text = text[-_READ_AT_MOST:]
    readings = list({reading.quote: reading for reading in _all(text)}.values())
    return [r for r in readings if r.candidates] or readings[:1]


def _all(text: str) -> Iterator[Reading]:
    for pattern in PATTERNS:
        matches = _last_matches(pattern.expression, text)
        for match in matches if pattern.each else matches[-1:]:
            reading = pattern.read(match, text)
            if reading is not None:
                yield reading._replace(quote=_line_around(text, match))


def _last_matches(expression: re.Pattern[str], text: str) -> list[re.Match[str]]:
    return list(deque(expression.finditer(text), maxlen=_MATCHES_AT_MOST))


def words(reading: Reading) -> str:
    """Return a reading as text: what can be behind the message, and what to enter next."""
    lines = [reading.quote]
    if reading.aside:
        lines += ["", f"{reading.aside[0].upper()}{reading.aside[1:]}."]
    if reading.candidates:
        lines += ["", "What can be behind it, the likeliest first:"]
        lines += [f"  {c.code} {c.fault.name}: {c.when}" for c in reading.candidates]
    if reading.values:
        lines += ["", "What it tells:", *(f"  {name} = {written(value)}" for name, value in reading.values.items())]
    if reading.ask:
        what = "To tell them apart" if len(reading.candidates) > 1 else "To see it"
        lines += ["", f"{what}: {reading.ask}."]
    if reading.candidates:
        lines += ["", f"Read more: python -m inspector explain {reading.candidates[0].code}"]
    return "\n".join(lines)


def written(value: Any) -> str:
    """Return a value as the inspection file writes it, cut where it is long."""
    text = json.dumps(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


def _line_around(text: str, match: re.Match[str]) -> str:
    start = text.rfind("\n", 0, match.start()) + 1
    end = text.find("\n", match.end())
    line = text[start : end if end >= 0 else None]
    before = 0 if len(line) <= _LONGEST_QUOTE else max(0, match.start() - start - _LONGEST_QUOTE // 3)
    return line[before : before + _LONGEST_QUOTE].strip()
