"""The sign, word and colour of each severity and state, one set for all widgets: colour is never alone."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from inspector.diagnosis import Severity, Status

if TYPE_CHECKING:
    from PySide6.QtGui import QColor

    from inspector.diagnosis import Diagnosis
    from inspector.ui.theme import Colors

SIGNS = {Severity.ERROR: "▲", Severity.WARNING: "△", Severity.NOTE: "•"}
WORDS = {Severity.ERROR: "fault", Severity.WARNING: "warning", Severity.NOTE: "note"}
STATUS_SIGNS = {Status.OK: "✓", Status.FAULT: "▲", Status.BLOCKED: "–", Status.UNUSED: ""}

_ARGUMENTS = {
    "token_embedding.num_embeddings": "vocab_size",
    "position_embedding.num_embeddings": "context_length",
    "token_embedding.embedding_dim": "output_dim of tok_emb",
    "position_embedding.embedding_dim": "output_dim of pos_emb",
    "embedding_dim": "the embedding dim",
}
_LAYERS = {"token_embedding": "tok_emb", "position_embedding": "pos_emb", "segment_embedding": "seg_emb"}


def color(colors: Colors, severity: Severity) -> QColor:
    """Return what a severity's sign and outline are drawn in."""
    return {Severity.ERROR: colors.fault, Severity.WARNING: colors.warning, Severity.NOTE: colors.muted}[severity]


def wash(colors: Colors, severity: Severity) -> QColor:
    """Return what lies behind a thing of this severity."""
    return {Severity.ERROR: colors.fault_wash, Severity.WARNING: colors.warning_wash, Severity.NOTE: colors.field}[
        severity
    ]


def status_color(colors: Colors, status: Status) -> QColor:
    """Return what a state's sign is drawn in."""
    return {Status.OK: colors.ok, Status.FAULT: colors.fault}.get(status, colors.muted)


def argument(field: str) -> str:
    """Return a field of the inspection file as the course names it: "vocab_size", "stride"."""
    if field in _ARGUMENTS:
        return _ARGUMENTS[field]
    section, _, name = field.rpartition(".")
    return f"{name} of {_LAYERS[section]}" if section in _LAYERS else name


def path(diagnosis: Diagnosis) -> str:
    """Return the whole path of the file a diagnosis is about; "" where it is about no file."""
    subject = diagnosis.subject or ""
    return subject if PurePath(subject).is_absolute() else ""


def message(diagnosis: Diagnosis) -> str:
    """Return the message with a file's name in place of its path, which may be long."""
    whole = path(diagnosis)
    return diagnosis.message.replace(whole, PurePath(whole).name) if whole else diagnosis.message


def sentence(diagnosis: Diagnosis) -> str:
    """Return the message with a capital, unless its first word is Python's (`stride is 0`)."""
    words = message(diagnosis)
    first = words.split(" ", 1)[0]
    names = {argument(field).split(" ", 1)[0] for field in diagnosis.fields}
    if not first.isalpha() or first in names - {"the"} or first in _LAYERS.values():
        return words
    return words[:1].upper() + words[1:]


def advice(diagnosis: Diagnosis) -> str:
    """Return the help as a sentence."""
    text = diagnosis.help[:1].upper() + diagnosis.help[1:]
    return f"{text}." if text and text[-1] not in ".?!" else text


def repair(diagnosis: Diagnosis) -> str:
    """Return what a diagnosis's fix does: "Set vocab_size to 50257 and stride to 4"."""
    steps = [f"{argument(field)} to {value!r}" for field, value in (diagnosis.fix or {}).items()]
    return "Set " + " and ".join(filter(None, (", ".join(steps[:-1]), steps[-1]))) if steps else ""
