"""Small real checkpoints, each written by its format's own library."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any, TypeVar

import gguf
import numpy as np
import psutil
import pytest
import torch
from safetensors.torch import save_file

from inspector.files import Trouble, open_checkpoint
from inspector.trouble import FileTrouble

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Result = TypeVar("Result")

ROWS, WIDTH, POSITIONS = 50, 32, 8
SOME = [3, 49, 0, 3, 17]  # rows out of order, one of them twice

DTYPES = [
    *(torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2),
    *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.uint16, torch.uint32, torch.bool),
]


def table(rows: int = ROWS, width: int = WIDTH, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    values = torch.randn(rows, width, generator=torch.Generator().manual_seed(rows * width)) * 50
    return (values > 0) if dtype is torch.bool else values.to(torch.int64 if "uint" in str(dtype) else dtype).to(dtype)


def state_dict() -> dict[str, torch.Tensor]:
    return {"wte.weight": table(), "wpe.weight": table(POSITIONS), "ln_f.weight": torch.ones(WIDTH)}


def equal(found: torch.Tensor, expected: torch.Tensor) -> bool:
    """Return whether two tensors are equal bit for bit, of the same shape and dtype."""
    if (found.dtype, found.shape) != (expected.dtype, expected.shape):
        return False
    # As bytes: torch takes one NaN for unlike another, and -0.0 for like 0.0.
    as_bytes = (t.clone(memory_format=torch.contiguous_format).flatten().view(torch.uint8) for t in (found, expected))
    return torch.equal(*as_bytes)


def safetensors(path: Path, tensors: dict[str, torch.Tensor] | None = None) -> Path:
    save_file(state_dict() if tensors is None else tensors, path, metadata={"format": "pt"})
    return path


def with_header(path: Path, header: Any, data: bytes = b"", length: int | None = None) -> Path:
    """Write a safetensors file with a header of our own: an object, or bytes."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + data)
    return path


def pytorch(path: Path, content: Any = None, *, legacy: bool = False) -> Path:
    torch.save(state_dict() if content is None else content, path, _use_new_zipfile_serialization=not legacy)
    return path


def gguf_file(path: Path, kind: gguf.GGMLQuantizationType = gguf.GGMLQuantizationType.Q8_0, width: int = 256) -> Path:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(POSITIONS)
    writer.add_embedding_length(width)
    writer.add_vocab_size(ROWS)
    writer.add_token_list([f"t{i}" for i in range(ROWS)])
    writer.add_token_scores([0.5] * ROWS)
    writer.add_tensor("token_embd.weight", gguf.quants.quantize(table(width=width).numpy(), kind), raw_dtype=kind)
    writer.add_tensor("position_embd.weight", table(POSITIONS, width).numpy().astype(np.float16))
    writer.add_tensor("output_norm.weight", np.ones(width, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def trouble(path: Path, *words: str) -> FileTrouble:
    """Return the trouble that opening a file ends in, whose words hold these."""
    with pytest.raises(FileTrouble) as caught:
        open_checkpoint(path)
    require_plain_words(caught.value)
    for word in words:
        assert word in caught.value.reason, caught.value.reason
    return caught.value


def require_plain_words(error: FileTrouble) -> None:
    """Require that what is told of a trouble can be shown as it is."""
    assert isinstance(error.trouble, Trouble)
    for sentence in (error.reason, error.help):
        assert sentence.isprintable()
        assert sentence == sentence.strip(" .")
        assert len(sentence) < 500


def growth(act: Callable[[], Result]) -> tuple[int, Result]:
    """Return by how many bytes the process's resident memory grew over a call, and what the call returned."""
    process = psutil.Process()
    before = process.memory_info().rss
    result = act()
    return process.memory_info().rss - before, result
