"""Files of token IDs, written by the libraries that write them and read in any part."""

from __future__ import annotations

import io
import json
import os
import random
import struct
import subprocess
import sys
import time
import tracemalloc
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.files import token_files, token_json
from inspector.files.token_files import open_ids
from inspector.trouble import FileTrouble, Trouble

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GPT2 = 50257
IDS = [40, 367, 2885, 1464, 1807, 3619, 402, 271, 10899, 2138, 257, 7026, 15632, 438, 2016, 50256, 0, 1]


def raw(path: Path, ids: Any, dtype: str) -> Path:
    np.asarray(ids).astype(dtype).tofile(path)
    return path


def trouble(path: Path, **stated: Any) -> FileTrouble:
    with pytest.raises(FileTrouble) as caught:
        list(open_ids(path, **stated))
    found = caught.value
    assert found.path == str(path)
    assert found.reason
    assert found.help
    return found


# ---- formats -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
def test_a_file_without_a_header(tmp_path: Path, dtype: str) -> None:
    ids = open_ids(raw(tmp_path / "train.bin", IDS, dtype), n_vocab=GPT2)
    assert list(ids) == IDS
    assert (ids.dtype, ids.format, ids.shape, ids.whole) == (dtype, f"token IDs, {dtype}", (len(IDS),), True)
    assert ids.suspicion is None
    ids.close()


NPY = ["bool", "u1", "i1", "<u2", ">u2", "<i2", "<u4", ">i4", "<i8", ">u8", "<f2", ">f4", "<f8"]


@pytest.mark.parametrize("dtype", NPY)
@pytest.mark.parametrize("shape", [(), (24,), (4, 6), (2, 3, 4)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_every_dtype_shape_and_order(tmp_path: Path, dtype: str, shape: tuple[int, ...], order: str) -> None:
    count = int(np.prod(shape))
    array = np.asarray(np.arange(count).reshape(shape) % 100, dtype=dtype, order=order)  # type: ignore[call-overload]
    np.save(tmp_path / "ids.npy", array)
    ids = open_ids(tmp_path / "ids.npy")
    assert ids.shape == shape
    assert ids.dtype == array.dtype.name
    assert ids.whole == (array.dtype.kind != "f")
    expected = array.flatten().tolist()
    assert list(ids) == expected
    assert ids[count // 3 : count // 2] == expected[count // 3 : count // 2]
    assert [type(v) for v in ids] == [type(v) for v in expected]


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_each_version_of_the_array_format(tmp_path: Path, version: tuple[int, int]) -> None:
    with open(tmp_path / "ids.npy", "wb") as file:
        np.lib.format.write_array(file, np.array(IDS), version=version)
    assert list(open_ids(tmp_path / "ids.npy")) == IDS


@pytest.mark.filterwarnings("ignore:.*_use_new_zipfile_serialization.*")
@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "int64", "uint16", "float32", "bool"])
def test_tensors(tmp_path: Path, dtype: str, *, legacy: bool) -> None:
    tensor = (torch.arange(24) % 100).reshape(4, 6).to(getattr(torch, dtype))
    for name, saved in {"all": tensor, "part": tensor[1:3, 2:], "turned": tensor.T}.items():
        path = tmp_path / f"{name}.pt"
        torch.save(saved, path, _use_new_zipfile_serialization=not legacy)
        ids = open_ids(path)
        assert (ids.shape, ids.dtype) == (tuple(saved.shape), dtype)
        assert list(ids) == saved.flatten().tolist()


def test_tensors_and_lists_under_a_name(tmp_path: Path) -> None:
    for n, saved in enumerate([{"input_ids": torch.tensor([IDS])}, {"ids": IDS}, IDS, [IDS, IDS]]):
        torch.save(saved, tmp_path / f"{n}.pt")
    found = [list(open_ids(tmp_path / f"{n}.pt")) for n in range(4)]
    assert found == [IDS, IDS, IDS, IDS + IDS]


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        (IDS, (18,)),
        ([IDS, IDS], (2, 18)),
        ([[[1, 2]], [[3, 4]]], (2, 1, 2)),
        ([[1, 2], [3]], (3,)),
        ([], (0,)),
        ([[], []], (2, 0)),
        ({"input_ids": IDS}, (18,)),
        ({"text": "…", "token_ids": [IDS]}, (1, 18)),
        ({"ids": IDS}, (18,)),
    ],
)
def test_json(tmp_path: Path, value: Any, shape: tuple[int, ...]) -> None:
    (tmp_path / "ids.json").write_text(json.dumps(value))
    ids = open_ids(tmp_path / "ids.json")
    assert (ids.shape, ids.dtype, ids.whole) == (shape, "int64", True)
    flat = json.dumps(next(v for v in value.values() if v != "…") if isinstance(value, dict) else value)
    assert list(ids) == [int(word) for word in flat.replace("[", " ").replace("]", " ").replace(",", " ").split()]


def test_json_of_numbers_that_are_not_whole(tmp_path: Path) -> None:
    (tmp_path / "ids.json").write_text("[1, 2.5, 3]")
    ids = open_ids(tmp_path / "ids.json")
    assert (list(ids), ids.dtype, ids.whole) == ([1.0, 2.5, 3.0], "float32", False)


def test_json_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_json, "_PIECE", 7)
    samples = [IDS, {"text": "a\nb", "input_ids": [5, 6]}, [], [[7], [8]]]
    (tmp_path / "ids.jsonl").write_text("\n\n".join(map(json.dumps, samples)))
    assert list(open_ids(tmp_path / "ids.jsonl")) == [*IDS, 5, 6, 7, 8]
    (tmp_path / "ids.jsonl").write_text("[1]\n[0.5]\n[2]\n")
    assert list(open_ids(tmp_path / "ids.jsonl")) == [1.0, 0.5, 2.0]


@pytest.mark.parametrize(("kind", "version", "dtype"), [(20240520, 1, "uint16"), (20240801, 7, "uint32")])
def test_the_header_of_llmc(tmp_path: Path, kind: int, version: int, dtype: str) -> None:
    path = tmp_path / "train.bin"
    header = np.zeros(256, dtype=np.int32)
    header[:3] = kind, version, len(IDS)
    content = header.tobytes() + np.array(IDS, dtype=dtype).tobytes()
    path.write_bytes(content)
    ids = open_ids(path, n_vocab=GPT2)
    assert (list(ids), ids.dtype, ids.suspicion) == (IDS, dtype, None)
    path.write_bytes(content[:-3])
    assert trouble(path).trouble is Trouble.TRUNCATED
    path.write_bytes(content + b"123")
    assert "3 bytes follow" in str(open_ids(path).suspicion)


def test_content_outranks_the_name(tmp_path: Path) -> None:
    torch.save(torch.tensor(IDS), tmp_path / "ids.bin")
    np.save(tmp_path / "other.npy", np.array(IDS))
    (tmp_path / "other.npy").rename(tmp_path / "other.bin")
    assert list(open_ids(tmp_path / "ids.bin")) == IDS
    assert list(open_ids(tmp_path / "other.bin")) == IDS


def test_any_name_where_the_dtype_is_stated(tmp_path: Path) -> None:
    path = raw(tmp_path / "ids", IDS, "uint32")
    assert trouble(path).trouble is Trouble.NOT_RECOGNISED
    assert list(open_ids(path, dtype="uint32")) == IDS


# ---- the width that a file without a header has ----------------------------------------------------------------------


@pytest.mark.parametrize("n_vocab", [None, GPT2, 65536, 100277, 200019])
@pytest.mark.parametrize("dtype", ["uint16", "uint32", "int64"])
@pytest.mark.parametrize("count", [64, 20_000, 400_000])
def test_the_width_is_found(tmp_path: Path, n_vocab: int | None, dtype: str, count: int) -> None:
    most = min(n_vocab or GPT2, 65536 if dtype == "uint16" else 2**18)
    ids = np.random.default_rng(1).zipf(1.3, count) % most
    found = open_ids(raw(tmp_path / "train.bin", ids, dtype), n_vocab=n_vocab)
    assert found.dtype == dtype
    assert list(found) == ids.tolist()
    assert f"{count:,} IDs" in found.reason
    assert (found.suspicion is None) == (dtype != "uint16" or (n_vocab or 0) <= 65536)


@pytest.mark.parametrize("n_vocab", [None, 4, 10])
def test_small_vocabularies_in_uint16(tmp_path: Path, n_vocab: int | None) -> None:
    ids = np.random.default_rng(1).integers(0, n_vocab or 4, 4096)
    assert open_ids(raw(tmp_path / "dna.bin", ids, "uint16"), n_vocab=n_vocab).dtype == "uint16"


def test_zeros_tell_nothing(tmp_path: Path) -> None:
    path = raw(tmp_path / "zeros.bin", [0] * 4096, "uint16")
    assert [open_ids(path, n_vocab=n).dtype for n in (None, GPT2, 100277)] == ["uint16", "uint16", "uint32"]
    assert open_ids(path, n_vocab=GPT2).suspicion is None


@pytest.mark.parametrize(
    ("written", "stated", "n_vocab", "words"),
    [
        ("uint32", "uint16", GPT2, "every second ID is 0: the file likely holds uint32"),
        ("int64", "uint16", GPT2, "every second ID is 0: the file likely holds int64"),
        ("int64", "int32", GPT2, "every second ID is 0: the file likely holds int64"),
        ("uint32", "int16", GPT2, "every second ID is 0: the file likely holds uint32"),
        ("int64", "uint32", GPT2, "every second ID is 0: the file likely holds int64"),
        ("uint16", "uint32", GPT2, "read as uint16 they all fit"),
        ("uint16", "uint32", None, "beyond any vocabulary; read as uint16 they all fit"),
        ("uint16", "int16", GPT2, "int16 ends at 32,767"),
        ("uint16", "int16", None, "is likely 32,768, which int16 cannot hold"),
        ("uint16", "uint16", 100277, "uint16 ends at 65,535 and the vocabulary has 100,277 tokens"),
    ],
)
def test_ids_that_look_wrong_in_the_stated_width(
    tmp_path: Path, written: str, stated: str, n_vocab: int | None, words: str
) -> None:
    ids = np.random.default_rng(1).integers(1, 50_000, 4096)
    ids[7] = 32_768
    path = raw(tmp_path / "train.bin", ids, written)
    found = open_ids(path, dtype=stated, n_vocab=n_vocab)
    assert found.dtype == stated
    assert "stated" in found.reason
    assert words in str(found.suspicion)
    assert list(found) == np.fromfile(path, dtype=stated).tolist()


def test_a_part_of_an_id_at_the_end(tmp_path: Path) -> None:
    path = raw(tmp_path / "train.bin", IDS, "uint16")
    path.write_bytes(path.read_bytes() + b"\x01")
    found = open_ids(path, n_vocab=GPT2)
    assert list(found) == IDS
    assert "37 bytes are no whole number of uint16 IDs" in str(found.suspicion)


@pytest.mark.parametrize(
    ("array", "n_vocab", "words"),
    [
        (np.array([1, -15536], dtype=np.int16), None, "50,000"),
        (np.array([1, -100], dtype=np.int16), None, None),
        (np.array([1, 2**32 - 100], dtype=np.uint32), GPT2, "is -100"),
        (np.array([1, 2**64 - 1], dtype=np.uint64), None, "is -1"),
        (np.array([1, 2], dtype=np.uint16), 100277, "uint16 ends at 65,535"),
        (np.array([1, 2], dtype=np.int64), 100277, None),
    ],
)
def test_arrays_with_ids_that_wrapped_around(
    tmp_path: Path, array: np.ndarray[Any, Any], n_vocab: int | None, words: str | None
) -> None:
    np.save(tmp_path / "ids.npy", array)
    suspicion = open_ids(tmp_path / "ids.npy", n_vocab=n_vocab).suspicion
    assert suspicion is None if words is None else words in str(suspicion)


# ---- as a sequence -------------------------------------------------------------------------------------------------


@given(st.integers(-25, 25) | st.slices(20))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_it_is_indexed_as_a_list_is(tmp_path: Path, index: int | slice) -> None:
    ids = open_ids(raw(tmp_path / "ids.bin", IDS, "uint16"), n_vocab=GPT2)
    try:
        expected: Any = IDS[index]
    except IndexError:
        with pytest.raises(IndexError):
            ids[index]
    else:
        assert ids[index] == expected


def test_a_batch_in_a_huge_file_is_reached_at_once(tmp_path: Path) -> None:
    path, count, batch = tmp_path / "huge.bin", 5 * 2**30, 33
    with open(path, "wb") as file:
        file.truncate(2 * count)
        for start in range(0, count, count // 97):
            file.seek(2 * start)
            file.write(np.arange(1, 1 + batch, dtype="<u2").tobytes())
    starts = list(range(0, count - batch, count // 97))
    tracemalloc.start()
    ids = open_ids(path, n_vocab=GPT2)
    assert len(ids) == count
    assert all(ids[start : start + batch] == list(range(1, 1 + batch)) for start in starts)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 8e6

    def seconds(read: Callable[[int], object]) -> float:
        took = []
        for start in random.sample(starts, 60):
            begun = time.perf_counter()
            read(start)
            took.append(time.perf_counter() - begun)
        return sorted(took)[len(took) // 2]

    with open(path, "rb") as opened:
        bare = seconds(lambda start: os.pread(opened.fileno(), 2 * batch, 2 * start))
    assert seconds(lambda start: ids[start : start + batch]) < 200 * bare


def test_neither_torch_nor_numpy_is_needed(tmp_path: Path) -> None:
    raw(tmp_path / "a.bin", IDS, "uint16")
    np.save(tmp_path / "b.npy", np.array(IDS))
    torch.save(torch.tensor(IDS), tmp_path / "c.pt")
    (tmp_path / "d.json").write_text(json.dumps(IDS))
    (tmp_path / "e.jsonl").write_text(json.dumps(IDS))
    program = (
        "import pathlib, sys\n"
        "from inspector.files.token_files import open_ids\n"
        "print([list(open_ids(path)) for path in sorted(pathlib.Path(sys.argv[1]).iterdir())])\n"
        "print([name for name in ('torch', 'numpy', 'tiktoken', 'PySide6') if name in sys.modules])\n"
    )
    run = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == [str([IDS] * 5), "[]"]


# ---- bad files -----------------------------------------------------------------------------------------------------


def npy(header: str, content: bytes = b"\0" * 64) -> bytes:
    data = header.encode("latin-1")
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(data)) + data + content


def saved(value: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def objects() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array([1, "a"], dtype=object), allow_pickle=True)
    return buffer.getvalue()


class Code:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("exit 7",)


def laughs() -> list[Any]:
    """Return ten thousand million numbers that are few bytes in a file."""
    many: list[Any] = [1] * 10
    for _ in range(9):
        many = [many] * 10
    return many


def itself() -> list[Any]:
    many: list[Any] = []
    many.append(many)
    return many


SHAPE = "{'descr': '<i8', 'fortran_order': False, 'shape': %s}"
BAD: list[tuple[str, bytes, Trouble, str]] = [
    ("a.bin", b"", Trouble.TRUNCATED, "is empty"),
    ("a.bin", b"version https://git-lfs.github.com/spec/v1\n", Trouble.NOT_RECOGNISED, "Git LFS"),
    ("a.bin", b"<!DOCTYPE html><html>", Trouble.NOT_RECOGNISED, "web page"),
    ("a.bin", saved({"wte.weight": torch.ones(3, 2)}), Trouble.NOT_RECOGNISED, "something other than a tensor"),
    ("a.npy", b"\x93NUMPY\x01\x00\x76", Trouble.TRUNCATED, "header"),
    ("a.npy", b"123456789012", Trouble.NOT_RECOGNISED, "is not a NumPy array"),
    ("a.npy", npy(SHAPE % "(9,)"), Trouble.TRUNCATED, "8 are missing"),
    ("a.npy", npy(SHAPE % "(99999999999, 99999999999)"), Trouble.NOT_RECOGNISED, "more than a file can hold"),
    ("a.npy", npy(SHAPE % "(-1,)"), Trouble.NOT_RECOGNISED, "shape is (-1,)"),
    ("a.npy", npy(SHAPE % "(True,)"), Trouble.NOT_RECOGNISED, "shape is (True,)"),
    ("a.npy", npy("{'descr': '<i8'"), Trouble.NOT_RECOGNISED, "its header is not one"),
    ("a.npy", npy("__import__('os').system('exit 7')"), Trouble.NOT_RECOGNISED, "its header is not one"),
    ("a.npy", npy("(" * 9000), Trouble.NOT_RECOGNISED, "its header is not one"),
    ("a.npy", npy("[1]"), Trouble.NOT_RECOGNISED, "its header is not one"),
    ("a.npy", npy((SHAPE % "(1,)").replace("<i8", "<c8")), Trouble.NOT_RECOGNISED, "no token IDs"),
    ("a.npy", npy((SHAPE % "(1,)").replace("'<i8'", "[('a', '<i8')]")), Trouble.NOT_RECOGNISED, "records"),
    ("a.npy", npy((SHAPE % "(1,)").replace("<i8", "")), Trouble.NOT_RECOGNISED, "its dtype is ''"),
    ("a.npy", b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + b"\0" * 99, Trouble.NOT_RECOGNISED, "4,294,967,295"),
    ("a.npy", objects(), Trouble.PICKLE_REFUSED, "Python objects"),
    ("a.pt", b"nothing of the kind", Trouble.NOT_RECOGNISED, "torch.save"),
    ("a.pt", saved(torch.tensor(IDS))[:-40], Trouble.TRUNCATED, ""),
    ("a.pt", saved(torch.tensor(IDS)).replace(b"K\x12\x85", b"K\x13\x85"), Trouble.TRUNCATED, "8 are missing"),
    ("a.pt", saved(Code()), Trouble.PICKLE_REFUSED, "runs code"),
    ("a.pt", saved(torch.ones(3, dtype=torch.bfloat16)), Trouble.NOT_RECOGNISED, "tensor of bfloat16"),
    ("a.pt", saved("text"), Trouble.NOT_RECOGNISED, "something other than a tensor"),
    ("a.pt", saved(laughs()), Trouble.NOT_RECOGNISED, "nested too deeply"),
    ("a.pt", saved(itself()), Trouble.NOT_RECOGNISED, "nested too deeply"),
    ("a.json", b"[1, 2", Trouble.NOT_RECOGNISED, "is not JSON"),
    ("a.json", b"[" * 99999, Trouble.NOT_RECOGNISED, "nested too deeply"),
    ("a.json", b"[1" + b"0" * 5000 + b"]", Trouble.NOT_RECOGNISED, "digits"),
    ("a.json", b"\xff\xfe\xff", Trouble.NOT_RECOGNISED, "is not JSON"),
    ("a.json", b"[9223372036854775808]", Trouble.NOT_RECOGNISED, "int64 cannot hold"),
    ("a.json", b'["a"]', Trouble.NOT_RECOGNISED, "holds 'a' where it should hold a token ID"),
    ("a.json", b"[1, true]", Trouble.NOT_RECOGNISED, "holds True"),
    ("a.json", b"[1, [2]]", Trouble.NOT_RECOGNISED, "holds [2]"),
    ("a.json", b'{"text": "a"}', Trouble.NOT_RECOGNISED, "without input_ids, token_ids, ids"),
    ("a.json", b"7", Trouble.NOT_RECOGNISED, "it is 7"),
    ("a.jsonl", b"[1]\n[2\n", Trouble.NOT_RECOGNISED, "line 2 has"),
    ("a.csv", b"1,2,3", Trouble.NOT_RECOGNISED, "none of the formats"),
]


@pytest.mark.parametrize(("name", "content", "kind", "words"), BAD)
def test_bad_files(tmp_path: Path, name: str, content: bytes, kind: Trouble, words: str) -> None:
    (tmp_path / name).write_bytes(content)
    found = trouble(tmp_path / name)
    assert found.trouble is kind
    assert words in found.reason


def test_a_dtype_that_is_none(tmp_path: Path) -> None:
    assert "'uint17'" in trouble(raw(tmp_path / "a.bin", IDS, "uint16"), dtype="uint17").reason


def test_a_stated_dtype_that_the_file_contradicts(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array(IDS))
    found = open_ids(tmp_path / "a.npy", dtype="uint16")
    assert (found.dtype, found.suspicion) == ("int64", "uint16 was stated, and the file says int64")


@pytest.mark.parametrize(("name", "limit"), [("a.json", "MOST_JSON"), ("a.jsonl", "MOST_LINES")])
def test_json_that_would_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, limit: str
) -> None:
    monkeypatch.setattr(token_json, limit, 100)
    (tmp_path / name).write_text(json.dumps([1] * 100))
    assert "no more than 100 are held in memory" in trouble(tmp_path / name).reason


def test_places_that_hold_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.bin")
    for name in ("absent.bin", ".", "pipe.bin"):
        assert trouble(tmp_path / name).trouble is Trouble.UNREADABLE


@pytest.mark.parametrize("change", ["cut", "taken away", "replaced"])
def test_a_file_that_does_not_stay(tmp_path: Path, change: str) -> None:
    path = raw(tmp_path / "ids.bin", IDS, "uint16")
    ids = open_ids(path, n_vocab=GPT2)
    assert ids[:3] == IDS[:3]
    if change == "cut":
        os.truncate(path, 8)
    elif change == "taken away":
        path.unlink()
    else:
        raw(tmp_path / "other.bin", IDS[::-1], "uint16").replace(path)
    with pytest.raises(FileTrouble):
        ids[:3]


def test_every_suffix_has_a_format() -> None:
    assert token_files.ID_SUFFIXES == (".npy", ".pt", ".pth", ".bin", ".jsonl", ".ndjson", ".json")


# ---- files changed at random ---------------------------------------------------------------------------------------


def seeds(folder: Path) -> dict[str, bytes]:
    np.save(folder / "a.npy", np.array(IDS, dtype=np.uint16).reshape(3, 6, order="F"))
    header = np.zeros(256, dtype=np.int32)
    header[:3] = 20240520, 1, len(IDS)
    return {
        "a.npy": (folder / "a.npy").read_bytes(),
        "b.pt": saved(torch.tensor(IDS).reshape(3, 6).T),
        "c.bin": header.tobytes() + np.array(IDS, dtype="<u2").tobytes(),
        "d.json": json.dumps({"input_ids": [IDS, IDS]}).encode(),
        "e.jsonl": b"\n".join(json.dumps({"ids": IDS}).encode() for _ in range(3)),
    }


CHANGES = st.tuples(
    st.sampled_from(["set", "cut", "insert", "end"]),
    st.one_of(st.floats(0, 0.1), st.floats(0, 1), st.floats(0.85, 1)),
    st.binary(min_size=1, max_size=12),
)


@pytest.mark.parametrize("name", ["a.npy", "b.pt", "c.bin", "d.json", "e.jsonl"])
def test_files_changed_at_random_are_read_or_are_trouble(tmp_path: Path, name: str) -> None:
    seed, path = seeds(tmp_path)[name], tmp_path / f"changed{name}"

    @settings(max_examples=600, suppress_health_check=list(HealthCheck))
    @given(st.lists(CHANGES, min_size=1, max_size=3), st.sampled_from([None, 1, GPT2, 10**6]))
    def change_and_read(changes: list[tuple[str, float, bytes]], n_vocab: int | None) -> None:
        content = bytearray(seed)
        for kind, place, piece in changes:
            at = int(place * len(content))
            if kind == "end":
                del content[at:]
            else:
                content[at : at + {"set": len(piece), "cut": len(piece), "insert": 0}[kind]] = (
                    b"" if kind == "cut" else piece
                )
        path.write_bytes(content)
        with suppress(FileTrouble):
            ids = open_ids(path, n_vocab=n_vocab)
            values = ids[:1000]
            assert len(values) == min(1000, len(ids))
            assert all(isinstance(v, int if ids.whole else float) for v in values)

    change_and_read()
