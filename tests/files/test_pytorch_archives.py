"""Archives of torch.save that are damaged, hostile or huge."""

from __future__ import annotations

import io
import os
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
import torch

from inspector.files import Trouble, open_checkpoint
from tests.files import samples

if TYPE_CHECKING:
    from pathlib import Path

FORMATS = pytest.mark.parametrize("legacy", [False, True], ids=["zip", "legacy"])


def rewritten(path: Path, change: Any, compression: int = zipfile.ZIP_STORED) -> Path:
    """Write the members of a checkpoint anew: `change` maps a name and bytes to bytes, or to None to leave it out."""
    old = zipfile.ZipFile(io.BytesIO(path.read_bytes()))
    with zipfile.ZipFile(path, "w", compression) as new:
        for name in old.namelist():
            data = change(name, old.read(name))
            if data is not None:
                new.writestr(name, data)
    return path


def test_an_archive_written_by_another_hand_is_read_all_the_same(tmp_path: Path) -> None:
    path = rewritten(samples.pytorch(tmp_path / "model.pt"), lambda name, data: data)
    assert samples.equal(open_checkpoint(path).file.rows("wte.weight", samples.SOME), samples.table()[samples.SOME])


def test_a_zip_bomb_is_not_unpacked(tmp_path: Path) -> None:
    def bomb(name: str, data: bytes) -> bytes:
        return bytes(2**26) if name.endswith("data/0") else data

    path = rewritten(samples.pytorch(tmp_path / "model.pt"), bomb, zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 10**6
    grown, error = samples.growth(lambda: samples.trouble(path, "compressed"))
    assert error.trouble is Trouble.NOT_RECOGNISED
    assert grown < 50e6


@pytest.mark.parametrize(
    ("member", "replacement", "words"),
    [
        ("data.pkl", None, "without the data.pkl"),
        ("data.pkl", b"", "damaged pickle"),
        ("data.pkl", b"\x80\x02}q\x00.more", "no tensor of two axes"),
        ("data.pkl", b"\x80\x02" + b"(" * 1000, "damaged pickle"),
        ("data/0", b"short", "does not lie within its storage"),
        ("data/0", None, "does not lie within its storage"),
        ("byteorder", b"big", "big-endian"),
    ],
)
def test_an_archive_with_a_wrong_member(tmp_path: Path, member: str, replacement: bytes | None, words: str) -> None:
    path = samples.pytorch(tmp_path / "model.pt")
    rewritten(path, lambda name, data: replacement if name.endswith(member) else data)
    assert samples.trouble(path, words).trouble is Trouble.NOT_RECOGNISED


def test_a_torchscript_program_is_named(tmp_path: Path) -> None:
    path = samples.pytorch(tmp_path / "model.pt")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("model/constants.pkl", b"")
    samples.trouble(path, "TorchScript")


def test_a_table_of_contents_longer_than_any_is_not_read(tmp_path: Path) -> None:
    path = samples.pytorch(tmp_path / "model.pt")
    content = bytearray(path.read_bytes())
    end = content.rfind(b"PK\x05\x06")
    content[end + 12 : end + 16] = (2**26).to_bytes(4, "little")
    with path.open("wb") as file:
        file.truncate(2**27)
        file.seek(0)
        file.write(content[:end])
        file.seek(2**27)
        file.write(content[end:])
    grown, error = samples.growth(lambda: samples.trouble(path, "its table of contents would have 67,108,864 bytes"))
    assert error.trouble is Trouble.NOT_RECOGNISED
    assert grown < 50e6


@FORMATS
def test_wherever_it_is_cut_nothing_but_trouble_comes_of_it(tmp_path: Path, legacy: bool) -> None:
    whole = samples.pytorch(tmp_path / "whole.pt", legacy=legacy).read_bytes()
    path = tmp_path / "model.pt"
    for size in range(4, len(whole), 97):
        path.write_bytes(whole[:size])
        error = samples.trouble(path)
        assert error.trouble is Trouble.TRUNCATED or legacy
    path.write_bytes(whole[:-3])
    assert samples.trouble(path).trouble is Trouble.TRUNCATED


def test_one_mapping_in_a_million_places_takes_no_time(tmp_path: Path) -> None:
    inner: dict[str, Any] = {f"k{i}": i for i in range(300)}
    for _ in range(4):
        inner = {f"k{i}": inner for i in range(300)}
    samples.trouble(samples.pytorch(tmp_path / "model.pt", inner), "no tensor of two axes")


def test_a_pickle_as_deep_as_it_is_long(tmp_path: Path) -> None:
    path = samples.pytorch(tmp_path / "model.pt")
    deep = b"\x80\x02}" + b"X\x01\x00\x00\x00k" + b")" + b"\x85" * 200_000
    for end in (b"s.", b"Ns.", b"\x85h\x00.", b"h\x01s."):
        rewritten(path, lambda name, data, end=end: deep + end if name.endswith("data.pkl") else data)
        samples.trouble(path)
    as_key = b"\x80\x02}" + b")" + b"\x85" * 200_000 + b"Ns."
    rewritten(path, lambda name, data: as_key if name.endswith("data.pkl") else data)
    samples.trouble(path, "no tensor of two axes")


def test_instructions_without_end_are_given_up(tmp_path: Path) -> None:
    path = samples.pytorch(tmp_path / "model.pt")
    rewritten(path, lambda name, data: b"\x80\x02" + b"N0" * 1_000_000 + b"N." if name.endswith("data.pkl") else data)
    samples.trouble(path, "millions of instructions")


def test_a_file_of_20_gb_opens_from_its_pickle(tmp_path: Path) -> None:
    rows, width = 2_000_000, 2560
    path = tmp_path / "model.pt"
    # A legacy file can be stretched: its last storage is at its end, and says how many values it has.
    samples.pytorch(path, {"wte": torch.zeros(1, width)}, legacy=True)
    content = path.read_bytes()
    start = len(content) - width * 4 - 8
    number = b"M\x00\n"  # 2,560 as a pickle writes it
    program = content[:start]
    assert program.count(number) == 3  # values of the storage, width, and stride from row to row
    program = program.replace(number, b"\x8a\x05" + (rows * width).to_bytes(5, "little"), 1)
    program = program.replace(b"K\x01" + number, b"J" + rows.to_bytes(4, "little") + number, 1)
    path.write_bytes(program + (rows * width).to_bytes(8, "little"))
    os.truncate(path, len(program) + 8 + rows * width * 4)
    file = open_checkpoint(path).file
    assert file.tensors["wte"].shape == (rows, width)
    file.rows("wte", [0])
    grown, found = samples.growth(lambda: file.rows("wte", [rows - 1]))
    assert samples.equal(found, torch.zeros(1, width))
    assert grown < 20e6
