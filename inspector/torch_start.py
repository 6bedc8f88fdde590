"""The first import of torch, arranged so that a window in front of it does not stand still.

Left alone, `import torch` holds the interpreter for a quarter of a second while the system loads its largest shared
library, and again and again while the garbage collector looks through the 200,000 objects that it makes (measured: the
longest stall of the window is 36 ms this way and 294 ms otherwise).
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading
from importlib.util import find_spec
from pathlib import Path

# What torch itself loads first, and how; then the library that takes long. Both know nothing of Python.
_LIBRARIES = {"libtorch_global_deps.so": ctypes.RTLD_GLOBAL, "libtorch_cpu.so": ctypes.RTLD_LOCAL}

_preloading: threading.Thread | None = None


def preload() -> None:
    """Begin to load torch's shared libraries in a thread that leaves the interpreter to the others."""
    global _preloading  # there is one torch a process
    if _preloading is None and sys.platform.startswith("linux") and "torch" not in sys.modules:
        _preloading = threading.Thread(target=_preload, name="torch libraries", daemon=True)
        _preloading.start()


def wait() -> None:
    """Wait until no library is being loaded: a process that ends in the midst of it is aborted."""
    if _preloading is not None:
        _preloading.join()


def finish() -> None:
    """Import torch, in whatever thread, and keep the garbage collector out of it."""
    if "torch" in sys.modules:
        return
    wait()  # a thread that loads a library beside it waits with the interpreter in hand
    collects = gc.isenabled()
    gc.disable()
    try:
        import torch  # noqa: F401
    finally:
        gc.freeze()  # what torch made stays: no later collection need look through it
        if collects:
            gc.enable()


def _preload() -> None:
    """Load the libraries as `import torch` would; where that fails, it is left to `import torch`."""
    spec = find_spec("torch")
    if spec is None or spec.origin is None:
        return
    folder = Path(spec.origin).parent / "lib"
    try:
        # Called as a foreign function dlopen() lets the interpreter go, which loading through ctypes.CDLL does not.
        dlopen = ctypes.CDLL(None).dlopen
    except (OSError, AttributeError):
        return
    dlopen.argtypes, dlopen.restype = (ctypes.c_char_p, ctypes.c_int), ctypes.c_void_p
    for name, mode in _LIBRARIES.items():
        if not dlopen(os.fsencode(folder / name), mode | os.RTLD_NOW):
            return
