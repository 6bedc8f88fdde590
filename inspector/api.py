"""The Python door: `inspector.check` turns what a person has at hand into an inspection, and judges it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspector import inspection_file, pipeline
from inspector.inspection_file import InspectionFileError

if TYPE_CHECKING:
    from inspector.config import InputConfig
    from inspector.result import Result


def check(source: Any = None, *, batch: int = 0, **keys: Any) -> Result:
    """Judge a text, a batch of IDs or a file, and the layers that are to take it.

    Args:
        source: a text; an array or nested list of IDs, (B, T); or a `pathlib.Path` of whatever can be opened: an
            inspection file, a text, a file of token IDs, a checkpoint, a tokenizer. None judges the lesson's own text.
        batch: which of the loader's batches to judge.
        **keys: keys of the inspection file. A layer may be given as `(num_embeddings, embedding_dim)`.

    Returns:
        The verdict; its arrays and layers are made when they are asked for.

    Raises:
        InspectionFileError: a key is unknown or a value has the wrong type (a ValueError).
        IndexError: there is no such batch.
    """
    return judge(inspection(source, keys), batch)


def judge(config: InputConfig, batch: int) -> Result:
    """Judge an inspection and one of its batches.

    Raises:
        InspectionFileError: the inspection asks for something this program does not have.
        IndexError: there is no such batch.
    """
    result = pipeline.run(pipeline.Request(config, batch))
    if batch != result.batch and batch != 0:
        raise IndexError(f"there is no batch {batch}: the loader yields {result.batches}")
    return result


def inspection(source: Any, keys: dict[str, Any]) -> InputConfig:
    """Return the inspection of a source and further keys.

    Raises:
        InspectionFileError: a key is unknown or a value has the wrong type.
    """
    values: dict[str, Any] = {}
    for key, value in keys.items():  # a dtype that is stated counts, else the array's own
        if key == "token_ids" and value is not None:
            values = _ids(value) | values
        else:
            values[key] = _plain(key, value)
    if isinstance(source, os.PathLike):
        return _of_path(Path(source), values)
    if isinstance(source, str):
        values["text"] = source
    elif source is not None:
        values = _ids(source) | values
    return inspection_file.from_mapping(values)


def _of_path(path: Path, values: dict[str, Any]) -> InputConfig:
    from inspector.files.kinds import FileKind, kind_of  # with every format, needed only here
    from inspector.trouble import FileTrouble

    try:
        kind = kind_of(path)
    except FileTrouble:  # it is judged as what its name says
        kind = FileKind.INSPECTION if path.suffix.lower() in inspection_file.SUFFIXES else FileKind.TEXT
    if kind is FileKind.INSPECTION:
        return inspection_file.changed(inspection_file.read(path), values)
    if kind is FileKind.TOKENIZER:
        values["tokenizer"] = {"encoding": str(path), **values.get("tokenizer", {})}
    else:
        values[kind.value] = str(path)
    return inspection_file.from_mapping(values)


def _plain(key: str, value: Any) -> Any:
    """Return a key's value as an inspection file would hold it."""
    if key.endswith("_embedding") and isinstance(value, tuple):
        if len(value) != 2:
            raise InspectionFileError(f"{key} must be (num_embeddings, embedding_dim), not {value!r}")
        value = {"num_embeddings": value[0], "embedding_dim": value[1]}
    if isinstance(value, dict):
        return {inner: _plain(inner, part) for inner, part in value.items()}
    if key == "positions" and value is not None:
        return _listed(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return str(value) if key.endswith("dtype") and value is not None else _scalar(value)


def _ids(source: Any) -> dict[str, Any]:
    if not hasattr(source, "dtype"):
        return {"token_ids": _listed(source)}
    # NumPy names a dtype without the order of its bytes, which is no part of what is judged.
    dtype = getattr(source.dtype, "name", str(source.dtype).removeprefix("torch."))
    ids = source + 0 if dtype == "bool" else source  # a list of IDs holds numbers, of whatever dtype
    return {"token_ids": _listed(ids), "token_ids_dtype": dtype}


def _listed(array: Any) -> list[Any]:
    """Return an array, tensor or list of them as nested lists of Python numbers."""
    if hasattr(array, "tolist"):
        array = array.tolist()
    if not isinstance(array, list | tuple):
        raise InspectionFileError(f"token_ids must be an array or a list of numbers, not {type(array).__name__}")
    return [_listed(item) if getattr(item, "ndim", isinstance(item, list | tuple)) else _scalar(item) for item in array]


def _scalar(item: Any) -> Any:
    return item.tolist() if hasattr(item, "tolist") else item


def check_model(model: Any, token_ids: Any, **keys: Any) -> Result:
    """Judge a live model's own embedding layers with a batch of token IDs; nothing of the model changes.

    Args:
        model: a `torch.nn.Module`.
        token_ids: an array, tensor or nested list of IDs, (B, T), or the arguments of the model's forward by name.
        **keys: `tokenizer`, `embedding_dim`, `positions`, `past_length` and `loader` of the inspection file.

    Returns:
        The verdict, with copies of the rows that the model's layers hold now.

    Raises:
        InspectionFileError: the IDs or a key cannot be understood (a ValueError).
        TypeError: the model is no `torch.nn.Module`.
    """
    from inspector import live

    return live.check_model(model, token_ids, **keys)


def show(result_or_model: Any, token_ids: Any = None) -> None:
    """Open the window on a result, or on a live model and a batch of token IDs.

    In a script it returns when the window is closed. Beside an event loop that runs already, as in a notebook, it
    returns at once.

    Raises:
        RuntimeError: there can be no window here; the message says why.
        TypeError: a model without token IDs, or neither a result nor a model.
    """
    from inspector import startup
    from inspector.result import Result

    result = result_or_model
    if not isinstance(result, Result):
        if token_ids is None:
            raise TypeError("show takes a result, or a model and its token_ids")
        result = check_model(result_or_model, token_ids)
    reason = startup.why_no_window()
    if reason:
        raise RuntimeError(reason)
    from inspector.ui import shown

    shown.show(result)
