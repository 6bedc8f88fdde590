"""The measurements of large files, made in a temporary folder; what is not read of them is not written either."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from bench_parts.measure import FRAME_MS, Figure, in_blocks, quantile
from bench_parts.texts import prose

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bench_parts.children import Children
    from bench_parts.measure import Effort

MB, GB = 10**6, 10**9
SMALL, LARGE, IDS, TEXT = 100 * MB, 20 * GB, 10 * GB, 32 * MB
WIDTH, POSITIONS = 512, 1024
BLOCKS = 12, 48  # of GPT-2, and of the largest GPT-2
CELLS = 8 * 4  # of the batch that the window shows at first; its windows do not overlap
VOCABULARY_SIZE = 50257
INSTANT_MS = 100.0


def checkpoint(children: Children, effort: Effort) -> Iterator[Figure]:
    """Opening a checkpoint to the first row that is painted, and what memory it takes."""
    small, large = (int(size * effort.files) for size in (SMALL, LARGE))
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder, "small.safetensors"), Path(folder, "large.safetensors")
        write_checkpoint(paths[0], small, small + small // 10, BLOCKS[0])
        write_checkpoint(paths[1], small, large, BLOCKS[1])
        with children.open("program.py", "checkpoint", *paths) as ours:
            before = ours.hear()
            with children.open("bare.py", "checkpoint", before["width"], before["height"], *paths) as bare:
                bare.hear()
                first = [ours.ask(), bare.ask()][0]
                pairs = [(ours.ask(), bare.ask()) for _ in range(effort.openings)]
    ours_ms = [1e3 * median(a["took"][i] for a, _ in pairs) for i in (0, 1)]
    bare_ms = [1e3 * median(b["took"][i] for _, b in pairs) for i in (0, 1)]
    note = f"bare: {size(small)} in the same window; {2 * len(pairs)} openings"
    yield Figure(f"open to first row painted, {size(large)}", ours_ms[1], ours_ms[0], 1.5, of_ratio=True, note=note)
    note = "bare: safe_open, get_slice, three curves"
    for name, a, b in zip((size(small), size(large)), ours_ms, bare_ms, strict=True):
        yield Figure(f"open to first row painted, {name}", a, b, None, note=note)
    grown = [(after["rss"] - before["rss"]) / MB for after in (first, *(a for a, _ in pairs))]
    note = f"{grown[0]:.1f} MB after the first openings, {grown[-1]:.1f} MB after the last"
    yield Figure(f"memory growth with {size(large)} open (RSS)", max(grown), None, 20, unit="MB", note=note)


def tokens(children: Children, effort: Effort) -> Iterator[Figure]:
    """A jump to any batch of a file of IDs."""
    length = int(IDS * effort.files)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tokens.bin")
        batches = write_ids(path, length, effort.clicks * (effort.blocks + effort.warm))
        chosen = Path(folder, "batches.json")
        chosen.write_text(json.dumps(batches), encoding="utf-8")
        arguments = path, chosen, effort.clicks
        with children.open("program.py", "tokens", *arguments) as ours:
            shown = ours.hear()
            with children.open("bare.py", "tokens", shown["width"], shown["height"], *arguments) as bare:
                bare.hear()
                jumps, curves = in_blocks(effort, lambda: ours.ask()["took"], lambda: bare.ask()["took"])
                alone = bare.ask()["pread"]
    note = f"bare: pread, three curves; pread alone {1e3 * alone:.3f} ms"
    yield Figure(f"jump to a batch in {size(length)}, median", median(jumps), median(curves), FRAME_MS, note=note)
    yield Figure(
        f"jump, 99th percentile of {len(jumps)}, in {size(length)}",
        quantile(jumps, 0.99),
        quantile(curves, 0.99),
        FRAME_MS,
    )


def text(children: Children, effort: Effort) -> Iterator[Figure]:
    """A large text: its rate, the window meanwhile, and its second opening."""
    length = int(TEXT * max(effort.files, 0.3))  # a text that is too short is not encoded in pieces
    count = max(1, effort.openings // 6)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "text.txt")
        path.write_text(prose(length), encoding="utf-8")
        caches = (Path(folder, str(n)) for n in range(2 * count))
        rates, windows = [], []
        for _ in range(count):
            with children.open("program.py", "rate", path, next(caches)) as child:
                rates.append(child.hear())
            with children.open("program.py", "encoding", path, next(caches)) as child:
                windows.append(child.hear())
        bytes_total = path.stat().st_size
    ours, alone = (1e3 * median(found[name] for found in rates) for name in ("ours", "alone"))
    note = f"{alone / ours:.2f} of tiktoken's rate; {bytes_total / MB / ours * 1e3:.1f} MB/s"
    yield Figure(f"encoding a text of {size(length)}", ours, alone, 1 / 0.8, of_ratio=True, note=note)
    for what, name, reach in (
        ("longest stall while it is encoded", "stall", 50.0),
        ("its first batch painted", "first", None),
        ("its second opening, painted", "again", INSTANT_MS),
    ):
        found = [1e3 * heard[name] for heard in windows]
        figure = max(found) if name == "stall" else median(found)
        yield Figure(what, figure, None, reach, note=f"with all {windows[0]['count']:,} IDs" if name == "again" else "")


# ---- the files ---------------------------------------------------------------------------------------------------


def write_checkpoint(path: Path, tables: int, total: int, blocks: int) -> None:
    """Write a safetensors file with GPT-2's names: `tables` bytes of tables, and blocks that make it `total`.

    The blocks are not written, so that they take no place on most disks. Names are in order, as the library writes
    them, and so the tables lie behind everything else.
    """
    rows = min(VOCABULARY_SIZE, tables // (4 * WIDTH))
    rest = max(0, total - 4 * WIDTH * (rows + POSITIONS))
    shapes: dict[str, tuple[int, int]] = {}
    part = max(1, rest // (blocks * 12 * 4 * WIDTH))  # a block's matrices have 12 of them
    for block in range(blocks):
        for name, parts in (("attn.c_attn", 3), ("attn.c_proj", 1), ("mlp.c_fc", 4), ("mlp.c_proj", 4)):
            shapes[f"h.{block}.{name}.weight"] = (parts * part, WIDTH)
            shapes[f"h.{block}.{name}.bias"] = (parts, WIDTH)
        for name in ("ln_1.bias", "ln_1.weight", "ln_2.bias", "ln_2.weight"):
            shapes[f"h.{block}.{name}"] = (1, WIDTH)
    shapes["wpe.weight"], shapes["wte.weight"] = (POSITIONS, WIDTH), (rows, WIDTH)
    header, place, places = {}, 0, {}
    for name in sorted(shapes):
        end = place + 4 * shapes[name][0] * shapes[name][1]
        header[name] = {"dtype": "F32", "shape": shapes[name], "data_offsets": (place, end)}
        places[name], place = place, end
    content = json.dumps(header).encode()
    content += b" " * (-len(content) % 8)
    draw = np.random.default_rng(123)
    with path.open("wb") as file:
        file.write(len(content).to_bytes(8, "little") + content)
        begin = file.tell()
        file.truncate(begin + place)
        for name in ("wpe.weight", "wte.weight"):
            file.seek(begin + places[name])
            file.write(draw.standard_normal(shapes[name], dtype=np.float32).astype("<f4").tobytes())


def write_ids(path: Path, length: int, count: int) -> list[int]:
    """Write `length` bytes of uint16 IDs, 0 but for those of `count` random batches, whose numbers are returned."""
    draw = random.Random(123)
    batches = draw.sample(range(length // (2 * CELLS) - 1), count)
    with path.open("wb") as file:
        file.truncate(length)
        for batch in (0, *batches):
            file.seek(2 * CELLS * batch)
            file.write(np.array([draw.randrange(VOCABULARY_SIZE) for _ in range(CELLS)], "<u2").tobytes())
    return batches


def size(length: int) -> str:
    """Return a size in words."""
    unit, name = (GB, "GB") if length >= GB else (MB, "MB")
    return f"{length / unit:.3g} {name}"


PARTS: dict[str, Callable[[Children, Effort], Iterator[Figure]]] = {
    "checkpoint": checkpoint,
    "tokens": tokens,
    "text": text,
}
