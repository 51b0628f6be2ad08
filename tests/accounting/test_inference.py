"""Decode, prefill and speculative decoding against sums by hand, a queue of reads and every outcome of a draft."""

import random
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

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
    one, many = (step(mixture, batch=batch, context=1, reads="all") for batch in (1, 100))
    assert one.weight_bytes == 2 * read
    assert one.seconds == pytest.approx((2 * read + 32) * PS)
    assert many.seconds == pytest.approx((100 * 32 + 100 * met) * PS)
    assert any("mixture" in sentence for sentence in one.omitted)
    assert not any("mixture" in sentence for sentence in step().omitted)


def mean_touched(experts, active, batch):
    """Experts that at least one of `batch` tokens uses, in the mean over every choice that the router can make."""
    choices = list(combinations(range(experts), active))
    routings = product(choices, repeat=batch)
    return Fraction(sum(len(set().union(*routing)) for routing in routings), len(choices) ** batch)


@pytest.mark.parametrize(
    ("experts", "active", "batch"), [(8, 2, 1), (8, 2, 2), (5, 2, 4), (4, 1, 5), (6, 5, 3), (3, 3, 2), (160, 1, 1)]
)
def test_a_batch_touches_as_many_experts_as_all_routings_do_in_the_mean(experts, active, batch):
    mixture = tiny(experts=experts, active_experts=active)
    result = step(mixture, batch=batch, context=1)
    outside = PARAMETERS + 2 * (8 * experts - 480)
    touched = mean_touched(experts, active, batch)
    assert result.weight_bytes == 2 * (outside + 2 * round(480 * touched))
    assert any("Uniform routing" in sentence for sentence in result.assumptions) == (active < experts)
    assert not any("Uniform" in sentence for sentence in step().assumptions)


def test_a_large_batch_touches_all_experts_and_memory_holds_them_all_the_time():
    mixture = tiny(experts=1000, active_experts=2)
    whole = 2 * int(mixture.parameters())
    assert step(mixture, batch=100_000, context=1).weight_bytes == whole
    assert step(mixture, batch=1, context=1).weight_bytes < whole / 2
    full = replace(DEVICE, memory_capacity=whole + 32)
    assert step(mixture, context=1, device=full).fits
    assert not step(mixture, context=2, device=full).fits


def test_a_step_reads_one_row_a_sequence_of_what_is_looked_up():
    untied = tiny(tied_head=False, vocab=50)
    blocks, head = PARAMETERS - 80, 50 * 8
    assert step(untied, batch=3).weight_bytes == 2 * (blocks + head + 3 * 8)
    assert step(untied, batch=100).weight_bytes == 2 * (blocks + head + 50 * 8)  # never more than the table has
    assert step(untied, reads="all").weight_bytes == 2 * (blocks + 2 * head)
    assert step().weight_bytes == step(reads="all").weight_bytes  # a tied table is what the head reads
    learned = tiny(positions="learned")
    assert step(learned, batch=3).weight_bytes == 2 * (PARAMETERS + 3 * 8)
    assert step(learned, batch=3, reads="all").weight_bytes == 2 * (PARAMETERS + 64 * 8)


def test_layers_on_several_devices_work_one_after_the_other():
    alone, four = step(batch=3), step(batch=3, devices=4, split="layers")
    assert four.seconds == alone.seconds
    assert not step(context=40_000, split="layers").fits
    assert step(context=40_000, devices=4, split="layers").fits
    # three hand-overs of 3 sequences of 8 numbers of 2 bytes, at 1 MB/s, after 5 µs each
    sent = step(batch=3, devices=4, split="layers", link=1e6, link_latency=5e-6)
    assert sent.seconds == pytest.approx(alone.seconds + 3 * (5e-6 + 48e-6))


def test_tensor_parallel_devices_add_up_after_attention_and_after_the_mlp():
    four, sent = (step(batch=3, devices=4, **link) for link in ({}, {"link": 1e6, "link_latency": 5e-6}))
    # in each of 2 layers twice a ring of 2·(4 - 1) messages, each a quarter of 48 bytes
    assert sent.seconds == pytest.approx(four.seconds + 2 * 2 * 6 * (5e-6 + 12e-6))
    assert sent.tokens_per_second == pytest.approx(3 / sent.seconds)
    assert not any("Communication" in sentence for sentence in sent.omitted)
    full = step(batch=3, devices=4, link=1e6, algorithm="ring-full")  # 3 messages of 48 bytes
    assert full.seconds == pytest.approx(four.seconds + 4 * 3 * 48e-6)
    assert step(link=1e6).seconds == step().seconds  # alone
    side_by_side = [step(tiny(block_norms=1), devices=4, **link) for link in ({}, {"link": 1e6})]  # one sum a layer
    assert side_by_side[1].seconds == pytest.approx(side_by_side[0].seconds + 2 * 6 * 4e-6)


# ---------------------------------------------------------------- what others measured

GPT_FAST = "pytorch-labs/gpt-fast, README.md, benchmarks on A100-80GB, batch 1, prompt of 5, 200 new tokens, 2024"
LLAMA_CPP = "XiongjieDai/GPU-Benchmarks-on-LLM-Inference, README.md, LLaMA 3 by llama.cpp, 1024 new tokens, 2024"
# parameters without the input embedding, of Mixtral with 2 of 8 experts a layer; bytes of a token's keys and values
READ = {
    "llama2-7b": (6_738_415_616 - 32_000 * 4096, 524_288),
    "llama3-8b": (8_030_261_248 - 128_256 * 4096, 131_072),
    "mixtral-8x7b": (46_702_792_704 - 6 * 32 * 3 * 4096 * 14_336 - 32_000 * 4096, 131_072),
    "llama2-70b": (68_976_648_192 - 32_000 * 8192, 327_680),
    "llama3-70b": (70_553_706_496 - 128_256 * 8192, 327_680),
}


@pytest.mark.parametrize(
    ("source", "model", "measured", "bits", "context", "bandwidth", "options"),
    [
        (GPT_FAST, "llama2-7b", 104.9, 16, 105, 2.039e12, {}),
        (GPT_FAST, "llama2-7b", 196.8, 5, 105, 2.039e12, {"weight_dtype": "int4-g32"}),
        (GPT_FAST, "llama3-8b", 93.89, 16, 105, 2.039e12, {}),
        (GPT_FAST, "mixtral-8x7b", 96.67, 16, 105, 2 * 2.039e12, {"devices": 2}),
        (GPT_FAST, "mixtral-8x7b", 227.82, 16, 105, 8 * 2.039e12, {"devices": 8}),
        (GPT_FAST, "mixtral-8x7b", 97.92, 8, 105, 2.039e12, {"weight_dtype": "int8"}),
        (LLAMA_CPP, "llama3-70b", 6.92, 16, 512, 2.039e12, {"devices": 4, "split": "layers"}),
        (LLAMA_CPP, "llama3-8b", 9.72, 4.9, 512, 68.25e9, {"device": "apple-m1", "weight_dtype": "4.9-bit"}),
    ],
)
def test_published_rates_stay_below_the_bound(source, model, measured, bits, context, bandwidth, options):
    options = {"device": "a100-80-sxm", "compute_dtype": "fp16"} | options
    options |= {"compute_dtype": "fp32"} if options["device"] == "apple-m1" else {}
    predicted = inference.decode_step(model, batch=1, context=context, **options).tokens_per_second
    parameters, cached = READ[model]
    assert predicted == pytest.approx(bandwidth / (parameters * bits / 8 + context * cached), rel=1e-5)
    assert 0.3 * predicted < measured < predicted, source


@pytest.mark.parametrize(("devices", "measured"), [(2, 21.32), (8, 62.5)])
def test_published_rates_of_tensor_parallel_devices_stay_below_the_bound(devices, measured):
    link = hardware.load("a100-80-sxm").link("nvlink")
    sizes = {"batch": 1, "context": 105, "device": "a100-80-sxm", "devices": devices}
    alone, linked = (inference.decode_step("llama2-70b", **sizes, **sent) for sent in ({}, {"link": link}))
    # 80 layers, two rings over 8192 numbers of 2 bytes each, at the 300 GB/s that an A100 sends
    sent = 80 * 2 * 2 * (devices - 1) * 8192 * 2 / devices / 300e9
    assert linked.seconds == pytest.approx(alone.seconds + sent)
    assert 0.5 * linked.tokens_per_second < measured < linked.tokens_per_second, GPT_FAST


@pytest.mark.parametrize(("model", "rate", "published"), [("llama2-7b", 104.9, 1397.31), ("llama3-8b", 93.89, 1410.76)])
def test_bytes_a_second_are_those_that_gpt_fast_prints(model, rate, published):
    """GB/s as gpt-fast counts them: all weights but the embedding, and its cache buffer, times tokens/s."""
    result = inference.decode_step(model, batch=1, context=205, device="a100-80-sxm")
    assert (result.weight_bytes + result.kv_bytes) * rate / 1e9 == pytest.approx(published, rel=1e-3), GPT_FAST


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
        (lambda: step(reads="active"), ["reads='active'", "touched, all"]),
        (lambda: step(split="pipeline"), ["split='pipeline'", "tensor, layers"]),
        (lambda: step(link=300), ["link=300", "looks like GB/s"]),
        (lambda: step(link=3e11, link_latency=5), ["link_latency=5", "µs"]),
        (lambda: step(link_latency=5e-6), ["link_latency=5e-06", "link="]),
        (lambda: step(algorithm="tree"), ["algorithm='tree'", "link="]),
        (lambda: step(link=3e11, algorithm="star"), ["algorithm='star'", "tree"]),
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


@pytest.mark.parametrize(
    ("dtype", "bits"), [("bf16", 16), ("int8", 8), ("4.5-bit", Fraction(9, 2)), ("mxfp4", Fraction(17, 4))]
)
def test_products_stop_gaining_at_the_first_batch_that_waits_for_arithmetic(dtype, bits):
    """Row by row, in exact fractions, of a device with 2 TFLOP/s and 1/100 TB/s: a ridge of 200."""
    device = replace(DEVICE, memory_bandwidth=1e10)
    reading = Fraction(1000 * bits, 8) / 10**10
    waits = next(row for row in range(1, 1000) if Fraction(2 * row * 1000, 2 * 10**12) > reading)
    assert waits - 1 <= inference.products_stop_gaining(device, dtype) < waits


def test_products_of_an_h100_stop_gaining_at_its_ridge_point():
    assert inference.products_stop_gaining("h100-sxm") == pytest.approx(989 / 3.35)
    assert inference.products_stop_gaining("h100-sxm", "int8") == pytest.approx(989 / 6.7)
    assert inference.products_stop_gaining("h100-sxm", "int8", "int8") == pytest.approx(1979 / 6.7)
