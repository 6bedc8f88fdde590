"""The command: exit codes, the report's schema, and no traceback whatever it is given."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector import checks, cli
from inspector.diagnosis import Severity, Stage, Status
from tests.inspections import inspections

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]


def run(*arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = cli.main(arguments)
        except SystemExit as end:  # argparse
            code = int(end.code or 0)
    return code, out.getvalue(), err.getvalue()


@pytest.fixture
def inspection(tmp_path: Path) -> Callable[[Any], str]:
    def written(values: Any) -> str:
        file = tmp_path / "inspection.json"
        file.write_text(json.dumps(values))
        return str(file)

    return written


# ---- exit codes ------------------------------------------------------------------------------------------------------


def test_the_lesson_is_sound() -> None:
    code, out, err = run("check")
    assert (code, err) == (0, "")
    assert out.startswith("No fault found")
    assert "✓ Sum                (8, 4, 256) → (8, 4, 256)" in out


def test_a_fault_is_1(inspection: Callable[[Any], str]) -> None:
    code, out, err = run("check", inspection({"position_embedding": {"num_embeddings": 3}}))
    assert (code, err) == (1, "")
    assert "✗ error P401 position-out-of-range (Position embedding)" in out
    assert "  fix: position_embedding.num_embeddings = 4" in out
    assert "  PyTorch says: IndexError: index out of range in self" in out


def test_a_warning_is_0(inspection: Callable[[Any], str]) -> None:
    code, out, _ = run("check", inspection({"token_embedding": {"max_norm": 1.0}}))
    assert code == 0
    assert "! warning E308" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "missing.json"],
        ["check", "--format", "xml"],
        ["check", "--batch", "99"],
        ["check", "--batch", "-1"],
        ["check", "--no-such"],
        ["check", "one.json", "two.json"],
        ["explain", "no-such-fault"],
        ["explain", "--message", "missing.txt"],
        ["--no-such"],
    ],
    ids=" ".join,
)
def test_what_could_not_run_is_2(arguments: list[str]) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err
    assert "Traceback" not in err


def test_an_unknown_key_is_2(inspection: Callable[[Any], str]) -> None:
    code, _, err = run("check", inspection({"vocab": 3}))
    assert code == 2
    assert "unknown key 'vocab'" in err


def test_a_text_file_that_is_missing_is_a_diagnosis(inspection: Callable[[Any], str]) -> None:
    code, out, _ = run("check", inspection({"text_file": "missing.txt"}))
    assert code == 1
    assert "F601 file-unreadable" in out


def test_text_and_batch_are_arguments(inspection: Callable[[Any], str]) -> None:
    file = inspection({"loader": {"batch_size": 1}})
    assert run("check", file, "--text", "")[0] == 1
    assert run("check", file, "--text", "one two three four five", "--batch", "0")[0] == 0
    assert run("check", file, "--text", "one two three four five", "--batch", "1")[0] == 2


# ---- the report ------------------------------------------------------------------------------------------------------


def require_schema(report: Any) -> None:
    """Hold a report against the schema, key by key and in its order."""
    assert list(report) == ["schema", "ok", "shapes", "diagnoses"]
    assert report["schema"] == 1
    assert report["ok"] == all(d["severity"] != "error" for d in report["diagnoses"])
    ways = [s.value for s in Stage if s not in (Stage.FILE, Stage.MODEL)]
    found = [s["stage"] for s in report["shapes"]]
    assert found in (ways, ["file", *ways])  # a file has its line where one is named
    for shape in report["shapes"]:
        assert list(shape) == ["stage", "input", "table", "output", "status"]
        assert shape["status"] in set(Status)
        for name in ("input", "table", "output"):
            assert shape[name] is None or all(type(size) is int for size in shape[name])
    keys = [
        "code",
        "name",
        "stage",
        "severity",
        "message",
        "help",
        "torch",
        "cells",
        "fields",
        "fix",
        "subject",
        "data",
    ]
    for diagnosis in report["diagnoses"]:
        assert list(diagnosis) == keys
        assert diagnosis["stage"] in set(Stage)
        assert diagnosis["severity"] in set(Severity)
        assert all(type(diagnosis[name]) is str for name in ("code", "name", "message", "help", "torch"))
        assert all(len(cell) == 2 and all(type(n) is int for n in cell) for cell in diagnosis["cells"])
        assert all(type(field) is str for field in diagnosis["fields"])
        assert diagnosis["fix"] is None or diagnosis["fix"]
        assert type(diagnosis["data"]) is dict
    by_stage = {s["stage"]: s["status"] for s in report["shapes"]}
    faulty = {d["stage"] for d in report["diagnoses"] if d["severity"] == "error"}
    assert {stage for stage, status in by_stage.items() if status == "fault"} == faulty & set(found)


@pytest.mark.parametrize(
    "kind", [k for k in checks.FAULTS if "checkpoint" not in k.example], ids=lambda k: k.code + k.name
)
def test_examples_make_a_report(kind: Any, inspection: Callable[[Any], str]) -> None:
    code, out, err = run("check", inspection(dict(kind.example)), "--format", "json")
    report = json.loads(out)
    require_schema(report)
    assert (code, err) == (0 if report["ok"] else 1, "")
    assert out.isascii()


VALUES = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=3)
ANYTHING = st.recursive(
    VALUES, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=3), v, max_size=2), max_leaves=6
)


def places(values: Any) -> list[tuple[Any, Any]]:
    """Return every container and key inside some values."""
    found: list[tuple[Any, Any]] = []
    keys = values if isinstance(values, dict) else range(len(values)) if isinstance(values, list) else ()
    for key in keys:
        found += [(values, key), *places(values[key])]
    return found


@settings(max_examples=400, suppress_health_check=list(HealthCheck))
@given(inspections(), st.data())
def test_nothing_raises(tmp_path: Path, values: dict[str, Any], data: st.DataObject) -> None:
    values = json.loads(json.dumps(values))
    for _ in range(data.draw(st.integers(1, 2))):
        place = data.draw(st.sampled_from(places(values)))
        place[0][place[1]] = data.draw(ANYTHING)
    file = tmp_path / "inspection.json"
    file.write_text(json.dumps(values))
    for form in ("json", "text"):
        code, out, err = run("check", str(file), "--format", form)
        assert code in (0, 1, 2)
        assert bool(err) == (code == 2)
        assert bool(out) == (code != 2)
        if form == "json" and out:
            require_schema(json.loads(out))


@settings(max_examples=200)
@given(st.binary(max_size=40))
def test_no_bytes_raise(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    for suffix in ("json", "toml"):
        file = tmp_path_factory.getbasetemp() / f"mutated.{suffix}"
        file.write_bytes(data)
        code, _, err = run("check", str(file))
        assert code in (0, 1, 2)
        assert bool(err) == (code == 2)


# ---- explain ---------------------------------------------------------------------------------------------------------


def test_explain_by_name_and_code() -> None:
    code, by_code, _ = run("explain", "E301")
    assert code == 0
    assert by_code == run("explain", "token-id-out-of-range")[1]
    assert by_code.startswith("# E301 token-id-out-of-range\n")


def test_explain_a_name_of_several_stages() -> None:
    _, out, _ = run("explain", "embedding-dim-mismatch")
    assert [line for line in out.splitlines() if line.startswith("# ")] == [
        f"# {code} embedding-dim-mismatch" for code in ("E304", "P403", "G452")
    ]


def test_explain_lists_all() -> None:
    code, out, _ = run("explain")
    assert code == 0
    assert len(out.splitlines()) == len(checks.FAULTS)


# ---- the process -----------------------------------------------------------------------------------------------------


def process(*arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "inspector", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, **more)


def test_the_module_is_the_command() -> None:
    done = process("check", "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    require_schema(json.loads(done.stdout))


def test_a_closed_pipe_is_no_error() -> None:
    done = subprocess.run(
        f"{sys.executable} -m inspector explain | head -1",
        shell=True,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith("T101")
    assert done.stderr == ""


def test_a_terminal_without_the_characters(tmp_path: Path) -> None:
    done = process("check", "--text", "a 日本語", env={"PATH": "", "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 1
    assert "\\u2717" in done.stdout
    assert done.stderr == ""


def test_version() -> None:
    assert run("--version")[1].startswith("Embedding Inspector ")


def test_a_mistyped_command_is_refused(capsys):
    assert cli.main(["chekc"]) == 2
    assert "there is no command and no file 'chekc'" in capsys.readouterr().err


def test_a_reader_that_stops_early_does_not_change_the_verdict():
    code = "import sys\nfrom inspector import cli\nsys.exit(cli.main(['check', '--text', 'a']))"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=ROOT)
    process.stdout.close()
    assert process.wait() == 1
