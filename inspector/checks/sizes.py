"""Constructor arguments that make no usable table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.checks import words
from inspector.checks.registry import fault
from inspector.diagnosis import Stage
from inspector.recipe import ITEM_SIZES, is_size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.config import PositionEmbeddingConfig, SegmentEmbeddingConfig, TokenEmbeddingConfig
    from inspector.diagnosis import Diagnosis, Fault
    from inspector.facts import Facts

    Layer = TokenEmbeddingConfig | PositionEmbeddingConfig | SegmentEmbeddingConfig

_EXPLAINED = "constructor-argument-invalid"


@fault(
    code="E305",
    name=_EXPLAINED,
    stage=Stage.TOKEN_EMBEDDING,
    torch="RuntimeError: Trying to create tensor with negative dimension",
    example={"token_embedding": {"num_embeddings": -1}},
)
def token_constructor(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The token layer's constructor is given a size or a dtype that makes no table.

    Sizes are whole numbers of at least 1. A negative one is a `RuntimeError`; a float is a `TypeError`, and comes from
    a division with `/` (`d_model / 2` is 256.0, `d_model // 2` is 256). Zero rows or width 0 are accepted: the first
    look-up then fails, or every row is empty and nothing ever does. An integer dtype has no normal distribution to be
    initialised from.

        tok_emb = torch.nn.Embedding(len(vocabulary), d_model // 2)
    """
    rows = facts.n_vocab if facts.n_vocab is not None else (facts.max_id or 0) + 1
    yield from _invalid(kind, facts, "token_embedding", facts.token_layer, rows, ("vocab_size", "output_dim"))


@fault(
    code="P408",
    name=_EXPLAINED,
    stage=Stage.POSITION_EMBEDDING,
    torch="RuntimeError: Trying to create tensor with negative dimension",
    example={"position_embedding": {"num_embeddings": 0}},
)
def position_constructor(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The position layer's constructor is given a size or a dtype that makes no table.

    Sizes are whole numbers of at least 1: a negative one is a `RuntimeError`, a float a `TypeError`. Zero rows are
    accepted, and the first look-up fails with `index out of range in self`: a context length read from a configuration
    that had none.

        pos_emb = torch.nn.Embedding(context_length, output_dim)
    """
    if facts.position_layer is not None:
        last = facts.last_position_row
        rows = last + 1 if last is not None and last >= 0 else 4
        names = ("context_length", "output_dim")
        yield from _invalid(kind, facts, "position_embedding", facts.position_layer, rows, names)


@fault(
    code="G453",
    name=_EXPLAINED,
    stage=Stage.SEGMENT_EMBEDDING,
    torch="RuntimeError: Trying to create tensor with negative dimension",
    example={"segment_embedding": {"num_embeddings": -2}},
)
def segment_constructor(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The segment table's constructor is given a size that makes no table.

    Sizes are whole numbers of at least 1. BERT has two segments, RoBERTa one row that is always looked up, GPT none.
    """
    layer = facts.config.segment_embedding
    if layer is not None:
        names = ("num_embeddings", "embedding_dim")
        yield from _invalid(kind, facts, "segment_embedding", layer, max(2, layer.max_id + 1), names)


def _invalid(
    kind: Fault, facts: Facts, section: str, layer: Layer, rows: int, names: tuple[str, str]
) -> Iterator[Diagnosis]:
    layer_name = section.partition("_")[0]
    width = facts.config.embedding_dim
    repairs = {"num_embeddings": rows, "embedding_dim": 256 if width is None or width < 1 else width}
    for (argument, repair), name in zip(repairs.items(), names, strict=True):
        value = getattr(layer, argument)
        if is_size(value):
            continue
        field = f"{section}.{argument}"
        yield kind.diagnosis(
            f"the {layer_name} layer's {name} is {value!r}, "
            f"but {'a table' if argument == 'num_embeddings' else 'a row'} "
            "needs a whole number of at least 1",
            f"set {name} to {repair}",
            torch=_said(value, is_rows=argument == "num_embeddings"),
            fields=[field],
            fix={field: repair},
            data={argument: value},
        )
    dtype = getattr(layer, "dtype", "float32")
    if dtype not in ITEM_SIZES:
        yield kind.diagnosis(
            f"the {layer_name} layer's dtype is {dtype}, but rows are floating-point numbers: "
            f"{words.python_list(list(ITEM_SIZES))}",
            "set dtype to float32",
            torch=f'RuntimeError: "normal_kernel_cpu" not implemented for {dtype!r}',
            fields=[f"{section}.dtype"],
            fix={f"{section}.dtype": "float32"},
            data={"dtype": dtype},
        )
    projected: Any = getattr(layer, "project_to", None)
    if projected is not None and not is_size(projected):
        yield kind.diagnosis(
            f"the width after the projection is {projected!r}, but a row needs a whole number of at least 1",
            f"set project_to to {repairs['embedding_dim']}",
            torch="RuntimeError: Trying to create tensor with negative dimension",
            fields=[f"{section}.project_to"],
            fix={f"{section}.project_to": repairs["embedding_dim"]},
            data={"project_to": projected},
        )


def _said(value: Any, *, is_rows: bool) -> str:
    if not isinstance(value, int):
        return "TypeError: empty(): argument 'size' must be tuple of ints"
    if value == 0:
        return words.INDEX_ERROR if is_rows else "no error: rows of no values"
    if value < 0:
        return "RuntimeError: Trying to create tensor with negative dimension"
    return "RuntimeError: Storage size calculation overflowed"
