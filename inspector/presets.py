"""Well-known sizes of the two layers: data for the window's menu."""

from __future__ import annotations

from typing import Any, NamedTuple


class Preset(NamedTuple):
    """A name and the inspection-file fields it sets."""

    name: str
    values: dict[str, Any]


def _sizes(rows: int, context: int, width: int) -> dict[str, Any]:
    return {
        "embedding_dim": width,
        "token_embedding.num_embeddings": rows,
        "token_embedding.embedding_dim": width,
        "position_embedding.num_embeddings": context,
        "position_embedding.embedding_dim": width,
    }


PRESETS = (
    Preset("Lesson: 50,257 × 256, context 4", _sizes(50257, 4, 256)),
    Preset("Lesson, context 1,024", _sizes(50257, 1024, 256)),
    Preset("GPT-2 small: 768, context 1,024", _sizes(50257, 1024, 768)),
    Preset("GPT-2 medium: 1,024, context 1,024", _sizes(50257, 1024, 1024)),
    Preset("GPT-2 large: 1,280, context 1,024", _sizes(50257, 1024, 1280)),
    Preset("GPT-2 XL: 1,600, context 1,024", _sizes(50257, 1024, 1600)),
    Preset("GPT-3: 12,288, context 2,048", _sizes(50257, 2048, 12288)),
)
