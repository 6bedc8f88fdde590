"""What a live model holds: its tensors by name, and a promise to leave all of it as it was."""

from __future__ import annotations

import random
import sys
from collections import OrderedDict
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import Tensor, nn

_CONTAINERS = (dict, OrderedDict, list, set)


class Held(NamedTuple):
    """A tensor of a model's: a parameter, a buffer, or a plain attribute.

    `name` is what a state dict calls it. `layer` is the `nn.Embedding` whose weight it is.
    """

    name: str
    tensor: Tensor
    layer: nn.Embedding | None = None

    @property
    def subject(self) -> str:
        """What a person calls it: the layer, or the tensor itself where it is no layer's weight."""
        return self.name.removesuffix(".weight") if self.layer is not None else self.name

    @property
    def rows(self) -> int:
        """How many rows it has as a table; axes of size 1 in front or between do not count."""
        return self.tensor.numel() // self.tensor.shape[-1] if self.is_table else 0

    @property
    def is_table(self) -> bool:
        """Whether it has rows: two axes, and any others of size 1."""
        shape = self.tensor.shape
        return len(shape) >= 2 and self.tensor.numel() > 0 and max(shape[:-1]) * shape[-1] == self.tensor.numel()


def storage_of(tensor: Tensor) -> int:
    """Return what tells a tensor's memory from others', views included."""
    return int(tensor.untyped_storage()._cdata)


def held_tensors(model: nn.Module) -> list[Held]:
    """Return every tensor of a model that has a shape already, each once, in the order of its modules."""
    import torch
    from torch import nn
    from torch.nn.parameter import is_lazy

    found: list[Held] = []
    seen: set[int] = set()
    for prefix, module in model.named_modules():
        layer = module if isinstance(module, nn.Embedding) else None
        # In every dictionary by itself: a lookup by attribute would run a parametrisation or a property.
        for group in (module._parameters, module._buffers, vars(module)):
            for name, tensor in group.items():
                if isinstance(tensor, torch.Tensor) and id(tensor) not in seen and not is_lazy(tensor):
                    seen.add(id(tensor))
                    is_weight = layer is not None and name == "weight"
                    found.append(Held(f"{prefix}.{name}" if prefix else name, tensor, layer if is_weight else None))
    return found


class Originals:
    """The values of tensors from before they were first written to."""

    def __init__(self, state: Sequence[Held]) -> None:
        self._in_memory: dict[int, list[Tensor]] = {}
        for held in state:
            self._in_memory.setdefault(storage_of(held.tensor), []).append(held.tensor)
        self._saved: list[tuple[Tensor, Tensor]] = []

    def save(self, written: Tensor) -> None:
        """Keep the values of the model's tensors in the memory that is about to be written to."""
        for tensor in self._in_memory.pop(storage_of(written), ()):
            self._saved.append((tensor, tensor.detach().clone()))

    def restore(self) -> None:
        """Write the kept values back."""
        import torch

        with torch.no_grad():
            for tensor, values in self._saved:
                if tensor.shape != values.shape:  # an operation told to write into it has resized it
                    tensor.resize_(values.shape)
                tensor.copy_(values)


@contextmanager
def untouched(model: nn.Module, state: Sequence[Held]) -> Iterator[Originals]:
    """Leave a model and all random states as they were, whatever happens inside.

    Every module's attributes are bound to what they were bound to, its dictionaries, lists and sets hold what they
    held, and tensors of whose writing `Originals.save` is told have their values. Inside, all modules are in evaluation
    mode.
    """
    import torch

    before = [(module, _attributes(module)) for module in model.modules()]
    originals = Originals(state)
    python, numpy = random.getstate(), sys.modules.get("numpy")
    numbers = numpy.random.get_state() if numpy is not None else None
    gpus = sorted({h.tensor.device.index for h in state if h.tensor.device.type == "cuda"})
    with ExitStack() as stack:
        stack.enter_context(torch.random.fork_rng(devices=gpus))
        stack.callback(random.setstate, python)
        if numpy is not None:
            stack.callback(numpy.random.set_state, numbers)
        stack.callback(originals.restore)
        for module, attributes in before:
            stack.callback(_set_attributes, module, attributes)
            module.training = False
        yield originals


def _attributes(module: nn.Module) -> dict[str, tuple[Any, Any]]:
    """Return a module's attributes, each with a copy of what it holds where it is a container."""
    return {
        name: (value, type(value)(value) if type(value) in _CONTAINERS else None)
        for name, value in vars(module).items()
    }


def _set_attributes(module: nn.Module, attributes: dict[str, tuple[Any, Any]]) -> None:
    now = vars(module)
    for name in now.keys() - attributes.keys():
        del now[name]
    for name, (value, content) in attributes.items():
        now[name] = value
        if isinstance(value, list):
            value[:] = content
        elif content is not None and not _same(value, content):
            value.clear()
            value.update(content)


def _same(now: Any, before: Any) -> bool:
    """Return whether a dictionary or a set holds the very objects it held, in their order."""
    if len(now) != len(before):
        return False
    if isinstance(now, dict):
        return all(a is b and now[a] is before[b] for a, b in zip(now, before, strict=True))
    return all(a is b for a, b in zip(now, before, strict=True))
