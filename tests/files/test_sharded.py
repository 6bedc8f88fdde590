"""Checkpoints of several files: through their index, by their names, and with some of them missing."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
import torch

from inspector.files import Trouble, open_checkpoint
from inspector.files.tensors import Shards
from tests.files import samples

if TYPE_CHECKING:
    from pathlib import Path

PARTS = 3


def sharded(folder: Path, suffix: str = "safetensors") -> tuple[Path, list[Path]]:
    """Write a state dict as three files, its tables in the second and the third; return the index and the files."""
    stem = {"safetensors": "model", "bin": "pytorch_model"}[suffix]
    contents = [{"h.0.weight": torch.ones(4, 4)}, {"wte.weight": samples.table()}, {"wpe.weight": samples.table(8)}]
    weight_map, paths = {}, []
    for i, content in enumerate(contents, 1):
        path = folder / f"{stem}-{i:05}-of-{PARTS:05}.{suffix}"
        (samples.safetensors if suffix == "safetensors" else samples.pytorch)(path, content)
        weight_map |= dict.fromkeys(content, path.name)
        paths.append(path)
    index = folder / f"{stem}.{suffix}.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": weight_map}, indent=2))
    return index, paths


@pytest.mark.parametrize("suffix", ["safetensors", "bin"])
@pytest.mark.parametrize("by", ["index", "folder"])
def test_the_parts_are_one_checkpoint(tmp_path: Path, suffix: str, by: str) -> None:
    index, _ = sharded(tmp_path, suffix)
    opened = open_checkpoint(index if by == "index" else tmp_path)
    assert opened.path == (index if by == "index" else tmp_path)
    assert opened.file.path == index
    assert opened.file.format == {"safetensors": "safetensors", "bin": "PyTorch"}[suffix]
    assert opened.file.shards == Shards(PARTS, PARTS)
    assert set(opened.file.tensors) == {"h.0.weight", "wte.weight", "wpe.weight"}
    assert samples.equal(opened.file.rows("wte.weight", samples.SOME), samples.table()[samples.SOME])
    assert samples.equal(opened.file.rows("wpe.weight", [7]), samples.table(8)[7:])


def test_parts_that_are_missing_are_counted_and_what_they_hold_is_named(tmp_path: Path) -> None:
    index, paths = sharded(tmp_path)
    paths[1].unlink()
    file = open_checkpoint(index).file
    assert file.shards == Shards(2, 3, {"wte.weight": paths[1].name})
    assert samples.equal(file.rows("wpe.weight", [7]), samples.table(8)[7:])


def test_no_part_is_there(tmp_path: Path) -> None:
    index, paths = sharded(tmp_path)
    for path in paths:
        path.unlink()
    assert samples.trouble(index, "names 3 files", paths[0].name).trouble is Trouble.UNREADABLE


def test_a_broken_part_is_named_itself(tmp_path: Path) -> None:
    index, paths = sharded(tmp_path)
    os.truncate(paths[2], 50)
    error = samples.trouble(index)
    assert (error.trouble, error.path) == (Trouble.TRUNCATED, str(paths[2]))


@pytest.mark.parametrize("suffix", ["safetensors", "bin"])
def test_a_part_opened_alone_is_one_of_three(tmp_path: Path, suffix: str) -> None:
    _, paths = sharded(tmp_path, suffix)
    assert open_checkpoint(paths[1]).file.shards == Shards(1, 3)


def test_parts_without_an_index_are_taken_together(tmp_path: Path) -> None:
    index, paths = sharded(tmp_path)
    index.unlink()
    assert open_checkpoint(tmp_path).file.shards == Shards(3, 3)
    paths[0].unlink()
    file = open_checkpoint(tmp_path).file
    assert (file.shards, file.path) == (Shards(2, 3), tmp_path)
    assert set(file.tensors) == {"wte.weight", "wpe.weight"}
    paths[1].unlink()
    assert open_checkpoint(tmp_path).file.shards == Shards(1, 3)


def test_an_index_by_another_name_is_known_by_its_content(tmp_path: Path) -> None:
    index, _ = sharded(tmp_path)
    assert len(open_checkpoint(index.rename(tmp_path / "weights.json")).file.tensors) == 3


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "is not JSON"),
        ("[]", "is JSON, but not an object"),
        ("{}", "has no weight_map"),
        ('{"weight_map": []}', "has no weight_map"),
        ('{"weight_map": {"a": 3}}', "names 3, which is not a file beside it"),
        ('{"weight_map": {"a": "../b"}}', "names '../b'"),
        ('{"weight_map": {"a": "/etc/passwd"}}', "names '/etc/passwd'"),
        ('{"weight_map": {"a": "c:b"}}', "names 'c:b'"),
        ('{"weight_map": {"a": ".."}}', "names '..'"),
        ('{"weight_map": {"a": "x\\u0000"}}', "names 'x\\x00'"),
        ('{"weight_map": {"a": "' + "x" * 1000 + '"}}', "names 1 files"),
        ('{"weight_map": {"a": "model.safetensors.index.json"}}', "is none of the formats"),
    ],
)
def test_a_broken_index(tmp_path: Path, content: Any, words: str) -> None:
    path = tmp_path / "model.safetensors.index.json"
    path.write_text(content)
    samples.trouble(path, words)
