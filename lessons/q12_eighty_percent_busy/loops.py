"""Loops of a training program in small, on one thread of this processor: what the unit's experiments run."""

import queue
import statistics
import sys
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from itertools import pairwise

from course_lib.experiments.profile.machine import cores as cores
from course_lib.experiments.running.racing import clocked

SIDE = 512  # of the matrices of a step
ROWS = 64
LAYERS = 6


def step(torch, layers: int = LAYERS) -> Callable[[], object]:
    """A forward pass of layers of 512 numbers for 64 rows, about half a millisecond a layer on one core."""
    generator = torch.Generator().manual_seed(0)
    weights = [torch.randn(SIDE, SIDE, generator=generator) for _ in range(layers)]
    x = torch.randn(ROWS, SIDE, generator=generator)

    def compute():
        y = x
        for weight in weights:
            y = torch.relu(y @ weight)
        return y

    return compute


def seconds_of(call: Callable[[], object], times: int = 9) -> float:
    """The median of `times` calls, after one that is not counted."""
    call()
    return statistics.median(clocked(call, clock=time.perf_counter) for _ in range(times))


def watched(call: Callable[[], object], seconds: float) -> tuple[float, float, float]:
    """(processor time over time, in cores; calls a second; median seconds of a call) of `call` for `seconds`."""
    start, processor = time.perf_counter(), time.process_time()
    ends = [start]
    while ends[-1] - start < seconds or len(ends) < 6:
        call()
        ends.append(time.perf_counter())
    elapsed = ends[-1] - start
    typical = statistics.median(after - before for before, after in pairwise(ends))
    return (time.process_time() - processor) / elapsed, (len(ends) - 1) / elapsed, typical


def one_lock() -> bool:
    """Whether only one thread of this Python runs at a time."""
    return getattr(sys, "_is_gil_enabled", lambda: True)()


def poll(seconds: float) -> None:
    """Wait by asking for the time again and again."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


@contextmanager
def spinner(interval: float):
    """A Python thread that does nothing, as fast as it can, for the length of a with-block.

    interval: s after which a thread that waits for Python's lock may ask for it.
    """
    over, before = False, sys.getswitchinterval()

    def spin():
        while not over:
            pass

    thread = threading.Thread(target=spin, daemon=True)
    sys.setswitchinterval(interval)
    thread.start()
    try:
        yield
    finally:
        over = True
        thread.join()
        sys.setswitchinterval(before)


@contextmanager
def loaders(fetch: Callable[[], object], workers: int, ahead: int = 2):
    """`workers` threads that fetch batches into a queue, which holds `ahead` a worker; gives the function that takes one."""
    batches, over = queue.Queue(workers * ahead), threading.Event()

    def work():
        while not over.is_set():
            batch = fetch()
            while not over.is_set():
                try:
                    batches.put(batch, timeout=0.05)
                    break
                except queue.Full:
                    pass

    threads = [threading.Thread(target=work, daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    try:
        yield batches.get
    finally:
        over.set()
        for thread in threads:
            thread.join()
