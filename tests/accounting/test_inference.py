"""Decode, prefill and speculative decoding against sums by hand, a queue of reads and every outcome of a draft."""

import random
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.accounting import hardware, inference, models
from course_lib.accounting.models import Transformer

pytestmark = pytest.mark.filterwarnings("ignore:tokens=:UserWarning")  # the small model has a small context

# a byte costs 1 ps, a FLOP half a ps
DEVICE = hardware.Device(
    id="by-hand",
    name="Made for the test",
    kind="gpu",
    peaks={"bf16": 2e12, "int8": 4e12},
    memory_bandwidth=1e12,
    memory_capacity=10**6,
)
PS = 1e-12


def tiny(**changes):
    """2 layers of width 8 with 2 key heads of width 2: 8·10 + 2·(8·(8 + 2·4) + 8·8 + 3·8·20 + 2·8) + 8 parameters."""
    sizes = {"layers": 2, "d_model": 8, "heads": 4, "kv_heads": 2, "vocab": 10, "context": 64, "d_ff": 20}
    rest = {"gated_mlp": True, "bias": False, "norm": "rmsnorm", "positions": "rotary"}
    return Transformer("tiny", **(sizes | rest | changes))


PARAMETERS = 80 + 2 * (128 + 64 + 480 + 16) + 8  # 1464


def step(model=None, **changes):
    return inference.decode_step(model or tiny(), **{"batch": 1, "context": 16, "device": DEVICE, **changes})


def test_one_sequence_waits_for_memory():
    result = step()
    assert result.weight_bytes == 2 * PARAMETERS
    assert result.kv_bytes == 16 * (2 * 2 * 4) * 2  # tokens · (keys and values · layers · width) · bytes
    assert result.seconds == pytest.approx((2 * PARAMETERS + 512) * PS)
    assert result.tokens_per_second == pytest.approx(1 / result.seconds)
    assert (result.bound, result.fits) == ("memory", True)


def test_a_large_batch_waits_for_compute():
    result = step(batch=5, context=1)
    assert result.seconds == pytest.approx((5 * 32 + 5 * PARAMETERS) * PS)
    assert result.tokens_per_second == pytest.approx(5 / result.seconds)
    assert result.bound == "compute"


def test_a_long_cache_is_memory_even_where_the_products_are_compute():
    # at batch 4 the products compute for 4·1464 ps and read for 2·1464 ps; 4·200 tokens of cache take 25 600 ps
    assert step(batch=4, context=1).bound == "compute"
    assert step(batch=4, context=200).bound == "memory"
    assert step(batch=2, context=1).bound == "compute"  # both take 2·1464 ps: compute, as at the ridge


def test_number_formats_of_weights_cache_and_arithmetic():
    result = step(batch=4, weight_dtype="int4", kv_dtype="fp8", compute_dtype="int8")
    assert result.weight_bytes == PARAMETERS / 2
    assert result.kv_bytes == 4 * 16 * 16
    assert result.seconds == pytest.approx((4 * 16 * 16 + 4 * PARAMETERS / 2) * PS)


def test_a_mixture_reads_all_experts_and_computes_with_the_active_ones():
    # a second expert of 480 and a router of 8·2 in each layer; one of them computes
    mixture = tiny(experts=2, active_experts=1)
    read, met = PARAMETERS + 2 * (480 + 16), PARAMETERS + 2 * 16
    one, many = step(mixture, context=1), step(mixture, batch=100, context=1)
    assert one.weight_bytes == 2 * read
    assert one.seconds == pytest.approx((2 * read + 32) * PS)
    assert many.seconds == pytest.approx((100 * 32 + 100 * met) * PS)
    assert any("mixture" in sentence for sentence in one.omitted)
    assert not any("mixture" in sentence for sentence in step().omitted)


def test_devices_share_everything_and_the_model_must_fit():
    alone, four = step(batch=3), step(batch=3, devices=4)
    assert four.seconds == pytest.approx(alone.seconds / 4)
    assert (four.weight_bytes, four.kv_bytes) == (alone.weight_bytes, alone.kv_bytes)
    assert any("Communication" in sentence for sentence in four.omitted)
    # room for the weights and 40 000 tokens of 32 bytes
    full = replace(DEVICE, memory_capacity=2 * PARAMETERS + 32 * 40_000)
    assert step(context=40_000, device=full).fits
    assert not step(context=40_001, device=full).fits
    assert step(context=40_001, device=full, devices=2).fits


@given(batch=st.integers(1, 1000), context=st.integers(1, 10_000))
def test_a_larger_batch_takes_longer_but_serves_more(batch, context):
    one, two = (step(batch=b, context=context) for b in (batch, 2 * batch))
    assert one.seconds < two.seconds
    assert two.tokens_per_second >= one.tokens_per_second * (1 - 1e-9)


def test_prefill_takes_the_forward_pass_at_the_rate_that_is_reached():
    # 3 prompts of 5 tokens: weights of 2·(128 + 64 + 480) and the head of 80 at each token, 5² pairs twice 2·8 FLOP
    work = 2 * 3 * 5 * (2 * (128 + 64 + 480) + 80) + 2 * 3 * 2 * (2 * 25 * 8)
    result = inference.prefill(tiny(), batch=3, tokens=5, device=DEVICE, devices=2, mfu=0.4)
    assert result.flops == work
    assert result.seconds == pytest.approx(work / (2 * 0.4) * PS / 2)
    assert result.tokens_per_second == pytest.approx(15 / result.seconds)
    int8 = inference.prefill(tiny(), batch=3, tokens=5, device=DEVICE, devices=2, mfu=0.4, compute_dtype="int8")
    assert int8.seconds == pytest.approx(result.seconds / 2)
    alone = inference.prefill(tiny(), batch=3, tokens=5, device=DEVICE, mfu=0.4)
    assert alone.seconds == pytest.approx(2 * result.seconds)
    assert any("Communication" in sentence for sentence in result.omitted)


# ---------------------------------------------------------------- speculative decoding


def mean_tokens(acceptance, drafted):
    """Tokens of a round, summed over every outcome of every draft token."""
    total = 0.0
    for outcome in product((True, False), repeat=drafted):
        probability = 1.0
        for accepted in outcome:
            probability *= acceptance if accepted else 1 - acceptance
        prefix = outcome.index(False) if False in outcome else drafted
        total += probability * (prefix + 1)  # and one of the large model's own
    return total


@pytest.mark.parametrize("acceptance", [0.0, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("drafted", [0, 1, 4, 8])
def test_speculative_speedup_is_the_mean_over_every_outcome(acceptance, drafted):
    speedup = inference.speculative_speedup(acceptance=acceptance, draft_tokens=drafted, cost_ratio=0.1)
    assert speedup == pytest.approx(mean_tokens(acceptance, drafted) / (1 + 0.1 * drafted))


def test_speculative_speedup_of_a_long_simulated_run():
    draw, tokens, time = random.Random(0), 0, 0.0
    while tokens < 200_000:
        accepted = 0
        while accepted < 5 and draw.random() < 0.7:
            accepted += 1
        tokens += accepted + 1
        time += 5 * 0.05 + 1
    claimed = inference.speculative_speedup(acceptance=0.7, draft_tokens=5, cost_ratio=0.05)
    assert claimed == pytest.approx(tokens / time, rel=0.01)


def test_speculation_that_never_succeeds_costs_time():
    assert inference.speculative_speedup(acceptance=0, draft_tokens=4, cost_ratio=0.25) == 0.5
    assert inference.speculative_speedup(acceptance=0.9, draft_tokens=0, cost_ratio=0.25) == 1


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: step(batch=0), ["batch=0"]),
        (lambda: step(context=2.5), ["context=2.5", "whole number"]),
        (lambda: step(devices=0), ["devices=0"]),
        (lambda: step(weight_dtype="bf17"), ["'bf17'", "Did you mean 'bf16'"]),
        (lambda: step(compute_dtype="fp32"), ["dtype='fp32'", "by-hand"]),
        (lambda: step("gpt-2"), ["model='gpt-2'", "gpt2"]),
        (lambda: step(models.load("vit-b16")), ["models.Transformer", "language model"]),
        (lambda: step(models.load("gpt2"), context=1025), ["context=1025", "context=1024", "gpt2"]),
        (lambda: step(device="h100"), ["device='h100'", "h100-sxm"]),
        (lambda: step(device=replace(DEVICE, memory_bandwidth=3350)), ["memory_bandwidth=3350", "looks like GB/s"]),
        (lambda: inference.prefill(tiny(), batch=1, tokens=8, device=DEVICE, mfu=40), ["mfu=40", "40 % is 0.4"]),
        (lambda: inference.prefill(tiny(), batch=1, tokens=8, device=DEVICE, mfu=0), ["mfu=0"]),
        (lambda: inference.prefill(tiny(), batch=1, tokens=0, device=DEVICE, mfu=0.4), ["tokens=0"]),
        (
            lambda: inference.prefill(models.load("gpt2"), batch=1, tokens=1025, device=DEVICE, mfu=0.4),
            ["tokens=1025", "context=1024"],
        ),
        (lambda: inference.prefill(2, batch=1, tokens=8, device=DEVICE, mfu=0.4), ["model=2"]),
        (
            lambda: inference.speculative_speedup(acceptance=80, draft_tokens=4, cost_ratio=0.1),
            ["acceptance=80", "40 % is 0.4"],
        ),
        (lambda: inference.speculative_speedup(acceptance=0.8, draft_tokens=-1, cost_ratio=0.1), ["draft_tokens=-1"]),
        (lambda: inference.speculative_speedup(acceptance=0.8, draft_tokens=4, cost_ratio=10), ["cost_ratio=10"]),
    ],
)
def test_bad_input(call, says, refuses):
    refuses(call, says)
