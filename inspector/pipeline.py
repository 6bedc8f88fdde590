"""The one engine behind window, command and API: an inspection goes in, a `Result` comes out.

This is the only place that knows the order of the stages.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from inspector import batches, checks, id_tensor
from inspector.checks.arrangement import arrangement
from inspector.diagnosis import Diagnosis, Severity, Stage, StageShape, Status
from inspector.facts import Facts
from inspector.material import Material, read
from inspector.result import Grid, Result
from inspector.trouble import FileTrouble

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inspector.config import InputConfig


_GPT2 = 50257  # rows of GPT-2's token table, which is often padded or has a few tokens more


@dataclass(frozen=True, slots=True)
class Request:
    """An inspection and which of its batches to judge: the nearest there is, where there is no such batch.

    Where the inspection has no source, the sample text is.
    """

    config: InputConfig
    batch: int = 0


def run(request: Request, material: Material | None = None) -> Result:
    """Judge an inspection, stage by stage, the way the data goes.

    Args:
        request: what to judge.
        material: what the inspection names, where it was read before (`material.read`); read here otherwise.
    """
    material = material or read(request.config)
    try:
        return _judged(request, material)
    except FileTrouble as trouble:  # a file was changed or taken away since it was opened
        return _judged(request, Material(trouble=trouble, field=_field_of(trouble, request.config)))


def _judged(request: Request, material: Material) -> Result:
    facts = _facts(request, material)
    found = list(checks.run(Stage.FILE, facts))
    for stage in (Stage.TOKENIZER, Stage.DATA_LOADER):
        if not _any_error(found):
            found += checks.run(stage, facts)
    if _any_error(found):
        facts = replace(facts, batch=None)
    for stage in (Stage.TOKEN_EMBEDDING, Stage.POSITION_EMBEDDING, Stage.SEGMENT_EMBEDDING, Stage.SUM):
        found += checks.run(stage, facts)

    found.sort(key=lambda d: d.order)
    return Result(
        config=facts.config,
        batch=facts.batch_index,
        batches=_batch_count(facts),
        diagnoses=tuple(found),
        shapes=tuple(_shapes(facts, found)),
        grid=_grid(facts),
        material=facts.material,
        plan=facts.plan,
        ids=facts.batch,
        targets=_targets(facts) if facts.batch is not None else None,
    )


def _field_of(trouble: FileTrouble, config: InputConfig) -> str:
    """Return the inspection-file key that names a file in trouble, or the folder it lies in."""
    named = ("token_ids_file", "text_file", "checkpoint")
    return next((name for name in named if trouble.path.startswith(getattr(config, name) or "\0")), "checkpoint")


def _facts(request: Request, material: Material) -> Facts:
    """Take an inspection apart: its sizes, its loader's plan, the batch that would be looked up."""
    config = request.config
    if material.encoding is not None:
        config = replace(config, tokenizer=replace(config.tokenizer, encoding=material.encoding))
    if material.checkpoint is not None:
        config = material.checkpoint.filled(config)
        config = _without_default_tokenizer(config, request.config)
    facts = Facts(config=config.resolved(), material=material, stated=request.config)
    if config.token_ids is not None:
        return _with_batch(replace(facts, given=id_tensor.tensor(config.token_ids, config.token_ids_dtype)))
    if material.ids is None or (material.tokens is not None and material.tokens.refused):
        return facts
    plan = batches.plan(len(material.ids), config.loader)
    last = max(0, plan.batches - 1) if plan else 0
    return _with_batch(replace(facts, plan=plan, batch_index=min(max(0, request.batch), last)))


def _without_default_tokenizer(config: InputConfig, stated: InputConfig) -> InputConfig:
    """Judge IDs beside a checkpoint by no tokenizer, where none is stated and the table is not GPT-2's own."""
    known = stated.is_stated("tokenizer") or config.tokenizer.encoding != stated.tokenizer.encoding
    if known or (stated.token_ids is None and stated.token_ids_file is None):
        return config
    rows = config.token_embedding.num_embeddings
    gpt2 = isinstance(rows, int) and _GPT2 <= rows < _GPT2 + 512
    return config if gpt2 else replace(config, tokenizer=replace(config.tokenizer, encoding=None))


def _any_error(found: Iterable[Diagnosis]) -> bool:
    return any(d.severity is Severity.ERROR for d in found)


def _with_batch(facts: Facts) -> Facts:
    """Add the batch that will be looked up: a list of rows of equal length, fit or not for the layers."""
    if facts.given is not None:
        shape = facts.given.shape
        if shape is None or len(shape) != 2 or not facts.given.is_index:
            return facts
        rows = tuple(tuple(int(i) for i in row) for row in facts.given.rows())
        return replace(facts, batch=rows, columns=shape[1])
    ids = facts.ids
    if facts.plan is None or ids is None:
        return facts
    samples = facts.plan.samples_of(facts.batch_index)
    if not samples or not facts.ids_whole:
        return facts
    rows = tuple(tuple(facts.plan.window(ids, s)) for s in samples)
    return replace(facts, batch=rows, columns=facts.plan.max_length)


def _batch_count(facts: Facts) -> int:
    if facts.given is not None:
        return 1
    return facts.plan.batches if facts.plan else 0


def _targets(facts: Facts) -> tuple[tuple[int, ...], ...] | None:
    ids = facts.ids
    if facts.plan is None or ids is None:
        return None
    return tuple(tuple(facts.plan.target(ids, s)) for s in facts.plan.samples_of(facts.batch_index))


# ---- the batch to look at ----------------------------------------------------------------------------------------


def _grid(facts: Facts) -> Grid:
    if facts.given is not None:
        given = tuple(tuple(row) for row in facts.given.rows())
        width = max((len(row) for row in given), default=0)
        samples = list(range(len(given)))
        return Grid(given, (), (None,) * len(given), tuple(samples), len(given), width, facts.batch is not None)
    plan, ids = facts.plan, facts.ids
    if ids is None:
        return Grid()
    if plan is None:
        return Grid((tuple(ids[:64]),), (), (0,), (0,), 1, min(64, len(ids)))
    samples = plan.samples_of(facts.batch_index)
    complete = bool(samples)
    if not complete:  # no batch: what there is of one, in the order of the text
        samples = list(range(plan.samples))[: plan.batch_size]
    starts = [sample * plan.stride for sample in samples]
    rows = [tuple(plan.window(ids, sample)) for sample in samples]
    targets = [tuple(plan.target(ids, sample)) for sample in samples]
    if not complete and len(rows) < plan.batch_size:  # tokens that are too few for a sample
        start = len(samples) * plan.stride
        if rest := tuple(ids[start : start + plan.max_length]):
            samples, starts, rows = [*samples, len(samples)], [*starts, start], [*rows, rest]
    expected = len(rows) if complete else plan.batch_size
    return Grid(tuple(rows), tuple(targets), tuple(starts), tuple(samples), expected, plan.max_length, complete)


# ---- shapes ------------------------------------------------------------------------------------------------------


def _shapes(facts: Facts, found: list[Diagnosis]) -> Iterable[StageShape]:
    """Yield what each stage takes and gives, and its state; what lies behind a fault is blocked."""
    faulty = {d.stage for d in found if d.severity is Severity.ERROR}
    tokens, batch, columns = facts.tokens, facts.batch, facts.columns
    rows = len(batch) if batch is not None else None
    ids_shape = (rows, columns) if rows is not None and columns is not None else None
    token, position, segment = facts.token_layer, facts.position_layer, facts.config.segment_embedding

    def status(stage: Stage, *, reached: bool, used: bool = True) -> Status:
        if stage in faulty:
            return Status.FAULT
        if not used:
            return Status.UNUSED
        return Status.OK if reached else Status.BLOCKED

    if facts.config.checkpoint is not None or Stage.FILE in faulty:
        yield StageShape(Stage.FILE, None, None, None, status(Stage.FILE, reached=True))
    loaded = facts.given is None  # the loader cuts the batch; a batch given as it stands goes round it
    text_used = loaded and facts.material.id_file is None
    ids_known = facts.ids is not None and Stage.TOKENIZER not in faulty
    ids_count = (len(facts.ids),) if facts.ids is not None and ids_known else None
    yield StageShape(
        Stage.TOKENIZER,
        (tokens.characters,) if tokens is not None else None,
        None,
        ids_count if text_used else None,
        status(Stage.TOKENIZER, reached=tokens is not None, used=text_used),
    )
    given_shape = facts.given.shape if facts.given is not None else None
    yield StageShape(
        Stage.DATA_LOADER,
        ids_count if loaded else given_shape,
        None,
        ids_shape if loaded else given_shape,
        status(Stage.DATA_LOADER, reached=(ids_known and Stage.FILE not in faulty) or not loaded, used=loaded),
    )

    arranged = arrangement(facts)
    token_out = None
    if ids_shape is not None and Stage.TOKEN_EMBEDDING not in faulty:
        token_out = (*ids_shape, int(facts.token_width or 0))
    yield StageShape(
        Stage.TOKEN_EMBEDDING,
        ids_shape,
        _table(token.num_embeddings, token.embedding_dim) if facts.knows_token_table else None,
        token_out,
        status(Stage.TOKEN_EMBEDDING, reached=ids_shape is not None),
    )
    yield from _added_shapes(facts, faulty, exchanged=arranged.exchanged)

    added = {Stage.POSITION_EMBEDDING: position, Stage.SEGMENT_EMBEDDING: segment}
    sound = token_out is not None and not any(s in faulty for s, layer in added.items() if layer is not None)
    yield StageShape(
        Stage.SUM,
        token_out,
        None,
        token_out if sound and Stage.SUM not in faulty else None,
        status(Stage.SUM, reached=sound),
    )


def _added_shapes(facts: Facts, faulty: set[Stage], *, exchanged: bool) -> Iterable[StageShape]:
    """Yield the shapes of the tables whose rows are added to the token rows."""
    columns = facts.columns
    line = (columns,) if columns is not None else None
    position_in: tuple[int, ...] | None = line if facts.positions is None else facts.positions.shape
    for stage, layer, went_in in (
        (Stage.POSITION_EMBEDDING, facts.position_layer, position_in),
        (Stage.SEGMENT_EMBEDDING, facts.config.segment_embedding, line),
    ):
        if layer is None:
            yield StageShape(stage, None, None, None, Status.UNUSED)
            continue
        unread = facts.material.field == "checkpoint"  # its sizes are in a file that cannot be read
        blocked = (
            unread or went_in is None or facts.columns is None or (stage is Stage.POSITION_EMBEDDING and exchanged)
        )
        state = Status.FAULT if stage in faulty else Status.BLOCKED if blocked else Status.OK
        table = _table(layer.num_embeddings, layer.embedding_dim)
        came_out = (*went_in, table[1]) if state is Status.OK and went_in is not None and table else None
        yield StageShape(stage, went_in, table, came_out, state)


def _table(rows: int | float | None, width: int | float | None) -> tuple[int, int] | None:
    """Return a table's shape as the constructor was given it; None where it is no shape."""
    if isinstance(rows, int) and isinstance(width, int):
        return rows, width
    return None
