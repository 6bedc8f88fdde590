"""What a diagnosis says PyTorch says is what PyTorch says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspector import checks, inspection_file, pipeline, resources, tokenizer
from inspector.diagnosis import Severity, Stage
from tests.inspections import inspection
from tests.oracle import says

if TYPE_CHECKING:
    from inspector.diagnosis import Diagnosis, Fault

KINDS = [kind for kind in checks.FAULTS if kind.code[0] not in "FMX" and kind.name != "rows-not-finite"]


def judged(example: Any) -> list[Diagnosis]:
    return list(pipeline.run(pipeline.Request(inspection_file.from_mapping(example))).diagnoses)


def agrees(stated: str, said: str) -> bool:
    """Return whether torch said what was stated; words in a closing bracket say when it does."""
    if stated.startswith("no error"):
        return said == "no error"
    return said.startswith(re.sub(r" \([a-z, -]+\)$", "", stated))


# Said when the file is written, or said by a later stage.
SAID_ELSEWHERE = {"ids-dtype-overflow", "batch-axes-swapped"}
TEXT = {"text": resources.text("sample.txt").strip()}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.code}-{kind.name}")
def test_the_words_of_an_example(kind: Fault) -> None:
    if kind.name == "special-token-in-text":
        with pytest.raises(ValueError, match="disallowed special token") as caught:
            tokenizer.gpt2()._encoding.encode(kind.example["text"])
        assert agrees(kind.torch, f"ValueError: {caught.value}")
        return
    has_source = {"token_ids", "text"} & set(kind.example)
    said = says({**({} if has_source else TEXT), **kind.example})
    (found,) = [d for d in judged(kind.example) if (d.code, d.name) == (kind.code, kind.name)]
    assert agrees(found.torch, said), (found.torch, said)
    assert kind.name in SAID_ELSEWHERE or agrees(kind.torch, said), (kind.torch, said)


@settings(max_examples=1500, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**64 - 1))
def test_the_words_of_a_single_fault(seed: int) -> None:
    made = inspection(seed, changes=2)
    found = [d for d in judged(made) if d.severity is Severity.ERROR]
    if len(found) != 1 or (made.get("loader") or {}).get("max_length", 1) < 0:
        return  # of several faults torch names the first it meets; a negative slice says one thing or another
    (only,) = found
    said = says(made)
    if only.stage is Stage.DATA_LOADER and only.torch.startswith("no error"):
        return  # without a batch nothing behind it was judged
    if only.name == "constructor-argument-invalid" and said.startswith("AssertionError: Padding_idx"):
        return  # a table of -1 rows has no row for any padding either
    assert agrees(only.torch, said), (only.message, only.torch, said)
