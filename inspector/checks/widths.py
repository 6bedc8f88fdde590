"""Widths that cannot be added, or are not the ones that were meant: laid to the layer that departs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inspector.checks import torch_words, words
from inspector.checks.arrangement import arrangement
from inspector.checks.comparison import width_departs
from inspector.checks.registry import fault
from inspector.diagnosis import Severity, Stage
from inspector.recipe import ITEM_SIZES, Role, is_size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.diagnosis import Diagnosis, Fault
    from inspector.facts import Facts


_NAMES = {"token_embedding.project_to": "project_to"}


@dataclass(frozen=True, slots=True)
class Width:
    """One layer's width where it reaches the sum, and the field that sets it."""

    layer: str
    value: int
    field: str


def widths(facts: Facts) -> list[Width]:
    """Return the widths that meet at the sum, of layers whose arguments are sound and in their order."""
    arranged = arrangement(facts)
    token, position, segment = facts.token_layer, facts.position_layer, facts.config.segment_embedding
    found = []
    known = facts.knows_token_table and is_size(facts.token_width) and is_size(token.embedding_dim)
    if known and not arranged.token_transposed:
        field = "embedding_dim" if token.project_to is None else "project_to"
        found.append(Width("token", int(facts.token_width or 0), f"token_embedding.{field}"))
    if position is not None and is_size(position.embedding_dim) and not arranged.position_transposed:
        found.append(Width("position", int(position.embedding_dim or 0), "position_embedding.embedding_dim"))
    if segment is not None and is_size(segment.embedding_dim):
        found.append(Width("segment", int(segment.embedding_dim or 0), "segment_embedding.embedding_dim"))
    return [] if arranged.exchanged else found


def meant(facts: Facts) -> int | None:
    """Return the width every layer should have: the stated one, else the one that most agree on; None if none tells.

    A width of 1 beside a larger one is never what was meant: it is added to every dimension.
    """
    if is_size(facts.config.embedding_dim):
        return facts.config.embedding_dim
    votes: dict[int, int] = {}
    for width in widths(facts):
        votes[width.value] = votes.get(width.value, 0) + (2 if width.value > 1 else 0)
    if len(votes) < 2:
        return next(iter(votes), None)
    (best, most), (_, second) = sorted(votes.items(), key=lambda vote: -vote[1])[:2]
    return best if most > second else None


def _departing(kind: Fault, facts: Facts, layer: str) -> Iterator[Diagnosis]:
    wanted, all_widths = meant(facts), widths(facts)
    width = next((w for w in all_widths if w.layer == layer), None)
    if width is None or wanted is None or width.value == wanted:
        return
    if width_departs(facts, Role.TOKEN) and width.value == facts.token_width:
        return  # one cause, and told of the file already
    others = [w for w in all_widths if w.layer != layer]
    alike = [w for w in others if w.value == width.value] if len(all_widths) > 1 else []
    together = bool(alike) and len(alike) == len(others)  # all layers agree, but not with what was stated
    if together and all_widths[0] is not width:
        return  # one cause, reported once, at the first layer
    stated = is_size(facts.config.embedding_dim)
    against = f"the stated embedding dim is {wanted}" if stated else f"the other rows are {wanted} wide"
    fields = [width.field] + [w.field for w in alike if together]
    fix = dict.fromkeys(fields, wanted)
    stored = {str(role) for role in facts.material.stored or ()}
    if together:
        names = " and ".join(w.layer for w in all_widths)
        message = f"the {names} tables are {width.value} wide, but {against}"
        help_ = f"set output_dim of both to {wanted}, or state an embedding dim of {width.value}"
        fields.append("embedding_dim")
        if all(w.layer in stored for w in all_widths):
            help_ = f"state an embedding dim of {width.value}, the file's, or load the file of a model {wanted} wide"
            fix = {"embedding_dim": width.value}
    else:
        what = "is projected to" if width.field.endswith("project_to") else "is"
        message = f"the {layer} table {what} {width.value} wide, but {against}"
        help_ = f"set its {_NAMES.get(width.field, 'output_dim')} to {wanted}, the width that all layers must share"
    yield kind.diagnosis(
        message,
        help_,
        torch=torch_words.of_sum(w.value for w in all_widths),
        fields=fields,
        fix=fix,
        data={"embedding_dim": width.value, "expected": wanted},
    )


@fault(
    code="E304",
    name="embedding-dim-mismatch",
    stage=Stage.TOKEN_EMBEDDING,
    torch=torch_words.SUM_ERROR.format(128, 256),
    example={"token_embedding": {"embedding_dim": 128}},
)
def token_width(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The token table's width is not the one the layers must share.

    Token row and position row are added value by value, so both must be `output_dim` wide. PyTorch complains at the
    *sum*, one line after both look-ups went well, and names two sizes but no layer. It comes from the shapes alone: at
    once on the CPU, a GPU and MPS, under `torch.compile` while it compiles. A width of 1 is worse: it broadcasts, one
    number is added to every dimension, and nothing is ever said anywhere.

    How people meet it: one of the two constructors was changed, a width was copied from another model, pre-trained
    vectors of 300 were put beside a model of 512.

    What does not help: changing the layer that the message happens to mention second; padding the rows with zeros. Here
    the stated embedding dim, or the other layers, tell which of them departs. Give all constructors the same variable.
    Widths that differ on purpose (ALBERT, OPT-350m) have a projection after the token table: state it as project_to.

        import torch

        vocab_size, context_length, output_dim = 50257, 4, 256
        tok_emb = torch.nn.Embedding(vocab_size, output_dim)
        pos_emb = torch.nn.Embedding(context_length, output_dim)
        ids = torch.tensor([[464, 582, 318, 257]])
        print((tok_emb(ids) + pos_emb(torch.arange(4))).shape)
    """
    yield from _departing(kind, facts, "token")


@fault(
    code="P403",
    name="embedding-dim-mismatch",
    stage=Stage.POSITION_EMBEDDING,
    torch=torch_words.SUM_ERROR.format(256, 128),
    example={"position_embedding": {"embedding_dim": 128}},
)
def position_width(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The position table's width is not the one the layers must share.

    Token row and position row are added value by value, so both must be `output_dim` wide. PyTorch complains at the
    *sum*, one line after both look-ups went well, and names two sizes but no layer. It comes from the shapes alone: at
    once on the CPU, a GPU and MPS, under `torch.compile` while it compiles. A position table of width 1 broadcasts:
    every position adds one number to all dimensions, and nothing is ever said anywhere.

    How people meet it: one of the two constructors was changed, or `n_embd` of one model stands beside `n_positions` of
    another.

    What does not help: changing the token layer to the odd width, which moves the fault into the first attention block;
    `unsqueeze`, until something broadcasts.

        import torch

        context_length, output_dim = 1024, 768
        pos_emb = torch.nn.Embedding(context_length, output_dim)   # the output_dim of the token table
        print(tuple(pos_emb.weight.shape))
    """
    yield from _departing(kind, facts, "position")


@fault(
    code="G452",
    name="embedding-dim-mismatch",
    stage=Stage.SEGMENT_EMBEDDING,
    torch=torch_words.SUM_ERROR.format(256, 128),
    example={
        "token_ids": [[464, 582, 318, 257]],
        "segment_embedding": {"num_embeddings": 2, "embedding_dim": 128},
    },
)
def segment_width(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The segment table's width is not the one the layers must share.

    Its rows are added to the token and position rows, so it must be as wide as they are. PyTorch complains at the
    *sum*, one line after both look-ups went well, and names two sizes but no layer. It comes from the shapes alone: at
    once on the CPU, a GPU and MPS, under `torch.compile` while it compiles; a width of 1 broadcasts, and nothing is
    said.

    How people meet it: a segment table added to a model of another width.

    What does not help: changing the other two tables, which agree. Give all of them one variable:

        import torch

        hidden_size = 256
        layers = [torch.nn.Embedding(rows, hidden_size) for rows in (30522, 512, 2)]
        print({layer.embedding_dim for layer in layers})
    """
    yield from _departing(kind, facts, "segment")


@fault(
    code="S501",
    name="widths-differ",
    stage=Stage.SUM,
    torch=torch_words.SUM_ERROR.format(128, 256),
    example={
        "token_ids": [[464, 582, 318, 257]],
        "embedding_dim": None,
        "token_embedding": {"embedding_dim": 128},
        "position_embedding": {"embedding_dim": 256},
    },
)
def widths_differ(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """Two widths differ and nothing tells which of them is wrong.

    PyTorch complains at the *sum*, one line after both look-ups went well, and names two sizes but no layer. It comes
    from the shapes alone: at once on the CPU, a GPU and MPS, under `torch.compile` while it compiles. Where one of the
    widths is 1 it broadcasts, and nothing is said.

    How people meet it: nobody stated an embedding dim, so either layer may be the one to change.

    What does not help: guessing. State the width that was meant (`embedding_dim`), and the layer that departs from it
    is named. The rest of the model knows: the first attention block's projections and the layer norms have the width
    that both tables must share.

        import torch

        norm = torch.nn.LayerNorm(256)             # what follows the sum
        (output_dim,) = norm.normalized_shape
        tok_emb = torch.nn.Embedding(50257, output_dim)
        pos_emb = torch.nn.Embedding(4, output_dim)
        print(tok_emb.embedding_dim == pos_emb.embedding_dim)
    """
    found = widths(facts)
    if meant(facts) is not None or len({w.value for w in found}) < 2:
        return
    values = words.python_list([f"{w.layer} rows are {w.value} wide" for w in found])
    first, other = found[0], next(w for w in found if w.value != found[0].value)
    yield kind.diagnosis(
        f"{values}: rows of different widths cannot be added",
        f"set the {other.layer} layer's output_dim to {first.value}, or the {first.layer} layer's to {other.value}; "
        "nobody stated which is meant"
        if len(found) == 2
        else "give all layers one output_dim; nobody stated which is meant",
        torch=torch_words.of_sum(w.value for w in found),
        fields=[w.field for w in found],
        data={w.layer: w.value for w in found},
    )


@fault(
    code="S502",
    name="dtype-promoted",
    stage=Stage.SUM,
    severity=Severity.NOTE,
    torch="no error",
    example={
        "token_ids": [[464, 582, 318, 257]],
        "token_embedding": {"dtype": "bfloat16"},
    },
)
def dtype_promoted(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The two tables have different dtypes, so the sum has the wider one.

    bfloat16 plus float32 is float32, and bfloat16 plus float16 is float32 too: nothing fails, on any device or under
    `torch.compile`. The sum takes twice the memory, and the next layer, if it is bfloat16, complains of `mat1 and mat2
    must have the same dtype`.

    How people meet it: one layer was converted and not the other, or was added after `model.half()`.

    What does not help: autocast, which converts products but not this sum. Convert the whole model at once:

        import torch

        tables = torch.nn.ModuleList([torch.nn.Embedding(10, 4), torch.nn.Embedding(4, 4, dtype=torch.bfloat16)])
        tables.to(torch.bfloat16)
        print({table.weight.dtype for table in tables})
    """
    position = facts.position_layer
    token_dtype = facts.token_layer.dtype
    if position is None or position.dtype == token_dtype or not {position.dtype, token_dtype} <= ITEM_SIZES.keys():
        return
    data: dict[str, Any] = {"token": token_dtype, "position": position.dtype}
    yield kind.diagnosis(
        f"the token table is {token_dtype} and the position table {position.dtype}: the sum is promoted",
        "nothing to do if that is meant, else convert both layers",
        fields=["token_embedding.dtype", "position_embedding.dtype"],
        data=data,
    )
