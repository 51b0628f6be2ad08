"""Forms of one computation, timed against each other: by turns, on one thread, by the time of a processor."""

import time
from collections.abc import Callable, Mapping

from course_lib.experiments.running import timing

BLOCK = 2e-3  # s: a reading of the clock is of at least about so much work


def race(forms: Mapping[str, Callable[[], object]], rounds: int = 7) -> dict[str, list[float]]:
    """Name -> processor seconds of a call, one value for each round. In each round every form has its turn, so that
    what disturbs one disturbs all. torch works on one thread; autograd is as the caller left it.
    """
    torch = timing.need_torch()
    with timing.single_thread(torch):
        times = {name: _times(form) for name, form in forms.items()}
        found = {name: [] for name in forms}
        for _ in range(rounds):
            for name, form in forms.items():
                found[name].append(_clocked(form, times[name]) / times[name])
    return found


def _times(form: Callable[[], object]) -> int:
    """Calls that fill a block; the first calls warm up."""
    form()
    return max(1, round(BLOCK / max(_clocked(form, 1), 1e-7)))


def _clocked(form: Callable[[], object], times: int) -> float:
    begin = time.process_time()
    for _ in range(times):
        form()
    return time.process_time() - begin


class Heat:
    """The cases of an experiment that race each other: they run together when the first of them is asked for.

    make: torch -> the forms by name.
    """

    def __init__(self, make: Callable[[object], Mapping[str, Callable[[], object]]], rounds: int):
        self._make, self._rounds = make, rounds
        self._found: dict[str, list[float]] = {}

    def seconds(self, bench, seconds: float, name: str) -> list[float]:
        """Processor seconds of the form `name`, one for each round; the arguments of a case's `observe`."""
        if not self._found:
            with bench.torch.no_grad():
                self._found = race(self._make(bench.torch), self._rounds)
        return self._found[name]

    def over(self, bench, seconds: float, name: str, base: str) -> list[float]:
        """Time of `name` over that of `base`, round by round."""
        taken, whole = self.seconds(bench, seconds, name), self.seconds(bench, seconds, base)
        return [a / b for a, b in zip(taken, whole, strict=True)]
