"""The few turns of phrase that messages share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.facts import Facts

SHOWN_IDS = 2


def count(number: float, thing: str) -> str:
    """Return "1 sample", "50257 rows", "no sample": digits as they are typed into a constructor."""
    if number == 0:
        return f"no {thing}"
    return f"{number} {thing}" + ("" if number == 1 else "s")


def rows(number: object) -> str:
    """Return which rows a table of this many has: "0 to 49999", "only row 0"."""
    if not isinstance(number, int) or number < 1:
        return "none"
    return "only row 0" if number == 1 else f"0 to {number - 1}"


def ids(facts: Facts, found: Sequence[int]) -> str:
    """Return "token ID 50085 (' donkey')"; of several the first and the largest, and how many others there are."""
    distinct = list(dict.fromkeys(found))
    largest = max(distinct)
    if largest not in distinct[:SHOWN_IDS]:
        distinct.remove(largest)
        distinct.insert(SHOWN_IDS - 1, largest)
    named = [facts.describe_id(i) for i in distinct[:SHOWN_IDS]]
    if len(distinct) == 1:
        return f"token ID {named[0]}"
    if len(distinct) <= SHOWN_IDS:
        return f"token IDs {' and '.join(named)}"
    others = len(distinct) - SHOWN_IDS
    return f"token IDs {', '.join(named)} and {count(others, 'other')}"


def are(number: int) -> str:
    """Return the verb that goes with `count`."""
    return "is" if number <= 1 else "are"


def have(found: Sequence[int]) -> str:
    """Return the verb that goes with `ids`."""
    return "has" if len(set(found)) == 1 else "have"


def python_list(values: Sequence[str]) -> str:
    """Return "a", "a and b", "a, b and c"."""
    return " and ".join(filter(None, (", ".join(values[:-1]), values[-1]))) if values else ""
