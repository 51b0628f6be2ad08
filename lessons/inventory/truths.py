"""The right option of each question of the inventory, and the values that its texts name, computed.

Each function takes the numbers of a sitting and returns the key of the right option and name -> value. A wrong option's
value is what the misconception behind it computes.
"""

from dataclasses import replace
from math import sqrt

from course_lib.accounting import (
    activations,
    economics,
    flops,
    hardware,
    inference,
    memory,
    models,
    precision,
    roofline,
)

LINE = 64  # bytes of a cache line
WIDTH = 4096  # of the layer Linear(4096 -> 4096)


def _decided(cases: dict[str, bool]) -> str:
    """The one option that holds."""
    (key,) = [key for key, holds in cases.items() if holds]
    return key


def strided_sum(every):
    floats = 64_000_000

    def lines(step):
        return len({4 * index // LINE for index in range(0, 4096 * step, step)}) / 4096 * floats / step

    share = lines(every) / lines(1)
    return _decided({"same": share == 1, "part": share == 1 / every, "longer": share > 1}), {"part": every}


def training_state(billions):
    numbers = billions * 10**9
    values = {
        "all": memory.model_state(numbers, "mixed-adamw").total / 1e9,
        "weights": precision.nbytes(numbers, "bf16") / 1e9,
        "gradients": 2 * precision.nbytes(numbers, "bf16") / 1e9,
        "halved": memory.model_state(numbers, "fp32-adamw").total / 2e9,
    }
    return "all", values


def what_doubles(batch, seq, what):
    model = models.load("gpt2")
    state = memory.model_state(model.parameters()).total

    def kept(times_batch, times_seq):
        how = {"batch": 4 * times_batch, "seq": 256 * times_seq, "attention": "sdpa"}
        return activations.activations(model, **how).total

    before, after = kept(1, 1), kept(batch, seq)
    doubled, whole = after / before, (state + after) / (state + before)
    return _decided({"activations": abs(doubled - 2) < 0.01 and whole < 1.9, "memory": whole >= 1.9}), {}


def intensity(times):
    once, more = (roofline.matmul(n, n, n, dtype="bf16").intensity for n in (1024, 1024 * times))
    values = {"grows": more / once, "falls": times, "cube": times**3}
    return _decided({"grows": more > 1.4 * once, "same": more == once, "falls": more < once}), values


def more_rows(few, many):
    first, then = (roofline.matmul(rows, WIDTH, WIDTH, dtype="bf16").on("h100-sxm").seconds for rows in (few, many))
    times = many / few
    return "bound", {"bound": then / first, "flops": times, "between": sqrt(times), "half": times / 2}


def missing_flops(device, used):
    card = hardware.load(device)
    whole, forward = (
        count(models.load("gpt2"), 1, 1024).total for count in (lambda *x: flops.training_step(*x), flops.forward)
    )
    sums = roofline.elementwise(10**8, dtype="bf16")
    faultless = sums.on(device).seconds > 100 * sums.flops / card.peak("bf16")  # time goes though nothing is wrong
    single = {"sparse": card.sparse_peak("bf16") == card.peak("bf16"), "backward": whole == forward}
    causes = {**single, "bug": not faultless}
    return _decided({**causes, "many": not any(causes.values())}), {"peak": card.peak("bf16") / 1e12}


def longer_text(tokens, longer):
    model, times = replace(models.load("gpt2"), context=longer), longer / tokens
    first, then = (flops.forward(model, 1, length).total for length in (tokens, longer))
    return "both", {"both": then / first, "square": times**2, "linear": times, "cube": times**3}


def depthwise(channels):
    """Of a 3 × 3 convolution on 32 images of 56 × 56, on an H100: how many times shorter by the roofline."""
    pixels = 32 * 56 * 56
    size = {"in_channels": channels, "out_channels": channels, "kernel": 3, "out_height": 56, "out_width": 56}

    def seconds(groups):
        weights = 9 * channels * channels // groups
        work = flops.conv2d(**size, batch=32, groups=groups)
        moved = 2 * (2 * channels * pixels + weights)
        return roofline.place(flops=work, bytes=moved, device="h100-sxm", dtype="bf16").seconds

    shorter = seconds(1) / seconds(channels)
    cases = {"bytes": 1 <= shorter <= 5, "flops": shorter > channels / 1.4, "longer": shorter < 1}
    return _decided(cases), {"flops": channels, "between": sqrt(channels)}


def two_twos(device):
    card = hardware.load(device)
    macs = flops.forward(models.load("resnet-50"), 1).macs
    right = card.peak("bf16") / (2 * macs)
    values = {"dense": right, "both": 4 * right, "one": 2 * right, "twice": right / 2}
    return "dense", {**values, "sparse": card.sparse_peak("bf16") / 1e12, "macs": macs / 1e9}


def budget(times):
    first, then = (economics.compute_optimal(work).params for work in (1e21, times * 1e21))
    return "root", {"root": then / first, "size": times, "data": 1, "square": times**2}


def few_bits(dtype):
    weights = models.load("llama3-8b").parameters().total

    def faster(tokens):
        old, new = (
            roofline.place(
                flops=2 * weights * tokens, bytes=precision.nbytes(weights, kept), device="h100-sxm", dtype="bf16"
            ).seconds
            for kept in ("bf16", dtype)
        )
        return old / new

    decode, prefill = faster(1) > 1.4, faster(4096) > 1.4
    cases = {
        "decode": decode and not prefill,
        "both": decode and prefill,
        "prefill": prefill and not decode,
        "neither": not decode and not prefill,
    }
    return _decided(cases), {"times": faster(1)}


def batch_decode(batch):
    one, many = (
        size / inference.decode_step(models.load("llama3-8b"), batch=size, context=1024, device="h100-sxm").seconds
        for size in (1, batch)
    )
    return "shared", {"shared": many / one, "same": 1, "root": sqrt(batch)}


def gauge(reading):
    """Whatever the reading: one row through the layer again and again: a kernel is there all the time."""
    op, card = roofline.matmul(1, WIDTH, WIDTH, dtype="bf16"), hardware.load("h100-sxm")
    place = op.on("h100-sxm")
    used = op.flops / (place.seconds * card.peak("bf16"))
    cases = {
        "units": used > 0.9,
        "memory": op.bytes > 0.9 * card.memory_capacity,
        "compute": place.bound == "compute",
    }
    return _decided({**cases, "resident": not any(cases.values())}), {}


def checkpoints(minutes, hours):
    best = economics.young_interval(checkpoint_seconds=60 * minutes, mtbf_seconds=3600 * hours) / 60
    return "young", {"young": best, "failure": 60 * hours, "always": minutes, "half": 30 * hours}


def micro_batches(number):
    def equal(counts):
        batches = [[float(number * i + j * j) for j in range(count)] for i, count in enumerate(counts)]
        means = [sum(batch) / len(batch) for batch in batches]
        return abs(sum(means) / number - sum(map(sum, batches)) / sum(counts)) < 1e-9

    alike, unlike = equal([5] * number), equal(range(3, 3 + number))
    return _decided({"tokens": alike and not unlike, "always": alike and unlike, "never": not alike}), {}


def small_updates(start, step, times):
    weight = start
    for _ in range(times):
        weight = precision.rounded(weight + step, "bf16")
    end = start + step * times
    return "stays", {"stays": weight, "exact": end, "half": (start + end) / 2}


def divergence(curvature):
    def diverges(rate):
        return abs(1 - rate * curvature) > 1  # x becomes (1 - rate · curvature) · x in each step

    limit = {"two": 2 / curvature, "one": 1 / curvature}
    cases = {key: diverges(1.01 * rate) and not diverges(0.99 * rate) for key, rate in limit.items()}
    return _decided({**cases, "never": not diverges(1e9)}), limit


def part_faster(share, speedup):
    saved = 100 * (1 - 1 / economics.amdahl(fraction=share / 100, speedup=speedup))
    return "whole", {"whole": saved, "local": 100 * (1 - 1 / speedup), "part": share, "rest": share / speedup}


def fusion(operations):
    alone = [roofline.elementwise(10**8, dtype="bf16")] * operations
    fused = roofline.elementwise(10**8, flops_per_element=operations, dtype="bf16")
    times = sum(op.on("h100-sxm").seconds for op in alone) / fused.on("h100-sxm").seconds
    return "passes", {"passes": times, "none": 1, "every": 2 * operations, "root": sqrt(operations)}


def halved_stage(first, second, third):
    stages = [first, second, third]
    before, after = max(stages), max([first / 2, second, third])
    cases = {"same": after == before, "half": after == before / 2, "longer": after > before}
    return _decided(cases), {"share": 50 * first / sum(stages)}
