"""Nested lists of numbers, judged as torch would."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from inspector.id_tensor import INDEX_DTYPES, INTEGER_DTYPES, tensor

NUMBERS = st.integers(-5, 5)
NESTED = st.recursive(NUMBERS, lambda inner: st.lists(inner, max_size=3), max_leaves=10).filter(
    lambda made: isinstance(made, list)
)


def frozen(values: Any) -> Any:
    return tuple(map(frozen, values)) if isinstance(values, list) else values


@given(NESTED)
def test_the_shape_is_torchs(values: list[Any]) -> None:
    made = tensor(frozen(values))
    try:
        expected: tuple[int, ...] | None = tuple(torch.tensor(values).shape)
    except (ValueError, TypeError):
        expected = None
    if expected is not None and 0 in expected and made.shape is None:
        return  # torch looks no further than the first empty list
    assert made.shape == expected


@given(NESTED)
def test_all_numbers_are_kept(values: list[Any]) -> None:
    made = tensor(frozen(values))
    assert [number for row in made.rows() for number in row] == list(made.flat())
    if made.shape is not None and 0 not in made.shape:
        assert torch.tensor(values).reshape(-1, made.shape[-1]).tolist() == made.rows()


@pytest.mark.parametrize("dtype", INTEGER_DTYPES)
def test_limits_are_torchs(dtype: str) -> None:
    info = torch.iinfo(getattr(torch, dtype))
    assert INTEGER_DTYPES[dtype] == (info.min, info.max)


@pytest.mark.parametrize(
    "dtype", ["int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64", "bool", "float32", "float16"]
)
def test_which_dtypes_a_look_up_takes(dtype: str) -> None:
    layer = torch.nn.Embedding(3, 2)
    try:
        layer(torch.tensor([[0, 1]]).to(getattr(torch, dtype)))
        taken = True
    except RuntimeError:
        taken = False
    assert (dtype in INDEX_DTYPES) == taken == tensor(((0, 1),), dtype).is_index


@pytest.mark.parametrize(
    ("value", "dtype", "fits"),
    [
        (2.0, "int64", True),
        (1.5, "int64", False),
        (float("nan"), "int64", False),
        (float("inf"), "int64", False),
        (2**31 - 1, "int32", True),
        (2**31, "int32", False),
        (-(2**63), "int64", True),
        (2**63, "int64", False),
    ],
)
def test_which_numbers_a_look_up_takes(value: float, dtype: str, fits: bool) -> None:
    assert tensor(((value,),), dtype).is_index == fits
