"""What PyTorch itself makes of an inspection: whether it runs as it was meant, and what it says when it does not.

Written from the rules of the verdict and from PyTorch's own behaviour, never from the checks.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader

from inspector import tokenizer

Layer = dict[str, Any]
TORCH_RAISES = (RuntimeError, IndexError, ValueError, TypeError, AssertionError, OverflowError)


class Unfit(Exception):
    """torch says nothing, and yet something is not as it was meant."""


class Lenient:
    """What torch alone requires: nothing is unfit."""

    @staticmethod
    def require(fine: object) -> None:
        pass


class Strict(Lenient):
    """What was meant as well."""

    @staticmethod
    def require(fine: object) -> None:
        if not fine:
            raise Unfit


def works(inspection: dict[str, Any]) -> bool:
    """Return whether torch builds the layers, looks up, adds and gives (B, T, D), with nothing added by accident."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "initializing zero-element tensors is a no-op"
            run_in_torch(inspection, Strict)
    except (Unfit, *TORCH_RAISES):
        return False
    return True


def says(inspection: dict[str, Any]) -> str:
    """Return what torch says: "no error", or the exception's type and text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run_in_torch(inspection, Lenient)
    except TORCH_RAISES as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def run_in_torch(inspection: dict[str, Any], rules: type[Lenient]) -> None:
    require = rules.require
    wanted = inspection.get("embedding_dim", 256)
    default_width = 256 if wanted is None else wanted
    token = {"num_embeddings": 50257, "embedding_dim": default_width} | (inspection.get("token_embedding") or {})
    position = inspection.get("position_embedding", {})
    if position is not None:
        position = {"num_embeddings": 4, "embedding_dim": default_width} | position
    ids = batch_of(inspection, rules)
    if ids is None:
        return
    require(ids.ndim == 2 and ids.numel())  # a batch has two axes and something in it
    columns = ids.shape[-1]

    rows = look_up(token, ids, rules)
    if token.get("project_to") is not None:
        rows = nn.Linear(token["embedding_dim"], token["project_to"], dtype=rows.dtype)(rows)
    widths = [rows.shape[-1]]
    needed = columns
    if position is not None:
        where = positions_of(inspection, position, columns)
        needed = int(where.max()) + 1 if where.numel() else 0
        # One for each column, for all samples or for each: nothing else may be stretched over the batch.
        require(where.shape in ((columns,), (1, columns), tuple(ids.shape)))
        added = look_up(position, where, rules)
        widths.append(added.shape[-1])
        rows = rows + added
    segment = inspection.get("segment_embedding")
    if segment is not None:
        segment = {"num_embeddings": 2, "embedding_dim": default_width, "max_id": 0} | segment
        added = look_up(segment, torch.full((columns,), segment["max_id"]), rules)
        widths.append(added.shape[-1])
        rows = rows + added
    require(rows.shape == (*ids.shape, widths[0]))
    require(set(widths) == {widths[0] if wanted is None else wanted} and widths[0] >= 1)
    require(not out_of_place(inspection, token, position, needed))


def look_up(layer: Layer, ids: torch.Tensor, rules: type[Lenient]) -> torch.Tensor:
    arguments = {name: layer.get(name) for name in ("padding_idx", "max_norm")}
    dtype = getattr(torch, layer.get("dtype", "float32"))
    made = nn.Embedding(layer["num_embeddings"], layer["embedding_dim"], dtype=dtype, **arguments)
    rules.require(layer["embedding_dim"] >= 1)  # torch makes rows of nothing
    return made(ids)


def batch_of(inspection: dict[str, Any], rules: type[Lenient]) -> torch.Tensor | None:
    """Return the first batch as torch makes it; None where the loader yields none."""
    require = rules.require
    if "token_ids" in inspection:
        given = inspection["token_ids"]
        dtype = inspection.get("token_ids_dtype", "int64")
        require(all(number == int(number) for number in flat(given)))  # torch would cut a fraction off
        if dtype.startswith("uint"):
            require(all(0 <= number < 2 ** int(dtype[4:]) for number in flat(given)))  # torch would wrap it
        ids = torch.tensor(given, dtype=getattr(torch, dtype))
        loader = inspection.get("loader", {})
        if "batch_size" in loader or "max_length" in loader:
            meant = (loader.get("batch_size", 8), loader.get("max_length", 4))
            require(tuple(ids.shape) == meant or tuple(ids.shape) != meant[::-1])
        return ids
    text, loader = inspection["text"], {"batch_size": 8, "max_length": 4, "stride": 4, "drop_last": True}
    loader |= inspection.get("loader", {})
    require(loader["max_length"] >= 1 and loader["stride"] >= 1)  # 0 and less give windows of nothing, or no window
    ids = tokenizer.gpt2().encode(text, special=False)
    length = loader["max_length"]
    samples = [torch.tensor(ids[start : start + length]) for start in range(0, len(ids) - length, loader["stride"])]
    torch.manual_seed(loader.get("seed") or 0)
    batches = DataLoader(
        samples,
        batch_size=loader["batch_size"],
        shuffle=loader.get("shuffle", False),
        drop_last=loader["drop_last"],
    )
    first = next(iter(batches), None)
    require(first is not None)
    return first


def positions_of(inspection: dict[str, Any], position: dict[str, Any], columns: int) -> torch.Tensor:
    if inspection.get("positions") is not None:
        return torch.tensor(inspection["positions"])
    first = position.get("offset", 0) + inspection.get("past_length", 0)
    return torch.arange(first, first + columns)


def out_of_place(
    inspection: dict[str, Any], token: dict[str, Any], position: dict[str, Any] | None, needed: int
) -> bool:
    """Return whether layers that run are each other's, or the token layer's arguments in the wrong order.

    Both need a token table that is too small for the tokenizer, whose size stands in the wrong place. A size that is a
    usual context length or width proves nothing by itself.
    """
    stated = inspection.get("tokenizer", {})
    n_vocab = stated.get("n_vocab")
    if n_vocab is None and stated.get("encoding", "gpt2") == "gpt2":
        n_vocab = 50257
    rows, width = token["num_embeddings"], token["embedding_dim"]
    if n_vocab is None or rows >= n_vocab:
        return False
    round_number = n_vocab.bit_count() == 1 or n_vocab % 64 == 0
    if position is None:
        nobody_knows = inspection.get("embedding_dim", 256) is None and inspection.get("segment_embedding") is None
        return nobody_knows and rows > 1 and width == n_vocab and not round_number and token.get("project_to") is None
    if position["num_embeddings"] != n_vocab or needed > rows:
        return False
    usual_context = rows == needed or rows.bit_count() == 1 or (rows > 4 and (rows - 2).bit_count() == 1)
    return n_vocab.bit_count() > 1 or usual_context


def flat(values: Any) -> list[Any]:
    return [number for item in values for number in flat(item)] if isinstance(values, list) else [values]
