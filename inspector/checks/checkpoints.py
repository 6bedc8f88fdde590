"""Faults of a checkpoint beside the layers it is to be loaded into: `load_state_dict`'s errors before they happen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.checks import words
from inspector.checks.comparison import MISMATCH, is_part, is_stored_transposed, said, tables, width_departs
from inspector.checks.registry import fault
from inspector.diagnosis import Stage
from inspector.recipe import SECTIONS, Role

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.checkpoint import Expected
    from inspector.diagnosis import Diagnosis, Fault
    from inspector.facts import Facts
    from inspector.files.tables import FoundTable

# Why a model can do without a table that another has.
_OTHERWISE = {
    Role.POSITION: "brings positions in otherwise (rotary positions, ALiBi)",
    Role.SEGMENT: "does not tell segments apart",
}
_ROWS_ARGUMENT = {Role.TOKEN: "vocab_size", Role.POSITION: "context_length", Role.SEGMENT: "num_embeddings"}
_EXAMPLES = "examples/"


@fault(
    code="F605",
    name="table-missing",
    stage=Stage.FILE,
    torch="RuntimeError: Error(s) in loading state_dict: Missing key(s) in state_dict",
    example={
        "token_ids": [[1, 2, 3]],
        "checkpoint": f"{_EXAMPLES}no-positions.safetensors",
        "tokenizer": {"encoding": None},
        "embedding_dim": None,
        "position_embedding": {"num_embeddings": 4, "embedding_dim": 4},
    },
)
def table_missing(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The checkpoint has no table where the model has a layer.

    `load_state_dict` then says `Missing key(s) in state_dict`; with `strict=False` it says nothing, and the layer keeps
    the random rows it was made with, which is worse. A position table is missing where the model behind the file
    brings positions in otherwise (Llama's rotary ones); a token table where the file is one of several shards, holds
    adapters only, or names its layers in a way nobody knows.

    What does not help: `strict=False`.

        import torch

        layer = torch.nn.Embedding(4, 2)
        result = layer.load_state_dict({}, strict=False)
        print(result.missing_keys)   # what kept its random values
    """
    checkpoint = facts.checkpoint
    if checkpoint is None:
        return
    found, shards = checkpoint.found, checkpoint.opened.file.shards
    if found.token is None and shards.present >= shards.expected:
        yield kind.diagnosis(
            f"{facts.config.checkpoint} holds {words.count(len(checkpoint.opened.file.tensors), 'tensor')} "
            "but none that is known to be a token table",
            "choose the table by name, or open the file or folder that holds the model's embeddings",
            fields=["checkpoint"],
            subject=facts.config.checkpoint,
        )
    for role, otherwise in _OTHERWISE.items():
        field = SECTIONS[role]
        layer = facts.config.value(field) if facts.stated.is_stated(field) else None
        if found.table(role) is None and layer is not None and found.token is not None:
            yield kind.diagnosis(
                f"{facts.config.checkpoint} has no {role} table, but a {role} layer of "
                f"{words.count(layer.num_embeddings, 'row')} is stated",
                f"leave the {role} layer out if this model {otherwise}",
                fields=[field, "checkpoint"],
                fix={field: None},
                subject=facts.config.checkpoint,
            )


@fault(
    code="F606",
    name="rows-differ",
    stage=Stage.FILE,
    torch=MISMATCH,
    example={
        "token_ids": [[1, 2, 3]],
        "checkpoint": f"{_EXAMPLES}tables.safetensors",
        "tokenizer": {"encoding": None},
        "embedding_dim": None,
        "token_embedding": {"num_embeddings": 9, "embedding_dim": 4},
    },
)
def rows_differ(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The file's table has another number of rows than the layer it is to be loaded into.

    `load_state_dict` refuses it: `size mismatch for …: copying a param with shape …`, the file's shape first. The file
    is larger where its vocabulary was padded or tokens were added before it was saved; it is smaller where tokens were
    added since, or where the configuration was written for another model. `strict=False` does not help: it forgives
    missing names, not sizes.

    Build the layer with the file's rows, load, and change the size afterwards. New rows are untrained.

        import torch

        saved = {"weight": torch.zeros(10, 4)}
        layer = torch.nn.Embedding(*saved["weight"].shape)
        layer.load_state_dict(saved)
        larger = torch.nn.Embedding(12, 4)
        with torch.no_grad():
            larger.weight[:10] = layer.weight
    """
    for role, table, want in tables(facts):
        if want.rows is None or want.rows == table.rows or is_stored_transposed(table, want) or is_part(table, want):
            continue
        field = f"{SECTIONS[role]}.num_embeddings"
        stated = want.source.startswith("the constructor")
        yield kind.diagnosis(
            f"the file's {role} table ({table.name}) has {words.count(table.rows, 'row')}, "
            f"but {want.source} {want.rows}",
            _rows_help(facts, role, table, want),
            torch=said(table, want),
            fields=[field, "checkpoint"],
            fix={field: table.rows} if stated else None,
            subject=table.name,
            data={"file": table.rows, "expected": want.rows},
        )


def _rows_help(facts: Facts, role: Role, table: FoundTable, want: Expected) -> str:
    rows, argument = want.rows or 0, _ROWS_ARGUMENT[role]
    if not want.source.startswith("the constructor"):
        return f"build the layer with {words.count(table.rows, 'row')}: the configuration is another model's"
    first = f"build the layer with {argument} {table.rows}, as the file has it"
    if role is Role.TOKEN and table.rows > rows:
        if facts.n_vocab == rows:
            return f"{first}: its table is padded beyond the tokenizer's {rows} tokens"
        return f"{first}: it was padded, or tokens were added before it was saved"
    if role is Role.TOKEN:
        return f"{first}, load it, and only then resize the table to {rows}: the new rows are untrained"
    return first


@fault(
    code="F607",
    name="width-differs",
    stage=Stage.FILE,
    torch=MISMATCH,
    example={
        "token_ids": [[1, 2, 3]],
        "checkpoint": f"{_EXAMPLES}tables.safetensors",
        "tokenizer": {"encoding": None},
        "embedding_dim": None,
        "token_embedding": {"num_embeddings": 8, "embedding_dim": 6},
        "position_embedding": {"num_embeddings": 4, "embedding_dim": 6},
    },
)
def width_differs(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The file's table is wider or narrower than the layer it is to be loaded into.

    `load_state_dict` refuses it with `size mismatch`. The width runs through the whole model, so a file of another
    width is a file of another model: GPT-2 medium (1024) for GPT-2 small (768), say. What does not help:
    `strict=False`, or a projection, which would need training.

    Build the model with the file's width, or load the file that belongs to it.

        import torch

        saved = {"weight": torch.zeros(10, 6)}
        rows, output_dim = saved["weight"].shape
        torch.nn.Embedding(rows, output_dim).load_state_dict(saved)
    """
    departing = [(role, table, want) for role, table, want in tables(facts) if width_departs(facts, role)]
    for index, (_, table, want) in enumerate(departing):
        if index and departing[0][1].width == table.width and departing[0][2].width == want.width:
            continue  # the whole file is of another width: one cause
        alike = [r for r, t, w in departing if (t.width, w.width) == (table.width, want.width)]
        fields = [f"{SECTIONS[r]}.embedding_dim" for r in alike]
        stated = want.source.startswith("the constructor")
        names = words.python_list([str(r) for r in alike])
        yield kind.diagnosis(
            f"the file's {names} table{'s are' if len(alike) > 1 else ' is'} {table.width} wide, "
            f"but {want.source} {want.width}",
            f"build the model with an embedding dim of {table.width}, "
            f"or load the file of a model that is {want.width} wide",
            torch=said(table, want),
            fields=[*fields, "checkpoint"],
            fix=_width_fix(facts, fields, table.width) if stated else None,
            subject=table.name,
            data={"file": table.width, "expected": want.width},
        )


def _width_fix(facts: Facts, fields: list[str], width: int) -> dict[str, Any]:
    fix: dict[str, Any] = dict.fromkeys(fields, width)
    if facts.config.embedding_dim is not None:
        fix["embedding_dim"] = width
    return fix


@fault(
    code="F608",
    name="table-transposed",
    stage=Stage.FILE,
    torch=MISMATCH,
    example={
        "token_ids": [[1, 2, 3]],
        "checkpoint": f"{_EXAMPLES}transposed.safetensors",
        "tokenizer": {"encoding": None, "n_vocab": 8},
        "embedding_dim": None,
    },
)
def table_transposed(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The file stores a table with its axes exchanged: (width, rows).

    An embedding's weight is (rows, width). A table the other way round comes from a framework that stores matrices
    transposed, from an output layer made by hand, or from a conversion that transposed every matrix. Where both sizes
    are equal nothing would ever fail.

    The rows shown here are the file's columns. Transpose once when converting:

        import torch

        saved = {"weight": torch.zeros(4, 10)}   # (width, rows)
        layer = torch.nn.Embedding(10, 4)
        layer.load_state_dict({"weight": saved["weight"].T.contiguous()})
    """
    for role, table, want in tables(facts):
        if not (table.transposed or is_stored_transposed(table, want)):
            continue
        rows, width = (table.rows, table.width) if table.transposed else (table.width, table.rows)
        yield kind.diagnosis(
            f"the file's {role} table ({table.name}) is stored as ({width}, {rows}): its axes are exchanged, "
            f"an embedding's weight is ({rows}, {width})",
            "transpose it when loading: state_dict[name].T.contiguous()",
            torch=said(table, want),
            fields=["checkpoint", f"{SECTIONS[role]}.num_embeddings", f"{SECTIONS[role]}.embedding_dim"],
            subject=table.name,
            data={"rows": rows, "width": width},
        )


@fault(
    code="F610",
    name="only-one-shard",
    stage=Stage.FILE,
    torch=MISMATCH,
    example={
        "token_ids": [[1, 2, 3]],
        "checkpoint": f"{_EXAMPLES}tables.safetensors",
        "tokenizer": {"encoding": None},
        "embedding_dim": None,
        "token_embedding": {"num_embeddings": 32, "embedding_dim": 4},
    },
)
def only_one_shard(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The file is one part of a model that was saved in several.

    Large models are saved in shards. Some shards hold whole tensors (`model-00001-of-00003.safetensors`, with an index
    beside them): the embeddings are in one of them. With tensor parallelism every shard holds a *slice* of each table:
    a file with an eighth of the vocabulary's rows is one of eight. The rows of such a file are real, but an ID points
    at another token's row. Setting vocab_size to what one shard has would silence the error and make every ID wrong.

    Open the index or the folder instead of the one file, or merge the slices first:

        import torch

        slices = [torch.zeros(4, 2) for _ in range(8)]   # one from each file, in the order of their ranks
        table = torch.cat(slices, dim=0)
        print(table.shape)
    """
    checkpoint = facts.checkpoint
    if checkpoint is None:
        return
    shards = checkpoint.opened.file.shards
    if checkpoint.found.token is None and shards.present < shards.expected:
        yield kind.diagnosis(
            f"{facts.config.checkpoint} is {shards.present} of {shards.expected} files of a model, "
            "and the token table is not in it",
            "open the model's index (….index.json) or its folder, with all files beside it",
            torch="RuntimeError: Error(s) in loading state_dict: Missing key(s) in state_dict",
            fields=["checkpoint"],
            subject=facts.config.checkpoint,
        )
    for role, table, want in tables(facts):
        if role is Role.TOKEN and is_part(table, want):
            parts = int(want.rows or 0) // table.rows
            yield kind.diagnosis(
                f"the file's token table ({table.name}) has {table.rows} rows, one of {parts} equal parts of the "
                f"{want.rows} that {want.source}",
                "merge the slices of all files, or open the model's index or folder; "
                "the rows of one slice belong to other IDs",
                torch=said(table, want),
                fields=["checkpoint", "token_embedding.num_embeddings"],
                subject=table.name,
                data={"file": table.rows, "expected": want.rows, "parts": parts},
            )
