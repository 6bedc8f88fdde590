"""What an inspection reads from outside itself: read once, and kept while its arguments are edited."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector import resources, tokenizer
from inspector.trouble import FileTrouble

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspector.checkpoint import Checkpoint
    from inspector.config import InputConfig
    from inspector.files.tensors import TensorFile
    from inspector.files.text_files import TextStore
    from inspector.files.token_files import IdFile
    from inspector.live_inspection import LiveInspection
    from inspector.recipe import Role, StoredTable
    from inspector.tokenizer import Tokens

SAMPLE = "sample.txt"
LARGE_TEXT = 8 * 2**20  # bytes; a larger text file is encoded piece by piece


def sample() -> str:
    """Return the text that is inspected where none is given."""
    return resources.text(SAMPLE).strip()


@dataclass(frozen=True)
class Material:
    """What was read.

    `tokens` are a text's and `id_file` a file's of IDs; with neither, the IDs are in the inspection or could not be
    read. `encoding` is the tokenizer in use, where it is not GPT-2's: the stated one, or that which lies beside the
    checkpoint. `trouble` is what is wrong with a file, which the inspection names in `field`. `live` is a live model.
    """

    tokens: Tokens | TextStore | None = None
    id_file: IdFile | None = None
    checkpoint: Checkpoint | None = None
    encoding: str | None = None
    trouble: FileTrouble | None = None
    field: str = ""
    live: LiveInspection | None = None

    @property
    def stored(self) -> dict[Role, StoredTable] | None:
        """The tables of the checkpoint or the live model whose rows can be looked up.

        Empty where a file could not be opened; None where the layers are to be constructed.
        """
        if self.live is not None:
            return self.live.stored
        if self.checkpoint is not None:
            return self.checkpoint.stored
        return {} if self.field == "checkpoint" else None

    @property
    def file(self) -> TensorFile | None:
        """What stored rows are read from: a file, or a live model."""
        if self.live is not None:
            return self.live.file
        return None if self.checkpoint is None else self.checkpoint.opened.file

    @property
    def ids(self) -> Sequence[int] | None:
        """The IDs that the loader cuts into batches; None where there are none."""
        return self.tokens.ids if self.tokens is not None else self.id_file


class Read(NamedTuple):
    """What was read, and for which inspection."""

    config: InputConfig
    material: Material


def inputs(config: InputConfig) -> tuple[Any, ...]:
    """Return what decides the material: two inspections that are equal in this share it."""
    chosen = (config.token_ids_dtype, config.token_ids is None, config.tokenizer, config.checkpoint_tables)
    return config.text, config.text_file, config.token_ids_file, config.checkpoint, *chosen


def read(config: InputConfig, before: Read | None = None, *, whole: bool = True) -> Material:
    """Read what the inspection names: its checkpoint, its tokenizer, its text or file of IDs.

    Args:
        config: the inspection.
        before: what was read for the inspection before this one: what both name is not read again.
        whole: whether a large text is encoded to its end, else so far that there are IDs to show.
    """
    made = Material()
    if before is not None and config.checkpoint is None:
        made = Material(live=before.material.live)  # a model in memory is not read, and stays
    if config.checkpoint is not None:
        made = _with_checkpoint(made, config, before)
    unusable = made.trouble  # of the checkpoint, beside which a text can be looked at all the same
    made = _with_tokenizer(replace(made, trouble=None), config)
    if made.trouble is None and config.token_ids is None:
        made = _with_ids(made, config, before, whole=whole)
    return made if unusable is None else replace(made, trouble=unusable, field="checkpoint")


def shares_checkpoint(config: InputConfig, before: Read | None) -> bool:
    """Return whether an inspection finds the same tables in the same checkpoint as the one before."""
    return before is not None and _checkpoint_inputs(config) == _checkpoint_inputs(before.config)


def _checkpoint_inputs(config: InputConfig) -> tuple[Any, ...]:
    size = config.tokenizer.n_vocab if config.is_stated("tokenizer") else None
    return config.checkpoint, config.checkpoint_tables, size


def _id_inputs(config: InputConfig, encoding: str | None) -> tuple[Any, ...]:
    dtype = config.token_ids_dtype if config.is_stated("token_ids_dtype") else None
    chosen = (dtype, config.tokenizer.n_vocab, config.tokenizer.special_tokens, encoding)
    return config.text, config.text_file, config.token_ids_file, *chosen


def _with_checkpoint(made: Material, config: InputConfig, before: Read | None) -> Material:
    if before is not None and before.material.checkpoint is not None and shares_checkpoint(config, before):
        return replace(made, checkpoint=before.material.checkpoint)

    from inspector import checkpoint

    size = config.tokenizer.n_vocab if config.is_stated("tokenizer") else None
    try:
        opened = checkpoint.open_beside(str(config.checkpoint), size, dict(config.checkpoint_tables))
    except FileTrouble as trouble:
        return replace(made, trouble=trouble, field="checkpoint")
    return replace(made, checkpoint=opened)


def _with_tokenizer(made: Material, config: InputConfig) -> Material:
    """Open the tokenizer that is stated; where none is, the one beside the checkpoint."""
    stated = config.is_stated("tokenizer.encoding")
    beside = made.checkpoint.opened.tokenizer if made.checkpoint is not None and not stated else None
    encoding = config.tokenizer.encoding if beside is None else str(beside)
    if encoding is None or encoding in tokenizer.AVAILABLE:
        return made
    needed = config.token_ids is None and config.token_ids_file is None
    if encoding in tokenizer.ENCODING_SIZES and not needed:
        return made  # its size is known, and that is all that IDs are judged by

    try:
        tokenizer.use(encoding)
    except FileTrouble as trouble:
        if beside is not None:
            return made  # nobody asked for it
        return replace(made, trouble=trouble, field="tokenizer.encoding")
    return replace(made, encoding=encoding)


def _with_ids(made: Material, config: InputConfig, before: Read | None, *, whole: bool) -> Material:

    encoding, special = made.encoding or config.tokenizer.encoding, config.tokenizer.special_tokens
    if before is not None and before.config.token_ids is None:
        known = before.material
        same = _id_inputs(config, encoding) == _id_inputs(
            before.config, known.encoding or before.config.tokenizer.encoding
        )
        if same and known.ids is not None:
            return replace(made, tokens=known.tokens, id_file=known.id_file)
    if config.token_ids_file is not None:
        from inspector.files.token_files import open_ids

        dtype = config.token_ids_dtype if config.is_stated("token_ids_dtype") else None
        size = tokenizer.known_size(encoding, config.tokenizer.n_vocab)
        try:
            return replace(made, id_file=open_ids(Path(config.token_ids_file), dtype=dtype, n_vocab=size))
        except FileTrouble as trouble:
            return replace(made, trouble=trouble, field="token_ids_file")
    try:
        if config.text_file is not None:
            return replace(made, tokens=_of_text_file(Path(config.text_file), special, encoding, whole=whole))
        text = sample() if config.text is None else config.text
        return replace(made, tokens=tokenizer.encode(text, special, encoding))
    except FileTrouble as trouble:
        return replace(made, trouble=trouble, field="tokenizer.encoding" if config.text_file is None else "text_file")


def _of_text_file(path: Path, special_tokens: str, encoding: str | None, *, whole: bool) -> Tokens | TextStore:
    """Encode a text file as it stands, line ends included; bytes that are not UTF-8 become lone surrogates.

    A large one is encoded piece by piece into a store on disk.
    """
    from inspector.files import text_files
    from inspector.files.source import Source

    source = Source(path)
    if source.size > LARGE_TEXT and encoding in tokenizer.AVAILABLE:
        store = text_files.open_text(path, special_tokens)
        store.encode(cancelled=lambda: not whole and store.bytes_done > 0)
        return store
    return tokenizer.encode(source.begins(source.size).decode("utf-8", "surrogateescape"), special_tokens, encoding)
