"""The measurements: each alternates the program with its bare counterpart and compares medians."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bench_parts.children import Children

VOCABULARY = "resources/gpt2/r50k_base.tiktoken"
FRAME_MS = 1000 / 60


@dataclass(frozen=True)
class Figure:
    """One line of the table.

    Attributes:
        what: what was measured.
        ours: the program's figure.
        bare: that of the bare counterpart, None where there is none.
        reach: what the ratio (with `of_ratio`) or the figure itself is to stay within; None for a figure that only
            informs.
        unit: of `ours` and `bare`.
    """

    what: str
    ours: float
    bare: float | None
    reach: float | None
    unit: str = "ms"
    of_ratio: bool = False
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """The program's figure in terms of the bare one."""
        return None if self.bare is None else self.ours / self.bare

    @property
    def holds(self) -> bool | None:
        """Whether the reach is kept; None where there is none."""
        if self.reach is None:
            return None
        measured = self.ratio if self.of_ratio else self.ours
        return measured is not None and measured <= self.reach


TEXTS = (
    ("1 KB", 1_000, "lines"),
    ("100 KB", 100_000, "lines"),
    ("100 KB, one line", 100_000, "line"),
    ("1 MB", 1_000_000, "lines"),
    ("1 MB, one line", 1_000_000, "line"),
)


@dataclass(frozen=True)
class Effort:
    """How often everything is done."""

    warm: bool = True  # whether everything is done once unmeasured
    starts: int = 11  # of each of two processes
    blocks: int = 8
    clicks: int = 100  # in a block
    keys: int = 60
    bursts: int = 3
    burst_keys: int = 25
    texts: tuple[tuple[str, int, str], ...] = TEXTS
    openings: int = 20  # of each file
    files: float = 1.0  # how large files are, in parts of the real size


QUICK = Effort(
    warm=False, starts=1, blocks=1, clicks=8, keys=8, bursts=1, burst_keys=5, texts=TEXTS[::4], openings=1, files=0.02
)


def alternated(
    effort: Effort, count: int, ours: Callable[[], float], bare: Callable[[], float]
) -> tuple[list[float], list[float]]:
    """Measure two things in turns."""
    if effort.warm:
        ours(), bare()
    pairs = [(ours(), bare()) for _ in range(count)]
    return [a for a, _ in pairs], [b for _, b in pairs]


def quantile(values: list[float], part: float) -> float:
    """Return the value that a part of all values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def first_window(children: Children, effort: Effort) -> Iterator[Figure]:
    """Start to first painted window."""
    ours, bare = alternated(
        effort,
        effort.starts,
        lambda: children.seconds_until_heard("program.py", "window"),
        lambda: children.seconds_until_heard("bare.py", "window"),
    )
    yield Figure("first painted window", 1e3 * median(ours), 1e3 * median(bare), 1.3, of_ratio=True)


def first_curve(children: Children, effort: Effort) -> Iterator[Figure]:
    """Start to first painted curve."""
    ours, bare = alternated(
        effort,
        effort.starts,
        lambda: children.seconds_until_heard("program.py", "ready"),
        lambda: children.seconds_until_heard("bare.py", "torch"),
    )
    yield Figure("torch ready, first curve drawn", 1e3 * median(ours), 1e3 * median(bare), 1.5, of_ratio=True)


def click(children: Children, effort: Effort) -> Iterator[Figure]:
    """Click to painted curves."""
    with children.open("program.py", "click", effort.clicks) as ours:
        size = ours.hear()
        with children.open("bare.py", "curves", size["width"], size["height"], effort.clicks) as bare:
            bare.hear()
            clicks, curves = in_blocks(effort, lambda: ours.ask()["took"], lambda: bare.ask()["took"])
    yield Figure("click to painted curves, median", median(clicks), median(curves), 2.0, of_ratio=True)
    yield Figure(f"click, 99th percentile of {len(clicks)}", quantile(clicks, 0.99), quantile(curves, 0.99), FRAME_MS)


def key(children: Children, effort: Effort) -> Iterator[Figure]:
    """Key to painted grid and curves, at a length of text that is judged at once."""
    with children.open("program.py", "click", 1) as ours:
        size = ours.hear()
    with (
        children.open("program.py", "key", 1000, effort.keys) as ours,
        children.open("bare.py", "key", size["width"], size["height"], effort.keys) as bare,
    ):
        ours.hear(), bare.hear()
        keys, bare_keys = in_blocks(effort, lambda: ours.ask()["took"], lambda: bare.ask()["took"])
    yield Figure("key to painted grid and curves, 1 KB, median", median(keys), median(bare_keys), FRAME_MS)
    yield Figure(
        f"key, 1 KB, 99th percentile of {len(keys)}", quantile(keys, 0.99), quantile(bare_keys, 0.99), FRAME_MS
    )


def burst(children: Children, effort: Effort) -> Iterator[Figure]:
    """Longest stall while typing into long texts."""
    for name, length, lines in effort.texts:
        with children.open("program.py", "burst", length, lines, effort.burst_keys, 40) as ours:
            ours.hear()
            heard = [ours.ask() for _ in range(effort.bursts)]
        late = median(h["late"] for h in heard)
        keys = effort.burst_keys * effort.bursts
        wrong = sum(h["wrong"] for h in heard)
        note = f"{keys} keys, {sum(h['shown'] for h in heard)} results, last after {1e3 * late:.0f} ms"
        yield Figure(f"longest stall while typing, {name}", 1e3 * max(h["stall"] for h in heard), None, 50.0, note=note)
        yield Figure(f"superseded results shown, {name}", wrong, None, 0, unit="")


def torch_stall(children: Children, effort: Effort) -> Iterator[Figure]:
    """Longest stall while torch loads behind the window."""

    def stall(script: str) -> float:
        with children.open(script, "stall") as child:
            found: float = child.hear()["stall"]
            return found

    count = max(1, effort.starts // 2)
    ours, bare = alternated(effort, count, lambda: stall("program.py"), lambda: stall("bare.py"))
    worst = f"worst of {len(ours)}: {1e3 * max(ours):.0f} ms"
    yield Figure("longest stall while torch loads", 1e3 * median(ours), 1e3 * median(bare), 300.0, note=worst)


def check(children: Children, effort: Effort) -> Iterator[Figure]:
    """The check command."""
    ours, bare = alternated(
        effort,
        effort.starts,
        lambda: children.seconds("-m", "inspector", "check"),
        lambda: children.seconds("tests/bench_parts/bare.py", "vocabulary", VOCABULARY),
    )
    yield Figure("python -m inspector check", 1e3 * median(ours), 1e3 * median(bare), 1.5, of_ratio=True)


def memory(children: Children, effort: Effort) -> Iterator[Figure]:
    """Memory once all is ready, of both processes at the same time: what they share is shared alike."""
    found: list[tuple[dict[str, float], dict[str, float]]] = []
    for _ in range(max(1, effort.starts // 4)):
        with children.open("program.py", "memory") as ours, children.open("bare.py", "memory") as bare:
            ours.hear(), bare.hear()
            found.append((ours.ask(), bare.ask()))
    for name, kind, reach in (("memory", "rss", 1.15), ("memory, no other's share", "uss", None)):
        ours_mb, bare_mb = (median(pair[i][kind] for pair in found) / 2**20 for i in (0, 1))
        yield Figure(f"{name} ({kind.upper()})", ours_mb, bare_mb, reach, unit="MiB", of_ratio=True)


def in_blocks(
    effort: Effort, ours: Callable[[], list[float]], bare: Callable[[], list[float]]
) -> tuple[list[float], list[float]]:
    """Ask for blocks of seconds in turns; return them in milliseconds."""
    if effort.warm:
        ours(), bare()
    pairs = [(ours(), bare()) for _ in range(effort.blocks)]
    return [1e3 * s for a, _ in pairs for s in a], [1e3 * s for _, b in pairs for s in b]


PARTS: dict[str, Callable[[Children, Effort], Iterator[Figure]]] = {
    "window": first_window,
    "curve": first_curve,
    "click": click,
    "key": key,
    "burst": burst,
    "stall": torch_stall,
    "check": check,
    "memory": memory,
}
