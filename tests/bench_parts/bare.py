"""The bare counterparts: the least that Qt, pyqtgraph, torch and tiktoken need to do the same. One process each.

Run as `python bare.py NAME [ARGUMENT ...]`; each prints lines of JSON. Imports are made in the functions, so that a
process loads what its own part needs and nothing else.
"""

import sys
import time


def emit(**values):
    """Print what was found. `at` is the system's clock, which the process that started this one reads too."""
    values.setdefault("at", time.monotonic())
    import json

    print(json.dumps(values), flush=True)


def leave():
    """End at once: how long it takes to tidy up is not measured."""
    import os

    os._exit(0)


def lines():
    """Yield once for each line that the measuring process sends."""
    for line in sys.stdin:
        yield line.strip()


# ---- windows -----------------------------------------------------------------------------------------------------


def three_plots(width=None, height=None, *, like_ours=False):
    """Return (application, window, plots, curves): a bare window with three plots of 256 points.

    `like_ours` fixes the axes and smooths the lines, so that the same picture is drawn as in the program's plots.
    """
    from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget

    application = QApplication([])
    import numpy as np
    import pyqtgraph as pg

    window = QWidget()
    layout = QVBoxLayout(window)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(0)
    values = np.random.default_rng(123).standard_normal((3, 256), dtype=np.float32)
    plots, curves = [], []
    for row in values:
        plot = pg.PlotWidget()
        curves.append(plot.plot(row, antialias=like_ours))
        if like_ours:
            plot.setXRange(0, 255)
            plot.setYRange(-4, 4)
            plot.disableAutoRange()
        layout.addWidget(plot)
        plots.append(plot)
    if width:
        window.resize(width, height)
    else:
        from PySide6.QtCore import QSize

        window.resize(QSize(1440, 900).boundedTo(window.screen().availableSize()))
    return application, window, plots, curves


def window():
    """Show a window with three plots and say when it is painted."""
    application, shown, plots, _ = three_plots()
    when_painted(plots[0].viewport(), lambda: (emit(), leave()))
    shown.show()
    application.exec()


def when_painted(widget, then):
    """Call `then` once the widget is painted, and whatever else is painted with it."""
    from PySide6.QtCore import QEvent, QObject, QTimer

    class Filter(QObject):
        def eventFilter(self, _watched, event):
            if event.type() is QEvent.Type.Paint:
                widget.removeEventFilter(self)
                QTimer.singleShot(0, then)
            return False

    widget.installEventFilter(Filter(widget))


class PaintCounter:
    """Counts the paintings of widgets, which costs a window nothing that it would notice."""

    def __init__(self, widgets):
        from PySide6.QtCore import QEvent, QObject

        class Filter(QObject):
            def __init__(self, counter, place, widget):
                super().__init__(widget)
                self.counter, self.place = counter, place

            def eventFilter(self, _watched, event):
                if event.type() is QEvent.Type.Paint:
                    self.counter.seen[self.place] += 1
                return False

        self.seen = [0] * len(widgets)
        for place, widget in enumerate(widgets):
            widget.installEventFilter(Filter(self, place, widget))

    def wait(self, before, application, seconds=5.0):
        """Let the window paint until each widget was painted since `before`; say whether that came to pass."""
        deadline = time.perf_counter() + seconds
        while any(now == then for now, then in zip(self.seen, before, strict=True)):
            if time.perf_counter() > deadline:
                return False
            application.processEvents()
        return True


def curves(width, height, count):
    """Give three curves new values and paint them, `count` times for each line that is read; print the seconds."""
    import numpy as np

    application, shown, plots, drawn = three_plots(int(width), int(height), like_ours=True)
    shown.show()
    settle(application, 0.5)
    counter = PaintCounter([plot.viewport() for plot in plots])
    x = np.arange(256)
    values = np.random.default_rng(1).standard_normal((32, 3, 256), dtype=np.float32)
    emit()
    for _ in lines():
        took = []
        for i in range(int(count)):
            before = list(counter.seen)
            start = time.perf_counter()
            for curve, row in zip(drawn, values[i % 32], strict=True):
                curve.setData(x, row)
            counter.wait(before, application)
            took.append(time.perf_counter() - start)
            settle(application, 0.002)
        emit(took=took)
    leave()


def key(width, height, count):
    """Type into Qt's own editor beside three plots, give them new values and paint all; print the seconds."""
    import numpy as np

    application, shown, plots, drawn = three_plots(int(width), int(height), like_ours=True)
    from PySide6.QtTest import QTest
    from PySide6.QtWidgets import QPlainTextEdit
    from texts import prose, typed

    editor = QPlainTextEdit()
    shown.layout().addWidget(editor)
    shown.resize(int(width), int(height) + 150)
    shown.show()
    editor.setFocus()
    settle(application, 0.5)
    counter = PaintCounter([editor.viewport(), *(plot.viewport() for plot in plots)])
    x = np.arange(256)
    values = np.random.default_rng(1).standard_normal((32, 3, 256), dtype=np.float32)
    emit()
    for _ in lines():
        editor.setPlainText(prose(1000))
        settle(application, 0.1)
        took = []
        for i, character in enumerate(typed(int(count))):
            before = list(counter.seen)
            start = time.perf_counter()
            QTest.keyClick(editor, character)
            for curve, row in zip(drawn, values[i % 32], strict=True):
                curve.setData(x, row)
            counter.wait(before, application)
            took.append(time.perf_counter() - start)
            settle(application, 0.002)
        emit(took=took)
    leave()


def settle(application, seconds):
    """Let the window do what it wants for a while."""
    until = time.perf_counter() + seconds
    while True:
        application.processEvents()
        left = until - time.perf_counter()
        if left <= 0:
            return
        time.sleep(min(left, 0.001))


class Heartbeat:
    """A timer of the window's thread; the longest time between two beats is the longest stall of the window."""

    def __init__(self, milliseconds=1):
        from PySide6.QtCore import Qt, QTimer

        self.longest = 0.0
        self.longest_since = 0.0
        self._last = None
        self._timer = QTimer(interval=milliseconds, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._beat)

    def start(self):
        """Begin to beat, and forget earlier stalls."""
        self.longest, self._last = 0.0, time.perf_counter()
        self._timer.start()

    def stop(self):
        """Return the longest stall in seconds."""
        self._beat()
        self._timer.stop()
        return self.longest

    def _beat(self):
        now = time.perf_counter()
        self.longest = max(self.longest, now - self._last)
        self._last = now


def stall():
    """Import torch and make two layers in a thread behind a bare window; print the window's longest stall."""
    import threading

    from PySide6.QtCore import QTimer

    application, shown, plots, _ = three_plots()
    heartbeat = Heartbeat()
    work = threading.Thread(target=two_layers)
    watch = QTimer(interval=5)

    def begin():
        heartbeat.start()
        work.start()
        watch.start()

    def look():
        if not work.is_alive():
            watch.stop()
            emit(stall=heartbeat.stop())
            leave()

    watch.timeout.connect(look)
    when_painted(plots[0].viewport(), begin)
    shown.show()
    application.exec()


def checkpoint(width, height, *paths):
    """Open each file with safetensors, read two rows and paint them and their sum; print the seconds."""
    from safetensors import safe_open

    application, shown, plots, drawn = three_plots(int(width), int(height), like_ours=True)
    shown.show()
    settle(application, 0.5)
    counter = PaintCounter([plot.viewport() for plot in plots])
    emit()
    for turn, _ in enumerate(lines()):
        took = []
        for path in paths:
            before = list(counter.seen)
            start = time.perf_counter()
            with safe_open(path, "np") as file:
                token, position = (file.get_slice(name)[turn : turn + 1][0] for name in ("wte.weight", "wpe.weight"))
            for curve, row in zip(drawn, (token, position, token + position), strict=True):
                curve.setData(row)
            counter.wait(before, application)
            took.append(time.perf_counter() - start)
            settle(application, 0.1)
        emit(took=took)
    leave()


def tokens(width, height, path, batches, count):
    """Read the IDs of a batch of 32 and give three curves new values, `count` times a line; print the seconds."""
    import json
    import os
    import pathlib

    import numpy as np

    application, shown, plots, drawn = three_plots(int(width), int(height), like_ours=True)
    shown.show()
    settle(application, 0.5)
    counter = PaintCounter([plot.viewport() for plot in plots])
    left = json.loads(pathlib.Path(batches).read_text(encoding="utf-8"))
    x = np.arange(256)
    values = np.random.default_rng(1).standard_normal((32, 3, 256), dtype=np.float32)
    file = os.open(path, os.O_RDONLY)
    emit()
    for turn, _ in enumerate(lines()):
        took, pread = [], []
        for i in range(int(count)):
            batch = left[(turn * int(count) + i) % len(left)]
            before = list(counter.seen)
            start = time.perf_counter()
            ids = np.frombuffer(os.pread(file, 64, 64 * batch), "<u2")
            pread.append(time.perf_counter() - start)
            for curve, row in zip(drawn, values[ids[0] % 32], strict=True):
                curve.setData(x, row)
            counter.wait(before, application)
            took.append(time.perf_counter() - start)
            settle(application, 0.002)
        emit(took=took, pread=sorted(pread)[len(pread) // 2])
    leave()


# ---- without a window --------------------------------------------------------------------------------------------


def two_layers():
    """Return the two seeded layers of the lesson."""
    import torch

    torch.manual_seed(123)
    return torch.nn.Embedding(50257, 256), torch.nn.Embedding(4, 256)


def torch():
    """Import torch and make the two layers."""
    two_layers()
    emit()
    leave()


def vocabulary(path):
    """Load a vocabulary into tiktoken."""
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe
    from tiktoken_ext.openai_public import r50k_pat_str

    tiktoken.Encoding(
        "gpt2",
        explicit_n_vocab=50257,
        pat_str=r50k_pat_str,
        mergeable_ranks=load_tiktoken_bpe(path),
        special_tokens={"<|endoftext|>": 50256},
    )


def memory():
    """Hold torch, both tables and a window with three plots; print the memory of the process when asked."""
    application, shown, _, _ = three_plots()
    kept = two_layers()
    shown.show()
    settle(application, 1.0)
    emit_memory(application)
    del kept
    leave()


def emit_memory(application):
    """Say that all is there, and print the memory of the process for each line that is read."""
    import psutil

    emit()
    for _ in lines():
        settle(application, 0.3)
        full = psutil.Process().memory_full_info()
        emit(rss=full.rss, uss=full.uss, pss=getattr(full, "pss", full.rss))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
