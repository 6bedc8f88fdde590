"""The arguments that can be edited: what each is called, what it means, what may be typed. Data for the fields."""

from __future__ import annotations

from typing import NamedTuple

SEEDS = (-(2**63), 2**64 - 1)  # what torch.manual_seed takes


class Argument(NamedTuple):
    """One field of the inspection file as the Layers panel shows it.

    `label` is its accessible name; `hint` says in one sentence what it is, `legal` what works. `optional` arguments may
    be left empty, `whole` ones take no fraction, `least` is where stepping down ends, `digits` how wide the field is,
    and beyond `bounds` there is no such value.
    """

    label: str
    hint: str
    legal: str
    optional: bool = False
    whole: bool = False
    least: int = 0
    digits: int = 4
    bounds: tuple[int, int] | None = None


ARGUMENTS = {
    "embedding_dim": Argument(
        "embedding dim",
        "The width that both layers must share; empty where nobody stated one.",
        "1 or more",
        optional=True,
        whole=True,
        least=1,
        digits=5,
    ),
    "token_embedding.num_embeddings": Argument(
        "vocab_size, token embedding",
        "How many rows the token table has: one for each token ID.",
        "1 or more; above the largest token ID",
        least=1,
        digits=6,
    ),
    "token_embedding.embedding_dim": Argument(
        "output_dim, token embedding",
        "How many values a token's row has.",
        "1 or more; the same as the position table's",
        least=1,
        digits=5,
    ),
    "position_embedding.num_embeddings": Argument(
        "context_length, position embedding",
        "How many rows the position table has: one for each position in a window.",
        "1 or more; at least offset + past_length + max_length",
        least=1,
        digits=6,
    ),
    "position_embedding.embedding_dim": Argument(
        "output_dim, position embedding",
        "How many values a position's row has.",
        "1 or more; the same as the token table's",
        least=1,
        digits=5,
    ),
    "loader.batch_size": Argument("batch_size, loader", "How many samples a batch has.", "1 or more", least=1),
    "loader.max_length": Argument(
        "max_length, loader", "How many tokens a sample has.", "1 or more, and at most context_length", least=1
    ),
    "loader.stride": Argument(
        "stride, loader", "How many tokens one sample starts after the one before.", "1 or more", least=1
    ),
    "loader.seed": Argument(
        "seed of the loader",
        "What torch.manual_seed is given right before the shuffled loader is iterated; empty for no seed.",
        "a whole number of 64 bits",
        optional=True,
        whole=True,
        bounds=SEEDS,
    ),
    "seed": Argument(
        "seed of the layers",
        "What torch.manual_seed is given right before the two constructors, so that the rows are the same each time.",
        "a whole number of 64 bits",
        whole=True,
        bounds=SEEDS,
        digits=5,
    ),
    "past_length": Argument(
        "past_length",
        "How many tokens came before, as with a key-value cache: positions start after them.",
        "0 or more",
        whole=True,
    ),
    "token_embedding.padding_idx": Argument(
        "padding_idx, token embedding",
        "The row that is all zeros and is not trained; empty for none.",
        "from -vocab_size to vocab_size - 1",
        optional=True,
        whole=True,
        digits=5,
    ),
    "token_embedding.max_norm": Argument(
        "max_norm, token embedding",
        "Rows longer than this are shortened, in the table itself, when they are looked up; empty for no limit.",
        "above 0",
        optional=True,
    ),
    "token_embedding.project_to": Argument(
        "project_to, token embedding",
        "The width after a projection that follows the token look-up (OPT-350m: 512 to 1024); empty for none.",
        "1 or more",
        optional=True,
        whole=True,
        least=1,
    ),
    "position_embedding.padding_idx": Argument(
        "padding_idx, position embedding",
        "The row that is all zeros and is not trained; empty for none.",
        "from -context_length to context_length - 1",
        optional=True,
        whole=True,
        digits=5,
    ),
    "position_embedding.offset": Argument(
        "offset, position embedding",
        "How many rows positions skip (RoBERTa: padding_idx + 1; OPT: 2).",
        "0 or more",
        whole=True,
    ),
    "segment_embedding.num_embeddings": Argument(
        "rows, segment embedding", "How many rows the segment table has (BERT: 2).", "1 or more", least=1, digits=6
    ),
    "segment_embedding.embedding_dim": Argument(
        "output_dim, segment embedding",
        "How many values a segment's row has.",
        "1 or more; the same as the token table's",
        least=1,
        digits=5,
    ),
    "segment_embedding.max_id": Argument(
        "max_id, segment embedding",
        "The largest segment ID that is looked up.",
        "0 or more, below the rows",
        whole=True,
    ),
}


MODELS_OWN = "The model’s own: it is shown, not edited here."


def is_of_layers(name: str) -> bool:
    """Return whether an argument says what the layers are, which in a live model is a fact."""
    return "embedding" in name.partition(".")[0]


class Switch(NamedTuple):
    """An argument that is True or False, or a table that a model has or has not."""

    text: str
    hint: str


SWITCHES = {
    "loader.shuffle": Switch("sh&uffle", "Whether the samples come in a random order."),
    "loader.drop_last": Switch("drop_l&ast", "Whether a last batch that is not full is left out."),
    "position_embedding": Switch("position table", "Whether the model has a table of absolute positions."),
    "segment_embedding": Switch("segment table", "Whether the model has a third table, for segments, as BERT has."),
}

DTYPES = ("float32", "float64", "float16", "bfloat16")
CHOICES = {
    "token_embedding.dtype": ("dtype, token embedding", "The type of the token table's values."),
    "position_embedding.dtype": ("dtype, position embedding", "The type of the position table's values."),
}

# The folded lines, a field in braces.
MORE_LINES = (
    "torch.manual_seed( {seed} ) past_length= {past_length} loader seed= {loader.seed}",
    "tok_emb padding_idx= {token_embedding.padding_idx} max_norm= {token_embedding.max_norm}"
    " dtype= {token_embedding.dtype} project_to= {token_embedding.project_to}",
    "pos_emb padding_idx= {position_embedding.padding_idx} offset= {position_embedding.offset}"
    " dtype= {position_embedding.dtype} {position_embedding}",
    "seg_emb = nn.Embedding( {segment_embedding.num_embeddings} , {segment_embedding.embedding_dim} )"
    " max_id= {segment_embedding.max_id} {segment_embedding}",
)
