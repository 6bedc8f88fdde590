"""One forward pass of a live model, watched, stopped before its first block, and undone."""

from __future__ import annotations

import inspect
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.look_ups import ADDING, LOOKING_UP, Watch
from inspector.model_state import untouched

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from torch import Tensor, nn

    from inspector.look_ups import Source
    from inspector.model_state import Held

_WRAPPED = {  # by the class of a wrapper, where it keeps the model
    "OptimizedModule": "_orig_mod",
    "DataParallel": "module",
    "DistributedDataParallel": "module",
    "DeepSpeedEngine": "module",
}
# What forward calls the token IDs, where it takes more than them.
ID_NAMES = ("input_ids", "token_ids", "tokens", "idx", "ids", "x")


class Pass(NamedTuple):
    """What a forward pass did.

    Attributes:
        sources: the rows it took from the model's tensors, in order.
        token: which of them are the token rows; None where the IDs were not looked up.
        adds_more: whether something that is no row of a table was added to them.
        error: what it raised, None where it went through the input stage.
        at_look_up: whether a look-up raised it.
        at_sum: whether an addition did.
    """

    sources: Sequence[Source]
    token: Source | None
    adds_more: bool = False
    error: Exception | None = None
    at_look_up: bool = False
    at_sum: bool = False


class Enough(BaseException):
    """The input stage is behind us. No `except Exception` in a model's forward takes it for an error."""


def unwrapped(model: nn.Module) -> nn.Module:
    """Return the model inside what `torch.compile` and distributed training put around it."""
    while (name := _WRAPPED.get(type(model).__name__)) is not None:
        inner: nn.Module = getattr(model, name)
        model = inner
    return model


def refusal(model: nn.Module, state: Sequence[Held]) -> str | None:
    """Return why a model's forward is not to be called, in words that follow "because"; None where it may be."""
    import torch
    from torch.nn.parameter import is_lazy
    from torch.utils._python_dispatch import is_traceable_wrapper_subclass

    if any(isinstance(m, torch.jit.ScriptModule) for m in model.modules()):
        return "a scripted model does not show its look-ups"
    if any(is_lazy(tensor) for tensor in [*model.parameters(), *model.buffers()]):
        return "the first pass would give its lazy layers their sizes"
    if any(held.tensor.is_meta for held in state):
        return "tensors on the meta device hold no values"
    if any(is_traceable_wrapper_subclass(held.tensor) for held in state):
        return "its tensors are spread over several devices or packed"
    if _is_compiled(model) and not hasattr(torch.compiler, "set_stance"):
        return "parts of it would be compiled first"
    return None


def call_arguments(
    model: nn.Module, ids: Tensor, others: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | str:
    """Return what to call a model's forward with; a sentence's end where it asks for what is not at hand."""
    parameters = inspect.signature(model.forward).parameters
    named = next((name for name in ID_NAMES if name in parameters), None)
    args: tuple[Any, ...] = (ids,)
    kwargs = dict(others)
    if named is not None and (others or named == "input_ids"):
        args, kwargs = (), {named: ids, **others}
    try:
        inspect.signature(model.forward).bind(*args, **kwargs)
    except TypeError as error:
        return f"its forward cannot be called with {'these' if others else 'token_ids alone'}: {error}"
    return args, kwargs


def run(
    model: nn.Module,
    state: Sequence[Held],
    ids: Tensor,
    arguments: tuple[tuple[Any, ...], dict[str, Any]],
    expected: Sequence[Held],
) -> Pass:
    """Call a model's forward as far as its first block, and leave the model as it was.

    Args:
        model: the model.
        state: its tensors.
        ids: the token IDs, (B, T) int64, on the token table's device.
        arguments: what to call it with.
        expected: tables that are to be seen before a block is taken for the end of the input stage.
    """
    import torch

    args, kwargs = arguments
    error: Exception | None = None
    with ExitStack() as stack:
        originals = stack.enter_context(untouched(model, state))
        for module in model.modules():
            if isinstance(module, torch.nn.Embedding):
                module.max_norm = None  # it would rewrite rows, and tell autograd so even where it is kept from it
        watch = Watch(ids, state, originals)
        stack.enter_context(_stopping_at_blocks(model, watch, expected))
        if _is_compiled(model):
            stack.enter_context(torch.compiler.set_stance("force_eager"))
        stack.enter_context(torch.no_grad())
        stack.enter_context(_mode(watch))
        try:
            model(*args, **kwargs)
        except Enough:
            pass
        except Exception as raised:  # noqa: BLE001 - whatever a model raises is reported, X900
            error = raised
    at = watch.running if error is not None else ""
    return Pass(watch.sources, watch.found_token(), watch.adds_more, error, at in LOOKING_UP, at in ADDING)


def _mode(watch: Watch) -> Any:
    """Return a context in which every operation is handed to a watch."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Handing(TorchDispatchMode):  # type: ignore[no-untyped-call] # torch leaves these without types
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return watch.see(func, args, kwargs or {})

    return Handing()  # type: ignore[no-untyped-call]


@contextmanager
def _stopping_at_blocks(model: nn.Module, watch: Watch, expected: Sequence[Held]) -> Iterator[None]:
    """End the pass where a block begins once the tables have been looked up."""

    def stop(_: nn.Module, __: Any) -> None:
        seen = {id(source.held.tensor) for source in watch.sources}
        if watch.token is not None and all(id(held.tensor) in seen for held in expected):
            raise Enough

    with ExitStack() as stack:
        for module in model.modules():
            if module is not model and _is_block(module):
                stack.callback(module.register_forward_pre_hook(stop).remove)
        yield


def _is_block(module: nn.Module) -> bool:
    """Return whether a module can only come after the input stage: several matrices and no embedding."""
    from torch import nn

    matrices = sum(parameter.dim() >= 2 for parameter in module.parameters())
    return matrices >= 2 and not any(isinstance(m, nn.Embedding) for m in module.modules())


def _is_compiled(model: nn.Module) -> bool:
    return any(
        type(m).__name__ == "OptimizedModule" or getattr(m, "_compiled_call_impl", None) is not None
        for m in model.modules()
    )
