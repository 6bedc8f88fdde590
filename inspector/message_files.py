"""Messages of files that cannot be opened, or that hold other tables than the model has."""

from __future__ import annotations

import re
from typing import Any

from inspector.message_lookups import TABLES
from inspector.message_patterns import Candidate, Reading, message

_SECTIONS = {"P401": "position_embedding", "G451": "segment_embedding", "E301": "token_embedding"}
_HEAD = re.compile(r"(?<![a-z])(?:lm_head|out_head|embed_out|output_layer)")
_OPEN = "open the checkpoint beside the layers it is to go into"


@message(
    r"size mismatch for ([\w.]{1,200}): copying a param with shape torch\.Size\(\[([\d, ]{0,80})\]\) from checkpoint, "
    r"the shape in current model is torch\.Size\(\[([\d, ]{0,80})\]\)",
    each=True,
)
def _size_mismatch(match: re.Match[str], text: str) -> Reading:
    name = match[1]
    stored, built = ([int(n) for n in match[i].replace(",", " ").split()] for i in (2, 3))
    section = next((_SECTIONS[code] for code, table in TABLES.items() if table.search(name)), None)
    if section is None and not _HEAD.search(name):
        return Reading(aside=f"{name} is not a table of the input stage; where one is named too, begin there")
    values: dict[str, Any] = {}
    if section is not None and len(built) == 2:
        values = {
            "embedding_dim": built[1],
            f"{section}.num_embeddings": built[0],
            f"{section}.embedding_dim": built[1],
        }
    aside = "" if section else f"{name} is the output layer, whose rows are the token table's where the two are tied"
    return Reading(tuple(_of_shapes(stored, built)), values, _OPEN, aside)


def _of_shapes(stored: list[int], built: list[int]) -> list[Candidate]:
    if 0 in stored or not stored:
        return [Candidate("F609", "the file was saved while the weights were partitioned, and holds an empty table")]
    if stored == built[::-1] and stored != built:
        return [Candidate("F608", "the file stores the table with its axes exchanged")]
    found = []
    if stored[1:] != built[1:]:
        found.append(Candidate("F607", f"the file's rows have {_last(stored)} values, the layer's {_last(built)}"))
    if stored[:1] != built[:1]:
        found.append(Candidate("F606", f"the file has {stored[0]} rows, the layer {built[0] if built else 'none'}"))
        found.append(Candidate("F610", "the file is one of several slices of the table"))
    return found


def _last(shape: list[int]) -> str:
    return str(shape[-1]) if shape else "none"


@message(r"(?:Missing|Unexpected) key\(s\) in state_dict:? ([^\n]{0,100000})", each=True)
def _keys(match: re.Match[str], text: str) -> Reading | None:
    if match[0].startswith("Unexpected") and re.search(r"Missing key\(s\) in state_dict", text):
        return None  # the other half of the same message
    missing = Candidate("F605", "the file has no table of that name")
    found = [missing]
    if re.search(r"\"(?:module\.|_orig_mod\.|_forward_module\.)", text):
        found.insert(0, Candidate("F612", "the file's names carry a wrapper's prefix"))
    elif _HEAD.search(match[1]) and not any(table.search(match[1]) for table in TABLES.values()):
        found.insert(0, Candidate("F611", "the output layer and the token table are tied, and only one was saved"))
    elif TABLES["E301"].search(match[1]):
        found.append(Candidate("F611", "the output layer and the token table are tied, and only one was saved"))
    return Reading(tuple(found), {}, "open the checkpoint")


@message(r"Weights only load failed")
def _pickle(match: re.Match[str], text: str) -> Reading:
    code = Candidate("F604", "the file holds more than tensors, and needs code to be opened")
    other = Candidate("F603", "it is another kind of file, such as the pointer that Git LFS leaves in its place")
    is_other = re.search(r"Unsupported operand|invalid load key", text)
    return Reading((other, code) if is_other else (code, other), {}, "open the checkpoint")


@message(
    r"deserializing header|failed finding central directory|PytorchStreamReader failed"
    r"|(?m:^EOFError(?:: Ran out of input)?$)"
)
def _broken_file(match: re.Match[str], text: str) -> Reading:
    found = [
        Candidate("F602", "the file is cut short: a download or a copy that did not finish"),
        Candidate("F603", "it is another kind of file, such as the pointer that Git LFS leaves in its place"),
    ]
    if re.search(r"header too large|invalid header deserialization|InvalidHeader\b|HeaderTooLarge", text):
        found.reverse()  # the first eight bytes are no length at all
    return Reading(tuple(found), {}, "open the checkpoint")


@message(r"No such file or directory: ['\"]")
def _no_file(match: re.Match[str], text: str) -> Reading:
    return Reading((Candidate("F601", "the path is relative to another folder, or misspelt"),), {}, "open the file")
