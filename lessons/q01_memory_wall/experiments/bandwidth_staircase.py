"""The rate of one addition by the size of its working set: each memory level is a stair of the curve."""

import math
from collections.abc import Sequence
from functools import partial
from itertools import dropwhile, pairwise

from course_lib.accounting import hardware, roofline, units
from course_lib.experiments.measurements.cuda_graphs import replayed
from course_lib.experiments.running import calls
from course_lib.experiments.running.bench import Bench
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns, rates
from course_lib.figures.charts import curves
from course_lib.words import words

say = words(__file__)

SMALLEST = 24 * 2**10  # B of all three arrays together
NOISE = 0.1  # by how much of itself a rate is uncertain
FALL = 1.3  # a rate that is this many times lower belongs to the next stair
GRAPH_CALLS = 20  # additions in one CUDA graph: launching them one by one would hide the cache of a GPU

table, predict = rates(lambda case, device: case.bytes)


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Working sets from 24 KiB, doubling, to 384 MiB (on a GPU 1.5 GiB); full has the sizes between, and one more."""
    steps = 15 if device.kind == "cpu" else 17
    sizes = [SMALLEST * 2**step for step in range(steps if quick else steps + 1)]
    if not quick:
        sizes = sorted([*sizes, *(3 * size // 2 for size in sizes[:-1])])
    return tuple(_case(size, device) for size in sizes)


def _case(working_set: int, device: hardware.Device) -> Case:
    elements = working_set // 12
    op = roofline.elementwise(elements, reads=2)
    build, share = calls.addition(elements, "fp32"), 1
    if device.kind == "gpu":
        build, share = partial(_graph, build=build), GRAPH_CALLS
    return Case(
        calls.binary_size(working_set),
        say("calls", "addition", elements=elements),
        (op,),
        build,
        share=share,
        facts={"working_set": working_set},
    )


def _graph(bench: Bench, build):
    """The same call `GRAPH_CALLS` times as one CUDA graph, replayed with one launch."""
    call = build(bench)

    def calls():
        for _ in range(GRAPH_CALLS):
            call()

    return replayed(bench, calls)


def knees(points: Sequence[tuple[float, float]], overhead: float = 0.0) -> list[float]:
    """Working sets in bytes at which the curve falls to its next stair: about what the levels before hold together.

    points: (working set in B, rate in B/s). overhead: seconds of a call, which are taken off. Left out are points of
    which it is more than three quarters, and the rise to the first stair, which belongs to what overhead is left.
    The curve is cut into stairs of at least two points, each `FALL` times lower than the one before, with up to two
    points between them that are on the way down. Of all such cuts the one is taken that explains log(rate) best for
    its number of stairs (the Bayesian information criterion, each rate being uncertain by `NOISE`). A knee is the
    geometric mean of the last working set above and the first below.
    """
    times = [(size, size / rate) for size, rate in sorted(points)]
    points = [(size, size / (seconds - overhead)) for size, seconds in times if overhead <= 0.75 * seconds]
    highest = max((rate for _, rate in points), default=0.0)
    points = list(dropwhile(lambda point: point[1] < highest / FALL, points))
    logs = [math.log(rate) for _, rate in points]
    best, chosen = math.inf, []
    for count in range(1, len(points) // 2 + 1):
        cost, runs = _stairs(logs, count)
        means = [sum(logs[a:b]) / (b - a) for a, b in runs]
        if cost < best and all(high - low >= math.log(FALL) for high, low in pairwise(means)):
            best, chosen = cost, runs
    return [math.sqrt(points[end - 1][0] * points[start][0]) for (_, end), (start, _) in pairwise(chosen)]


def _stairs(logs: list[float], count: int) -> tuple[float, list[tuple[int, int]]]:
    """The cheapest `count` runs of `logs`, as (cost, [(start, end), …]).

    Each run costs two parameters and the squared errors around its mean, each value between two runs one parameter.
    """
    parameter = math.log(len(logs))

    def cost(a, b):
        mean = sum(logs[a:b]) / (b - a)
        return sum(((value - mean) / NOISE) ** 2 for value in logs[a:b]) + 2 * parameter

    best = {0: (0.0, [])}  # where the next run may start -> (cost so far, runs)
    for number in range(count):
        ends = {}
        for a, (so_far, runs) in best.items():
            for b in range(a + 2, len(logs) + 1):
                candidate = (so_far + cost(a, b), [*runs, (a, b)])
                ends[b] = min(ends.get(b, (math.inf, [])), candidate)
        last = number == count - 1
        best = {}
        for b, (so_far, runs) in ends.items():
            for skipped in (0,) if last else (0, 1, 2):
                candidate = (so_far + skipped * parameter, runs)
                best[b + skipped] = min(best.get(b + skipped, (math.inf, [])), candidate)
    return best[len(logs)]


def plot(result):
    """Measured and predicted rate by working set, on logarithmic axes; the title names the knees."""
    points = [(row["working_set"], row["measured"]) for row in result.rows]
    found = [units.format_bytes(knee, binary=True) for knee in knees(points, result.device["call_overhead"])]
    best = max(rate for _, rate in points) / points[-1][1]
    title = say("title", "stairs" if found else "plain", factor=best, sizes=", ".join(found))
    return curves(result, x="working_set", title=title, axis=say("axis"))


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "B/s", working_set="int B"),
    table=table,
    predict=predict,
    quick_seconds=0.04,
    full_seconds=0.25,
)
