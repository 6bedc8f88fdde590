"""A result in words: the text report, the JSON report (schema 1), and what a notebook shows."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from inspector.diagnosis import Severity, Stage, Status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inspector.diagnosis import Diagnosis, StageShape
    from inspector.result import Result

SCHEMA = 1
MARKS = {Severity.ERROR: "✗", Severity.WARNING: "!", Severity.NOTE: "·"}
STAGE_NAMES = {
    Stage.FILE: "File",
    Stage.MODEL: "Model",
    Stage.TOKENIZER: "Tokenizer",
    Stage.DATA_LOADER: "Data loader",
    Stage.TOKEN_EMBEDDING: "Token embedding",
    Stage.POSITION_EMBEDDING: "Position embedding",
    Stage.SEGMENT_EMBEDDING: "Segment embedding",
    Stage.SUM: "Sum",
}
_SHOWN_CELLS = 6


def as_mapping(result: Result) -> dict[str, Any]:
    """Return the report as plain values: the JSON report's keys in their order."""
    return {
        "schema": SCHEMA,
        "ok": result.ok,
        "shapes": [
            {
                "stage": str(s.stage),
                "input": _listed(s.input),
                "table": _listed(s.table),
                "output": _listed(s.output),
                "status": str(s.status),
            }
            for s in result.shapes
        ],
        "diagnoses": [
            {
                "code": d.code,
                "name": d.name,
                "stage": str(d.stage),
                "severity": str(d.severity),
                "message": d.message,
                "help": d.help,
                "torch": d.torch,
                "cells": [list(cell) for cell in d.cells],
                "fields": list(d.fields),
                "fix": dict(d.fix) if d.fix is not None else None,
                "subject": d.subject,
                "data": {key: _plain(value) for key, value in d.data.items()},
            }
            for d in result.diagnoses
        ],
    }


def json_text(result: Result) -> str:
    """Return the report as JSON, in ASCII."""
    return json.dumps(as_mapping(result), indent=2)


def text(result: Result) -> str:
    """Return the report as text for a terminal."""
    lines = [summary(result), *_live_notes(result), ""]
    lines += [_shape_line(s) for s in result.shapes if s.status is not Status.UNUSED]
    for d in result.diagnoses:
        lines += ["", *_diagnosis_lines(d)]
    return "\n".join(lines)


def _live_notes(result: Result) -> tuple[str, ...]:
    """Return how the layers of a live model were found, and what the model does beside look-ups and a sum."""
    live = result.material.live
    return () if live is None else tuple(filter(None, (live.how, *live.notes)))


def summary(result: Result) -> str:
    """Return one line on what was found: "No fault found", "1 error, 2 notes"."""
    counts = count_words(result.diagnoses)
    if not result.ok:
        return counts
    return f"No fault found ({counts})" if counts else "No fault found"


def count_words(diagnoses: Iterable[Diagnosis]) -> str:
    """Return how many there are of each severity: "1 error, 2 notes"."""
    found = [d.severity for d in diagnoses]
    parts = []
    for severity in Severity:
        if number := found.count(severity):
            parts.append(f"{number} {severity}" + ("" if number == 1 else "s"))
    return ", ".join(parts)


def shape_words(shape: tuple[int, ...] | None) -> str:
    """Return a shape as Python writes it, "–" where there is none."""
    return "–" if shape is None else str(shape)


def _shape_line(s: StageShape) -> str:
    mark = {Status.OK: "✓", Status.FAULT: "✗", Status.BLOCKED: "–"}[s.status]
    table = f"  table {shape_words(s.table)}" if s.table else ""
    went = f"{shape_words(s.input)} → {shape_words(s.output)}" if s.status is not Status.BLOCKED else "blocked"
    return f"{mark} {STAGE_NAMES[s.stage]:<18} {went}{table}"


def _diagnosis_lines(d: Diagnosis) -> list[str]:
    lines = [f"{MARKS[d.severity]} {d.severity} {d.code} {d.name} ({STAGE_NAMES[d.stage]})", f"  {d.message}"]
    lines.append(f"  help: {d.help}")
    if d.fix:
        lines.append("  fix: " + ", ".join(f"{field} = {_short(value)}" for field, value in d.fix.items()))
    if d.cells:
        shown = ", ".join(f"({c.row}, {c.column})" for c in d.cells[:_SHOWN_CELLS])
        rest = len(d.cells) - _SHOWN_CELLS
        lines.append(f"  cells: {shown}" + (f" and {rest} more" if rest > 0 else ""))
    lines.append(f"  PyTorch says: {d.torch}")
    return lines


def _short(value: Any) -> str:
    words = json.dumps(value)
    return words if len(words) <= 60 else words[:57] + "…"


def html(result: Result) -> str:
    """Return the report as HTML for a notebook: plain tables that follow the notebook's own colours."""
    from html import escape

    rows = "".join(
        f"<tr><td>{escape(STAGE_NAMES[s.stage])}</td><td>{escape(shape_words(s.input))}</td>"
        f"<td>{escape(shape_words(s.table))}</td><td>{escape(shape_words(s.output))}</td><td>{escape(s.status)}</td></tr>"
        for s in result.shapes
        if s.status is not Status.UNUSED
    )
    found = "".join(
        f"<li>{MARKS[d.severity]} <b>{escape(d.message)}</b><br>{escape(d.help)}<br>"
        f"<small>{escape(d.code)} {escape(d.name)} · PyTorch says: {escape(d.torch)}</small></li>"
        for d in result.diagnoses
    )
    head = "<tr><th>stage</th><th>input</th><th>table</th><th>output</th><th>state</th></tr>"
    notes = "".join(f"<p>{escape(note)}</p>" for note in _live_notes(result))
    return f"<p><b>{escape(summary(result))}</b></p>{notes}<table>{head}{rows}</table><ul>{found}</ul>"


def _plain(value: Any) -> Any:
    """Return a value of a diagnosis's data as JSON can say it, which has no word for NaN and infinity."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _listed(shape: tuple[int, ...] | None) -> list[int] | None:
    return None if shape is None else list(shape)
