"""Errors teach: each names the argument, its value, what is allowed and the likely mistake."""

from dataclasses import replace

import pytest

from course_lib.accounting import (
    economics,
    flops,
    hardware,
    inference,
    memory,
    models,
    parallelism,
    precision,
    roofline,
    units,
)
from course_lib.accounting.models import Transformer, operations

GPT2, H100 = models.load("gpt2"), hardware.load("h100-sxm")


def small(**changes):
    return Transformer(**({"name": "m", "layers": 2, "d_model": 8, "heads": 4, "vocab": 10, "context": 16} | changes))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        # units
        (lambda: replace(H100, memory_bandwidth=900), ["memory_bandwidth=900", "looks like GB/s", "takes B/s"]),
        (lambda: replace(H100, memory_bandwidth=3.35), ["memory_bandwidth=3.35", "3.35e12"]),
        (lambda: replace(H100, memory_bandwidth=0), ["memory_bandwidth=0", "more than zero"]),
        (lambda: replace(H100, memory_bandwidth="fast"), ["memory_bandwidth='fast'", "finite number"]),
        (lambda: replace(H100, peaks={"bf16": 989}), ["peaks['bf16']=989", "looks like TFLOP/s", "takes FLOP/s"]),
        (lambda: replace(H100, peaks={}), ["peaks={}", "dtype"]),
        (lambda: replace(H100, peaks={"bf61": 1e12}), ["peaks='bf61'", "'bf16'"]),
        (lambda: replace(H100, memory_capacity=80), ["memory_capacity=80", "looks like GB", "takes bytes"]),
        (lambda: replace(H100, call_overhead=5), ["call_overhead=5", "looks like µs", "takes seconds"]),
        (lambda: replace(H100, call_overhead=-1e-6), ["call_overhead=-1e-06", "zero or more"]),
        (lambda: replace(H100, kind="fpga"), ["kind='fpga'", "gpu, cpu, tpu, npu"]),
        (lambda: units.fraction(40, "fraction"), ["fraction=40", "between 0 and 1", "40 % is 0.4"]),
        (lambda: units.fraction(-0.1, "fraction"), ["fraction=-0.1"]),
        (lambda: units.count(float("inf"), "n"), ["n=inf"]),
        (lambda: units.count(True, "n"), ["n=True"]),
        (lambda: units.count("7", "n"), ["n='7'"]),
        (lambda: units.count(None, "n"), ["n=None"]),
        # devices and dtypes
        (lambda: hardware.load("h100"), ["device='h100'", "Did you mean 'h100-sxm'", "a100-40-sxm"]),
        (lambda: roofline.ridge_point(7, "bf16"), ["device=7", "hardware.Device"]),
        (lambda: roofline.ridge_point("v100-sxm2", "bf16"), ["dtype='bf16'", "v100-sxm2", "fp32, fp16"]),
        (lambda: precision.normalise("bf17"), ["dtype='bf17'", "Did you mean 'bf16'", "fp32, tf32"]),
        (lambda: precision.quantized([], 4), ["values is empty"]),
        (lambda: precision.quantized([[1.0, 2.0]], 4), ["values holds [1.0, 2.0]", "row by row"]),
        (lambda: precision.quantized([1.0, float("nan")], 4), ["values holds nan", "finite"]),
        (lambda: precision.quantized([1.0], 1), ["bits=1", "at least 2"]),
        (lambda: precision.quantized([1.0], 32), ["bits=32", "between 2 and 16"]),
        # roofline
        (lambda: roofline.place(flops=1.5, bytes=1, device=H100, dtype="bf16"), ["flops=1.5", "whole number"]),
        (lambda: roofline.place(flops=1, bytes=0, device=H100, dtype="bf16"), ["bytes=0", "at least 1"]),
        (lambda: roofline.Op("x", flops=-1, bytes=1), ["flops=-1"]),
        (lambda: roofline.Op("x", flops=1, bytes=1, calls=0), ["calls=0"]),
        (lambda: roofline.predict_seconds(3, device=H100), ["ops=3", "roofline.Op"]),
        (lambda: roofline.predict_seconds([3], device=H100), ["3", "roofline.Op"]),
        (lambda: roofline.predict_seconds([], device=H100, launches="async"), ["launches", "'async'", "ahead"]),
        (lambda: roofline.matmul(0, 1, 1), ["m=0"]),
        (lambda: roofline.elementwise(10, reads=0, writes=0), ["bytes=0"]),
        # flops
        (lambda: flops.matmul(2, 2.5, 2), ["k=2.5", "whole number"]),
        (lambda: flops.matmul(2, 2, -1), ["n=-1", "at least 1"]),
        (
            lambda: flops.conv2d(in_channels=3, out_channels=64, kernel=3, out_height=8, out_width=8, groups=2),
            ["groups=2", "in_channels=3"],
        ),
        (
            lambda: flops.conv2d(in_channels=4, out_channels=6, kernel=3, out_height=8, out_width=8, groups=4),
            ["groups=4", "out_channels=6"],
        ),
        (
            lambda: flops.conv2d(in_channels=3, out_channels=6, kernel=(3, 3, 3), out_height=8, out_width=8),
            ["kernel=(3, 3, 3)", "pair"],
        ),
        (lambda: flops.forward("gpt-2"), ["model='gpt-2'", "Did you mean 'gpt2"]),
        (lambda: flops.forward(2), ["model=2", "models.load"]),
        (lambda: flops.forward(GPT2, seq=2048), ["seq=2048", "context=1024", "gpt2"]),
        (lambda: flops.forward(GPT2, batch=0), ["batch=0"]),
        (lambda: flops.training_step(GPT2, 1, 1024, recompute="half"), ["recompute='half'", "none, selective, full"]),
        (lambda: flops.forward(GPT2, 2, 8, documents=[8, 7]), ["documents=[8, 7]", "seq=8", "16 together"]),
        (lambda: flops.forward(GPT2, 2, 8, documents=[9, 7]), ["documents=[9, 7]", "at most seq=8"]),
        (lambda: flops.forward(GPT2, 2, 8, documents=16), ["documents=16", "lengths"]),
        (lambda: flops.forward(GPT2, 1, 8, documents=[8, 0]), ["documents=0"]),
        (lambda: flops.forward("vit-b16", 1, documents=[197]), ["documents=[197]", "vit-b16 reads images"]),
        (lambda: flops.forward("resnet-50", 1, documents=[1]), ["documents=[1]", "resnet-50 reads images"]),
        (lambda: flops.training_step(GPT2, 1, 8, lora=8), ["lora=8", "{'rank': 8}"]),
        (lambda: flops.training_step(GPT2, 1, 8, lora={}), ["lora={}", "memory.lora_parameters"]),
        (lambda: flops.training_step(GPT2, 1, 8, frozen=13), ["frozen=13", "12 blocks"]),
        (lambda: flops.training_step("vit-b16", 1, frozen=1), ["vit-b16", "language model"]),
        (lambda: flops.training_step(GPT2, 1, 8, frozen=1, lora={"rank": 1}), ["frozen=1", "all weights are frozen"]),
        (lambda: flops.training_step(GPT2, 1, 8, lora={"rank": 1, "targets": "gate"}), ["'gate'", "gpt2"]),
        (lambda: flops.training_step("mamba2-130m", 1, 8, lora={"rank": 1}), ["'q'", "mamba2-130m"]),
        (lambda: memory.activations("vit-b16", fused_loss=True), ["fused_loss=True", "language model"]),
        (lambda: memory.activations(GPT2, fused_loss=True, convention="megatron"), ["fused_loss=True", "torch"]),
        # models
        (lambda: models.load("llama3-7b"), ["model='llama3-7b'", "Did you mean 'llama", "gpt2"]),
        (lambda: models.source("gpt5"), ["model='gpt5'"]),
        (lambda: small(heads=3), ["heads=3", "d_model=8", "head_dim"]),
        (lambda: small(kv_heads=3), ["kv_heads=3", "heads=4"]),
        (lambda: small(layers=0), ["layers=0"]),
        (lambda: small(d_ff=2.5), ["d_ff=2.5"]),
        (lambda: small(head_dim=0), ["head_dim=0"]),
        (lambda: small(experts=2, active_experts=3), ["active_experts=3", "experts=2"]),
        (lambda: small(norm="batchnorm"), ["norm='batchnorm'", "layernorm, rmsnorm"]),
        (lambda: small(positions="sinus"), ["positions='sinus'", "learned, rotary"]),
        (lambda: small(activation="swish"), ["activation='swish'", "relu, gelu, gelu-tanh, silu"]),
        (lambda: small(dropout=1.5), ["dropout=1.5", "between 0 and 1"]),
    ],
)
def test_the_message_names_argument_value_and_remedy(call, says, refuses):
    refuses(call, says)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: flops.forward(GPT2, sequence=8), "forward.*knows no sequence=.*Did you mean 'seq'"),
        (lambda: replace(GPT2, n_layers=8), "Transformer.*knows no n_layers=.*Did you mean 'layers'"),
        (lambda: parallelism.Plan(tensors=2), "Plan.*knows no tensors=.*Did you mean 'tensor'"),
        (lambda: roofline.place(flop=1, bytes=1, device=H100, dtype="bf16"), "place.*no flop=.*mean 'flops'"),
        (lambda: memory.kv_cache(GPT2, 1, 8, "bf16", pages=2), "kv_cache.*no pages=.*It takes model, batch, tokens"),
        (lambda: small(**{"zzz": 1}), "knows no zzz=. It takes name, layers"),
    ],
)
def test_an_unknown_keyword_is_told_the_nearest(call, says):
    with pytest.raises(TypeError, match=says):
        call()


def test_a_call_without_an_argument_fails_as_in_any_function():
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'model'"):
        flops.forward()


CALLS = {
    "forward": lambda model: flops.forward(model, seq=8),
    "training_step": lambda model: flops.training_step(model, 1, 8),
    "activations": lambda model: memory.activations(model, seq=8),
    "training_peak": lambda model: memory.training_peak(model, seq=8),
    "accumulated_peak": lambda model: memory.accumulated_peak(model, 2, 2, seq=8),
    "kv_cache": lambda model: memory.kv_cache(model, tokens=8),
    "lora_parameters": lambda model: memory.lora_parameters(model, 8),
    "decode_step": lambda model: inference.decode_step(model, batch=1, context=8, device=H100),
    "prefill": lambda model: inference.prefill(model, batch=1, tokens=8, device=H100, mfu=0.5),
    "rank_parameters": lambda model: parallelism.rank_parameters(model, parallelism.Plan()),
    "rank_memory": lambda model: parallelism.rank_memory(model, parallelism.Plan(), batch=1, seq=8),
    "traffic": lambda model: parallelism.traffic(model, parallelism.Plan(data=2), batch=2, seq=8),
    "mfu": lambda model: economics.mfu(model, tokens_per_second=9, device=H100, seq=8),
    "hfu": lambda model: economics.hfu(model, tokens_per_second=9, device=H100, seq=8),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_model_is_given_by_its_name_or_as_it_is(name, refuses):
    assert CALLS[name]("gpt2") == CALLS[name](GPT2)
    refuses(lambda: CALLS[name]("gpt-2"), ["model='gpt-2' is not known", "Did you mean 'gpt2"])


def test_the_operations_of_an_image_model_are_given_by_its_name():
    assert operations.forward("resnet-18") == operations.forward(models.load("resnet-18"))


def test_integral_floats_convert_exactly():
    assert units.count(70e9, "params") == 70_000_000_000
    assert flops.six_nd(70e9, 15e12) == 6 * 70 * 15 * 10**21
    assert flops.forward(GPT2, batch=2.0, seq=8.0) == flops.forward(GPT2, batch=2, seq=8)
    assert small(d_model=8.0) == small()


def test_heads_need_not_divide_the_width_when_a_head_has_its_own_width():
    assert small(heads=3, head_dim=4).q_width == 12
