"""The Python door, with torch as the oracle for what a result holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings

import inspector
from inspector import tokenizer
from inspector.inspection_file import InspectionFileError
from tests.inspections import inspections
from tests.oracle import works

if TYPE_CHECKING:
    from pathlib import Path

IDS = [[464, 582, 318, 257], [11, 290, 262, 13]]


def names(result: inspector.Result) -> list[str]:
    return [d.name for d in result.diagnoses]


@pytest.mark.parametrize("key", ["source", "token_ids"])
@pytest.mark.parametrize(("dtype", "code"), [("uint16", "B208"), ("float32", "B207"), (">i4", None), (">u2", "B208")])
def test_the_dtype_of_an_array_is_judged_wherever_it_is_given(key: str, dtype: str, code: str | None) -> None:
    assert [d.code for d in inspector.check(**{key: np.array(IDS).astype(dtype)}).diagnoses] == ([code] if code else [])


def test_keys_as_libraries_hold_them(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("one two three four five six " * 9)
    result = inspector.check(
        text_file=tmp_path / "text.txt",
        loader={"stride": np.int64(2)},
        token_embedding=(np.int64(50257), torch.tensor(8)),
        position_embedding={"num_embeddings": np.int32(4), "embedding_dim": 8, "dtype": torch.bfloat16},
        embedding_dim=np.int64(8),
    )
    assert (result.config.loader.stride, result.config.token_embedding.embedding_dim) == (2, 8)
    assert result.config.position_embedding is not None
    assert result.config.position_embedding.dtype == "bfloat16"
    assert result.ok


def test_a_path_is_what_the_file_holds(tmp_path: Path) -> None:
    np.save(tmp_path / "ids.npy", np.arange(99))
    np.arange(99, dtype=np.uint16).tofile(tmp_path / "ids.bin")
    (tmp_path / "ids.json").write_text(str(list(range(99))))
    torch.save({"wte.weight": torch.zeros(60, 8), "wpe.weight": torch.zeros(16, 8)}, tmp_path / "model.pt")
    for name in ("ids.npy", "ids.bin", "ids.json"):
        result = inspector.check(tmp_path / name)
        assert result.config.token_ids_file == str(tmp_path / name)
        assert result.token_ids is not None
        assert result.token_ids[0].tolist() == [0, 1, 2, 3]
    result = inspector.check(tmp_path / "model.pt", token_ids=[[1, 2]])
    assert result.sum is not None
    assert result.sum.shape == (1, 2, 8)
    assert names(inspector.check(tmp_path / "absent.txt")) == ["file-unreadable"]


# ---- sources ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        IDS,
        tuple(map(tuple, IDS)),
        np.array(IDS),
        np.array(IDS, dtype=np.int32),
        torch.tensor(IDS),
        torch.tensor(IDS, dtype=torch.int32),
        [torch.tensor(row) for row in IDS],
        [np.array(row) for row in IDS],
        [[np.int64(i) for i in row] for row in IDS],
    ],
    ids=lambda s: type(s).__name__ + str(getattr(s, "dtype", "")),
)
def test_ids_in_any_form(source: Any) -> None:
    result = inspector.check(source)
    assert result.ok
    assert result.token_ids is not None
    assert result.token_ids.tolist() == IDS
    assert result.token_ids.dtype == np.int64
    assert result.target_ids is None
    assert (result.batches, result.batch) == (1, 0)


@pytest.mark.parametrize("dtype", ["uint16", "float32", "int16", "bool", "float64"])
def test_the_dtype_of_an_array_is_judged(dtype: str) -> None:
    for source in (np.array(IDS).astype(dtype), torch.tensor(IDS).to(getattr(torch, dtype))):
        result = inspector.check(source)
        assert not result.ok
        assert result.diagnoses[0].fields[0] == "token_ids_dtype"
        assert result.token_ids is None


@pytest.mark.parametrize("source", [3, {"a": 1}, object(), torch.tensor(3), np.array(3), [["a"]]], ids=str)
def test_what_is_no_source(source: Any) -> None:
    with pytest.raises(InspectionFileError, match="token_ids must"):
        inspector.check(source)


def test_a_text() -> None:
    text = "An embedding layer is a table. " * 20
    result = inspector.check(text, batch=1, loader={"stride": 2})
    ids = tokenizer.gpt2().encode(text, special=False)
    assert result.token_ids is not None
    assert result.target_ids is not None
    assert result.token_ids.tolist() == [ids[s : s + 4] for s in range(16, 32, 2)]
    assert result.target_ids.tolist() == [ids[s + 1 : s + 5] for s in range(16, 32, 2)]
    assert result.batch == 1


def test_files(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("one two three four five six\r\n" * 9, newline="")
    as_text = inspector.check(text)
    assert as_text.tokens is not None
    assert as_text.tokens.text.endswith("\r\n")
    file = tmp_path / "inspection.toml"
    file.write_text('text_file = "text.txt"\n[loader]\nbatch_size = 2\n')
    assert inspector.check(file).token_ids.shape == (2, 4)  # type: ignore[union-attr]
    assert inspector.check(file, loader={"max_length": 3}).token_ids.shape == (2, 3)  # type: ignore[union-attr]
    assert names(inspector.check(tmp_path / "missing.txt")) == ["file-unreadable"]
    with pytest.raises(InspectionFileError):
        inspector.check(tmp_path / "missing.json")


def test_nothing_is_the_lesson() -> None:
    result = inspector.check()
    assert result.ok
    assert result.sum is not None
    assert result.sum.shape == (8, 4, 256)


# ---- keys ------------------------------------------------------------------------------------------------------------


def test_the_short_form_of_a_layer() -> None:
    result = inspector.check(IDS, token_embedding=(50257, 8), position_embedding=(4, 8), embedding_dim=8)
    assert result.ok
    assert (result.config.token_embedding.num_embeddings, result.config.token_embedding.embedding_dim) == (50257, 8)
    assert result.config.is_stated("token_embedding.num_embeddings")
    with pytest.raises(InspectionFileError, match=r"token_embedding must be \(num_embeddings, embedding_dim\)"):
        inspector.check(IDS, token_embedding=(1, 2, 3))


def test_positions_in_any_form() -> None:
    for positions in ([0, 1, 2, 3], np.arange(4), torch.arange(4), torch.arange(4)[None]):
        assert inspector.check(IDS, positions=positions).ok
    assert names(inspector.check(IDS, positions=torch.arange(3))) == ["position-count-differs"]


def test_unknown_keys_are_refused() -> None:
    with pytest.raises(InspectionFileError, match="unknown key 'vocab_size'"):
        inspector.check(IDS, vocab_size=3)
    with pytest.raises(ValueError, match=r"loader\.stride must be a number"):
        inspector.check("text", loader={"stride": "4"})


def test_a_batch_that_is_not_there() -> None:
    with pytest.raises(IndexError, match="there is no batch 7: the loader yields 1"):
        inspector.check(IDS, batch=7)
    assert not inspector.check("", batch=0).ok


# ---- what a result holds ---------------------------------------------------------------------------------------------


def test_arrays_equal_torchs() -> None:
    result = inspector.check(IDS)
    torch.manual_seed(123)
    token, position = torch.nn.Embedding(50257, 256), torch.nn.Embedding(4, 256)
    ids = torch.tensor(IDS)
    rows, places = token(ids).detach(), position(torch.arange(4)).detach()
    for found, expected in (
        (result.token_rows, rows),
        (result.position_rows, places),
        (result.sum, rows + places),
        (result.token_ids, ids),
    ):
        assert found is not None
        assert not found.flags.writeable
        assert np.array_equal(found, expected.numpy())


def test_the_lessons_own_numbers() -> None:
    result = inspector.check([[40, 0, 0, 0]])
    assert result.token_rows is not None
    assert result.position_rows is not None
    assert result.token_rows[0, 0, :3] == pytest.approx([-0.06396, 0.33174, 0.10698], abs=1e-5)
    assert result.position_rows[0, :3] == pytest.approx([0.54232, -0.12239, -1.41497], abs=1e-5)


def test_a_fault_leaves_nothing_behind_it() -> None:
    small = inspector.check(IDS, token_embedding=(500, 256))
    assert small.token_rows is None
    assert small.position_rows is not None
    assert small.sum is None
    narrow = inspector.check(IDS, token_embedding=(50257, 128))
    assert narrow.token_rows is not None
    assert narrow.sum is None
    negative = inspector.check([[1, -1]])
    assert (negative.token_ids, negative.token_rows, negative.position_rows, negative.sum) == (None,) * 4


@settings(max_examples=300)
@given(inspections())
def test_a_sound_inspection_has_its_sum(inspection: dict[str, Any]) -> None:
    source = {key: inspection[key] for key in ("token_ids", "text") if key in inspection}
    keys = {key: value for key, value in inspection.items() if key not in source}
    result = inspector.check(next(iter(source.values())), **keys)
    assert result.ok == works(inspection)
    for shape in result.shapes:
        found = {"token_embedding": result.token_rows, "position_embedding": result.position_rows}.get(shape.stage)
        if found is not None and shape.output is not None and inspection["token_embedding"].get("project_to") is None:
            assert found.shape == shape.output[-found.ndim :]  # one line of positions, (1, T), has rows (T, D)
    if result.ok and inspection["token_embedding"].get("project_to") is None:
        assert result.sum is not None
        assert result.sum.shape == result.shapes[-1].output
        assert np.isfinite(result.sum).all()


def test_a_result_explains_itself() -> None:
    result = inspector.check(IDS, token_embedding=(500, 256))
    assert result.explain().startswith("1 error")
    assert '"ok": false' in result.to_json()
    assert "<table>" in result._repr_html_()
