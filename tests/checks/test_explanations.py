"""The pages that `explain` prints: what they tell, and that their code runs as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from inspector import checks, pages

if TYPE_CHECKING:
    from inspector.diagnosis import Fault

ROOT = Path(__file__).parents[2]
# tiktoken's own get_encoding downloads; the vocabulary at hand is the same.
OFFLINE = "import tiktoken, inspector.tokenizer as t; tiktoken.get_encoding = lambda name: t.gpt2()._encoding"
RUN_ALL = """
import sys, traceback
failed = []
for name, code in blocks:
    try:
        exec(compile(code, name, "exec"), {"__name__": "__main__"})
    except BaseException:
        failed.append(name)
        traceback.print_exc()
sys.exit(", ".join(failed) or None)
"""


def name_of(kind: Fault) -> str:
    return f"{kind.code}-{kind.name}"


def blocks_of(page: str) -> list[str]:
    """Return the indented code blocks of a page; a blank line inside belongs to its block."""
    blocks: list[str] = []
    for paragraph in page.split("\n\n"):
        if not paragraph.startswith("    "):
            blocks.append("")
        elif blocks and blocks[-1]:
            blocks[-1] += "\n\n" + paragraph
        else:
            blocks.append(paragraph)
    return ["\n".join(line[4:] for line in block.split("\n")) for block in blocks if block]


@pytest.mark.parametrize("kind", checks.FAULTS, ids=name_of)
def test_a_page_tells_all(kind: Fault) -> None:
    page = kind.explanation
    words = " ".join(page.split())
    assert len(blocks_of(page)) == 1
    assert max(map(len, page.split("\n"))) <= 116
    if kind.code[0] in "FMX":
        return  # a file is read before any device plays a part
    everywhere = re.search(r"the same everywhere|any device|every device|the same on the CPU|the same for a GPU", words)
    assert everywhere or all(word in words for word in ("CPU", "GPU", "MPS", "torch.compile"))
    assert "How people meet it:" in page
    assert "What does not help:" in page


def test_the_code_of_all_pages_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    blocks = [(name_of(kind), code) for kind in checks.FAULTS for code in blocks_of(kind.explanation)]
    program = f"{OFFLINE}\nblocks = {blocks!r}\n{RUN_ALL}"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", checks.FAULTS, ids=name_of)
def test_a_page_is_put_together(kind: Fault) -> None:
    page = pages.page(kind)
    assert page.startswith(f"# {kind.code} {kind.name}\n\n{kind.summary} Stage: ")
    assert kind.explanation in page
    assert f"PyTorch by itself: {kind.torch}" in page


def test_the_index_has_a_line_for_each() -> None:
    lines = pages.index().splitlines()
    assert len(lines) == len(checks.FAULTS)
    assert all(kind.code in line and kind.summary in line for kind, line in zip(checks.FAULTS, lines, strict=True))
