"""Messages of a look-up that failed: which table was asked is told by the traceback's own lines, if at all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from inspector.message_patterns import Candidate, N, Reading, message

if TYPE_CHECKING:
    from collections.abc import Iterator

# What source code and state dicts call the tables.
TABLES = {
    "P401": re.compile(r"(?<![a-z])(?:wpe|pos_emb|positions?_emb|embed_positions|positional_emb|W_pos)"),
    "G451": re.compile(r"(?<![a-z])(?:token_type|segment_emb|seg_emb|type_embeddings)"),
    "E301": re.compile(r"(?<![a-z])(?:wte|tok_emb|token_emb|word_emb|embed_tokens|embed_in\b|W_E\b)"),
}
ROWS = {
    "P401": "position_embedding.num_embeddings",
    "G451": "segment_embedding.num_embeddings",
    "E301": "token_embedding.num_embeddings",
}
_WHEN = {
    "E301": "the largest token ID is as large as the token table has rows, or larger",
    "P401": "the text is longer than the position table has rows (rows minus the offset, for RoBERTa and OPT)",
    "B211": "an ID is negative: -100 from the labels, -1 from padding",
    "G451": "segment IDs (token_type_ids) reach further than the segment table's rows",
    "E302": "the token layer's two arguments are exchanged",
    "E303": "the token and the position layer are exchanged",
}
_ASK = "enter the rows of both tables, and the token IDs of the batch that failed (or the text and the loader)"
_ON_A_GPU = (
    "on a GPU the look-up fails later than it happens, so the line in the traceback is often innocent: "
    "run once on the CPU, or with CUDA_LAUNCH_BLOCKING=1"
)

_LINES_OF_A_SNIPPET = 40  # of a text that is no whole traceback
_FRAME_LINE = re.compile(r"^[ \t]{0,20}File \"[^\"\n]{1,500}\", line \d{1,9}", re.MULTILINE)
_NOTEBOOK_ARROW = re.compile(r"^-{1,9}> {1,9}\d{1,9} (.{1,400})$", re.MULTILINE)
_UNDERLINE = re.compile(r"^ {1,400}[~^][~^ ]{0,400}$")
_CALLED = re.compile(r"([A-Za-z_]\w{0,60})(?:\.weight)?[(\[]")


@message(rf"index out of range: Tried to access index {N} out of table with {N} rows")
def _index_with_numbers(match: re.Match[str], text: str) -> Reading:
    named, found = _faults(text)
    rows = int(match[2]) + 1  # torch before 1.6 counts the last row here, not the rows
    return Reading(found, {ROWS[named or "E301"]: rows}, f"index {match[1]} was asked for; {_ASK}")


@message(r"index out of range in self")
def _index_out_of_range(match: re.Match[str], text: str) -> Reading:
    _, found = _faults(text)
    return Reading(found, {}, _ASK, "PyTorch says these words for any table and for a negative ID alike")


@message(rf"index {N} is out of bounds for (?:dimension|axis) 0 with size {N}")
def _index_of_parameter(match: re.Match[str], text: str) -> Reading:
    named, _ = _faults(text)
    codes = ["P401", "E301"] if named != "E301" else ["E301", "P401"]
    found = tuple(Candidate(code, _WHEN[code]) for code in codes)
    return Reading(found, {ROWS[codes[0]]: int(match[2])}, _ASK, "a table that is a parameter or an array is indexed")


@message(r"srcIndex < srcSelectDimSize|indexSelect(?:Large|Small)Index|ind ?>= ?0 && ind < ind_dim_size")
def _assert_of_lookup(match: re.Match[str], text: str) -> Reading:
    return Reading(_faults(text)[1], {}, _ASK, _ON_A_GPU)


@message(rf"index out of bounds: 0 <= [^\n]{{1,200}}? < {N}|[\"`]index out of bounds[\"`]")
def _assert_of_compiled_lookup(match: re.Match[str], text: str) -> Reading:
    named, found = _faults(text)
    values = {} if match[1] is None else {ROWS[named or "E301"]: int(match[1])}
    return Reading(found, values, _ASK, "the code that torch.compile made checks no better than this; " + _ON_A_GPU)


@message(rf"t >= 0 && t < n_classes|Target {N} is out of bounds")
def _loss_target(match: re.Match[str], text: str) -> Reading:
    negative = match[1] is not None and int(match[1]) < 0
    aside = (
        "this is the loss speaking of a label, behind the model: a label is not a class of the output. The same IDs "
        "usually are the inputs, so look at the batch"
    )
    found = [
        Candidate("E301", "the inputs hold the same ID, and the token table has no row for it"),
        Candidate("B211", "the inputs hold the same negative ID: padding or labels that reached them"),
    ]
    return Reading(tuple(found[::-1] if negative else found), {}, _ASK, aside)


@message(r"device-side assert triggered|CUBLAS_STATUS_(?:NOT_INITIALIZED|ALLOC_FAILED)")
def _device_assert(match: re.Match[str], text: str) -> Reading | None:
    if re.search(r"srcIndex|n_classes|ind_dim_size|[\"`]index out of bounds", text):
        return None  # the assertion itself is printed further up, and is read there
    aside = "the assertion that failed is printed above the traceback: paste that line too, or run once on the CPU"
    return Reading(_faults(text)[1], {}, _ASK, aside)


@message(rf"sequence length is longer than the specified maximum sequence length [^\n]{{0,80}}?\({N} > {N}\)")
def _too_long_for_model(match: re.Match[str], text: str) -> Reading:
    values = {"loader.max_length": int(match[1]), ROWS["P401"]: int(match[2])}
    ask = "enter the text; to cut it, give the tokenizer truncation=True and max_length"
    return Reading((Candidate("P401", _WHEN["P401"]),), values, ask)


# ---- which table -------------------------------------------------------------------------------------------------


def _faults(text: str) -> tuple[str | None, tuple[Candidate, ...]]:
    """Return the fault whose table the traceback names, if one does, and all faults of a look-up, that one first."""
    named = _named_table(text)
    codes = sorted(_WHEN, key=lambda code: code != named)
    found = [Candidate(code, _WHEN[code]) for code in codes]
    if named is not None:
        found[0] = Candidate(named, f"{_WHEN[named]}; a line of the traceback names this table")
    return named, tuple(found)


def _named_table(text: str) -> str | None:
    """Return the fault of the table that the innermost line with a table's name speaks of; None where it names two."""
    for line in _lines_of_source(text):
        called = " ".join(_CALLED.findall(line))
        for words in (called, line):
            named = [code for code, table in TABLES.items() if table.search(words)]
            if len(named) == 1:
                return named[0]
        if named:
            return None
    return None


def _lines_of_source(text: str) -> Iterator[str]:
    """Yield what a traceback shows as being run, the innermost first.

    A notebook marks the line among its neighbours with an arrow; Python underlines the part of it that failed.
    """
    arrows = _NOTEBOOK_ARROW.findall(text)
    if arrows:
        yield from reversed(arrows)
        return
    lines = text.splitlines()
    if not _FRAME_LINE.search(text):
        yield from reversed(lines[-_LINES_OF_A_SNIPPET:])
        return
    for i in range(len(lines) - 1, 0, -1):
        if _FRAME_LINE.match(lines[i - 1]):
            below = lines[i + 1] if i + 1 < len(lines) else ""
            if _UNDERLINE.match(below):
                start = len(below) - len(below.lstrip())
                yield lines[i][start : len(below)]
            yield lines[i]
