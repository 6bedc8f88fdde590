"""Faults of a batch of IDs as numbers: their dtype, before any table is asked."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from inspector.checks import words
from inspector.checks.registry import fault
from inspector.diagnosis import Cell, Severity, Stage
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


def _refusal(facts: Facts, dtype: str) -> str:
    wanted = _WANTED if facts.token_layer.max_norm is None else _WANTED.replace("#1", "#2")
    return f"{wanted}; but got {_torch_type(dtype)} instead (while checking arguments for embedding"


@fault(
    code="B207",
    name="ids-not-integer",
    stage=Stage.DATA_LOADER,
    torch=_WANTED,
    example={"token_ids": [[464, 582, 318, 257]], "token_ids_dtype": "float32"},
)
def ids_not_integer(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The IDs are not whole numbers, or lie in a tensor of a floating dtype.

    A look-up needs int64 (Long) or int32 (Int). Anything else is refused with words about scalar types, on the CPU and
    on a GPU at the look-up itself, under `torch.compile` while it compiles (the same words, wrapped in
    `TorchRuntimeError`). Do not count on MPS to refuse it.

    How people meet it: `torch.Tensor(ids)` with a capital T is always float32, and so are `torch.zeros(...)` and an
    empty list, `torch.tensor([])`; NumPy and pandas make float64 of a column that has a gap; a mean or a division with
    `/` gives floats.

    What does not help: `.half()` or moving the model to another dtype, because the *IDs* are at fault. And converting
    late: in float32 whole numbers are exact only up to 16,777,216, in float16 up to 2,048, so IDs may already have
    changed.

        import torch

        ids = [464, 582, 318, 257]
        print(torch.Tensor(ids).dtype)                  # float32
        print(torch.tensor(ids, dtype=torch.long))      # make them integers where they are made
    """
    file = facts.material.id_file
    if file is not None and not file.whole:
        yield kind.diagnosis(
            f"{file.path} holds {file.dtype} numbers, but token IDs are whole: a look-up takes int64 or int32",
            "write the IDs as whole numbers: ids.astype(np.uint16), or uint32 for more than 65,536 tokens",
            torch=_refusal(facts, file.dtype),
            fields=["token_ids_file"],
            subject=str(file.path),
            data={"dtype": file.dtype},
        )
    given = facts.given
    if given is None:
        return
    fractions = [v for v in given.flat() if isinstance(v, float) and not v.is_integer()]
    if given.dtype in INTEGER_DTYPES or given.dtype == "bool":
        if not fractions or given.dtype not in INDEX_DTYPES:
            return
        yield kind.diagnosis(
            f"{words.count(len(fractions), 'ID')} {words.are(len(fractions))} not whole ({fractions[0]}), "
            f"but {given.dtype} holds whole numbers only",
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
        torch=_refusal(facts, given.dtype),
        fields=["token_ids_dtype", "token_ids"],
        fix=None
        if empty or fractions or any(_is_beyond(v, "int64") for v in given.flat())
        else {"token_ids_dtype": "int64"},
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

    The look-up takes int64 and int32. Every other integer type, and bool, is refused with the same words about scalar
    types: on the CPU and on a GPU at the look-up, under `torch.compile` while it compiles. Do not count on MPS to
    refuse it.

    How people meet it: token files are stored as uint16 to be small, and `torch.from_numpy` keeps that dtype; images
    and byte-level texts are uint8.

    What does not help: converting the table, or `.float()`, which is refused as well. Convert the IDs once they are
    read; the file may stay small.

        import numpy as np
        import torch

        stored = np.array([464, 582, 318, 257], dtype=np.uint16)
        ids = torch.from_numpy(stored.astype(np.int64))[None, :]
        print(torch.nn.Embedding(50257, 8)(ids).shape)
    """
    given = facts.given
    if given is None or given.dtype in INDEX_DTYPES or _overflow(facts):
        return
    if given.dtype in INTEGER_DTYPES or given.dtype == "bool":
        yield kind.diagnosis(
            f"the IDs are {given.dtype}, but a look-up takes int64 or int32 only",
            "convert them: ids.long() in torch, .astype(np.int64) in NumPy",
            torch=_refusal(facts, given.dtype),
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

    uint16 ends at 65535. A tokenizer with more tokens than that (cl100k_base has 100277) has IDs it cannot hold. Made
    from a list, `torch.tensor(ids, dtype=torch.uint16)` refuses them; *converted* to it, by `.astype(np.uint16)` or
    `.to(torch.uint16)`, they are taken modulo 65536 and become the IDs of quite other tokens. Nothing fails then or
    later, on any device: every number is legal, and the text is simply wrong.

    How people meet it: a script that writes GPT-2 tokens as uint16, used with a newer tokenizer.

    What does not help: reading the file with a wider dtype, since the damage was done when it was written. Write the
    tokens again:

        import numpy as np

        ids = np.array([464, 70000, 318])
        print(ids.astype(np.uint16).tolist())    # 70000 has become 4464
        print(ids.astype(np.uint32).tolist())    # wide enough for any tokenizer
    """
    yield from _of_file(kind, facts)
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


def _of_file(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """Yield what is wrong with how wide the IDs of a file are."""
    file = facts.material.id_file
    if file is None or file.dtype not in INTEGER_DTYPES:
        return
    highest, n_vocab = INTEGER_DTYPES[file.dtype][1], facts.n_vocab
    if n_vocab is not None and n_vocab - 1 > highest:
        yield kind.diagnosis(
            f"{file.path} holds {file.dtype} IDs, up to {highest}, but the tokenizer has IDs up to {n_vocab - 1}: "
            "any larger ID has become another token's",
            "write the IDs again from the text, as uint32",
            fields=["token_ids_file", "token_ids_dtype"],
            subject=str(file.path),
            data={"dtype": file.dtype, "highest": highest, "n_vocab": n_vocab},
        )
    elif file.suspicion is not None:
        yield kind.diagnosis(
            f"the IDs of {file.path} look wrong: {file.suspicion}",
            "state the dtype that the file was written with (token_ids_dtype)",
            severity=Severity.WARNING,
            fields=["token_ids_file", "token_ids_dtype"],
            subject=str(file.path),
            data={"dtype": file.dtype},
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
    # isfinite makes a float of what it is given, which the largest whole numbers do not fit
    return (isinstance(value, int) or math.isfinite(value)) and not lowest <= value <= highest


def _said_of_overflow(dtype: str, worst: int) -> str:
    if not -(2**63) <= worst < 2**63:
        return "ValueError: Overflow when unpacking long long"
    if worst < 0 and dtype.startswith("uint"):
        return f"no error: {worst} becomes {worst % 2 ** int(dtype[4:])}"
    return _conversion(dtype)


def _conversion(dtype: str) -> str:
    return f"RuntimeError: value cannot be converted to type {dtype} without overflow"


def _cells(facts: Facts, wanted: Callable[[int | float], bool]) -> list[Cell]:
    given = facts.given
    if given is None:
        return []
    return [Cell(r, c) for r, row in enumerate(given.rows()) for c, v in enumerate(row) if wanted(v)]
