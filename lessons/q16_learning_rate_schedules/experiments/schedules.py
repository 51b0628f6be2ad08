"""Five schedules at several peaks of the learning rate, each run with the same FLOPs on the same text."""

from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import curves
from course_lib.units.q16_learning_rate_schedules import networks
from course_lib.units.q16_learning_rate_schedules.schedules import KINDS, rates
from course_lib.words import words

say = words(__file__)

PEAKS, ENDS = (1e-3, 3e-3, 1e-2, 3e-2), (1e-3, 3e-2)
QUICK = ("constant", "cosine", "wsd")


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Three schedules at the smallest and the largest peak, from one seed; full: five at four peaks, from three."""
    kinds, peaks = (QUICK, ENDS) if quick else (KINDS, PEAKS)
    return tuple(
        Case(
            f"{kind}, {peak:g}",
            say("calls", steps=networks.ROUNDS, batch=networks.BATCH),
            observe=partial(_observe, kind=kind, peak=peak, seeds=1 if quick else 3),
            facts={"kind": kind, "peak": peak, "flops": networks.FLOPS},
        )
        for kind in kinds
        for peak in peaks
    )


def _observe(bench, seconds: float, kind: str, peak: float, seeds: int) -> list[float]:
    followed = rates(kind, networks.ROUNDS, peak)
    return [networks.characters_loss(bench.torch, followed, seed) for seed in range(seeds)]


EXPERIMENT = Experiment(
    say,
    cases,
    partial(curves, x="peak", title=say("title"), axis=say("axis"), by="kind", log=(True, False), only=QUICK),
    quantity_columns(say, "nat", kind="str", peak="float", flops="int FLOP", hidden=("kind", "peak")),
    timed=False,
    method={"params": networks.PARAMETERS, "test": networks.TEST},
)
