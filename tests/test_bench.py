"""The bench's parts run and find figures. How large these are is the bench's to say: no test fails on time."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BENCH = ROOT / "tests" / "bench.py"
# One of each kind of process; the others differ in what they measure, and take their time.
PARTS = {"window": 1, "click": 2, "check": 1, "checkpoint": 4}


def bench(*arguments: str) -> str:
    command = [sys.executable, str(BENCH), "--quick", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(("part", "count"), PARTS.items())
def test_every_part_finds_its_figures(part: str, count: int) -> None:
    figures = [json.loads(line) for line in bench("--only", part, "--format", "json").splitlines()]
    assert len(figures) == count
    for figure in figures:
        assert math.isfinite(figure["ours"])
        assert figure["bare"] is None or 0 < figure["ratio"] < math.inf
        assert figure["holds"] in (True, False, None)


def test_the_table_names_the_machine_and_the_reach() -> None:
    table = bench("--only", "check")
    assert " cores, " in table
    assert "torch " in table
    assert "≤ 1.5" in table
