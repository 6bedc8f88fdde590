"""Processes to measure: how they are started and spoken with."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SECONDS = 300  # more than any part takes
# A screen that the window fits on; the offscreen platform's own is 800 x 800.
_SCREEN = {"name": "bench", "x": 0, "y": 0, "width": 1600, "height": 1000, "logicalDpi": 96, "dpr": 1.0}


class Child:
    """A process that prints lines of JSON and may be asked for more.

    Attributes:
        began: the system's clock when it was started.
    """

    def __init__(self, script: str, *arguments: object, environment: dict[str, str]) -> None:
        command = [sys.executable, str(HERE / script), *map(str, arguments)]
        self._name = " ".join(map(str, (script, *arguments)))
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the child
        self.began = time.monotonic()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=environment,
            cwd=ROOT,
        )

    def hear(self) -> dict[str, Any]:
        """Return the next line that the process prints."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait(SECONDS)
            self._errors.seek(0)
            raise RuntimeError(f"{self._name} ended with {self._process.returncode}:\n{self._errors.read()}")
        heard: dict[str, Any] = json.loads(line)
        return heard

    def ask(self) -> dict[str, Any]:
        """Ask for more and return what comes."""
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        return self.hear()

    def close(self) -> None:
        """Let the process end."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()


class Children:
    """Starts processes on one platform, each with settings of its own."""

    def __init__(self, platform: str, folder: Path) -> None:
        if platform == "offscreen":
            screens = folder / "screens.json"
            screens.write_text(json.dumps({"screens": [_SCREEN]}), encoding="utf-8")
            platform = f"offscreen:configfile={screens}"
        self._folder = folder
        self._environment = {**os.environ, "QT_QPA_PLATFORM": platform}
        self._environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program's byte code is compiled
        self._count = 0

    def environment(self) -> dict[str, str]:
        """Return an environment whose settings, caches and data are empty."""
        self._count += 1
        home = self._folder / str(self._count)
        home.mkdir()
        names = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
        return {**self._environment, **dict.fromkeys(names, str(home))}

    @contextlib.contextmanager
    def open(self, script: str, *arguments: object) -> Iterator[Child]:
        """Start a process and end it with the block."""
        child = Child(script, *arguments, environment=self.environment())
        try:
            yield child
        finally:
            child.close()

    def seconds_until_heard(self, script: str, *arguments: object) -> float:
        """Return how long a fresh process takes from its start to what it prints."""
        with self.open(script, *arguments) as child:
            at: float = child.hear()["at"]
            return at - child.began

    def seconds(self, *command: str) -> float:
        """Return how long a command takes from start to end."""
        began = time.monotonic()
        subprocess.run(
            [sys.executable, *command], env=self.environment(), cwd=ROOT, check=True, stdout=subprocess.DEVNULL
        )
        return time.monotonic() - began
