"""Constructor arguments that make no usable table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.checks import torch_words, words
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
MOST_VALUES = 2**60


@fault(
    code="E305",
    name=_EXPLAINED,
    stage=Stage.TOKEN_EMBEDDING,
    torch="RuntimeError: Trying to create tensor with negative dimension",
    example={"token_embedding": {"num_embeddings": -1}},
)
def token_constructor(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The token layer's constructor is given a size or a dtype that makes no table.

    Sizes are whole numbers of at least 1. A negative one is a `RuntimeError`; a float is a `TypeError`. Zero rows or
    width 0 are accepted: the first look-up then fails, or every row is empty and nothing ever does. An integer dtype
    has no normal distribution to be initialised from. The constructor runs on the CPU before the layer is moved, so all
    of this is the same for a GPU, for MPS and under `torch.compile`.

    How people meet it: a division with `/` gives a float (`d_model / 2` is 256.0, `d_model // 2` is 256); a size is
    read from a configuration that lacks it; a vocabulary is counted before it is filled.

    What does not help: `int()` around a size that should never have been a fraction; padding_idx or dtype.

        import torch

        vocabulary, d_model = ["a", "b", "c"], 512
        tok_emb = torch.nn.Embedding(len(vocabulary), d_model // 2)
        print(tuple(tok_emb.weight.shape))
    """
    yield from _stated_width(kind, facts)
    needed = (facts.max_id or 0) + 1
    rows = max(facts.n_vocab, needed) if facts.n_vocab is not None else needed
    yield from _invalid(kind, facts, "token_embedding", facts.token_layer, rows, ("vocab_size", "output_dim"))


@fault(
    code="P408",
    name=_EXPLAINED,
    stage=Stage.POSITION_EMBEDDING,
    torch="RuntimeError: Trying to create tensor with negative dimension",
    example={"position_embedding": {"num_embeddings": -1}},
)
def position_constructor(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The position layer's constructor is given a size or a dtype that makes no table.

    Sizes are whole numbers of at least 1: a negative one is a `RuntimeError`, a float a `TypeError`, in the constructor
    and therefore the same on the CPU, a GPU, MPS and under `torch.compile`. Zero rows are accepted, and the first
    look-up fails.

    How people meet it: a context length read from a configuration that has none (models with rotary positions), or
    computed as `max(map(len, texts))` from no texts.

    What does not help: catching the error and looking up nothing. State the context length, or use no position table
    where the model has none:

        import torch

        texts = ["one two", "three four five"]
        context_length = max((len(text.split()) for text in texts), default=1)
        pos_emb = torch.nn.Embedding(context_length, 8)
        print(tuple(pos_emb.weight.shape))
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

    Sizes are whole numbers of at least 1: a negative one is a `RuntimeError`, a float a `TypeError`, in the constructor
    and therefore the same on the CPU, a GPU, MPS and under `torch.compile`. BERT has two segments, RoBERTa one row that
    is always looked up, GPT none.

    How people meet it: `type_vocab_size: 0` in a configuration, meant to say that there are no segments.

    What does not help: a table of 0 rows, which is accepted and fails at the first look-up. Leave the layer out:

        import torch

        type_vocab_size = 0
        segments = torch.nn.Embedding(type_vocab_size, 8) if type_vocab_size else None
        print(segments)
    """
    layer = facts.config.segment_embedding
    if layer is not None:
        names = ("num_embeddings", "embedding_dim")
        yield from _invalid(kind, facts, "segment_embedding", layer, max(2, layer.max_id + 1), names)


def _invalid(
    kind: Fault, facts: Facts, section: str, layer: Layer, rows: int, names: tuple[str, str]
) -> Iterator[Diagnosis]:
    layer_name = section.partition("_")[0]
    stated = facts.config.embedding_dim
    width = stated if stated is not None and is_size(stated) else 256
    repairs = {"num_embeddings": rows, "embedding_dim": width}
    for (argument, repair), name in zip(repairs.items(), names, strict=True):
        value, field = getattr(layer, argument), f"{section}.{argument}"
        inherited = argument == "embedding_dim" and value == stated and not facts.config.is_stated(field)
        if is_size(value) or inherited:
            continue
        yield kind.diagnosis(
            f"the {layer_name} layer's {name} is {value!r}, "
            f"but {'a table' if argument == 'num_embeddings' else 'a row'} needs a whole number {_least(value)}",
            f"set {name} to {repair}{_division(value)}",
            torch=_said(facts, value, is_rows=argument == "num_embeddings"),
            fields=[field],
            fix={field: repair},
            data={argument: value},
        )
    yield from _too_large(kind, section, layer, rows, names)
    dtype = getattr(layer, "dtype", "float32")
    if dtype not in ITEM_SIZES:
        yield kind.diagnosis(
            f"the {layer_name} layer's dtype is {dtype}, but rows are floating-point numbers: "
            f"{words.python_list(list(ITEM_SIZES))}",
            "set dtype to float32; integers are for the IDs, not for the table",
            torch=_said_of_dtype(dtype),
            fields=[f"{section}.dtype"],
            fix={f"{section}.dtype": "float32"},
            data={"dtype": dtype},
        )
    projected: Any = getattr(layer, "project_to", None)
    if projected is not None and not is_size(projected):
        yield kind.diagnosis(
            f"the width after the projection is {projected!r}, but a row needs a whole number of at least 1",
            f"set project_to to {width}, or leave it out where no projection follows the table",
            torch=_said(facts, projected, is_rows=False),
            fields=[f"{section}.project_to"],
            fix={f"{section}.project_to": width},
            data={"project_to": projected},
        )


def _least(value: Any) -> str:
    """Return which whole numbers make a table, in words that say what is wrong with this one."""
    return "below 2 to the power of 63" if isinstance(value, int) and value >= 2**63 else "of at least 1"


def _too_large(kind: Fault, section: str, layer: Layer, rows: int, names: tuple[str, str]) -> Iterator[Diagnosis]:
    """Yield a table whose two sizes are sound and that no machine can hold."""
    if not (is_size(layer.num_embeddings) and is_size(layer.embedding_dim)):
        return
    height, width = int(layer.num_embeddings or 0), int(layer.embedding_dim or 0)
    if height * width < MOST_VALUES:
        return
    to_blame = 0 if height >= width else 1
    field = f"{section}.{('num_embeddings', 'embedding_dim')[to_blame]}"
    repair = rows if to_blame == 0 else 256
    yield kind.diagnosis(
        f"a table of {height} rows of {width} values is larger than any machine's memory",
        f"set {names[to_blame]} to the size that was meant, such as {repair}",
        torch="RuntimeError: Storage size calculation overflowed, or DefaultCPUAllocator: can't allocate memory",
        fields=[field],
        fix={field: repair},
        data={"num_embeddings": height, "embedding_dim": width},
    )


def _stated_width(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """Yield a stated embedding dim that is no size; layers that only inherit it are not blamed for it."""
    stated, config = facts.config.embedding_dim, facts.config
    if stated is None or is_size(stated):
        return
    layers = (config.token_embedding, config.position_embedding, config.segment_embedding)
    sound = [layer.embedding_dim for layer in layers if layer is not None and is_size(layer.embedding_dim)]
    repair = sound[0] if sound else 256
    yield kind.diagnosis(
        f"the stated embedding dim is {stated}, but a row needs a whole number of at least 1",
        f"state an embedding dim of {repair}" + (", the layers' own width" if sound else ""),
        torch=_said(facts, stated, is_rows=False) if not sound else "no error: PyTorch does not know what was meant",
        fields=["embedding_dim"],
        fix={"embedding_dim": repair},
        data={"embedding_dim": stated},
    )


def _division(value: Any) -> str:
    return ": a division with / gives a float, // a whole number" if isinstance(value, float) else ""


def _said(facts: Facts, value: Any, *, is_rows: bool) -> str:
    if not isinstance(value, int) or value >= 2**63:
        return "TypeError: empty(): argument 'size'"
    if value == 0:
        empty = "RuntimeError: index_select(): self indexing axis dim should be positive"
        if is_rows:
            return f"{empty} (at the first look-up)"
        added = torch_words.of_sum(torch_words.widths(facts))
        return "no error: rows of no values" if added.startswith("no error") else added
    return f"RuntimeError: Trying to create tensor with negative dimension {value}"


def _said_of_dtype(dtype: str) -> str:
    if dtype.startswith("complex"):
        return "RuntimeError: embedding does not support automatic differentiation for outputs with complex dtype"
    if dtype.startswith("float8"):
        return 'NotImplementedError: "normal_kernel_cpu" not implemented'
    return "RuntimeError: Only Tensors of floating point and complex dtype can require gradients"
