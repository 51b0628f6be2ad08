"""A circuit of four qubits trained by an ordinary processor: how low its energy gets, by the shots of each reading."""

from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.words import words

say = words(__file__)

QUBITS, LAYERS, STEPS, RATE = 4, 3, 40, 0.2
CASES = {"ten": 10, "hundred": 100, "thousand": 1000, "exact": None}  # shots of each circuit


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Four numbers of shots; full takes five seeds."""
    return tuple(
        Case(
            say("cases", name),
            say("call"),
            observe=partial(_observe, shots=shots, seeds=(1,) if quick else range(5)),
            facts={"shots": STEPS * LAYERS * QUBITS * 2 * 2 * (shots or 0)},
        )
        for name, shots in CASES.items()
    )


def _observe(bench, seconds: float, shots: int | None, seeds) -> list[float]:
    from course_lib.units.q23_quantum import circuits

    least = circuits.lowest(QUBITS)
    loops = (circuits.train(QUBITS, LAYERS, shots, STEPS, RATE, seed) for seed in seeds)
    return [100 * loop.energy / least for loop in loops]


def plot(result):
    """How far each run got."""
    got = result.measured
    return dots(
        result,
        title=say("title", few=got[say("cases", "hundred")], exact=got[say("cases", "exact")]),
        axis=say("axis"),
        log=False,
    )


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "%", shots="int"),
    timed=False,
    method={"qubits": QUBITS, "layers": LAYERS, "angles": QUBITS * LAYERS, "steps": STEPS, "rate": RATE},
)
