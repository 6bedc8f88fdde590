"""Faults of the token table: IDs without a row, arguments and layers out of place, sizes beside the tokenizer's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.checks import words
from inspector.checks.arrangement import arrangement
from inspector.checks.registry import fault
from inspector.checks.text import id_equals_row_count
from inspector.diagnosis import Severity, Stage
from inspector.recipe import is_size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.diagnosis import Diagnosis, Fault
    from inspector.facts import Facts

ROWS = "token_embedding.num_embeddings"
WIDTH = "token_embedding.embedding_dim"


def _out_of_place(facts: Facts) -> bool:
    arranged = arrangement(facts)
    return arranged.exchanged or arranged.token_transposed


@fault(
    code="E301",
    name="token-id-out-of-range",
    stage=Stage.TOKEN_EMBEDDING,
    torch=words.INDEX_ERROR,
    example={"token_ids": [[464, 582, 50085, 11]], "token_embedding": {"num_embeddings": 50000}},
)
def token_id_out_of_range(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """A token ID has no row in the token table.

    `nn.Embedding(num_embeddings, ...)` has rows 0 to num_embeddings - 1; an ID is the number of a row, and one that is
    equal to num_embeddings is already too large. PyTorch says `IndexError: index out of range in self` and names
    neither the layer nor the ID. On a GPU the fault is a device-side assert (`srcIndex < srcSelectDimSize`) that shows
    at a later line, often in an attention block or at `loss.backward()`, and leaves the process unusable; run once on
    the CPU, or with `CUDA_LAUNCH_BLOCKING=1`, to see the true place. Under `torch.compile` and on MPS the look-up may
    read whatever lies there and say nothing.

    Which repair fits depends on which side is wrong. If the IDs come from the stated tokenizer, the table is too small:
    give it the tokenizer's size. If special tokens were added to the tokenizer, call
    `model.resize_token_embeddings(len(tokenizer))`; the new rows are untrained. If the largest ID is exactly
    num_embeddings, either one special token too many was added, or the IDs count from 1. What does not help: a larger
    context length, another `output_dim`, a smaller batch.

        tokenizer = tiktoken.get_encoding("gpt2")
        tok_emb = torch.nn.Embedding(tokenizer.n_vocab, 256)
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
        if smallest == 1:
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
    return f"set vocab_size to at least {grown} if these IDs are right, else repair the IDs", fix, hints


@fault(
    code="E302",
    name="arguments-transposed",
    stage=Stage.TOKEN_EMBEDDING,
    torch=words.INDEX_ERROR,
    example={
        "token_ids": [[464, 582, 318, 257]],
        "token_embedding": {"num_embeddings": 256, "embedding_dim": 50257},
    },
)
def arguments_transposed(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The token layer's two sizes are in the wrong order.

    `nn.Embedding(num_embeddings, embedding_dim)` takes the number of rows first: the vocabulary's size, then the width.
    Written the other way round it makes a table of 256 rows, each 50257 wide. Most IDs have no row in it
    (`index out of range in self`); when all of them happen to be small, the look-up works and the fault shows at the
    sum, as a width that does not match.

        tok_emb = torch.nn.Embedding(vocab_size, output_dim)      # rows first
        tok_emb = torch.nn.Embedding(num_embeddings=50257, embedding_dim=256)   # by name it cannot go wrong
    """
    arranged = arrangement(facts)
    if arranged.exchanged or not arranged.token_transposed:
        return
    layer, stated = facts.token_layer, facts.config.embedding_dim
    width = layer.num_embeddings if stated is None else stated
    yield kind.diagnosis(
        f"the token layer's arguments are exchanged: nn.Embedding({layer.num_embeddings}, {layer.embedding_dim}) has "
        f"{layer.num_embeddings} rows of width {layer.embedding_dim}",
        f"write nn.Embedding({layer.embedding_dim}, {width}): rows first, then the width",
        torch=words.INDEX_ERROR
        if not _fits(facts)
        else "RuntimeError: The size of tensor a must match the size of tensor b",
        fields=[ROWS, WIDTH],
        fix={ROWS: layer.embedding_dim, WIDTH: width},
        data={"num_embeddings": layer.num_embeddings, "embedding_dim": layer.embedding_dim},
    )


def _fits(facts: Facts) -> bool:
    return facts.max_id is not None and facts.max_id < int(facts.token_layer.num_embeddings or 0)


@fault(
    code="E303",
    name="layers-exchanged",
    stage=Stage.TOKEN_EMBEDDING,
    torch=words.INDEX_ERROR,
    example={
        "token_ids": [[464, 582, 318, 257]],
        "token_embedding": {"num_embeddings": 4},
        "position_embedding": {"num_embeddings": 50257},
    },
)
def layers_exchanged(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The token layer and the position layer have each other's sizes.

    The token table has as many rows as there are positions, the position table as many as the vocabulary has tokens.
    PyTorch sees only that some ID has no row. While all IDs are small, nothing fails at all: tokens are then looked up
    in a table that is too small for the rest of the vocabulary, and training goes on until the first larger ID.

    It happens where both layers are made in one line, where two configuration keys were swapped, or where the layers
    are used in the wrong order in `forward`.

        tok_emb = torch.nn.Embedding(vocab_size, output_dim)
        pos_emb = torch.nn.Embedding(context_length, output_dim)
    """
    position = facts.position_layer
    if position is None or not arrangement(facts).exchanged:
        return
    token = facts.token_layer
    fix: dict[str, Any] = {ROWS: position.num_embeddings, "position_embedding.num_embeddings": token.num_embeddings}
    fields = [ROWS, "position_embedding.num_embeddings"]
    if token.embedding_dim != position.embedding_dim:
        fix |= {WIDTH: position.embedding_dim, "position_embedding.embedding_dim": token.embedding_dim}
        fields += [WIDTH, "position_embedding.embedding_dim"]
    yield kind.diagnosis(
        "the two layers have each other's sizes: "
        f"the token table has {words.count(int(token.num_embeddings or 0), 'row')} "
        f"and the position table {words.count(int(position.num_embeddings or 0), 'row')}",
        f"give vocab_size {position.num_embeddings} to the token layer and context_length {token.num_embeddings} "
        "to the position layer",
        torch=words.INDEX_ERROR if not _fits(facts) else "no error while all token IDs happen to be small",
        fields=fields,
        fix=fix,
        data={"token_rows": token.num_embeddings, "position_rows": position.num_embeddings},
    )


@fault(
    code="E309",
    name="table-smaller-than-tokenizer",
    stage=Stage.TOKEN_EMBEDDING,
    severity=Severity.WARNING,
    torch="no error until an ID beyond the table occurs",
    example={"token_ids": [[464, 582, 318, 257]], "token_embedding": {"num_embeddings": 50000}},
)
def table_smaller_than_tokenizer(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The tokenizer has more tokens than the table has rows; this batch happens to need none of the missing ones.

    Training may run for hours until the first rare token comes along and ends it with `index out of range in self`.
    Give the layer the tokenizer's size; with a trained model, use the tokenizer it was trained with.
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
    rows are never looked up by tokens of this tokenizer and stay as they were initialised. Two things to remember: the
    model's output has logits for them too, so sampling can give an ID that no tokenizer can decode; and a checkpoint
    with the padded table does not load into an unpadded one.
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
