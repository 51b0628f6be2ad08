"""A GPT-2 written out in plain torch, for experiments on memory and time of training and decoding.

Op for op what `transformers` 5.23 runs as GPT2LMHeadModel, with eager attention or scaled_dot_product_attention (SDPA),
so that `accounting.memory` describes it to the byte; dropout is 0. The names of its parameters are those of
`transformers` without the leading "transformer.".

    model = tiny_gpt.describe(layers=2, d_model=64, heads=4, vocab=512, context=128)     # needs no torch
    net = tiny_gpt.build(bench, model, attention="sdpa", recompute="full")               # an nn.Module
    tokens = tiny_gpt.tokens(bench, model, batch=4, seq=128)
    loss, logits = net(tokens, labels=tokens)

`on_meta(model)` is the same module without any memory, for counting.
"""

import math
from functools import cache
from typing import Any, NamedTuple

from course_lib.accounting import models
from course_lib.experiments.running.bench import torch_dtype


class Output(NamedTuple):
    """loss: None without labels. logits: [batch, tokens, vocabulary]."""

    loss: Any
    logits: Any


def describe(layers: int, d_model: int, heads: int, vocab: int, context: int) -> models.Transformer:
    """The description, for `accounting`, of a GPT-2 of this size."""
    return models.Transformer("small GPT-2", layers, d_model, heads, vocab, context, activation="gelu-tanh")


def build(bench, model: models.Transformer, attention="eager", recompute="none", dtype="fp32"):
    """The nn.Module that `model` describes, in training mode on the bench's device, with weights from its generator.

    attention: "eager" or "sdpa". recompute: "none", or "full": each block is checkpointed, without reentrant autograd,
    when it trains. dtype: of the weights. ValueError for a model that is not built as GPT-2 with gelu-tanh.
    """
    net = on_meta(model, attention, recompute).to(torch_dtype(bench.torch, dtype)).to_empty(device=bench.on)
    with bench.torch.no_grad():
        for name, parameter in net.named_parameters():
            if parameter.dim() == 2:
                deviation = 0.02 / math.sqrt(2 * model.layers) if name.endswith("c_proj.weight") else 0.02
                parameter.normal_(0.0, deviation, generator=bench.generator)
            else:
                parameter.fill_(1.0 if name.endswith("weight") else 0.0)
    return net


def on_meta(model: models.Transformer, attention="eager", recompute="none"):
    """The nn.Module that `model` describes on torch's meta device: shapes without numbers, so GPT-2 takes no memory and
    no time. Arguments as for `build`.
    """
    import torch

    if attention not in ("eager", "sdpa") or recompute not in ("none", "full"):
        raise ValueError(
            f"attention={attention!r} must be 'eager' or 'sdpa', recompute={recompute!r} 'none' or 'full'."
        )
    expected = describe(model.layers, model.d_model, model.heads, model.vocab, model.context)
    shape = ("activation", "norm", "positions", "gated_mlp", "qk_norm", "bias", "tied_head", "head_bias", "experts")
    differs = [name for name in shape if getattr(model, name) != getattr(expected, name)]
    if differs or model.dropout or model.kv_width != model.d_model or model.q_width != model.d_model:
        raise ValueError(
            f"{model.name} is not a GPT-2 without dropout: {', '.join(differs) or 'dropout or heads'} differ."
        )
    with torch.device("meta"):  # where torch's own layers draw no weights from the learner's random state
        return _module(torch)(model, attention, recompute)


def tokens(bench, model: models.Transformer, batch: int, seq: int):
    """Random tokens [batch, seq] on the bench's device; they serve as labels too."""
    return bench.torch.randint(model.vocab, (batch, seq), generator=bench.generator, device=bench.on)


def training_step(net, optimizer, tokens, autocast: bool = False) -> Output:
    """One step as `accounting.memory.training_peak` describes it; the caller holds what it returns.

    autocast: the forward pass under torch.autocast to bf16.
    """
    import torch

    optimizer.zero_grad(set_to_none=True)
    with torch.autocast(tokens.device.type, torch.bfloat16, enabled=autocast):
        output = net(tokens, labels=tokens)
    output.loss.backward()
    optimizer.step()
    return output


class KVCache:
    """Keys and values of all layers, in memory that is allocated once for `capacity` tokens.

    Each new token is written into its place and the rest is read in place: nothing is copied. length: tokens in it.
    """

    def __init__(self, bench, model: models.Transformer, batch: int, capacity: int, dtype="fp32"):
        shape = (batch, model.heads, capacity, model.head_width)
        self.keys, self.values = (
            [bench.empty(*shape, dtype=dtype) for _ in range(model.layers)] for _ in ("keys", "values")
        )
        self.length = 0

    @property
    def nbytes(self) -> int:
        """Bytes of its storages, for `capacity` tokens."""
        return sum(tensor.untyped_storage().nbytes() for tensor in (*self.keys, *self.values))

    def extend(self, layer: int, key, value):
        """Write the newest tokens' key and value [batch, heads, new, width]; gives those of all tokens, as views."""
        end = self.length + key.shape[2]
        if end > self.keys[layer].shape[2]:
            raise ValueError(f"The cache has room for {self.keys[layer].shape[2]} tokens, and {end} should go in.")
        for held, new in ((self.keys[layer], key), (self.values[layer], value)):
            held[:, :, self.length : end].copy_(new)
        return self.keys[layer][:, :, :end], self.values[layer][:, :, :end]


@cache
def _module(torch):
    """The class of the network; a function, so that this module needs no torch to be imported."""
    from torch.utils.checkpoint import checkpoint

    nn, F = torch.nn, torch.nn.functional

    class Conv1D(nn.Module):
        """A linear layer whose weight is [inputs, outputs]."""

        def __init__(self, inputs, outputs):
            super().__init__()
            self.weight, self.bias = (nn.Parameter(torch.empty(shape)) for shape in ((inputs, outputs), outputs))

        def forward(self, x):
            y = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
            return y.view(*x.size()[:-1], self.bias.numel())

    class Attention(nn.Module):
        def __init__(self, model, attention, layer):
            super().__init__()
            self.width, self.attention, self.layer = model.head_width, attention, layer
            self.c_attn = Conv1D(model.d_model, 3 * model.d_model)
            self.c_proj = Conv1D(model.d_model, model.d_model)

        def forward(self, x, mask, cache):
            query, key, value = (
                part.view(*part.shape[:-1], -1, self.width).transpose(1, 2)
                for part in self.c_attn(x).split(x.size(-1), dim=2)
            )
            if cache is not None:
                key, value = cache.extend(self.layer, key, value)
            scale = self.width**-0.5
            if self.attention == "sdpa":
                # Tokens that meet a cache come one at a time and see all of it: nothing to mask.
                causal = query.shape[2] > 1
                y = F.scaled_dot_product_attention(query, key, value, is_causal=causal, scale=scale)
            else:
                weights = torch.matmul(query, key.transpose(-1, -2)) * scale
                if mask is not None:
                    weights = weights + mask
                weights = F.softmax(weights, dim=-1).type(value.dtype)
                y = torch.matmul(weights, value)
            y = y.transpose(1, 2).contiguous()
            return self.c_proj(y.reshape(*y.shape[:-2], -1))

    class MLP(nn.Module):
        def __init__(self, model):
            super().__init__()
            self.c_fc = Conv1D(model.d_model, model.mlp_width)
            self.c_proj = Conv1D(model.mlp_width, model.d_model)

        def forward(self, x):
            x = self.c_fc(x)
            x = 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))
            return self.c_proj(x)

    class Block(nn.Module):
        def __init__(self, model, attention, layer):
            super().__init__()
            self.ln_1 = nn.LayerNorm(model.d_model)
            self.attn = Attention(model, attention, layer)
            self.ln_2 = nn.LayerNorm(model.d_model)
            self.mlp = MLP(model)

        def forward(self, x, mask, cache):
            x = self.attn(self.ln_1(x), mask, cache) + x
            return x + self.mlp(self.ln_2(x))

    class GPT(nn.Module):
        def __init__(self, model, attention, recompute):
            super().__init__()
            self.attention, self.recompute = attention, recompute
            self.wte = nn.Embedding(model.vocab, model.d_model)
            self.wpe = nn.Embedding(model.context, model.d_model)
            self.h = nn.ModuleList(Block(model, attention, layer) for layer in range(model.layers))
            self.ln_f = nn.LayerNorm(model.d_model)

        def forward(self, tokens, labels=None, cache=None) -> Output:
            """tokens [batch, new]; labels: the same tokens, shifted here. cache: a KVCache, which `tokens` extend: the
            whole prompt at once while it is empty, later one token of each sequence at a time.
            """
            past, new = (cache.length if cache is not None else 0), tokens.shape[1]
            if past and new > 1:
                raise ValueError(f"{new} tokens at once cannot join {past} in the cache: give one at a time.")
            positions = (torch.arange(new, device=tokens.device) + past).unsqueeze(0)
            x = self.wte(tokens) + self.wpe(positions)
            mask = self.mask(x) if self.attention == "eager" and new > 1 else None
            for block in self.h:
                if self.recompute == "full" and self.training and cache is None:
                    x = checkpoint(block, x, mask, None, use_reentrant=False)
                else:
                    x = block(x, mask, cache)
            if cache is not None:
                cache.length += new
            logits = F.linear(self.ln_f(x), self.wte.weight)
            return Output(None if labels is None else self._loss(logits, labels), logits)

        @staticmethod
        def mask(x):
            """[batch, 1, tokens, tokens]: 0 where a token may look, the lowest number where it may not."""
            batch, length = x.shape[:2]
            lowest = torch.finfo(x.dtype).min
            return torch.full((batch, 1, length, length), lowest, dtype=x.dtype, device=x.device).triu_(1)

        @staticmethod
        def _loss(logits, labels):
            logits = logits.float()
            shifted = F.pad(labels, (0, 1), value=-100)[..., 1:].contiguous()
            return F.cross_entropy(logits.view(-1, logits.size(-1)), shifted.view(-1), ignore_index=-100)

    return GPT
