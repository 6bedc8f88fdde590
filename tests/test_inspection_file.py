"""The inspection file: what is written is read back, and what is wrong is named."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector import checks, inspection_file
from inspector.config import InputConfig, section_types
from inspector.inspection_file import InspectionFileError, from_mapping, loads, read, to_mapping, write
from tests.inspections import inspections

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = [dict(kind.example) for kind in checks.FAULTS if "checkpoint" not in kind.example]


def all_keys() -> list[str]:
    sections = section_types()
    top = [f.name for f in fields(InputConfig) if f.name not in {*sections, "stated"}]
    return top + [f"{key}.{f.name}" for key, section in sections.items() for f in fields(section)]


def nested(key: str, value: Any) -> dict[str, Any]:
    section, _, inner = key.partition(".")
    return {section: {inner: value}} if inner else {section: value}


def as_toml(values: dict[str, Any]) -> str:
    """Write plain values as TOML, which has no null."""
    tables = {key: value for key, value in values.items() if isinstance(value, dict)}
    lines = [f"{key} = {json.dumps(value)}" for key, value in values.items() if key not in tables and value is not None]
    for key, table in tables.items():
        lines += [f"[{key}]", *(f"{inner} = {json.dumps(v)}" for inner, v in table.items() if v is not None)]
    return "\n".join(lines)


# ---- round trips -----------------------------------------------------------------------------------------------------


@given(inspections())
def test_what_is_written_is_read_back(inspection: dict[str, Any]) -> None:
    made = from_mapping(inspection)
    assert from_mapping(to_mapping(made)) == made
    assert from_mapping(json.loads(json.dumps(to_mapping(made)))) == made


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: json.dumps(e)[:40])
def test_files_are_read_back(example: dict[str, Any], tmp_path: Path) -> None:
    made = from_mapping(example)
    file = tmp_path / "inspection.json"
    write(made, file)
    if made.text_file is not None:
        assert read(file).text_file == str(tmp_path / made.text_file)
    else:
        assert read(file) == made


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_any_text_survives(text: str) -> None:
    assert from_mapping(loads(json.dumps(to_mapping(from_mapping({"text": text}))))).text == text


@given(inspections())
def test_toml_is_the_same(inspection: dict[str, Any]) -> None:
    whole = {key: value for key, value in inspection.items() if value is not None}
    assert from_mapping(loads(as_toml(whole), toml=True)) == from_mapping(
        {k: {i: w for i, w in v.items() if w is not None} if isinstance(v, dict) else v for k, v in whole.items()}
    )


def test_an_empty_file_is_the_lesson(tmp_path: Path) -> None:
    file = tmp_path / "empty.toml"
    file.write_text("")
    assert read(file) == InputConfig()
    assert from_mapping({}) == InputConfig()
    assert to_mapping(InputConfig()) == {"schema": 1}


def test_null_is_a_layer_left_out() -> None:
    made = from_mapping({"position_embedding": None, "token_embedding": None, "segment_embedding": None})
    assert made.position_embedding is None
    assert made.segment_embedding is None
    assert made.token_embedding == InputConfig().token_embedding
    assert from_mapping(to_mapping(made)).position_embedding is None


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    file = folder / "inspection.json"
    file.write_text('\ufeff{"text_file": "a.txt"}', encoding="utf-8")
    made = read(file)
    assert made.text_file == str(folder / "a.txt")
    write(made, file)
    assert json.loads(file.read_text())["text_file"] == "a.txt"
    write(made, tmp_path / "beside.json")
    assert read(tmp_path / "beside.json").text_file == made.text_file
    write(made, tmp_path.parent / "elsewhere.json")
    assert read(tmp_path.parent / "elsewhere.json").text_file == made.text_file


# ---- what is wrong ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", all_keys())
@pytest.mark.parametrize("value", [{"an": "object"}, [["text"]], "no such", 1e400j, True, None])
def test_a_wrong_type_names_the_key(key: str, value: Any) -> None:
    message = ""
    try:
        from_mapping(nested(key, value))
    except InspectionFileError as caught:
        message = str(caught)
    assert not message or key in message


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"vocab_size": 3}, "unknown key 'vocab_size'; known are "),
        ({"stated": []}, "unknown key 'stated'"),
        ({"loader": {"batchsize": 3}}, "unknown key 'loader.batchsize'; known are batch_size, max_length"),
        ({"loader": 3}, "loader must be an object, not the number 3"),
        ({"loader": None}, "loader must be an object, not null"),
        ({"loader": {"stride": "4"}}, "loader.stride must be a number, not the text '4'"),
        ({"loader": {"shuffle": 1}}, "loader.shuffle must be true or false, not the number 1"),
        ({"seed": True}, "seed must be a whole number, not true"),
        ({"seed": 2**64}, "seed must be a number that torch.manual_seed takes"),
        ({"loader": {"seed": -(2**63) - 1}}, "loader.seed must be a number that torch.manual_seed takes"),
        ({"seed": 1.5}, "seed must be a whole number, not the number 1.5"),
        ({"text": 3}, "text must be a text or null, not the number 3"),
        ({"token_ids": [[1, "2"]]}, "token_ids must hold numbers only, not the text '2'"),
        ({"token_ids": [[True]]}, "token_ids must hold numbers only, not true"),
        ({"token_ids": 3}, "token_ids must be a list of numbers, nested or not, not the number 3"),
        ({"positions": [0.5]}, "positions must hold whole numbers only, not 0.5"),
        ({"token_ids_dtype": "int63"}, "token_ids_dtype must be the name of a torch dtype"),
        ({"token_embedding": {"dtype": 32}}, "token_embedding.dtype must be the name of a torch dtype"),
        ({"tokenizer": {"special_tokens": "no"}}, "tokenizer.special_tokens must be one of special, plain, refuse"),
        ({"text": "a", "token_ids": [[1]]}, "text and token_ids are given; IDs come from exactly one of"),
        ({"schema": 2}, "schema is 2; this program knows schema 1"),
        ({"text": "a", "tokenizer": {"encoding": None}}, "tokenizer.encoding"),
    ],
    ids=str,
)
def test_what_is_wrong_is_said(values: dict[str, Any], words: str) -> None:
    with pytest.raises(InspectionFileError) as caught:
        from_mapping(values)
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON: "),
        ("[1]", "an inspection is an object of keys, not a list"),
        ("null", "an inspection is an object of keys, not null"),
        ('{"text": ', "not JSON: "),
        ("[" * 100_000, "lists are nested too deeply"),
    ],
    ids=["empty", "list", "null", "cut off", "deep"],
)
def test_what_is_no_inspection(text: str, words: str) -> None:
    with pytest.raises(InspectionFileError, match=words.split(":")[0]):
        loads(text)


def test_deep_lists() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InspectionFileError, match="token_ids: lists are nested too deeply"):
        from_mapping({"token_ids": deep})


@pytest.mark.parametrize("data", [b"\xff\xfe{}", b'{"text": "\xe9"}'])
def test_bytes_that_are_no_text(data: bytes, tmp_path: Path) -> None:
    file = tmp_path / "inspection.json"
    file.write_bytes(data)
    with pytest.raises(InspectionFileError, match="is not UTF-8 text: it holds byte 0x"):
        read(file)


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(InspectionFileError, match="No such file"):
        read(tmp_path / "missing.json")
    with pytest.raises(InspectionFileError, match="Is a directory"):
        read(tmp_path)
    with pytest.raises(InspectionFileError, match="No such file"):
        write(InputConfig(), tmp_path / "missing" / "inspection.json")


def test_names_of_dtypes() -> None:
    assert from_mapping({"token_ids_dtype": "torch.long"}).token_ids_dtype == "int64"
    assert from_mapping({"token_embedding": {"dtype": "half"}}).token_embedding.dtype == "float16"


def test_changed_replaces_the_source() -> None:
    made = from_mapping({"text": "a", "loader": {"stride": 2, "max_length": 3}})
    other = inspection_file.changed(made, {"token_ids": [[1]], "loader": {"stride": 1}})
    assert other.text is None
    assert other.token_ids == ((1,),)
    assert (other.loader.stride, other.loader.max_length) == (1, 3)
    assert inspection_file.changed(made, {}) == made
