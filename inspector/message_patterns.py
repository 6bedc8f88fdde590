"""The error messages that are known, and what each can mean: one function a message."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector import checks

if TYPE_CHECKING:
    from collections.abc import Callable

    from inspector.diagnosis import Fault


class Candidate(NamedTuple):
    """A fault that can be behind a message: `code`, and how to tell that it is this one."""

    code: str
    when: str

    @property
    def fault(self) -> Fault:
        """The kind of fault in the catalogue; of several with this code the first."""
        return checks.find(self.code)[0]


class Pattern(NamedTuple):
    """An expression that recognises a message, and what reads its match: candidates, values, what to ask, an aside."""

    expression: re.Pattern[str]
    read: Callable[[re.Match[str], str], tuple[list[Candidate], dict[str, Any], str, str]]


PATTERNS: list[Pattern] = []


def message(expression: str) -> Callable[[Any], Any]:
    """Register a function that reads a message recognised by a regular expression."""

    def register(function: Any) -> Any:
        PATTERNS.append(Pattern(re.compile(expression), function))
        return function

    return register


# ---- which table -------------------------------------------------------------------------------------------------

# What a traceback's own lines of source call the tables: the last one named is the one that was asked.
_TABLE_WORDS = {
    "P401": r"\b(?:wpe|pos_emb|pos_embed|position_embedding\w*|embed_positions|positional_embedding|position_ids)\b",
    "G451": r"\b(?:token_type_embedding\w*|token_type_ids|segment_embedding\w*|segment_ids)\b",
    "E301": r"\b(?:wte|tok_emb|token_emb\w*|word_embedding\w*|embed_tokens|tok_embeddings|inputs?_embeds)\b",
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


def _lookup_faults(text: str) -> list[Candidate]:
    """Return the faults of a failed look-up; the table that the traceback's source lines name comes first."""
    places = {
        code: max((m.start() for m in re.finditer(words, text)), default=-1) for code, words in _TABLE_WORDS.items()
    }
    order = ["E301", "P401", "B211", "G451", "E302", "E303"]
    named = max(places, key=lambda code: places[code])
    if places[named] >= 0:
        order.remove(named)
        order.insert(0, named)
    found = [Candidate(code, _WHEN[code]) for code in order]
    if places[named] >= 0:
        found[0] = Candidate(named, f"{_WHEN[named]}; a line of the traceback names this table")
    return found


@message(r"index out of range: Tried to access index (\d+) out of table with (\d+) rows")
def _index_with_numbers(match: re.Match[str], text: str) -> Any:
    index, last = int(match[1]), int(match[2])  # torch before 1.6 counts the last row here, not the rows
    return (
        _lookup_faults(text),
        {"token_embedding.num_embeddings": last + 1},
        f"index {index} was asked for; {_ASK}",
        "",
    )


@message(r"index out of range in self")
def _index_out_of_range(match: re.Match[str], text: str) -> Any:
    return _lookup_faults(text), {}, _ASK, "PyTorch says these words for any table and for a negative ID alike"


@message(r"index (\d+) is out of bounds for dimension 0 with size (\d+)")
def _index_of_parameter(match: re.Match[str], text: str) -> Any:
    rows = int(match[2])
    found = [Candidate("P401", _WHEN["P401"]), Candidate("E301", _WHEN["E301"])]
    return found, {"position_embedding.num_embeddings": rows}, _ASK, "a table that is a parameter, indexed directly"


@message(
    r"srcIndex < srcSelectDimSize|indexSelect(?:Large|Small)Index|ind >= ?0 && ind < ind_dim_size"
    r"|index out of bounds: 0 <= .* < \d+"
)
def _device_assert_of_lookup(match: re.Match[str], text: str) -> Any:
    aside = (
        "on a GPU the look-up fails later than it happens, so the line in the traceback is often innocent: "
        "run once on the CPU, or with CUDA_LAUNCH_BLOCKING=1"
    )
    return _lookup_faults(text), {}, _ASK, aside


@message(r"t >= 0 && t < n_classes|Target (-?\d+) is out of bounds")
def _loss_target(match: re.Match[str], text: str) -> Any:
    aside = (
        "this is the loss speaking of a label, behind the model: a label is not a class of the output. The same IDs "
        "usually are the inputs, so look at the batch"
    )
    return [Candidate("E301", "the inputs hold the same ID, and the token table has no row for it")], {}, _ASK, aside


@message(r"device-side assert triggered")
def _device_assert(match: re.Match[str], text: str) -> Any:
    if re.search(r"srcIndex|n_classes|ind_dim_size", text):
        return [], {}, "", "the assertion itself is printed further up"
    aside = "the assertion that failed is printed above the traceback: paste that line too, or run once on the CPU"
    return _lookup_faults(text), {}, _ASK, aside


@message(r"Token indices sequence length is longer than the specified maximum sequence length .*?\((\d+) > (\d+)\)")
def _too_long_for_model(match: re.Match[str], text: str) -> Any:
    values = {"loader.max_length": int(match[1]), "position_embedding.num_embeddings": int(match[2])}
    return [Candidate("P401", _WHEN["P401"])], values, "cut the text: truncation=True, max_length=…", ""


# ---- sizes at the sum --------------------------------------------------------------------------------------------


@message(r"The size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension (\d+)")
def _sizes_at_the_sum(match: re.Match[str], text: str) -> Any:
    first, second, axis = int(match[1]), int(match[2]), int(match[3])
    if axis == 1:
        found = [
            Candidate("P401", f"a position table or slice of {second} rows meets {first} tokens"),
            Candidate("P407", "explicit positions are not one for each column"),
            Candidate("B212", "the batch's axes are exchanged"),
        ]
        values = {"position_embedding.num_embeddings": second, "loader.max_length": first}
        return found, values, "enter the position table's rows and the shape of the batch", ""
    if axis == 0:
        found = [Candidate("P405", "positions count samples"), Candidate("P407", "positions are of another batch")]
        return found, {}, "enter the shape of the batch and of the positions", ""
    found = [
        Candidate("E304", f"the embedding dim that was meant is {second}"),
        Candidate("P403", f"the embedding dim that was meant is {first}"),
        Candidate("P402", "the position layer's two arguments are exchanged"),
        Candidate("E302", "the token layer's two arguments are exchanged"),
        Candidate("S501", "nobody knows which of the two was meant"),
    ]
    values: dict[str, Any] = {
        "token_embedding.embedding_dim": first,
        "position_embedding.embedding_dim": second,
        "embedding_dim": None,
    }
    return found, values, "enter the embedding dim that was meant, and both constructors", ""


# ---- tensors of the wrong kind -----------------------------------------------------------------------------------

_DTYPES = {"": "float32", "Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16"}
_DTYPES |= {"Byte": "uint8", "Char": "int8", "Short": "int16", "UInt16": "uint16", "UInt32": "uint32", "Bool": "bool"}


@message(
    r"Expected tensor for argument #1 'indices' to have .*?scalar types?:? Long, Int; but got (?:torch\.)?(\w*?)Tensor"
)
def _dtype_of_ids(match: re.Match[str], text: str) -> Any:
    dtype = _DTYPES.get(match[1].removeprefix("CUDA").removeprefix("cuda."), "float32")
    floating = dtype.startswith(("float", "bfloat"))
    found = [Candidate("B207", f"the IDs are {dtype}") if floating else Candidate("B208", f"the IDs are {dtype}")]
    if floating:
        found.append(Candidate("T103", "the text was empty: torch.tensor([]) is float32"))
    return found, {"token_ids_dtype": dtype}, "enter the IDs, and look whether there are any", ""


@message(r"expected sequence of length (\d+) at dim 1 \(got (\d+)\)|stack expects each tensor to be equal size")
def _ragged(match: re.Match[str], text: str) -> Any:
    return [Candidate("B210", "the rows of the batch have different lengths")], {}, "enter the lists of IDs", ""


@message(r"not enough values to unpack \(expected 2, got 1\)|too many values to unpack \(expected 2\)")
def _unpacked_shape(match: re.Match[str], text: str) -> Any:
    found = [Candidate("B210", "the batch has one axis, or three, where the model takes two: B, T = ids.shape")]
    return found, {}, "enter the IDs with all their brackets", ""


# ---- text and loader ---------------------------------------------------------------------------------------------


@message(r"disallowed special token '([^']+)'|disallowed special token")
def _special_token(match: re.Match[str], text: str) -> Any:
    values = {"tokenizer.special_tokens": "refuse"}
    return [Candidate("T101", "the text holds the characters of a special token")], values, "enter the text", ""


@message(r"num_samples should be a positive integer value, but got num_samples=0")
def _no_samples(match: re.Match[str], text: str) -> Any:
    found = [Candidate("B202", "the text is too short for one window"), Candidate("T103", "the text is empty")]
    return found, {"loader.shuffle": True}, "enter the text, max_length and stride", ""


@message(r"batch_size should be a positive integer value, but got batch_size=(-?\d+)")
def _batch_size(match: re.Match[str], text: str) -> Any:
    found = [Candidate("B201", "batch_size is not a positive whole number")]
    return found, {"loader.batch_size": int(match[1])}, "enter the loader's arguments", ""


@message(r"range\(\) arg 3 must not be zero")
def _zero_stride(match: re.Match[str], text: str) -> Any:
    return [Candidate("B201", "stride is 0")], {"loader.stride": 0}, "enter the loader's arguments", ""


# ---- constructors ------------------------------------------------------------------------------------------------


@message(r"[Pp]adding_idx must be within num_embeddings")
def _padding(match: re.Match[str], text: str) -> Any:
    found = [Candidate("E306", "padding_idx is the ID of a token that was added to the tokenizer but not to the table")]
    return found, {}, "enter the table's rows and padding_idx", ""


@message(r"Trying to create tensor with negative dimension (-\d+): \[(-?\d+), (-?\d+)\]")
def _negative_size(match: re.Match[str], text: str) -> Any:
    values = {"token_embedding.num_embeddings": int(match[2]), "token_embedding.embedding_dim": int(match[3])}
    found = [Candidate("E305", "it is the token layer's"), Candidate("P408", "it is the position layer's")]
    return found, values, "enter both constructors", ""


@message(r"empty\(\) received an invalid combination of arguments|argument 'size' .*must be tuple of ints")
def _float_size(match: re.Match[str], text: str) -> Any:
    found = [Candidate("E305", "a size is a float, from a division with / instead of //")]
    return found, {}, "enter both constructors as they were called", ""


@message(r"must have the same dtype")
def _dtypes_differ(match: re.Match[str], text: str) -> Any:
    found = [Candidate("S502", "one table was converted to half precision and the other was not")]
    return found, {}, "enter both tables' dtypes", ""


# ---- files -------------------------------------------------------------------------------------------------------

_ROLE_WORDS = (("position_embedding", r"pos|wpe"), ("segment_embedding", r"type|seg"), ("token_embedding", r""))


@message(
    r"size mismatch for ([\w.]+): copying a param with shape torch\.Size\(\[([\d, ]*)\]\) from checkpoint, "
    r"the shape in current model is torch\.Size\(\[([\d, ]*)\]\)"
)
def _size_mismatch(match: re.Match[str], text: str) -> Any:
    stored, built = (tuple(int(n) for n in re.findall(r"\d+", match[i])) for i in (2, 3))
    section = next(section for section, words in _ROLE_WORDS if re.search(words, match[1]))
    values: dict[str, Any] = {}
    if len(built) == 2:
        values = {f"{section}.num_embeddings": built[0], f"{section}.embedding_dim": built[1]}
    if 0 in stored:
        found = [Candidate("F609", "the file was saved while the weights were partitioned")]
    elif stored == built[::-1]:
        found = [Candidate("F608", "the file stores the table with its axes exchanged")]
    else:
        found = []
        if stored[:1] != built[:1]:
            found.append(Candidate("F606", f"the file has {stored[0]} rows, the layer {built[0] if built else 'none'}"))
            found.append(Candidate("F610", "the file is one of several slices"))
        if stored[1:] != built[1:]:
            found.insert(0, Candidate("F607", f"the file is {stored[-1]} wide, the layer {built[-1] if built else 0}"))
    return found, values, "open the checkpoint beside the layers it is to go into", ""


@message(r"(Missing key\(s\)|Unexpected key\(s\)) in state_dict:?(.*)")
def _keys(match: re.Match[str], text: str) -> Any:
    found = [Candidate("F605", "the file has no such table")]
    if re.search(r"\"(?:module\.|_orig_mod\.)", text):
        found.insert(0, Candidate("F612", "the file's names carry a wrapper's prefix"))
    if re.search(r"lm_head|embed_tokens|wte|tok_emb|out_head", text):
        found.append(Candidate("F611", "the two tables are tied and only one was saved"))
    return found, {}, "open the checkpoint", ""


@message(r"Weights only load failed|weights_only")
def _pickle(match: re.Match[str], text: str) -> Any:
    return [Candidate("F604", "the file needs code to be opened")], {}, "open the checkpoint", ""


@message(r"deserializing header|failed finding central directory|PytorchStreamReader failed|not fully covered")
def _broken_file(match: re.Match[str], text: str) -> Any:
    found = [Candidate("F602", "the file is cut short: a download or a copy that did not finish")]
    found.append(Candidate("F603", "it is another kind of file, such as a pointer that stands for the real one"))
    return found, {}, "open the checkpoint", ""
