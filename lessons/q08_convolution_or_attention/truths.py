"""The truth of each prediction card of Q8, computed when a learner reveals it."""

from statistics import mean

from course_lib import experiments
from course_lib.accounting import flops, models, roofline
from course_lib.experiments.nets import image_nets
from course_lib.experiments.profile import machine
from course_lib.experiments.running.bench import Bench
from course_lib.experiments.running.timing import measure
from course_lib.units.q08_convolution_or_attention.experiments import convolution_kinds, data_hunger

RECORDED = "amd-epyc-2-cores"  # the processor on which this project recorded its experiments


def mobilenet() -> str:
    """The choice that holds the ratio of both times: the best of each, timed in turns, images in rows first.

    Where other programs used the processor meanwhile, the recorded ratio decides.
    """
    import torch

    bench, before = Bench.on_device(torch, "cpu"), machine.Clock.now()
    runs = {name: image_nets.build(bench, models.load(name), 224) for name in ("resnet-50", "mobilenet-v2")}
    times = {name: [] for name in runs}
    with torch.inference_mode():
        for _ in range(4):
            for name, run in runs.items():
                times[name] += measure(run, seconds=0.02, at_least=1).values
    best = {name: min(values) for name, values in times.items()}
    if (before.used_by_others() or 0.0) > machine.BUSY:
        recorded = experiments.load("image_models", RECORDED).measured
        best = {name: recorded[f"{name}, NCHW"] for name in runs}
    ratio = best["resnet-50"] / best["mobilenet-v2"]
    return "more" if ratio > 17 else "as-flops" if ratio > 11 else "less" if ratio > 3 else "hardly"


def resolution(model, side, layers, width, square, pixels) -> float:
    network = models.load(model)
    return int(flops.forward(network, image=side)) / int(flops.forward(network))


def weight_use(model, millions, half) -> float:
    network = models.load(model)
    return int(flops.forward(network)) / int(network.parameters())


def depthwise(device, tera, bandwidth) -> float:
    plain, narrow = (
        convolution_kinds.op(kind, 64, "fp16").on(device).seconds
        for kind in (convolution_kinds.PLAIN, convolution_kinds.DEPTHWISE)
    )
    return plain / narrow


def hunger() -> str:
    """Trains both, on a processor, from three seeds: the choice that holds their gap."""
    import torch

    convolution, transformer = (
        mean(data_hunger.accuracy(torch, "cpu", net, data_hunger.FEW, seed=seed) for seed in range(3))
        for net in (data_hunger.CONVOLUTION, data_hunger.TRANSFORMER)
    )
    gap = convolution - transformer
    return "hopeless" if gap > 25 else "far" if gap > 10 else "near"


def camera(model, tera, gflop, allowed, factor, linear, macs) -> int:
    """The largest multiple of 32 whose FLOPs an image fit into a thirtieth of a second."""
    network, budget = models.load(model), tera * 1e12 / 30
    return max(side for side in range(32, 4096, 32) if int(flops.forward(network, image=side)) <= budget)


def efficientnet_on_t4() -> float:
    """An EfficientNet's 5×5 convolution, 480 → 480 on 64 images of 14 × 14 in fp16: plain over depthwise, each at its limit."""
    channels, kernel, images = 480, 5, 64 * 14**2

    def seconds(groups: int) -> float:
        flops = 2 * images * channels * (channels // groups) * kernel**2
        return roofline.place(flops=flops, bytes=2 * 2 * images * channels, device="t4", dtype="fp16").seconds

    return seconds(1) / seconds(channels)
