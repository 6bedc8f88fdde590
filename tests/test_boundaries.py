"""What may import what: no Qt outside ui/, no torch inside it, neither of them (nor numpy) for a verdict."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import inspector

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(inspector.__file__).parent
QT = {"PySide6", "shiboken6", "pyqtgraph"}
HEAVY = QT | {"torch", "numpy"}

# Modules that stand alone or on a few others; imports for types and inside functions count too.
FOUNDATIONS: dict[str, set[str]] = {
    "config": set(),
    "diagnosis": set(),
    "id_tensor": set(),
    "resources": set(),
    "startup": set(),
    "tokenizer": {"resources", "files", "trouble"},
    "batches": {"config"},
    "recipe": {"config"},
    "material": {"checkpoint", "config", "files", "live_inspection", "recipe", "resources", "tokenizer", "trouble"},
    "trouble": set(),
    "torch_start": set(),
    "checkpoint": {"config", "files", "recipe", "trouble"},
    "inspection_file": {"config", "recipe"},
}
ABOVE_CHECKS = {"pipeline", "api", "pages", "result", "report", "cli", "ui", "layers", "trace", "live"}
FRONTS = {"__init__", "__main__", "cli", "api"}  # the only ones outside ui/ that open a window


def files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    """Return the module's name below `inspector`: "checks.loader", "ui.app"; a package goes by its `__init__`."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def nodes(tree: ast.AST, *, eager: bool) -> Iterator[ast.AST]:
    """Walk a module; with `eager` only what runs when it is imported."""
    for node in ast.iter_child_nodes(tree):
        if eager and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if eager and isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        yield node
        yield from nodes(node, eager=eager)


def imported(path: Path, *, eager: bool = False) -> set[str]:
    """Return the absolute names that a file imports, "a.b" for each `from a import b`."""
    names = set()
    for node in nodes(ast.parse(path.read_text(encoding="utf-8")), eager=eager):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def libraries(path: Path) -> set[str]:
    return {name.partition(".")[0] for name in imported(path)}


def ours(path: Path, *, eager: bool = False) -> set[str]:
    """Return the modules of this package that a file imports, named as `name_of` names them."""
    modules = set()
    known = {name_of(f) for f in files()}
    for name in imported(path, eager=eager):
        parts = name.split(".")
        if parts[0] != "inspector":
            continue
        # `from inspector.checks import run` is the package, `from inspector.checks import loader` the module.
        for end in range(len(parts), 0, -1):
            below = parts[1:end]
            found = {".".join(below), ".".join([*below, "__init__"])} & known
            if found:
                modules |= found
                break
    return modules


def parent(module: str) -> str:
    return module.partition(".")[0]


def run(code: str, **environ: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), **environ}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)


def loaded_by(code: str) -> set[str]:
    """Return which of the heavy libraries a fresh interpreter holds after some code."""
    report = f"import sys, json; print(json.dumps(sorted({HEAVY!r} & sys.modules.keys())), file=sys.stderr)"
    done = run(f"{code}\n{report}")
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.splitlines()[-1]))


RUN_CHECK = """
import runpy, sys
sys.argv = ["inspector", "check"]
try:
    runpy.run_module("inspector", run_name="__main__")
except SystemExit as end:
    assert not end.code, end.code
"""
HIDE_QT = f"""
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {QT!r}:
            raise ModuleNotFoundError("No module named " + repr(name), name=name)
sys.meta_path.insert(0, Hidden())
"""


@pytest.mark.parametrize(
    "module",
    [
        "inspector",
        *(f"inspector.{name}" for name in FOUNDATIONS),
        "inspector.facts",
        "inspector.checks",
        "inspector.pipeline",
        "inspector.result",
        "inspector.report",
        "inspector.pages",
        "inspector.api",
        "inspector.cli",
    ],
)
def test_import_is_light(module: str) -> None:
    assert loaded_by(f"import {module}") == set()


def test_a_verdict_is_light() -> None:
    assert loaded_by(RUN_CHECK) == set()


def test_a_verdict_needs_no_qt() -> None:
    done = run(HIDE_QT + RUN_CHECK)
    assert done.returncode == 0, done.stderr


def test_the_api_needs_no_qt() -> None:
    done = run(HIDE_QT + "import inspector\nassert inspector.check().sum.shape == (8, 4, 256)")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", files(), ids=name_of)
def test_qt_and_torch_keep_to_their_sides(path: Path) -> None:
    if parent(name_of(path)) == "ui":
        assert not libraries(path) & {"torch", "tiktoken", "safetensors"}
    else:
        assert not libraries(path) & QT


@pytest.mark.parametrize("path", files(), ids=name_of)
def test_only_layers_and_live_import_torch_at_once(path: Path) -> None:
    eager = {name.partition(".")[0] for name in imported(path, eager=True)}
    if name_of(path) not in {"layers", "live"}:
        assert "torch" not in eager
    assert "pickle" not in libraries(path)


@pytest.mark.parametrize(("module", "allowed"), FOUNDATIONS.items())
def test_foundations_stand_alone(module: str, allowed: set[str]) -> None:
    path = PACKAGE / f"{module}.py"
    assert {parent(name) for name in ours(path)} <= allowed


@pytest.mark.parametrize("path", sorted((PACKAGE / "checks").rglob("*.py")), ids=name_of)
def test_checks_know_nothing_above_them(path: Path) -> None:
    assert not {parent(m) for m in ours(path)} & ABOVE_CHECKS


@pytest.mark.parametrize("path", files(), ids=name_of)
def test_nothing_but_the_fronts_opens_a_window(path: Path) -> None:
    name = name_of(path)
    above = {parent(m) for m in ours(path)} & {"ui", "cli", "__main__"}
    if name == "__main__":
        assert above == {"cli"}
    elif name in FRONTS or parent(name) == "ui":
        assert above <= {"ui"}
    else:
        assert not above


def test_imports_go_one_way() -> None:
    """What a module needs to be imported never needs that module in turn."""
    graph = {name_of(path): ours(path, eager=True) - {name_of(path)} for path in files()}
    list(TopologicalSorter(graph).static_order())  # raises CycleError, which names the circle
