"""Files of torch.save: every row as torch.load reads it, wrapped dicts found, and nothing in a pickle ever run."""

from __future__ import annotations

import argparse
import os
import pickle
from collections import Counter, OrderedDict
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import _weights_only_unpickler, nn

from inspector.files import Trouble, open_checkpoint
from inspector.files.pickle_values import Name, is_known
from tests.files import samples

if TYPE_CHECKING:
    from pathlib import Path

FORMATS = pytest.mark.parametrize("legacy", [False, True], ids=["zip", "legacy"])


def require_rows(path: Path, name: str, *way: str) -> None:
    """Require that rows and columns are those of what torch.load finds at the end of a way of keys."""
    expected = torch.load(path, weights_only=True)
    for key in way:
        expected = expected[key]
    expected = expected.detach()
    file = open_checkpoint(path).file
    height, width = expected.shape[-2:]
    assert file.format == "PyTorch"
    assert file.tensors[name] == (name, tuple(expected.shape), str(expected.dtype).removeprefix("torch."), False)
    rows = expected.reshape(height, width)
    for wanted in ([height - 1, 0, height - 1], list(range(height)), []):
        found = [rows[i] for i in wanted]
        assert samples.equal(file.rows(name, wanted), torch.stack(found) if found else rows[:0])
    for wanted in ([width - 1, 0, width // 2, width - 1], list(range(width))):
        assert samples.equal(file.columns(name, wanted), torch.stack([rows[:, i] for i in wanted]))


@FORMATS
@pytest.mark.parametrize("dtype", samples.DTYPES, ids=str)
def test_rows_are_those_torch_loads(tmp_path: Path, dtype: torch.dtype, legacy: bool) -> None:
    if legacy and dtype in (torch.float8_e4m3fn, torch.float8_e5m2, torch.uint16, torch.uint32):
        # Dtypes without a typed storage of their own: an array of bytes that the format says nothing more of.
        content = {"wte": samples.table(dtype=dtype).float(), "wpe": samples.table(8)}
    else:
        content = {"wte": samples.table(dtype=dtype), "wpe": samples.table(8)}
    path = samples.pytorch(tmp_path / "model.pt", content, legacy=legacy)
    require_rows(path, "wte", "wte")
    require_rows(path, "wpe", "wpe")


@FORMATS
def test_views_of_any_order_are_read_in_their_own(tmp_path: Path, legacy: bool) -> None:
    base = samples.table(40, 60)
    content = {
        "transposed": base.T,
        "slice": base[5:25:2, 10:30],
        "every-third": base[:, ::3],
        "one-row": base[7:8],
        "one-column": base[:, 7:8],
        "expanded": base[3].expand(5, 60),
        "leading": base[None, :, :20],
        "same": base,
        "parameter": nn.Parameter(base * 2),
    }
    path = samples.pytorch(tmp_path / "model.pt", content, legacy=legacy)
    for name in content:
        require_rows(path, name, name)


WRAPPED: dict[str, tuple[Any, str, tuple[str, ...]]] = {
    "model": (
        {"model": samples.state_dict(), "optimizer": {"state": {0: {"exp_avg": samples.table()}}}},
        "",
        ("model",),
    ),
    "state_dict": ({"epoch": 3, "state_dict": samples.state_dict()}, "", ("state_dict",)),
    "model_state_dict": (
        {"loss": 1.5, "model_state_dict": OrderedDict(samples.state_dict())},
        "",
        ("model_state_dict",),
    ),
    "module": ({"module": samples.state_dict(), "dp_world_size": 1}, "", ("module",)),
    "two deep": ({"checkpoint": {"model": samples.state_dict()}}, "", ("checkpoint", "model")),
    "any name": ({"net": samples.state_dict(), "step": 1}, "", ("net",)),
    "beside a table": ({"mask": torch.ones(4, 4), "model": samples.state_dict()}, "", ("model",)),
    "layers apart": (
        {"wte": {"weight": samples.table()}, "wpe": {"weight": samples.table(8)}},
        "wte.weight",
        ("wte", "weight"),
    ),
}


@FORMATS
@pytest.mark.parametrize("case", WRAPPED)
def test_wrapped_state_dicts_are_found(tmp_path: Path, case: str, legacy: bool) -> None:
    content, name, way = WRAPPED[case]
    path = samples.pytorch(tmp_path / "model.pt", content, legacy=legacy)
    require_rows(path, name or "wte.weight", *way, *(() if name else ("wte.weight",)))


@pytest.mark.parametrize("key", ["model_args", "hyper_parameters", "config"])
def test_what_the_model_was_built_with(tmp_path: Path, key: str) -> None:
    args = {"vocab_size": 50304, "block_size": 1024, "bias": False, "dropout": 0.0, "name": "x", "odd": [1], "n": None}
    path = samples.pytorch(tmp_path / "ckpt.pt", {"model": samples.state_dict(), key: args})
    settings = open_checkpoint(path).file.settings
    assert settings == {k: v for k, v in args.items() if k != "odd"}


def test_a_state_dict_of_a_real_model(tmp_path: Path) -> None:
    torch.manual_seed(123)
    model = nn.ModuleDict({"tok_emb": nn.Embedding(100, 16, padding_idx=0), "pos_emb": nn.Embedding(4, 16)})
    path = samples.pytorch(tmp_path / "model.pth", model.state_dict())
    assert list(open_checkpoint(path).file.tensors) == ["tok_emb.weight", "pos_emb.weight"]
    require_rows(path, "tok_emb.weight", "tok_emb.weight")


@FORMATS
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_every_protocol_of_pickle(tmp_path: Path, protocol: int, legacy: bool) -> None:
    path = tmp_path / "model.pt"
    content = {"model": samples.state_dict(), "counts": Counter("aab"), "shape": torch.Size([2]), "set": {1}, "b": b"x"}
    torch.save(content, path, pickle_protocol=protocol, _use_new_zipfile_serialization=not legacy)
    found = open_checkpoint(path).file
    assert samples.equal(found.rows("wte.weight", samples.SOME), samples.table()[samples.SOME])


def test_all_that_torch_provides_to_a_pickle_is_known() -> None:
    provided = [Name(*dotted.rsplit(".", 1)) for dotted in _weights_only_unpickler._get_allowed_globals()]
    assert [name for name in provided if not is_known(name)] == []


@pytest.mark.parametrize(
    "dotted",
    [
        *("os.system", "posix.system", "builtins.eval", "builtins.getattr", "torch.load", "torch.hub.load"),
        *("torch.storage._load_from_bytes", "torch._utils._rebuild_anything", "torch.Tensor.share_memory_"),
        *("numpy.core.multiarray.scalar", "torch.inductor", "torch.int8.evil"),
    ],
)
def test_nothing_else_is_known(dotted: str) -> None:
    assert not is_known(Name(*dotted.rsplit(".", 1)))


class Canary:
    """An object that writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


@FORMATS
@pytest.mark.parametrize("place", ["alone", "deep", "beside"])
def test_code_in_a_pickle_is_named_and_never_run(tmp_path: Path, place: str, legacy: bool) -> None:
    canary = Canary(tmp_path / "canary")
    content = {"alone": canary, "deep": {"a": [({"b": canary},)]}, "beside": {**samples.state_dict(), "z": canary}}[
        place
    ]
    error = samples.trouble(samples.pytorch(tmp_path / "model.pt", content, legacy=legacy), "posix.mkdir")
    assert error.trouble is Trouble.PICKLE_REFUSED
    assert "torch.save(model.state_dict(), path)" in error.help
    assert not canary.path.exists()


@FORMATS
def test_a_whole_model_is_refused_by_its_class(tmp_path: Path, legacy: bool) -> None:
    path = samples.pytorch(tmp_path / "model.pt", nn.Sequential(nn.Embedding(3, 4)), legacy=legacy)
    assert samples.trouble(path, "torch.nn.modules.container.Sequential").trouble is Trouble.PICKLE_REFUSED
    path = samples.pytorch(tmp_path / "model.pt", {"args": argparse.Namespace(a=1), "model": samples.state_dict()})
    assert samples.trouble(path, "argparse.Namespace").trouble is Trouble.PICKLE_REFUSED


@pytest.mark.parametrize("protocol", range(6))
def test_a_pickle_that_torch_did_not_write(tmp_path: Path, protocol: int) -> None:
    path = tmp_path / "model.pt"
    path.write_bytes(pickle.dumps({"a": [1.5, 2]}, protocol))
    assert samples.trouble(path).trouble is Trouble.NOT_RECOGNISED
    canary = Canary(tmp_path / "canary")
    path.write_bytes(pickle.dumps(canary, protocol))
    error = samples.trouble(path)
    assert error.trouble in (Trouble.PICKLE_REFUSED, Trouble.NOT_RECOGNISED)
    assert not canary.path.exists()


@FORMATS
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (torch.ones(3, 4), "a single tensor"),
        ([torch.ones(3, 4)], "something other than the state dict"),
        ({"bias": torch.ones(3)}, "no tensor of two axes"),
        ({}, "no tensor of two axes"),
    ],
    ids=["tensor", "list", "vectors", "empty"],
)
def test_what_is_no_state_dict(tmp_path: Path, content: Any, words: str, legacy: bool) -> None:
    path = samples.pytorch(tmp_path / "model.pt", content, legacy=legacy)
    assert samples.trouble(path, words).trouble is Trouble.NOT_RECOGNISED


def test_tensors_that_are_no_tables_of_numbers_are_passed_over(tmp_path: Path) -> None:
    content = {
        **samples.state_dict(),
        "sparse": torch.eye(3).to_sparse(),
        "meta": torch.empty(2, 2, device="meta"),
    }
    path = samples.pytorch(tmp_path / "model.pt", content)
    assert set(open_checkpoint(path).file.tensors) == set(samples.state_dict())
