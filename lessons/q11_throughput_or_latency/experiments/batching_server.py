"""A real server under open-loop load: requests come by their own clock, and asyncio batches them in four ways.

The model is eight layers of 1024 → 1024 with ReLU, on one thread beside the event loop. The load is stated as a
multiple of what the model does with one request at a time; predicted is the same load on a virtual clock, with the time
of a step by the roofline.
"""

import asyncio
import random
import time
from typing import Any

from course_lib.accounting import hardware, roofline
from course_lib.experiments import batchers
from course_lib.experiments.running import timing
from course_lib.experiments.running.experiment import Case, Experiment, repeated
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.q11_throughput_or_latency import serving
from course_lib.words import words

say = words(__file__)

LAYERS, WIDTH, MOST = 8, 1024, 32
ALONE, GREEDY, WINDOW, TIMER = "one at a time", "what waits", "waits 10 ms", "timer of 2 ms"
POLICIES: dict[
    str, tuple[type[Any], int, float]
] = {  # name -> how requests are collected, the most at once, seconds of the window
    ALONE: (batchers.Greedy, 1, 0.0),
    GREEDY: (batchers.Greedy, MOST, 0.0),
    WINDOW: (batchers.Greedy, MOST, 0.010),
    TIMER: (batchers.Timer, MOST, 0.002),
}
LOADS = {"quiet": 0.3, "overload": 3.0}  # multiples of what one at a time can serve


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Two policies when little comes and three when too much comes; full has all of them, for longer."""
    chosen = [("quiet", GREEDY), ("quiet", WINDOW), ("overload", ALONE), ("overload", GREEDY), ("overload", TIMER)]
    if not quick:
        chosen = [(load, policy) for load in LOADS for policy in POLICIES]
    model = _Model()
    return tuple(_case(model, load, policy, 0.3 if quick else 1.0, 1 if quick else 3) for load, policy in chosen)


class _Model:
    """The weights of all cases, made when the first of them runs, and the seconds of a step of one request."""

    def __init__(self):
        self.torch: Any = None

    def on(self, torch) -> None:
        if self.torch is None:
            self.torch = torch
            self.weights = [torch.randn(WIDTH, WIDTH) * WIDTH**-0.5 for _ in range(LAYERS)]
            self([0])
            self.alone = timing.measure(lambda: self([0]), seconds=0.1).median

    def __call__(self, requests: list) -> list:
        with self.torch.inference_mode():
            x = self.torch.ones(len(requests), WIDTH)
            for weights in self.weights:
                x = self.torch.relu(x @ weights)
            return x[:, 0].tolist()


def _case(model: _Model, load: str, policy: str, seconds: float, repeats: int) -> Case:
    facts = {"load": LOADS[load], "policy": policy}
    facts |= dict.fromkeys(("p50", "p99", "batch", "in_flight", "seen"), 0.0)  # until it has run

    def observe(bench, _):
        with timing.single_thread(bench.torch):
            model.on(bench.torch)
            rate = LOADS[load] / model.alone
            runs = [batchers.beside(_drive(model, policy, rate, seconds, seed)) for seed in range(repeats)]
        latencies = sorted(latency for run in runs for latency in run["latencies"])
        facts.update(
            p50=serving.percentile(latencies, 50),
            p99=serving.percentile(latencies, 99),
            batch=sum(map(len, (run["latencies"] for run in runs))) / sum(run["batches"] for run in runs),
            in_flight=sum(latencies) / sum(run["seconds"] for run in runs),
            seen=sum(run["seen"] for run in runs) / repeats,
        )
        return [len(run["latencies"]) / run["seconds"] * model.alone for run in runs]

    def expect(device):  # what runs is a processor, also beside a GPU
        return predicted(device, LOADS[load], policy, seconds) if device.kind == "cpu" else None

    return Case(f"{policy}, {load}", say("call", load=LOADS[load]), observe=observe, expect=expect, facts=facts)


def step(device: hardware.Device, requests: int) -> float:
    """Seconds of one pass over so many requests, by the roofline."""
    layer = roofline.matmul(requests, WIDTH, WIDTH, "fp32")
    return roofline.predict_seconds(repeated(layer, LAYERS), device=device)


def predicted(device: hardware.Device, load: float, policy: str, seconds: float) -> float:
    """Served requests over those that one at a time can serve, on a virtual clock."""
    kind, most, window = POLICIES[policy]
    alone = step(device, 1)
    times = serving.arrivals(load / alone, min(3000, max(2, round(load * seconds / alone))))
    latencies, _ = serving.serve(times, lambda n: step(device, n), most, window, kind is batchers.Timer)
    ends = max(came + latency for came, latency in zip(times, latencies, strict=True))
    return len(times) / ends * alone


async def _drive(model: _Model, policy: str, rate: float, seconds: float, seed: int) -> dict:
    """Send requests for `seconds`, each at its own time whether or not earlier ones are answered; wait for all."""
    kind, most, window = POLICIES[policy]
    batcher, rng, latencies, sent = kind(model, most, window), random.Random(seed), [], []
    flight, looks = 0, []

    async def request(due):
        nonlocal flight
        flight += 1
        await batcher.infer(0)
        flight -= 1
        latencies.append(time.perf_counter() - due)  # from when it was due: a late sender hides no waiting

    async def watch():
        while True:
            looks.append(flight)
            await asyncio.sleep(0.001)

    watcher = asyncio.ensure_future(watch())
    begun = due = time.perf_counter()
    while True:
        due += rng.expovariate(rate)
        if due > begun + seconds and sent:
            break
        if (early := due - time.perf_counter()) > 0:
            await asyncio.sleep(early)
        sent.append(asyncio.ensure_future(request(due)))
    await asyncio.gather(*sent)
    took = time.perf_counter() - begun
    watcher.cancel()
    batcher.close()
    return {"latencies": latencies, "batches": len(batcher.sizes), "seconds": took, "seen": sum(looks) / len(looks)}


def plot(result):
    """Served requests of each policy, over those of one at a time."""
    served = [row for row in result.rows if row["load"] == LOADS["overload"]] or result.rows
    best = max(served, key=lambda row: row["measured"])
    return dots(result, title=say("title", policy=best["policy"], times=best["measured"]), axis=say("axis"))


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(
        say,
        "×",
        load="float ×",
        policy="str",
        p50="float s",
        p99="float s",
        batch="float",
        in_flight="float",
        seen="float",
        hidden=("policy", "in_flight", "seen"),
    ),
    recording_seconds=60.0,
)
