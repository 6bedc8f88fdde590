"""Faults of a batch of IDs as a tensor: its axes, and numbers below 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.checks import torch_words, words
from inspector.checks.registry import fault
from inspector.diagnosis import Stage
from inspector.id_tensor import INDEX_DTYPES
from inspector.recipe import is_size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.diagnosis import Diagnosis, Fault
    from inspector.facts import Facts


@fault(
    code="B210",
    name="ids-rank",
    stage=Stage.DATA_LOADER,
    torch="no error here: shapes go wrong later",
    example={"token_ids": [464, 582, 318, 257]},
)
def ids_rank(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The IDs do not form a batch: rows of one length, one row a sample.

    A look-up takes indices of any rank and appends the embedding dim, so a single list of T IDs becomes (T, D) and a
    batch with one axis too many (B, 1, T, D): nothing fails at the embedding, on any device. It fails later, in the
    attention block's `B, T, C = x.shape`, or nowhere, when the model takes the text for a batch. Lists of different
    lengths fail when the tensor is made.

    How people meet it: `torch.tensor(tokenizer.encode(text))` has no batch axis; `return_tensors="pt"` and one more
    `unsqueeze` have one too many; a list of texts was not padded.

    What does not help: `view(-1)`, which makes one long text of all samples. Add or take away exactly the axis that is
    wrong:

        import torch

        ids = torch.tensor([464, 582, 318, 257])
        batch = ids.unsqueeze(0)                                  # (4,) becomes (1, 4)
        texts = [torch.tensor([464, 582]), torch.tensor([318])]
        padded = torch.nn.utils.rnn.pad_sequence(texts, batch_first=True, padding_value=50256)
        print(batch.shape, padded.shape)
    """
    given = facts.given
    if given is None or given.dtype not in INDEX_DTYPES:
        return
    shape = given.shape
    if shape is None:
        yield kind.diagnosis(
            "the rows of the batch have different lengths, and a tensor needs rows of one length",
            "pad the shorter rows, or cut the longer ones",
            torch="ValueError: expected sequence of length",
            fields=["token_ids"],
        )
        return
    if len(shape) == 2:
        return
    fix: dict[str, Any] | None = None
    if len(shape) == 1 and shape[0]:
        fix, what, remedy = {"token_ids": (given.values,)}, "one list", "add the batch axis: ids.unsqueeze(0)"
    elif len(shape) == 3 and 1 in shape[:2] and shape[2]:
        fix = {"token_ids": tuple(map(tuple, given.rows()))}
        axis = shape.index(1)
        what, remedy = "three axes", f"take the axis of length 1 away: ids.squeeze({axis})"
    else:
        what = f"{len(shape)} axes" if len(shape) != 1 else "an empty list"
        remedy = "reshape the IDs to (batch, position): one row a sample"
    yield kind.diagnosis(
        f"the IDs have shape {_shown(shape)}, {what}; a batch has two axes, (batch, position)",
        remedy,
        fields=["token_ids"],
        fix=fix,
        data={"shape": list(shape)},
    )


@fault(
    code="B211",
    name="ids-negative",
    stage=Stage.DATA_LOADER,
    torch=torch_words.INDEX_ERROR,
    example={"token_ids": [[464, 582, -1, -1]]},
)
def ids_negative(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """An input ID is negative.

    Python lists count from the end for a negative index; `nn.Embedding` does not: on the CPU any negative ID raises the
    same `index out of range in self` as one that is too large. On a GPU it is a device-side assert that shows at a
    later line. Under
    `torch.compile` some releases (2.11 among them) counted from the end, like a list, and said nothing; on MPS, too,
    it may pass unnoticed.

    How people meet it: -100 is the *label* that cross-entropy ignores (`ignore_index`), and where it reaches the
    inputs, labels and inputs were exchanged or share their memory. -1 is a padding marker of some data sets, or comes
    from `str.find` and from `vocabulary.get(word, -1)`.

    What does not help: `padding_idx=-1`, which names the last row and does not make -1 a legal ID; `abs()`; a larger
    table. Pad inputs with a real ID and leave the ignoring to the labels and the attention mask:

        import torch

        pad_id = 50256
        ids = torch.tensor([[464, 582, -1, -1]])
        inputs = ids.masked_fill(ids < 0, pad_id)
        labels = ids.masked_fill(ids < 0, -100)
        mask = ids >= 0
        print(inputs.tolist(), labels.tolist(), mask.tolist())
    """
    cells = facts.cells(lambda i: i < 0)
    if not cells:
        return
    found = [facts.id_at(cell) for cell in cells]
    hints = []
    story = "a look-up takes IDs from 0"
    if -100 in found:
        hints.append("ignore-index")
        story = "-100 is the label that the loss ignores, not an input"
    elif -1 in found:
        hints.append("padding-minus-one")
        story = "-1 does not mean the last row, nor padding"
    values = words.python_list([str(i) for i in sorted(set(found))[:3]])
    yield kind.diagnosis(
        f"{words.count(len(found), 'ID')} of the batch {'is' if len(found) == 1 else 'are'} negative ({values}), "
        f"and no table has a row for that: {story}",
        "put the tokenizer's padding or end token there, and let the attention mask and the labels (-100) ignore it",
        torch=torch_words.of_token_ids(facts),
        cells=cells,
        fields=["token_ids"],
        data={"min_id": min(found), "hints": hints},
    )


@fault(
    code="B212",
    name="batch-axes-swapped",
    stage=Stage.DATA_LOADER,
    torch="as position-out-of-range, or no error",
    example={
        "token_ids": [[464, 582, 318, 257], [11, 290, 262, 13]],
        "loader": {"batch_size": 4, "max_length": 2},
    },
)
def batch_axes_swapped(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """The batch has positions down and samples across: its axes are exchanged.

    The stated loader makes batches of (batch_size, max_length); this one has exactly the other order. The token look-up
    does not mind, on any device. The position table is asked for as many rows as there are *samples*: `index out of
    range` when those are more than it has (a device-side assert on a GPU), or nothing at all, and then each token gets
    the position of its sample and a text runs downwards.

    How people meet it: code for recurrent layers with `batch_first=False`, `torch.stack(samples, dim=1)`, a transpose
    that was meant for another place.

    What does not help: a longer position table, which only silences it. Put the batch first:

        import torch

        samples = [torch.tensor([464, 582, 318, 257]), torch.tensor([11, 290, 262, 13])]
        print(torch.stack(samples, dim=1).shape)   # (4, 2): positions down
        print(torch.stack(samples, dim=0).shape)   # (2, 4): one row a sample
    """
    given, loader = facts.given, facts.config.loader
    if given is None or given.shape is None:
        return
    if not (facts.config.is_stated("loader.batch_size") or facts.config.is_stated("loader.max_length")):
        return
    meant = (loader.batch_size, loader.max_length)
    if len(given.shape) != 2 or given.shape == meant or given.shape != meant[::-1]:
        return
    yield kind.diagnosis(
        f"the batch has shape {_shown(given.shape)}, but the loader makes {_shown(meant)}: its axes are exchanged",
        "transpose the IDs: ids.T",
        torch=torch_words.INDEX_ERROR if _beyond_positions(facts) else "no error",
        fields=["token_ids"],
        fix={"token_ids": tuple(zip(*given.rows(), strict=True))},
        data={"shape": list(given.shape), "meant": list(meant)},
    )


def _beyond_positions(facts: Facts) -> bool:
    """Return whether the position table, asked for a row a sample, has fewer."""
    layer, last = facts.position_layer, facts.last_position_row
    return (
        layer is not None and last is not None and is_size(layer.num_embeddings) and last >= (layer.num_embeddings or 0)
    )


def _shown(shape: tuple[object, ...]) -> str:
    return "(" + ", ".join(str(size) for size in shape) + ("," if len(shape) == 1 else "") + ")"
