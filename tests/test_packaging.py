"""What is built from the checkout works elsewhere: sdist to wheel to a folder, run from another one."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
RESOURCES = ("gpt2/r50k_base.tiktoken", "sample.txt")


def run(*command: str | Path, cwd: Path, **environ: str) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(target: str, source: Path, out: Path) -> Path:
    """Build with the backend itself: nothing is downloaded."""
    run(sys.executable, "-m", "hatchling", "build", "-t", target, "-d", out, cwd=source)
    (built,) = out.glob("*.tar.gz" if target == "sdist" else "*.whl")
    return built


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("sdist", ROOT, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from the sdist, so that both are known to be whole."""
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (source,) = folder.iterdir()
    return build("wheel", source, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("installed")
    pip = (sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--quiet", "--target")
    run(*pip, target, wheel, cwd=target)
    return target


def elsewhere(installed: Path) -> dict[str, str]:
    """Return an environment with the installed package and its dependencies, but without the checkout.

    With `-S` the `.pth` file of an editable install is not read.
    """
    return {"PYTHONPATH": os.pathsep.join([str(installed), sysconfig.get_path("purelib")])}


def test_wheel_holds_the_package_and_its_resources(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {f"inspector/_resources/{name}" for name in RESOURCES} <= names
    assert {"inspector/cli.py", "inspector/py.typed"} <= names
    assert {name.partition("/")[0] for name in names if ".dist-info" not in name} == {"inspector"}


def test_module_runs_from_anywhere(installed: Path, tmp_path: Path) -> None:
    where = "import inspector; print(inspector.__file__)"
    module = run(sys.executable, "-S", "-P", "-c", where, cwd=tmp_path, **elsewhere(installed)).strip()
    assert Path(module).is_relative_to(installed)
    assert run(sys.executable, "-S", "-P", "-m", "inspector", "check", cwd=tmp_path, **elsewhere(installed))


def test_command_runs_from_anywhere(installed: Path, tmp_path: Path) -> None:
    command = installed / "bin" / "embedding-inspector"
    report = run(sys.executable, "-S", "-P", command, "check", cwd=tmp_path, **elsewhere(installed))
    assert report == run(sys.executable, "-m", "inspector", "check", cwd=ROOT)


def test_main_runs_from_anywhere(tmp_path: Path) -> None:
    report = run(sys.executable, ROOT / "main.py", "check", cwd=tmp_path)
    assert report == run(sys.executable, "-m", "inspector", "check", cwd=ROOT)
