"""Values that describe and never judge."""

from __future__ import annotations

import dataclasses

import pytest

from inspector.config import InputConfig, LoaderConfig, PositionEmbeddingConfig, TokenEmbeddingConfig, section_types


def test_the_defaults_are_the_lesson() -> None:
    made = InputConfig().resolved()
    assert made.loader == LoaderConfig(8, 4, 4, shuffle=False, drop_last=True, seed=None)
    assert (made.token_embedding.num_embeddings, made.token_embedding.embedding_dim) == (50257, 256)
    assert made.position_embedding is not None
    assert (made.position_embedding.num_embeddings, made.position_embedding.embedding_dim) == (4, 256)
    assert (made.embedding_dim, made.seed, made.tokenizer.encoding) == (256, 123, "gpt2")


def test_any_value_can_be_held() -> None:
    made = InputConfig(token_embedding=TokenEmbeddingConfig(-1, 2.5, dtype="bool"), embedding_dim=-3)
    assert made.resolved().token_embedding.num_embeddings == -1


def test_values_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        InputConfig().seed = 1  # type: ignore[misc]


@pytest.mark.parametrize(("stated", "width"), [(32, 32), (None, 256)])
def test_sizes_that_were_not_stated_follow_the_embedding_dim(stated: int | None, width: int) -> None:
    made = InputConfig(embedding_dim=stated, position_embedding=PositionEmbeddingConfig(9, None)).resolved()
    assert made.token_embedding.embedding_dim == width
    assert made.position_embedding == PositionEmbeddingConfig(9, width)
    assert made.segment_embedding is None


def test_with_values_states_what_it_changes() -> None:
    made = InputConfig().with_values({"loader.stride": 2, "seed": 7, "segment_embedding.max_id": 1})
    assert (made.loader.stride, made.seed) == (2, 7)
    assert made.segment_embedding is not None
    assert made.segment_embedding.max_id == 1
    assert made.stated == {"loader.stride", "seed", "segment_embedding.max_id"}
    assert made.is_stated("loader")
    assert made.is_stated("loader.stride")
    assert not made.is_stated("loader.batch_size")
    assert not made.is_stated("token_embedding")


@pytest.mark.parametrize("name", ["nothing", "loader.nothing", "nothing.at.all", "stated"])
def test_an_unknown_field_is_an_error(name: str) -> None:
    with pytest.raises(AttributeError):
        InputConfig().with_values({name: 1})


def test_value_reaches_every_field() -> None:
    made = InputConfig()
    for key, section in section_types().items():
        for field in dataclasses.fields(section):
            made.value(f"{key}.{field.name}")
    assert made.value("loader.stride") == 4
    assert made.value("segment_embedding.max_id") is None
