"""The marks in the text: the shown batch, token by token, and the chosen token."""

from __future__ import annotations

from itertools import accumulate, repeat
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtGui import QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QTextEdit

from inspector import tokenizer
from inspector.ui.washed_editor import Wash

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inspector.diagnosis import Cell
    from inspector.passage import Passage
    from inspector.result import Grid, Result
    from inspector.tokenizer import Tokens
    from inspector.ui.text_editor import TextEditor
    from inspector.ui.theme import Colors

# More marks than these cost the editor more than half a frame; then whole runs of tokens are marked, or none.
MOST_MARKS = 200


class Span(NamedTuple):
    """The characters `start` to `end` - 1, which hold the token `token` (of a run of tokens, the first)."""

    token: int
    start: int
    end: int


def chosen_token(grid: Grid, cell: Cell | None) -> int | None:
    """Return which of the text's tokens is in a cell; None where none is."""
    if cell is None or not cell.row < len(grid.starts) or not cell.column < len(grid.rows[cell.row]):
        return None
    start = grid.starts[cell.row]
    return None if start is None else start + cell.column


def batch_runs(grid: Grid) -> list[tuple[int, int]]:
    """Return the runs (first, last + 1) of the text's tokens that a batch holds, in the order of the text."""
    pieces = [(s, s + len(ids)) for s, ids in zip(grid.starts, grid.rows, strict=True) if s is not None and ids]
    runs: list[tuple[int, int]] = []
    for first, last in sorted(pieces):
        if runs and first <= runs[-1][1]:
            runs[-1] = runs[-1][0], max(last, runs[-1][1])
        else:
            runs.append((first, last))
    return runs


def run_spans(tokens: Tokens, runs: Iterable[tuple[int, int]]) -> list[Span]:
    """Return the characters of whole runs of tokens."""
    return [Span(first, *tokens.span(first, last)) for first, last in runs]


def token_spans(tokens: Tokens, runs: Iterable[tuple[int, int]]) -> Iterator[Span]:
    """Yield the characters of each token of the runs; tokens that share a character both hold it.

    A long text is decoded once a run, not once a token.
    """
    if tokens.vocabulary is not None:  # its bytes may not be the text's
        yield from (Span(index, *tokens.span(index, index + 1)) for run in runs for index in range(*run))
        return
    vocabulary = tokenizer.gpt2().token_bytes
    for first, last in runs:
        start, end = tokens.span(first, last)
        data = tokens.text[start:end].encode()
        begun = list(accumulate((byte & 0xC0 != 0x80 for byte in data), initial=0))  # characters before each byte
        byte = _bytes_cut_off(data, vocabulary[tokens.ids[first]])
        for index in range(first, last):
            inside = byte < len(data) and data[byte] & 0xC0 == 0x80
            left = begun[byte] - inside
            byte += len(vocabulary[tokens.ids[index]])
            yield Span(index, start + left, start + begun[byte])


def _bytes_cut_off(data: bytes, first_token: bytes) -> int:
    """Return where in the run's first character its first token begins: 0 unless the character is split."""
    return next((i for i in range(4) if data.startswith(first_token, i)), 0)


class BatchMarks(NamedTuple):
    """The marks of a batch: what mutes the text around it, and a wash behind each token or each run of them."""

    muted: list[QTextEdit.ExtraSelection]
    washes: list[Wash]


def batch_marks(editor: TextEditor, first: int, result: Result, colors: Colors) -> BatchMarks:
    """Return the marks of the batch for an editor that shows the text from the character `first` on.

    Text outside the batch is muted, its tokens are washed in turns.
    """
    tokens = result.tokens
    assert tokens is not None
    runs = batch_runs(result.grid)
    if len(runs) > MOST_MARKS:
        return BatchMarks([], [])
    last = first + len(editor.text)

    def shown(spans: Iterable[tuple[int, int, int]]) -> Iterator[tuple[int, QTextCursor]]:
        for token, start, end in spans:
            start, end = max(start, first), min(end, last)
            if start < end:
                yield token, editor.selecting(start - first, end - first)

    whole = run_spans(tokens, runs)
    each = token_spans(tokens, runs) if sum(b - a for a, b in runs) <= MOST_MARKS else whole
    around = zip(repeat(0), [first, *(s.end for s in whole)], [*(s.start for s in whole), last])
    muted, colors_in_turns = _muted(colors), (colors.token_wash, colors.position_wash)
    return BatchMarks(
        [_mark(cursor, muted) for _, cursor in shown(around)],
        [Wash(cursor, colors_in_turns[token % 2]) for token, cursor in shown(each)],
    )


def chosen_mark(
    editor: TextEditor, first: int, result: Result, token: int, colors: Colors
) -> list[QTextEdit.ExtraSelection]:
    """Return the mark of the chosen token, which is underlined and bold; none where it is not in the editor."""
    assert result.tokens is not None
    start, end = result.tokens.span(token, token + 1)
    start, end = max(start, first), min(end, first + len(editor.text))
    return [_mark(editor.selecting(start - first, end - first), _chosen(colors))] if start < end else []


def passage_marks(editor: TextEditor, passage: Passage, grid: Grid, chosen: int, colors: Colors) -> BatchMarks:
    """Return the marks of a batch, and of the chosen token, in an editor that shows part of the text around them."""
    inside = [(max(a, passage.first), min(b, passage.last)) for a, b in batch_runs(grid)]
    runs = [(a, b) for a, b in inside if a < b]
    spans = [(passage.span(a)[0], passage.span(b - 1)[1]) for a, b in runs]
    starts, ends = [0, *(end for _, end in spans)], [*(start for start, _ in spans), len(passage.text)]
    muted = [_mark(editor.selecting(a, b), _muted(colors)) for a, b in zip(starts, ends, strict=True) if a < b]
    in_turns = (colors.token_wash, colors.position_wash)
    tokens = [token for run in runs for token in range(*run)] if sum(b - a for a, b in runs) <= MOST_MARKS else []
    washes = [Wash(editor.selecting(*passage.span(token)), in_turns[token % 2]) for token in tokens]
    start, end = passage.span(chosen)
    over = [_mark(editor.selecting(start, end), _chosen(colors))] if start < end else []
    return BatchMarks(muted + over, washes)


def _mark(cursor: QTextCursor, look: QTextCharFormat) -> QTextEdit.ExtraSelection:
    mark = QTextEdit.ExtraSelection()
    mark.cursor = cursor
    mark.format = look
    return mark


def _muted(colors: Colors) -> QTextCharFormat:
    look = QTextCharFormat()
    look.setForeground(colors.muted)
    return look


def _chosen(colors: Colors) -> QTextCharFormat:
    look = QTextCharFormat()
    look.setBackground(colors.accent_wash)
    look.setForeground(colors.text)
    look.setFontUnderline(True)
    look.setUnderlineColor(colors.accent)
    return look
