"""Measure the program against bare counterparts: python tests/bench.py [--only NAME ...] [--quick].

Every ratio is of two medians taken in turns in one run, so that a slow or busy machine slows both. It reports and never
fails on time: the exit code is 0, and a reach that is missed says MISSED.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from bench_parts import files, measure
from bench_parts.children import Children

LIBRARIES = ("torch", "PySide6-Essentials", "pyqtgraph", "tiktoken", "numpy", "safetensors")
PARTS = {**measure.PARTS, **files.PARTS}


def main() -> int:
    """Measure what is asked for and print the table."""
    parser = argparse.ArgumentParser(description="Measure the program against bare counterparts.")
    parser.add_argument("--only", action="append", choices=PARTS, help="this part; may be given again")
    parser.add_argument("--quick", action="store_true", help="once each, to see that it works")
    parser.add_argument("--platform", default="offscreen", help="Qt's platform: offscreen (default), xcb, ...")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    args = parser.parse_args()
    effort = measure.QUICK if args.quick else measure.Effort()
    if args.format == "text":
        print(machine(args.platform), end="\n\n")
        print(line("", "ours", "bare", "ratio", "reach", ""))
    with tempfile.TemporaryDirectory() as folder:
        children = Children(args.platform, Path(folder))
        for name in args.only or PARTS:
            for figure in PARTS[name](children, effort):
                show = text if args.format == "text" else as_json
                print(show(figure), flush=True)
    return 0


def machine(qt_platform: str) -> str:
    """Return what this was measured on."""
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    return (
        f"{os.cpu_count()} cores, {processor()}; {platform.system()}, Python {platform.python_version()}\n"
        f"{libraries}; Qt platform {qt_platform}"
    )


def processor() -> str:
    """Return the name of the processor, as far as the system tells it."""
    try:
        known = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        known = ""
    names = [entry.partition(":")[2].strip() for entry in known.splitlines() if entry.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def text(figure: measure.Figure) -> str:
    """Return a figure as a line of the table."""
    unit = f" {figure.unit}".rstrip()
    numbers = [f"{figure.ours:.4g}{unit}", "" if figure.bare is None else f"{figure.bare:.4g}{unit}"]
    ratio = "" if figure.ratio is None else f"{figure.ratio:.2f}"
    reach = ""
    if figure.reach is not None:
        reach = f"≤ {figure.reach:.4g}" + ("" if figure.of_ratio else unit)
    verdict = {True: "holds", False: "MISSED", None: ""}[figure.holds]
    return line(figure.what, *numbers, ratio, reach, f"{verdict:6}  {figure.note}".rstrip())


def line(what: str, *columns: str) -> str:
    """Return a line of the table."""
    *numbers, verdict = columns
    return f"{what:46}" + "".join(f"{number:>12}" for number in numbers) + f"   {verdict}".rstrip()


def as_json(figure: measure.Figure) -> str:
    """Return a figure as a line of JSON."""
    return json.dumps({**asdict(figure), "ratio": figure.ratio, "holds": figure.holds}, ensure_ascii=False)


if __name__ == "__main__":
    sys.exit(main())
