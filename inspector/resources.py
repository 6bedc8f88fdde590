"""The only door to `resources/`: beside `main.py` in a checkout, inside the package in a wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_PLACES = (_PACKAGE / "_resources", _PACKAGE.parent / "resources")


def path(name: str) -> Path:
    """Return where the resource `name` ("gpt2/r50k_base.tiktoken") lies on disk.

    Raises:
        FileNotFoundError: the installation is incomplete.
    """
    for place in _PLACES:
        found = place / name
        if found.exists():
            return found
    raise FileNotFoundError(f"{name} is missing from this installation of Embedding Inspector")


def text(name: str) -> str:
    """Return the resource `name` as text."""
    return path(name).read_text(encoding="utf-8")
