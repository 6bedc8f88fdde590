"""Messages of sizes and types that do not fit: at the sum, in the IDs, in the loader, in the constructors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.message_patterns import Candidate, N, Reading, message

if TYPE_CHECKING:
    import re

_HARDLY_A_WIDTH = 16  # a context length, more likely
_HARDLY_A_ROW = 16_384  # values; a vocabulary, more likely


# ---- sizes at the sum and behind it ------------------------------------------------------------------------------


@message(rf"The size of tensor a \({N}\) must match the size of tensor b \({N}\) at non-singleton dimension {N}")
def _sizes_at_the_sum(match: re.Match[str], text: str) -> Reading:
    first, second, axis = int(match[1]), int(match[2]), int(match[3])
    if axis == 1:
        return _columns_differ(first, second)
    if axis == 0:
        found = [
            Candidate("P405", "positions count samples"),
            Candidate("P407", "positions are of another batch"),
            Candidate("B210", "the IDs are one list: their first axis is the position then"),
        ]
        return Reading(tuple(found), {}, "enter the shape of the batch and of the positions")
    return _widths_differ(first, second)


def _columns_differ(tokens: int, positions: int) -> Reading:
    short = Candidate("P401", f"a position table or a slice of it has {positions} rows for {tokens} tokens")
    explicit = Candidate("P407", f"{positions} positions are looked up for {tokens} tokens")
    found = [short, explicit] if positions < tokens else [explicit, short]
    found.append(Candidate("B212", "the batch's axes are exchanged"))
    values: dict[str, Any] = {"position_embedding.num_embeddings": positions, "loader.max_length": tokens}
    if tokens < positions:
        values["positions"] = tuple(range(positions))
    return Reading(tuple(found), values, "enter the position table's rows and the shape of the batch")


def _widths_differ(token: int, position: int) -> Reading:
    found = [
        Candidate("E304", f"the embedding dim that was meant is {position}"),
        Candidate("P403", f"the embedding dim that was meant is {token}"),
        Candidate("P402", "the position layer's two arguments are exchanged"),
        Candidate("E302", "the token layer's two arguments are exchanged"),
        Candidate("S501", "nobody knows which of the two was meant"),
    ]
    likeliest = "E302" if token > _HARDLY_A_ROW else "P402" if position < _HARDLY_A_WIDTH <= token else ""
    found.sort(key=lambda candidate: candidate.code != likeliest)
    values = {
        "embedding_dim": None,
        "token_embedding.embedding_dim": token,
        "position_embedding.embedding_dim": position,
    }
    return Reading(tuple(found), values, "enter the embedding dim that was meant, and both constructors")


@message(
    rf"mat1 and mat2 shapes cannot be multiplied \({N}x{N} and {N}x{N}\)"
    rf"|Given normalized_shape=\[{N}\], expected input with shape [^\n]{{1,80}}?but got input of size ?"
    rf"\[[\d, ]{{0,80}}?{N}\]"
)
def _width_of_what_follows(match: re.Match[str], text: str) -> Reading:
    got, wanted = (match[2], match[3]) if match[2] is not None else (match[6], match[5])
    values = {
        "embedding_dim": int(wanted),
        "token_embedding.embedding_dim": int(got),
        "position_embedding.embedding_dim": int(got),
    }
    found = [
        Candidate("E304", f"the layers behind take {wanted} values, the token table gives {got}"),
        Candidate("P403", f"the layers behind take {wanted} values, the position table gives {got}"),
    ]
    aside = "a layer behind the input stage speaks; where that is the first one, the tables' width is at fault"
    return Reading(tuple(found), values, "enter both constructors and the embedding dim that was meant", aside)


# ---- IDs of the wrong kind ---------------------------------------------------------------------------------------

_FLOATS = {"Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16"}
_FLOATS |= {"ComplexFloat": "complex64", "ComplexDouble": "complex128"}
_WHOLE = {"Byte": "uint8", "Char": "int8", "Short": "int16", "Int": "int32", "Bool": "bool"}
_WHOLE |= {"UInt16": "uint16", "UInt32": "uint32", "UInt64": "uint64"}
_NARROW = ("uint8", "int8", "int16", "uint16")


@message(
    r"Expected tensor for argument #1 'indices' to have [^\n]{0,40}?scalar types?:? (Long, Int|Long); "
    r"but got (?:torch\.)?(?:cuda\.|CUDA|CPU|MPS)?(\w{0,40}?)(?:Tensor|Type)\b"
)
def _dtype_of_ids(match: re.Match[str], text: str) -> Reading:
    name = match[2]
    dtype = _FLOATS.get(name) or _WHOLE.get(name, "")
    found = []
    if name not in _WHOLE:
        found.append(Candidate("B207", f"the IDs are {dtype or 'no whole numbers'}"))
    if name not in _FLOATS:
        found.append(Candidate("B208", f"the IDs are {dtype or 'of a type that no table takes'}"))
    if dtype in ("float32", ""):
        found.append(Candidate("T103", "the text was empty: torch.tensor([]) is float32"))
    if dtype in _NARROW:
        found.append(Candidate("B209", f"some IDs were larger than {dtype} can hold when they were stored as such"))
    if dtype == "int32":
        return Reading(tuple(found), {}, "", "PyTorch before 1.8 takes int64 alone: ids.long()")
    values = {"token_ids_dtype": dtype} if dtype else {}
    return Reading(tuple(found), values, "enter the IDs, and look whether there are any")


@message(r"argument 'indices' \(position \d{1,3}\) must be Tensor, not (\w{1,40})")
def _no_tensor(match: re.Match[str], text: str) -> Reading:
    return Reading(aside=f"the layer was given a {match[1]}: make it a tensor, torch.tensor(ids)")


@message(
    r"expected sequence of length \d{1,18} at dim \d{1,3} \(got \d{1,18}\)|stack expects each tensor to be equal size"
    r"|has an inhomogeneous shape after \d{1,3} dimensions|Unable to create tensor, you should probably activate"
)
def _ragged(match: re.Match[str], text: str) -> Reading:
    found = Candidate("B210", "the rows of the batch have different lengths: pad or cut them")
    return Reading((found,), {}, "enter the lists of IDs")


@message(r"not enough values to unpack \(expected 2, got 1\)|too many values to unpack \(expected 2")
def _unpacked_shape(match: re.Match[str], text: str) -> Reading:
    found = Candidate("B210", "the batch has one axis, or three, where the model takes two: B, T = ids.shape")
    return Reading((found,), {}, "enter the IDs with all their brackets")


# ---- text and loader ---------------------------------------------------------------------------------------------


@message(r"disallowed special token")
def _special_token(match: re.Match[str], text: str) -> Reading:
    found = Candidate("T101", "the text holds the characters of a special token")
    return Reading((found,), {"tokenizer.special_tokens": "refuse"}, "enter the text")


@message(r"num_samples should be a positive integer value, but got num_samples=0")
def _no_samples(match: re.Match[str], text: str) -> Reading:
    found = (Candidate("B202", "the text is too short for one window"), Candidate("T103", "the text is empty"))
    return Reading(found, {"loader.shuffle": True}, "enter the text, max_length and stride")


@message(r"batch_size should be a positive integer value, but got batch_size=(-?\d{1,18}(?:\.\d{1,18})?)")
def _batch_size(match: re.Match[str], text: str) -> Reading:
    size = float(match[1]) if "." in match[1] else int(match[1])
    is_text = isinstance(size, int) and size > 0  # printed without the quotes that were at fault
    found = Candidate("B201", "batch_size is a text" if is_text else "batch_size is not a positive whole number")
    return Reading((found,), {} if is_text else {"loader.batch_size": size}, "enter the loader's arguments")


@message(r"range\(\) arg 3 must not be zero")
def _zero_stride(match: re.Match[str], text: str) -> Reading:
    return Reading((Candidate("B201", "stride is 0"),), {"loader.stride": 0}, "enter the loader's arguments")


@message(r"'float' object cannot be interpreted as an integer")
def _float_in_range(match: re.Match[str], text: str) -> Reading:
    found = Candidate("B201", "max_length or stride is a float, from a division with / instead of //")
    return Reading((found,), {}, "enter the loader's arguments as they were given")


# ---- constructors ------------------------------------------------------------------------------------------------


@message(r"[Pp]adding_idx must be within num_embeddings")
def _padding(match: re.Match[str], text: str) -> Reading:
    found = (
        Candidate("E306", "padding_idx is the ID of a token that was added to the tokenizer but not to the table"),
        Candidate("P408", "it is the position layer's, which has fewer rows"),
    )
    return Reading(found, {}, "enter both tables' rows and padding_idx")


@message(rf"Trying to create tensor with negative dimension {N}: \[{N}, {N}\]")
def _negative_size(match: re.Match[str], text: str) -> Reading:
    values = {"token_embedding.num_embeddings": int(match[2]), "token_embedding.embedding_dim": int(match[3])}
    found = (Candidate("E305", "it is the token layer's"), Candidate("P408", "it is the position layer's"))
    return Reading(found, values, "enter both constructors")


@message(r"empty\(\) received an invalid combination of arguments|empty\(\): argument 'size' ")
def _float_size(match: re.Match[str], text: str) -> Reading:
    found = (
        Candidate("E305", "a size is a float, from a division with / instead of //, or a text, or None"),
        Candidate("P408", "it is a size of the position layer's"),
    )
    return Reading(found, {}, "enter both constructors as they were called")


@message(r"self indexing axis dim should be positive")
def _no_rows(match: re.Match[str], text: str) -> Reading:
    found = (
        Candidate("E305", "the token table was made with 0 rows"),
        Candidate("P408", "the position table was made with 0 rows"),
        Candidate("F609", "the table is empty because it was saved or gathered while the weights were partitioned"),
    )
    return Reading(found, {}, "enter the rows of both tables")


@message(
    r"(?:must|to) have the same dtype|mixed dtype \(CPU\): expect parameter to have scalar type"
    r"|expected scalar type \w{1,20} but found \w{1,20}"
)
def _dtypes_differ(match: re.Match[str], text: str) -> Reading:
    found = Candidate("S502", "one table was converted to half precision and the other was not")
    return Reading((found,), {}, "enter both tables' dtypes")
