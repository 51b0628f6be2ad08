"""The truth of each prediction card of Q1, computed when a learner reveals it."""

from course_lib import experiments
from course_lib.accounting import hardware, models, precision
from course_lib.units.q01_memory_wall.experiments import bandwidth_staircase, memory_habits
from course_lib.units.q01_memory_wall.experiments.stride_access import LINE, lines_touched

LENGTH = 67_108_864  # fp32 numbers of the first card


def every_16th() -> float:
    """Lines that the second sum touches over those that the first one does."""
    return lines_touched(LENGTH, 16, LINE["cpu"]) / lines_touched(LENGTH, 1, LINE["cpu"])


def which_change() -> str:
    """The change that makes a step of one token shortest; fetching and computing run side by side."""
    device, weights = hardware.load("a100-40-sxm"), models.load("llama2-7b").parameters().total
    fetching = precision.nbytes(weights, "bf16") / device.memory_bandwidth
    computing = 2 * weights / device.peak("bf16")
    chip, halved = max(fetching, computing / 2), max(fetching / 2, computing)
    return "alike" if chip == halved else "chip" if chip < halved else "bytes"


def weights_on_disk(
    model: str, params: str, link: str, rate: str, one_byte: str, four_bytes: str, a100: str, bits: str
) -> float:
    del params, rate, one_byte, four_bytes, a100, bits  # printed on the card, rounded; the catalogue has them in full
    nbytes = precision.nbytes(models.load(model).parameters().total, "bf16")
    return nbytes / hardware.link(link).bandwidth


def your_knee() -> float:
    """The largest cache that the system reports; where it reports none, the last knee of a measured curve."""
    levels = experiments.here("cpu").levels
    if levels:
        return max(level.capacity for level in levels.values()) / 2**20
    curve = experiments.run("bandwidth_staircase", on="cpu")
    points = [(row["working_set"], row["measured"]) for row in curve.rows]
    return max(bandwidth_staircase.knees(points, curve.device["call_overhead"])) / 2**20


def largest_on_chip() -> str:
    levels = hardware.load("a100-40-sxm").levels
    names = {"registers": "registers", "shared": "l1", "l2": "l2"}
    return "-".join(names[name] for name in sorted(levels, key=lambda name: levels[name].capacity))


def new_result() -> str:
    """Times the addition both ways, in turns, and takes the best of each."""
    from course_lib.experiments.running.bench import Bench
    from course_lib.experiments.running.timing import need_torch

    bench = Bench.on_device(need_torch(), "cpu")
    here = {case.name: case for case in memory_habits.cases(experiments.here("cpu"), True)}
    best = {name: min(here[name].observe(bench, 0.05)) for name in ("a + b, result reused", "a + b, new result")}
    ratio = best["a + b, new result"] / best["a + b, result reused"]
    return "the-same" if ratio < 1.2 else "a-little" if ratio < 2 else "a-lot"


def hide_the_link(place: str, link: str, rate: str, half: str, double: str) -> float:
    """Tokens at which 2 FLOP a weight and token take as long as fetching the weight's bytes."""
    del place, rate, half, double  # printed on the card
    peak, nbytes = hardware.load("h100-sxm").peak("bf16"), precision.nbytes(1, "bf16")
    return peak * nbytes / (2 * hardware.link(link).bandwidth)


def wish_for_bandwidth(
    model: str, params: str, dtype: str, size: str, one_byte: str, wide: str, wider: str, bits: str, once: str
) -> float:
    del params, size, one_byte, wide, wider, bits, once  # printed on the card
    return 20 * precision.nbytes(models.load(model).parameters().total, dtype) / 1e9


def seventy_on_mi300x() -> float:
    """Milliseconds of a step of 50 texts: 1 byte and 2 · 50 FLOP for each of 70 billion weights, side by side."""
    weights, texts, device = 70e9, 50, hardware.load("mi300x")
    return 1000 * max(weights / device.memory_bandwidth, 2 * texts * weights / device.peak("bf16"))
