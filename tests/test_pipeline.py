"""The stages in their order: the first fault is named, what lies behind it is blocked."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import inspector
from inspector import inspection_file, pipeline
from inspector.diagnosis import Severity, Stage, Status
from tests.inspections import inspections

IDS = [[464, 582, 318, 257], [11, 290, 262, 13]]


def judged(batch: int = 0, **values: Any) -> Any:
    return pipeline.run(pipeline.Request(inspection_file.from_mapping(values), batch))


def states(result: Any) -> dict[str, str]:
    return {str(s.stage): str(s.status) for s in result.shapes}


def errors(result: Any) -> list[str]:
    return [f"{d.code} {d.name}" for d in result.diagnoses if d.severity is Severity.ERROR]


# ---- one cause, one diagnosis ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ({"token_ids": [[1, -1]], "token_embedding": {"num_embeddings": 1}}, ["B211 ids-negative"]),
        ({"token_ids": [[1.0, 2.5]], "token_embedding": {"num_embeddings": 1}}, ["B207 ids-not-integer"]),
        ({"token_ids": IDS, "token_ids_dtype": "uint16", "positions": [0]}, ["B208 ids-dtype-refused"]),
        ({"token_ids": [[464, 2**40, 1, 2]], "token_ids_dtype": "int32"}, ["B209 ids-dtype-overflow"]),
        ({"token_ids": [[464, 10**400, 1, 2]]}, ["B209 ids-dtype-overflow"]),
        ({"token_ids": [[1, 2], [3]]}, ["B210 ids-rank"]),
        ({"text": "one two", "token_embedding": {"num_embeddings": 9}}, ["B202 no-sample"]),
        ({"token_ids": [[464, 60000, 318, 257]]}, ["T104 ids-from-another-tokenizer"]),
        (
            {
                "token_ids": IDS,
                "token_embedding": {"num_embeddings": 4, "padding_idx": 50256},
                "position_embedding": {"num_embeddings": 50257},
            },
            ["E303 layers-exchanged"],
        ),
        (
            {
                "token_ids": IDS,
                "token_embedding": {"num_embeddings": 256, "embedding_dim": 50257, "padding_idx": 50256},
            },
            ["E302 arguments-transposed"],
        ),
        (
            {
                "token_ids": IDS,
                "embedding_dim": 768,
                "token_embedding": {"embedding_dim": 256},
                "position_embedding": {"embedding_dim": 256},
            },
            ["E304 embedding-dim-mismatch"],
        ),
        ({"token_ids": IDS, "embedding_dim": 0}, ["E305 constructor-argument-invalid"]),
        (
            {"token_ids": IDS, "position_embedding": {"num_embeddings": 3, "embedding_dim": 128}},
            ["P403 embedding-dim-mismatch", "P401 position-out-of-range"],  # two causes; no cell comes before a cell
        ),
    ],
    ids=lambda v: v[0] if isinstance(v, list) else "",
)
def test_one_cause_is_one_diagnosis(values: dict[str, Any], found: list[str]) -> None:
    assert errors(judged(**values)) == found


@pytest.mark.parametrize("encoding", ["gpt2", None])
@pytest.mark.parametrize(
    ("token", "position", "stated", "name"),
    [
        ((4, 256), (50257, 256), 256, "E303 layers-exchanged"),
        ((1024, 768), (50257, 768), 768, "E303 layers-exchanged"),
        ((1024, 768), (50257, 768), None, "E303 layers-exchanged"),
        ((1024, 768), (50304, 768), 768, "E303 layers-exchanged"),
        ((1024, 128), (50257, 256), None, "E303 layers-exchanged"),
        ((256, 50257), (4, 256), 256, "E302 arguments-transposed"),
        ((768, 50257), (1024, 768), None, "E302 arguments-transposed"),
        ((768, 50304), (1024, 768), None, "E302 arguments-transposed"),
        ((50257, 256), (256, 4), 256, "P402 arguments-transposed"),
        ((50257, 768), (768, 1024), None, "P402 arguments-transposed"),
        ((50257, 1024), (1024, 768), 1024, "P403 embedding-dim-mismatch"),
        ((50257, 768), (1024, 512), None, "S501 widths-differ"),
    ],
    ids=str,
)
def test_small_ids_hide_nothing(
    token: tuple[int, int], position: tuple[int, int], stated: int | None, name: str, encoding: str | None
) -> None:
    result = judged(
        token_ids=[[1, 2, 3, 0]],
        tokenizer={"encoding": encoding},
        embedding_dim=stated,
        token_embedding=dict(zip(("num_embeddings", "embedding_dim"), token, strict=True)),
        position_embedding=dict(zip(("num_embeddings", "embedding_dim"), position, strict=True)),
    )
    # Where nobody knows the vocabulary: no context is 50257 long.
    assert errors(result) == [name]


def test_both_layers_transposed() -> None:
    for stated in (256, None):
        result = judged(
            token_ids=IDS,
            embedding_dim=stated,
            token_embedding={"num_embeddings": 256, "embedding_dim": 50257},
            position_embedding={"num_embeddings": 256, "embedding_dim": 4},
        )
        assert errors(result) == ["E302 arguments-transposed", "P402 arguments-transposed"]


def test_letters() -> None:
    """A vocabulary of 65 letters beside a context of 256: exchanged, transposed, or one row too few."""

    def letters(token: tuple[int, int], position: tuple[int, int], largest: int = 64, columns: int = 32) -> list[str]:
        return errors(
            judged(
                token_ids=[[0] * (columns - 1) + [largest]],
                tokenizer={"encoding": None, "n_vocab": 65},
                embedding_dim=384,
                token_embedding=dict(zip(("num_embeddings", "embedding_dim"), token, strict=True)),
                position_embedding=dict(zip(("num_embeddings", "embedding_dim"), position, strict=True)),
            )
        )

    assert letters((65, 384), (256, 384)) == []
    assert letters((65, 384), (256, 384), columns=256) == []
    assert letters((64, 384), (256, 384)) == ["E301 token-id-out-of-range"]
    assert letters((384, 65), (256, 384)) == ["E302 arguments-transposed"]
    assert letters((65, 384), (384, 256)) == ["P402 arguments-transposed"]
    assert letters((32, 384), (65, 384)) == ["E303 layers-exchanged"]
    assert letters((32, 384), (65, 384), largest=20) == ["E303 layers-exchanged"]
    assert letters((256, 384), (65, 384), columns=256) == ["E303 layers-exchanged"]


# ---- states ----------------------------------------------------------------------------------------------------------


def test_a_sound_inspection() -> None:
    assert states(judged()) == {
        "tokenizer": "ok",
        "data_loader": "ok",
        "token_embedding": "ok",
        "position_embedding": "ok",
        "segment_embedding": "unused",
        "sum": "ok",
    }


def test_ids_use_no_tokenizer() -> None:
    found = states(judged(token_ids=IDS))
    assert (found["tokenizer"], found["data_loader"]) == ("unused", "unused")


def test_what_lies_behind_a_fault_is_blocked() -> None:
    refused = states(judged(text="<|endoftext|>", tokenizer={"special_tokens": "refuse"}))
    assert list(refused.values()) == ["fault", "blocked", "blocked", "blocked", "unused", "blocked"]
    empty = states(judged(text="one"))
    assert list(empty.values()) == ["ok", "fault", "blocked", "blocked", "unused", "blocked"]
    small = states(judged(token_embedding={"num_embeddings": 10}))
    assert list(small.values()) == ["ok", "ok", "fault", "ok", "unused", "blocked"]


def test_shapes() -> None:
    found = {s.stage: (s.input, s.table, s.output) for s in judged(token_ids=IDS, segment_embedding={}).shapes}
    assert found[Stage.TOKEN_EMBEDDING] == ((2, 4), (50257, 256), (2, 4, 256))
    assert found[Stage.POSITION_EMBEDDING] == ((4,), (4, 256), (4, 256))
    assert found[Stage.SEGMENT_EMBEDDING][1] == (2, 256)
    assert found[Stage.SUM] == ((2, 4, 256), None, (2, 4, 256))


@given(inspections())
def test_states_and_shapes_agree(inspection: dict[str, Any]) -> None:
    result = judged(**inspection)
    faulty = {d.stage for d in result.diagnoses if d.severity is Severity.ERROR}
    for shape in result.shapes:
        assert (shape.status is Status.FAULT) == (shape.stage in faulty)
        if shape.status in (Status.FAULT, Status.BLOCKED) and shape.stage not in (Stage.TOKENIZER, Stage.DATA_LOADER):
            assert shape.output is None
        if shape.status is Status.OK and shape.stage is Stage.SUM:
            assert result.ok
            assert shape.output is not None
    early = {Stage.FILE, Stage.TOKENIZER, Stage.DATA_LOADER}
    for before, after in pairwise(result.diagnoses):
        if before.stage in early and before.severity is Severity.ERROR:
            assert after.stage not in early - {before.stage} or after.severity is not Severity.ERROR
    assert (result.ids is None) == bool(faulty & early or not result.grid.complete)


# ---- batches ---------------------------------------------------------------------------------------------------------


def test_the_nearest_batch_is_judged() -> None:
    text = " a" * 100
    assert judged(0, text=text).batches == 3
    assert judged(2, text=text).batch == 2
    assert judged(99, text=text).batch == 2
    assert judged(-5, text=text).batch == 0
    assert judged(5, text="").batch == 0


def test_a_later_batch_is_told_of() -> None:
    text = " a" * 36 + " donkey" * 40
    result = judged(text=text, token_embedding={"num_embeddings": 50000})
    (found,) = [d for d in result.diagnoses if d.name == "table-smaller-than-tokenizer"]
    assert result.ok
    assert "and batch 2 of this text holds one" in found.message
    assert errors(judged(1, text=text + " a" * 40, token_embedding={"num_embeddings": 50000})) == [
        "E301 token-id-out-of-range"
    ]


def test_the_grid_of_a_text_too_short() -> None:
    grid = judged(text="one two three four five six").grid
    assert not grid.complete
    assert [len(row) for row in grid.rows] == [4, 2]
    assert (grid.expected_rows, grid.expected_columns) == (8, 4)


@pytest.mark.parametrize(("n_vocab", "counts_from_one"), [(None, True), (10, True), (11, False)])
def test_an_added_token_beside_the_first_is_no_miscount(n_vocab: int | None, counts_from_one: bool) -> None:
    (found,) = judged(
        token_ids=[[1, 7, 10]],
        tokenizer={"encoding": None, "n_vocab": n_vocab},
        token_embedding={"num_embeddings": 10},
    ).diagnoses
    assert ("one-based-ids" in found.data["hints"]) == counts_from_one
    assert found.fix == (None if counts_from_one else {"token_embedding.num_embeddings": 11})


@pytest.mark.parametrize("ending", [".npy", ".json"])
def test_a_file_of_numbers_that_are_not_whole_is_no_batch(tmp_path, ending):
    path = tmp_path / f"ids{ending}"
    if ending == ".npy":
        np.save(path, np.arange(10, dtype=np.float32))
    else:
        path.write_text("[1.5, 2, 3, 4, 5, 6]")
    found = inspector.check(token_ids_file=str(path), loader={"batch_size": 1})
    assert [(d.code, d.fields) for d in found.diagnoses if d.severity == "error"] == [("B207", ("token_ids_file",))]
    assert found.sum is None


def test_a_file_whose_dtype_cannot_hold_the_vocabulary(tmp_path):
    path = tmp_path / "ids.bin"
    np.arange(100, dtype=np.uint16).tofile(path)
    found = inspector.check(
        token_ids_file=str(path),
        token_ids_dtype="uint16",
        tokenizer={"encoding": None, "n_vocab": 100277},
        token_embedding=(100277, 256),
        loader={"batch_size": 1},
    )
    assert [d.code for d in found.diagnoses if d.severity == "error"] == ["B209"]


def test_a_text_file_that_is_not_utf8_is_said_to_be_so(tmp_path):
    path = tmp_path / "latin.txt"
    path.write_bytes("Größe ".encode("latin-1") * 20)
    found = inspector.check(text_file=str(path), loader={"batch_size": 1})
    (said,) = (d for d in found.diagnoses if d.code == "T102")
    assert "is not all UTF-8" in said.message
    assert said.fields == ("text_file",)
