"""Arguments in the wrong order, and layers in each other's place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.checks import torch_words, words
from inspector.checks.arrangement import arrangement
from inspector.checks.registry import fault
from inspector.diagnosis import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.diagnosis import Diagnosis, Fault
    from inspector.facts import Facts


TOKEN_ROWS = "token_embedding.num_embeddings"
TOKEN_WIDTH = "token_embedding.embedding_dim"
POSITION_ROWS = "position_embedding.num_embeddings"
POSITION_WIDTH = "position_embedding.embedding_dim"


@fault(
    code="E302",
    name="arguments-transposed",
    stage=Stage.TOKEN_EMBEDDING,
    torch=torch_words.INDEX_ERROR,
    example={
        "token_ids": [[464, 582, 318, 257]],
        "token_embedding": {"num_embeddings": 256, "embedding_dim": 50257},
    },
)
def token_transposed(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The token layer's two sizes are in the wrong order.

    `nn.Embedding(num_embeddings, embedding_dim)` takes the number of rows first: the vocabulary's size, then the width.
    The other way round makes a table of 256 rows, each 50257 wide. On the CPU most IDs have no row in it (`index out of
    range in self`; on a GPU a device-side assert at a later line, under `torch.compile` `index out of bounds`, on MPS
    often nothing). When all of them happen to be small, the look-up works and the fault shows at the sum, as a width
    that does not match, or much later as a tensor that needs far too much memory.

    How people meet it: both arguments are plain numbers and both orders are accepted; `nn.Linear(in, out)` has them the
    other way round in memory.

    What does not help: raising the first number until the IDs fit, which keeps the absurd width; changing the position
    layer to the same width. Name the arguments:

        import torch

        vocab_size, output_dim = 50257, 256
        tok_emb = torch.nn.Embedding(num_embeddings=vocab_size, embedding_dim=output_dim)
        print(tuple(tok_emb.weight.shape))   # (50257, 256): rows first
    """
    arranged = arrangement(facts)
    if arranged.exchanged or not arranged.token_transposed:
        return
    layer, stated = facts.token_layer, facts.config.embedding_dim
    width = layer.num_embeddings if stated is None else stated
    yield kind.diagnosis(
        f"the token layer's arguments are in the wrong order: "
        f"nn.Embedding({layer.num_embeddings}, {layer.embedding_dim}) has "
        f"{layer.num_embeddings} rows of width {layer.embedding_dim}",
        f"write nn.Embedding({layer.embedding_dim}, {width}): rows first, then the width",
        torch=torch_words.of_layers(facts),
        fields=[TOKEN_ROWS, TOKEN_WIDTH],
        fix={TOKEN_ROWS: layer.embedding_dim, TOKEN_WIDTH: width},
        data={"num_embeddings": layer.num_embeddings, "embedding_dim": layer.embedding_dim},
    )


@fault(
    code="E303",
    name="layers-exchanged",
    stage=Stage.TOKEN_EMBEDDING,
    torch=torch_words.INDEX_ERROR,
    example={
        "token_ids": [[464, 582, 318, 257]],
        "token_embedding": {"num_embeddings": 4},
        "position_embedding": {"num_embeddings": 50257},
    },
)
def layers_exchanged(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The token layer and the position layer have each other's sizes.

    The token table has as many rows as there are positions, the position table as many as the vocabulary has tokens. On
    the CPU PyTorch sees only that some ID has no row: `index out of range in self` (on a GPU a device-side assert at a
    later line, under `torch.compile` `index out of bounds`, on MPS often nothing). While all IDs are small nothing
    fails anywhere: tokens are then looked up in a table that is too small for the rest of the vocabulary, and training
    goes on until the first larger ID.

    How people meet it: both layers made in one line, two keys of a configuration swapped, the layers used in the wrong
    order in `forward`.

    What does not help: growing the token table alone, which leaves a position table of 50257 rows; another tokenizer.
    Give each layer its own sizes:

        import torch

        vocab_size, context_length, output_dim = 50257, 4, 256
        tok_emb = torch.nn.Embedding(vocab_size, output_dim)
        pos_emb = torch.nn.Embedding(context_length, output_dim)
        ids = torch.tensor([[464, 582, 318, 257]])
        print((tok_emb(ids) + pos_emb(torch.arange(ids.shape[1]))).shape)
    """
    position = facts.position_layer
    if position is None or not arrangement(facts).exchanged:
        return
    token, said = facts.token_layer, torch_words.of_layers(facts).partition(",")[0]
    fix: dict[str, Any] = {TOKEN_ROWS: position.num_embeddings, POSITION_ROWS: token.num_embeddings}
    fields = [TOKEN_ROWS, POSITION_ROWS]
    if token.embedding_dim != position.embedding_dim:
        fix |= {TOKEN_WIDTH: position.embedding_dim, POSITION_WIDTH: token.embedding_dim}
        fields += [TOKEN_WIDTH, POSITION_WIDTH]
    yield kind.diagnosis(
        "the two layers have each other's sizes: "
        f"the token table has {words.count(int(token.num_embeddings or 0), 'row')} "
        f"and the position table {words.count(int(position.num_embeddings or 0), 'row')}",
        f"give vocab_size {position.num_embeddings} to the token layer and context_length {token.num_embeddings} "
        "to the position layer",
        torch=f"{said} while all token IDs happen to be small" if said == "no error" else said,
        fields=fields,
        fix=fix,
        data={"token_rows": token.num_embeddings, "position_rows": position.num_embeddings},
    )


@fault(
    code="P402",
    name="arguments-transposed",
    stage=Stage.POSITION_EMBEDDING,
    torch=torch_words.SUM_ERROR.format(256, 4),
    example={"position_embedding": {"num_embeddings": 256, "embedding_dim": 4}},
)
def position_transposed(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The position layer's two sizes are in the wrong order.

    `nn.Embedding(num_embeddings, embedding_dim)` takes rows first: the context length, then the width. The other way
    round makes a table of 256 rows that are 4 wide. Every position has a row, so the look-up is fine on any device, and
    the fault shows late, at the sum: `The size of tensor a (256) must match the size of tensor b (4)`. That comes from
    the shapes alone: at once on the CPU, a GPU and MPS, and under `torch.compile` while it compiles.

    How people meet it: both orders are accepted, and the message names sizes but no layer.

    What does not help: changing the token layer to the odd width, or `unsqueeze` until the sum broadcasts. Name the
    arguments:

        import torch

        context_length, output_dim = 4, 256
        pos_emb = torch.nn.Embedding(num_embeddings=context_length, embedding_dim=output_dim)
        print(tuple(pos_emb.weight.shape))   # (4, 256)
    """
    layer, arranged = facts.position_layer, arrangement(facts)
    if layer is None or arranged.exchanged or not arranged.position_transposed:
        return
    yield kind.diagnosis(
        f"the position layer's arguments are in the wrong order: "
        f"nn.Embedding({layer.num_embeddings}, {layer.embedding_dim}) "
        f"has {layer.num_embeddings} rows of width {layer.embedding_dim}",
        f"write nn.Embedding({layer.embedding_dim}, {layer.num_embeddings}): rows first, then the width",
        fields=[POSITION_ROWS, POSITION_WIDTH],
        torch=torch_words.of_layers(facts),
        fix={POSITION_ROWS: layer.embedding_dim, POSITION_WIDTH: layer.num_embeddings},
        data={"num_embeddings": layer.num_embeddings, "embedding_dim": layer.embedding_dim},
    )
