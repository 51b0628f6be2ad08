"""Forms of one computation, timed against each other: they take turns, so that what disturbs one disturbs all."""

import time
from collections.abc import Callable, Hashable, Mapping
from contextlib import nullcontext
from typing import Any, TypeVar

from course_lib.experiments.running import timing

Name = TypeVar("Name", bound=Hashable)

BLOCK = 2e-3  # s: a reading of the clock is of at least about so much work


def race(forms: Mapping[Name, Callable[[], object]], rounds: int = 7, on: str = "cpu") -> dict[Name, list[float]]:
    """Name -> seconds of a call, one value for each round, in which every form has its turn.

    On a processor one thread of torch, and seconds of this process on it: other programs count little. On "cuda" by the
    clock, whenever the GPU is done. A form is called twice first; autograd is as the caller left it.
    """
    torch = timing.need_torch()
    clock = time.process_time if on == "cpu" else _done(torch)
    with timing.single_thread(torch):
        times = {name: _times(form, clock) for name, form in forms.items()}
        found: dict[Name, list[float]] = {name: [] for name in forms}
        for _ in range(rounds):
            for name, form in forms.items():
                found[name].append(clocked(form, times[name], clock) / times[name])
    return found


def _done(torch) -> Callable[[], float]:
    def clock() -> float:
        torch.cuda.synchronize()
        return time.perf_counter()

    return clock


def _times(form: Callable[[], object], clock: Callable[[], float]) -> int:
    """Calls that fill a block; the first calls warm up."""
    form()
    return max(1, round(BLOCK / max(clocked(form, clock=clock), 1e-7)))


def clocked(form: Callable[[], object], times: int = 1, clock: Callable[[], float] = time.process_time) -> float:
    """Seconds by `clock` that so many calls take together."""
    begin = clock()
    for _ in range(times):
        form()
    return clock() - begin


class Heat:
    """The cases of an experiment that race each other: they run together when the first of them is asked for.

    make: bench -> the forms by name. They run on the processor and without autograd; training: on the bench's device,
    and with it.
    """

    def __init__(self, make: Callable[[Any], Mapping[Any, Callable[[], object]]], rounds: int, training: bool = False):
        self._make, self._rounds, self._training = make, rounds, training
        self._found: dict[Any, list[float]] = {}

    def seconds(self, bench, seconds: float, name) -> list[float]:
        """Seconds of the form `name`, one for each round; the arguments of a case's `observe`."""
        if not self._found:
            with nullcontext() if self._training else bench.torch.no_grad():
                self._found = race(self._make(bench), self._rounds, bench.on if self._training else "cpu")
        return self._found[name]

    def over(self, bench, seconds: float, name, base) -> list[float]:
        """Time of `name` over that of `base`, round by round."""
        taken, whole = self.seconds(bench, seconds, name), self.seconds(bench, seconds, base)
        return [a / b for a, b in zip(taken, whole, strict=True)]
