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
    yield from _trouble(kind, facts)


def _trouble(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """Yield what is wrong with a file that the inspection names, where it is of this kind."""
    trouble = facts.material.trouble
    if trouble is not None and trouble.trouble == kind.name:
        yield kind.diagnosis(
            f"{trouble.path} {trouble.reason}",
            trouble.help,
            fields=[facts.material.field],
            subject=trouble.path,
        )


@fault(
    code="F602",
    name="file-truncated",
    stage=Stage.FILE,
    torch="SafetensorError: Error while deserializing header: incomplete metadata, file not fully covered",
    example={"token_ids": [[1, 2, 3]], "checkpoint": "examples/truncated.safetensors"},
)
def file_truncated(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """A file ends before what it promises.

    Its header names more bytes than the file has. A download or a copy was interrupted, the disk was full when it was
    saved, or training was stopped while it wrote. The device plays no part: reading fails the same way everywhere, in a
    `SafetensorError`, a `PytorchStreamReader failed`, or an `EOFError`.

    What does not help: `strict=False`, another version of the library. The missing bytes are nowhere. Compare the size
    with the one where it came from, and copy it again:

        import hashlib
        from pathlib import Path

        path = Path("model.safetensors")
        if path.is_file():
            print(path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest())
    """
    yield from _trouble(kind, facts)


@fault(
    code="F603",
    name="not-recognised",
    stage=Stage.FILE,
    torch="SafetensorError: Error while deserializing header: header too large",
    example={"token_ids": [[1, 2, 3]], "checkpoint": "examples/pointer.safetensors"},
)
def not_recognised(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """A file is not what its name says, or of a kind that this program does not know.

    Often it is a pointer of a few lines that stands for a large file (Git LFS), a web page with an error message saved
    under the model's name, or a file of another format with a changed ending. Libraries complain of a header that is
    too large, a bad magic number or an invalid key. The device plays no part.

    What does not help: renaming it. Look at its first bytes:

        from pathlib import Path

        path = Path("model.safetensors")
        if path.is_file():
            with path.open("rb") as file:
                print(file.read(64))
    """
    yield from _trouble(kind, facts)


@fault(
    code="F604",
    name="pickle-refused",
    stage=Stage.FILE,
    torch="UnpicklingError: Weights only load failed",
    example={"token_ids": [[1, 2, 3]], "checkpoint": "examples/code.pt"},
)
def pickle_refused(kind: Fault, facts: Facts) -> Iterator[Diagnosis]:
    """A file needs code to be opened, and code from a file is never run.

    `torch.save(model, path)` pickles the whole model: opening it imports its classes and runs what the file says. Such
    a file can do anything to the machine it is opened on. `torch.load` refuses it since torch 2.6 unless it is told
    `weights_only=False`; this program always refuses it.

    What does not help: `weights_only=False` for a file from a stranger. Whoever has the model saves its weights alone:

        import torch

        model = torch.nn.Embedding(10, 4)
        torch.save(model.state_dict(), "weights.pt")
        print(torch.load("weights.pt", weights_only=True).keys())
    """
    yield from _trouble(kind, facts)
