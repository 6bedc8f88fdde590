"""What a file is opened as: by its content, and by its name where that says nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch

from inspector.files.kinds import FileKind, kind_of
from inspector.trouble import FileTrouble
from tests.files import samples

if TYPE_CHECKING:
    from pathlib import Path

IDS = np.arange(64, dtype=np.uint16)


@pytest.mark.parametrize("name", ["model.bin", "model.pt", "model.ckpt", "model"])
def test_what_torch_saved_is_told_by_what_it_holds(tmp_path: Path, name: str) -> None:
    assert kind_of(samples.pytorch(tmp_path / name)) is FileKind.CHECKPOINT
    torch.save(torch.arange(64), tmp_path / name)
    assert kind_of(tmp_path / name) is FileKind.TOKEN_IDS


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("train.bin", IDS.tobytes(), FileKind.TOKEN_IDS),
        ("pytorch_model.bin", b"version https://git-lfs.github.com/spec/v1\n", FileKind.CHECKPOINT),
        ("model.safetensors", b"", FileKind.CHECKPOINT),
        ("model.safetensors.index.json", b"{}", FileKind.CHECKPOINT),
        ("config.json", b"{}", FileKind.CHECKPOINT),
        ("ids.json", b"[[1, 2], [3, 4]]", FileKind.TOKEN_IDS),
        ("ids.json", b'{"input_ids": [1, 2]}', FileKind.TOKEN_IDS),
        ("ids.jsonl", b"[1, 2]\n", FileKind.TOKEN_IDS),
        ("tokenizer.json", b"{}", FileKind.TOKENIZER),
        ("other.json", json.dumps({"model": {"type": "BPE"}}).encode(), FileKind.TOKENIZER),
        ("gpt2-merges.txt", b"#version: 0.2\n", FileKind.TOKENIZER),
        ("meta.pkl", b"\x80\x04", FileKind.TOKENIZER),
        ("one.json", b'{"text": "a"}', FileKind.INSPECTION),
        ("one.json", b"not json", FileKind.INSPECTION),
        ("one.toml", b'text = "a"', FileKind.INSPECTION),
        ("story.txt", b"once", FileKind.TEXT),
        ("story", b"", FileKind.TEXT),
    ],
)
def test_each_kind(tmp_path: Path, name: str, data: bytes, kind: FileKind) -> None:
    (tmp_path / name).write_bytes(data)
    assert kind_of(tmp_path / name) is kind


def test_a_folder_holds_a_checkpoint_and_nothing_is_no_kind(tmp_path: Path) -> None:
    assert kind_of(tmp_path) is FileKind.CHECKPOINT
    with pytest.raises(FileTrouble):
        kind_of(tmp_path / "none.bin")
