"""A training step of a small decoder on real gloo ranks, split in seven ways: bytes predicted, handed over and sent."""

from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.q20_design_a_framework import cluster
from course_lib.words import words

say = words(__file__)


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Each plan once; full has no more, for bytes do not depend on time."""
    return tuple(_case(name, plan) for name, plan in cluster.PLANS.items())


def _case(name: str, plan) -> Case:
    facts = {"ranks": plan.ranks, "sockets": None, "off": 0.0}  # the run fills them in

    def observe(bench, seconds: float) -> list[float]:
        step = cluster.step(plan)
        facts.update(off=step.off, sockets=None if step.sockets is None else 100 * (step.sockets / step.total - 1))
        return [float(step.payload)]

    return Case(name, say("calls", name), observe=observe, expect=partial(_expected, plan=plan), facts=facts)


def _expected(device: hardware.Device, plan) -> float:
    return float(cluster.predicted(plan))


def plot(result):
    """Bytes of each plan."""
    most, least = max(result.measured.values()), min(result.measured.values())
    return dots(result, title=say("title", ratio=most / least), axis=say("axis"))


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "B", ranks="int", sockets="float? %", off="float"),
    timed=False,
    method={
        "layers": cluster.LAYERS,
        "width": cluster.WIDTH,
        "vocab": cluster.VOCAB,
        "batch": cluster.BATCH,
        "seq": cluster.SEQ,
    },
)
