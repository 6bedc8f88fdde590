"""Files that are none, files that may not be read, and files that change under the hand."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import inspector
from inspector.files import SUFFIXES, FileTrouble, Trouble, dialog_filter, open_checkpoint
from inspector.files.formats import FORMATS
from tests.files import samples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WRITERS: dict[str, Callable[[Path], Path]] = {
    "safetensors": samples.safetensors,
    "zip": samples.pytorch,
    "legacy": lambda path: samples.pytorch(path, legacy=True),
    "gguf": samples.gguf_file,
}
TABLES = {"gguf": "token_embd.weight"}


@pytest.mark.parametrize("name", ["model.safetensors", "ckpt.pt", "model.gguf", "model.safetensors.index.json", "x"])
def test_an_empty_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    assert samples.trouble(tmp_path / name, "is empty").trouble is Trouble.TRUNCATED


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".txt", ""])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", "Git LFS"),
        (b"<!DOCTYPE html><html></html>", "web page"),
        (b"<html><body>404</body></html>", "web page"),
        (b"\x93NUMPY\x01\x00v\x00{'descr'", "NumPy"),
        (bytes(5000), "nothing but zeros"),
        (b"once upon a time", ""),
        (b"\x80", ""),
        (b"\x80\x02", ""),
        (b"PK\x03\x04", ""),
    ],
)
def test_what_is_no_checkpoint_is_named_whatever_its_suffix(
    tmp_path: Path, suffix: str, content: bytes, words: str
) -> None:
    path = tmp_path / f"file{suffix}"
    path.write_bytes(content)
    assert samples.trouble(path, words).trouble in (Trouble.NOT_RECOGNISED, Trouble.TRUNCATED)


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("suffix", [*SUFFIXES, ".txt", ""])
def test_content_comes_before_the_name(tmp_path: Path, writer: str, suffix: str) -> None:
    path = WRITERS[writer](tmp_path / f"file{suffix}")
    assert TABLES.get(writer, "wte.weight") in open_checkpoint(path).file.tensors


def test_paths_that_lead_to_no_file(tmp_path: Path) -> None:
    loop = tmp_path / "loop.pt"
    loop.symlink_to(loop)
    dangling = tmp_path / "dangling.pt"
    dangling.symlink_to(tmp_path / "nowhere")
    file = tmp_path / "file"
    file.touch()
    for path, words in [
        (tmp_path / "none.pt", "is not there"),
        (dangling, "is not there"),
        (loop, "cannot be read"),
        (file / "inside.pt", "cannot be read"),
        (tmp_path / ("x" * 5000), "cannot be read"),
        (tmp_path / "nul\0.pt", "its name is not one of a file"),
        (Path("/dev/null"), "is a device"),
        (Path("/dev/zero"), "is a device"),
    ]:
        assert samples.trouble(path, words).trouble is Trouble.UNREADABLE


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "model.pt")
    start = time.perf_counter()
    samples.trouble(tmp_path / "model.pt", "is a pipe")
    assert time.perf_counter() - start < 1


def test_a_pipe_in_the_place_of_what_lies_beside(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.json")
    os.mkfifo(tmp_path / "tokenizer.json")
    opened = open_checkpoint(samples.safetensors(tmp_path / "model.safetensors"))
    assert (opened.config, opened.tokenizer, opened.notes) == ({}, None, ())


@pytest.fixture
def _no_privileges() -> Iterator[None]:
    """Drop what a superuser may read beyond others."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    yield
    os.seteuid(0)


@pytest.mark.usefixtures("_no_privileges")
def test_without_permission() -> None:
    # Not in tmp_path, which belongs to whoever runs the tests.
    folder = Path(tempfile.gettempdir()) / f"embedding-inspector-{os.getpid()}"
    folder.mkdir()
    path = folder / "model.safetensors"
    try:
        path.write_bytes(b"x")
        path.chmod(0)
        assert samples.trouble(path, "may not be read").trouble is Trouble.UNREADABLE
        folder.chmod(0)
        assert samples.trouble(folder, "may not be read").trouble is Trouble.UNREADABLE
        assert samples.trouble(path, "may not be read").trouble is Trouble.UNREADABLE
    finally:
        folder.chmod(0o700)
        path.unlink()
        folder.rmdir()


# ---- changed since it was opened -----------------------------------------------------------------------------------


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def grown(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more")


def overwritten(path: Path) -> None:
    content = path.read_bytes()
    time.sleep(0.01)
    path.write_bytes(content)


def replaced(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    os.utime(other, ns=(path.stat().st_mtime_ns,) * 2)
    other.replace(path)


def deleted(path: Path) -> None:
    path.unlink()


def became_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def became_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize(
    "change", [cut, emptied, grown, overwritten, replaced, deleted, became_a_folder, became_a_pipe]
)
def test_a_file_that_changed_since_it_was_opened(tmp_path: Path, writer: str, change: Callable[[Path], None]) -> None:
    path = WRITERS[writer](tmp_path / "model")
    file = open_checkpoint(path).file
    name = TABLES.get(writer, "wte.weight")
    file.rows(name, [0])
    change(path)
    for read in (file.rows, file.columns):
        with pytest.raises(FileTrouble) as caught:
            read(name, [1])
        samples.require_plain_words(caught.value)
        expected = Trouble.TRUNCATED if change in (cut, emptied) else Trouble.UNREADABLE
        assert caught.value.trouble is expected


@pytest.mark.parametrize("writer", WRITERS)
def test_a_file_that_is_cut_again_and_again_during_reading(tmp_path: Path, writer: str) -> None:
    path = WRITERS[writer](tmp_path / "model")
    name = TABLES.get(writer, "wte.weight")
    whole = path.read_bytes()
    stop = threading.Event()

    def disturb() -> None:
        while not stop.is_set():
            os.truncate(path, len(whole) // 3)
            path.write_bytes(whole)

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        for _ in range(300):
            try:
                file = open_checkpoint(path).file
                file.rows(name, range(20))
                file.columns(name, [0, 9])
            except FileTrouble as error:
                samples.require_plain_words(error)
    finally:
        stop.set()
        thread.join()


def test_rows_that_do_not_fit_in_memory(tmp_path: Path) -> None:
    width = 2**40
    header = {"wte": {"dtype": "F32", "shape": [1, width], "data_offsets": [0, 4 * width]}}
    path = samples.with_header(tmp_path / "model.safetensors", header)
    os.truncate(path, path.stat().st_size + 4 * width)
    file = open_checkpoint(path).file
    with pytest.raises(FileTrouble, match="too long for this machine"):
        file.rows("wte", [0])
    assert file.columns("wte", [width - 1]).tolist() == [[0.0]]


# ---- the registry --------------------------------------------------------------------------------------------------


def test_the_dialog_offers_every_format() -> None:
    filters = dialog_filter().split(";;")
    assert len(filters) == len(FORMATS) + 2
    for suffix in SUFFIXES:
        assert f"*{suffix}" in filters[0]
    assert {".safetensors", ".pt", ".pth", ".bin", ".ckpt", ".gguf", ".index.json"} == set(SUFFIXES)
    assert filters[-1] == "All files (*)"


@pytest.mark.parametrize("writer", ["safetensors", "zip", "legacy"])
def test_opening_takes_neither_torch_nor_numpy(tmp_path: Path, writer: str) -> None:
    path = WRITERS[writer](tmp_path / "model")
    code = (
        "import sys, pathlib; from inspector.files import open_checkpoint\n"
        f"assert open_checkpoint(pathlib.Path({str(path)!r})).file.tensors\n"
        "assert not {'torch', 'numpy', 'safetensors', 'gguf'} & sys.modules.keys()"
    )
    root = str(Path(inspector.__file__).parents[1])
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": root})
