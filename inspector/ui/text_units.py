"""The two ways to count a text: characters as Python has them, and the UTF-16 units and signs that Qt's editor has."""

from __future__ import annotations

import re

# What Qt's document would break a line at, swallow or drop: it is shown by a sign of the same length instead.
_NOT_SHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f\u2029\ufdd0\ufdd1\ufeff\ud800-\udfff]")
_SIGNS = {0x0D: "\u23ce", 0x2029: "\u00b6", 0xFEFF: "\u2060"}
_CONTROL = "\u00a4"  # few fonts have the pictures of controls, U+2400 and on


def displayed(text: str) -> str:
    """Return a text as the editor shows it: sign by sign, a control character by ¤, a carriage return by ⏎.

    It has as many characters, and as many UTF-16 units, as the text.
    """
    return _NOT_SHOWN.sub(_sign, text)


def _sign(match: re.Match[str]) -> str:
    code = ord(match[0])
    return _SIGNS.get(code, _CONTROL if code < 0x20 or code == 0x7F else "\ufffd")


def units_before(text: str, character: int) -> int:
    """Return how many UTF-16 units come before a character of the text."""
    if text.isascii():
        return character
    return len(_utf16(text[:character])) // 2


def characters_before(text: str, unit: int) -> int:
    """Return how many characters come before a UTF-16 unit of the text; half a character counts as one."""
    if text.isascii():
        return unit
    before = _utf16(text)[: 2 * unit].decode("utf-16-le", "surrogatepass")
    return len(before)


def unit_count(text: str) -> int:
    """Return how many UTF-16 units a text has."""
    return units_before(text, len(text))


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")
