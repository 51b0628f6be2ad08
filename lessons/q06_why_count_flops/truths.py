"""The truth of each prediction card of Q6, computed when a learner reveals it."""

from course_lib import experiments
from course_lib.accounting import flops, hardware, models
from course_lib.experiments import published


def ceiling(story, device, peak, best, got, rate_down, rate_up, of_step, of_limit) -> float:
    """% of the lost time that lies between the peak and the best rate found."""
    return _gap(peak, float(best), got)


def on_an_mi300x() -> float:
    peak, best = hardware.load("mi300x").peak("bf16"), published.get("mamf-mi300x-bf16").value
    return _gap(peak, best, 6 * 13e9 * 3850)


def _gap(peak, best, got) -> float:
    return 100 * (got / best - got / peak) / (1 - got / peak)


def gpt2_token() -> float:
    return int(flops.forward(models.load("gpt2"), batch=1, seq=1024)) / 1024 / 1e6


def utilisation(
    story, name, model, parameters, layers, width, batch, seq, seconds, peak, no_pairs, forward, sparse, hfu, causal
) -> float:
    work = int(flops.training_step(models.load(model), batch=batch, seq=seq))
    return 100 * work / seconds / (peak * 1e12)


def fused_attention() -> str:
    """Counts a small GPT with both kinds of attention on the processor; the choice nearest to what is missing."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from course_lib.experiments.nets import tiny_gpt
    from course_lib.experiments.running.bench import Bench

    bench = Bench.on_device(torch, "cpu")
    small = tiny_gpt.describe(layers=2, d_model=256, heads=4, vocab=2048, context=256)
    x, found = tiny_gpt.tokens(bench, small, batch=1, seq=256), {}
    for attention in ("eager", "sdpa"):
        net = tiny_gpt.build(bench, small, attention=attention)
        with FlopCounterMode(display=False) as counter:
            net(x)
        found[attention] = counter.get_total_flops()
    layers = flops.forward(small, batch=1, seq=256)["layers.attention"]
    pairs = int(layers["scores"]) + int(layers["values"])
    missing = {"the-same": 0, "half-of-attention": pairs // 2, "no-attention": pairs, "more": -pairs // 2}
    return min(missing, key=lambda choice: abs(found["eager"] - found["sdpa"] - missing[choice]))


def optimizer_time() -> float:
    return experiments.load("train_step_waterfall", "amd-epyc-2-cores")["32 tokens: optimizer"]["share"]


def how_many_devices(billions, trillions, days, percent, no_loss, sparse, forward) -> float:
    work = 6 * float(billions) * 1e9 * float(trillions) * 1e12
    return work / (hardware.load("h100-sxm").peak("bf16") * percent / 100 * days * 86400)
