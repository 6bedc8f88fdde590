"""The PySide6 at hand is one of those that do not lose a reference to None on every void call (6.12.0 does)."""

import sys

from PySide6.QtCore import QObject

CALLS = 200


def test_void_calls_keep_the_references_to_none() -> None:
    thing = QObject()
    before = sys.getrefcount(None)
    for _ in range(CALLS):
        thing.setObjectName("name")
    assert abs(sys.getrefcount(None) - before) < CALLS // 4
