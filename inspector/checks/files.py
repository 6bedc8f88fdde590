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
    torch="FileNotFoundError: No such file or directory",
    example={"text_file": "a-file-that-is-not-there.txt"},
)
def file_unreadable(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """A file that the inspection names cannot be read.

    It is not there, is a folder, or may not be read. Paths in an inspection are relative to the inspection file itself,
    not to the folder the program was started in.
    """
    missing = facts.unreadable
    if missing is not None:
        yield kind.diagnosis(
            f"{missing.path} cannot be read: {missing.reason}",
            "check the path, which is relative to the inspection file, and the permission to read it",
            fields=[missing.field],
            subject=missing.path,
        )
