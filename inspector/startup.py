"""Whether Qt can open a window here, asked before Qt is imported.

Where one of its libraries is missing Qt answers with a loader's traceback, and where its platform plugin cannot start
it ends the process. One line that says what to do is found here first, without Qt.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

# Shared libraries that Qt's wheel expects of the system, and the Debian and Ubuntu packages that hold them.
_CORE = {
    "libgthread-2.0.so.0": "libglib2.0-0",  # loads libglib-2.0.so.0, of the same package
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libX11.so.6": "libx11-6",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
}
_PLUGINS = {
    "xcb": {
        "libX11-xcb.so.1": "libx11-xcb1",
        "libxcb.so.1": "libxcb1",
        "libxcb-cursor.so.0": "libxcb-cursor0",
        "libxcb-icccm.so.4": "libxcb-icccm4",
        "libxcb-image.so.0": "libxcb-image0",
        "libxcb-keysyms.so.1": "libxcb-keysyms1",
        "libxcb-randr.so.0": "libxcb-randr0",
        "libxcb-render.so.0": "libxcb-render0",
        "libxcb-render-util.so.0": "libxcb-render-util0",
        "libxcb-shape.so.0": "libxcb-shape0",
        "libxcb-shm.so.0": "libxcb-shm0",
        "libxcb-sync.so.1": "libxcb-sync1",
        "libxcb-util.so.1": "libxcb-util1",
        "libxcb-xfixes.so.0": "libxcb-xfixes0",
        "libxcb-xkb.so.1": "libxcb-xkb1",
        "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    },
    "wayland": {
        "libwayland-client.so.0": "libwayland-client0",
        "libwayland-cursor.so.0": "libwayland-cursor0",
    },
}
_DISPLAY_VARIABLES = {"wayland": "WAYLAND_DISPLAY", "xcb": "DISPLAY"}


def why_no_window(environ: Mapping[str, str] | None = None) -> str | None:
    """Return one line that says why Qt cannot open a window and what to do about it; None where it can."""
    environ = os.environ if environ is None else environ
    platform = environ.get("QT_QPA_PLATFORM") or None
    return (
        _no_display(platform, environ)
        or missing_system_libraries(platform, environ=environ)
        or _unreachable_display(platform, environ)
    )


def missing_system_libraries(
    platform: str | None,
    *,
    load: Callable[[str], object] = ctypes.CDLL,
    environ: Mapping[str, str] | None = None,
) -> str | None:
    """Return one line that names the system packages Qt needs and does not find; None where it finds all.

    Args:
        platform: the value of QT_QPA_PLATFORM ("offscreen", "xcb"); None where Qt is left to choose by the display.
        load: loads a shared library by its name, or raises OSError.
        environ: the environment that says which displays there are.
    """
    if not sys.platform.startswith("linux"):
        return None
    core = _missing(_CORE, load)
    # Qt takes the first plugin that loads, so the one that lacks least is the one to complete.
    plugins = (
        _missing(_PLUGINS.get(name, {}), load)
        for name in _platforms(platform, os.environ if environ is None else environ)
    )
    packages = [*core, *min(plugins, key=len, default=[])]
    if not packages:
        return None
    return f"Qt needs system libraries that are missing here: apt-get install {' '.join(packages)}"


def _missing(libraries: Mapping[str, str], load: Callable[[str], object]) -> list[str]:
    return [package for library, package in libraries.items() if not _loads(library, load)]


def _loads(library: str, load: Callable[[str], object]) -> bool:
    try:
        load(library)
    except OSError:
        return False
    return True


def _platforms(platform: str | None, environ: Mapping[str, str]) -> Iterable[str]:
    """Return the platform plugins that Qt will try: "wayland;xcb:option=1" names two of them."""
    if platform is not None:
        return [name.partition(":")[0].partition("-")[0] for name in platform.split(";")]
    return [name for name, variable in _DISPLAY_VARIABLES.items() if environ.get(variable)]


def _no_display(platform: str | None, environ: Mapping[str, str]) -> str | None:
    if not sys.platform.startswith("linux"):
        return None
    needed = [_DISPLAY_VARIABLES.get(name) for name in _platforms(platform, environ)]
    if any(variable is None or environ.get(variable) for variable in needed):
        return None
    return "there is no display to open a window on: neither DISPLAY nor WAYLAND_DISPLAY is set"


def _unreachable_display(platform: str | None, environ: Mapping[str, str]) -> str | None:
    """Say when the one way to a window is an X display that does not answer, which Qt takes for a reason to abort."""
    if not sys.platform.startswith("linux") or set(_platforms(platform, environ)) != {"xcb"}:
        return None
    display = environ["DISPLAY"]
    xcb = ctypes.CDLL("libxcb.so.1")
    xcb.xcb_connect.restype = ctypes.c_void_p
    connection = ctypes.c_void_p(xcb.xcb_connect(display.encode(), None))
    failed = xcb.xcb_connection_has_error(connection)
    xcb.xcb_disconnect(connection)
    return f"the display {display} (DISPLAY) cannot be reached" if failed else None
