"""The verdict held against PyTorch itself: no error exactly when torch runs and means what was stated.

`PROOF_EXAMPLES=200000 python -m pytest tests/test_proof.py` tries more than the usual 5,000.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector import inspection_file, pipeline
from inspector.diagnosis import Severity
from inspector.presets import PRESETS, Preset
from tests.inspections import inspections
from tests.oracle import works

if TYPE_CHECKING:
    from inspector.result import Result

EXAMPLES = int(os.environ.get("PROOF_EXAMPLES", "5000"))
many = settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), deadline=None)


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
