"""What the checks are told of an inspection."""

from __future__ import annotations

from typing import Any

import pytest

from inspector.config import InputConfig
from inspector.diagnosis import Cell
from inspector.facts import Facts

BATCH = ((5, 6, 7), (8, 5, 9))


def facts(values: dict[str, Any] | None = None, batch: Any = BATCH) -> Facts:
    config = InputConfig().with_values(values or {}).resolved()
    return Facts(config=config, batch=batch, columns=len(batch[0]) if batch else None)


def test_ids_and_their_cells() -> None:
    made = facts()
    assert made.max_id == 9
    assert made.cells(lambda i: i == 5) == [Cell(0, 0), Cell(1, 1)]
    assert made.id_at(Cell(1, 2)) == 9
    assert facts(batch=None).max_id is None
    assert facts(batch=None).cells(lambda i: True) == []


def test_an_id_is_described_with_its_text() -> None:
    assert facts().describe_id(50085) == "50085 (' donkey')"
    assert facts({"tokenizer.encoding": None}).describe_id(50085) == "50085"


@pytest.mark.parametrize(
    ("values", "n_vocab"),
    [
        ({}, 50257),
        ({"tokenizer.n_vocab": 9}, 9),
        ({"tokenizer.encoding": None}, None),
        ({"tokenizer.encoding": "cl100k_base"}, 100277),
    ],
)
def test_the_size_of_the_vocabulary(values: dict[str, Any], n_vocab: int | None) -> None:
    assert facts(values).n_vocab == n_vocab


@pytest.mark.parametrize(
    ("values", "first", "last"),
    [
        ({}, 0, 2),
        ({"position_embedding.offset": 2}, 2, 4),
        ({"position_embedding.offset": 2, "past_length": 10}, 12, 14),
        ({"positions": (4, 1, 0)}, 0, 4),
        ({"positions": ((4, 1, 0), (2, -1, 7))}, -1, 7),
        ({"positions": ()}, None, None),
        ({"position_embedding": None}, None, None),
    ],
)
def test_which_position_rows_are_looked_up(values: dict[str, Any], first: int | None, last: int | None) -> None:
    made = facts(values)
    assert (made.first_position_row, made.last_position_row) == (first, last)
    assert facts(values, batch=None).last_position_row is None


def test_the_cells_of_positions() -> None:
    assert list(facts().position_cells(lambda p: p == 2)) == [Cell(0, 2), Cell(1, 2)]
    assert list(facts({"positions": (7, 1, 7)}).position_cells(lambda p: p == 7)) == [
        Cell(r, c) for r in (0, 1) for c in (0, 2)
    ]
    by_row = facts({"positions": ((0, 1, 2), (0, 0, 9))})
    assert list(by_row.position_cells(lambda p: p == 9)) == [Cell(1, 2)]
    one_line = facts({"positions": ((0, 1, 9),)})
    assert list(one_line.position_cells(lambda p: p == 9)) == [Cell(0, 2), Cell(1, 2)]
    assert list(facts({"position_embedding": None}).position_cells(lambda p: True)) == []


def test_the_width_that_reaches_the_sum() -> None:
    assert facts().token_width == 256
    assert facts({"token_embedding.embedding_dim": 8, "token_embedding.project_to": 64}).token_width == 64
