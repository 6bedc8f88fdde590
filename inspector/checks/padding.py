"""Faults of padding_idx and max_norm: arguments that quietly change what rows hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.checks import torch_words, words
from inspector.checks.arrangement import intended_rows
from inspector.checks.registry import fault
from inspector.diagnosis import Cell, Severity, Stage
from inspector.recipe import is_padding_idx, is_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from inspector.config import PositionEmbeddingConfig, TokenEmbeddingConfig
    from inspector.diagnosis import Diagnosis, Fault
    from inspector.facts import Facts

_SIZE_NAMES = {"token_embedding": "vocab_size", "position_embedding": "context_length"}


@fault(
    code="E306",
    name="padding-idx-out-of-range",
    stage=Stage.TOKEN_EMBEDDING,
    torch=torch_words.PADDING_ERROR,
    example={"token_embedding": {"padding_idx": 50257}},
)
def token_padding(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The token layer's padding_idx is not one of its rows.

    `padding_idx` names the row that starts as zeros and is never trained. It may be -rows to rows - 1 (negative ones
    count from the end); anything else is an `AssertionError` in the constructor, before any device or `torch.compile`
    plays a part: the same everywhere.

    How people meet it: a padding token was added to the tokenizer while the table kept its size, or padding_idx was
    copied from the configuration of a larger model.

    What does not help: `padding_idx=-1` to silence it, which zeroes the last real token. Make room for the padding
    token, or leave padding_idx out:

        import torch

        vocab_size, pad_id = 50257, 50257                     # one beyond the last row
        tok_emb = torch.nn.Embedding(max(vocab_size, pad_id + 1), 8, padding_idx=pad_id)
        print(tok_emb.num_embeddings, tok_emb.weight[pad_id].abs().sum().item())
    """
    yield from _out_of_range(kind, "token_embedding", facts.token_layer, intended_rows(facts)[0])


@fault(
    code="P408",
    name="padding-idx-out-of-range",
    stage=Stage.POSITION_EMBEDDING,
    torch=torch_words.PADDING_ERROR,
    example={"position_embedding": {"padding_idx": 4}},
)
def position_padding(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The position layer's padding_idx is not one of its rows.

    It may be -rows to rows - 1; anything else is an `AssertionError` in the constructor, the same on the CPU, a GPU,
    MPS and under `torch.compile`.

    How people meet it: only models of RoBERTa's family give their position table a padding row, the row `padding_idx`,
    while positions start at `padding_idx + 1`. Copied to another model, or with a table that was cut, the number has no
    row.

    What does not help: moving the positions instead. A GPT-style model needs no padding row here; leave it out, or
    count it in the rows:

        import torch

        max_tokens, padding_idx = 512, 1
        pos_emb = torch.nn.Embedding(max_tokens + padding_idx + 1, 8, padding_idx=padding_idx)
        print(pos_emb.num_embeddings)   # 514
    """
    yield from _out_of_range(kind, "position_embedding", facts.position_layer, intended_rows(facts)[1])


def _out_of_range(
    kind: Fault, section: str, layer: TokenEmbeddingConfig | PositionEmbeddingConfig | None, rows: int | None
) -> Iterator[Diagnosis]:
    if layer is None or rows is None:
        return
    if is_padding_idx(layer.padding_idx, rows):
        return
    above = layer.padding_idx is not None and layer.padding_idx >= rows
    yield kind.diagnosis(
        f"padding_idx {layer.padding_idx} is not one of the {section.partition('_')[0]} table's "
        f"{words.count(rows, 'row')}: it may be {-rows} to {rows - 1}",
        "leave padding_idx out"
        + (f", or give it a row: {_SIZE_NAMES[section]} of at least {(layer.padding_idx or 0) + 1}" if above else ""),
        fields=[f"{section}.padding_idx"],
        fix={f"{section}.padding_idx": None},
        data={"padding_idx": layer.padding_idx, "num_embeddings": rows},
    )


@fault(
    code="E307",
    name="padding-idx-on-real-token",
    stage=Stage.TOKEN_EMBEDDING,
    severity=Severity.WARNING,
    torch="no error",
    example={
        "token_ids": [[464, 582, 318, 257]],
        "token_embedding": {"padding_idx": 582},
    },
)
def padding_on_real_token(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The padding row is that of a token the text really uses.

    The row `padding_idx` starts as zeros and gets no gradient: a real token with that ID stays without meaning for
    ever, and nothing says so, on any device or under `torch.compile`.

    How people meet it: `padding_idx=0` by habit. 0 is padding in BERT and in many toy vocabularies, but `!` in GPT-2
    and the start token in RoBERTa, whose padding is 1.

    What does not help: training longer, or a larger learning rate: the gradient of that row is zero. Use the
    tokenizer's own padding ID, or leave padding_idx out; the attention mask and the loss already ignore padding.

        import torch

        tok_emb = torch.nn.Embedding(10, 4, padding_idx=0)
        tok_emb(torch.tensor([[0, 1, 2]])).sum().backward()
        print(tok_emb.weight.grad[0].tolist())   # zeros: token 0 learns nothing
    """
    layer = facts.token_layer
    rows = layer.num_embeddings
    if layer.padding_idx is None or facts.batch is None or not is_size(rows):
        return
    if not is_padding_idx(layer.padding_idx, int(rows or 0)):
        return
    padding = layer.padding_idx % int(rows or 0)
    other = facts.position_layer.padding_idx if facts.position_layer else None
    cells = [
        Cell(r, c)
        for r, ids in enumerate(facts.batch)
        for c in (range(len(ids)) if other not in (None, padding) else range(*_inner(ids, padding)))
        if ids[c] == padding
    ]
    if not cells:
        return
    yield kind.diagnosis(
        f"padding_idx {layer.padding_idx} is the row of token ID {facts.describe_id(padding)}, which occurs "
        f"{'inside' if other in (None, padding) else 'in'} the text: its row stays zero and is never trained",
        "use the tokenizer's own padding ID, or leave padding_idx out",
        cells=cells,
        fields=["token_embedding.padding_idx"],
        fix={"token_embedding.padding_idx": None},
        data={"padding_idx": layer.padding_idx},
    )


def _inner(ids: Sequence[int], padding: int) -> tuple[int, int]:
    """Return where the text of a row starts and ends: what is left without padding at its two ends."""
    real = [c for c, i in enumerate(ids) if i != padding]
    return (real[0], real[-1] + 1) if real else (0, 0)


@fault(
    code="E308",
    name="max-norm-rewrites-rows",
    stage=Stage.TOKEN_EMBEDDING,
    severity=Severity.WARNING,
    torch="no error",
    example={"token_embedding": {"max_norm": 1.0}},
)
def max_norm(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """With max_norm every look-up rewrites the rows it reads.

    A row whose norm is larger than `max_norm` is scaled down *in the weight itself*, during the forward pass, on every
    device, also under `torch.no_grad()` and in evaluation. Two passes over different texts leave different weights, a
    weight shared with the output layer changes under it, and a backward pass through a use of the weight before the
    look-up fails with `modified by an inplace operation`.

    How people meet it: it looks like a harmless regulariser in the list of arguments.

    What does not help: `torch.no_grad()` or `model.eval()`, which do not stop the rewriting. Remove max_norm, or scale
    what the layer gives:

        import torch

        tok_emb = torch.nn.Embedding(10, 4, max_norm=0.5)
        before = tok_emb.weight.detach().clone()
        with torch.no_grad():
            tok_emb(torch.tensor([1, 2]))
        print((tok_emb.weight.detach() != before).any(1).tolist())   # rows 1 and 2 are no longer what they were
        rows = torch.nn.functional.normalize(torch.nn.Embedding(10, 4)(torch.tensor([1, 2])), dim=-1)
    """
    value = facts.token_layer.max_norm
    if value is None:
        return
    yield kind.diagnosis(
        f"max_norm {value} makes each look-up rewrite the rows it reads: larger ones are scaled down for good",
        "remove max_norm unless that is meant; to limit norms without changing the table, scale the rows afterwards",
        fields=["token_embedding.max_norm"],
        fix={"token_embedding.max_norm": None},
        data={"max_norm": value},
    )
