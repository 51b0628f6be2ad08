"""Steps under torch's profiler: their events by kind, what those ran in; and its start and stop, without a word."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

REGION = "course: step"  # what a step is called in a profile


@contextmanager
def silent() -> Iterator[None]:
    """Nothing reaches the process's standard error: some versions say there that the profiler starts and stops."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def ancestors(event) -> Iterator[str]:
    """Names of the events that `event` ran in, from the nearest."""
    while event.cpu_parent is not None:
        event = event.cpu_parent
        yield event.name


def profiled(torch, take_step: Callable[[], object], steps: int, on_gpu: bool, **options: Any) -> list:
    """The host's events of so many steps, each in a `REGION`. options: of `torch.profiler.profile`."""
    from torch.autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile, record_function

    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    profiler = profile(activities=activities, **options)
    with silent():
        profiler.start()
    for _ in range(steps):
        with record_function(REGION):
            take_step()
            if on_gpu:
                torch.cuda.synchronize()
    with silent():
        profiler.stop()
    return [event for event in profiler.events() if event.device_type == DeviceType.CPU]


def by_kind(
    events: Sequence, kinds: Sequence[str], kind_of: Callable[[Any], str], rest: str, on_gpu: bool
) -> dict[str, list[float]]:
    """Kind -> seconds in each step of the events of `profiled`. What no event accounts for is of the kind `rest`, so
    that the kinds of a step sum to its time.
    """
    steps = sorted((event.time_range for event in events if event.name == REGION), key=lambda found: found.start)
    found = {kind: [0.0] * len(steps) for kind in kinds}
    for event in events:
        begin = event.time_range.start
        number = next((n for n, step in enumerate(steps) if step.start <= begin <= step.end), None)
        kind = kind_of(event)
        if number is not None and kind != rest:
            own = event.self_device_time_total if on_gpu else event.self_cpu_time_total
            found[kind][number] += own * 1e-6
    for number, step in enumerate(steps):
        whole = (step.end - step.start) * 1e-6
        found[rest][number] = whole - sum(times[number] for times in found.values())
    return found
