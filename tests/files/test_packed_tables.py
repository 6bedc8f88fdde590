"""Quantised tables in safetensors files: MLX's decoded, others recognised."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import torch

from inspector.files import FileTrouble, Trouble, open_checkpoint
from tests.files import samples

if TYPE_CHECKING:
    from pathlib import Path

# What mx.quantize(mx.array([[(7 * i * i) % 23 for i in range(32)]]), group_size=32, bits=bits) gives with mlx: the
# words, the scale (the bias is 22), and the codes that its rows, scale * code + bias, stand for.
FROM_MLX = {
    3: (
        [335648111, 2730527251, 2150804982],
        -3.142857074737549,
        [7, 5, 5, 2, 1, 3, 0, 0, 4, 2, 4, 1, 1, 4, 2, 4, 0, 0, 3, 1, 2, 5, 5, 7, 5, 5, 2, 1, 3, 0, 0, 4],
    ),
    4: (
        [273759407, 2239899736, 4207088897, 2164593610],
        -1.4666666984558105,
        [15, 10, 12, 3, 1, 5, 0, 1, 8, 5, 8, 2, 2, 8, 5, 8, 1, 0, 5, 1, 3, 12, 10, 15, 10, 12, 3, 1, 5, 0, 1, 8],
    ),
}


def packed(width: int, bits: int, group: int) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """Return the parts of a table and its rows, packed by way of one large whole number a row."""
    random = torch.Generator().manual_seed(bits)
    codes = torch.randint(0, 2**bits, (samples.ROWS, width), generator=random)
    scales = torch.rand(samples.ROWS, width // group, generator=random).to(torch.float16)
    biases = torch.rand(samples.ROWS, width // group, generator=random).to(torch.float16)
    words = bytearray()
    for row in codes.tolist():
        words += sum(code << (bits * place) for place, code in enumerate(row)).to_bytes(width * bits // 8, "little")
    weight = torch.frombuffer(words, dtype=torch.uint32).view(samples.ROWS, -1)
    values = scales.float().repeat_interleave(group, 1) * codes + biases.float().repeat_interleave(group, 1)
    return {"e.weight": weight, "e.scales": scales, "e.biases": biases}, values


@pytest.mark.parametrize("group", [32, 64, 128])
@pytest.mark.parametrize("bits", [2, 3, 4, 5, 6, 8])
@pytest.mark.parametrize("known", ["configuration", "own configuration", "another tensor"])
def test_rows_are_decoded(tmp_path: Path, bits: int, group: int, known: str) -> None:
    parts, values = packed(256, bits, group)
    said: dict[str, Any] = {"bits": bits, "group_size": group}
    if known == "another tensor":
        parts["norm.weight"] = torch.ones(256)
    else:
        own = {"bits": 2 if bits == 4 else 4, "group_size": 64, "e": said}
        config = {"quantization": said if known == "configuration" else own}
        (tmp_path / "config.json").write_text(json.dumps(config))
    file = open_checkpoint(samples.safetensors(tmp_path / "model.safetensors", parts)).file
    assert file.tensors["e.weight"] == ("e.weight", (samples.ROWS, 256), f"{bits}-bit, groups of {group}", True)
    assert set(file.tensors) <= {"e.weight", "norm.weight"}
    assert samples.equal(file.rows("e.weight", samples.SOME), values[samples.SOME])
    assert samples.equal(file.columns("e.weight", [255, 0]), values[:, [255, 0]].T)
    assert samples.equal(file.rows("e.weight", []), torch.empty(0, 256))


@pytest.mark.parametrize("bits", FROM_MLX)
def test_a_row_that_mlx_packed(tmp_path: Path, bits: int) -> None:
    words, scale, codes = FROM_MLX[bits]
    parts = {
        "e.weight": torch.tensor([words], dtype=torch.uint32),
        "e.scales": torch.tensor([[scale]]),
        "e.biases": torch.tensor([[22.0]]),
        "norm": torch.ones(32),
    }
    file = open_checkpoint(samples.safetensors(tmp_path / "model.safetensors", parts)).file
    expected = torch.tensor(codes) * torch.tensor(scale) + 22.0
    assert samples.equal(file.rows("e.weight", [0])[0], expected)


def test_without_anything_that_tells_groups_of_64_are_taken(tmp_path: Path) -> None:
    file = open_checkpoint(samples.safetensors(tmp_path / "m.safetensors", packed(256, 4, 64)[0])).file
    assert file.tensors["e.weight"].dtype == "4-bit, groups of 64"


def test_what_the_configuration_says_comes_before_what_shapes_suggest(tmp_path: Path) -> None:
    parts, values = packed(256, 4, 64)
    parts["norm.weight"] = torch.ones(512)  # would be as wide as 2-bit codes in groups of 128
    (tmp_path / "config.json").write_text('{"quantization": {"bits": 4, "group_size": 64}}')
    file = open_checkpoint(samples.safetensors(tmp_path / "m.safetensors", parts)).file
    assert samples.equal(file.rows("e.weight", [7]), values[7:8])


def test_parts_that_do_not_belong_together_stay_apart(tmp_path: Path) -> None:
    parts, _ = packed(256, 4, 64)
    for name, wrong in (("e.scales", torch.ones(3, 4)), ("e.biases", torch.ones(samples.ROWS, 3))):
        file = open_checkpoint(samples.safetensors(tmp_path / f"{name}.safetensors", {**parts, name: wrong})).file
        assert set(file.tensors) == set(parts)
        assert not file.tensors["e.weight"].quantised


@pytest.mark.parametrize(
    ("parts", "shape"),
    [
        (
            {"e.weight": torch.zeros(9, 4, dtype=torch.uint32), "e.scales": torch.zeros(9, 1, dtype=torch.uint8)},
            (9, 32),
        ),
        ({"e.weight": torch.zeros(9, 32, dtype=torch.int8), "e.weight.SCB": torch.zeros(9)}, (9, 32)),
        ({"e.weight": torch.zeros(9, 32).to(torch.float8_e4m3fn), "e.weight_scale_inv": torch.zeros(1, 1)}, (9, 32)),
    ],
    ids=["mxfp4", "int8", "fp8"],
)
def test_codes_that_cannot_be_decoded_are_not_shown_as_rows(
    tmp_path: Path, parts: dict[str, torch.Tensor], shape: tuple[int, int]
) -> None:
    file = open_checkpoint(samples.safetensors(tmp_path / "model.safetensors", parts)).file
    assert file.tensors["e.weight"].quantised
    assert file.tensors["e.weight"].shape == shape
    with pytest.raises(FileTrouble, match="cannot be decoded here") as caught:
        file.rows("e.weight", [0])
    assert caught.value.trouble is Trouble.NOT_RECOGNISED
