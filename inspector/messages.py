"""A pasted PyTorch error read as a person would: which faults can be behind it, which numbers it holds, what to ask.

This is the only place that reads the text of an exception: somebody's pasted one. The verdict never does.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.message_patterns import PATTERNS

if TYPE_CHECKING:
    import re

    from inspector.message_patterns import Candidate


class Reading(NamedTuple):
    """What a message can mean.

    `quote` is the line that was recognised. `candidates` are ordered, the likeliest first. `values` are the numbers it
    holds, as inspection-file fields. `ask` says what to enter to tell the candidates apart. `aside` is what to know.
    """

    quote: str
    candidates: tuple[Candidate, ...]
    values: dict[str, Any]
    ask: str
    aside: str = ""


_READ_AT_MOST = 1_000_000  # characters; a log may be pasted whole, and what matters is at its end


def read(text: str) -> list[Reading]:
    """Return what a pasted message or traceback can mean, one reading for each line that is known; empty for none."""
    text = text[-_READ_AT_MOST:]
    readings: list[Reading] = []
    for pattern in PATTERNS:
        match = pattern.expression.search(text)
        if match is None:
            continue
        candidates, values, ask, aside = pattern.read(match, text)
        reading = Reading(_line_around(text, match), tuple(candidates), values, ask, aside)
        if all(reading.quote != known.quote for known in readings):
            readings.append(reading)
    return readings


def words(reading: Reading) -> str:
    """Return a reading as text: what can be behind the message, and what to enter next."""
    lines = [reading.quote]
    if reading.aside:
        lines += ["", f"{reading.aside[0].upper()}{reading.aside[1:]}."]
    if reading.candidates:
        lines += ["", "What can be behind it, the likeliest first:"]
        lines += [f"  {c.code} {c.fault.name}: {c.when}" for c in reading.candidates]
    if reading.values:
        lines += ["", "What it tells:", *(f"  {name} = {json.dumps(value)}" for name, value in reading.values.items())]
    if reading.ask:
        lines += ["", f"To tell them apart: {reading.ask}."]
    if reading.candidates:
        lines += ["", f"Read more: python -m inspector explain {reading.candidates[0].code}"]
    return "\n".join(lines)


def _line_around(text: str, match: re.Match[str]) -> str:
    start = text.rfind("\n", 0, match.start()) + 1
    end = text.find("\n", match.end())
    return text[start : end if end >= 0 else None].strip()[:300]
