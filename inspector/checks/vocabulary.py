"""IDs that the stated tokenizer does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.checks import torch_words, words
from inspector.checks.registry import fault
from inspector.diagnosis import Severity, Stage
from inspector.recipe import is_size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.diagnosis import Diagnosis, Fault
    from inspector.facts import Facts


@fault(
    code="T104",
    name="ids-from-another-tokenizer",
    stage=Stage.TOKENIZER,
    torch=torch_words.INDEX_ERROR,
    example={"token_ids": [[464, 60000, 318, 257]]},
)
def ids_from_another_tokenizer(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The IDs hold numbers that the stated tokenizer never gives, and the table has no row for them.

    A GPT-2 tokenizer gives IDs from 0 to 50256. An ID of 60000 beside it came from somewhere else. On the CPU PyTorch
    says `IndexError: index out of range in self` and names neither the layer nor the ID. On a GPU the look-up ends in a
    device-side assert (`srcIndex < srcSelectDimSize`) that shows at a later line; under `torch.compile` it is `index
    out of bounds`; on MPS it has often been nothing at all, and rows of zeros.

    How people meet it: the tokenizer of one model beside another model, a token file made long ago, labels taken for
    inputs, `len(tokenizer)` of one name and weights of another.

    What does not help: growing the table until the IDs fit. The error goes away, and every other ID still means another
    word than it should. Tokenise the text again with this model's tokenizer, or load the model that belongs to these
    IDs.

        import torch

        n_vocab = 50257
        ids = torch.tensor([[464, 60000, 318, 257]])
        strangers = ids[ids >= n_vocab].unique()
        print(strangers.tolist())   # ask where these come from before changing any layer
    """
    rows, n_vocab = facts.token_layer.num_embeddings, facts.n_vocab
    if n_vocab is None or not is_size(rows):
        return
    limit = max(n_vocab, int(rows or 0))
    cells = facts.cells(lambda i: i >= limit)
    if not cells or id_equals_row_count(facts):
        return
    found = [facts.id_at(cell) for cell in cells]
    name = facts.config.tokenizer.encoding
    stated = f"the {name} tokenizer" if name else "the stated tokenizer"
    yield kind.diagnosis(
        f"{words.ids(facts, found)} cannot come from {stated}, whose IDs are 0 to {n_vocab - 1}, "
        f"and the token table has rows 0 to {int(rows or 0) - 1}",
        "tokenise the text again with this model's tokenizer, or use the model these IDs were made for; "
        "a larger table would only hide it",
        torch=torch_words.of_token_ids(facts),
        cells=cells,
        fields=["token_ids", "tokenizer.n_vocab", "tokenizer.encoding"],
        data={"max_id": max(found), "n_vocab": n_vocab, "num_embeddings": rows},
    )


def id_equals_row_count(facts: Facts) -> bool:
    """Return whether the only ID without a row is the number of rows itself: one token too many, or IDs from 1."""
    rows = facts.token_layer.num_embeddings
    return is_size(rows) and facts.max_id == rows


@fault(
    code="T105",
    name="id-unknown-to-tokenizer",
    stage=Stage.TOKENIZER,
    severity=Severity.WARNING,
    torch="no error",
    example={"token_ids": [[464, 50300, 318, 257]], "token_embedding": {"num_embeddings": 50304}},
)
def id_unknown_to_tokenizer(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """An ID lies beyond the tokenizer, in rows that only pad the table.

    Tables are often padded to a round number of rows (GPT-2's 50257 to 50304) so that they divide well. The rows beyond
    the tokenizer exist, so the look-up works everywhere, on the CPU, a GPU, MPS and under `torch.compile`; but no text
    leads to them, they were never trained, and the tokenizer cannot decode them.

    How people meet it: an ID sampled from the model's output, which has logits for the padding too; a special token
    added beside the tokenizer instead of in it.

    What does not help: taking the rows away, which breaks loading the checkpoint. Mask the logits beyond the tokenizer
    before sampling, or add the special token to the tokenizer:

        import torch

        n_vocab, rows = 50257, 50304
        logits = torch.randn(1, rows)
        logits[:, n_vocab:] = float("-inf")   # never sample what cannot be decoded
        print(int(logits.softmax(-1).argmax()) < n_vocab)
    """
    rows, n_vocab = facts.token_layer.num_embeddings, facts.n_vocab
    if n_vocab is None or not is_size(rows):
        return
    cells = facts.cells(lambda i: n_vocab <= i < int(rows or 0))
    if not cells:
        return
    found = [facts.id_at(cell) for cell in cells]
    yield kind.diagnosis(
        f"{words.ids(facts, found)} {words.have(found)} a row in the token table (rows {words.rows(rows)}) "
        f"but no token: the tokenizer's IDs are 0 to {n_vocab - 1}",
        "use IDs of the tokenizer only; if this is an added special token, count it in tokenizer.n_vocab",
        cells=cells,
        fields=["token_ids", "tokenizer.n_vocab"],
        data={"max_id": max(found), "n_vocab": n_vocab, "num_embeddings": rows},
    )
