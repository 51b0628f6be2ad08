"""One gate on a state vector in NumPy, on the whole state at once or block after block; by the qubits."""

import time
from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.racing import clocked
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import curves
from course_lib.units.q23_quantum import costs
from course_lib.words import words

say = words(__file__)

SIZES = (12, 14, 16, 18, 20, 22)
PASSES = {"whole": 7, "blocks": 2}  # times that as many bytes as the state has go to or come from memory
# Each of four products reads and writes half a state, each of two sums reads one and writes half. In blocks all of that
# stays in a cache: the state is read once and written once.
BLOCK = 2**14  # amplitudes: with results and a scratch half, 640 KiB


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Both ways, six sizes; full repeats them more often."""
    return tuple(
        Case(
            say("case", way, n=n),
            say("calls", way),
            observe=partial(_observe, way=way, n=n, least=0.05 if quick else 0.3),
            expect=lambda device, way=way, n=n: PASSES[way] * costs.state_bytes(n) / device.memory_bandwidth,
            facts={"way": say("ways", way), "qubits": n, "state": costs.state_bytes(n)},
        )
        for way in PASSES
        for n in SIZES
    )


def gate_on(way: str, n: int, qubit: int):
    """(a function that applies H to `qubit` and returns the new state, in memory that stays; the state before)."""
    import numpy as np

    from course_lib.units.q23_quantum import qubits

    state = np.random.default_rng(n).normal(size=(2**n, 2)).view(complex)[:, 0].copy()
    pairs = state.reshape(2**qubit, 2, -1)
    rows = len(pairs) if way == "whole" else max(1, min(len(pairs), BLOCK // pairs[0].size))
    new, half = np.empty_like(pairs), np.empty_like(pairs[:rows, 0])

    def gate():
        for first in range(0, len(pairs), rows):
            zero, one = pairs[first : first + rows, 0], pairs[first : first + rows, 1]
            for row in (0, 1):
                into = new[first : first + rows, row]
                np.multiply(zero, qubits.H[row][0], out=into)
                np.multiply(one, qubits.H[row][1], out=half)
                np.add(into, half, out=into)
        return new.reshape(-1)

    return gate, state


def _observe(bench, seconds: float, way: str, n: int, least: float) -> list[float]:
    """Seconds of a processor for one gate, of the quickest repeat: other programs disturb that least."""
    call, _ = gate_on(way, n, n // 2)
    times = max(1, 2 ** (15 - n))
    clocked(call, times)
    taken, until = [clocked(call, times) for _ in range(3)], time.process_time() + least
    while time.process_time() < until:
        taken.append(clocked(call, times))
    return [min(taken) / times]


def plot(result):
    """Time of a gate over the qubits, a line for each way."""
    took = {(row["way"], row["qubits"]): row["measured"] for row in result.rows}
    small, large = (took[say("ways", "whole"), n] for n in (16, 22))
    title = say("title", size=2 ** (22 - 16), times=large / small)
    return curves(result, x="qubits", by="way", title=title, axis=say("axis"), log=(False, True))


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "s", way="str", qubits="int", state="int B", hidden=("way", "qubits")),
    recording_seconds=60.0,
    method={"block": BLOCK, **PASSES},
)
