"""Random inspections: a healthy one first, then a few of its values changed, most of them to a boundary.

Hypothesis draws the seed and `random` the rest: some twenty times as fast, and what fails is small by itself.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_ROWS = 256
DTYPES = ("int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64")
DTYPES += ("bool", "float32", "float16", "float64", "bfloat16", "complex64")
TABLE_DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "complex64", "float8_e4m3fn", "bool")
# Single letters and line ends, which GPT-2 encodes as IDs up to 198.
LETTERS = "ABCDEFG"


def healthy(random: Random) -> dict[str, Any]:
    """Return an inspection that torch and the rules of the verdict both have nothing against."""
    samples, columns = random.randint(1, 4), random.randint(1, 5)
    width = random.choice((1, 2, 3, 4, 8, 16))
    n_vocab = random.choice((None, random.randint(1, 40)))
    rows = random.choice((n_vocab, n_vocab + 1, n_vocab + 7)) if n_vocab else random.randint(1, 40)
    highest = (n_vocab or rows) - 1
    past, offset = random.choice((0, 0, 0, 1, 3)), random.choice((0, 0, 0, 2))
    context = offset + past + columns + random.choice((0, 0, 1, 5))
    inspection: dict[str, Any] = {
        "token_ids": [
            [random.choice((highest, random.randint(0, highest))) for _ in range(columns)] for _ in range(samples)
        ],
        "token_ids_dtype": random.choice(("int64", "int64", "int32")),
        "tokenizer": {"encoding": None, "n_vocab": n_vocab},
        "embedding_dim": random.choice((width, width, None)),
        "token_embedding": {"num_embeddings": rows, "embedding_dim": width},
        "position_embedding": {"num_embeddings": context, "embedding_dim": width, "offset": offset},
        "past_length": past,
    }
    if random.randint(0, 5) == 0:
        inspection["position_embedding"] = None
    if random.randint(0, 3) == 0:
        inspection["segment_embedding"] = {
            "num_embeddings": 2,
            "embedding_dim": width,
            "max_id": random.randint(0, 1),
        }
    if random.randint(0, 7) == 0:
        narrow = random.choice((1, 2, 5))
        inspection["token_embedding"] |= {"embedding_dim": narrow, "project_to": width}
    if random.randint(0, 5) == 0:
        inspection["positions"] = list(range(columns))
    if random.randint(0, 3) == 0:
        _from_text(random, inspection)
    return inspection


def _from_text(random: Random, inspection: dict[str, Any]) -> None:
    """Put a text and a loader in the place of the IDs."""
    del inspection["token_ids"], inspection["token_ids_dtype"]
    length, batch_size = random.randint(1, 4), random.randint(1, 4)
    stride = random.randint(1, length)
    tokens = length + (batch_size - 1) * stride + random.choice((1, 1, 2, 5))
    inspection["text"] = "\n".join(random.choices(LETTERS, k=tokens // 2 + 1))
    n_vocab = random.choice((199, 200))
    inspection["tokenizer"] = {"encoding": "gpt2", "n_vocab": n_vocab}
    inspection["token_embedding"]["num_embeddings"] = n_vocab + random.choice((0, 0, 1))
    inspection["loader"] = {
        "batch_size": batch_size,
        "max_length": length,
        "stride": stride,
        "drop_last": random.random() < 0.5,
        "shuffle": random.random() < 0.2,
        "seed": random.randint(0, 3),
    }
    inspection.pop("positions", None)
    if inspection["position_embedding"]:
        inspection["position_embedding"]["num_embeddings"] += length


def _numbers_near(inspection: dict[str, Any]) -> list[int]:
    """Return every size in an inspection, one less, and one more."""
    found = {0, 1, -1}
    for key in ("token_embedding", "position_embedding", "tokenizer"):
        found |= {v for v in (inspection[key] or {}).values() if isinstance(v, int)}
    ids = inspection.get("token_ids") or []
    found |= {len(ids), *(len(row) for row in ids if isinstance(row, list))}
    found |= {max(row) for row in ids if isinstance(row, list) and row and all(isinstance(i, int) for i in row)}
    return sorted(n for n in {n + d for n in found for d in (-1, 0, 1)} if -2 <= n <= MOST_ROWS)


def change(random: Random, inspection: dict[str, Any]) -> None:
    """Change one thing, most often to a number that stands elsewhere in the inspection, or next to one."""
    numbers: list[Any] = _numbers_near(inspection)
    token, position = inspection["token_embedding"], inspection["position_embedding"]
    ids = inspection.get("token_ids")
    samples, columns = (len(ids), len(ids[0])) if ids and isinstance(ids[0], list) else (2, 3)

    def place_an_id() -> None:
        if ids and isinstance(ids[0], list) and ids[0] and not isinstance(ids[0][0], list):
            line = random.choice(ids)
            if line:
                value = random.choice([*numbers, -100, 300, 70000, 2**31, 2**63, 2.0, 1.5])
                line[random.randrange(len(line))] = value

    def place_positions() -> None:
        shapes = ((columns,), (1, columns), (samples, columns), (1,), (1, 1), (samples, 1), (samples,), (columns + 1,))
        shapes += ((0,), (1, 1, columns), (columns - 1,), (samples + 1, columns))
        inspection["positions"] = _filled(random, random.choice(shapes), [*range(columns + 1), *numbers])

    def reshape() -> None:
        if ids and isinstance(ids[0], list):
            shape = random.choice(("list", "deeper", "ragged", "empty", "empty rows", "transposed"))
            inspection["token_ids"] = {
                "list": ids[0],
                "deeper": [ids],
                "ragged": [*ids, [0] * (columns + 1)],
                "empty": [],
                "empty rows": [[] for _ in ids],
                "transposed": [list(column) for column in zip(*ids, strict=False)],
            }[shape]

    def exchange() -> None:
        if position:
            token["num_embeddings"], position["num_embeddings"] = position["num_embeddings"], token["num_embeddings"]

    def transpose() -> None:
        layer = random.choice([token, position]) or token
        layer["num_embeddings"], layer["embedding_dim"] = layer["embedding_dim"], layer["num_embeddings"]

    def resize() -> None:
        layer = random.choice([token, position]) or token
        layer[random.choice(("num_embeddings", "embedding_dim"))] = random.choice([*numbers, 2.0])

    def set_padding() -> None:
        layer = random.choice([token, position]) or token
        rows = layer["num_embeddings"]
        if isinstance(rows, int):
            layer["padding_idx"] = random.choice((-rows - 1, -rows, -1, 0, rows - 1, rows))

    def set_loader() -> None:
        name = random.choice(("batch_size", "max_length", "stride"))
        loader = inspection.setdefault("loader", {})
        loader[name] = random.choice((-1, 0, 1, 2, 3, 4, 5, 8, 20, 2.0))

    def cut_text() -> None:
        if "text" in inspection:
            inspection["text"] = inspection["text"][: random.randint(0, 12)]

    def set_skip() -> None:
        inspection["past_length"] = random.randint(-2, 4)
        if position:
            position["offset"] = random.randint(-2, 4)

    def set_segments() -> None:
        inspection["segment_embedding"] = {
            "num_embeddings": random.randint(-1, 3),
            "embedding_dim": random.choice(numbers),
            "max_id": random.randint(-1, 3),
        }

    changes: dict[Callable[[], Any], int] = {
        resize: 4,
        place_an_id: 3,
        place_positions: 2,
        reshape: 1,
        exchange: 2,
        transpose: 2,
        set_padding: 2,
        set_loader: 2,
        cut_text: 2,
        set_skip: 2,
        set_segments: 1,
        lambda: inspection.update(token_ids_dtype=random.choice(DTYPES)): 1,
        lambda: (random.choice([token, position]) or token).update(dtype=random.choice(TABLE_DTYPES)): 1,
        lambda: inspection.update(embedding_dim=random.choice([*numbers, None])): 2,
        lambda: inspection["tokenizer"].update(n_vocab=random.choice([*numbers, None])): 2,
        lambda: inspection.update(position_embedding=None): 1,
        lambda: token.update(project_to=random.choice([*numbers, None])): 1,
        lambda: token.update(max_norm=random.choice((1.0, 0.5))): 1,
        lambda: inspection["tokenizer"].update(encoding="gpt2"): 1,
    }
    random.choices(list(changes), list(changes.values()))[0]()


def _filled(random: Random, shape: tuple[int, ...], numbers: list[int]) -> list[Any]:
    if len(shape) == 1:
        return [random.choice(numbers) for _ in range(shape[0])]
    return [_filled(random, shape[1:], numbers) for _ in range(shape[0])]


def inspection(seed: int, changes: int = 3) -> dict[str, Any]:
    """Return the keys of an inspection file, with up to so many changes to a healthy one."""
    random = Random(seed)
    made = healthy(random)
    for _ in range(random.randint(0, changes)):
        change(random, made)
    return made


def inspections(changes: int = 3) -> st.SearchStrategy[dict[str, Any]]:
    """Return random inspections."""
    return st.integers(0, 2**64 - 1).map(lambda seed: inspection(seed, changes))
