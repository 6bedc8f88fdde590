"""Where Qt cannot open a window, one line says what to do; libraries are pretended away, not removed."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from inspector import startup

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Qt's wheel is complete elsewhere")


def without(*libraries: str) -> Callable[[str], None]:
    def load(name: str) -> None:
        if name in libraries:
            raise OSError(f"{name}: cannot open shared object file: No such file or directory")

    return load


@pytest.mark.parametrize("platform", ["offscreen", "xcb", "wayland", "wayland;xcb", "vnc:size=800x600", None])
def test_says_nothing_where_all_is_there(platform: str | None) -> None:
    assert startup.missing_system_libraries(platform, load=without(), environ={"DISPLAY": ":0"}) is None


@pytest.mark.parametrize("platform", ["offscreen", "xcb", "wayland", "minimal", None])
@pytest.mark.parametrize(("library", "package"), startup._CORE.items())
def test_every_platform_needs_the_core(platform: str | None, library: str, package: str) -> None:
    line = startup.missing_system_libraries(platform, load=without(library), environ={"DISPLAY": ":0"})
    assert line == f"Qt needs system libraries that are missing here: apt-get install {package}"


@pytest.mark.parametrize(("library", "package"), startup._PLUGINS["xcb"].items())
def test_a_window_on_x_needs_its_plugins_libraries(library: str, package: str) -> None:
    load = without(library)
    for platform, environ in (("xcb", {}), ("xcb:option", {}), (None, {"DISPLAY": ":0"})):
        line = startup.missing_system_libraries(platform, load=load, environ=environ)
        assert line is not None
        assert line.endswith(f"apt-get install {package}")
    assert startup.missing_system_libraries("offscreen", load=load) is None
    assert startup.missing_system_libraries(None, load=load, environ={"WAYLAND_DISPLAY": "wayland-0"}) is None


def test_one_of_two_displays_is_enough() -> None:
    environ = {"DISPLAY": ":0", "WAYLAND_DISPLAY": "wayland-0"}
    no_x = without("libxcb-cursor.so.0", "libxcb-image.so.0")
    assert startup.missing_system_libraries(None, load=no_x, environ=environ) is None
    neither = without("libxcb-cursor.so.0", "libxcb-image.so.0", "libwayland-client.so.0")
    line = startup.missing_system_libraries(None, load=neither, environ=environ)
    assert line is not None
    assert line.endswith("apt-get install libwayland-client0")


def test_names_all_packages_in_one_line() -> None:
    line = startup.missing_system_libraries("xcb", load=without("libEGL.so.1", "libGL.so.1", "libxcb-cursor.so.0"))
    assert line is not None
    assert line.endswith("apt-get install libegl1 libgl1 libxcb-cursor0")
    assert "\n" not in line


@pytest.mark.parametrize("environ", [{}, {"DISPLAY": ""}, {"QT_QPA_PLATFORM": "xcb", "WAYLAND_DISPLAY": "wayland-0"}])
def test_says_that_there_is_no_display(environ: dict[str, str]) -> None:
    line = startup.why_no_window(environ)
    assert line is not None
    assert line.startswith("there is no display")


def test_says_that_a_display_does_not_answer() -> None:
    if startup.missing_system_libraries("xcb"):
        pytest.skip("the libraries of an X display are missing here")
    assert startup.why_no_window({"DISPLAY": ":9999"}) == "the display :9999 (DISPLAY) cannot be reached"


def test_offscreen_needs_no_display() -> None:
    assert startup.why_no_window({"QT_QPA_PLATFORM": "offscreen"}) is None


def test_tells_without_qt() -> None:
    code = "import sys; from inspector import startup; startup.why_no_window(); print('PySide6' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, check=True)
    assert done.stdout.strip() == "False"
