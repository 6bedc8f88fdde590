"""Pasted messages: what real libraries say on a CPU, what older ones and GPUs said, and what any text may hold."""

from __future__ import annotations

import re
import subprocess
import sys
import traceback
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import pytest
import safetensors.torch
import tiktoken
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from inspector import checks, config, messages, pipeline
from inspector.config import InputConfig
from inspector.message_patterns import PATTERNS

ROOT = Path(__file__).resolve().parents[1]
LOOKUP = ["E301", "P401", "B211", "G451", "E302", "E303"]


def said(fault, *arguments):
    """Return the traceback of a call that fails."""
    try:
        fault(*arguments)
    except Exception:  # noqa: BLE001 - whatever it is, somebody will paste it
        return traceback.format_exc()
    pytest.fail("no error")


def codes(reading):
    return [candidate.code for candidate in reading.candidates]


def the_one(text):
    (reading,) = messages.read(text)
    return reading


class Model(nn.Module):
    def __init__(self, vocab_size=10, context_length=4, width=8, segments=2):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, width)
        self.pos_emb = nn.Embedding(context_length, width)
        self.token_type_embeddings = nn.Embedding(segments, width)

    def forward(self, ids, segment=0):
        t = ids.shape[1]
        tokens = self.tok_emb(ids)
        positions = self.pos_emb(torch.arange(t))
        segments = self.token_type_embeddings(torch.full((t,), segment))
        return tokens + positions + segments


class OneLine(Model):
    def forward(self, ids):
        return self.tok_emb(ids) + self.pos_emb(torch.arange(ids.shape[1]))


# ---- a failed look-up ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Model, OneLine])
@pytest.mark.parametrize(
    ("likeliest", "ids"),
    [("E301", [[1, 2, 10]]), ("P401", [[1, 2, 3, 4, 5]])],
)
def test_the_table_that_failed_comes_first(kind, likeliest, ids):
    reading = the_one(said(kind(), torch.tensor(ids)))
    assert codes(reading) == [likeliest] + [code for code in LOOKUP if code != likeliest]
    assert reading.candidates[0].when.endswith("a line of the traceback names this table")
    assert not any("traceback" in candidate.when for candidate in reading.candidates[1:])
    assert reading.quote == "IndexError: index out of range in self"


def test_the_segment_table_that_failed_comes_first():
    assert codes(the_one(said(Model(), torch.tensor([[1, 2]]), 2)))[0] == "G451"


def test_an_outer_line_does_not_outvote_an_inner_one():
    wte = nn.Embedding(4, 2)

    def forward(tok_emb):
        wpe = tok_emb
        return wpe(torch.tensor([7]))

    assert codes(the_one(said(lambda: forward(wte))))[0] == "P401"


def test_a_line_with_both_tables_names_neither():
    text = (
        'File "m.py", line 3, in forward\n    x = self.wte(i) + self.wpe(p)\nIndexError: index out of range in self\n'
    )
    outer = '  File "train.py", line 9, in <module>\n    y = pos_emb_of(model)\n'
    for traceback_ in (text, outer + text):
        reading = the_one(traceback_)
        assert codes(reading) == LOOKUP
        assert "traceback" not in reading.candidates[0].when


def test_a_notebook_s_arrow_points_at_the_line():
    text = """\
Cell In[7], line 11, in GPT.forward(self, ids)
      9 def forward(self, ids):
---> 11     tokens = self.tok_emb(ids)
     12     positions = self.pos_emb(torch.arange(ids.shape[1]))
     13     return tokens + positions

IndexError: index out of range in self
"""
    assert codes(the_one(text))[0] == "E301"
    assert codes(the_one(text.replace("---> 11", "     11").replace("     12", "---> 12")))[0] == "P401"


def test_bare_words_name_no_table():
    for text in ("index out of range in self", said(nn.Embedding(10, 4), torch.tensor([[1, -1]]))):
        reading = the_one(text)
        assert codes(reading) == LOOKUP
        assert reading.values == {}
        assert reading.aside


def test_a_parameter_that_is_indexed():
    pos_emb = nn.Parameter(torch.zeros(4, 2))
    reading = the_one(said(lambda: pos_emb[torch.tensor([5])]))
    assert codes(reading) == ["P401", "E301"]
    assert reading.values == {"position_embedding.num_embeddings": 4}
    tok_emb = pos_emb
    reading = the_one(said(lambda: tok_emb[torch.tensor([5])]))
    assert codes(reading) == ["E301", "P401"]
    assert reading.values == {"token_embedding.num_embeddings": 4}


def test_an_array_that_is_indexed():
    wte = torch.zeros(4, 2).numpy()
    reading = the_one(said(lambda: wte[7]))
    assert codes(reading) == ["E301", "P401"]
    assert reading.values == {"token_embedding.num_embeddings": 4}


# ---- the texts of GPUs, compilers and older versions -----------------------------------------------------------------

LOOKUP_ASSERT = (
    "../aten/src/ATen/native/cuda/Indexing.cu:1290: indexSelectLargeIndex: block: [36,0,0], thread: [64,0,0] "
    "Assertion `srcIndex < srcSelectDimSize` failed.\n"
)
GATHER_ASSERT = (
    "vectorized_gather_kernel: block: [1,0,0], thread: [0,0,0] Assertion `ind >=0 && ind < ind_dim_size` failed."
)
LOSS_ASSERT = (
    "../aten/src/ATen/native/cuda/Loss.cu:250: nll_loss_forward_reduce_cuda_kernel_2d: block: [0,0,0], thread: [5,0,0] "
    "Assertion `t >= 0 && t < n_classes` failed."
)
TRIGGERED = "RuntimeError: CUDA error: device-side assert triggered\nCUDA kernel errors might be reported elsewhere\n"


@pytest.mark.parametrize(
    ("text", "found", "values"),
    [
        (LOOKUP_ASSERT, LOOKUP, {}),
        (LOOKUP_ASSERT * 5 + TRIGGERED, LOOKUP, {}),
        (GATHER_ASSERT, LOOKUP, {}),
        (LOSS_ASSERT, ["E301", "B211"], {}),
        (TRIGGERED, LOOKUP, {}),
        ("RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`", LOOKUP, {}),
        (
            "IndexKernel.cu:92: operator(): Assertion `-sizes[i] <= index && index < sizes[i] && "
            '"index out of bounds"` failed.',
            LOOKUP,
            {},
        ),
        (
            "RuntimeError: index out of bounds: 0 <= tmp4 < 50257L",
            LOOKUP,
            {"token_embedding.num_embeddings": 50257},
        ),
        (
            "unknown:0: unknown: block: [0,0,0], thread: [1,0,0] "
            "Assertion `index out of bounds: 0 <= tl.broadcast_to(tmp13, [XBLOCK]) < 1024` failed.",
            LOOKUP,
            {"token_embedding.num_embeddings": 1024},
        ),
        (
            "RuntimeError: index out of range: Tried to access index 50257 out of table with 50256 rows. "
            "at ../aten/src/TH/generic/THTensorEvenMoreMath.cpp:418",
            LOOKUP,
            {"token_embedding.num_embeddings": 50257},
        ),
        (
            '  File "m.py", line 3, in forward\n    p = self.wpe(positions)\n'
            "RuntimeError: index out of range: Tried to access index 512 out of table with 511 rows.",
            ["P401", "E301", "B211", "G451", "E302", "E303"],
            {"position_embedding.num_embeddings": 512},
        ),
        (
            "Token indices sequence length is longer than the specified maximum sequence length for this model "
            "(1300 > 1024). Running this sequence through the model will result in indexing errors",
            ["P401"],
            {"loader.max_length": 1300, "position_embedding.num_embeddings": 1024},
        ),
        (
            "RuntimeError: Expected tensor for argument #1 'indices' to have scalar type Long; but got "
            "torch.cuda.FloatTensor instead (while checking arguments for embedding)",
            ["B207", "T103"],
            {"token_ids_dtype": "float32"},
        ),
        (
            "Expected tensor for argument #1 'indices' to have scalar type Long; but got CUDAType instead",
            ["B207", "B208", "T103"],
            {},
        ),
        (
            "RuntimeError: Expected tensor for argument #1 'indices' to have scalar type Long; but got torch.IntTensor "
            "instead (while checking arguments for embedding)",
            ["B208"],
            {},
        ),
        ("RuntimeError: expected scalar type Float but found BFloat16", ["S502"], {}),
        ("RuntimeError: expected m1 and m2 to have the same dtype, but got: float != c10::Half", ["S502"], {}),
        (
            "ValueError: Unable to create tensor, you should probably activate truncation and/or padding with "
            "'padding=True' 'truncation=True' to have batched tensors with the same length.",
            ["B210"],
            {},
        ),
        ("safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge", ["F603", "F602"], {}),
        ("_pickle.UnpicklingError: invalid load key, 'v'.\nWeights only load failed", ["F603", "F604"], {}),
        ("TypeError: empty() received an invalid combination of arguments - got (tuple, dtype=NoneType)", None, {}),
    ],
)
def test_texts_that_cannot_be_produced_here(text, found, values):
    reading = the_one(text)
    assert codes(reading) == (found or ["E305", "P408"])
    assert reading.values == values


def test_the_innocent_line_of_a_gpu_is_said_to_be():
    assert "CUDA_LAUNCH_BLOCKING" in the_one(LOOKUP_ASSERT).aside
    assert "printed above" in the_one(TRIGGERED).aside
    assert the_one(LOOKUP_ASSERT + TRIGGERED).quote == LOOKUP_ASSERT.strip()


def test_a_label_out_of_range():
    assert codes(the_one(said(nn.functional.cross_entropy, torch.zeros(2, 5), torch.tensor([1, 5]))))[0] == "E301"
    assert codes(the_one(said(nn.functional.cross_entropy, torch.zeros(2, 5), torch.tensor([1, -1]))))[0] == "B211"


# ---- sizes -----------------------------------------------------------------------------------------------------------


def add(tokens, positions):
    return torch.zeros(tokens) + torch.zeros(positions)


@pytest.mark.parametrize(
    ("tokens", "positions", "likeliest", "values"),
    [
        (
            (2, 4, 256),
            (4, 128),
            "E304",
            {"token_embedding.embedding_dim": 256, "position_embedding.embedding_dim": 128},
        ),
        ((2, 4, 256), (4, 4), "P402", {"token_embedding.embedding_dim": 256, "position_embedding.embedding_dim": 4}),
        ((2, 4, 50257), (4, 256), "E302", {"token_embedding.embedding_dim": 50257}),
        ((2, 6, 8), (4, 8), "P401", {"loader.max_length": 6, "position_embedding.num_embeddings": 4}),
        ((2, 3, 8), (4, 8), "P407", {"loader.max_length": 3, "positions": (0, 1, 2, 3)}),
        ((2, 3, 8), (3, 3, 8), "P405", {}),
    ],
)
def test_sizes_at_the_sum(tokens, positions, likeliest, values):
    reading = the_one(said(add, tokens, positions))
    assert codes(reading)[0] == likeliest
    assert values.items() <= reading.values.items()
    assert reading.ask


def test_a_layer_behind_wants_another_width():
    for layer in (nn.Linear(6, 3), nn.LayerNorm(6)):
        reading = the_one(said(layer, torch.zeros(2, 4, 5)))
        assert codes(reading) == ["E304", "P403"]
        assert reading.values["embedding_dim"] == 6
        assert reading.values["token_embedding.embedding_dim"] == 5


# ---- IDs, loader, constructors ---------------------------------------------------------------------------------------

FLOATS = ("float32", "float64", "float16", "bfloat16", "complex64")
REFUSED = ("uint8", "int8", "int16", "uint16", "uint32", "uint64", "bool")


@pytest.mark.parametrize("dtype", [*FLOATS, *REFUSED])
def test_ids_of_a_type_that_is_refused(dtype):
    reading = the_one(said(nn.Embedding(10, 4), torch.zeros(1, 2).to(getattr(torch, dtype))))
    assert codes(reading)[0] == ("B207" if dtype in FLOATS else "B208")
    assert reading.values == {"token_ids_dtype": dtype}


def test_no_tensor_at_all_is_an_advice():
    reading = the_one(said(nn.Embedding(10, 4), [1, 2]))
    assert codes(reading) == []
    assert "torch.tensor(ids)" in reading.aside


def unpacked(*shape):
    _batch, _length = torch.zeros(shape).shape


def text_loader(max_length=4, stride=4):
    return [range(0, 30 - max_length, stride)]


SPECIAL = tiktoken.Encoding(
    "bytes", pat_str=".", mergeable_ranks={bytes([i]): i for i in range(256)}, special_tokens={"<|endoftext|>": 256}
)
EMPTY, THREE = TensorDataset(torch.zeros(0, 2)), TensorDataset(torch.zeros(3, 2))


@pytest.mark.parametrize(
    ("call", "found", "values"),
    [
        (lambda: nn.Embedding(10, 4)(torch.tensor([])), ["B207", "T103"], {"token_ids_dtype": "float32"}),
        (lambda: torch.tensor([[1, 2], [1]]), ["B210"], {}),
        (lambda: next(iter(DataLoader([torch.zeros(2), torch.zeros(3)], batch_size=2))), ["B210"], {}),
        (lambda: unpacked(4), ["B210"], {}),
        (lambda: unpacked(1, 2, 3), ["B210"], {}),
        (lambda: SPECIAL.encode("a<|endoftext|>"), ["T101"], {"tokenizer.special_tokens": "refuse"}),
        (lambda: DataLoader(EMPTY, shuffle=True), ["B202", "T103"], {"loader.shuffle": True}),
        (lambda: DataLoader(THREE, batch_size=0), ["B201"], {"loader.batch_size": 0}),
        (lambda: DataLoader(THREE, batch_size=-2), ["B201"], {"loader.batch_size": -2}),
        (lambda: DataLoader(THREE, batch_size=2.0), ["B201"], {"loader.batch_size": 2.0}),
        (lambda: DataLoader(THREE, batch_size="8"), ["B201"], {}),
        (lambda: text_loader(stride=0), ["B201"], {"loader.stride": 0}),
        (lambda: text_loader(stride=4 / 2), ["B201"], {}),
        (lambda: nn.Embedding(10, 4, padding_idx=10), ["E306", "P408"], {}),
        (lambda: nn.Embedding(10, 4, padding_idx=-11), ["E306", "P408"], {}),
        (
            lambda: nn.Embedding(-1, 4),
            ["E305", "P408"],
            {"token_embedding.num_embeddings": -1, "token_embedding.embedding_dim": 4},
        ),
        (
            lambda: nn.Embedding(10, -4),
            ["E305", "P408"],
            {"token_embedding.num_embeddings": 10, "token_embedding.embedding_dim": -4},
        ),
        (lambda: nn.Embedding(10.0, 4), ["E305", "P408"], {}),
        (lambda: nn.Embedding(10, 8 / 2), ["E305", "P408"], {}),
        (lambda: nn.Embedding("10", 4), ["E305", "P408"], {}),
        (lambda: nn.Embedding(None, 4), ["E305", "P408"], {}),
        (lambda: nn.Embedding(0, 4)(torch.tensor([0])), ["E305", "P408", "F609"], {}),
        (lambda: nn.Linear(4, 4).bfloat16()(torch.zeros(1, 4)), ["S502"], {}),
        (lambda: nn.LayerNorm(4).bfloat16()(torch.zeros(1, 4)), ["S502"], {}),
    ],
)
@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
def test_what_the_libraries_say_of_ids_loaders_and_constructors(call, found, values):
    reading = the_one(said(call))
    assert codes(reading) == found
    assert reading.values == values
    assert type(reading.values.get("loader.batch_size")) is type(values.get("loader.batch_size"))


# ---- checkpoints -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "found", "values"),
    [
        ({"vocab_size": 12}, ["F606", "F610"], {"token_embedding.num_embeddings": 10}),
        ({"context_length": 9}, ["F606", "F610"], {"position_embedding.num_embeddings": 4}),
        ({"segments": 3}, ["F606", "F610"], {"segment_embedding.num_embeddings": 2}),
    ],
)
def test_a_table_of_the_file_has_other_rows(changes, found, values):
    reading = the_one(said(Model().load_state_dict, Model(**changes).state_dict()))
    assert codes(reading) == found
    assert values.items() <= reading.values.items()


def test_each_table_that_differs_is_read():
    readings = messages.read(said(Model().load_state_dict, Model(width=6).state_dict()))
    assert [codes(reading) for reading in readings] == [["F607"]] * 3
    sections = [next(name for name in reading.values if "." in name).split(".")[0] for reading in readings]
    assert sections == ["token_embedding", "position_embedding", "segment_embedding"]
    assert all(reading.values["embedding_dim"] == 8 for reading in readings)


@pytest.mark.parametrize(
    ("change", "likeliest"),
    [
        (lambda name, table: (name, table.T), "F608"),
        (lambda name, table: (name, torch.empty(0)), "F609"),
        (lambda name, table: (f"module.{name}", table), "F612"),
        (lambda name, table: (f"_orig_mod.{name}", table), "F612"),
        (lambda name, table: (name.replace("pos_emb", "other"), table), "F605"),
    ],
)
def test_state_dicts_of_other_shapes_and_names(change, likeliest):
    state = dict(change(name, table) for name, table in Model().state_dict().items())
    readings = messages.read(said(Model().load_state_dict, state))
    assert {codes(reading)[0] for reading in readings} == {likeliest}


def test_a_tied_head_that_was_not_saved():
    model = nn.ModuleDict({"wte": nn.Embedding(10, 4), "lm_head": nn.Linear(4, 10, bias=False)})
    reading = the_one(said(model.load_state_dict, {"wte.weight": torch.zeros(10, 4)}))
    assert codes(reading) == ["F611", "F605"]


def test_a_layer_further_behind_is_not_taken_for_a_table():
    model = nn.ModuleDict({"wte": nn.Embedding(10, 4), "mlp": nn.Linear(4, 4)})
    state = {"wte.weight": torch.zeros(10, 4), "mlp.weight": torch.zeros(5, 4), "mlp.bias": torch.zeros(4)}
    alone = the_one(said(model.load_state_dict, state))
    assert codes(alone) == []
    assert "mlp.weight is not a table" in alone.aside
    beside = the_one(said(model.load_state_dict, state | {"wte.weight": torch.zeros(11, 4)}))
    assert codes(beside) == ["F606", "F610"]


class Unknown:
    """Something that is no tensor."""


LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"


@pytest.mark.parametrize(
    ("kind", "found"),
    [("code", "F604"), ("cut", "F602"), ("empty", "F602"), ("pointer", "F603"), ("none", "F601")],
)
def test_files_that_torch_cannot_open(tmp_path, kind, found):
    path = tmp_path / "model.pt"
    torch.save({"x": Unknown()} if kind == "code" else Model().state_dict(), path)
    data = path.read_bytes()
    path.write_bytes({"cut": data[: len(data) // 2], "empty": b"", "pointer": LFS_POINTER}.get(kind, data))
    if kind == "none":
        path.unlink()
    assert codes(the_one(said(torch.load, path)))[0] == found


@pytest.mark.parametrize(
    ("content", "found"),
    [(lambda data: data[:-8], "F602"), (lambda data: data[:20], "F602"), (lambda data: b"", "F602")],
)
def test_files_that_safetensors_cannot_open(tmp_path, content, found):
    path = tmp_path / "model.safetensors"
    safetensors.torch.save_file({"wte.weight": torch.zeros(10, 4)}, path)
    path.write_bytes(content(path.read_bytes()))
    assert codes(the_one(said(safetensors.torch.load_file, path)))[0] == found
    path.write_bytes(LFS_POINTER)
    assert codes(the_one(said(safetensors.torch.load_file, path)))[0] == "F603"


# ---- several messages, other text ------------------------------------------------------------------------------------


def test_the_last_of_several_is_what_it_died_of():
    first = "IndexError: Target 7 is out of bounds.\n"
    text = "batch_size should be a positive integer value, but got batch_size=0\n" * 2 + first
    text += "batch_size should be a positive integer value, but got batch_size=-3\n"
    readings = messages.read(text)
    assert [reading.quote for reading in readings if codes(reading) == ["B201"]] == [text.splitlines()[-1]]
    assert len(readings) == 2


@pytest.mark.parametrize(
    "text", ["", "   \n", "everything is fine", "KeyError: 'tok'", "\0\1\2", "NameError: name 'x' is not defined"]
)
def test_unknown_text_is_unknown(text):
    assert messages.read(text) == []


def test_an_index_of_a_list_is_no_look_up():
    assert messages.read(said(lambda: [1, 2][5])) == []


def test_the_end_of_a_long_log_is_read():
    log = "step 10 loss 3.2, everything as it should be\n" * 40_000
    assert codes(the_one(log + "IndexError: index out of range in self\n")) == LOOKUP


def expressions():
    found = [pattern.expression for pattern in PATTERNS]
    for name in ("message_lookups", "message_files"):
        values = list(vars(import_module(f"inspector.{name}")).values())
        values += [inner for value in values if isinstance(value, dict) for inner in value.values()]
        found += [value for value in values if isinstance(value, re.Pattern)]
    return found


@pytest.mark.parametrize("expression", expressions(), ids=lambda e: e.pattern[:40])
def test_no_expression_can_take_long(expression):
    """Every repeat has an end and holds no other repeat, so that no start in a text costs more than a fixed number."""
    from re import _parser as parser

    def repeats(tree, inside=False):
        for operation, argument in tree:
            name = str(operation)
            if name in ("MAX_REPEAT", "MIN_REPEAT"):
                _least, most, inner = argument
                assert most is not parser.MAXREPEAT
                assert not (inside and most > 1)
                repeats(inner, inside or most > 1)
            elif name == "SUBPATTERN":
                repeats(argument[-1], inside)
            elif name == "BRANCH":
                for branch in argument[1]:
                    repeats(branch, inside)
            elif name in ("ASSERT", "ASSERT_NOT"):
                repeats(argument[1], inside)

    repeats(parser.parse(expression.pattern, expression.flags & ~re.UNICODE))


PIECES = [
    *("index out of bounds: 0 <= ", "size mismatch for ", "torch.Size([", "1" * 30, ", ", "])", "[", "]", "(", ")"),
    *("index 5 is out of bounds for dimension 0 with size ", "Expected tensor for argument #1 'indices' to have "),
    *(
        "Missing key(s) in state_dict: ",
        "---> 1 ",
        '  File "a.py", line 1, in f\n',
        "^^^^\n",
        "wte(",
        "wpe(",
        "\n",
        " ",
    ),
    *("Trying to create tensor with negative dimension -1: [", "-1", "copying a param with shape ", "< 5", "\ud800"),
    *("IndexError: index out of range in self", "Target 3 is out of bounds", "batch_size should be a positive"),
]


@given(st.lists(st.tuples(st.sampled_from(PIECES), st.integers(1, 200)), max_size=12), st.text(max_size=40))
def test_any_text_can_be_read(pieces, tail):
    text = "".join(piece * times for piece, times in pieces) + tail
    for reading in messages.read(text):
        assert reading.quote in text
        assert len(reading.quote) <= 300
        assert reading.candidates or reading.aside
        assert set(reading.values) <= FIELDS
        assert messages.words(reading)


# ---- what is made of it ----------------------------------------------------------------------------------------------


def all_fields():
    names = {f.name for f in fields(InputConfig)} - {"stated"}
    return names | {f"{key}.{f.name}" for key, section in config.section_types().items() for f in fields(section)}


FIELDS = all_fields()
TEXT = "The lamp keeper counted the ships by the sound of their bells. " * 200


@pytest.mark.parametrize(
    ("text", "given"),
    [
        (said(add, (2, 4, 256), (4, 128)), {}),
        (said(add, (2, 4, 256), (4, 4)), {}),
        (said(add, (2, 6, 8), (4, 8)), {}),
        (said(add, (2, 3, 8), (4, 8)), {}),
        (said(nn.Linear(6, 3), torch.zeros(2, 4, 5)), {}),
        (said(nn.Embedding, -1, 4), {}),
        (said(nn.Embedding, 10, -4), {}),
        (said(DataLoader, THREE, 0), {}),
        (said(DataLoader, THREE, 2.0), {}),
        (said(text_loader, 4, 0), {}),
        (said(SPECIAL.encode, "<|endoftext|>"), {"text": "One.<|endoftext|>Two. " * 20}),
        (said(lambda: DataLoader(EMPTY, shuffle=True)), {"text": "one two"}),
        (said(nn.Embedding(10, 4), torch.tensor([1.0])), {"text": None, "token_ids": ((1.0, 2.0),)}),
        (said(nn.Embedding(10, 4), torch.tensor([1]).byte()), {"text": None, "token_ids": ((1, 2),)}),
        ("sequence length is longer than the specified maximum sequence length for this model (1300 > 1024)", {}),
        ("index out of range: Tried to access index 300 out of table with 255 rows", {}),
        ("RuntimeError: index out of bounds: 0 <= tmp4 < 256L", {}),
    ],
    ids=lambda value: value.strip().splitlines()[-1][:60] if isinstance(value, str) else "",
)
def test_the_numbers_lead_to_one_of_the_candidates(text, given):
    (reading,) = messages.read(text)
    assert set(reading.values) <= FIELDS
    inspected = InputConfig(text=TEXT).with_values({**given, **reading.values})
    found = {d.code for d in pipeline.run(pipeline.Request(inspected)).diagnoses}
    assert found & set(codes(reading))


def test_every_candidate_is_in_the_catalogue():
    sources = [Path(import_module(f"inspector.message_{name}").__file__) for name in ("lookups", "shapes", "files")]
    named = {code for source in sources for code in re.findall(r"\"([TBEPGSFMX]\d{3})\"", source.read_text())}
    assert named - {kind.code for kind in checks.FAULTS} == set()


def test_words_say_all_of_it():
    reading = the_one(said(add, (2, 4, 256), (4, 128)))
    shown = messages.words(reading)
    for part in (reading.quote, reading.ask, "token_embedding.embedding_dim = 256", "embedding_dim = null"):
        assert part in shown
    for candidate in reading.candidates:
        assert f"{candidate.code} {candidate.fault.name}: {candidate.when}" in shown
    assert "To tell them apart" in shown
    assert "To tell them apart" not in messages.words(the_one("range() arg 3 must not be zero"))


def test_long_values_are_cut():
    assert messages.written(tuple(range(1000))) == "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1…"


# ---- the command -----------------------------------------------------------------------------------------------------


def explain(*arguments, data=b""):
    run = [sys.executable, "-m", "inspector", "explain", *arguments]
    done = subprocess.run(run, cwd=ROOT, input=data, capture_output=True, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_the_command_reads_a_file_and_standard_input(tmp_path):
    path = tmp_path / "message.txt"
    path.write_bytes(said(Model(), torch.tensor([[1, 2, 10]])).encode())
    for arguments, data in ((("--message", str(path)), b""), (("--message", "-"), path.read_bytes())):
        code, out, err = explain(*arguments, data=data)
        assert (code, err) == (0, "")
        assert "IndexError: index out of range in self" in out
        assert out.index("E301 token-id-out-of-range") < out.index("P401 position-out-of-range")


@pytest.mark.parametrize("data", [b"", b"hello", bytes(range(256)) * 10], ids=["empty", "unknown", "binary"])
def test_the_command_says_that_it_knows_no_message(data):
    code, out, err = explain("--message", "-", data=data)
    assert (code, out) == (2, "")
    assert "no message in it is known" in err
    assert len(err.splitlines()) == 1


def test_the_command_reads_past_binary_rubbish():
    code, out, _ = explain("--message", "-", data=b"\xff\xfe\0 index out of range in self \x80")
    assert code == 0
    assert "E301" in out


@pytest.mark.parametrize("name", ["no such file", "."])
def test_the_command_says_which_file_cannot_be_read(tmp_path, name):
    code, out, err = explain("--message", str(tmp_path / name))
    assert (code, out) == (2, "")
    assert str(tmp_path / name) in err
    assert len(err.splitlines()) == 1
