"""Pairs that compute as much and use memory differently: fresh results, blocks, order of access, number of threads."""

from functools import partial

from course_lib.accounting import hardware, roofline
from course_lib.experiments.running import timing
from course_lib.experiments.running.bench import Bench
from course_lib.experiments.running.calls import Build, addition, gather
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.words import words

say = words(__file__)

FP32, INT64 = 4, 8  # bytes
LINE = {"cpu": 64, "gpu": 32}  # B that memory hands out at once: a cache line, and a sector of a GPU's
PASSES = 8
BLOCK = 2**15  # numbers: 128 KiB, which an L2 cache holds
SMALL = 2**16  # numbers of the addition that threads share
CROWD = 8  # threads for each core that is there


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Four pairs on a processor, three on a GPU; full differs from quick in the repeats only."""
    kind = "cpu" if device.kind == "cpu" else "gpu"
    length = 2**24 if kind == "cpu" else 2**28
    table, picks = 2 * length, length // 8
    add = roofline.elementwise(length, reads=2)
    in_order = roofline.Op("gather", 0, picks * (INT64 + 2 * FP32))
    at_random = roofline.Op("gather", 0, picks * (INT64 + LINE[kind] + FP32))
    blocks = length // BLOCK
    passes = roofline.Op("passes", PASSES * length, PASSES * 2 * FP32 * length, calls=PASSES)
    blocked = roofline.Op("passes in blocks", PASSES * length, 2 * FP32 * length, calls=PASSES * blocks)
    gathered, numbers = say("calls", "gather", picks=picks, table=table), say("calls", "numbers", length=length)
    in_blocks = say("calls", "blocks", blocks=blocks, block=BLOCK)

    def case(name: str, call: str, op: roofline.Op, build: Build) -> Case:
        how = {"observe": partial(_alone, build=build)} if kind == "cpu" else {"build": build}
        return Case(name, call, (op,), **how)

    pairs = (
        case("a + b, result reused", say("calls", "reused", length=length), add, addition(length, "fp32")),
        case("a + b, new result", numbers, add, partial(_fresh_addition, length=length)),
        case("gather, in order", gathered, in_order, gather(table, picks, shuffled=False)),
        case("gather, at random", gathered, at_random, gather(table, picks, shuffled=True)),
        case(f"{PASSES} passes, block by block", in_blocks, blocked, partial(_passes, length=length, block=BLOCK)),
        case(f"{PASSES} passes, whole array", numbers, passes, partial(_passes, length=length, block=length)),
    )
    if kind == "gpu":
        return pairs
    small = say("calls", "numbers", length=SMALL)
    return (
        *pairs,
        Case("small addition, a thread a core", small, observe=partial(_threads, for_each_core=1), expect=_small),
        Case(
            f"small addition, {CROWD} threads a core",
            small,
            observe=partial(_threads, for_each_core=CROWD),
            expect=_small,
        ),
    )


def _fresh_addition(bench: Bench, length: int):
    a, b = bench.random(length), bench.random(length)
    return lambda: bench.torch.add(a, b)


def _passes(bench: Bench, length: int, block: int):
    """Each block gets all its passes before the next one is touched."""
    blocks = bench.random(length).split(block)

    def passes():
        for part in blocks:
            for _ in range(PASSES):
                part.mul_(1.0)

    return passes


def _alone(bench: Bench, seconds: float, build: Build) -> list[float]:
    """One thread: a pair then differs in its use of memory only, not in how its threads wait for each other."""
    with timing.single_thread(bench.torch), bench.torch.inference_mode():
        return list(timing.measure(build(bench), seconds=seconds, at_least=3).values)


def _small(device: hardware.Device) -> float:
    """What a cache holds comes at the rate of the last cache, where the profile knows it."""
    known = [level.bandwidth for level in device.levels.values() if level.bandwidth]
    rate = known[-1] if known else device.memory_bandwidth
    return device.call_overhead + roofline.elementwise(SMALL, reads=2).bytes / rate


def _threads(bench: Bench, seconds: float, for_each_core: int) -> list[float]:
    torch = bench.torch
    before = torch.get_num_threads()
    torch.set_num_threads(before * for_each_core)
    try:
        with torch.inference_mode():
            return list(timing.measure(addition(SMALL, "fp32")(bench), seconds=seconds, at_least=3).values)
    finally:
        torch.set_num_threads(before)


def plot(result):
    """Predicted and measured time of each case, on a logarithmic axis."""
    times = result.measured
    title = say("title", "plain")
    if {"a + b, new result", "a + b, result reused"} <= set(times):
        factor = times["a + b, new result"] / times["a + b, result reused"]
        title = say("title", "found", factor=factor)
    return dots(result, title=title, axis=say("axis"))


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "s"),
    quick_seconds=0.1,
    full_seconds=0.6,
    method={"block": BLOCK, "passes": PASSES, "crowd": CROWD},
)
