"""The values a verdict is made of: stages, severities, diagnoses, and the kinds of fault they belong to."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


class Stage(StrEnum):
    """A place where something can be wrong, in the order in which diagnoses are reported."""

    FILE = "file"
    MODEL = "model"
    TOKENIZER = "tokenizer"
    DATA_LOADER = "data_loader"
    TOKEN_EMBEDDING = "token_embedding"
    POSITION_EMBEDDING = "position_embedding"
    SEGMENT_EMBEDDING = "segment_embedding"
    SUM = "sum"


class Severity(StrEnum):
    """How bad it is: `error` fails or gives a wrong result, `warning` is likely not meant, `note` is worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Status(StrEnum):
    """What became of a stage."""

    OK = "ok"
    FAULT = "fault"
    BLOCKED = "blocked"
    UNUSED = "unused"


STAGE_ORDER = {stage: index for index, stage in enumerate(Stage)}
SEVERITY_ORDER = {severity: index for index, severity in enumerate(Severity)}


class Cell(NamedTuple):
    """A place in the batch: row (the sample) and column (the position in it)."""

    row: int
    column: int


class StageShape(NamedTuple):
    """What goes into a stage, the table it looks up in, what comes out; None where that is not known."""

    stage: Stage
    input: tuple[int, ...] | None
    table: tuple[int, ...] | None
    output: tuple[int, ...] | None
    status: Status


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One cause, reported once, with all its cells.

    `message` says what is wrong and stands alone; only `help` says what to do. `torch` is what PyTorch itself says
    ("no error" where it says nothing). `fix` is the smallest change of inspection-file fields that clears it.
    """

    code: str
    name: str
    stage: Stage
    severity: Severity
    message: str
    help: str
    torch: str
    cells: tuple[Cell, ...] = ()
    fields: tuple[str, ...] = ()
    fix: Mapping[str, Any] | None = None
    subject: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def order(self) -> tuple[int, int, tuple[Cell, ...]]:
        """Where it comes in a report: by stage, severity, first cell."""
        return STAGE_ORDER[self.stage], SEVERITY_ORDER[self.severity], self.cells[:1]


@dataclass(frozen=True, slots=True)
class Fault:
    """A kind of fault: what the catalogue knows of it, and the check that finds it.

    `check` takes the facts of an inspection and yields what it finds. `example` is an inspection file that shows
    exactly this fault; `explanation` is the page that `explain` prints.
    """

    code: str
    name: str
    stage: Stage
    severity: Severity
    torch: str
    summary: str
    explanation: str
    example: Mapping[str, Any]
    check: Callable[[Any], Iterable[Diagnosis]]

    def diagnosis(
        self,
        message: str,
        help: str,  # noqa: A002 - the report's own key
        *,
        severity: Severity | None = None,
        torch: str | None = None,
        cells: Iterable[Cell] = (),
        fields: Iterable[str] = (),
        fix: Mapping[str, Any] | None = None,
        subject: str | None = None,
        data: Mapping[str, Any] | None = None,
    ) -> Diagnosis:
        """Return a diagnosis of this kind, with the kind's severity and torch's usual words unless others are given."""
        return Diagnosis(
            code=self.code,
            name=self.name,
            stage=self.stage,
            severity=self.severity if severity is None else severity,
            message=message,
            help=help,
            torch=self.torch if torch is None else torch,
            cells=tuple(cells),
            fields=tuple(fields),
            fix=fix,
            subject=subject,
            data=data or {},
        )
