"""IDs without a row in the token table, and tables that are not as long as the vocabulary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.checks import torch_words, words
from inspector.checks.arrangement import arrangement
from inspector.checks.registry import fault
from inspector.checks.vocabulary import id_equals_row_count
from inspector.diagnosis import Severity, Stage
from inspector.recipe import is_size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.diagnosis import Diagnosis, Fault
    from inspector.facts import Facts


ROWS = "token_embedding.num_embeddings"


def _out_of_place(facts: Facts) -> bool:
    arranged = arrangement(facts)
    return arranged.exchanged or arranged.token_transposed


@fault(
    code="E301",
    name="token-id-out-of-range",
    stage=Stage.TOKEN_EMBEDDING,
    torch=torch_words.INDEX_ERROR,
    example={"token_ids": [[464, 582, 50085, 11]], "token_embedding": {"num_embeddings": 50000}},
)
def token_id_out_of_range(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """A token ID has no row in the token table.

    `nn.Embedding(num_embeddings, ...)` has rows 0 to num_embeddings - 1; an ID is the number of a row, and one that is
    equal to num_embeddings is already too large. On the CPU PyTorch says `IndexError: index out of range in self` and
    names neither the layer nor the ID. On a GPU the fault is a device-side assert (`srcIndex < srcSelectDimSize`) that
    shows at a later line, often in an attention block or at `loss.backward()`, and leaves the process unusable: run
    once on the CPU, or with `CUDA_LAUNCH_BLOCKING=1`, to see the true place. Under `torch.compile` it is `index out of
    bounds: 0 <= tmp < …`; on MPS the look-up has often said nothing and given rows of zeros.

    How people meet it: tokens were added to the tokenizer and the table kept its size; `vocab_size` was counted from a
    part of the text; IDs were counted from 1; the tokenizer belongs to another model.

    Which repair fits depends on which side is wrong. If the IDs come from the stated tokenizer, the table is too small:
    give it the tokenizer's size. If tokens were added, grow the table and train the new rows, which start out random.
    If the IDs count from 1, subtract 1. If another tokenizer made them, tokenise again.

    What does not help: a longer context, another `output_dim`, a smaller batch, clamping the IDs (which reads another
    token's row).

        import torch

        ids = torch.tensor([[464, 582, 50085, 11]])
        tok_emb = torch.nn.Embedding(50257, 256)
        assert ids.min() >= 0 and ids.max() < tok_emb.num_embeddings, int(ids.max())
        print(tok_emb(ids).shape)
    """
    rows = facts.token_layer.num_embeddings
    if not is_size(rows) or facts.max_id is None or _out_of_place(facts):
        return
    rows = int(rows or 0)
    cells = facts.cells(lambda i: i >= rows)
    if not cells:
        return
    found = [facts.id_at(cell) for cell in cells]
    largest = max(found)
    message = (
        f"{words.ids(facts, found)} {words.have(found)} no row in the token table, whose rows are {words.rows(rows)}"
    )
    help_, fix, hints = _remedy(facts, largest)
    yield kind.diagnosis(
        message,
        help_,
        torch=torch_words.of_token_ids(facts),
        cells=cells,
        fields=[ROWS],
        fix=fix,
        data={"max_id": largest, "num_embeddings": rows, "n_vocab": facts.n_vocab, "hints": hints},
    )


def _remedy(facts: Facts, largest: int) -> tuple[str, dict[str, Any] | None, list[str]]:
    """Return what to do about IDs without a row: grow the table, or repair the IDs."""
    n_vocab = facts.n_vocab
    name = facts.config.tokenizer.encoding
    trained = facts.config.checkpoint is not None
    hints = []
    grown = max(largest + 1, n_vocab or 0)
    smallest = min(i for row in facts.batch or () for i in row)
    if id_equals_row_count(facts):
        hints.append("id-equals-row-count")
        # A token that the tokenizer has is no miscount, and many a tokenizer begins every text with its token 1.
        if smallest == 1 and (n_vocab is None or n_vocab <= largest) and not trained:
            hints.append("one-based-ids")
            return "the IDs count from 1 and the rows from 0: subtract 1 from every ID", None, hints
    if trained:
        return (
            "the rows are trained: use the tokenizer of this model, or resize the table and train the new rows",
            None,
            hints,
        )
    fix = {ROWS: grown}
    if n_vocab is not None and largest < n_vocab:
        stated = f"the {name} vocabulary" if name else "the tokenizer's vocabulary"
        return f"set vocab_size to {n_vocab}, the size of {stated}", fix, hints
    if "id-equals-row-count" in hints:
        help_ = (
            f"an ID equal to the number of rows is one too many: set vocab_size to {grown} if a special token was added"
        )
        return f"{help_}, else subtract 1 from IDs that count from 1", fix, hints
    unknown = "nobody stated the tokenizer's size: " if n_vocab is None else ""
    return f"{unknown}set vocab_size to at least {grown} if these IDs are right, else tokenise again", fix, hints


@fault(
    code="E309",
    name="table-smaller-than-tokenizer",
    stage=Stage.TOKEN_EMBEDDING,
    severity=Severity.WARNING,
    torch="no error until an ID beyond the table occurs",
    example={"token_ids": [[464, 582, 318, 257]], "token_embedding": {"num_embeddings": 50000}},
)
def table_smaller_than_tokenizer(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The tokenizer has more tokens than the table has rows, though this batch needs none of the missing ones.

    Nothing is said, on any device, until the first rare token comes along: training may run for hours and then end with
    `index out of range in self` (a device-side assert on a GPU, possibly nothing on MPS).

    How people meet it: `vocab_size` counted from the training text instead of the tokenizer, a round number, a
    configuration of another model.

    What does not help: trying a batch or two, or another seed: the rare token is in the text all the same. Give the
    layer the tokenizer's size; with a trained model, use the tokenizer it was trained with.

        import torch

        token_ids, n_vocab = [464, 582, 318, 257], 50257
        print(len(set(token_ids)), max(token_ids) + 1)   # neither of these is the vocabulary's size
        tok_emb = torch.nn.Embedding(n_vocab, 8)
    """
    rows, n_vocab = facts.token_layer.num_embeddings, facts.n_vocab
    if n_vocab is None or not is_size(rows) or _out_of_place(facts):
        return
    rows = int(rows or 0)
    if rows >= n_vocab or (facts.max_id is not None and facts.max_id >= rows):
        return
    later = _first_batch_beyond(facts, rows)
    yield kind.diagnosis(
        f"the tokenizer has {n_vocab} tokens but the token table only {words.count(rows, 'row')}: "
        f"IDs {rows} to {n_vocab - 1} have none"
        + (f", and batch {later + 1} of this text holds one" if later is not None else ""),
        f"set vocab_size to {n_vocab}",
        fields=[ROWS],
        fix={ROWS: n_vocab} if facts.config.checkpoint is None else None,
        data={"num_embeddings": rows, "n_vocab": n_vocab, "first_batch": later},
    )


def _first_batch_beyond(facts: Facts, rows: int) -> int | None:
    """Return the first batch that holds an ID without a row, where the text has one."""
    tokens, plan = facts.tokens, facts.plan
    if tokens is None or plan is None or plan.shuffle or tokens.max_id < rows:
        return None
    places = (plan.batch_holding(n) for n, i in enumerate(tokens.ids) if i >= rows)
    return next((place[0] for place in places if place is not None), None)


@fault(
    code="E310",
    name="table-padded",
    stage=Stage.TOKEN_EMBEDDING,
    severity=Severity.NOTE,
    torch="no error",
    example={"token_ids": [[464, 582, 318, 257]], "token_embedding": {"num_embeddings": 50304}},
)
def table_padded(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The table has more rows than the tokenizer has tokens.

    Usually on purpose: 50304 rows instead of 50257 divide by 128 and make the last matrix product faster. The extra
    rows are never looked up by tokens of this tokenizer; nothing fails on any device.

    How people meet it: two things to remember. The model's output has logits for the padding too, so sampling can give
    an ID that no tokenizer can decode. And a checkpoint of the padded table does not load into an unpadded one (`size
    mismatch`).

    What does not help: cutting the rows off after training while the output layer shares them.

        import torch

        n_vocab = 50257
        rows = -(-n_vocab // 128) * 128        # the next multiple of 128
        print(rows)                            # 50304
        tok_emb = torch.nn.Embedding(rows, 8)
    """
    rows, n_vocab = facts.token_layer.num_embeddings, facts.n_vocab
    if n_vocab is None or not is_size(rows) or _out_of_place(facts) or int(rows or 0) <= n_vocab:
        return
    yield kind.diagnosis(
        f"the token table has {rows} rows for {n_vocab} tokens: rows {n_vocab} to {int(rows or 0) - 1} are padding",
        "nothing to do",
        fields=[ROWS],
        data={"num_embeddings": rows, "n_vocab": n_vocab},
    )
