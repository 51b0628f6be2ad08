"""The transformers model of an `accounting` shape, for benchmarks and tests that compare with what it runs."""

import dataclasses

from course_lib.accounting import models


def llama_like(name: str, **sizes) -> models.Transformer:
    """A decoder with the parts of Llama 3 (gated SiLU, RMSNorm, rotary, no biases, own head) and other sizes."""
    return dataclasses.replace(models.load("llama3-8b"), name=name, **sizes)


def transformers_model(shape: models.Transformer, attention: str):
    """GPT2LMHeadModel where the shape has learned positions, LlamaForCausalLM elsewhere; random weights, no dropout.

    `attention` is "eager" or "sdpa".
    """
    from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

    if shape.positions == "learned":
        config = GPT2Config(
            n_layer=shape.layers,
            n_embd=shape.d_model,
            n_head=shape.heads,
            vocab_size=shape.vocab,
            n_positions=shape.context,
            attn_implementation=attention,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
        )
        return GPT2LMHeadModel(config)
    config = LlamaConfig(
        num_hidden_layers=shape.layers,
        hidden_size=shape.d_model,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        intermediate_size=shape.d_ff,
        vocab_size=shape.vocab,
        max_position_embeddings=shape.context,
        attn_implementation=attention,
        tie_word_embeddings=shape.tied_head,
    )
    return LlamaForCausalLM(config)
