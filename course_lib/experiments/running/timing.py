"""How a time is taken: `timeit` loops, by the clock of `torch.utils.benchmark`, which waits for the accelerator first.

Method. The call runs once before anything is timed (pages are touched, kernels are loaded, threads have started). It
then runs in blocks, at most about 50 of them, each so long that reading the clock costs less than a thousandth of it;
one block gives one repeat. The garbage collector is off inside a block. Nothing is dropped: every repeat is kept, and
reported are the median and the quartiles.
"""

import contextlib
import statistics
import timeit
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from course_lib.experiments.running.errors import Unavailable

NOISY = 0.25  # (q3 − q1) / median above this is reported as a wide spread


@dataclass(frozen=True)
class Repeats:
    """What one thing came to every time it was measured: seconds of a call, or bytes, or a rate."""

    values: tuple[float, ...]
    interrupted: bool = False

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def quartiles(self) -> tuple[float, float]:
        """(first, third), interpolated linearly as numpy does; of one value, that value."""
        if len(self.values) == 1:
            return self.values[0], self.values[0]
        first, _, third = statistics.quantiles(self.values, n=4, method="inclusive")
        return first, third

    @property
    def spread(self) -> float:
        """Interquartile range over median."""
        first, third = self.quartiles
        return (third - first) / self.median if third > first else 0.0

    def scaled(self, factor: float) -> "Repeats":
        return Repeats(tuple(value * factor for value in self.values), self.interrupted)


def measure(call: Callable[[], object], *, seconds: float, at_least: int = 5) -> Repeats:
    """Time `call()` for about `seconds`, and at least `at_least` repeats, on as many threads as torch is set to.

    An interrupt (Ctrl-C, the stop button) ends the measurement: repeats taken so far are returned with
    `interrupted=True`; before the first one KeyboardInterrupt goes on.
    """
    need_torch()
    from torch.utils.benchmark import timer as clock

    loop = timeit.Timer(call, timer=clock)
    call()
    shortest = max(1000 * _cost(clock), seconds / 50)  # of a block
    number, wanted, kept = 1, at_least, []
    latest = clock() + 3 * seconds  # a disturbed block may take many times as long as the one that was tried
    try:
        while len(kept) < wanted:
            block = loop.timeit(number)
            if block < shortest and len(kept) < 2:  # the first may only have been disturbed
                number = max(2 * number, int(number * shortest / max(block, 1e-9)))
                kept = []
                continue
            kept.append(block / number)
            if len(kept) < 3:
                wanted = max(at_least, round(seconds / block))
            elif len(kept) >= at_least and clock() > latest:
                break
    except KeyboardInterrupt:
        if not kept:
            raise
        return Repeats(tuple(kept), interrupted=True)
    return Repeats(tuple(kept))


def measure_whole(call: Callable[[], object], *, seconds: float, at_least: int = 5) -> Repeats:
    """As `measure`, where half a measurement is none: an interrupt is a KeyboardInterrupt."""
    repeats = measure(call, seconds=seconds, at_least=at_least)
    if repeats.interrupted:
        raise KeyboardInterrupt
    return repeats


@contextlib.contextmanager
def fp32_products(torch, dtype: str):
    """Products of fp32 matrices in TF32 if `dtype` says so, else not, whatever the learner set; for a with-block."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if dtype == "tf32" else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@contextlib.contextmanager
def single_thread(torch):
    """torch on one thread for the length of a with-block."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _cost(clock: Callable[[], float]) -> float:
    """Seconds that reading the clock takes, waiting for an idle accelerator included."""
    readings = [clock() for _ in range(6)]
    return statistics.median(after - before for before, after in pairwise(readings))


def has_torch() -> bool:
    """Whether torch can be imported in this kernel."""
    try:
        need_torch()
    except Unavailable:
        return False
    return True


def need_torch():
    """The torch module, or Unavailable with what still works without it."""
    try:
        import torch
    except ImportError:
        raise Unavailable(
            "PyTorch is not installed in this kernel, so nothing can be measured live. The calculators, the cards "
            "and the recordings work without it; `make lab` sets up an environment that has it."
        ) from None
    return torch


def resolve_on(on: str) -> str:
    """ "cpu" or "cuda" for `on`; "auto" is the GPU if torch sees one. Unavailable for "cuda" without CUDA."""
    if on not in ("auto", "cpu", "cuda"):
        raise ValueError(f"on={on!r} must be 'auto', 'cpu' or 'cuda'.")
    torch = need_torch()
    if on == "cuda" and not torch.cuda.is_available():
        raise Unavailable(
            "on='cuda' needs an NVIDIA GPU and a torch built for it, and torch sees none here: "
            "use on='auto', or load a recording."
        )
    return ("cuda" if torch.cuda.is_available() else "cpu") if on == "auto" else on
