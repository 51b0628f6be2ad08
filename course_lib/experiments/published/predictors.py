"""What `accounting` says of a published figure: one short function for each kind of figure, in SI base units.

A predictor takes the figure, for the device and the dtype that it names, and the arguments that stand beside the
predictor's name in the ledger. `work` names a function of `flops`; shapes and options are passed on.
"""

import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from course_lib.accounting import (
    communication,
    economics,
    flops,
    inference,
    memory,
    models,
    parallelism,
    precision,
    roofline,
)
from course_lib.accounting.models import operations

_others = cache(lambda: tomllib.loads(Path(__file__).with_name("models.toml").read_text(encoding="utf-8")))


@cache
def model_of(name: str, **changes) -> Any:
    """A model of `models.toml`, else of the library's catalogue, with some of its fields changed."""
    if name not in _others():
        found: Any = models.load(name)
    else:
        sizes = {key: value for key, value in _others()[name].items() if key not in ("family", "origin")}
        found = (models.Encoder if "family" in _others()[name] else models.Transformer)(name, **sizes)
    return replace(found, **changes)


def model_names() -> tuple[str, ...]:
    """Names of the models that `model_of` knows: of `models.toml`, then of the library's catalogue."""
    return (*_others(), *models.names())


def _work(name: str, model: str, **shape) -> int:
    return int(getattr(flops, name)(model_of(model), 1, **shape))


def parameters(figure, model, **changes) -> int:
    """Parameters of the model."""
    return int(model_of(model, **changes).parameters())


def adapters(figure, model, rank, targets, each=1) -> int:
    """Parameters of LoRA adapters, or their bytes at `each` B."""
    return each * int(memory.lora_parameters(model_of(model), rank, targets))


def multiply_adds(figure, model, image=None) -> int:
    """Multiply-adds of one image's forward pass."""
    return flops.forward(model_of(model), 1, image=image).macs


def six_nd(figure, params, tokens) -> int:
    """FLOP of a training by 6·N·D."""
    return flops.six_nd(params, tokens)


def smaller_model(figure, params, smaller, served, law) -> int:
    """FLOP of training and serving that the smaller model saves at the loss of the larger one, best trained."""
    E, A, B, a, b = law
    tokens = (b * B / (a * A)) ** (1 / b) * params ** (a / b)
    longer = economics.tokens_for_loss(smaller, E + A / params**a + B / tokens**b, law).tokens
    large = economics.lifetime_flops(params, round(tokens), served)
    small = economics.lifetime_flops(smaller, longer, served)
    return int(large) - int(small)


def achieved(figure, model, seq, devices=1, tokens_per_second=None, batch=None, seconds=None, **options) -> float:
    """FLOP/s of one device from tokens a second or the time of a step."""
    tokens = tokens_per_second or batch * seq / seconds
    return _work("training_step", model, seq=seq, **options) / seq * tokens / devices


def utilisation(figure, rate=None, **measured) -> float:
    """MFU, with recomputation HFU, from tokens a second, the time of a step, or the FLOP/s of one device."""
    rate = rate or achieved(figure, **measured)
    return economics.mfu(flops_per_token=rate, tokens_per_second=1, device=figure.hardware, dtype=figure.dtype)


def training_time(figure, model, seq, tokens, devices=1, mfu=1.0, rate=None, **options) -> float:
    """Seconds for all tokens, at an MFU or FLOP/s of one device; without them at the peak."""
    work = round(_work("training_step", model, seq=seq, **options) / seq * tokens)
    share = rate / figure.hardware.peak(figure.dtype) if rate else mfu
    return economics.training_seconds(work, device=figure.hardware, devices=devices, mfu=share, dtype=figure.dtype)


def mean_interval(figure, days, events) -> float:
    """Seconds from one of so many events in so many days to the next, in the mean."""
    return days * 86_400 / events


def peak_rate(figure, model, work, per=1, **shape) -> float:
    """Inputs a second at the peak of one device; tokens with `per` of them in an input."""
    return per * figure.hardware.peak(figure.dtype) / _work(work, model, **shape)


def cost(figure, **hired) -> float:
    """Dollars for devices by the hour."""
    return economics.cost(**hired)


def run_cost(figure, flops, rate, price) -> float:
    """Dollars of a training of so many FLOP, at FLOP/s and dollars an hour of one device."""
    return economics.cost(price_per_hour=price, seconds=flops / rate)


def energy(figure, hours, power, pue=1.0) -> float:
    """Joules of so many device hours at `power` W, all of the data centre."""
    return economics.energy(power=power, seconds=3600 * hours, pue=pue)


def carbon(figure, kg_per_kwh, **drawn) -> float:
    """Kilograms of CO2 equivalent of the electricity of so many device hours."""
    return economics.carbon(joules=energy(figure, **drawn), kg_per_kwh=kg_per_kwh)


def pass_time(figure, model, work, **shape) -> float:
    """Seconds of one sequence's pass under the roof: its FLOP, and the weights once."""
    roof = {"device": figure.hardware, "dtype": figure.dtype}
    return roofline.place(flops=_work(work, model, **shape), bytes=_weights(model, figure.dtype), **roof).seconds


def launched_pass(figure, model, replayed, small, small_pass) -> float:
    """Seconds of a pass that the host launches call by call: its time where a recorded graph starts all of them, or its
    launches, if these take longer. What a layer's launches take comes from an eager pass of a smaller model of the same
    kind, in which they decide.
    """
    launching = small_pass * model_of(model).layers / model_of(small).layers
    host = replace(figure.hardware, call_overhead=launching)
    kernels = roofline.Op("kernels", 0, round(replayed * host.memory_bandwidth), figure.dtype)
    return roofline.predict_seconds(kernels, device=host)


def eager_rate(figure, model, batch) -> float:
    """Images a second where each call of an eager framework runs under the roof, one after another."""
    calls = operations.forward(model_of(model), batch, dtype=figure.dtype)
    return batch / roofline.predict_seconds(calls, device=figure.hardware)


def matmul_rate(figure, m, k, n) -> float:
    """FLOP/s of one matrix product under the roof."""
    return roofline.matmul(m, k, n, figure.dtype).on(figure.hardware).attainable


def _weights(model, dtype, tables=None) -> int:
    """Bytes of all weights in `dtype`; embeddings and head in that of `tables`, if it is another."""
    parts = model_of(model).parameters().parts
    apart = sum(int(parts[name]) for name in parts if name.startswith(("embedding", "head"))) if tables else 0
    return precision.nbytes(sum(map(int, parts.values())) - apart, dtype) + precision.nbytes(apart, tables or dtype)


def packed_file(figure, model, tables) -> int:
    """Bytes of a file: blocks in the figure's dtype, embedding and head each in that of `tables`."""
    net = model_of(model)
    return _weights(model, figure.dtype, tables) + precision.nbytes(net.vocab * net.d_model, tables)


def fewer_bytes(figure, model, tables, context) -> float:
    """How many times fewer bytes a token reads than in bf16: blocks in the figure's dtype, the head in `tables`."""
    kept = int(memory.kv_cache(model_of(model), 1, context, dtype="bf16"))
    return (_weights(model, "bf16") + kept) / (_weights(model, figure.dtype, tables) + kept)


def peak_activations(figure, model) -> int:
    """Bytes of activations at the worst operation of an image's pass."""
    return int(operations.peak_activations(model_of(model), dtype=figure.dtype))


def _step(figure, net, link=None, **how):
    rate = figure.hardware.link(link) if link else None
    return inference.decode_step(net, device=figure.hardware, weight_dtype=figure.dtype, link=rate, **how)


def decode_rate(figure, model, batch=1, compute_dtype="fp16", **how) -> float:
    """Tokens a second of the whole batch where a step reads weights and cache at the data sheet's bandwidth."""
    return _step(figure, model_of(model), batch=batch, compute_dtype=compute_dtype, **how).tokens_per_second


def decode_time(figure, model, batch=1, compute_dtype="fp16", **how) -> float:
    """Seconds of a step that reads weights and cache at the data sheet's bandwidth."""
    return _step(figure, model_of(model), batch=batch, compute_dtype=compute_dtype, **how).seconds


def decode_traffic(figure, model, context, tokens_per_second) -> float:
    """B/s that one sequence reads: weights and cache for each token."""
    step = _step(figure, model_of(model), batch=1, context=context)
    return (step.weight_bytes + step.kv_bytes) * tokens_per_second


def serving_rate(figure, model, input_tokens, output_tokens, devices=1) -> float:
    """Output tokens a second without waiting: the slower of prefill at the peak and decode with the largest batch.

    The two overlap, as in an engine that mixes them in a step. Weights and cache are of the figure's dtype and fit. A
    request holds on average its prompt and half of its answer.
    """
    dtype, context = figure.dtype, input_tokens + output_tokens // 2
    net, shared = model_of(model, context=input_tokens + output_tokens), {"devices": devices, "compute_dtype": dtype}
    room = devices * figure.hardware.memory_capacity - _weights(model, dtype)
    batch = room // int(memory.kv_cache(net, 1, context, dtype=dtype))
    prompt = inference.prefill(net, batch=1, tokens=input_tokens, device=figure.hardware, mfu=1.0, **shared)
    step = _step(figure, net, batch=batch, context=context, kv_dtype=dtype, **shared)
    return batch * output_tokens / max(batch * prompt.seconds, output_tokens * step.seconds)


def model_state(figure, recipe, params=None, model=None, parts=None, per=1, **sharding) -> float:
    """Bytes of model state on one rank, all of it or some `parts`; for each of `per` parameters."""
    state = memory.model_state(params or model_of(model).parameters(), recipe, **sharding)
    return sum(state[part] for part in parts or state.parts) / per


def held(figure, model, tokens, batch=1, cache="bf16", weights=True, tables=None) -> int:
    """Bytes of keys and values, and of all weights in the figure's dtype."""
    kept = int(memory.kv_cache(model_of(model), batch, tokens, dtype=cache))
    return kept + (_weights(model, figure.dtype, tables) if weights else 0)


def serving_fits(figure, devices=1, **what) -> bool:
    """Whether weights and cache fit into the devices."""
    return held(figure, **what) <= devices * figure.hardware.memory_capacity


def activations(figure, model, batch, seq, per=1, fused_loss=False, gelu=True) -> float:
    """Bytes that autograd keeps of a step in bf16, and of the logits; with `per` those of one layer, over so many.

    gelu=False: the activation of the MLP is recomputed from its input.
    """
    net = model_of(model)
    kept = memory.activations(net, batch, seq, precision="bf16", attention="sdpa", fused_loss=fused_loss)
    if per > 1:
        return int(kept["layer"]) / per
    logits = 0 if fused_loss else 2 * batch * seq * net.vocab
    return int(kept) + logits - (0 if gelu else 2 * batch * seq * net.mlp_width * net.layers)


def finetuning(figure, model, recipe, rank, targets, batch, seq) -> float:
    """Bytes of LoRA fine-tuning: frozen weights, state of the adapters, activations as if all were trained."""
    state = memory.model_state(model_of(model).parameters(), recipe)
    state += memory.model_state(memory.lora_parameters(model_of(model), rank, targets), "mixed-adamw")
    return int(state) + activations(figure, model, batch, seq)


def rank_memory(figure, model, batch, seq, recipe, **plan) -> int:
    """Bytes of the fullest rank at the peak of a step, with every block recomputed: no less will do."""
    layout = parallelism.Plan(**plan)
    return int(parallelism.rank_memory(model_of(model), layout, batch=batch, seq=seq, recipe=recipe, recompute="full"))


def training_fits(figure, model, batch, seq) -> bool:
    """Whether the peak of a training step in fp32 fits into the device."""
    peak = memory.training_peak(model_of(model), batch, seq, precision="fp32", attention="eager")
    return int(peak) <= figure.hardware.memory_capacity


def bus_bandwidth(figure, nbytes, op="all_reduce", link=None, sweep=None, **group) -> float:
    """B/s of a collective as NCCL's tests count: what a rank of a ring would send, over the time that it takes.

    link: that of the device, at its data sheet's rate. sweep: a published one, to which latency and bandwidth are
    fitted without its row of this size.
    """
    if link:
        group["bandwidth"] = figure.hardware.link(link)
    if sweep:
        fit = communication.fitted(sweep, without=nbytes)
        group = {"ranks": fit.ranks, "algorithm": fit.algorithm} | group | fit.link(nbytes)
    n = group["ranks"] if "ranks" in group else group["ranks_per_node"] * group["nodes"]
    sent = (2 if op.endswith("all_reduce") else 1) * nbytes * (n - 1) / n
    return sent / getattr(communication, op)(nbytes=nbytes, **group).seconds


def link_rate(figure, link) -> float:
    """B/s of a link, one way."""
    return figure.hardware.link(link)
