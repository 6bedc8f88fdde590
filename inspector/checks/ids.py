"""Faults of a batch of IDs as a tensor: its dtype, rank, axes and signs, before any table is asked."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from inspector.checks import words
from inspector.checks.registry import fault
from inspector.diagnosis import Cell, Stage
from inspector.id_tensor import INDEX_DTYPES, INTEGER_DTYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from inspector.diagnosis import Diagnosis, Fault
    from inspector.facts import Facts

_WANTED = "RuntimeError: Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int"


_OLD_TYPES = {
    "float32": "Float",
    "float64": "Double",
    "float16": "Half",
    "uint8": "Byte",
    "int8": "Char",
    "int16": "Short",
}
_NEW_TYPES = {
    "bool": "Bool",
    "bfloat16": "BFloat16",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
    "uint16": "UInt16",
    "uint32": "UInt32",
    "uint64": "UInt64",
}


def _torch_type(dtype: str) -> str:
    """Return what torch calls a tensor of this dtype when it refuses it."""
    if dtype in _OLD_TYPES:
        return f"torch.{_OLD_TYPES[dtype]}Tensor"
    return f"CPU{_NEW_TYPES.get(dtype, dtype.capitalize())}Type"


def _refusal(dtype: str) -> str:
    return f"{_WANTED}; but got {_torch_type(dtype)} instead (while checking arguments for embedding)"


@fault(
    code="B207",
    name="ids-not-integer",
    stage=Stage.DATA_LOADER,
    torch=_WANTED,
    example={"token_ids": [[464, 582, 318, 257]], "token_ids_dtype": "float32"},
)
def ids_not_integer(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The IDs are not whole numbers, or lie in a tensor of a floating dtype.

    A look-up needs int64 (Long) or int32 (Int). IDs become floats when they went through `torch.Tensor(ids)` (capital
    T: always float32) or `torch.zeros(...)`, through NumPy's or pandas' default dtype, through arithmetic such as a
    mean or a division, or when the list was empty: `torch.tensor([])` is float32.

    Above 16,777,216 float32 cannot even hold every whole number; float16 loses them above 2,048.

        ids = torch.tensor(ids, dtype=torch.long)
    """
    given = facts.given
    if given is None:
        return
    fractions = [v for v in given.flat() if isinstance(v, float) and not v.is_integer()]
    if given.dtype in INTEGER_DTYPES or given.dtype == "bool":
        if not fractions or given.dtype not in INDEX_DTYPES:
            return
        yield kind.diagnosis(
            f"the IDs are not all whole numbers ({fractions[0]} is one of {len(fractions)}), "
            f"and {given.dtype} holds whole numbers only",
            "token IDs are whole numbers: look at where these come from",
            torch="no error: torch.tensor(..., dtype=torch.int64) cuts the fraction off"
            if all(map(math.isfinite, fractions))
            else _conversion(given.dtype),
            cells=_cells(facts, lambda v: isinstance(v, float) and not v.is_integer()),
            fields=["token_ids"],
            data={"dtype": given.dtype, "fractions": len(fractions)},
        )
        return
    empty = next(given.flat(), None) is None
    yield kind.diagnosis(
        f"the IDs are {given.dtype}, but a look-up takes int64 or int32"
        + ("; there are none at all, and an empty list becomes a float tensor" if empty else ""),
        "look for the text that was empty" if empty else "make the tensor with dtype=torch.long",
        torch=_refusal(given.dtype),
        fields=["token_ids_dtype", "token_ids"],
        fix=None if empty or fractions else {"token_ids_dtype": "int64"},
        data={"dtype": given.dtype},
    )


@fault(
    code="B208",
    name="ids-dtype-refused",
    stage=Stage.DATA_LOADER,
    torch=_WANTED,
    example={"token_ids": [[464, 582, 318, 257]], "token_ids_dtype": "uint16"},
)
def ids_dtype_refused(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The IDs are whole numbers of a dtype that a look-up does not take.

    Token files are stored as uint16 to be small, and `torch.from_numpy` keeps that dtype. The look-up takes int64 and
    int32 only; every other integer type, and bool, is refused with words about scalar types.

        ids = torch.from_numpy(data.astype(np.int64))
    """
    given = facts.given
    if given is None or given.dtype in INDEX_DTYPES or _overflow(facts):
        return
    if given.dtype in INTEGER_DTYPES or given.dtype == "bool":
        yield kind.diagnosis(
            f"the IDs are {given.dtype}, but a look-up takes int64 or int32 only",
            "convert them: ids.long() in torch, .astype(np.int64) in NumPy",
            torch=_refusal(given.dtype),
            fields=["token_ids_dtype"],
            fix={"token_ids_dtype": "int64"},
            data={"dtype": given.dtype},
        )


@fault(
    code="B209",
    name="ids-dtype-overflow",
    stage=Stage.DATA_LOADER,
    torch="no error when the file was written: large IDs became smaller ones",
    example={"token_ids": [[464, 70000, 318, 257]], "token_ids_dtype": "uint16", "tokenizer": {"n_vocab": 100277}},
)
def ids_dtype_overflow(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The dtype cannot hold every ID of the tokenizer, so large ones wrapped around into other tokens.

    uint16 ends at 65535. A tokenizer with more tokens than that (cl100k_base has 100277) has IDs it cannot hold: NumPy
    and torch store such an ID modulo 65536, as the ID of quite another token. Nothing fails, then or later; the text
    is simply wrong, and the damage cannot be undone from the file.

    Write the tokens again with a wider dtype:

        np.array(ids, dtype=np.uint32).tofile("train.bin")
    """
    given = facts.given
    if given is None or not _overflow(facts):
        return
    lowest, highest = INTEGER_DTYPES[given.dtype]
    cells = _cells(facts, lambda v: _is_beyond(v, given.dtype))
    n_vocab, worst = facts.n_vocab, 0
    if cells:
        worst = next(int(v) for v in given.flat() if _is_beyond(v, given.dtype))
        what = f"ID {worst} does not fit {given.dtype}, which holds {lowest} to {highest}"
    else:
        what = (
            f"{given.dtype} holds IDs up to {highest}, but the tokenizer has IDs up to {(n_vocab or 0) - 1}: "
            "any larger ID has become another token's"
        )
    yield kind.diagnosis(
        what,
        "write the IDs again from the text, as int64 or uint32; those that wrapped around cannot be recovered",
        torch=_said_of_overflow(given.dtype, worst) if cells else kind.torch,
        cells=cells,
        fields=["token_ids_dtype", "token_ids"],
        data={"dtype": given.dtype, "highest": highest, "n_vocab": n_vocab},
    )


def _overflow(facts: Facts) -> bool:
    given = facts.given
    if given is None or given.dtype not in INTEGER_DTYPES:
        return False
    if any(_is_beyond(v, given.dtype) for v in given.flat()):
        return True
    return facts.n_vocab is not None and facts.n_vocab - 1 > INTEGER_DTYPES[given.dtype][1]


def _is_beyond(value: int | float, dtype: str) -> bool:
    """Return whether a whole number does not fit a dtype."""
    lowest, highest = INTEGER_DTYPES[dtype]
    return math.isfinite(value) and not lowest <= value <= highest


def _said_of_overflow(dtype: str, worst: int) -> str:
    if dtype == "int64":
        return "ValueError: Overflow when unpacking long long"
    if worst < 0 and dtype.startswith("uint"):
        return f"no error: {worst} becomes {worst % 2 ** int(dtype[4:])}"
    return _conversion(dtype)


def _conversion(dtype: str) -> str:
    return f"RuntimeError: value cannot be converted to type {dtype} without overflow"


@fault(
    code="B210",
    name="ids-rank",
    stage=Stage.DATA_LOADER,
    torch="no error here: shapes go wrong later",
    example={"token_ids": [464, 582, 318, 257]},
)
def ids_rank(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The IDs do not form a batch: rows of one length, one row a sample.

    A look-up takes indices of any rank and appends the embedding dim, so a single list of T IDs becomes (T, D) and a
    batch with one axis too many (B, 1, T, D): nothing fails at the embedding. It fails later, in the attention block's
    `B, T, C = x.shape`, or nowhere, when the model takes the text for a batch. Lists of different lengths fail when the
    tensor is made: pad them, or cut them to one length.

        ids = torch.tensor(tokenizer.encode(text)).unsqueeze(0)   # (T,) becomes (1, T)
    """
    given = facts.given
    if given is None or given.dtype not in INDEX_DTYPES:
        return
    shape = given.shape
    if shape is None:
        yield kind.diagnosis(
            "the rows of the batch have different lengths, and a tensor needs rows of one length",
            "pad the shorter rows, or cut the longer ones",
            torch="ValueError: expected sequence of one length at dim 1",
            fields=["token_ids"],
        )
        return
    if len(shape) == 2:
        return
    fix = None
    if len(shape) == 1 and shape[0]:
        fix, what, remedy = {"token_ids": (given.values,)}, "one list", "add the batch axis: ids.unsqueeze(0)"
    elif len(shape) == 3 and 1 in shape[:2] and shape[2]:
        fix = {"token_ids": tuple(map(tuple, given.rows()))}
        axis = shape.index(1)
        what, remedy = "three axes", f"take the axis of length 1 away: ids.squeeze({axis})"
    else:
        what = f"{len(shape)} axes" if len(shape) != 1 else "an empty list"
        remedy = "reshape the IDs to (batch, position): one row a sample"
    yield kind.diagnosis(
        f"the IDs have shape {_shown(shape)}, {what}; a batch has two axes, (batch, position)",
        remedy,
        fields=["token_ids"],
        fix=fix,
        data={"shape": list(shape)},
    )


@fault(
    code="B211",
    name="ids-negative",
    stage=Stage.DATA_LOADER,
    torch=words.INDEX_ERROR,
    example={"token_ids": [[464, 582, -1, -1]]},
)
def ids_negative(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """An input ID is negative.

    Python lists count from the end for a negative index; `nn.Embedding` does not: any negative ID raises the same
    `index out of range in self` as one that is too large. Two negative numbers are common. -100 is the *label* that
    cross-entropy ignores (`ignore_index`): where it reaches the inputs, labels and inputs were exchanged or share
    memory. -1 is a padding marker of some data sets, or comes from `str.find` and from dictionaries' `get(word, -1)`.

    On a GPU the look-up ends in an asynchronous device-side assert; under MPS it may read whatever lies there.

    Pad inputs with a real ID (the tokenizer's padding or end token) and leave the ignoring to the labels and the
    attention mask:

        inputs = ids.masked_fill(ids < 0, pad_id)
        labels = ids.masked_fill(ids < 0, -100)
    """
    cells = facts.cells(lambda i: i < 0)
    if not cells:
        return
    found = [facts.id_at(cell) for cell in cells]
    hints = []
    story = "a look-up takes IDs from 0"
    if -100 in found:
        hints.append("ignore-index")
        story = "-100 is the label that the loss ignores, not an input"
    elif -1 in found:
        hints.append("padding-minus-one")
        story = "-1 does not mean the last row, nor padding"
    values = words.python_list([str(i) for i in sorted(set(found))[:3]])
    yield kind.diagnosis(
        f"{words.count(len(found), 'ID')} of the batch {'is' if len(found) == 1 else 'are'} negative ({values}), "
        f"and no table has a row for that: {story}",
        "put the tokenizer's padding or end token there, and let the attention mask and the labels (-100) ignore it",
        cells=cells,
        fields=["token_ids"],
        data={"min_id": min(found), "hints": hints},
    )


@fault(
    code="B212",
    name="batch-axes-swapped",
    stage=Stage.DATA_LOADER,
    torch="as position-out-of-range, or no error",
    example={
        "token_ids": [[464, 582, 318, 257], [11, 290, 262, 13]],
        "loader": {"batch_size": 4, "max_length": 2},
    },
)
def batch_axes_swapped(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The batch has positions down and samples across: its axes are exchanged.

    The stated loader makes batches of (batch_size, max_length); this one has exactly the other order. The look-up does
    not mind, and the position table is asked for as many rows as there are *samples*: `index out of range` when those
    are more than it has, or nothing at all, and each token gets the position of its sample. Recurrent layers with
    `batch_first=False` and `torch.stack(..., dim=1)` make such batches.

        ids = ids.T   # (T, B) becomes (B, T)
    """
    given, loader = facts.given, facts.config.loader
    if given is None or given.shape is None:
        return
    if not (facts.config.is_stated("loader.batch_size") or facts.config.is_stated("loader.max_length")):
        return
    meant = (loader.batch_size, loader.max_length)
    if len(given.shape) != 2 or given.shape == meant or given.shape != meant[::-1]:
        return
    yield kind.diagnosis(
        f"the batch has shape {_shown(given.shape)}, but the loader makes {_shown(meant)}: its axes are exchanged",
        "transpose the IDs: ids.T",
        fields=["token_ids"],
        fix={"token_ids": tuple(zip(*given.rows(), strict=True))},
        data={"shape": list(given.shape), "meant": list(meant)},
    )


def _cells(facts: Facts, wanted: Callable[[int | float], bool]) -> list[Cell]:
    given = facts.given
    if given is None:
        return []
    return [Cell(r, c) for r, row in enumerate(given.rows()) for c, v in enumerate(row) if wanted(v)]


def _shown(shape: tuple[object, ...]) -> str:
    return "(" + ", ".join(str(size) for size in shape) + ("," if len(shape) == 1 else "") + ")"
