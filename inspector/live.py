"""A model in memory: the layers that its forward pass really looks up, judged without running a look-up that fails.

The model's own forward is called once, under a watch that keeps every index inside its table, stops before the first
block, and leaves the model as it was. Where forward cannot be called, or ends too early, the layers' names tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from inspector import api, checks, forward_pass, id_tensor, live_layers, pipeline, trace
from inspector import layers as built_layers
from inspector.config import TokenizerConfig
from inspector.diagnosis import Stage, Status
from inspector.inspection_file import InspectionFileError
from inspector.live_inspection import LiveInspection, LiveTable, Raised
from inspector.material import Material
from inspector.model_state import held_tensors
from inspector.recipe import ITEM_SIZES, Recipe, Role
from inspector.result import Result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from inspector.config import InputConfig
    from inspector.diagnosis import Diagnosis
    from inspector.forward_pass import Pass
    from inspector.live_layers import Layers
    from inspector.model_state import Held
    from inspector.trace import Trace

KEYS = ("tokenizer", "embedding_dim", "positions", "past_length", "loader")
_STAGES = {
    Role.TOKEN: Stage.TOKEN_EMBEDDING,
    Role.POSITION: Stage.POSITION_EMBEDDING,
    Role.SEGMENT: Stage.SEGMENT_EMBEDDING,
}


@dataclass(frozen=True)
class LiveResult(Result):
    """The verdict on a live model; its rows are the model's own, as they were when it was judged."""

    live: LiveInspection = field(kw_only=True)

    @cached_property
    def trace(self) -> Trace:
        """The rows of the batch, copied from the model.

        Raises:
            NotEnoughMemory: they do not fit.
        """
        found = self.live.tables
        if Role.TOKEN not in found or not self.live.names.keys() <= found.keys():
            return trace.Trace()
        layers = built_layers.Layers(Recipe.of(self.config), *(found.get(role) for role in Role))
        traced = trace.of(self, layers)
        segments = self.live.indices.get(Role.SEGMENT)
        if segments is not None and bool(segments.any()):  # a sum adds the row of segment 0
            traced = replace(traced, sums=None, sum_present=None)
        return traced


# ---- the two doors -----------------------------------------------------------------------------------------------


def check_model(model: nn.Module, token_ids: Any, **keys: Any) -> LiveResult:
    """Judge a live model's embedding layers with a batch of token IDs.

    Args:
        model: the model; nothing of it changes.
        token_ids: an array, tensor or nested list of IDs, (B, T); or the arguments of the model's forward by name
            (`{"input_ids": …, "token_type_ids": …}`).
        **keys: of the inspection file, those that a model does not answer: `tokenizer`, `embedding_dim`, `positions`,
            `past_length`, `loader`.

    Raises:
        InspectionFileError: the IDs or a key cannot be understood (a ValueError).
        TypeError: the model is no `torch.nn.Module`.
    """
    live = look(model, token_ids, **keys)
    judged = pipeline.run(pipeline.Request(live.config), Material(live=live))
    subjects = {_STAGES[role]: name for role, name in live.names.items()}
    found = [d if d.subject else replace(d, subject=subjects.get(d.stage)) for d in judged.diagnoses]
    shapes = judged.shapes
    if live.missing is not None:
        found = [_layers_not_found(live.missing)]
        unknown = {*_STAGES.values(), Stage.SUM}
        shapes = tuple(
            s._replace(table=None, output=None, status=Status.BLOCKED) if s.stage in unknown else s for s in shapes
        )
    elif live.raised is not None and judged.ok:
        found.append(_torch_raised(live.raised))
    found.sort(key=lambda d: d.order)
    values = {f.name: getattr(judged, f.name) for f in fields(judged)}
    result = LiveResult(**values | {"diagnoses": tuple(found), "shapes": shapes}, live=live)
    with suppress(built_layers.NotEnoughMemory):  # raised again where the rows are asked for
        result.trace  # noqa: B018 - the rows are copied now: a model is trained on
    return result


def look(model: nn.Module, token_ids: Any, **keys: Any) -> LiveInspection:
    """Find a live model's embedding layers and what they are asked for.

    Raises:
        InspectionFileError: the IDs or a key cannot be understood (a ValueError).
        TypeError: the model is no `torch.nn.Module`.
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"the model must be a torch.nn.Module, not {type(model).__name__}")
    config, others = _inspection(token_ids, keys)
    model = forward_pass.unwrapped(model)
    state = held_tensors(model)
    named = live_layers.by_names(model, state, config.tokenizer.n_vocab)
    done = _forward(model, state, config, others, named)
    if isinstance(done, str):
        return _described(model, config, named, f"by their names, because {done}")
    if done.token is None:
        because = f"its forward pass raised {_text(done.error)}" if done.error else "no look-up of the IDs was seen"
        return _described(model, config, named, f"by their names, because {because}")
    return _passed(model, config, named, done)


# ---- what was asked for --------------------------------------------------------------------------------------------


def _inspection(token_ids: Any, keys: dict[str, Any]) -> tuple[InputConfig, dict[str, Any]]:
    """Return the inspection before a model was looked at, and the further arguments of its forward."""
    for key in keys:
        if key not in KEYS:
            raise InspectionFileError(f"{key} is not for a model to be told; known are {', '.join(KEYS)}")
    others: dict[str, Any] = {}
    if isinstance(token_ids, Mapping):
        name = next((n for n in forward_pass.ID_NAMES if n in token_ids), None)
        if name is None:
            raise InspectionFileError(f"the arguments hold no token IDs: none is called {forward_pass.ID_NAMES[0]}")
        others = {n: v.clone() if isinstance(v, torch.Tensor) else v for n, v in token_ids.items() if n != name}
        token_ids = token_ids[name]
    if not (isinstance(token_ids, list | tuple) or hasattr(token_ids, "tolist")):
        raise InspectionFileError(f"token_ids must be an array or a list of IDs, not {type(token_ids).__name__}")
    config = api.inspection(token_ids, keys)
    if "tokenizer" not in keys:
        config = replace(config, tokenizer=TokenizerConfig(encoding=None))
    return config if "embedding_dim" in keys else replace(config, embedding_dim=None), others


def _forward(
    model: nn.Module, state: Sequence[Held], config: InputConfig, others: Mapping[str, Any], named: Layers
) -> Pass | str:
    """Return what a forward pass did; a sentence's end that says why there is none."""
    refused = forward_pass.refusal(model, state)
    if refused is not None:
        return refused
    given = id_tensor.tensor(config.token_ids or (), config.token_ids_dtype)
    if given.shape is None or len(given.shape) != 2 or 0 in given.shape or not given.is_index:
        return "the IDs are no batch of whole numbers"
    token = named.parts.get(Role.TOKEN)
    near = token.held if token is not None else next(iter(state), None)
    device = near.tensor.device if near is not None else None
    ids = torch.tensor(given.rows(), dtype=torch.int64, device=device)  # (B, T)
    arguments = forward_pass.call_arguments(model, ids, others)
    if isinstance(arguments, str):
        return arguments
    position = named.parts.get(Role.POSITION)
    return forward_pass.run(model, state, ids, arguments, [] if position is None else [position.held])


# ---- what was found ------------------------------------------------------------------------------------------------


def _passed(model: nn.Module, config: InputConfig, named: Layers, done: Pass) -> LiveInspection:
    """Return what a pass showed that looked the IDs up."""
    assert done.token is not None
    layers = live_layers.by_look_ups(done.sources, done.token, whole=done.error is None)
    notes = []
    if not done.token.of_ids:
        notes.append("The model changes the IDs before it looks them up; what it looks up is judged.")
        config = replace(config, token_ids=live_layers.as_batch(done.token.indices))
    for role, part in layers.parts.items():
        if part.changes:
            changed = f"{part.held.subject} on their way ({', '.join(dict.fromkeys(part.changes))})"
            notes.append(f"The model changes the {role} rows of {changed}: the sum is without that.")
    notes += [f"The model adds rows of {held.subject} too: the sum is without them." for held in layers.others]
    if done.adds_more:
        notes.append("The model adds values that are no rows of a table to the token rows: the sum is without them.")
    raised = None
    if done.error is not None:
        rest = {role: part for role, part in named.parts.items() if role not in layers.parts}
        is_inside = done.at_sum or done.at_look_up or (bool(rest) and not done.token.is_added)
        layers = layers._replace(parts={**layers.parts, **rest})
        if is_inside:
            raised = Raised(Stage.SUM if done.at_sum else Stage.MODEL, _text(done.error))
        else:
            notes.append(_sentence(f"Behind the input stage the forward pass raises {_text(done.error)}"))
    seen = ", ".join(dict.fromkeys(source.held.subject for source in done.sources))
    found = _described(model, config, layers, f"in a forward pass, which looked up, in this order: {seen}")
    return replace(found, notes=(*notes, *found.notes), raised=raised)


def _described(model: nn.Module, config: InputConfig, layers: Layers, how: str) -> LiveInspection:
    """Return layers as an inspection."""
    if Role.TOKEN not in layers.parts:
        missing = f"{_nothing_found(model)}; layers were looked for {how}"
        return LiveInspection(config, how=_sentence(f"No layers were found {how}"), missing=missing)
    config = live_layers.configured(config, layers)
    if config.embedding_dim is None:
        config = replace(config, embedding_dim=live_layers.votes(model, layers))
    readable = {role for role, part in layers.parts.items() if _is_readable(part.held.tensor)}
    return LiveInspection(
        config,
        {role: LiveTable(part.held) for role, part in layers.parts.items() if role in readable},
        {role: part.held.subject for role, part in layers.parts.items()},
        _sentence(f"The layers were found {how}"),
        tuple(
            f"The values of {p.held.subject} cannot be read."
            for role, p in layers.parts.items()
            if role not in readable
        ),
        {role: part.indices for role, part in layers.parts.items() if part.indices is not None},
    )


def _is_readable(tensor: Tensor) -> bool:
    plain = tensor.layout is torch.strided and not tensor.is_meta
    return plain and live_layers.dtype_name(tensor) in ITEM_SIZES


def _nothing_found(model: nn.Module) -> str:
    """Return that there is no token layer, and what there is instead."""
    kinds = {name: type(m).__name__ for name, m in model.named_modules() if "Embedding" in type(m).__name__}
    if not kinds:
        return f"{type(model).__name__} has no embedding layer"
    listed = ", ".join(f"{name or 'the model itself'} ({kind})" for name, kind in list(kinds.items())[:8])
    return f"none of the embedding layers of {type(model).__name__} is known to be the token layer: {listed}"


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _text(error: Exception | None) -> str:
    return f"{type(error).__name__}: {error}"


def _layers_not_found(why: str) -> Diagnosis:
    (kind,) = checks.find("M701")
    return kind.diagnosis(
        why, "pass a batch of IDs that the model's forward takes, or judge the sizes alone with inspector.check"
    )


def _torch_raised(raised: Raised) -> Diagnosis:
    (kind,) = checks.find("X900")
    said = kind.diagnosis(
        f"the forward pass raises in the input stage, and none of the checks says why: {raised.text}",
        "read the traceback of model(token_ids): its last line in your own code is the place",
        torch=raised.text,
    )
    return replace(said, stage=raised.stage)
