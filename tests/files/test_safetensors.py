"""safetensors: every row as the library reads it, and each fault of a header told from the others."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import pytest
import torch
from safetensors import SafetensorError, safe_open

from inspector.files import Trouble, open_checkpoint
from inspector.files.safetensors_header import DTYPES as KNOWN
from tests.files import samples

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("dtype", samples.DTYPES, ids=str)
def test_rows_and_columns_are_those_the_library_reads(tmp_path: Path, dtype: torch.dtype) -> None:
    path = samples.safetensors(tmp_path / "model.safetensors", {"wte": samples.table(dtype=dtype), "n": torch.ones(3)})
    file = open_checkpoint(path).file
    with safe_open(path, "pt") as library:
        expected = library.get_tensor("wte")
    assert file.format == "safetensors"
    assert file.tensors["wte"] == ("wte", (samples.ROWS, samples.WIDTH), str(dtype).removeprefix("torch."), False)
    assert samples.equal(file.rows("wte", samples.SOME), torch.stack([expected[i] for i in samples.SOME]))
    assert samples.equal(file.columns("wte", [31, 0, 1, 31]), torch.stack([expected[:, i] for i in (31, 0, 1, 31)]))
    file.close()


def test_names_of_dtypes_are_those_of_the_library(tmp_path: Path) -> None:
    names = [n for n in KNOWN.values() if hasattr(torch, n)]
    tensors = {n: torch.zeros(2, 2, dtype=torch.float32).to(getattr(torch, n)) for n in names}
    opened = open_checkpoint(samples.safetensors(tmp_path / "all.safetensors", tensors)).file
    assert {n: t.dtype for n, t in opened.tensors.items()} == {n: n for n in names}


def test_no_rows_and_rows_that_are_not_there(tmp_path: Path) -> None:
    file = open_checkpoint(samples.safetensors(tmp_path / "model.safetensors")).file
    assert samples.equal(file.rows("wte.weight", []), torch.empty(0, samples.WIDTH))
    assert samples.equal(file.columns("wte.weight", []), torch.empty(0, samples.ROWS))
    for index in (-1, samples.ROWS):
        with pytest.raises(IndexError, match="0 to 49"):
            file.rows("wte.weight", [index])
    with pytest.raises(KeyError):
        file.rows("wte", [0])
    with pytest.raises(ValueError, match="not two axes"):
        file.rows("ln_f.weight", [0])


def test_axes_of_one_before_a_table_do_not_count(tmp_path: Path) -> None:
    positions = samples.table(samples.POSITIONS)
    file = open_checkpoint(samples.safetensors(tmp_path / "m.safetensors", {"pos": positions[None]})).file
    assert file.tensors["pos"].shape == (1, samples.POSITIONS, samples.WIDTH)
    assert samples.equal(file.rows("pos", [5]), positions[5:6])


def test_empty_tensors_are_declared(tmp_path: Path) -> None:
    file = open_checkpoint(samples.safetensors(tmp_path / "m.safetensors", {"wte": torch.empty(0), "w": torch.ones(2)}))
    assert file.file.tensors["wte"].shape == (0,)


def entry(dtype: Any = "F32", shape: Any = (2, 2), offsets: Any = (0, 16)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


MALFORMED: dict[str, tuple[Any, int, str]] = {
    "not-json": (b"{wte}", 16, "is not JSON"),
    "not-text": (b'{"\xff": 1}', 16, "is not UTF-8 text: byte 2 of it is 0xff"),
    "repeated": (b'{"a": {}, "a": {}}', 0, "has the key 'a' twice"),
    "deep": (b'{"a":' + b"[" * 100_000, 0, "is nested too deeply"),
    "digits": (b'{"a":' + b"9" * 10_000 + b"}", 0, "thousands of digits"),
    "entry-not-an-object": ({"wte": 3}, 0, "says nothing of dtype, shape and offsets of 'wte'"),
    "no-dtype": ({"wte": {"shape": [2, 2], "data_offsets": [0, 16]}}, 16, "gives 'wte' no dtype"),
    "unknown-dtype": ({"wte": entry("F99")}, 16, "with dtype 'F99'"),
    "negative-shape": ({"wte": entry(shape=[-2, -2])}, 16, "the shape [-2, -2]"),
    "fractional-shape": ({"wte": entry(shape=[2, 2.5])}, 16, "the shape [2, 2.5]"),
    "true-shape": ({"wte": entry(shape=[True, 4])}, 16, "the shape [True, 4]"),
    "text-shape": ({"wte": entry(shape="22")}, 16, "the shape '22'"),
    "huge-shape": ({"wte": entry(shape=[2**62, 2**62])}, 16, "but 16 bytes to lie in"),
    "many-axes": ({"wte": entry(shape=[2**62] * 100_000)}, 16, "the shape [461"),
    "one-offset": ({"wte": entry(offsets=[0])}, 16, "the offsets [0]"),
    "offsets-backwards": ({"wte": entry(offsets=[16, 0])}, 16, "the offsets [16, 0]"),
    "size-differs": ({"wte": entry(shape=[2, 3])}, 16, "shape [2, 3] and dtype F32, 24 bytes, but 16 bytes"),
    "overlap": ({"a": entry(), "b": entry(offsets=[8, 24])}, 24, "'b' and 'a' overlap by 8 bytes"),
    "hole": ({"a": entry(), "b": entry(offsets=[24, 40])}, 40, "8 bytes of nothing before 'b'"),
    "more": ({"a": entry()}, 20, "4 bytes follow its last tensor"),
    "long-name": ({"n" * 100_000: 3}, 0, "…"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_each_fault_of_a_header_is_told(tmp_path: Path, case: str) -> None:
    header, size, words = MALFORMED[case]
    path = samples.with_header(tmp_path / "model.safetensors", header, bytes(size))
    assert samples.trouble(path, words).trouble is Trouble.NOT_RECOGNISED
    with pytest.raises(SafetensorError), safe_open(path, "pt"):
        pass  # the library refuses it as well


def test_a_header_that_is_no_object(tmp_path: Path) -> None:
    path = samples.with_header(tmp_path / "model.safetensors", [1, 2])
    samples.trouble(path, "begins with b'['")


def test_a_header_of_absurd_length(tmp_path: Path) -> None:
    path = samples.with_header(tmp_path / "model.safetensors", {}, length=2**62)
    assert samples.trouble(path, "4,611,686,018,427,387,904").trouble is Trouble.NOT_RECOGNISED


def test_wherever_it_is_cut_it_is_truncated(tmp_path: Path) -> None:
    whole = samples.safetensors(tmp_path / "whole.safetensors").read_bytes()
    path = tmp_path / "model.safetensors"
    for size in [*range(1, 600, 7), len(whole) - 1]:
        path.write_bytes(whole[:size])
        error = samples.trouble(path)
        assert error.trouble is Trouble.TRUNCATED, error.reason
        assert f"{size:,}" in error.reason
    assert re.search(rf"of {len(whole):,} bytes: 1 are missing", error.reason)


def test_a_file_of_20_gb_opens_as_one_of_a_few_bytes(tmp_path: Path) -> None:
    rows, width = 2_000_000, 2560
    size = rows * width * 4
    path = samples.with_header(tmp_path / "model.safetensors", {"wte.weight": entry("F32", [rows, width], [0, size])})
    start = path.stat().st_size
    os.truncate(path, start + size)
    last = torch.arange(width, dtype=torch.float32)
    with path.open("r+b") as file:
        file.seek(start + (rows - 1) * width * 4)
        file.write(last.numpy().tobytes())
    file = open_checkpoint(path).file
    file.rows("wte.weight", [0])  # what is loaded once is loaded
    grown, rows_read = samples.growth(lambda: file.rows("wte.weight", [rows - 1, 7]))
    assert grown < 20e6
    assert samples.equal(rows_read, torch.stack([last, torch.zeros(width)]))
