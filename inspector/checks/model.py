"""Faults of a live model. They are found where the model is looked at (`inspector.live`), and told here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.checks.registry import fault
from inspector.diagnosis import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.diagnosis import Diagnosis, Fault
    from inspector.facts import Facts


@fault(code="M701", name="layers-not-found", stage=Stage.MODEL, torch="no error", example={})
def layers_not_found(_kind: Fault, _facts: Facts) -> Iterator[Diagnosis]:
    """No token layer was found in a live model.

    A model's layers are found by what its forward pass looks up, or else by their names. Neither told: the model keeps
    its embeddings in a module of its own make, is quantised, or its forward takes other arguments than token IDs. It is
    the same everywhere: no look-up was judged on any device.

    How people meet it: `inspector.check_model(model, token_ids)` on a wrapper that holds the model as an attribute, or
    on a part of a model that comes after the embeddings.

    What does not help: another batch. Hand in the module that takes the IDs, the arguments its forward needs by name,
    or judge the sizes alone:

        import inspector

        result = inspector.check([[1, 2, 3]], token_embedding=(10, 4), position_embedding=(3, 4), embedding_dim=4,
                                 tokenizer={"encoding": None})
        print(result.explain())
    """
    yield from ()


@fault(code="X900", name="torch-raised", stage=Stage.MODEL, torch="its own words, as they stand", example={})
def torch_raised(_kind: Fault, _facts: Facts) -> Iterator[Diagnosis]:
    """All our checks passed and torch raised in the input stage all the same.

    Its own text is shown as it is, without a guess at what it means. Either the model does something between its tables
    and their sum that no check knows, or a check is missing: both are worth reporting. It is the same everywhere that
    torch raises at once; on a GPU an asynchronous assert may come from an earlier line.

    How people meet it: layers of their own make that reshape, scale or index their rows before they are added.

    What does not help: retrying. Take the input stage apart in small steps and look at each shape:

        import torch

        tok_emb, pos_emb = torch.nn.Embedding(10, 4), torch.nn.Embedding(3, 4)
        ids = torch.tensor([[1, 2, 3]])
        print(tok_emb(ids).shape, pos_emb(torch.arange(3)).shape)
    """
    yield from ()
