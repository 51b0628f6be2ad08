"""One addition over more and more numbers: what the host spends on launching it, what the GPU spends on running it, and
what a loop of such calls takes.

While the GPU works more briefly than the host needs to launch the next call, it waits: that is the launch gap. Its
share of the time is 1 − GPU / as it runs.
"""

import time

from course_lib.accounting import hardware, roofline
from course_lib.experiments.running import calls
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import curves
from course_lib.words import words

say = words(__file__)

ELEMENTS = (16, 2**12, 2**16, 2**20, 2**24)
LAUNCHES = 400  # fewer than a stream can hold (1024), so that the host never waits for the GPU
AHEAD = 60_000_000  # clock cycles, some 40 ms, for which the GPU is kept busy while the host launches


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """The same sizes everywhere; a processor has no launches, so it has "as it runs" only."""
    found = []
    for elements in ELEMENTS:
        op = roofline.elementwise(elements, reads=2, dtype="fp32")
        call, facts = f"a + b, {elements} numbers", {"elements": elements}
        found.append(
            Case(
                f"{elements} numbers, as it runs",
                call,
                (op,),
                calls.addition(elements, "fp32"),
                expect=lambda device, op=op: _expected(device, op, launch=True, run=True),
                facts={**facts, "part": "as it runs"},
            )
        )
        if device.kind == "gpu":
            found += [
                Case(
                    f"{elements} numbers, host",
                    call,
                    (op,),
                    observe=lambda bench, seconds, n=elements: _apart(bench, n, seconds)[0],
                    expect=lambda device, op=op: _expected(device, op, launch=True, run=False),
                    facts={**facts, "part": "host"},
                ),
                Case(
                    f"{elements} numbers, GPU",
                    call,
                    (op,),
                    observe=lambda bench, seconds, n=elements: _apart(bench, n, seconds)[1],
                    expect=lambda device, op=op: _expected(device, op, launch=False, run=True),
                    facts={**facts, "part": "GPU"},
                ),
            ]
    return tuple(found)


def _expected(device: hardware.Device, op: roofline.Op, launch: bool, run: bool) -> float | None:
    """Seconds of a call in a long row of them, or of its launch or its run alone."""
    if launch and device.kind == "gpu" and not device.call_overhead:
        return None  # no data sheet states what a launch costs
    if not run:
        return device.call_overhead
    return roofline.predict_seconds(op, device=device) if launch else op.on(device).seconds


def _apart(bench, elements: int, seconds: float) -> tuple[list[float], list[float]]:
    """(seconds of the host for each launch, seconds of the GPU for each call), one value a round.

    The GPU is kept busy first, so that all launches are waiting when it comes to them: events around them then give the
    GPU's own time.
    """
    torch = bench.torch
    a, b, c = bench.random(elements), bench.random(elements), bench.empty(elements)
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    host, gpu = [], []
    until = time.perf_counter() + seconds
    with torch.inference_mode():
        while len(host) < 4 or time.perf_counter() < until:
            torch.cuda.synchronize()
            torch.cuda._sleep(AHEAD)
            start.record()
            before = time.perf_counter()
            for _ in range(LAUNCHES):
                torch.add(a, b, out=c)
            after = time.perf_counter()
            end.record()
            torch.cuda.synchronize()
            host.append((after - before) / LAUNCHES)
            gpu.append(start.elapsed_time(end) / 1000 / LAUNCHES)
    return host[1:], gpu[1:]  # the first round warms up


def plot(result):
    """Seconds of a call over its size, a line for each part."""
    times = {(row["elements"], row["part"]): row["measured"] for row in result.rows}
    smallest = min(elements for elements, _ in times)
    if (smallest, "GPU") in times and (smallest, "as it runs") in times:
        idle = 1 - times[smallest, "GPU"] / times[smallest, "as it runs"]
        title = say("title", "found", smallest=smallest, idle=max(idle, 0))
    else:
        title = say("title", "plain")
    return curves(result, x="elements", title=title, axis=say("axis"), by="part")


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "s", elements="int", part="str"),
    full_seconds=0.6,
    method={"launches": LAUNCHES},
)
