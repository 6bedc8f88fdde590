"""What a checkpoint's pickle is made of: tensors and storages, described, and the functions it may ask for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from inspector.files.dtypes import ITEM_SIZES

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_AXES = 64  # torch has no more


class BrokenPickle(Exception):
    """The bytes are not a pickle, or not a whole one; the message says why."""


class NeedsCode(Exception):
    """Loading the pickle would call something that is not known to be harmless.

    Attributes:
        wanted: its dotted name.
    """

    def __init__(self, wanted: str) -> None:
        super().__init__(wanted)
        self.wanted = wanted


class Name(NamedTuple):
    """A function or class that a pickle asks for."""

    module: str
    name: str


class Storage(NamedTuple):
    """The values behind tensors. `dtype` is None for one of bytes."""

    key: str
    dtype: str | None
    values: int


class Stored(NamedTuple):
    """A tensor: its place in a storage, offset and strides in values of its dtype."""

    storage: Storage
    dtype: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class Opaque:
    """A value that plays no part: a device, a layout, a tensor of a kind that is not a table of numbers."""


OPAQUE = Opaque()

_STORAGES = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "ComplexDoubleStorage": "complex128",
    "ComplexFloatStorage": "complex64",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "UntypedStorage": None,
    "TypedStorage": None,
    "QInt8Storage": None,
    "QUInt8Storage": None,
    "QInt32Storage": None,
    "QUInt4x2Storage": None,
    "QUInt2x4Storage": None,
}
_STORAGE_MODULES = {"torch", "torch.cuda", "torch.storage"}
# dtypes, quantisation schemes and the old tensor classes: names that stand for themselves
_PLAIN_TORCH = re.compile(
    r"Size|Tensor|device|(b?float|uint|int|complex|bits|quint|qint)\d\w*|bool|per_(tensor|channel)_\w+"
    r"|(BFloat16|Bool|Byte|Char|ComplexDouble|ComplexFloat|Double|Float|Half|Int|Long|Short)Tensor"
)
_TENSOR_MODULES = {"torch", "torch.cuda", "torch.sparse", "torch.cuda.sparse"}
_HARMLESS = {
    Name("_codecs", "encode"),
    Name("builtins", "bytearray"),
    Name("builtins", "complex"),
    Name("builtins", "set"),
    Name("collections", "Counter"),
    Name("torch.nn.parameter", "Parameter"),
    Name("torch.serialization", "_get_layout"),
    Name("torch._utils", "_rebuild_device_tensor_from_cpu_tensor"),
    Name("torch._utils", "_rebuild_device_tensor_from_numpy"),
    Name("torch._utils", "_rebuild_meta_tensor_no_storage"),
    Name("torch._utils", "_rebuild_nested_tensor"),
    Name("torch._utils", "_rebuild_qtensor"),
    Name("torch._utils", "_rebuild_sparse_tensor"),
    Name("torch._utils", "_rebuild_wrapper_subclass"),
}


def is_known(name: Name) -> bool:
    """Return whether a pickle may ask for this: all that `torch.load(weights_only=True)` provides, and no more."""
    return (
        name in _HARMLESS
        or name in _CALLS
        or (name.module in _STORAGE_MODULES and name.name in _STORAGES)
        or (name.module in _TENSOR_MODULES and _PLAIN_TORCH.fullmatch(name.name) is not None)
    )


def _tensor(arguments: tuple[Any, ...], dtype: str | None = None) -> Any:
    storage, offset, shape, strides = arguments[:4]
    if not isinstance(storage, Storage) or type(offset) is not int or offset < 0:
        raise BrokenPickle("a tensor in it has no storage")
    dtype = dtype or storage.dtype
    if dtype is None:
        return OPAQUE
    if not _are_sizes(shape) or not _are_sizes(strides) or len(shape) != len(strides):
        raise BrokenPickle("a tensor in it has no shape")
    return Stored(storage, dtype, offset, shape, strides)


def _tensor_of_dtype(arguments: tuple[Any, ...]) -> Any:
    dtype = arguments[6]
    if not isinstance(dtype, Name):
        raise BrokenPickle("a tensor in it has no dtype")
    return _tensor(arguments, dtype.name) if dtype.name in ITEM_SIZES else OPAQUE


def _first(arguments: tuple[Any, ...]) -> Any:
    return arguments[0]


def _ordered(arguments: tuple[Any, ...]) -> Any:
    if not arguments:
        return {}
    found: dict[Any, Any] = {}
    if isinstance(arguments[0], list):
        for pair in arguments[0]:
            if not isinstance(pair, list | tuple) or len(pair) != 2:
                raise BrokenPickle("a mapping in it is not one of pairs")
            put(found, pair[0], pair[1])
    return found


def put(mapping: dict[Any, Any], key: Any, value: Any) -> None:
    """Set an entry of a mapping; one under a key that cannot name a tensor is left out.

    To hash a tuple of tuples goes as deep as a damaged pickle makes it, without a limit.
    """
    if isinstance(key, str | int | float):
        mapping[key] = value


def _subclass(arguments: tuple[Any, ...]) -> Any:
    function, _, inner = arguments[:3]
    known = _CALLS.get(function) if isinstance(function, Name) else None
    # Never itself: arguments within arguments could go as deep as a pickle is long.
    return OPAQUE if known is None or known is _subclass or not isinstance(inner, tuple) else known(inner)


_CALLS: dict[Name, Callable[[tuple[Any, ...]], Any]] = {
    Name("collections", "OrderedDict"): _ordered,
    Name("torch", "Size"): _first,
    Name("torch._tensor", "_rebuild_from_type_v2"): _subclass,
    Name("torch._utils", "_rebuild_parameter"): _first,
    Name("torch._utils", "_rebuild_parameter_with_state"): _first,
    Name("torch._utils", "_rebuild_tensor"): _tensor,
    Name("torch._utils", "_rebuild_tensor_v2"): _tensor,
    Name("torch._utils", "_rebuild_tensor_v3"): _tensor_of_dtype,
}


def call(function: Any, arguments: tuple[Any, ...]) -> Any:
    """Return what a function that is known would make of its arguments.

    Raises:
        BrokenPickle, ValueError, LookupError: they are not its arguments.
    """
    known = _CALLS.get(function) if isinstance(function, Name) else None
    return OPAQUE if known is None else known(arguments)


def storage(identity: Any) -> Storage:
    """Return the storage that a checkpoint's identity of one stands for.

    Raises:
        BrokenPickle: it is none.
    """
    if not isinstance(identity, tuple) or len(identity) < 5 or identity[0] != "storage":
        raise BrokenPickle("it refers to something that is not a storage")
    kind, key, _, count = identity[1:5]
    if not isinstance(kind, Name) or kind.name not in _STORAGES or not isinstance(key, str) or not _are_sizes((count,)):
        raise BrokenPickle("it refers to a storage without a kind or a size")
    return Storage(key, _STORAGES[kind.name], count)


def _are_sizes(value: Any) -> bool:
    return (
        isinstance(value, tuple) and len(value) <= _MOST_AXES and all(type(v) is int and 0 <= v < 2**63 for v in value)
    )
