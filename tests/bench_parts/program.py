"""The program itself, begun as `python main.py` begins it, with something that watches it. One process each.

Run as `python program.py NAME [ARGUMENT ...]`; each prints lines of JSON.
"""

import pathlib
import sys
import time

from bare import Heartbeat, PaintCounter, emit, emit_memory, leave, lines, settle, when_painted

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))


def run(begun):
    """Run the program; `begun` is called with its `Program` before the window is shown."""
    from inspector import cli
    from inspector.ui import app

    class Watched(app.Program):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            begun(self)

    app.Program = Watched
    cli.main([])


def when_drawn(program, then):
    """Call `then` once a real curve is painted."""
    waiting = []

    def look(rows):
        if rows.trace is not None and not waiting:
            waiting.append(True)
            when_painted(program.window.rows_panel.view.viewport(), then)

    program.session.rows_changed.connect(look)  # after the panel's own slot


def window():
    """Say when the window is painted for the first time."""
    run(lambda program: program.window.painted.connect(lambda _: (emit(), leave())))


def ready():
    """Say when torch's first curve is painted."""
    run(lambda program: when_drawn(program, lambda: (emit(), leave())))


def stall():
    """Print the longest stall between the first painted window and the first painted curve."""
    heartbeat = Heartbeat()

    def begun(program):
        program.window.painted.connect(lambda _: heartbeat.start())
        when_drawn(program, lambda: (emit(stall=heartbeat.stop()), leave()))

    run(begun)


def memory():
    """Print the memory of the process when asked, once the first curve is drawn and all is quiet."""

    def begun(program):
        def drawn():
            from PySide6.QtWidgets import QApplication

            settle(QApplication.instance(), 1.0)
            emit_memory(QApplication.instance())
            leave()

        when_drawn(program, drawn)

    run(begun)


class Hand:
    """Clicks and types in the window as a person does, and knows when what came of it is painted."""

    def __init__(self, program):
        from PySide6.QtWidgets import QApplication

        self.application = QApplication.instance()
        self.program = program
        self.session = program.session
        self.grid = program.window.batch_panel.grid
        self.editor = program.window.text_panel.editor
        self.view = program.window.rows_panel.view
        self.painted = PaintCounter([self.view.viewport(), self.grid.viewport()])

    def click(self, row, column):
        """Click on a cell and return the seconds until grid and curves are painted."""
        from PySide6.QtCore import Qt
        from PySide6.QtTest import QTest

        place = self.grid.visualRect(self.grid.model().index(row, column)).center()
        before = list(self.painted.seen)
        start = time.perf_counter()
        QTest.mouseClick(self.grid.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place)
        assert self.painted.wait(before, self.application), "no curve was painted after a click"
        return time.perf_counter() - start

    def type(self, character):
        """Type a character and return the seconds until grid and curves are painted."""
        from PySide6.QtTest import QTest

        before = list(self.painted.seen)
        start = time.perf_counter()
        QTest.keyClick(self.editor, character)
        assert self.painted.wait(before, self.application), "no curve was painted after a key"
        return time.perf_counter() - start

    def set_text(self, text):
        """Give the window another text and put the caret into the third word of its first batch."""
        self.session.set_text(text)
        self.live_until(lambda: self.session.result.config.text == text and not self.session.busy)
        self.editor.setFocus()
        self.editor.set_caret(8)
        settle(self.application, 0.3)

    def live_until(self, true, seconds=60.0):
        """Let the window live, as its own event loop would, until something is true."""
        from PySide6.QtCore import QEventLoop

        deadline = time.perf_counter() + seconds
        while not true():
            assert time.perf_counter() < deadline, "the window did not get there"
            self.application.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents, 100)


def in_hand(work):
    """Run the program and, once its first curve is drawn and all is quiet, `work(hand)`."""

    def begun(program):
        def drawn():
            hand = Hand(program)
            settle(hand.application, 0.5)
            work(hand)
            leave()

        when_drawn(program, drawn)

    run(begun)


def click(count):
    """Click through the grid `count` times for each line that is read; print the seconds of each click."""

    def work(hand):
        emit(width=hand.view.width(), height=hand.view.height())
        for _ in lines():
            took = []
            for i in range(int(count)):
                took.append(hand.click(*divmod((i * 13 + 1) % 32, 4)))
                settle(hand.application, 0.002)
            emit(took=took)

    in_hand(work)


def key(length, count):
    """Type `count` characters into a text of `length` for each line that is read; print the seconds of each key."""
    from texts import prose, typed

    def work(hand):
        emit()
        for _ in lines():
            hand.set_text(prose(int(length)))
            took = []
            for character in typed(int(count)):
                took.append(hand.type(character))
                settle(hand.application, 0.002)
            emit(took=took)

    in_hand(work)


def burst(length, in_lines, count, pause):
    """Type a burst into a long text, `pause` milliseconds between keys; for each line that is read print what came.

    `stall` is the longest stall of the window from the first key until the result of the last one is painted, `late`
    the seconds from the last key to that, `shown` how many results were shown, `wrong` those of them whose text was
    not the newest any more.
    """
    from texts import prose, typed

    def work(hand):
        from PySide6.QtCore import QObject, QTimer, Slot
        from PySide6.QtTest import QTest

        class Watch(QObject):
            shown = wrong = 0
            before = ()

            @Slot(object)
            def on_result(self, result):
                self.shown += 1
                self.wrong += result.config.text != hand.session.config.text
                self.before = list(hand.painted.seen)

        watch = Watch()
        hand.session.result_changed.connect(watch.on_result)
        emit()
        for _ in lines():
            text = prose(int(length), lines=in_lines == "lines")
            hand.set_text(text)
            watch.shown = watch.wrong = 0
            heartbeat = Heartbeat()
            left = list(typed(int(count)))[::-1]

            def press(left=left):
                if left:
                    QTest.keyClick(hand.editor, left.pop())

            timer = QTimer(interval=int(pause))
            timer.timeout.connect(press)
            heartbeat.start()
            timer.start()
            hand.live_until(lambda left=left: not left)
            timer.stop()
            start = time.perf_counter()
            hand.live_until(lambda: hand.session.result.config.text == hand.session.config.text)
            hand.painted.wait(watch.before, hand.application)
            late = time.perf_counter() - start
            hand.live_until(lambda: not hand.session.busy)
            stalled = heartbeat.stop()
            assert len(hand.session.config.text) == len(text) + int(count), "a key was lost"
            emit(stall=stalled, late=late, shown=watch.shown, wrong=watch.wrong)

    in_hand(work)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
