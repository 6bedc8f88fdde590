"""Faults of the files an inspection names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector.checks.registry import fault
from inspector.diagnosis import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inspector.diagnosis import Diagnosis, Fault
    from inspector.facts import Facts


@fault(
    code="F601",
    name="file-unreadable",
    stage=Stage.FILE,
    torch="FileNotFoundError: [Errno 2] No such file or directory",
    example={"text_file": "a-file-that-is-not-there.txt"},
)
def file_unreadable(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """A file that the inspection names cannot be read.

    It is not there, is a folder, or may not be read. No tensor is made, so the device plays no part: it is the same
    everywhere.

    How people meet it: paths in an inspection are relative to the inspection file itself, not to the folder the program
    was started in; a notebook's working folder is not the notebook's own on every server.

    What does not help: copying the file next to the program. Write paths that do not depend on where one stands:

        from pathlib import Path

        path = Path("texts") / "sample.txt"
        print(path.resolve())      # where Python would look
        print(path.is_file())
    """
    missing = facts.unreadable
    if missing is not None:
        yield kind.diagnosis(
            f"{missing.path} cannot be read: {missing.reason}",
            "check the path, which is relative to the inspection file, and the permission to read it",
            fields=[missing.field],
            subject=missing.path,
        )
