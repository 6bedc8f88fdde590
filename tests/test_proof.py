"""The verdict held against PyTorch itself: no error exactly when torch runs and means what was stated.

`works` is written from the rules of the verdict, not from the checks: it builds, looks up and adds.
`PROOF_EXAMPLES=200000 python -m pytest tests/test_proof.py` tries more than the usual 5,000.
"""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn
from torch.utils.data import DataLoader

from inspector import inspection_file, pipeline, tokenizer
from inspector.diagnosis import Severity
from inspector.presets import PRESETS, Preset
from tests.inspections import inspections

if TYPE_CHECKING:
    from inspector.result import Result

EXAMPLES = int(os.environ.get("PROOF_EXAMPLES", "5000"))
Layer = dict[str, Any]
TORCH_RAISES = (
    RuntimeError,
    IndexError,
    ValueError,
    TypeError,
    AssertionError,
)  # NotImplementedError is a RuntimeError
many = settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), deadline=None)


class Unfit(Exception):
    """torch says nothing, and yet something is not as it was meant."""


def require(fine: object) -> None:
    if not fine:
        raise Unfit


# ---- the oracle ------------------------------------------------------------------------------------------------------


def works(inspection: dict[str, Any]) -> bool:
    """Return whether torch builds the layers, looks up, adds and gives (B, T, D), with nothing added by accident."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "initializing zero-element tensors is a no-op"
            run_in_torch(inspection)
    except (Unfit, *TORCH_RAISES):
        return False
    return True


def run_in_torch(inspection: dict[str, Any]) -> None:
    wanted = inspection.get("embedding_dim", 256)
    default_width = 256 if wanted is None else wanted
    token = {"num_embeddings": 50257, "embedding_dim": default_width} | (inspection.get("token_embedding") or {})
    position = inspection.get("position_embedding", {})
    if position is not None:
        position = {"num_embeddings": 4, "embedding_dim": default_width} | position
    ids = batch_of(inspection)
    require(ids.ndim == 2 and ids.numel())  # a batch has two axes and something in it
    samples, columns = ids.shape

    rows = look_up(token, ids)
    if token.get("project_to") is not None:
        rows = nn.Linear(token["embedding_dim"], token["project_to"], dtype=rows.dtype)(rows)
    widths = [rows.shape[-1]]
    needed = columns
    if position is not None:
        where = positions_of(inspection, position, columns)
        needed = int(where.max()) + 1
        # One for each column, for all samples or for each: nothing else may be stretched over the batch.
        require(where.shape in ((columns,), (1, columns), (samples, columns)))
        added = look_up(position, where)
        widths.append(added.shape[-1])
        rows = rows + added
    segment = inspection.get("segment_embedding")
    if segment is not None:
        segment = {"num_embeddings": 2, "embedding_dim": default_width, "max_id": 0} | segment
        added = look_up(segment, torch.full((columns,), segment["max_id"]))
        widths.append(added.shape[-1])
        rows = rows + added
    require(rows.shape == (samples, columns, widths[0]))
    require(set(widths) == {widths[0] if wanted is None else wanted} and widths[0] >= 1)
    require(not out_of_place(inspection, token, position, needed))


def look_up(layer: Layer, ids: torch.Tensor) -> torch.Tensor:
    arguments = {name: layer.get(name) for name in ("padding_idx", "max_norm")}
    dtype = getattr(torch, layer.get("dtype", "float32"))
    made = nn.Embedding(layer["num_embeddings"], layer["embedding_dim"], dtype=dtype, **arguments)
    require(layer["embedding_dim"] >= 1)  # torch makes rows of nothing
    return made(ids)


def batch_of(inspection: dict[str, Any]) -> torch.Tensor:
    """Return the first batch as torch makes it."""
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
    ids = torch.tensor(tokenizer.gpt2().encode(text, special=False))
    length = loader["max_length"]
    samples = [ids[start : start + length] for start in range(0, len(ids) - length, loader["stride"])]
    torch.manual_seed(loader.get("seed") or 0)
    batches = DataLoader(
        samples,
        batch_size=loader["batch_size"],
        shuffle=loader.get("shuffle", False),
        drop_last=loader["drop_last"],
    )
    first = next(iter(batches), None)
    require(first is not None)
    assert first is not None
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


# ---- the proof -------------------------------------------------------------------------------------------------------


def judged(inspection: dict[str, Any]) -> Result:
    return pipeline.run(pipeline.Request(inspection_file.from_mapping(inspection)))


@many
@given(inspections())
def test_no_error_exactly_when_torch_runs_as_meant(inspection: dict[str, Any]) -> None:
    result = judged(inspection)
    assert result.ok == works(inspection), [f"{d.code} {d.message}" for d in result.diagnoses]


# ---- no false alarm --------------------------------------------------------------------------------------------------


def complaints(inspection: dict[str, Any]) -> list[str]:
    return [f"{d.code} {d.message}" for d in judged(inspection).diagnoses if d.severity is not Severity.NOTE]


@settings(max_examples=max(1000, EXAMPLES // 5))
@given(inspections(changes=0))
def test_healthy_inspections_have_no_complaint(inspection: dict[str, Any]) -> None:
    assert works(inspection)
    assert complaints(inspection) == []


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
@pytest.mark.parametrize("source", [{}, {"token_ids": [[464, 582, 318, 257]]}, {"token_ids": [[0], [50256]]}], ids=str)
def test_presets_are_healthy(preset: Preset, source: dict[str, Any]) -> None:
    config = inspection_file.from_mapping(source).with_values(preset.values)
    assert [d for d in pipeline.run(pipeline.Request(config)).diagnoses if d.severity is not Severity.NOTE] == []


def sized(rows: int, context: int, width: int, n_vocab: int | None, columns: int = 4, **more: Any) -> dict[str, Any]:
    """Return an inspection of layers with these sizes and a batch that holds the largest ID there is."""
    largest = (n_vocab or rows) - 1
    return {
        "token_ids": [[0] * (columns - 1) + [largest], [largest] * columns],
        "tokenizer": {"encoding": None, "n_vocab": n_vocab},
        "embedding_dim": width,
        "token_embedding": {"num_embeddings": rows, "embedding_dim": width},
        "position_embedding": {"num_embeddings": context, "embedding_dim": width},
    } | more


@pytest.mark.parametrize("embedding_dim", ["stated", None])
@pytest.mark.parametrize(
    "inspection",
    [
        sized(65, 256, 384, 65),  # letters, a context longer than the vocabulary
        sized(65, 65, 65, 65),
        sized(64, 64, 64, 64, columns=64),
        sized(256, 256, 256, 256),  # bytes
        sized(256, 512, 256, 256, columns=512),
        sized(256, 256, 64, None),
        sized(128, 65, 32, 65),  # a padded table beside a context of the vocabulary's size
        sized(500, 1024, 64, 500),
        sized(1500, 1024, 768, None),
        sized(2, 2, 1, 2, columns=2),
        sized(1, 1, 1, 1, columns=1),
        sized(4, 4, 256, 4),
        sized(50304, 1024, 768, 50257, columns=1024),
        sized(50257, 50257, 256, 50257),
        sized(40478, 512, 768, 40478),
        sized(32000, 4096, 4096, 32000),
        sized(128256, 131072, 4096, 128256),
        sized(16384, 32768, 1024, None),
        sized(768, 1024, 768, 768),
        sized(1024, 768, 1024, 1024),
        sized(
            50265,
            514,
            768,
            50265,
            columns=512,
            position_embedding={"num_embeddings": 514, "embedding_dim": 768, "padding_idx": 1, "offset": 2},
        ),
        sized(
            50272,
            2050,
            1024,
            50272,
            token_embedding={"num_embeddings": 50272, "embedding_dim": 512, "project_to": 1024},
        ),
        sized(30522, 512, 768, 30522, segment_embedding={"num_embeddings": 2, "embedding_dim": 768, "max_id": 1}),
        sized(32000, 1, 4096, 32000, position_embedding=None),
    ],
    ids=lambda i: str([i["token_embedding"]["num_embeddings"], (i["position_embedding"] or {}).get("num_embeddings")]),
)
def test_known_shapes_are_healthy(inspection: dict[str, Any], embedding_dim: str | None) -> None:
    if embedding_dim is None:
        inspection = inspection | {"embedding_dim": None}
    assert complaints(inspection) == []


@given(
    rows=st.integers(1, 70_000),
    context=st.integers(1, 70_000),
    width=st.integers(1, 20_000),
    columns=st.integers(1, 40),
    known=st.booleans(),
    stated=st.booleans(),
)
def test_any_sizes_that_fit_are_healthy(
    rows: int, context: int, width: int, columns: int, known: bool, stated: bool
) -> None:
    columns = min(columns, context)
    inspection = sized(rows, context, width, rows if known else None, columns)
    inspection["embedding_dim"] = width if stated else None
    assert complaints(inspection) == []
