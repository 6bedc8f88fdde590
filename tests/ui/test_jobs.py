"""A lane of background work: only the newest request counts, whatever the threads do."""

from __future__ import annotations

import threading

import pytest

from inspector.ui.jobs import Lane


class Listener:
    """Keeps what a lane reports, in order."""

    def __init__(self, lane):
        self.heard = []
        lane.done.connect(lambda value: self.heard.append(("done", value)))
        lane.failed.connect(lambda error: self.heard.append(("failed", error)))
        lane.progressed.connect(lambda fraction: self.heard.append(("progressed", fraction)))
        lane.busy_changed.connect(lambda busy: self.heard.append(("busy", busy)))


@pytest.fixture
def lane(qapp):
    made = Lane("test")
    yield made
    made.close()


def test_reports_what_the_work_returns(lane, qtbot):
    listener = Listener(lane)
    threads = []

    def work(job):
        threads.append(threading.get_ident())
        job.progress(0.5)
        return ["the", "same", "object"]

    with qtbot.waitSignal(lane.done):
        lane.submit(work)
        assert lane.busy
    assert listener.heard == [
        ("busy", True),
        ("progressed", 0.5),
        ("busy", False),
        ("done", ["the", "same", "object"]),
    ]
    assert not lane.busy
    assert threads != [threading.get_ident()]


def test_reports_what_the_work_raises(lane, qtbot):
    error = ValueError("not today")

    def work(_):
        raise error

    with qtbot.waitSignal(lane.failed) as failed:
        lane.submit(work)
    assert failed.args == [error]
    assert not lane.busy


def test_a_newer_request_replaces_the_older(lane, qtbot):
    listener = Listener(lane)
    started, go_on = threading.Event(), threading.Event()
    seen = []

    def old(job):
        started.set()
        assert go_on.wait(5)
        seen.append(job.cancelled())
        job.progress(0.9)
        return "old"

    lane.submit(old)
    assert started.wait(5)
    with qtbot.waitSignal(lane.done) as done:
        lane.submit(lambda _: "new")
        go_on.set()
    assert done.args == ["new"]
    assert seen == [True]
    assert listener.heard == [("busy", True), ("busy", False), ("done", "new")]


def test_a_request_that_waits_for_its_turn_is_dropped_too(lane, qtbot):
    started, go_on = threading.Event(), threading.Event()
    ran = []

    def first(_):
        started.set()
        assert go_on.wait(5)

    lane.submit(first)
    assert started.wait(5)
    for number in range(20):
        lane.submit(lambda _, n=number: ran.append(n))
    with qtbot.waitSignal(lane.done):
        go_on.set()
    assert ran == [19]


def test_cancelled_work_reports_nothing(lane, qtbot):
    listener = Listener(lane)
    started, ended = threading.Event(), threading.Event()

    def work(job):
        started.set()
        while not job.cancelled():
            ended.wait(0.001)
        ended.set()
        return "late"

    lane.submit(work)
    assert started.wait(5)
    lane.cancel()
    assert not lane.busy
    assert ended.wait(5)
    with qtbot.waitSignal(lane.done) as done:
        lane.submit(lambda _: "next")
    assert done.args == ["next"]
    assert [word for word, _ in listener.heard] == ["busy", "busy", "busy", "busy", "done"]


def test_a_result_on_its_way_is_dropped_when_cancelled(lane, qapp):
    listener = Listener(lane)
    finished = threading.Event()
    lane.submit(lambda _: finished.set())
    assert finished.wait(5)
    lane.cancel()
    lane.close()
    qapp.processEvents()
    assert listener.heard == [("busy", True), ("busy", False)]


def test_close_waits_for_work_that_runs(lane, qapp):
    listener = Listener(lane)
    started = threading.Event()
    ended = []

    def work(job):
        started.set()
        while not job.cancelled():
            pass
        ended.append(True)

    lane.submit(work)
    assert started.wait(5)
    lane.close()
    assert ended == [True]
    qapp.processEvents()
    assert listener.heard == [("busy", True)]


def test_fifty_cycles_of_start_and_cancel(lane, qtbot):
    listener = Listener(lane)
    for number in range(50):
        lane.submit(lambda job, n=number: job.progress(n / 50))
        if number % 2:
            lane.cancel()
    with qtbot.waitSignal(lane.done) as done:
        lane.submit(lambda _: "at last")
    assert done.args == ["at last"]
    assert [value for word, value in listener.heard if word == "done"][-1] == "at last"


def test_fifty_lanes_begun_and_closed(qapp):
    for _ in range(50):
        lane = Lane("short")
        lane.submit(lambda job: job.cancelled())
        lane.close()
