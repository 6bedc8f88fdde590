"""A folder: which of its files is the checkpoint, and what else lies in it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from inspector.files import Trouble, open_checkpoint
from inspector.files.tensors import Shards
from tests.files import samples

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["model.safetensors", "pytorch_model.bin", "other.safetensors"], "model.safetensors"),
        (["pytorch_model.bin", "x.safetensors", "y.safetensors"], "pytorch_model.bin"),
        (["x.safetensors", "ckpt.pt", "model.gguf"], "x.safetensors"),
        (["ckpt.pt", "model.gguf", "optimizer.bin"], "model.gguf"),
        (["ckpt.pt", "training_args.bin", "optimizer.pt", "scheduler.pt", "rng_state.pth"], "ckpt.pt"),
        (["Model.CKPT", "notes.txt"], "Model.CKPT"),
    ],
)
def test_which_file_is_opened(tmp_path: Path, names: list[str], chosen: str) -> None:
    made = {
        ".safetensors": samples.safetensors(tmp_path / "a"),
        ".gguf": samples.gguf_file(tmp_path / "b"),
        "": samples.pytorch(tmp_path / "c"),
    }
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in names:
        suffix = name[name.rindex(".") :]
        shutil.copy(made.get(suffix, made[""]), folder / name)
    opened = open_checkpoint(folder)
    assert (opened.path, opened.file.path) == (folder, folder / chosen)


def test_a_consolidated_checkpoint_is_one_part_of_each_table(tmp_path: Path) -> None:
    for i in range(4):
        samples.pytorch(tmp_path / f"consolidated.0{i}.pth")
    (tmp_path / "params.json").write_text('{"dim": 32}')
    opened = open_checkpoint(tmp_path)
    assert opened.file.shards == Shards(1, 4)
    assert opened.config == {"dim": 32}


def test_nothing_says_which_is_meant(tmp_path: Path) -> None:
    for name in "abcd":
        samples.pytorch(tmp_path / f"{name}.pt")
    assert samples.trouble(tmp_path, "4 checkpoints (a.pt, b.pt, c.pt, …)").trouble is Trouble.NOT_RECOGNISED


def test_a_folder_without_a_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    error = samples.trouble(tmp_path, "model.safetensors", "pytorch_model.bin", "consolidated*.pth", ".gguf")
    assert error.trouble is Trouble.NOT_RECOGNISED


@pytest.mark.parametrize("by", ["file", "folder"])
def test_the_configuration_and_the_tokenizer_beside_it(tmp_path: Path, by: str) -> None:
    path = samples.safetensors(tmp_path / "model.safetensors")
    named = path if by == "file" else tmp_path
    assert (open_checkpoint(named).config, open_checkpoint(named).tokenizer) == ({}, None)
    (tmp_path / "config.json").write_text('{"vocab_size": 50}')
    (tmp_path / "vocab.json").touch()
    assert (open_checkpoint(named).config, open_checkpoint(named).tokenizer) == ({"vocab_size": 50}, None)
    (tmp_path / "meta.pkl").touch()
    assert open_checkpoint(named).tokenizer == tmp_path / "meta.pkl"
    (tmp_path / "merges.txt").touch()
    assert open_checkpoint(named).tokenizer == tmp_path / "vocab.json"
    (tmp_path / "tokenizer.json").touch()
    assert open_checkpoint(named).tokenizer == tmp_path / "tokenizer.json"
    assert open_checkpoint(named).notes == ()


@pytest.mark.parametrize(
    ("content", "note"),
    [
        (b"{", "config.json was left aside: it is not JSON"),
        (b"[]", "config.json was left aside: it is JSON, but not an object"),
        (b"\xff", "config.json was left aside: it is not UTF-8 text"),
        (bytes(17 * 2**20), "config.json was left aside: it is too long"),
    ],
)
def test_a_broken_configuration_is_left_aside_with_a_note(tmp_path: Path, content: bytes, note: str) -> None:
    (tmp_path / "config.json").write_bytes(content)
    opened = open_checkpoint(samples.safetensors(tmp_path / "model.safetensors"))
    assert opened.config == {}
    assert len(opened.notes) == 1
    assert opened.notes[0].startswith(note)


def test_a_configuration_named_itself_is_not_a_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"vocab_size": 50}')
    error = samples.trouble(tmp_path / "config.json", "is a model's configuration")
    assert error.help == "open the folder it is in"
