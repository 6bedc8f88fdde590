"""Steps on the undo stack: from one inspection to the next and back."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

from PySide6.QtGui import QUndoCommand

if TYPE_CHECKING:
    from inspector.config import InputConfig
    from inspector.ui.session import Session

# The keys of which one says where the IDs come from.
NO_SOURCE: dict[str, Any] = {"text": None, "text_file": None, "token_ids": None, "token_ids_file": None}


def readable(config: InputConfig) -> InputConfig:
    """Return the inspection, with GPT-2's tokenizer where it has a text and none to read it with."""
    if config.token_ids is None and config.token_ids_file is None and config.tokenizer.encoding is None:
        return config.with_values({"tokenizer.encoding": "gpt2"})
    return config


class Step(QUndoCommand):
    """A step from one inspection to the next, which may be another one that takes its place."""

    _numbers = count(1)

    def __init__(self, session: Session, label: str, *, is_another: bool) -> None:
        super().__init__(label)
        self._session = session
        self._left = session.inspection
        self._reached = next(self._numbers) if is_another else self._left

    def _go(self, config: InputConfig, inspection: int) -> None:
        self._session.go_to(config, inspection)


class Change(Step):
    """A change of fields. It keeps the fields alone, so that undoing it leaves a text typed since as it is."""

    def __init__(
        self,
        session: Session,
        label: str,
        old: dict[str, Any],
        new: dict[str, Any],
        edit: int | None,
        *,
        is_another: bool,
    ) -> None:
        super().__init__(session, label, is_another=is_another)
        self._old = old
        self._new = new
        self._edit = edit
        self._unstated = frozenset(new) - session.config.stated

    def redo(self) -> None:
        self._go(self._session.config.with_values(self._new), self._reached)

    def undo(self) -> None:
        config = self._session.config.with_values(self._old)
        self._go(replace(config, stated=config.stated - self._unstated), self._left)

    def id(self) -> int:
        return -1 if self._edit is None else 1  # Qt offers a command to the one before it when the numbers are equal

    def mergeWith(self, other: QUndoCommand) -> bool:
        if not isinstance(other, Change) or other._edit != self._edit or list(other._new) != list(self._new):
            return False
        self._new = other._new
        return True


class Replace(Step):
    """Another inspection in place of this one. Where both have the same text, one typed since stays as it is."""

    def __init__(self, session: Session, label: str, old: InputConfig, new: InputConfig, *, is_another: bool) -> None:
        super().__init__(session, label, is_another=is_another)
        self._old = old
        self._new = new
        self._keeps_text = all(getattr(old, name) == getattr(new, name) for name in NO_SOURCE)

    def redo(self) -> None:
        self._old, new = self._session.config, self._with_text_of_now(self._new)
        self._go(new, self._reached)

    def undo(self) -> None:
        self._go(self._with_text_of_now(self._old), self._left)

    def _with_text_of_now(self, config: InputConfig) -> InputConfig:
        if not self._keeps_text:
            return config
        now = self._session.config
        stated = (config.stated - NO_SOURCE.keys()) | (now.stated & NO_SOURCE.keys())
        sources: dict[str, Any] = {name: getattr(now, name) for name in NO_SOURCE}
        return replace(config, **sources, stated=stated)
