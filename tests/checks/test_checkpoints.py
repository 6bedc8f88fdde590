"""Checkpoints beside an inspection: what real models' files and configurations lead to."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import torch
from safetensors.torch import save_file

from inspector import inspection_file, pipeline

if TYPE_CHECKING:
    from pathlib import Path

    from inspector.result import Result

GPT2 = {"wte.weight": (60, 8), "wpe.weight": (32, 8)}


def judged(
    folder: Path, tensors: dict[str, tuple[int, ...]], config: dict[str, Any] | None = None, **keys: Any
) -> Result:
    """Judge a file of these tensors, and the config.json beside it."""
    save_file({name: torch.zeros(shape) for name, shape in tensors.items()}, folder / "model.safetensors")
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    values = {"checkpoint": str(folder / "model.safetensors"), "token_ids": [[5, 6, 7]], **keys}
    return pipeline.run(pipeline.Request(inspection_file.from_mapping(values)))


def codes(result: Result) -> list[str]:
    return [d.code for d in result.diagnoses]


@pytest.mark.parametrize("prefix", ["albert.embeddings.", "electra.embeddings."])
@pytest.mark.parametrize("size", ["embedding_size", "input_embedding_size"])
def test_rows_narrower_than_the_blocks(prefix: str, size: str, tmp_path: Path) -> None:
    names = ("word_embeddings.weight", "position_embeddings.weight", "token_type_embeddings.weight")
    tensors = {prefix + name: (rows, 4) for name, rows in zip(names, (60, 16, 2), strict=True)}
    result = judged(tmp_path, tensors, {"vocab_size": 60, "hidden_size": 16, size: 4, "type_vocab_size": 2})
    assert codes(result) == []
    assert result.config.embedding_dim == 4


@pytest.mark.parametrize(
    ("token", "position"),
    [
        ("transformer.tokens_embed.weight", "transformer.positions_embed.weight"),
        ("token_embeddings.weight", "position_embeddings.weight"),
        ("token_embed.weight", "pos_embed.weight"),
    ],
)
def test_names_of_tables(token: str, position: str, tmp_path: Path) -> None:
    result = judged(tmp_path, {token: (60, 8), position: (16, 8)})
    assert [(s.table, s.output) for s in result.shapes if s.table] == [((60, 8), (1, 3, 8)), ((16, 8), (3, 8))]
    assert result.ok


@pytest.mark.parametrize("section", ["position_embedding", "segment_embedding"])
def test_a_table_that_is_stated_is_missing(section: str, tmp_path: Path) -> None:
    tensors = {name: shape for name, shape in GPT2.items() if section != "position_embedding" or "wpe" not in name}
    result = judged(tmp_path, tensors, **{section: {"num_embeddings": 7, "embedding_dim": 8}})
    (found,) = result.diagnoses
    assert (found.code, found.fields) == ("F605", (section, "checkpoint"))
    assert "of 7 rows is stated" in found.message
    assert found.fix == {section: None}


@pytest.mark.parametrize("rows", [float("nan"), float("inf"), -1, 0, 2.5])
@pytest.mark.parametrize("section", ["token_embedding", "position_embedding", "segment_embedding"])
def test_sizes_that_are_none(section: str, rows: float, tmp_path: Path) -> None:
    assert not judged(tmp_path, {"wte.weight": (60, 8)}, **{section: {"num_embeddings": rows}}).ok
    assert not judged(tmp_path, GPT2, **{section: {"num_embeddings": rows}}).ok


def test_a_width_that_the_configuration_denies_is_told_once(tmp_path: Path) -> None:
    assert codes(judged(tmp_path, GPT2, {"vocab_size": 60, "n_embd": 16})) == ["F607"]
    assert codes(judged(tmp_path, {"wte.weight": (60, 8)}, {"n_embd": 16})) == ["F607", "P406"]


def test_no_width_is_made_up(tmp_path: Path) -> None:
    without_token = judged(tmp_path, {"wpe.weight": (16, 8)})
    assert codes(without_token) == ["F605"]
    assert next(s.table for s in without_token.shapes if s.stage == "token_embedding") is None
    assert codes(judged(tmp_path, {"wte.weight": (60, 8)}, position_embedding={"num_embeddings": 16})) == ["F605"]


def test_trained_rows_are_not_counted_from_one(tmp_path: Path) -> None:
    (found, _) = judged(tmp_path, {"wte.weight": (60, 8)}, token_ids=[[1, 7, 60]]).diagnoses
    assert found.data["hints"] == ["id-equals-row-count"]
    assert found.help.startswith("the rows are trained")


@pytest.mark.parametrize("vision", ["vision_tower.embeddings.position_embedding.weight", "visual.positional_embedding"])
def test_places_in_an_image_are_no_positions(vision: str, tmp_path: Path) -> None:
    tensors: dict[str, tuple[int, ...]] = {"language_model.embed_tokens.weight": (60, 8), vision: (50, 12)}
    assert codes(judged(tmp_path, tensors, {"text_config": {"hidden_size": 8}})) == ["P406"]


def test_arguments_out_of_place_beside_a_sound_file(tmp_path: Path) -> None:
    tensors = {"wte.weight": (50257, 8), "wpe.weight": (1024, 8)}
    exchanged = {"token_embedding": {"num_embeddings": 1024}, "position_embedding": {"num_embeddings": 50257}}
    assert codes(judged(tmp_path, tensors, **exchanged)) == ["E303"]
    transposed = {"num_embeddings": 8, "embedding_dim": 50257}
    assert codes(judged(tmp_path, tensors, token_embedding=transposed, embedding_dim=8)) == ["E302"]


@pytest.mark.parametrize(("model", "rows", "offset"), [("trocr", 66, 2), ("mvp", 66, 2), ("blenderbot", 64, 0)])
def test_rows_that_positions_skip(model: str, rows: int, offset: int, tmp_path: Path) -> None:
    tensors = {"decoder.embed_tokens.weight": (60, 8), "decoder.embed_positions.weight": (rows, 8)}
    config = {"model_type": model, "max_position_embeddings": 64, "vocab_size": 60, "d_model": 8}
    longest = judged(tmp_path, tensors, config, token_ids=[[5] * 64])
    assert longest.ok
    assert longest.config.position_embedding is not None
    assert longest.config.position_embedding.offset == offset
    assert codes(judged(tmp_path, tensors, config, token_ids=[[5] * 65])) == ["P401"]


def test_a_file_of_another_width_than_the_stated_one(tmp_path: Path) -> None:
    (found,) = judged(tmp_path, GPT2, embedding_dim=16).diagnoses
    assert found.code == "E304"
    assert found.fix == {"embedding_dim": 8}
    assert judged(tmp_path, GPT2, **found.fix).ok
