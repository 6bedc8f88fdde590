"""Token IDs one after another: without a header as nanoGPT writes them, and behind the header that llm.c writes."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from inspector.files.shown import shown
from inspector.files.token_layout import TYPECODES, Found, Layout, fits, not_ids, sample
from inspector.files.token_width import challenge, challenge_width, evidence, infer

if TYPE_CHECKING:
    from inspector.files.source import Source

_HEADER_BYTES = 1024  # 256 numbers of 4 bytes, all but three of them 0
_HEADER = struct.Struct("<3i")  # which kind of file, version, number of IDs
_KINDS = {20240520: (1, "uint16"), 20240801: (7, "uint32")}
LLMC_MAGICS = tuple(struct.pack("<i", kind) for kind in _KINDS)

_IMPOSTORS = (
    (b"version https://git-lfs", "is a pointer of Git LFS, not the file it points to", "run git lfs pull"),
    (b"<!doctype html", "is a web page, not a file of token IDs", "download the file itself"),
    (b"<html", "is a web page, not a file of token IDs", "download the file itself"),
    (b"gguf", "is a checkpoint in GGUF, not a file of token IDs", "open it as a checkpoint"),
)


def is_llmc(head: bytes) -> bool:
    """Return whether a file begins as llm.c's files of IDs do; two numbers alone could be IDs."""
    if len(head) < _HEADER.size:
        return False
    kind, version, count = _HEADER.unpack_from(head)
    return kind in _KINDS and version == _KINDS[kind][0] and count >= 0 and not any(head[_HEADER.size :])


def read_llmc(source: Source, dtype: str | None, n_vocab: int | None) -> Found:
    """Read llm.c's format: 1,024 bytes of header, then uint16 IDs for GPT-2's vocabulary, uint32 IDs for Llama 3's."""
    kind, version, count = _HEADER.unpack(source.begins(_HEADER.size))
    own = _KINDS[kind][1]
    layout = Layout(own, _HEADER_BYTES, (count,))
    fits(source, layout, source.size - _HEADER_BYTES)
    found = evidence(sample(source, _HEADER_BYTES, _HEADER_BYTES + count * layout.width))
    rest = source.size - _HEADER_BYTES - count * layout.width
    suspicion = challenge(own, found.least[own], found.largest[own], n_vocab)
    if dtype not in (None, own):
        suspicion = f"{dtype} was stated, and the file's header says {own}"
    elif rest:
        suspicion = f"{rest:,} bytes follow the {count:,} IDs that the file's header declares"
    return Found(
        f"llm.c token IDs, {own}",
        own,
        layout.shape,
        lambda first, last: layout.read(source, first, last),
        f"{own}: the file's header says so (kind {kind}, version {version}), with {count:,} IDs",
        suspicion,
    )


def read_raw(source: Source, dtype: str | None, n_vocab: int | None) -> Found:
    """Read IDs without a header, little endian, as the stated dtype or the one that their bytes suggest."""
    head = source.begins(64)
    for sign, reason, what_to_do in _IMPOSTORS:
        if head.lower().startswith(sign):
            raise not_ids(source.path, reason, what_to_do)
    if dtype is not None and dtype not in TYPECODES:
        raise not_ids(source.path, f"was stated to hold {shown(dtype)}, which is no dtype of IDs", "state uint16")
    found = evidence(sample(source, 0, source.size), dtype)
    own, why = (dtype, "it was stated") if dtype else infer(found, source.size, n_vocab)
    width = Layout(own, 0, ()).width
    layout = Layout(own, 0, (source.size // width,))
    return Found(
        f"token IDs, {own}",
        own,
        layout.shape,
        lambda first, last: layout.read(source, first, last),
        f"{own}: {why}, and {source.size:,} bytes are {layout.shape[0]:,} IDs",
        challenge_width(own, found, source.size, n_vocab),
    )
