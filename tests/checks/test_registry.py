"""The catalogue: every kind of fault shows in its own example, and what it proposes clears it."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings

from inspector import checks, config, inspection_file, pipeline
from inspector.checks.registry import fault
from inspector.diagnosis import Severity, Stage
from tests.inspections import inspections

if TYPE_CHECKING:
    from inspector.diagnosis import Diagnosis, Fault
    from inspector.result import Result

T, L = "tokenizer", "data_loader"
E, P, G, S = "token_embedding", "position_embedding", "segment_embedding", "sum"
CATALOGUE = {
    ("T101", "special-token-in-text", T, "error"),
    ("T102", "text-not-unicode", T, "warning"),
    ("T103", "text-empty", T, "note"),
    ("T104", "ids-from-another-tokenizer", T, "error"),
    ("T105", "id-unknown-to-tokenizer", T, "warning"),
    ("B201", "loader-argument-invalid", L, "error"),
    ("B202", "no-sample", L, "error"),
    ("B203", "no-batch", L, "error"),
    ("B204", "samples-dropped", L, "note"),
    ("B205", "tokens-skipped", L, "warning"),
    ("B206", "windows-overlap", L, "note"),
    ("B207", "ids-not-integer", L, "error"),
    ("B208", "ids-dtype-refused", L, "error"),
    ("B209", "ids-dtype-overflow", L, "error"),
    ("B210", "ids-rank", L, "error"),
    ("B211", "ids-negative", L, "error"),
    ("B212", "batch-axes-swapped", L, "error"),
    ("E301", "token-id-out-of-range", E, "error"),
    ("E302", "arguments-transposed", E, "error"),
    ("E303", "layers-exchanged", E, "error"),
    ("E304", "embedding-dim-mismatch", E, "error"),
    ("E305", "constructor-argument-invalid", E, "error"),
    ("E306", "padding-idx-out-of-range", E, "error"),
    ("E307", "padding-idx-on-real-token", E, "warning"),
    ("E308", "max-norm-rewrites-rows", E, "warning"),
    ("E309", "table-smaller-than-tokenizer", E, "warning"),
    ("E310", "table-padded", E, "note"),
    ("P401", "position-out-of-range", P, "error"),
    ("P402", "arguments-transposed", P, "error"),
    ("P403", "embedding-dim-mismatch", P, "error"),
    ("P404", "positions-broadcast", P, "error"),
    ("P405", "positions-on-batch-axis", P, "error"),
    ("P406", "no-position-table", P, "note"),
    ("P407", "position-count-differs", P, "error"),
    ("P408", "constructor-argument-invalid", P, "error"),
    ("P408", "padding-idx-out-of-range", P, "error"),
    ("G451", "segment-id-out-of-range", G, "error"),
    ("G452", "embedding-dim-mismatch", G, "error"),
    ("G453", "constructor-argument-invalid", G, "error"),
    ("S501", "widths-differ", S, "error"),
    ("S502", "dtype-promoted", S, "note"),
    ("F601", "file-unreadable", "file", "error"),
}
# Faults of files and of live models are proved where their readers are; so are rows that are read from them.
KINDS = [
    kind
    for kind in checks.FAULTS
    if kind.code == "F601" or (kind.code[0] not in "FMX" and kind.name != "rows-not-finite")
]
many = settings(max_examples=1500, suppress_health_check=list(HealthCheck))


def name_of(kind: Fault) -> str:
    return f"{kind.code}-{kind.name}"


def judged(inspection: Any) -> Result:
    if not isinstance(inspection, config.InputConfig):
        inspection = inspection_file.from_mapping(inspection)
    return pipeline.run(pipeline.Request(inspection))


def errors(result: Result) -> list[Diagnosis]:
    return [d for d in result.diagnoses if d.severity is Severity.ERROR]


def kind_of(diagnosis: Diagnosis) -> tuple[str, str]:
    return diagnosis.code, diagnosis.name


def own(kind: Fault) -> Diagnosis:
    """Return the diagnosis of a kind's own example."""
    (found,) = [d for d in judged(kind.example).diagnoses if kind_of(d) == (kind.code, kind.name)]
    return found


# ---- the registry ----------------------------------------------------------------------------------------------------


def test_the_catalogue_is_complete() -> None:
    assert {(k.code, k.name, str(k.stage), str(k.severity)) for k in KINDS} == CATALOGUE


def test_kinds_come_in_the_order_of_their_codes() -> None:
    order = [("TBEPGSFMX".index(k.code[0]), k.code) for k in checks.FAULTS]
    assert order == sorted(order)


@pytest.mark.parametrize("kind", checks.FAULTS, ids=name_of)
def test_a_kind_is_found_by_name_code_and_diagnosis(kind: Fault) -> None:
    assert kind in checks.find(kind.name)
    assert kind in checks.find(kind.code.lower())
    made = kind.diagnosis("m", "h")
    assert checks.of(made) is kind
    assert (made.severity, made.torch, made.cells, made.fix, dict(made.data)) == (
        kind.severity,
        kind.torch,
        (),
        None,
        {},
    )


def test_an_unknown_name_finds_nothing() -> None:
    assert checks.find("no-such-fault") == []


def test_a_kind_is_registered_once() -> None:
    known = checks.FAULTS[0]
    with pytest.raises(ValueError, match="T101 special-token-in-text is registered twice"):
        fault(code=known.code, name=known.name, stage=known.stage, torch="", example={})(lambda kind, facts: ())


@pytest.mark.parametrize("kind", checks.FAULTS, ids=name_of)
def test_a_kind_is_documented(kind: Fault) -> None:
    assert re.fullmatch(r"[A-Za-z][^\n]*[^.]\.", kind.summary), "one sentence"
    assert ". " not in kind.summary
    assert len(kind.explanation) >= 400
    assert kind.torch
    assert re.fullmatch(r"[A-Z]\d{3}", kind.code)
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", kind.name)


# ---- examples --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_an_example_shows_its_fault_and_no_other_error(kind: Fault) -> None:
    result = judged(kind.example)
    found = own(kind)
    assert found.stage is kind.stage
    assert found.severity is kind.severity
    others = {kind_of(d) for d in errors(result)} - {(kind.code, kind.name)}
    # Without a text there is no sample either; every other example shows one error, or none.
    assert others == ({("B202", "no-sample")} if kind.name == "text-empty" else set())
    assert result.ok == (kind.severity is not Severity.ERROR and not others)


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_an_example_can_be_saved(kind: Fault) -> None:
    made = inspection_file.from_mapping(kind.example)
    assert inspection_file.from_mapping(inspection_file.to_mapping(made)) == made


# Kinds whose repair lies outside the inspection, or may not be needed at all.
WITHOUT_FIX = {
    *("text-not-unicode", "text-empty", "ids-from-another-tokenizer", "id-unknown-to-tokenizer", "samples-dropped"),
    *("windows-overlap", "ids-dtype-overflow", "ids-negative", "table-padded", "no-position-table", "widths-differ"),
    *("dtype-promoted", "file-unreadable"),
}


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_the_fix_of_an_example_leaves_no_error(kind: Fault) -> None:
    fix = own(kind).fix
    assert (fix is None) == (kind.name in WITHOUT_FIX)
    if fix is None:
        return
    repaired = judged(inspection_file.from_mapping(kind.example).with_values(fix))
    assert errors(repaired) == []
    left = [d for d in repaired.diagnoses if kind_of(d) == (kind.code, kind.name)]
    assert [str(d.severity) for d in left] == (["note"] if kind.name == "special-token-in-text" else [])


# ---- any inspection --------------------------------------------------------------------------------------------------


def all_fields() -> set[str]:
    names = {f.name for f in fields(config.InputConfig)} - {"stated"}
    sections = config.section_types()
    return names | {f"{key}.{f.name}" for key, section in sections.items() for f in fields(section)}


FIELDS = all_fields()


def order(d: Diagnosis) -> tuple[Any, ...]:
    severities = ["error", "warning", "note"]
    return list(Stage).index(d.stage), severities.index(str(d.severity)), d.cells[:1]


@many
@given(inspections())
def test_diagnoses_are_well_made(inspection: dict[str, Any]) -> None:
    result = judged(inspection)
    rows = result.grid.rows
    for d in result.diagnoses:
        assert set(d.fields) | set(d.fix or {}) <= FIELDS
        assert all(0 <= c.row < len(rows) and 0 <= c.column < len(rows[c.row]) for c in d.cells)
        assert len(set(d.cells)) == len(d.cells)
        for words in (d.message, d.help, d.torch):
            assert words
            assert "None" not in words
            assert words == words.strip()
        assert not d.message.endswith(".")
        assert not re.match(r"set |use |give |write ", d.message), "what to do belongs in help"
        assert d.fix is None or d.fix
        assert checks.of(d).stage is d.stage
    assert list(map(order, result.diagnoses)) == sorted(map(order, result.diagnoses))
    distinct = {(d.code, d.name, d.fields, d.message) for d in result.diagnoses}
    assert len(distinct) == len(result.diagnoses)
    once = [
        kind_of(d)
        for d in result.diagnoses
        if d.name not in ("loader-argument-invalid", "constructor-argument-invalid")
    ]
    assert len(set(once)) == len(once)


# Sizes that are no sizes or stand in the wrong place, and positions written down instead of counted, hide what is wrong
# with the right ones.
HIDING = {
    *("arguments-transposed", "layers-exchanged", "constructor-argument-invalid"),
    *("positions-broadcast", "positions-on-batch-axis", "position-count-differs"),
}


@many
@given(inspections())
def test_a_fix_clears_its_diagnosis_and_brings_no_other(inspection: dict[str, Any]) -> None:
    made = inspection_file.from_mapping(inspection)
    before = judged(made)
    found = errors(before)
    unseen = before.ids is None or HIDING & {d.name for d in found}  # without a batch nothing behind it was judged
    faulty = {d.stage for d in found}  # a fault of several may go by another name once one of them is mended
    for d in before.diagnoses:
        if not d.fix:
            continue
        after = judged(made.with_values(d.fix))
        assert not [a for a in after.diagnoses if kind_of(a) == kind_of(d) and a.fields == d.fields], d.fix
        for new in errors(after):
            assert unseen or new.stage in faulty, (d.message, d.fix, new.message)


@many
@given(inspections())
def test_applying_fixes_ends(inspection: dict[str, Any]) -> None:
    """Each error's fix, first come first served, leads to a sound inspection or to one that has no fix."""
    made = inspection_file.from_mapping(inspection)
    for _ in range(12):
        fix = next((d.fix for d in errors(judged(made)) if d.fix), None)
        if fix is None:
            return
        made = made.with_values(fix)
    pytest.fail(f"still {errors(judged(made))}")


@many
@given(inspections())
def test_messages_hold_the_numbers(inspection: dict[str, Any]) -> None:
    """A kind with two sides names both of them."""
    sides = {
        "token-id-out-of-range": ("max_id", "num_embeddings"),
        "segment-id-out-of-range": ("max_id", "num_embeddings"),
        "position-out-of-range": ("max_position", "num_embeddings"),
        "embedding-dim-mismatch": ("embedding_dim", "expected"),
        "arguments-transposed": ("num_embeddings", "embedding_dim"),
        "layers-exchanged": ("token_rows", "position_rows"),
        "table-padded": ("num_embeddings", "n_vocab"),
        "no-sample": ("tokens", "max_length"),
        "no-batch": ("samples", "batch_size"),
        "tokens-skipped": ("stride", "max_length"),
    }
    for d in judged(inspection).diagnoses:
        message = d.message.replace(",", "")
        for name in sides.get(d.name, ()):
            number = d.data.get(name)
            if number is None:
                continue
            # A table of n rows is described by its rows: 0 to n - 1.
            said = {str(number), str(number - 1)} if name == "num_embeddings" else {str(number)}
            said |= {"no"} if number == 0 else set()
            assert said & set(re.findall(r"-?\d+|no\b", message)), (name, d)
