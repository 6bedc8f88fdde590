"""What a checkpoint does to its tables before anybody loads them: partitioned, tied, wrapped, quantised."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.checks import words
from inspector.checks.comparison import MISMATCH
from inspector.checks.registry import fault
from inspector.diagnosis import Severity, Stage
from inspector.recipe import Role

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.diagnosis import Diagnosis, Fault
    from inspector.facts import Facts

_EXAMPLES = "examples/"


@fault(
    code="F609",
    name="table-empty",
    stage=Stage.FILE,
    torch=MISMATCH,
    example={
        "token_ids": [[1, 2, 3]],
        "checkpoint": f"{_EXAMPLES}partitioned.safetensors",
        "tokenizer": {"encoding": None},
        "embedding_dim": None,
    },
)
def table_empty(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The file declares a table and holds no value of it: it was saved while the weights were partitioned.

    DeepSpeed's ZeRO stage 3 and fully sharded training leave each process an empty placeholder of most weights.
    `model.state_dict()` or `save_pretrained` called then saves the placeholders: shape (0,). `load_state_dict` says
    `size mismatch … torch.Size([0])`. The file holds nothing to be rescued.

    Gather the weights before saving: DeepSpeed's `stage3_gather_16bit_weights_on_model_save`, its script
    `zero_to_fp32.py` for a checkpoint that was saved in parts, or `FullStateDictConfig` with FSDP.

        import torch

        saved = {"wte.weight": torch.zeros(0)}
        empty = [name for name, tensor in saved.items() if tensor.numel() == 0]
        print(empty)   # look before you throw the training run away
    """
    checkpoint = facts.checkpoint
    if checkpoint is None:
        return
    empty = [t for t in (checkpoint.found.table(role) for role in Role) if t is not None and t.empty]
    if empty:
        names = words.python_list([table.name for table in empty])
        shape = checkpoint.opened.file.tensors[empty[0].name].shape
        yield kind.diagnosis(
            f"{names} {'are' if len(empty) > 1 else 'is'} in the file with shape {shape}: declared, but saved without "
            "a single value",
            "save again with the weights gathered (they were partitioned among processes); "
            "this file holds nothing to load",
            torch=f"{MISMATCH} for {empty[0].name}: copying a param with shape torch.Size({list(shape)})",
            fields=["checkpoint"],
            subject=empty[0].name,
        )


@fault(
    code="F611",
    name="table-tied",
    stage=Stage.FILE,
    severity=Severity.NOTE,
    torch="no error where the model ties the two, else Missing key(s) in state_dict",
    example={
        "token_ids": [[1, 2, 3]],
        "checkpoint": f"{_EXAMPLES}tied.safetensors",
        "tokenizer": {"encoding": None},
        "embedding_dim": None,
    },
)
def table_tied(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The token table was not saved; the output layer's weight, which it shares, stands for it.

    Many models use one matrix for both ends: rows to look up, and rows to compare with. A file format that stores no
    tensor twice keeps only one of the two names, sometimes the output layer's. Loading works where the model ties its
    weights after loading (`tie_weights()`), and leaves random rows where it does not.

        import torch

        table = torch.nn.Embedding(10, 4)
        head = torch.nn.Linear(4, 10, bias=False)
        table.weight = head.weight   # tied: one matrix
    """
    table = facts.checkpoint.found.token if facts.checkpoint else None
    if table is not None and table.tied:
        yield kind.diagnosis(
            f"the file has no token table; the rows shown are those of {table.name}, the output layer's weight, "
            "which models with tied weights share",
            "nothing to do if the model ties its weights when it is loaded",
            fields=["checkpoint"],
            subject=table.name,
        )


@fault(
    code="F612",
    name="prefix-removed",
    stage=Stage.FILE,
    severity=Severity.NOTE,
    torch="RuntimeError: Error(s) in loading state_dict: Missing key(s) and Unexpected key(s)",
    example={
        "token_ids": [[1, 2, 3]],
        "checkpoint": f"{_EXAMPLES}wrapped.safetensors",
        "tokenizer": {"encoding": None},
        "embedding_dim": None,
    },
)
def prefix_removed(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """A wrapper put its own name in front of every tensor's.

    `torch.compile` names what it wraps `_orig_mod.`, `DataParallel` and its kin `module.`. A file saved from the
    wrapped model loads only into a model wrapped the same way; into a plain one it says `Missing key(s)` and
    `Unexpected key(s)` for every weight, and with `strict=False` loads nothing at all without a word.

        import torch

        saved = {"_orig_mod.weight": torch.zeros(10, 4)}
        plain = {name.removeprefix("_orig_mod."): tensor for name, tensor in saved.items()}
        torch.nn.Embedding(10, 4).load_state_dict(plain)
    """
    found = [facts.checkpoint.found.table(role) for role in Role] if facts.checkpoint else []
    table = next((t for t in found if t is not None and t.prefix), None)
    if table is not None:
        yield kind.diagnosis(
            f"the file's names begin with {table.prefix!r}, which a wrapper around the model put there; "
            "it was taken off",
            f"take it off when loading: name.removeprefix({table.prefix!r})",
            fields=["checkpoint"],
            subject=table.name,
            data={"prefix": table.prefix},
        )


@fault(
    code="F613",
    name="quantised-table",
    stage=Stage.FILE,
    severity=Severity.NOTE,
    torch="no error with the loader it was made for",
    example={
        "token_ids": [[1, 2, 3]],
        "checkpoint": f"{_EXAMPLES}quantised",
        "tokenizer": {"encoding": None},
        "embedding_dim": None,
        "position_embedding": None,
    },
)
def quantised_table(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The table is stored with a few bits a value; its rows are widened before they are shown.

    A quantised table keeps small whole numbers and a scale for each group of them. Its stored shape is not its own:
    4-bit values packed eight to a word make 2816 columns look like 352. The rows shown are what the format's own
    arithmetic gives, as float32; the trained values they stand for are gone.

        import torch

        scale, bias = 0.1, -0.8
        packed = torch.tensor([3, 7, 15])
        print(packed * scale + bias)
    """
    found = [facts.checkpoint.found.table(role) for role in Role] if facts.checkpoint else []
    for table in found:
        if table is not None and table.quantised:
            yield kind.diagnosis(
                f"the file's {table.role} table ({table.name}) is quantised ({table.dtype}); "
                "the rows shown are dequantised to float32",
                "nothing to do",
                fields=["checkpoint"],
                subject=table.name,
                data={"dtype": table.dtype},
            )
