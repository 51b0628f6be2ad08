"""Sixty forward passes, and what is left of them in memory: by what is put into the list."""

from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running import allocation, timing
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.case4_production_traps import keeping
from course_lib.words import words

say = words(__file__)


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Seven habits; full differs from quick in nothing: bytes do not vary."""
    return tuple(
        Case(
            say("cases", habit),
            say("calls", habit),
            observe=partial(_observe, habit=habit),
            expect=lambda device, habit=habit: float(keeping.predicted(habit)),
            gradients=True,
            facts={"habit": habit},
        )
        for habit in keeping.HABITS
    )


def _observe(bench, seconds: float, habit: str) -> list[float]:
    """Bytes given, less those taken back, over all steps, while the list is alive."""
    with timing.single_thread(bench.torch), bench.torch.enable_grad():
        return [float(sum(allocation.changes(bench.torch, keeping.keep(bench.torch, habit))))]


def plot(result):
    """Bytes of each habit."""
    graph = result.measured[say("cases", "graph")] / keeping.STEPS
    return dots(result, title=say("title", each=graph / 1e6), axis=say("axis"), log=False)


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "B", habit="str", hidden=("habit",)),
    timed=False,
    method={"layers": keeping.LAYERS, "width": keeping.WIDTH, "rows": keeping.ROWS, "steps": keeping.STEPS},
)
