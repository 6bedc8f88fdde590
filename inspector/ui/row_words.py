"""What the rows of a cell are called, and why one of them cannot be shown: the words in the plots, without Qt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from inspector import tokenizer
from inspector.diagnosis import Severity, Stage
from inspector.recipe import Role, StoredTable
from inspector.ui import marks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inspector.config import InputConfig
    from inspector.diagnosis import Cell
    from inspector.result import Result
    from inspector.trace import Kind

LONGEST_TOKEN = 24  # characters of a token's text in a title


@dataclass(frozen=True, slots=True)
class Absence:
    """Why a row is not shown. `fault` where something is wrong, not merely late or absent by design."""

    words: str
    fault: bool = False


def heading(result: Result | None, cell: Cell | None) -> str:
    """Return what the panel is called."""
    if result is None or cell is None:
        return "Rows"
    return f"Sample {result.grid.samples[cell.row]}, position {cell.column}"


def titles(result: Result | None, cell: Cell | None) -> dict[Kind, str]:
    """Return what each row is called, as Python writes it."""
    if result is None or cell is None:
        return {"token": "tok_emb.weight", "position": "pos_emb.weight", "sum": "tok_emb.weight + pos_emb.weight"}
    token_id = result.grid.rows[cell.row][cell.column]
    token = _row_of(result, Role.TOKEN, token_id)
    terms = [token]
    if result.config.segment_embedding is not None:
        terms.append(_row_of(result, Role.SEGMENT, 0))
    if result.config.position_embedding is None:
        position = "no position table" if result.material.checkpoint is not None else "no pos_emb"
    else:
        row = position_row(result, cell)
        position = _row_of(result, Role.POSITION, "…" if row is None else row)
        terms.append(position)
    added = " + ".join(terms) if len(terms) > 1 else f"{token}, nothing added"
    tied = " (tied)" if _is_tied(result) else ""
    return {"token": token + tied + _token_text(result.config, token_id), "position": position, "sum": added}


_NAMES = {Role.TOKEN: "tok_emb.weight", Role.POSITION: "pos_emb.weight", Role.SEGMENT: "seg_emb.weight"}


def _row_of(result: Result, role: Role, row: float | str) -> str:
    """Return a row as Python writes it: by the tensor's own name where it lies in a file."""
    recipe = result.recipe
    layer = {Role.TOKEN: recipe.token, Role.POSITION: recipe.position, Role.SEGMENT: recipe.segment}[role]
    if not isinstance(layer, StoredTable):
        return f"{_NAMES[role]}[{row}]"
    return f"{layer.name}[:, {row}]" if layer.transposed else f"{layer.name}[{row}]"


def _is_tied(result: Result) -> bool:
    checkpoint = result.material.checkpoint
    return checkpoint is not None and checkpoint.found.token is not None and checkpoint.found.token.tied


def origin(result: Result) -> str:
    """Return where the rows come from: "seed 123 · float32 · fresh layers", or a file and how it stores them."""
    config, checkpoint = result.config, result.material.checkpoint
    if result.material.live is not None:
        stored = dict.fromkeys(layer.dtype for layer in result.recipe.layers if layer is not None)
        return " · ".join(filter(None, ("rows of the live model", " and ".join(stored))))
    found = [] if checkpoint is None else [t for role in Role if (t := checkpoint.found.table(role)) is not None]
    if checkpoint is None or not found:
        dtypes = dict.fromkeys(layer.dtype for layer in (config.token_embedding, config.position_embedding) if layer)
        if config.checkpoint is not None:
            return "no rows"  # none are made up for a file that has none
        return f"seed {config.seed} · {' and '.join(dtypes)} · fresh layers"
    stored = dict.fromkeys(f"{t.dtype}, dequantised" if t.quantised else t.dtype for t in found)
    roles = {t.role for t in found}
    missing = "no position rows" if Role.POSITION not in roles and config.position_embedding is not None else ""
    return " · ".join(filter(None, (f"rows of {checkpoint.opened.path.name}", " and ".join(stored), missing)))


def position_row(result: Result, cell: Cell) -> int | float | None:
    """Return the row of the position table that a cell looks up; None where there is not one for each column."""
    config = result.config
    given: Any = config.positions
    if given is None:
        offset = config.position_embedding.offset if config.position_embedding else 0
        return offset + config.past_length + cell.column
    if given and isinstance(given[0], tuple):
        given = given[min(cell.row, len(given) - 1)] if len(given) in (1, len(result.grid.rows)) else ()
    if len(given) != max(map(len, result.grid.rows)) or isinstance(given[cell.column], tuple):
        return None
    row: int | float = given[cell.column]
    return row


def absence(result: Result, cell: Cell, kind: Kind) -> Absence | None:
    """Return why the verdict leaves a cell without this row; None where there is one to look up."""
    if kind == "token":
        return _no_token_row(result, cell)
    if kind == "position":
        return _no_position_row(result, cell)
    return _no_sum(result, cell)


def _no_token_row(result: Result, cell: Cell) -> Absence | None:
    if result.recipe.token is None:
        return Absence(
            _verdict(result, Stage.TOKEN_EMBEDDING, Stage.FILE) or "the token table cannot be built", fault=True
        )
    return _outside("ID", result.grid.rows[cell.row][cell.column], result.config.token_embedding.num_embeddings)


def _no_position_row(result: Result, cell: Cell) -> Absence | None:
    layer = result.config.position_embedding
    if layer is None:
        return Absence("this model has no position table: the sum is the token row")
    verdict = _verdict(result, Stage.POSITION_EMBEDDING, Stage.FILE)
    if result.recipe.position is None:
        return Absence(verdict or "the position table cannot be built", fault=True)
    row = position_row(result, cell)
    if row is None:
        return Absence(verdict or "the positions given are not one for each column", fault=True)
    return _outside("position", row, layer.num_embeddings)


def _no_sum(result: Result, cell: Cell) -> Absence | None:
    config = result.config
    if config.token_embedding.project_to is not None:
        widths = f"{config.token_embedding.embedding_dim} to {config.token_embedding.project_to} values"
        return Absence(f"a projection from {widths} comes before the sum: it is not part of this inspection")
    for kind, missing in (("token", _no_token_row(result, cell)), ("position", _no_position_row(result, cell))):
        if missing is not None and missing.fault:
            return Absence(f"blocked: there is no {kind} row to add")
    token = config.token_embedding.embedding_dim
    position = config.position_embedding.embedding_dim if config.position_embedding is not None else token
    segment = config.segment_embedding.embedding_dim if config.segment_embedding is not None else token
    for width, words in (
        (position, f"{token} and {position} values cannot be added"),
        (segment, f"the segment row is {segment} wide and cannot be added to {token} values"),
    ):
        if width != token and 1 in (token, width):
            return Absence(f"{token} and {width} values: PyTorch repeats the one value and says nothing", fault=True)
        if width != token:
            return Absence(words, fault=True)
    return None


def _outside(what: str, index: int | float, rows: int | float | None) -> Absence | None:
    if not isinstance(index, int):
        return Absence(f"{what} {index} is not a whole number: it has no row", fault=True)
    if isinstance(rows, int) and not 0 <= index < rows:
        return Absence(f"{what} {index} has no row: rows are 0 to {rows - 1}", fault=True)
    return None


def _verdict(result: Result, *stages: Stage) -> str | None:
    """Return the message of an error in the first of these stages that has one."""
    errors = [d for d in result.diagnoses if d.severity is Severity.ERROR]
    return next((marks.message(d) for stage in stages for d in errors if d.stage is stage), None)


def _token_text(config: InputConfig, token_id: int | float) -> str:
    if not isinstance(token_id, int):
        return ""
    data = tokenizer.token_bytes(config.tokenizer.encoding, token_id)
    if data is None:
        return ""
    text = tokenizer.visible(data)
    if len(text) > LONGEST_TOKEN:
        text = text[: LONGEST_TOKEN - 1] + "…"
    return f'  "{text}"'


def statistics(values: NDArray[Any], *, count: bool) -> tuple[str, bool]:
    """Return the extremes, mean and norm of a row in words, computed in float64, and whether a value is not finite.

    `count` puts the number of values first.
    """
    exact = values.astype(np.float64)
    finite = np.isfinite(exact)
    words = [f"{len(values)} values"] if count else []
    sound = bool(finite.all())
    if not sound:
        nan = int(np.isnan(exact).sum())
        infinite = len(exact) - int(finite.sum()) - nan
        words += [f"{n} {name}" for n, name in ((nan, "NaN"), (infinite, "infinite")) if n]
        exact = exact[finite]
    if len(exact):
        figures = {"min": exact.min(), "mean": exact.mean(), "max": exact.max(), "norm": np.sqrt(exact @ exact)}
        words += [f"{name} {_figure(value)}" for name, value in figures.items()]
    return "   ".join(words), not sound


def _figure(value: float) -> str:
    return f"{value:.3f}".replace("-", "−") if 0.01 <= abs(value) < 1000 else f"{value:.3g}".replace("-", "−")


def exact(value: Any) -> str:
    """Return the shortest digits that stand for exactly this float32 (or float64)."""
    return str(value).replace("-", "−")
