"""What layers are called: the one table of names by which a checkpoint's embedding tables are found. Data, no code.

A name is what a tensor's name ends with. The order within a role is that of preference.
"""

from __future__ import annotations

TOKEN = (
    # the course, and lessons like it
    *("tok_emb.weight", "token_emb.weight", "tok_embedding.weight", "token_embedding.weight"),
    *("token_embedding_table.weight", "token_embeddings.weight", "token_embed.weight"),
    # GPT-2, nanoGPT, GPT-Neo; Llama, OPT, BART, Whisper, T5; GPT-NeoX; RWKV, Mamba
    *("wte.weight", "embed_tokens.weight", "tok_embeddings.weight", "embed_in.weight", "shared.weight"),
    # BERT, RoBERTa, DistilBERT, ALBERT, BLOOM, Megatron, ChatGLM
    "word_embeddings.weight",
    # GPT; GGUF; TransformerLens; fairseq and older translation models
    *("tokens_embed.weight", "token_embd.weight", "W_E"),
    *("src_word_emb.weight", "word_emb.weight", "word_embedding.weight"),
    *("embedding.weight", "embeddings.weight", "emb.weight", "embed.weight"),
)
POSITION = (
    *("pos_emb.weight", "pos_embedding.weight", "position_emb.weight", "position_embedding.weight"),
    *("position_embedding_table.weight", "positions_embed.weight", "wpe.weight"),
    *("position_embeddings.weight", "embed_positions.weight"),
    *("positional_embedding", "positional_embedding.weight", "position_embd.weight", "W_pos"),
    *("pos_embed.weight", "pos_embeddings.weight", "pos_emb", "pos_embed", "position_embedding", "position_embeddings"),
)
SEGMENT = (
    *("token_type_embeddings.weight", "segment_embeddings.weight", "segment_embedding.weight", "token_types.weight"),
    *("seg_emb.weight", "type_embeddings.weight"),
)
# The output layer, which has the token table's weight where the two are tied and the table itself was not saved.
HEAD = (
    *("lm_head.weight", "embed_out.weight", "out_head.weight", "output.weight", "output_layer.weight"),
    *("predictions.decoder.weight", "lm_head.decoder.weight", "head.weight"),
)
# A projection between the token table and the width of the rest (OPT-350m), stored as (wider, narrower).
PROJECTION = ("project_in.weight",)

# Put in front of every name by a wrapper around the model: distributed training, torch.compile, DeepSpeed.
WRAPPERS = ("module.", "_orig_mod.", "_forward_module.", "_fsdp_wrapped_module.")

# Parts of a model that look at something else than text.
NOT_TEXT = ("vision", "visual", "image", "audio", "patch")

# Models whose position rows start after `padding_idx`, and those that skip two rows.
AFTER_PADDING = ("roberta", "camembert", "longformer", "xlm-roberta", "mpnet", "ibert", "esm", "data2vec")
SKIP_TWO = ("opt", "bart", "mbart", "xglm", "biogpt", "plbart", "mvp", "trocr")

# A setting's names in config.json, nanoGPT's model_args, the course's dictionary and GGUF's keys.
SETTINGS = {
    "vocab_size": ("vocab_size", "n_vocab", "padded_vocab_size"),
    # ALBERT, ELECTRA and their kin add rows of a width of their own, and project the sum to hidden_size
    "width": (
        *("embedding_size", "input_embedding_size", "hidden_size"),
        *("n_embd", "d_model", "emb_dim", "dim", "embedding_length", "output_dim"),
    ),
    "token_width": ("word_embed_proj_dim",),
    "positions": (
        *("max_position_embeddings", "n_positions", "block_size", "context_length", "n_ctx"),
        *("max_target_positions", "max_seq_len"),
    ),
    "segments": ("type_vocab_size",),
    "padding": ("pad_token_id",),
    "model": ("model_type", "general.architecture"),
}
