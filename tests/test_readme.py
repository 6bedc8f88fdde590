"""The README says what is so: its table of faults is the registry's, its commands and pictures are there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from inspector import pages

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_table_of_faults_is_the_registrys() -> None:
    """To write it anew: python -c "from inspector import pages; print(pages.table())"."""
    start, end = README.index("| code | name |"), README.index("## Changes")
    assert README[start:end].strip() == pages.table()


def test_pictures_exist() -> None:
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README)
    assert len(pictures) >= 3
    for picture in pictures:
        assert (ROOT / picture).stat().st_size > 10_000, picture


def test_one_line_installs_and_runs_the_tests() -> None:
    assert len(re.findall(r"^ +pip install .* && python -m pytest$", README, flags=re.MULTILINE)) == 1
    assert len(re.findall(r"^ +pip install .* && python main\.py$", README, flags=re.MULTILINE)) == 1


def test_python_in_it_runs(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    runnable = [block for block in blocks if block.startswith("import")]
    assert runnable
    for block in runnable:
        done = subprocess.run(
            [sys.executable, "-c", block],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            check=False,
        )
        assert done.returncode == 0, done.stderr
