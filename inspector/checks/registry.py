"""Where kinds of fault are registered: the one place to look for what the program can find."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from inspector.diagnosis import Fault, Severity, Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from inspector.diagnosis import Diagnosis
    from inspector.facts import Facts

    Check = Callable[[Fault, Facts], Iterable[Diagnosis]]

FAULTS: list[Fault] = []


def fault(
    *, code: str, name: str, stage: Stage, torch: str, example: Mapping[str, Any], severity: Severity = Severity.ERROR
) -> Callable[[Check], Check]:
    """Register a check as a kind of fault.

    The decorated function gets the kind and the facts and yields diagnoses, made with `kind.diagnosis(...)`. The
    first line of its docstring is the fault's summary, the rest the page that `explain` prints (Markdown).

    Args:
        code: a letter for the stage and three digits.
        name: what is wrong, in words joined by hyphens; the same fault in another layer has the same name.
        stage: the stage at fault.
        torch: what PyTorch says by itself, "no error" where it says nothing.
        example: an inspection file that shows this fault and no other error.
        severity: how bad it is, unless a diagnosis says otherwise.

    Raises:
        ValueError: the same code and name are registered already.
    """

    def register(check: Check) -> Check:
        if any((known.code, known.name) == (code, name) for known in FAULTS):
            raise ValueError(f"{code} {name} is registered twice")
        summary, _, page = inspect.cleandoc(check.__doc__ or "").partition("\n")
        kind = Fault(
            code=code,
            name=name,
            stage=stage,
            severity=severity,
            torch=torch,
            summary=summary,
            explanation=page.strip(),
            example=example,
            check=lambda facts: check(kind, facts),
        )
        FAULTS.append(kind)
        return check

    return register
