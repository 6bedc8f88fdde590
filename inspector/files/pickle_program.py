"""The program that a pickle is, read and not run.

A pickle is a list of instructions for a stack machine, some of which call a function by its name. `torch.load` with
`weights_only=True` runs them with a short list of functions; here the same list is known, and calling one of them makes
a value that says what the result would be: no object is built, no module imported, no storage filled. So a hostile
pickle has nothing to run, a damaged one ends in one kind of exception, and a checkpoint of many gigabytes opens from
the few kilobytes that describe it.
"""

from __future__ import annotations

import pickletools
from typing import TYPE_CHECKING, Any

from inspector.files import pickle_values
from inspector.files.pickle_values import OPAQUE, BrokenPickle, Name, NeedsCode, Opaque, is_known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import IO

_MOST_STEPS = 2_000_000  # some four seconds; a state dict takes about fifty for each tensor

_OPCODES = {opcode.code: opcode for opcode in pickletools.opcodes}

# Instructions whose argument is the value they push.
_LITERALS = frozenset(
    {
        *("BININT", "BININT1", "BININT2", "LONG1", "LONG4", "BINFLOAT", "BINSTRING", "SHORT_BINSTRING"),
        *("BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
    }
)
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_EMPTY: dict[str, Callable[[], Any]] = {
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
    "EMPTY_TUPLE": tuple,
    "EMPTY_SET": Opaque,
}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_CALLS = {"REDUCE": 1, "NEWOBJ": 1, "NEWOBJ_EX": 2}  # and how many values of arguments they take
# Those of the oldest protocol write values as text, and escapes in it make Python warn of what a damaged file says.
_TEXTUAL = frozenset({"INT", "LONG", "FLOAT", "STRING", "UNICODE", "PERSID"})
_NAMES = frozenset({"GLOBAL", "INST"})
_NOTHING = frozenset({"PROTO", "FRAME", "STOP"})


def read_pickle(stream: IO[bytes]) -> Any:
    """Return what a pickle describes, and leave the stream behind its end.

    Containers, numbers and strings are themselves; a tensor is a `Stored`, whatever else is `OPAQUE`.

    Raises:
        BrokenPickle: it is damaged.
        NeedsCode: it asks for something that is not known to be harmless.
    """
    machine = _Machine()
    try:
        for step, (name, argument) in enumerate(_instructions(stream)):
            if step == _MOST_STEPS:
                raise BrokenPickle("it has millions of instructions")
            machine.step(name, argument)
    except (ValueError, LookupError, AssertionError) as error:
        # Bytes that are no instruction, an argument that is none of its kind, no value on the stack to act on.
        raise BrokenPickle("its instructions end too early or make no sense") from error
    if len(machine.stack) != 1:
        raise BrokenPickle("its instructions leave no single value")
    return machine.stack[0]


def _instructions(stream: IO[bytes]) -> Iterator[tuple[str, Any]]:
    """Yield the instructions of a pickle, each with its argument."""
    name = ""
    while name != "STOP":
        opcode = _OPCODES[stream.read(1).decode("latin-1")]
        name = opcode.name
        if name in _TEXTUAL:
            raise BrokenPickle(f"it has the instruction {name}, which no checkpoint needs")
        if name in _NAMES:
            yield name, (_line(stream), _line(stream))
        else:
            yield name, None if opcode.arg is None else opcode.arg.reader(stream)


def _line(stream: IO[bytes]) -> str:
    line = stream.readline()
    if not line.endswith(b"\n"):
        raise BrokenPickle("its instructions end too early or make no sense")
    return line[:-1].decode("utf-8")


class _Machine:
    """The stack machine.

    Attributes:
        stack: its values, the result at the end.
    """

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}

    def step(self, name: str, argument: Any) -> None:
        """Carry out one instruction."""
        if name in _LITERALS:
            self.stack.append(argument)
        elif name in _CONSTANTS:
            self.stack.append(_CONSTANTS[name])
        elif name in _EMPTY:
            self.stack.append(_EMPTY[name]())
        elif name in _TUPLES:
            self.stack.append(tuple(self._pop(_TUPLES[name])))
        elif name in _CALLS:
            function, arguments, *_ = self._pop(1 + _CALLS[name])
            self._call(function, arguments)
        elif name not in _NOTHING:
            act = getattr(self, f"_do_{name.lower()}", None)
            if act is None:
                raise BrokenPickle(f"it has the instruction {name}, which no checkpoint needs")
            act(argument)

    def _pop(self, count: int) -> list[Any]:
        """Take the topmost values off, the deepest of them first."""
        start = len(self.stack) - count
        if start < (self._marks[-1] if self._marks else 0):
            raise LookupError
        values = self.stack[start:]
        del self.stack[start:]
        return values

    def _pop_to_mark(self) -> list[Any]:
        start = self._marks.pop()
        values = self.stack[start:]
        del self.stack[start:]
        return values

    def _call(self, function: Any, arguments: Any) -> None:
        if not isinstance(arguments, tuple):
            raise BrokenPickle("it calls something without arguments")
        self.stack.append(pickle_values.call(function, arguments))

    def _push_name(self, module: str, name: str) -> None:
        # As Python 2 called it, and as protocol 2 still does.
        found = Name("builtins" if module == "__builtin__" else module, name)
        if not all(part.isidentifier() for part in f"{module}.{name}".split(".")):
            raise BrokenPickle("it asks for something that has no name of Python's")
        if not is_known(found):
            raise NeedsCode(f"{found.module}.{found.name}")
        self.stack.append(found)

    # ---- one method an instruction, by its name ----

    def _do_mark(self, _: Any) -> None:
        self._marks.append(len(self.stack))

    def _do_pop(self, _: Any) -> None:
        if self._marks and self._marks[-1] == len(self.stack):
            self._marks.pop()
        else:
            self._pop(1)

    def _do_pop_mark(self, _: Any) -> None:
        self._pop_to_mark()

    def _do_dup(self, _: Any) -> None:
        self.stack.append(self.stack[-1])

    def _do_list(self, _: Any) -> None:
        self.stack.append(self._pop_to_mark())

    def _do_tuple(self, _: Any) -> None:
        self.stack.append(tuple(self._pop_to_mark()))

    def _do_frozenset(self, _: Any) -> None:
        self._pop_to_mark()
        self.stack.append(OPAQUE)

    def _do_dict(self, _: Any) -> None:
        values = self._pop_to_mark()
        self.stack.append({})
        self._set_items(values)

    def _do_append(self, _: Any) -> None:
        self._extend(self._pop(1))

    def _do_appends(self, _: Any) -> None:
        self._extend(self._pop_to_mark())

    def _do_additems(self, _: Any) -> None:
        self._pop_to_mark()

    def _do_setitem(self, _: Any) -> None:
        self._set_items(self._pop(2))

    def _do_setitems(self, _: Any) -> None:
        self._set_items(self._pop_to_mark())

    def _do_build(self, _: Any) -> None:
        self._pop(1)  # attributes of an object, such as a state dict's `_metadata`

    def _do_global(self, argument: tuple[str, str]) -> None:
        self._push_name(*argument)

    def _do_stack_global(self, _: Any) -> None:
        module, name = self._pop(2)
        if not isinstance(module, str) or not isinstance(name, str):
            raise BrokenPickle("it asks for something without a name")
        self._push_name(module, name)

    def _do_inst(self, argument: tuple[str, str]) -> None:
        arguments = tuple(self._pop_to_mark())
        self._push_name(*argument)
        self._call(self.stack.pop(), arguments)

    def _do_binpersid(self, _: Any) -> None:
        self.stack.append(pickle_values.storage(self._pop(1)[0]))

    def _do_put(self, argument: int) -> None:
        self._memo[argument] = self.stack[-1]

    _do_binput = _do_long_binput = _do_put

    def _do_memoize(self, _: Any) -> None:
        self._do_put(len(self._memo))

    def _do_get(self, argument: int) -> None:
        self.stack.append(self._memo[argument])

    _do_binget = _do_long_binget = _do_get

    def _extend(self, values: list[Any]) -> None:
        target = self.stack[-1]
        if isinstance(target, list):
            target.extend(values)

    def _set_items(self, values: list[Any]) -> None:
        target = self.stack[-1]
        if isinstance(target, dict):
            for key, value in zip(values[::2], values[1::2], strict=True):
                pickle_values.put(target, key, value)
