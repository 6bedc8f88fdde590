"""Live models of all kinds: their layers found, their faults laid to the right one, and nothing of them changed."""

from __future__ import annotations

import copy
import math
import random
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from inspector.diagnosis import Severity, Stage
from inspector.inspection_file import InspectionFileError
from inspector.live import check_model, look
from inspector.recipe import Role

IDS = [[1, 2, 3, 4], [5, 6, 7, 8]]
ROWS, LENGTH, WIDTH = 20, 6, 8


class Block(nn.Module):
    def __init__(self, width: int = WIDTH) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        assert not self.training
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Course(nn.Module):
    """The course's: two layers, a sum."""

    def __init__(
        self, rows: int = ROWS, length: int = LENGTH, width: int = WIDTH, pos_width: int | None = None
    ) -> None:
        super().__init__()
        self.tok_emb = nn.Embedding(rows, width)
        self.pos_emb = nn.Embedding(length, width if pos_width is None else pos_width)
        self.drop = nn.Dropout(0.5)
        self.blocks = nn.Sequential(Block(width), Block(width))
        self.head = nn.Linear(width, rows)

    def forward(self, in_idx: torch.Tensor) -> torch.Tensor:
        x = self.tok_emb(in_idx) + self.pos_emb(torch.arange(in_idx.shape[1], device=in_idx.device))
        return self.head(self.blocks(self.drop(x)))


class NanoGpt(nn.Module):
    """wte and wpe in a ModuleDict, tied weights, positions in a buffer, an assert, a tuple returned."""

    def __init__(self, rows: int = ROWS, length: int = LENGTH, width: int = WIDTH) -> None:
        super().__init__()
        self.length = length
        self.transformer = nn.ModuleDict(
            {"wte": nn.Embedding(rows, width), "wpe": nn.Embedding(length, width), "h": nn.ModuleList([Block(width)])}
        )
        self.lm_head = nn.Linear(width, rows, bias=False)
        self.transformer["wte"].weight = self.lm_head.weight
        self.register_buffer("positions", torch.arange(length))

    def forward(self, idx: torch.Tensor, targets: torch.Tensor | None = None) -> tuple[torch.Tensor, None]:
        assert idx.shape[1] <= self.length, "too long"
        x = self.transformer["wte"](idx) + self.transformer["wpe"](self.positions[: idx.shape[1]])
        for block in self.transformer["h"]:
            x = block(x)
        return self.lm_head(x), None


class Sliced(nn.Module):
    """Positions that are a parameter, a buffer or a plain tensor of some shape, taken in some way."""

    def __init__(self, table: torch.Tensor, take: Any, kind: str = "parameter") -> None:
        super().__init__()
        self.embed = nn.Embedding(ROWS, WIDTH)
        if kind == "parameter":
            self.pos = nn.Parameter(table)
        elif kind == "buffer":
            self.register_buffer("pos", table)
        else:
            self.pos = table
        self.take = take
        self.block = Block()

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.block(self.embed(ids) + self.take(self.pos, ids.shape[1]))


class Bert(nn.Module):
    def __init__(self, segments: int = 2) -> None:
        super().__init__()
        self.embeddings = nn.ModuleDict(
            {
                "word_embeddings": nn.Embedding(ROWS, WIDTH, padding_idx=0),
                "position_embeddings": nn.Embedding(LENGTH, WIDTH),
                "token_type_embeddings": nn.Embedding(segments, WIDTH),
                "LayerNorm": nn.LayerNorm(WIDTH),
            }
        )
        self.encoder = Block()

    def forward(self, input_ids: torch.Tensor, token_type_ids: torch.Tensor | None = None) -> dict[str, torch.Tensor]:
        if token_type_ids is None:
            token_type_ids = torch.zeros_like(input_ids)
        parts = self.embeddings
        x = parts["word_embeddings"](input_ids) + parts["token_type_embeddings"](token_type_ids)
        x += parts["position_embeddings"](torch.arange(input_ids.shape[1]).unsqueeze(0))
        return {"last_hidden_state": self.encoder(parts["LayerNorm"](x))}


class Roberta(Bert):
    """Positions counted from the IDs that are no padding, from padding_idx + 1."""

    def __init__(self) -> None:
        super().__init__(1)
        self.embeddings["word_embeddings"] = nn.Embedding(ROWS, WIDTH, padding_idx=1)
        self.embeddings["position_embeddings"] = nn.Embedding(LENGTH + 2, WIDTH, padding_idx=1)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        mask = input_ids.ne(1).int()
        positions = torch.cumsum(mask, 1).type_as(mask) * mask + 1
        parts = self.embeddings
        x = parts["word_embeddings"](input_ids) + parts["token_type_embeddings"](torch.zeros_like(input_ids))
        return self.encoder(x + parts["position_embeddings"](positions))


class SkippingTwo(nn.Embedding):
    def __init__(self, length: int, width: int) -> None:
        self.offset = 2
        super().__init__(length + 2, width)

    def forward(self, positions: torch.Tensor) -> torch.Tensor:
        return super().forward(positions + self.offset)


class Opt(nn.Module):
    """Positions two rows on, token rows narrower than the model and projected."""

    def __init__(self, narrow: int = 4) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(ROWS, narrow)
        self.embed_positions = SkippingTwo(LENGTH, WIDTH)
        self.project_in = nn.Linear(narrow, WIDTH, bias=False)
        self.layers = nn.ModuleList([Block()])

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        x = self.embed_tokens(input_ids)
        positions = self.embed_positions(torch.arange(input_ids.shape[1]))
        return self.layers[0](self.project_in(x) + positions)


class Llama(nn.Module):
    def __init__(self, scale: float = 1.0) -> None:
        super().__init__()
        self.model = nn.ModuleDict({"embed_tokens": nn.Embedding(ROWS, WIDTH), "layers": nn.ModuleList([Block()])})
        self.scale = scale

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        x = self.model["embed_tokens"](input_ids)
        return self.model["layers"][0](x if self.scale == 1.0 else x * self.scale)


class Wild(Course):
    """Changes all it can in its forward, and raises if told to."""

    def __init__(self, *, raises: bool = False) -> None:
        super().__init__()
        self.raises = raises
        self.tok_emb = nn.Embedding(ROWS, WIDTH, max_norm=0.1)
        self.pos_emb = nn.Embedding(LENGTH, WIDTH, max_norm=0.1)
        self.norm = nn.BatchNorm1d(4)
        self.frozen = nn.Parameter(torch.ones(3), requires_grad=False)
        self.calls, self.seen, self.cache = 0, [], {}
        self.register_buffer("counter", torch.zeros(1))
        self.register_buffer("keys", torch.zeros(2, 4, WIDTH))
        self.register_buffer("resized", torch.ones(1))
        self.plain = torch.zeros(5)
        self.blocks[1].eval()

    def forward(self, in_idx: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        self.seen.append(in_idx)
        self.cache["ids"] = in_idx
        self.added = nn.Linear(2, 2)
        self.counter += 1
        self.plain[2:4].fill_(7)
        self.pos_emb.weight.data.mul_(2)
        torch.rand(3), random.random(), np.random.rand()
        self.register_buffer("mask", torch.ones(3))
        x = self.norm(self.tok_emb(in_idx) + self.pos_emb(torch.arange(in_idx.shape[1])))
        self.keys[:, : x.shape[1]] = x
        torch.add(x, x, out=self.keys[: len(x)])
        torch.add(x, x, out=self.resized.resize_(0))
        self.train()
        if self.raises:
            raise RuntimeError("wild")
        return super().forward(in_idx)


def codes(result: Any, *, errors: bool = True) -> list[str]:
    return [d.code for d in result.diagnoses if not errors or d.severity is Severity.ERROR]


def sum_of(model: nn.Module, token: torch.Tensor, position: torch.Tensor | None = None, start: int = 0) -> np.ndarray:
    rows = token.detach()[torch.tensor(IDS)]
    if position is not None:
        rows = rows + position.detach().reshape(-1, position.shape[-1])[start : start + 4]
    return rows.float().numpy()


def layers(result: Any) -> tuple[Any, ...]:
    config = result.config
    token, position = config.token_embedding, config.position_embedding
    return (
        (token.num_embeddings, token.embedding_dim),
        None if position is None else (position.num_embeddings, position.embedding_dim, position.offset),
    )


# ---- models that are sound ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [list, torch.tensor, np.array, lambda ids: torch.tensor(ids, dtype=torch.int32)])
def test_the_course(make: Any) -> None:
    model = Course()
    result = check_model(model, make(IDS))
    assert result.ok, result.explain()
    assert layers(result) == ((ROWS, WIDTH), (LENGTH, WIDTH, 0))
    assert result.live.names == {Role.TOKEN: "tok_emb", Role.POSITION: "pos_emb"}
    assert (
        result.live.how == "The layers were found in a forward pass, which looked up, in this order: tok_emb, pos_emb."
    )
    np.testing.assert_array_equal(result.sum, sum_of(model, model.tok_emb.weight, model.pos_emb.weight))
    np.testing.assert_array_equal(result.token_ids, IDS)
    assert not result.live.notes


def test_nanogpt_with_tied_weights() -> None:
    model = NanoGpt()
    result = check_model(model, IDS)
    assert result.ok
    assert set(result.live.names.values()) == {"transformer.wte", "transformer.wpe"}
    wte, wpe = model.transformer["wte"].weight, model.transformer["wpe"].weight
    np.testing.assert_array_equal(result.sum, sum_of(model, wte, wpe))


SLICES = {
    "three axes": ((1, LENGTH, WIDTH), lambda p, t: p[:, :t]),
    "two axes": ((LENGTH, WIDTH), lambda p, t: p[:t]),
    "expanded": ((1, LENGTH, WIDTH), lambda p, t: p[:, :t].expand(2, -1, -1)),
    "unsqueezed": ((LENGTH, WIDTH), lambda p, t: p[:t].unsqueeze(0)),
    "sequence first": ((LENGTH, 1, WIDTH), lambda p, t: p[:t].transpose(0, 1)),
    "indexed": ((LENGTH, WIDTH), lambda p, t: p[torch.arange(t)]),
    "indexed on axis 1": ((1, LENGTH, WIDTH), lambda p, t: p[:, torch.arange(t)]),
    "index_select": ((LENGTH, WIDTH), lambda p, t: p.index_select(0, torch.arange(t))),
    "cast": ((LENGTH, WIDTH), lambda p, t: p.double()[:t].float()),
    "functional": ((LENGTH, WIDTH), lambda p, t: nn.functional.embedding(torch.arange(t), p)),
}


@pytest.mark.parametrize("kind", ["parameter", "buffer", "plain"])
@pytest.mark.parametrize("way", SLICES)
def test_positions_that_are_a_slice(kind: str, way: str) -> None:
    shape, take = SLICES[way]
    model = Sliced(torch.randn(shape), take, kind)
    result = check_model(model, IDS)
    assert result.ok
    assert layers(result) == ((ROWS, WIDTH), (LENGTH, WIDTH, 0))
    assert result.config.positions is None
    assert result.live.names == {Role.TOKEN: "embed", Role.POSITION: "pos"}
    np.testing.assert_array_equal(result.sum, sum_of(model, model.embed.weight, model.pos))


def test_a_slice_that_starts_later() -> None:
    model = Sliced(torch.randn(LENGTH, WIDTH), lambda p, t: p[2 : 2 + t])
    result = check_model(model, IDS)
    assert layers(result)[1] == (LENGTH, WIDTH, 2)
    np.testing.assert_array_equal(result.sum, sum_of(model, model.embed.weight, model.pos, 2))


def test_the_weight_of_a_layer_sliced() -> None:
    model = Course()
    model.forward = lambda ids: model.blocks(model.tok_emb(ids) + model.pos_emb.weight[: ids.shape[1]])
    result = check_model(model, IDS)
    assert result.ok
    assert result.live.names[Role.POSITION] == "pos_emb"
    assert result.live.how.endswith("tok_emb, pos_emb.")


def test_bert() -> None:
    model = Bert()
    result = check_model(model, IDS)
    assert result.ok
    segment = result.config.segment_embedding
    assert (segment.num_embeddings, segment.embedding_dim, segment.max_id) == (2, WIDTH, 0)
    parts = model.embeddings
    expected = parts["word_embeddings"].weight[torch.tensor(IDS)] + parts["token_type_embeddings"].weight[0]
    expected = expected + parts["position_embeddings"].weight[:4]
    np.testing.assert_array_equal(result.sum, expected.detach().numpy())
    assert result.live.names[Role.SEGMENT] == "embeddings.token_type_embeddings"


def test_berts_own_arguments() -> None:
    model = Bert()
    result = check_model(model, {"input_ids": torch.tensor(IDS), "token_type_ids": torch.tensor([[0, 0, 1, 1]] * 2)})
    assert result.ok
    assert result.config.segment_embedding.max_id == 1
    assert result.sum is None  # each cell has its own segment row: no sum is better than one with segment 0
    assert result.token_rows is not None


def test_positions_of_a_padded_batch() -> None:
    result = check_model(Roberta(), [[5, 6, 7, 8], [5, 6, 1, 1]])
    assert result.ok, result.explain()
    assert result.config.positions == ((2, 3, 4, 5), (2, 3, 1, 1))
    assert check_model(Roberta(), IDS[1:]).config.position_embedding.offset == 2


def test_opt() -> None:
    result = check_model(Opt(), IDS)
    assert result.ok, result.explain()
    assert layers(result) == ((ROWS, 4), (LENGTH + 2, WIDTH, 2))
    assert result.config.token_embedding.project_to == WIDTH
    assert result.sum is None


def test_llama_has_no_positions() -> None:
    model = Llama()
    result = check_model(model, IDS)
    assert result.ok
    assert "P406" in codes(result, errors=False)
    np.testing.assert_array_equal(result.sum, sum_of(model, model.model["embed_tokens"].weight))


def test_rows_that_are_scaled_are_said_to_be() -> None:
    notes = check_model(Llama(math.sqrt(WIDTH)), IDS).live.notes
    assert len(notes) == 1
    assert "changes the token rows of model.embed_tokens on their way (mul)" in notes[0]


def test_positions_that_are_computed_are_said_to_be_added() -> None:
    model = Llama()
    embed = model.model["embed_tokens"]
    model.forward = lambda ids: embed(ids) + torch.sin(torch.arange(4.0))[:, None].expand(4, WIDTH)
    result = check_model(model, IDS)
    assert result.ok
    assert "no rows of a table" in result.live.notes[0]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_other_dtypes(dtype: torch.dtype) -> None:
    model = Course().to(dtype)
    result = check_model(model, IDS)
    assert result.ok
    total = model.tok_emb.weight[torch.tensor(IDS)] + model.pos_emb.weight[:4]
    expected = total.detach().double() if dtype is torch.float64 else total.detach().float()
    np.testing.assert_array_equal(result.sum, expected.numpy())
    assert result.config.token_embedding.dtype == str(dtype).removeprefix("torch.")


def test_layers_of_two_dtypes() -> None:
    model = Course()
    model.pos_emb.bfloat16()
    assert "S502" in codes(check_model(model, IDS), errors=False)


def test_one_embedding_twice() -> None:
    class EncoderDecoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.shared = nn.Embedding(ROWS, WIDTH)
            self.encoder, self.decoder = nn.Module(), nn.Module()
            self.encoder.embed_tokens = self.decoder.embed_tokens = self.shared
            self.mix = nn.Linear(WIDTH, WIDTH)

        def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
            return self.mix(self.encoder.embed_tokens(input_ids)) + self.decoder.embed_tokens(input_ids)

    result = check_model(EncoderDecoder(), IDS)
    assert result.ok
    assert result.live.names == {Role.TOKEN: "shared"}


def test_masks_and_biases_are_no_positions() -> None:
    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(ROWS, WIDTH)
            self.query, self.scale = nn.Linear(WIDTH, WIDTH), nn.Parameter(torch.ones(WIDTH))
            self.register_buffer("mask", torch.zeros(LENGTH, LENGTH))

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            x, t = self.embed(ids) * self.scale, ids.shape[1]
            q = self.query(x)
            scores = q @ q.transpose(1, 2) + self.mask[:t, :t]
            return x + scores.softmax(-1) @ x

    result = check_model(Attention(), IDS)
    assert result.ok
    assert result.config.position_embedding is None


def test_a_third_table_is_said_to_be_added() -> None:
    model = Course()
    model.speaker = nn.Embedding(ROWS, WIDTH)
    model.forward = lambda ids: model.tok_emb(ids) + model.speaker(ids) + model.pos_emb(torch.arange(ids.shape[1]))
    result = check_model(model, IDS)
    assert result.live.names == {Role.TOKEN: "tok_emb", Role.POSITION: "pos_emb"}
    assert any("rows of speaker too" in note for note in result.live.notes)


def test_positions_before_tokens_at_the_same_numbers() -> None:
    model = Course()
    model.forward = lambda ids: model.pos_emb(torch.arange(ids.shape[1])) + model.tok_emb(ids)
    result = check_model(model, [[0, 1, 2, 3]])
    assert result.live.names == {Role.TOKEN: "tok_emb", Role.POSITION: "pos_emb"}


def test_ids_that_the_model_changes() -> None:
    model = Course()
    model.forward = lambda ids: model.tok_emb(ids % ROWS) + model.pos_emb(torch.arange(ids.shape[1]))
    result = check_model(model, [[1, 2, 3, ROWS + 4]])
    assert result.ok
    np.testing.assert_array_equal(result.token_ids, [[1, 2, 3, 4]])
    assert "changes the IDs" in result.live.notes[0]


# ---- around a model ----------------------------------------------------------------------------------------------


def test_matrices_between_tokens_and_positions() -> None:
    model = Course()
    model.mix = nn.Sequential(nn.Linear(WIDTH, 2), nn.Linear(2, WIDTH))
    model.forward = lambda ids: model.mix(model.tok_emb(ids)) + model.pos_emb(torch.arange(ids.shape[1]))
    result = check_model(model, IDS)
    assert result.ok
    assert result.live.names[Role.POSITION] == "pos_emb"
    assert result.config.token_embedding.project_to == WIDTH


def test_a_wrapped_model() -> None:
    assert check_model(nn.DataParallel(Course()), IDS).live.names[Role.TOKEN] == "tok_emb"
    outer = nn.Module()
    outer.net = Course()
    outer.forward = lambda ids: outer.net(ids)
    assert check_model(outer, IDS).live.names[Role.TOKEN] == "net.tok_emb"


def test_a_compiled_model_is_not_compiled() -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("the compiler was called")

    whole = torch.compile(Course(), backend=refuse)
    assert check_model(whole, IDS).live.names[Role.POSITION] == "pos_emb"
    parts = Course()
    parts.tok_emb = torch.compile(parts.tok_emb, backend=refuse)
    result = check_model(parts, IDS)
    assert result.ok
    assert "forward pass" in result.live.how
    in_place = Course()
    in_place.compile(backend=refuse)
    assert "forward pass" in check_model(in_place, IDS).live.how


def test_the_pass_ends_at_the_first_block() -> None:
    model = Course()
    model.blocks[0].forward = model.head.forward = None  # not to be called
    assert check_model(model, IDS).ok


# ---- faults ------------------------------------------------------------------------------------------------------


def the_error(result: Any) -> Any:
    (error,) = [d for d in result.diagnoses if d.severity is Severity.ERROR]
    return error


def test_a_token_too_large() -> None:
    error = the_error(check_model(Course(), [[1, 2, ROWS, 3]]))
    assert (error.code, error.subject) == ("E301", "tok_emb")
    assert error.cells == ((0, 2),)


def test_layers_without_telling_names() -> None:
    """The pass goes on behind an ID without a row, so the position layer is seen too."""
    model = nn.Module()
    model.first, model.second = nn.Embedding(ROWS, WIDTH), nn.Embedding(3, WIDTH)
    model.forward = lambda ids: model.first(ids) + model.second(torch.arange(ids.shape[1]))
    result = check_model(model, [[1, 2, ROWS, 3]])
    assert codes(result) == ["E301", "P401"]
    assert result.live.names == {Role.TOKEN: "first", Role.POSITION: "second"}


def test_a_negative_token() -> None:
    assert the_error(check_model(Course(), [[1, -1, 2, 3]])).code == "B211"


@pytest.mark.parametrize("model", [Course(length=3), NanoGpt(length=3)], ids=["looked up", "asserted"])
def test_a_position_too_large(model: nn.Module) -> None:
    error = the_error(check_model(model, IDS))
    assert error.code == "P401"
    assert error.subject in ("pos_emb", "transformer.wpe")


def test_both_too_large() -> None:
    assert codes(check_model(Course(length=3), [[1, 2, ROWS, 3]])) == ["E301", "P401"]


def test_a_slice_that_is_silently_short() -> None:
    error = the_error(check_model(Sliced(torch.randn(1, 3, WIDTH), lambda p, t: p[:, :t]), IDS))
    assert (error.code, error.subject) == ("P401", "pos")
    assert error.data["needed"] == 4


def test_a_table_of_positions_that_is_not_cut() -> None:
    assert the_error(check_model(Sliced(torch.randn(LENGTH, WIDTH), lambda p, t: p), IDS)).code == "P407"


def test_a_single_position_row() -> None:
    assert the_error(check_model(Sliced(torch.randn(1, LENGTH, WIDTH), lambda p, t: p[:, :1]), IDS)).code == "P404"


def test_positions_on_the_batch_axis() -> None:
    model = Course()
    model.forward = lambda ids: model.tok_emb(ids) + model.pos_emb(torch.arange(ids.shape[0])).unsqueeze(1)
    assert the_error(check_model(model, [[1, 2, 3, 4]] * 4)).code == "P405"


def test_a_segment_too_large() -> None:
    arguments = {"input_ids": IDS, "token_type_ids": torch.ones(2, 4, dtype=torch.int64)}
    error = the_error(check_model(Bert(segments=1), arguments))
    assert (error.code, error.subject) == ("G451", "embeddings.token_type_embeddings")


def test_widths_are_laid_to_the_layer_that_departs() -> None:
    error = the_error(check_model(Course(pos_width=4), IDS))
    assert (error.code, error.subject, error.data["expected"]) == ("P403", "pos_emb", WIDTH)
    model = Course()
    model.tok_emb = nn.Embedding(ROWS, 4)
    error = the_error(check_model(model, IDS))
    assert (error.code, error.subject, error.data["expected"]) == ("E304", "tok_emb", WIDTH)


def test_a_width_of_one_is_silent_and_found() -> None:
    assert the_error(check_model(Course(pos_width=1), IDS)).code == "P403"


def test_the_stated_width_is_what_counts() -> None:
    assert the_error(check_model(Course(pos_width=4), IDS, embedding_dim=4)).code == "E304"


def test_a_stated_tokenizer_is_judged() -> None:
    result = check_model(Course(), IDS, tokenizer={"encoding": "gpt2"})
    assert "E309" in codes(result, errors=False)
    assert "E309" not in codes(check_model(Course(), IDS), errors=False)


@pytest.mark.parametrize(
    ("ids", "code"),
    [([1, 2, 3], "B210"), ([[1.5, 2.0]], "B207"), (torch.ones(2, 2, dtype=torch.uint8), "B208"), ([[1], [2, 3]], None)],
)
def test_ids_that_are_no_batch(ids: Any, code: str | None) -> None:
    result = check_model(Course(), ids)
    assert not result.ok
    assert code is None or code in codes(result)
    assert "by their names" in result.live.how


# ---- where forward tells nothing ---------------------------------------------------------------------------------


def test_forward_raises_before_any_look_up() -> None:
    model = Course()

    def broken(ids: torch.Tensor) -> None:
        raise ValueError("where is the mask?")

    model.forward = broken
    result = check_model(model, IDS)
    assert result.ok
    assert layers(result) == ((ROWS, WIDTH), (LENGTH, WIDTH, 0))
    assert result.live.how.endswith("because its forward pass raised ValueError: where is the mask?")


@pytest.mark.parametrize("model", [Roberta(), Opt()], ids=["padding row", "offset"])
def test_rows_that_positions_skip_are_known_without_a_pass(model: nn.Module) -> None:
    model.forward = lambda ids, mask: None
    assert check_model(model, IDS).config.position_embedding.offset == 2
    assert codes(check_model(model, [[5] * (LENGTH + 1)])) == ["P401"]


def test_a_configuration_beside_the_layers() -> None:
    class Config:
        model_type = "roberta"

        def __init__(self) -> None:
            self.pad_token_id = 1

    model = Course()
    model.config = Config()
    model.forward = lambda ids, mask: None
    assert check_model(model, IDS).config.position_embedding.offset == 2


def test_forward_needs_more() -> None:
    model = Course()
    model.forward = lambda ids, mask: None
    result = check_model(model, [[ROWS]])
    assert the_error(result).code == "E301"
    assert "'mask'" in result.live.how


def test_torch_raises_in_the_input_stage() -> None:
    model = Course()

    def broken(ids: torch.Tensor) -> torch.Tensor:
        return model.tok_emb(ids) + torch.zeros(3, 5)

    model.forward = broken
    error = the_error(check_model(model, IDS))
    assert (error.code, error.stage) == ("X900", Stage.SUM)
    assert error.torch.startswith("RuntimeError: The size of tensor a (8) must match")


def test_torch_raises_behind_it() -> None:
    model = Course()
    model.blocks = nn.Linear(3, 3)
    result = check_model(model, IDS)
    assert result.ok
    assert "Behind the input stage" in result.live.notes[0]


@pytest.mark.parametrize(
    "model",
    [nn.Linear(2, 2), nn.Sequential(nn.EmbeddingBag(ROWS, WIDTH)), nn.Module(), nn.Sequential()],
    ids=["linear", "bag", "nothing", "empty"],
)
def test_no_layer_is_found(model: nn.Module) -> None:
    result = check_model(model, IDS)
    assert [d.code for d in result.diagnoses] == ["M701"]
    assert result.sum is result.token_rows is None
    assert result.explain()
    assert result.to_json()


def test_a_quantised_layer() -> None:
    model = nn.Module()
    with pytest.warns(UserWarning, match="quantized"):
        model.tok_emb = torch.ao.nn.quantized.Embedding(ROWS, WIDTH)
    model.forward = lambda ids: model.tok_emb(ids)
    result = check_model(model, IDS)
    assert [d.code for d in result.diagnoses] == ["M701"]
    assert "tok_emb (Embedding)" in result.diagnoses[0].message


def test_the_meta_device() -> None:
    result = check_model(Course(length=3).to("meta"), IDS)
    assert the_error(result).code == "P401"
    assert result.sum is None
    assert any("cannot be read" in note for note in result.live.notes)


def test_a_scripted_model() -> None:
    with pytest.warns(DeprecationWarning, match="jit"):
        scripted = torch.jit.trace(nn.Embedding(ROWS, WIDTH), torch.tensor(IDS))
    result = check_model(nn.Sequential(scripted), IDS)
    assert "scripted" in result.live.how


def test_lazy_layers_stay_lazy() -> None:
    model = Course()
    model.head = nn.LazyLinear(3)
    assert check_model(model, IDS).ok
    assert isinstance(model.head, nn.LazyLinear)


@pytest.mark.filterwarnings("ignore:Initializing zero-element")
def test_a_table_without_rows() -> None:
    assert not check_model(Course(rows=0), IDS).ok


@pytest.mark.parametrize("given", ["text", None, {"mask": 1}])
def test_what_is_no_ids(given: Any) -> None:
    with pytest.raises(InspectionFileError):
        check_model(Course(), given)


def test_what_is_no_model_or_no_key() -> None:
    with pytest.raises(TypeError, match=r"must be a torch\.nn\.Module, not dict"):
        check_model({}, IDS)  # type: ignore[arg-type]
    with pytest.raises(InspectionFileError, match="token_embedding"):
        check_model(Course(), IDS, token_embedding=(3, 4))


# ---- nothing changes ---------------------------------------------------------------------------------------------


def everything(model: nn.Module) -> dict[str, Any]:
    """Return all of a model and of the random states that could have changed."""
    return {
        "tensors": {n: t.detach().clone() for n, t in [*model.named_parameters(), *model.named_buffers()]},
        "grads": {n: p.grad if p.grad is None else p.grad.clone() for n, p in model.named_parameters()},
        "requires_grad": {n: p.requires_grad for n, p in model.named_parameters()},
        "training": {n: m.training for n, m in model.named_modules()},
        "identity": {n: id(p) for n, p in [*model.named_parameters(), *model.named_buffers()]},
        "attributes": {n: sorted(vars(m)) for n, m in model.named_modules()},
        "hooks": [
            (len(m._forward_hooks), len(m._forward_pre_hooks), len(m._forward_pre_hooks_with_kwargs))
            for m in model.modules()
        ],
        "versions": {n: p._version for n, p in model.named_parameters() if n != "pos_emb.weight"},
        "torch": torch.get_rng_state(),
        "numpy": np.random.get_state()[1],
        "python": random.getstate(),
        "plain": getattr(model, "plain", torch.zeros(0)).clone(),
        "others": (getattr(model, "calls", 0), list(getattr(model, "seen", [])), dict(getattr(model, "cache", {}))),
        "modes": (torch.is_grad_enabled(), torch.is_inference_mode_enabled()),
    }


def same(left: Any, right: Any) -> bool:
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[k], right[k]) for k in left)
    if isinstance(left, torch.Tensor):
        return left.dtype == right.dtype and torch.equal(left, right)
    return np.array_equal(left, right) if isinstance(left, np.ndarray) else left == right


@pytest.mark.parametrize("raises", [False, True])
@pytest.mark.parametrize("ids", [IDS, [[1, 2, 3, ROWS]], [[1, 2, 3, 4, 5, 6, 7]]], ids=["sound", "token", "position"])
def test_nothing_of_a_model_changes(ids: Any, raises: bool) -> None:
    model = Wild(raises=raises)
    model.train()
    model.blocks[1].eval()
    model.seen.clear(), model.cache.clear()
    model.tok_emb.weight.grad = torch.ones_like(model.tok_emb.weight)
    before, containers = everything(model), (model.seen, model.cache, model._buffers)
    result = check_model(model, ids)
    after = everything(model)
    for part in before:
        assert same(before[part], after[part]), part
    assert containers[0] is model.seen
    assert containers[1] is model.cache
    assert containers[2] is model._buffers
    assert result.live.names[Role.TOKEN] == "tok_emb"


def test_max_norm_is_shown_and_not_applied() -> None:
    model = Course()
    model.tok_emb = nn.Embedding(ROWS, WIDTH, max_norm=0.5)
    twin = copy.deepcopy(model)
    result = check_model(model, IDS)
    assert torch.equal(model.tok_emb.weight, twin.tok_emb.weight)
    np.testing.assert_array_equal(result.token_rows, twin.tok_emb(torch.tensor(IDS)).detach().numpy())
    assert "E308" in codes(result, errors=False)


def test_max_norm_of_a_function_is_not_applied() -> None:
    model = Course()
    model.forward = lambda ids: nn.functional.embedding(ids, model.tok_emb.weight, max_norm=0.1)
    before = everything(model)
    check_model(model, IDS)
    assert same(before["tensors"], everything(model)["tensors"])


def test_a_graph_that_waits_for_its_backward_pass_still_has_it() -> None:
    model = NanoGpt()
    model.transformer["wte"].max_norm = 0.5
    loss = model.eval()(torch.tensor(IDS))[0].sum()
    check_model(model, IDS)
    loss.backward()


def test_rows_are_those_of_the_moment() -> None:
    model = Course()
    before = sum_of(model, model.tok_emb.weight, model.pos_emb.weight)
    result = check_model(model, IDS)
    with torch.no_grad():
        model.tok_emb.weight.zero_()
    np.testing.assert_array_equal(result.sum, before)


def test_an_error_of_the_persons_own_hook_leaves_nothing_behind() -> None:
    model = Course()

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    handle = model.pos_emb.register_forward_pre_hook(interrupt)
    before = everything(model)
    with pytest.raises(KeyboardInterrupt):
        look(model, IDS)
    assert all(same(before[part], everything(model)[part]) for part in before)
    handle.remove()
    assert len(torch.utils._python_dispatch._get_current_dispatch_mode_stack()) == 0


def test_the_persons_arguments_stay_as_they_are() -> None:
    model = Bert()
    kinds = torch.zeros(2, 4, dtype=torch.int64)

    def forward(input_ids: torch.Tensor, token_type_ids: torch.Tensor) -> torch.Tensor:
        input_ids.add_(1)
        token_type_ids.add_(1)
        return model.embeddings["word_embeddings"](input_ids)

    model.forward = forward
    ids = torch.tensor(IDS)
    check_model(model, {"input_ids": ids, "token_type_ids": kinds})
    assert torch.equal(ids, torch.tensor(IDS))
    assert not kinds.any()
