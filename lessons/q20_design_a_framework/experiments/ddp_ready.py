"""When DistributedDataParallel hands over its first bucket, in the course of a backward pass."""

import time
from contextlib import contextmanager
from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running import timing
from course_lib.experiments.running.errors import Unavailable
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.q20_design_a_framework import buckets
from course_lib.words import words

say = words(__file__)

LAYERS, WIDTH, ROWS, STEPS = 8, 1024, 512, 6
SIZES = [
    size for _ in range(LAYERS) for size in (4 * WIDTH, 4 * WIDTH**2)
]  # biases and weights, as backward makes them
CAPS = {"PyTorch's default": None, "cap of 5 MiB": 5, "cap of 25 MiB": 25, "cap of 100 MiB": 100}  # name → MiB


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Four caps; full has no more."""
    return tuple(
        Case(
            name,
            say("call"),
            observe=partial(_observe, cap=cap),
            expect=partial(_expected, cap=cap),
            gradients=True,
        )
        for name, cap in CAPS.items()
    )


def _expected(device: hardware.Device, cap: int | None) -> float:
    limits = {} if cap is None else {"cap": cap * buckets.MIB, "first": cap * buckets.MIB}
    return 100 * buckets.first_leaves_at(SIZES, **limits)


@contextmanager
def group_of_one(torch):
    """A default process group of this process alone, for the length of a with-block; nothing listens on a port."""
    distributed = torch.distributed
    if not distributed.is_available() or distributed.is_initialized():
        raise Unavailable(say("no-group"))
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    try:
        yield
    finally:
        distributed.destroy_process_group()


def _observe(bench, seconds: float, cap: int | None) -> list[float]:
    torch = bench.torch
    with timing.single_thread(torch), group_of_one(torch), torch.enable_grad():
        return ready(torch, cap)


def ready(torch, cap: int | None) -> list[float]:
    """Share of the backward pass, in %, at which the first bucket is handed over: of each step after the second."""
    net = torch.nn.Sequential(*[torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)])
    net = torch.nn.parallel.DistributedDataParallel(net, bucket_cap_mb=cap)
    handed: list[float] = []

    def note(state, bucket: torch.distributed.GradBucket) -> torch.futures.Future[torch.Tensor]:
        handed.append(time.perf_counter())
        done = torch.futures.Future()
        done.set_result(bucket.buffer())
        return done

    net.register_comm_hook(None, note)
    x, found = torch.randn(ROWS, WIDTH, generator=torch.Generator().manual_seed(0)), []
    for _ in range(STEPS):  # in the first step all gradients share a bucket; then they are put into several
        handed.clear()
        loss = net(x).sum()
        begin = time.perf_counter()
        loss.backward()
        found.append(100 * (handed[0] - begin) / (time.perf_counter() - begin))
    return found[2:]


def plot(result):
    """When the first bucket leaves."""
    found = result.measured
    title = say("title", default=found["PyTorch's default"], late=found["cap of 100 MiB"])
    return dots(result, title=title, axis=say("axis"), log=False)


EXPERIMENT = Experiment(
    say, cases, plot, quantity_columns(say, "%"), method={"layers": LAYERS, "width": WIDTH, "mb": sum(SIZES) / 1e6}
)
