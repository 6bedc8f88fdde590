"""GGUF: every row as the gguf package decodes the whole table, and a header that is never believed."""

from __future__ import annotations

import struct
import sys
import time
from typing import TYPE_CHECKING, Any

import gguf
import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType as Kind

from inspector.files import FileTrouble, Trouble, open_checkpoint
from inspector.files.tensors import Shards
from tests.files import samples

if TYPE_CHECKING:
    from pathlib import Path

# Those that the package can quantise as well as decode, so that a real table can be made.
QUANTISED = [
    *(Kind.Q4_0, Kind.Q4_1, Kind.Q5_0, Kind.Q5_1, Kind.Q8_0, Kind.TQ1_0, Kind.TQ2_0, Kind.MXFP4),
]
CODED = [k for k in Kind if k not in (*QUANTISED, Kind.BF16) and k.name[0] in "QI" and "_" in k.name]


@pytest.mark.parametrize("kind", QUANTISED, ids=lambda k: k.name)
def test_quantised_rows_are_those_the_package_decodes(tmp_path: Path, kind: Kind) -> None:
    path = samples.gguf_file(tmp_path / "model.gguf", kind)
    stored = next(t for t in gguf.GGUFReader(path).tensors if t.name == "token_embd.weight")
    expected = torch.from_numpy(gguf.quants.dequantize(stored.data, kind))
    file = open_checkpoint(path).file
    assert file.format == "GGUF"
    assert file.tensors["token_embd.weight"] == ("token_embd.weight", (samples.ROWS, 256), kind.name, True)
    assert samples.equal(file.rows("token_embd.weight", samples.SOME), expected[samples.SOME])
    assert samples.equal(file.rows("token_embd.weight", range(samples.ROWS)), expected)
    assert samples.equal(file.columns("token_embd.weight", [255, 3]), expected[:, [255, 3]].T)


@pytest.mark.parametrize("kind", CODED, ids=lambda k: k.name)
def test_every_other_kind_is_decoded_as_the_package_does_or_refused(tmp_path: Path, kind: Kind) -> None:
    values, nbytes = gguf.GGML_QUANT_SIZES[kind]
    codes = np.random.default_rng(7).integers(0, 256, (9, 512 // values * nbytes), np.uint8)
    file = open_checkpoint(one_tensor(tmp_path / "model.gguf", (512, 9), kind, codes.tobytes())).file
    assert file.tensors["t"] == ("t", (9, 512), kind.name, True)
    try:
        with np.errstate(all="ignore"):
            expected = torch.from_numpy(gguf.quants.dequantize(codes, kind))
    except NotImplementedError:
        with pytest.raises(FileTrouble, match="cannot be decoded here"):
            file.rows("t", [0])
    else:
        assert samples.equal(file.rows("t", [8, 2]), expected[[8, 2]])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64, np.int32, np.int16, np.int8])
def test_plain_rows_need_no_package(tmp_path: Path, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    values = samples.table().numpy().astype(dtype)
    writer = gguf.GGUFWriter(tmp_path / "model.gguf", "gpt2")
    writer.add_tensor("wte", values)
    writer.add_tensor("odd", np.ones((3, 5, 7), np.float32))
    finish(writer)
    monkeypatch.setitem(sys.modules, "gguf", None)
    file = open_checkpoint(tmp_path / "model.gguf").file
    assert samples.equal(file.rows("wte", samples.SOME), torch.from_numpy(values[samples.SOME]))
    assert file.tensors["odd"].shape == (3, 5, 7)


def test_bfloat16_is_read_as_it_is(tmp_path: Path) -> None:
    values = samples.table().bfloat16()
    path = one_tensor(
        tmp_path / "m.gguf", (samples.WIDTH, samples.ROWS), Kind.BF16, bytes(values.view(torch.uint8).numpy())
    )
    assert samples.equal(open_checkpoint(path).file.rows("t", samples.SOME), values[samples.SOME])


def test_what_the_file_says_of_the_model(tmp_path: Path) -> None:
    settings = open_checkpoint(samples.gguf_file(tmp_path / "model.gguf")).file.settings
    assert settings["general.architecture"] == "llama"
    assert settings["llama.context_length"] == samples.POSITIONS
    assert settings["llama.embedding_length"] == 256
    assert settings["llama.vocab_size"] == samples.ROWS
    assert settings["tokenizer.ggml.tokens"] == settings["tokenizer.ggml.scores"] == samples.ROWS


def test_an_alignment_of_its_own(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "model.gguf", "gpt2")
    writer.add_custom_alignment(1024)
    for name in ("a", "b"):
        writer.add_tensor(name, samples.table().numpy())
    finish(writer)
    file = open_checkpoint(tmp_path / "model.gguf").file
    assert samples.equal(file.rows("b", [49]), samples.table()[49:])


def test_without_the_package_a_quantised_file_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = samples.gguf_file(tmp_path / "model.gguf")
    monkeypatch.setitem(sys.modules, "gguf", None)
    error = samples.trouble(path, "not installed")
    assert error.trouble is Trouble.NOT_RECOGNISED
    assert error.help == "pip install gguf"


def test_one_part_of_several(tmp_path: Path) -> None:
    path = samples.gguf_file(tmp_path / "model-00001-of-00003.gguf")
    assert open_checkpoint(path).file.shards == Shards(1, 3)


def test_a_large_vocabulary_is_stepped_over(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "model.gguf", "llama")
    writer.add_token_list([f"token {i}" for i in range(128_256)])
    writer.add_token_merges([f"{i} {i}" for i in range(280_000)])
    writer.add_tensor("token_embd.weight", samples.table().numpy())
    finish(writer)
    start = time.perf_counter()
    grown, opened = samples.growth(lambda: open_checkpoint(tmp_path / "model.gguf"))
    assert time.perf_counter() - start < 2
    assert grown < 20e6
    assert opened.file.settings["tokenizer.ggml.tokens"] == 128_256
    assert opened.file.settings["tokenizer.ggml.merges"] == 280_000


# ---- a header that is wrong ----------------------------------------------------------------------------------------


def finish(writer: gguf.GGUFWriter) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def start(tensors: int = 0, keys: int = 0, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, keys)


def tensor(shape: tuple[int, ...], kind: int, offset: int = 0, name: bytes = b"t") -> bytes:
    return text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)


def one_tensor(path: Path, shape: tuple[int, ...], kind: int, data: bytes) -> Path:
    header = start(1) + tensor(shape, kind)
    path.write_bytes(header + bytes(-len(header) % 32) + data)
    return path


WRONG: dict[str, tuple[bytes, Trouble, str]] = {
    "magic alone": (b"GGUF", Trouble.TRUNCATED, "within its header"),
    "version 1": (start(version=1), Trouble.NOT_RECOGNISED, "version 1"),
    "big-endian": (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), Trouble.NOT_RECOGNISED, "big-endian"),
    "tensors": (start(tensors=2**60), Trouble.NOT_RECOGNISED, "1,152,921,504,606,846,976 tensors"),
    "keys": (start(keys=2**60), Trouble.NOT_RECOGNISED, "1,152,921,504,606,846,976 keys"),
    "key missing": (start(keys=1), Trouble.TRUNCATED, "within its header"),
    "long name": (start(keys=1) + struct.pack("<Q", 2**60), Trouble.NOT_RECOGNISED, "a name in its header"),
    "name not text": (start(keys=1) + text(b"\xff"), Trouble.NOT_RECOGNISED, "not UTF-8"),
    "value type": (start(keys=1) + text(b"a") + struct.pack("<I", 99), Trouble.NOT_RECOGNISED, "unknown type 99"),
    "long string": (start(keys=1) + text(b"a") + struct.pack("<IQ", 8, 2**60), Trouble.TRUNCATED, "within its header"),
    "long array": (start(keys=1) + text(b"a") + struct.pack("<IIQ", 9, 6, 2**63), Trouble.TRUNCATED, "within"),
    "many strings": (start(keys=1) + text(b"a") + struct.pack("<IIQ", 9, 8, 2**63), Trouble.NOT_RECOGNISED, "strings"),
    "few strings": (start(keys=1) + text(b"a") + struct.pack("<IIQ", 9, 8, 2), Trouble.TRUNCATED, "within its header"),
    "arrays in arrays": (start(keys=1) + text(b"a") + struct.pack("<IIQ", 9, 9, 1), Trouble.NOT_RECOGNISED, "type 9"),
    "alignment": (
        start(keys=1) + text(b"general.alignment") + struct.pack("<II", 4, 3),
        Trouble.NOT_RECOGNISED,
        "alignment is 3",
    ),
    "axes": (start(1) + text(b"t") + struct.pack("<I", 2**31), Trouble.NOT_RECOGNISED, "2,147,483,648 axes"),
    "twice": (start(2) + tensor((1,), 24) * 2 + bytes(99), Trouble.NOT_RECOGNISED, "the same name"),
    "tensor type": (start(1) + tensor((32, 1), 999), Trouble.NOT_RECOGNISED, "type 999"),
    "blocks": (start(1) + tensor((31, 1), Kind.Q8_0), Trouble.NOT_RECOGNISED, "blocks of 32 values"),
    "no axis": (start(1) + tensor((), Kind.Q8_0), Trouble.NOT_RECOGNISED, "blocks of 32 values"),
    "shape": (start(1) + tensor((2**62, 2**62), 0), Trouble.NOT_RECOGNISED, "larger than any file"),
    "offset": (start(1) + tensor((1, 1), 0, 2**40), Trouble.TRUNCATED, "'t' goes on to byte 1,099,511,627,"),
}


@pytest.mark.parametrize("case", WRONG)
def test_each_fault_of_a_header_is_told(tmp_path: Path, case: str) -> None:
    content, kind, words = WRONG[case]
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    assert samples.trouble(path, words).trouble is kind


def test_wherever_it_is_cut_it_is_truncated(tmp_path: Path) -> None:
    whole = samples.gguf_file(tmp_path / "whole.gguf").read_bytes()
    path = tmp_path / "model.gguf"
    for size in range(4, len(whole), 61):
        path.write_bytes(whole[:size])
        error = samples.trouble(path)
        assert error.trouble is Trouble.TRUNCATED, error.reason
