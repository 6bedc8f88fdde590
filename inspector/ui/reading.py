"""Reading what an inspection names and judging it: whether it takes a moment, and doing it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspector import pipeline, tokenizer
from inspector.material import Read, read, shares_checkpoint

if TYPE_CHECKING:
    from inspector.config import InputConfig
    from inspector.material import Material
    from inspector.result import Result

# Up to here (measured: some 2 ms) a text is encoded at once; beyond it in the background.
AT_ONCE_CHARACTERS = 20_000
# IDs of a file whose batches are found at once also when they are shuffled.
AT_ONCE_IDS = 1_000_000


def names_file(config: InputConfig) -> bool:
    """Return whether an inspection names a file that holds IDs or rows."""
    return bool(config.checkpoint or config.text_file or config.token_ids_file)


def keeps_layers(config: InputConfig, model: InputConfig) -> bool:
    """Return whether an inspection's layers are still those of the model that another one describes."""
    layers = ("embedding_dim", "token_embedding", "position_embedding", "segment_embedding")
    return config.checkpoint is None and all(getattr(config, name) == getattr(model, name) for name in layers)


def reads_at_once(config: InputConfig, before: Read | None) -> bool:
    """Return whether all that an inspection reads is read within a moment."""
    if config.text_file or config.token_ids_file:
        return False
    if config.checkpoint and not shares_checkpoint(config, before):
        return False
    if before is None or config.tokenizer != before.config.tokenizer:
        encoding = config.tokenizer.encoding
        if encoding is not None and encoding not in tokenizer.AVAILABLE:
            return False
    return config.text is None or len(config.text) <= AT_ONCE_CHARACTERS


def judges_at_once(config: InputConfig, before: Read | None) -> bool:
    """Return whether what was read is judged within a moment: a file's samples may be too many to shuffle."""
    ids = before.material.ids if before is not None else None
    return not config.loader.shuffle or ids is None or len(ids) <= AT_ONCE_IDS


def read_and_judge(
    config: InputConfig, batch: int, material: Material | None, before: Read | None
) -> tuple[Material, Result]:
    """Read what an inspection names, unless that was done before, and judge it."""
    if material is None:
        material = read(config, before, whole=False)
        if isinstance(material.tokens, tokenizer.Tokens):
            material.tokens.prepare_spans()
        elif (material.encoding or config.tokenizer.encoding) in tokenizer.AVAILABLE:
            tokenizer.gpt2().token_bytes  # noqa: B018 - the grid's first painting asks for them
    return material, pipeline.run(pipeline.Request(config, batch), material)
