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

    def shown(self, begin, there, counter):
        """Return the seconds from `begin()` until what is `there()` with the newest rows is painted."""
        before = []

        def look(_=None):
            if not before and there():
                before.extend(counter.seen)

        self.session.rows_changed.connect(look)  # after the panels' own slots
        start = time.perf_counter()
        begin()
        self.live_until(lambda: before)
        assert counter.wait(before, self.application), "nothing was painted"
        seconds = time.perf_counter() - start
        self.session.rows_changed.disconnect(look)
        return seconds

    def open(self, path, there, counter):
        """Open a file and return the seconds until what is `there()` is painted."""
        return self.shown(lambda: self.program.window.document.open([pathlib.Path(path)]), there, counter)

    def live_until(self, true, seconds=60.0):
        """Let the window live, as its own event loop would, until something is true."""
        from PySide6.QtCore import QEventLoop

        deadline = time.perf_counter() + seconds
        while not true():
            assert time.perf_counter() < deadline, "the window did not get there"
            # Given a time too, it would never wait, and take the interpreter from the other threads.
            self.application.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)


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


def checkpoint(*paths):
    """Open each checkpoint for each line that is read; print the seconds until its rows are painted, and the memory."""
    import psutil

    def work(hand):
        curves = PaintCounter([hand.view.viewport()])
        process = psutil.Process()
        emit(width=hand.view.width(), height=hand.view.height(), rss=process.memory_info().rss)
        for _ in lines():
            took = []
            for path in paths:

                def there(path=path):
                    session = hand.session
                    return session.rows.trace is not None and session.config.checkpoint == path and not session.busy

                took.append(hand.open(path, there, curves))
                settle(hand.application, 0.1)
            emit(took=took, rss=process.memory_info().rss)

    in_hand(work)


def tokens(path, batches, count):
    """Open a file of IDs and jump to `count` of the batches for each line that is read; print the seconds of each."""
    import json

    def work(hand):
        session = hand.session
        left = json.loads(pathlib.Path(batches).read_text(encoding="utf-8"))
        hand.open(path, lambda: session.result.material.id_file is not None, hand.painted)
        settle(hand.application, 0.5)
        emit(width=hand.view.width(), height=hand.view.height())
        for turn, _ in enumerate(lines()):
            took = []
            for i in range(int(count)):
                batch = left[(turn * int(count) + i) % len(left)]

                def there(batch=batch):
                    return session.result.batch == batch and session.rows.trace is not None

                took.append(hand.shown(lambda batch=batch: session.set_batch(batch), there, hand.painted))
                settle(hand.application, 0.002)
            emit(took=took)

    in_hand(work)


def rate(path, cache):
    """Encode a text as the program does, and each piece of it once more with tiktoken alone, in turns; print both."""
    import os

    os.environ["XDG_CACHE_HOME"] = cache
    import tiktoken

    from inspector.files.source import Source
    from inspector.files.text_files import open_text
    from inspector.files.text_pieces import piece_at
    from inspector.tokenizer import gpt2

    encoding, source, path = gpt2()._encoding, Source(pathlib.Path(path)), pathlib.Path(path)
    pieces, done = [], 0
    while done < source.size:
        pieces.append(piece_at(source, done).decode())
        done += len(pieces[-1].encode())
    waiting, alone = iter(pieces), 0.0
    tiktoken.Encoding.encode_ordinary(encoding, pieces[0])

    def take_turns():
        nonlocal alone
        start = time.perf_counter()
        tiktoken.Encoding.encode_ordinary(encoding, next(waiting, ""))
        alone += time.perf_counter() - start
        return False

    start = time.perf_counter()
    store = open_text(path, "plain")
    store.encode(cancelled=take_turns)
    ours = time.perf_counter() - start - alone
    assert next(waiting, None) is None
    emit(ours=ours, alone=alone)
    leave()


def encoding(path, cache):
    """Open a text, let it be encoded, open it again; print the longest stall and the seconds of each opening."""
    import os

    os.environ["XDG_CACHE_HOME"] = cache

    def work(hand):
        session = hand.session

        def store():
            return None if session.config.text_file is None else session.result.material.tokens

        heartbeat = Heartbeat()
        heartbeat.start()
        first = hand.open(path, lambda: store() is not None and session.rows.trace is not None, hand.painted)
        hand.live_until(lambda: store().complete and not session.busy, seconds=200)
        settle(hand.application, 0.3)
        stalled = heartbeat.stop()
        hand.set_text("Another text in between.")
        settle(hand.application, 0.3)
        again = hand.open(path, lambda: store() is not None and store().complete, hand.painted)
        emit(stall=stalled, first=first, again=again, count=store().count)

    in_hand(work)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
