"""Real files, changed at random by the thousand: they open, or there is trouble that can be told, and soon."""

from __future__ import annotations

import io
import itertools
import json
import pickletools
import struct
import time
import zipfile
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector.files import FileTrouble, open_checkpoint
from inspector.files.plain_table import two_axes
from inspector.files.tensors import Opened
from tests.files import samples

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EXAMPLES = 400
SECONDS = 5.0
BYTES = 300e6


def seeds(folder: Path) -> dict[str, bytes]:
    return {
        "safetensors": samples.safetensors(folder / "a").read_bytes(),
        "zip": samples.pytorch(folder / "b", {"model": samples.state_dict(), "model_args": {"n": 1}}).read_bytes(),
        "legacy": samples.pytorch(folder / "c", {"model": samples.state_dict()}, legacy=True).read_bytes(),
        "gguf": samples.gguf_file(folder / "d").read_bytes(),
        "index": json.dumps({"weight_map": {"a": "x.safetensors"}}).encode(),
    }


@st.composite
def mutations(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """Return a change of bytes: some of them set, a piece cut out, doubled, moved or put in, the end cut off."""
    # Most of what can break lies near either end: headers, and a zip archive's table of contents.
    places = st.one_of(st.floats(0, 0.1), st.floats(0.85, 1), st.floats(0, 1))
    kind = draw(st.sampled_from(["set", "set", "cut", "double", "insert", "number", "end"]))
    spots = draw(st.lists(st.tuples(places, st.integers(0, 255)), min_size=1, max_size=6))
    length = draw(st.integers(1, 40))
    number = draw(st.sampled_from([0, 1, 2**7, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**63, 2**64 - 1]))
    piece = draw(st.binary(min_size=1, max_size=40))

    def mutated(content: bytes) -> bytes:
        changed = bytearray(content)
        at = int(spots[0][0] * max(0, len(changed) - 1))
        if kind == "set":
            for place, value in spots:
                changed[int(place * (len(changed) - 1))] = value
        elif kind == "cut":
            del changed[at : at + length]
        elif kind == "double":
            changed[at:at] = changed[at : at + length]
        elif kind == "insert":
            changed[at:at] = piece
        elif kind == "number":
            changed[at : at + 8] = struct.pack("<Q", number)
        else:
            del changed[at:]
        return bytes(changed)

    return mutated


def require_orderly(path: Path) -> Opened | None:
    """Require that a file opens and gives rows, or that there is trouble, within time and memory."""
    process = psutil.Process()
    before, start = process.memory_info().rss, time.perf_counter()
    opened = None
    try:
        opened = open_checkpoint(path)
        for name, info in opened.file.tensors.items():
            try:
                height, width = two_axes(info)
            except ValueError:
                continue
            if height and width < 2**20:
                assert opened.file.rows(name, [0, height - 1]).shape == (2, width)
            if width and height < 2**12:
                assert opened.file.columns(name, [width - 1]).shape == (1, height)
    except FileTrouble as error:
        samples.require_plain_words(error)
    assert time.perf_counter() - start < SECONDS
    assert process.memory_info().rss - before < BYTES
    return opened


@pytest.mark.parametrize("seed", ["safetensors", "zip", "legacy", "gguf", "index"])
def test_mutated_files(tmp_path: Path, seed: str) -> None:
    contents = seeds(tmp_path)
    folder = tmp_path / "mutated"
    folder.mkdir()
    path = folder / "model"

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(st.lists(mutations(), min_size=1, max_size=3))
    def mutate(changes: list[Callable[[bytes], bytes]]) -> None:
        content = contents[seed]
        for change in changes:
            content = change(content) or b"x"
        path.write_bytes(content)
        require_orderly(path)

    mutate()


def test_spliced_files(tmp_path: Path) -> None:
    contents = seeds(tmp_path)
    folder = tmp_path / "mutated"
    folder.mkdir()
    path = folder / "model"

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(sorted(contents)), st.sampled_from(sorted(contents)), st.floats(0, 1), st.floats(0, 1))
    def splice(first: str, second: str, end: float, begin: float) -> None:
        head, tail = contents[first], contents[second]
        path.write_bytes(head[: int(end * len(head))] + tail[int(begin * len(tail)) :] or b"x")
        require_orderly(path)

    splice()


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["F32", "U32", "BOOL", "F4", 16, 64, 0, 2**31, 2**62]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=6,
)


def test_mutated_headers_of_safetensors(tmp_path: Path) -> None:
    content = samples.safetensors(tmp_path / "seed").read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    header = content[8 : 8 + length]
    path = tmp_path / "model.safetensors"
    opened = 0

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def mutate(data: st.DataObject) -> None:
        nonlocal opened
        changed: dict[str, Any] = json.loads(header)
        name = data.draw(st.sampled_from(sorted(changed)))
        key = data.draw(st.sampled_from(["dtype", "shape", "data_offsets", None, "name"]))
        if key is None:
            changed[name] = data.draw(VALUES)
        elif key == "name":
            changed[data.draw(st.text())] = changed.pop(name)
        elif isinstance(changed[name].get(key), list) and data.draw(st.booleans()):
            changed[name][key][data.draw(st.integers(0, len(changed[name][key]) - 1))] = data.draw(VALUES)
        else:
            changed[name][key] = data.draw(VALUES)
        samples.with_header(path, changed, content[8 + length :])
        opened += require_orderly(path) is not None

    mutate()
    assert opened


def test_random_programs_of_pickles(tmp_path: Path) -> None:
    """Instructions in any order, which bytes changed at random seldom are."""
    seed = samples.pytorch(tmp_path / "seed")
    with zipfile.ZipFile(io.BytesIO(seed.read_bytes())) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    program = next(data for name, data in members.items() if name.endswith("data.pkl"))
    ends = [place for _, _, place in pickletools.genops(program)] + [len(program)]
    pieces = [program[a:b] for a, b in itertools.pairwise(ends)]
    pieces += [b"]", b"}", b")", b"(", b"0", b"2", b"1", b"\x85", b"\x86", b"\x87", b"R", b"b", b"Q", b"a", b"e", b"t"]
    pieces += [b"J\xff\xff\xff\x7f", b"\x8a\x08" + b"\xff" * 7 + b"\x7f", b"K\x00", b"\x8f", b"\x94", b"\x93", b"h\x00"]
    path = tmp_path / "model.pt"

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(
        st.lists(
            st.tuples(st.integers(0, len(pieces)), st.integers(0, 2), st.lists(st.sampled_from(pieces), max_size=4)),
            min_size=1,
            max_size=5,
        )
    )
    def mutate(changes: list[tuple[int, int, list[bytes]]]) -> None:
        changed = pieces[: len(ends) - 1]
        for place, removed, inserted in changes:
            changed[place : place + removed] = inserted
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in members.items():
                archive.writestr(name, b"".join(changed) if name.endswith("data.pkl") else data)
        require_orderly(path)

    mutate()
