"""What it takes to know an error message: an expression that recognises it, and a function that reads what it found."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector import checks

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.diagnosis import Fault


class Candidate(NamedTuple):
    """A fault that can be behind a message: `code`, and how to tell that it is this one."""

    code: str
    when: str

    @property
    def fault(self) -> Fault:
        """The kind of fault in the catalogue; of several with this code the first."""
        return checks.find(self.code)[0]


class Reading(NamedTuple):
    """What a message can mean.

    `quote` is the line that was recognised. `candidates` are ordered, the likeliest first. `values` are the numbers it
    holds, as inspection-file fields. `ask` says what to enter to tell the candidates apart. `aside` is what to know.
    """

    candidates: tuple[Candidate, ...] = ()
    values: dict[str, Any] = {}  # noqa: RUF012 - of a tuple, and never written to
    ask: str = ""
    aside: str = ""
    quote: str = ""


class Pattern(NamedTuple):
    """An expression that recognises a message, and what reads its match with the text around it.

    With `each` every match is read (a message that names one tensor a line), otherwise the last one alone: what stands
    at the end of a log is what the program died of.
    """

    expression: re.Pattern[str]
    read: Callable[[re.Match[str], str], Reading | None]
    each: bool


PATTERNS: list[Pattern] = []
N = r"(-?\d{1,18})"
"""A whole number. Every repeat in an expression has an end, so that the time to read grows with the text alone."""


def message(
    expression: str, *, each: bool = False
) -> Callable[[Callable[[re.Match[str], str], Reading | None]], Callable[[re.Match[str], str], Reading | None]]:
    """Register a function that reads a message recognised by a regular expression; it may return None: not this one."""

    def register(function: Callable[[re.Match[str], str], Reading | None]) -> Any:
        PATTERNS.append(Pattern(re.compile(expression), function, each))
        return function

    return register
