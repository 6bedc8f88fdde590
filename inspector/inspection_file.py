"""Read and write the inspection file: JSON, or TOML with the same keys. Types are checked here, values are not."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspector import config as config_values
from inspector.config import InputConfig
from inspector.recipe import Role

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA = 1
SUFFIXES = (".json", ".toml")
SOURCES = ("text", "text_file", "token_ids", "token_ids_file")
SPECIAL_TREATMENTS = ("special", "plain", "refuse")
_PATHS = ("text_file", "token_ids_file", "checkpoint")
_FILE_ENDINGS = (".json", ".txt", ".pkl")  # what the file of a tokenizer ends with

# torch's names for dtypes, and the short ones people write.
_SAME_DTYPE = {
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "float": "float32",
    "double": "float64",
    "half": "float16",
}
_DTYPES = (
    *("float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "complex64", "complex128", "bool"),
    *("int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8"),
)


class InspectionFileError(ValueError):
    """An inspection that cannot be understood; its text names the key and what is wrong with it."""


def read(path: Path) -> InputConfig:
    """Read an inspection file; paths in it become relative to where it lies.

    Raises:
        InspectionFileError: the file cannot be read, is not JSON or TOML, or a key or a type in it is wrong.
    """
    try:
        data = path.read_bytes()
    except OSError as e:
        raise InspectionFileError(f"{path}: {e.strerror or e}") from e
    try:
        values = loads(data.decode("utf-8-sig"), toml=path.suffix.lower() == ".toml")
        config = from_mapping(values)
    except UnicodeDecodeError as e:
        raise InspectionFileError(f"{path} is not UTF-8 text: it holds byte {data[e.start]:#04x} at {e.start}") from e
    except InspectionFileError as e:
        raise InspectionFileError(f"{path}: {e}") from e
    beside: dict[str, Any] = {
        name: str(path.parent / value) for name in _PATHS if (value := getattr(config, name)) is not None
    }
    return replace(config, **beside)


def loads(text: str, *, toml: bool = False) -> Mapping[str, Any]:
    """Return the keys and values of an inspection written as JSON or TOML.

    Raises:
        InspectionFileError: the text is neither, or not an object.
    """
    try:
        if toml:
            import tomllib

            return tomllib.loads(text)
        values = json.loads(text)
    except ValueError as e:  # both JSONDecodeError and TOMLDecodeError are
        raise InspectionFileError(f"not {'TOML' if toml else 'JSON'}: {e}") from e
    except RecursionError as e:
        raise InspectionFileError("lists are nested too deeply") from e
    if not isinstance(values, dict):
        raise InspectionFileError(f"an inspection is an object of keys, not {_kind(values)}")
    return values


def from_mapping(values: Mapping[str, Any]) -> InputConfig:
    """Return the inspection with these keys; what is not given keeps its default.

    Raises:
        InspectionFileError: an unknown key, a value of the wrong type, or more than one source of IDs.
    """
    schema = values.get("schema", SCHEMA)
    if type(schema) is not int or schema != SCHEMA:
        raise InspectionFileError(f"schema is {values['schema']!r}; this program knows schema {SCHEMA}")
    stated: set[str] = set()
    made: dict[str, Any] = {}
    known = {f.name for f in fields(InputConfig)} - {"stated"}
    for key, value in values.items():
        if key == "schema":
            continue
        if key not in known:
            raise InspectionFileError(f"unknown key {key!r}; known are {', '.join(sorted(known))}")
        section = config_values.section_types().get(key)
        if section is None:
            made[key] = _checked(key, value, InputConfig)
        elif value is None and key.endswith("_embedding"):
            made[key] = section() if key == "token_embedding" else None
        else:
            made[key] = _section(key, value, section)
            stated |= {f"{key}.{inner}" for inner in value}
        stated.add(key)
    sources = [name for name in SOURCES if made.get(name) is not None]
    if len(sources) > 1:
        raise InspectionFileError(
            f"{' and '.join(sources)} are given; IDs come from exactly one of {', '.join(SOURCES)}"
        )
    config = InputConfig(**made, stated=frozenset(stated))
    _refuse_text_without_tokenizer(config)
    return config


def _refuse_text_without_tokenizer(config: InputConfig) -> None:
    has_text = config.token_ids is None and config.token_ids_file is None
    if has_text and config.tokenizer.encoding is None:
        raise InspectionFileError("tokenizer.encoding is null: a text needs a tokenizer, such as gpt2")


def changed(config: InputConfig, values: Mapping[str, Any]) -> InputConfig:
    """Return an inspection with further keys given; a source of IDs takes the place of the one before.

    Raises:
        InspectionFileError: as `from_mapping`.
    """
    given = to_mapping(config)
    if any(values.get(name) is not None for name in SOURCES):
        given = {key: value for key, value in given.items() if key not in SOURCES}
    for key, value in values.items():
        inner = given.get(key)
        given[key] = {**inner, **value} if isinstance(inner, dict) and isinstance(value, dict) else value
    return from_mapping(given)


def to_mapping(config: InputConfig) -> dict[str, Any]:
    """Return an inspection as the keys and values of its file: what was stated or differs from its default."""
    default = InputConfig()
    out: dict[str, Any] = {"schema": SCHEMA}
    for f in fields(config):
        value, usual = getattr(config, f.name), getattr(default, f.name)
        if f.name == "stated" or (value == usual and not config.is_stated(f.name)):
            continue
        if is_dataclass(value) and not isinstance(value, type):
            inner = config_values.section_types()[f.name]()
            out[f.name] = {
                g.name: part
                for g in fields(value)
                if (part := getattr(value, g.name)) != getattr(inner, g.name) or f"{f.name}.{g.name}" in config.stated
            }
        elif f.name == "checkpoint_tables":
            out[f.name] = dict(value)
        elif value is not None or usual is not None:
            out[f.name] = value
    return out


def write(config: InputConfig, path: Path) -> None:
    """Write an inspection as JSON; paths inside are written relative to it where they lie below its folder.

    Raises:
        InspectionFileError: the file cannot be written.
    """
    values = to_mapping(config)
    for name in _PATHS:
        if name in values and Path(values[name]).is_relative_to(path.parent):
            values[name] = str(Path(values[name]).relative_to(path.parent))
    try:
        # Escaped to ASCII, so that a lone surrogate in a text survives.
        path.write_text(json.dumps(values, indent=2) + "\n", encoding="ascii")
    except OSError as e:
        raise InspectionFileError(f"{path}: {e.strerror or e}") from e


# ---- types ---------------------------------------------------------------------------------------------------------


def _section(key: str, value: Any, section: type[Any]) -> Any:
    if not isinstance(value, dict):
        raise InspectionFileError(f"{key} must be an object, not {_kind(value)}")
    known = [f.name for f in fields(section)]
    for inner in value:
        if inner not in known:
            raise InspectionFileError(f"unknown key {f'{key}.{inner}'!r}; known are {', '.join(known)}")
    return section(**{inner: _checked(f"{key}.{inner}", v, section) for inner, v in value.items()})


def _checked(key: str, value: Any, owner: type[Any]) -> Any:
    """Return a value whose type fits the field `key` of `owner`."""
    field = key.rpartition(".")[2]
    annotation = next(f.type for f in fields(owner) if f.name == field)
    allowed = [part.strip() for part in str(annotation).split("|")]
    if value is None:
        if "None" in allowed:
            return None
        raise _wrong(key, allowed, value)
    if key == "checkpoint_tables":
        return _table_names(key, value)
    if allowed[0].startswith("tuple"):
        return _numbers(key, value)
    if field in ("dtype", "token_ids_dtype"):
        return _dtype(key, value)
    if field == "special_tokens" and value not in SPECIAL_TREATMENTS:
        raise InspectionFileError(f"{key} must be one of {', '.join(SPECIAL_TREATMENTS)}, not {value!r}")
    types: dict[str, Any] = {"str": str, "bool": bool, "int": int, "float": (int, float), "Number": (int, float)}
    fits = types[allowed[0]]
    if not isinstance(value, fits) or (isinstance(value, bool) and allowed[0] != "bool"):
        raise _wrong(key, allowed, value)
    if field == "seed" and not -(2**63) <= value < 2**64:
        raise InspectionFileError(f"{key} must be a number that torch.manual_seed takes, of 64 bits, not {value}")
    return value


def _wrong(key: str, allowed: list[str], value: Any) -> InspectionFileError:
    names = {
        "str": "a text",
        "bool": "true or false",
        "int": "a whole number",
        "float": "a number",
        "Number": "a number",
    }
    wanted = names.get(allowed[0], "a list of numbers") + (" or null" if "None" in allowed else "")
    return InspectionFileError(f"{key} must be {wanted}, not {_kind(value)}")


def _numbers(key: str, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise InspectionFileError(f"{key} must be a list of numbers, nested or not, not {_kind(value)}")
    try:
        return tuple(_numbers(key, item) if isinstance(item, list | tuple) else _number(key, item) for item in value)
    except RecursionError as e:
        raise InspectionFileError(f"{key}: lists are nested too deeply") from e


def _number(key: str, item: Any) -> int | float:
    if isinstance(item, bool) or not isinstance(item, int | float):
        raise InspectionFileError(f"{key} must hold numbers only, not {_kind(item)}")
    if key == "positions" and not isinstance(item, int):
        raise InspectionFileError(f"positions must hold whole numbers only, not {item!r}")
    return item


def _table_names(key: str, value: Any) -> tuple[tuple[str, str], ...]:
    roles = tuple(Role)
    if not isinstance(value, dict) or any(role not in roles for role in value):
        raise InspectionFileError(f"{key} must be an object with the keys {', '.join(roles)}, not {_kind(value)}")
    for role, name in value.items():
        if not isinstance(name, str):
            raise InspectionFileError(f"{key}.{role} must be the name of a tensor, not {_kind(name)}")
    return tuple(value.items())


def _dtype(key: str, value: Any) -> str:
    name = value.removeprefix("torch.") if isinstance(value, str) else value
    name = _SAME_DTYPE.get(name, name) if isinstance(name, str) else name
    if name not in _DTYPES:
        raise InspectionFileError(f"{key} must be the name of a torch dtype such as int64 or float32, not {value!r}")
    return str(name)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        shown = value if len(value) <= 40 else value[:40] + "…"
        return f"the text {shown!r}"
    if isinstance(value, int | float):
        return f"the number {value!r}"
    return {"dict": "an object", "list": "a list"}.get(type(value).__name__, f"a {type(value).__name__}")
