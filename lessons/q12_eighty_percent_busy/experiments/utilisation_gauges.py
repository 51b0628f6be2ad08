"""What a utilisation gauge shows, beside the shares of peak and bandwidth that are really used, for three loads.

On a GPU the gauge is NVML's, which nvidia-smi prints as GPU-Util: the share of time in which any kernel ran. On a
processor it is the processor time of this process over that of all its cores.
"""

import threading
import time
from functools import cache, partial

from course_lib.accounting import hardware, roofline
from course_lib.experiments.profile import gauges, machine
from course_lib.experiments.running import calls
from course_lib.experiments.running.errors import Unavailable
from course_lib.experiments.running.experiment import UNSTATED_OVERHEAD, Case, Experiment, main_dtype
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures import style
from course_lib.figures.charts import in_words
from course_lib.figures.figure import draw
from course_lib.words import words

say = words(__file__)

GAUGES = ("gauge", "of the peak", "of the bandwidth")
SAMPLES = 0.1  # s between two readings of NVML, whose own sample period is 1/6 s to 1 s
SETTLE = 1.2  # s of load on a GPU before the first reading counts


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Tiny calls, additions larger than the caches, and a large matrix product, each with three readings.

    Full differs from quick in the time of each load.
    """
    dtype = main_dtype(device)
    elements, side = (2**24, 1024) if device.kind == "cpu" else (2**28, 8192)
    add = roofline.elementwise
    loads = {
        "tiny calls": (add(16, reads=2, dtype=dtype), calls.addition(16, dtype)),
        "additions": (add(elements, reads=2, dtype=dtype), calls.addition(elements, dtype)),
        "matrix product": (roofline.matmul(side, side, side, dtype), calls.product(side, side, side, dtype)),
    }
    found = []
    for load, (op, build) in loads.items():
        run = cache(partial(_run, op=op, build=build, device=device))  # once, for all three readings
        for name in GAUGES:
            found.append(
                Case(
                    f"{load}: {name}",
                    say("calls", "load", load=load, name=name),
                    (op,),
                    observe=partial(_reading, run=run, name=name),
                    expect=lambda device, op=op, name=name: _expected(device, op, name),
                    facts={"load": load, "reading": name},
                )
            )
    return tuple(found)


def _expected(device: hardware.Device, op: roofline.Op, name: str) -> float | None:
    """Shares in %, from the roofline's time for the load; nothing predicts the gauge, which is the point."""
    seconds = roofline.predict_seconds(op, device=device)
    if name == "gauge" or (not device.call_overhead and seconds < UNSTATED_OVERHEAD):
        return None
    return 100 * _share(op, seconds, device, name)


def _share(op: roofline.Op, seconds: float, device: hardware.Device, name: str) -> float:
    """Share (0 to 1) of the device's peak or bandwidth that one such call in `seconds` uses."""
    if name == "of the peak":
        return op.flops / seconds / device.peak(op.dtype)
    return op.bytes / seconds / device.memory_bandwidth


def _reading(bench, seconds: float, run, name: str) -> list[float]:
    found = run(bench, seconds)[name]
    if not found:
        raise Unavailable("The driver of this GPU gives no utilisation.")
    return found


def _run(bench, seconds: float, op: roofline.Op, build, device: hardware.Device) -> dict[str, list[float]]:
    """% of each part of the run."""
    with bench.torch.inference_mode():
        timed, gauge = (_on_gpu if bench.on == "cuda" else _on_cpu)(bench.torch, build(bench), seconds)
    found = {name: [100 * _share(op, s, device, name) for s in timed] for name in GAUGES[1:]}
    return {"gauge": [100 * share for share in gauge], **found}


def _on_cpu(torch, call, seconds: float) -> tuple[list[float], list[float]]:
    """(seconds of a call, share of the cores' time) in each of five parts of the run."""
    call()
    timed, used = [], []
    for _ in range(5):
        wall, processor, count = time.perf_counter(), time.process_time(), 0
        while time.perf_counter() - wall < seconds / 5:
            call()
            count += 1
        elapsed = time.perf_counter() - wall
        timed.append(elapsed / count)
        used.append((time.process_time() - processor) / elapsed / machine.cores())
    return timed, used


def _on_gpu(torch, call, seconds: float) -> tuple[list[float], list[float]]:
    """(seconds of a call in rounds of about 0.1 s, NVML's readings meanwhile)."""
    call()
    torch.cuda.synchronize()
    number = _fitting(torch, call)
    timed, seen, over = [], [], threading.Event()

    def watch(gauge):
        over.wait(SETTLE)
        while not over.wait(SAMPLES):
            if (share := gauge.utilization()) is not None:
                seen.append(share)

    with gauges.reading(torch) as gauge:
        watcher = threading.Thread(target=watch, args=(gauge,)) if gauge else None
        if watcher:
            watcher.start()
        try:
            until = time.perf_counter() + SETTLE + seconds
            while time.perf_counter() < until:
                before = time.perf_counter()
                for _ in range(number):
                    call()
                torch.cuda.synchronize()
                timed.append((time.perf_counter() - before) / number)
        finally:
            over.set()
            if watcher:
                watcher.join()
    return timed, seen


def _fitting(torch, call) -> int:
    """How many calls take about 0.1 s."""
    number, elapsed = 1, 0.0
    while elapsed < 0.1:
        number *= 2
        before = time.perf_counter()
        for _ in range(number):
            call()
        torch.cuda.synchronize()
        elapsed = time.perf_counter() - before
    return max(round(number * 0.1 / elapsed), 1)


def plot(result):
    """The three readings of each load as bars."""
    shares = {(row["load"], row["reading"]): row["measured"] for row in result.rows}
    loads = list(dict.fromkeys(load for load, _ in shares))
    title = say("title", "plain")
    if ("tiny calls", "gauge") in shares and ("tiny calls", "of the peak") in shares:
        title = say("title", "found", gauge=shares["tiny calls", "gauge"], used=shares["tiny calls", "of the peak"])

    def paint(axes):
        labels = []
        for (load, reading), share in shares.items():
            y = loads.index(load) * 4 + GAUGES.index(reading)
            looks = {"facecolor": style.PAPER} if reading == "gauge" else {"facecolor": style.MEASURED}
            axes.barh(y, share, height=0.85, edgecolor=style.MEASURED, linewidth=style.size().line, **looks)
            labels.append((share, y, say("bars", reading, share=share)))
        axes.set_yticks([4 * number + 1 for number in range(len(loads))], loads)
        axes.grid(visible=False, axis="y")
        axes.invert_yaxis()
        axes.set_xlim(0, max(100, *shares.values()))
        return labels

    return draw(
        title,
        f"{title}. {in_words(result)}",
        paint,
        x=(say("axis"), "%"),
        y=None,
        note=say("key", device=result.device["name"], date=result.provenance["date"]),
        height=1.4 + 0.9 * len(loads),
        labels="beside",
    )


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "%", load="str", reading="str", hidden=("load", "reading")),
    quick_seconds=0.3,
    full_seconds=2.5,
)
