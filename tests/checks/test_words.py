"""The turns of phrase that messages share, and messages that have more than one form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import inspector
from inspector.checks import torch_words, words


@pytest.mark.parametrize(
    ("number", "said"), [(0, "no row"), (1, "1 row"), (2, "2 rows"), (50257, "50257 rows"), (10**6, "1000000 rows")]
)
def test_count(number: int, said: str) -> None:
    assert words.count(number, "row") == said


@pytest.mark.parametrize(("rows", "said"), [(0, "none"), (-3, "none"), (1, "only row 0"), (4, "0 to 3"), (2.5, "none")])
def test_rows(rows: Any, said: str) -> None:
    assert words.rows(rows) == said


@pytest.mark.parametrize(
    ("values", "said"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_python_list(values: list[str], said: str) -> None:
    assert words.python_list(values) == said


@pytest.mark.parametrize(
    ("widths", "said"),
    [
        ((8, 8), "no error, but the sum is 8 wide"),
        ((8, 1), "no error: a width of 1"),
        ((1, 8, 8), "no error: a width of 1"),
        ((8, 16), "RuntimeError: The size of tensor a (8) must match the size of tensor b (16)"),
        ((1, 8, 16), "RuntimeError: The size of tensor a (8) must match the size of tensor b (16)"),
        ((8, 1, 16), "RuntimeError: The size of tensor a (8) must match the size of tensor b (16)"),
        ((), "no error"),
    ],
)
def test_what_torch_says_of_widths(widths: tuple[int, ...], said: str) -> None:
    assert torch_words.of_sum(widths).startswith(said)


def first(ids: Any, **keys: Any) -> Any:
    return inspector.check(ids, **keys).diagnoses[0]


UNKNOWN = {"encoding": None}


def test_the_largest_id_is_named() -> None:
    found = first([[9, 14, 14, 30]], tokenizer=UNKNOWN, token_embedding=(2, 256))
    assert found.message.startswith("token IDs 9, 30 and 1 other have no row")
    found = first([[50100, 50085, 1, 2]], token_embedding=(50000, 256))
    assert found.message.startswith("token IDs 50100 (' Ratt') and 50085 (' donkey') have no row")


def test_ids_from_1() -> None:
    found = first([[1, 2, 3, 4]], tokenizer=UNKNOWN, token_embedding=(4, 256))
    assert found.data["hints"] == ["id-equals-row-count", "one-based-ids"]
    assert "subtract 1 from every ID" in found.help
    assert found.fix is None


def test_one_special_token_too_many() -> None:
    found = first([[0, 2, 3, 4]], tokenizer=UNKNOWN, token_embedding=(4, 256))
    assert found.data["hints"] == ["id-equals-row-count"]
    assert "set vocab_size to 5 if a special token was added" in found.help


@pytest.mark.parametrize(("label", "hint"), [(-100, "ignore-index"), (-1, "padding-minus-one")])
def test_negative_ids_tell_their_story(label: int, hint: str) -> None:
    found = first([[1, 2, 3, label]])
    assert found.data["hints"] == [hint]
    assert found.fix is None


def test_ids_of_another_tokenizer_are_not_grown_for() -> None:
    found = first([[1, 60000, 3, 4]])
    assert (found.name, found.fix) == ("ids-from-another-tokenizer", None)
    assert "50256" in found.message
    assert "60000" in found.message


def test_an_unknown_tokenizer_is_said() -> None:
    found = first([[0, 32005, 3, 4]], tokenizer=UNKNOWN, token_embedding=(32000, 256))
    assert found.help.startswith("nobody stated the tokenizer's size: set vocab_size to at least 32006")


def test_rows_that_positions_skip() -> None:
    found = first([[1] * 600], position_embedding={"num_embeddings": 514, "offset": 2})
    assert "(600 tokens in a window, 2 rows that positions skip, room for 512)" in found.message
    assert "cut the text to 512 tokens" in found.help
    assert found.fields == ("position_embedding.num_embeddings", "position_embedding.offset")


def test_two_layers_that_agree_but_not_with_what_was_stated() -> None:
    found = first([[1, 2, 3, 4]], embedding_dim=768, token_embedding=(50257, 256), position_embedding=(4, 256))
    assert found.message == "the token and position tables are 256 wide, but the stated embedding dim is 768"
    assert found.fix == {"token_embedding.embedding_dim": 768, "position_embedding.embedding_dim": 768}


def test_the_layer_that_departs_is_outvoted() -> None:
    found = first(
        [[1, 2, 3, 4]],
        embedding_dim=None,
        token_embedding=(50257, 8),
        position_embedding=(4, 16),
        segment_embedding={"embedding_dim": 8},
    )
    assert (found.code, found.data["expected"]) == ("P403", 8)


def test_three_widths() -> None:
    found = first(
        [[1, 2, 3, 4]],
        embedding_dim=None,
        token_embedding=(50257, 8),
        position_embedding=(4, 16),
        segment_embedding={"embedding_dim": 32},
    )
    assert found.message.startswith("token rows are 8 wide, position rows are 16 wide and segment rows are 32 wide")
    assert found.help.startswith("give all layers one output_dim")


def test_a_width_of_1_has_no_vote() -> None:
    found = first([[1, 2, 3, 4]], embedding_dim=None, token_embedding=(50257, 1), position_embedding=(4, 256))
    assert (found.code, found.data["expected"]) == ("E304", 256)
    assert found.torch == "no error: a width of 1 is added to every dimension"


def test_as_many_rows_as_positions_need_are_no_width() -> None:
    found = first([[1] * 64], embedding_dim=64, token_embedding=(50257, 64), position_embedding=(64, 128))
    assert (found.code, found.name) == ("P403", "embedding-dim-mismatch")


def test_a_dtype_too_small_for_the_tokenizer() -> None:
    found = first(np.array([[1, 2, 3, 4]], dtype=np.uint16), tokenizer={"encoding": "cl100k_base"})
    assert found.name == "ids-dtype-overflow"
    assert "uint16 holds IDs up to 65535, but the tokenizer has IDs up to 100276" in found.message
    assert first(np.array([[1, 2, 3, 4]], dtype=np.uint16)).name == "ids-dtype-refused"


@pytest.mark.parametrize(("rows", "width", "field"), [(2**40, 2**30, "num_embeddings"), (8, 2**62, "embedding_dim")])
def test_a_table_that_no_machine_holds(rows: int, width: int, field: str) -> None:
    found = first([[1, 2, 3, 4]], embedding_dim=None, token_embedding=(rows, width), position_embedding=None)
    assert (found.name, found.fields) == ("constructor-argument-invalid", (f"token_embedding.{field}",))
    assert str(rows) in found.message
    assert str(width) in found.message
