"""Faults of the segment table of BERT-like models: a third table that is looked up too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.checks import torch_words, words
from inspector.checks.registry import fault
from inspector.diagnosis import Stage
from inspector.recipe import is_size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.diagnosis import Diagnosis, Fault
    from inspector.facts import Facts


@fault(
    code="G451",
    name="segment-id-out-of-range",
    stage=Stage.SEGMENT_EMBEDDING,
    torch=torch_words.INDEX_ERROR,
    example={"token_ids": [[464, 582, 318, 257]], "segment_embedding": {"num_embeddings": 1, "max_id": 1}},
)
def segment_id_out_of_range(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """A segment ID has no row in the segment table.

    BERT marks two texts in one input with segment IDs (`token_type_ids`) 0 and 1 and looks them up in a table of two
    rows; RoBERTa has that table with a *single* row. An ID without a row raises `index out of range in self` on the
    CPU, the words of a token ID that is too large. On a GPU it is a device-side assert at a later line, under
    `torch.compile` `index out of bounds`, on MPS often nothing.

    How people meet it: a tokenizer of BERT's beside a model of RoBERTa's, or `token_type_ids` that were built by hand.

    What does not help: `resize_token_embeddings`, which changes the token table only. With a model of one segment pass
    no `token_type_ids`, or zeros; for layers made afresh give the table two rows.

        import torch

        ids = torch.tensor([[0, 464, 2, 582, 2]])
        segments = torch.nn.Embedding(1, 8)
        token_type_ids = torch.zeros_like(ids)   # all of one segment
        print(segments(token_type_ids).shape)
    """
    layer = facts.config.segment_embedding
    if layer is None or facts.columns is None or not is_size(layer.num_embeddings):
        return
    rows = int(layer.num_embeddings or 0)
    if 0 <= layer.max_id < rows:
        return
    allowed = "use segment ID 0 throughout" if rows == 1 else f"use segment IDs 0 to {rows - 1} only"
    trained = facts.config.checkpoint is not None
    fix = (
        {"segment_embedding.max_id": 0}
        if trained or layer.max_id < 0
        else {"segment_embedding.num_embeddings": layer.max_id + 1}
    )
    yield kind.diagnosis(
        f"segment ID {layer.max_id} has no row in the segment table, whose rows are {words.rows(rows)}",
        allowed
        if trained or layer.max_id < 0
        else f"give the segment table {layer.max_id + 1} rows; with a trained model {allowed}",
        fields=["segment_embedding.num_embeddings", "segment_embedding.max_id"],
        fix=fix,
        data={"max_id": layer.max_id, "num_embeddings": rows},
    )
