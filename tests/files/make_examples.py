"""Write the small checkpoints in resources/examples that the file faults' own examples open.

Run it after changing them: python tests/files/make_examples.py
"""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import save_file

FOLDER = Path(__file__).resolve().parents[2] / "resources" / "examples"
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 548105171\n"


def packed(values: torch.Tensor) -> torch.Tensor:
    """Return 4-bit values, (rows, 8 n), packed eight to a word, low bits first: (rows, n)."""
    words = torch.zeros(values.shape[0], values.shape[1] // 8, dtype=torch.int64)
    for place in range(8):
        words |= values[:, place::8] << (4 * place)
    return words.to(torch.uint32)


def main() -> None:
    """Write them all, the same every time."""
    FOLDER.mkdir(exist_ok=True)
    generator = torch.Generator().manual_seed(123)

    def table(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator)

    save_file({"wte.weight": table(8, 4), "wpe.weight": table(4, 4)}, FOLDER / "tables.safetensors")
    save_file({"model.embed_tokens.weight": table(8, 4)}, FOLDER / "no-positions.safetensors")
    save_file({"wte.weight": table(4, 8), "wpe.weight": table(3, 4)}, FOLDER / "transposed.safetensors")
    save_file({"wte.weight": torch.zeros(0), "wpe.weight": torch.zeros(0)}, FOLDER / "partitioned.safetensors")
    save_file({"lm_head.weight": table(8, 4)}, FOLDER / "tied.safetensors")
    wrapped = {"_orig_mod.tok_emb.weight": table(8, 4), "_orig_mod.pos_emb.weight": table(4, 4)}
    save_file(wrapped, FOLDER / "wrapped.safetensors")
    quantised = {
        "model.embed_tokens.weight": packed(torch.arange(8 * 32).reshape(8, 32) % 16),
        "model.embed_tokens.scales": torch.full((8, 1), 0.25, dtype=torch.bfloat16),
        "model.embed_tokens.biases": torch.full((8, 1), -2.0, dtype=torch.bfloat16),
    }
    folder = FOLDER / "quantised"
    folder.mkdir(exist_ok=True)
    save_file(quantised, folder / "model.safetensors")
    (folder / "config.json").write_text('{"quantization": {"group_size": 32, "bits": 4}}\n')
    for name, row, value in (("wte", 2, "nan"), ("wpe", 3, "inf")):
        broken = {"wte.weight": table(8, 4), "wpe.weight": table(4, 4)}
        broken[f"{name}.weight"][row, 1] = float(value)
        save_file(broken, FOLDER / f"not-finite-{name}.safetensors")
    whole = (FOLDER / "tables.safetensors").read_bytes()
    (FOLDER / "truncated.safetensors").write_bytes(whole[:-100])
    (FOLDER / "pointer.safetensors").write_text(POINTER.format("0" * 64))
    torch.save(torch.nn.Embedding(2, 2), FOLDER / "code.pt")  # the layer, not its weights: opening it needs code


if __name__ == "__main__":
    main()
