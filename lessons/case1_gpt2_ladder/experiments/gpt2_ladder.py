"""A training step of a small GPT-2, made faster rung by rung; each rung keeps what the one before it has.

Predicted is what Amdahl's law makes of a profile of the first rung, taken in the same run: fused attention makes no
passes over the scores and computes half of them; a fused AdamW moves 28 B for each parameter in place of 80. Nothing
predicts autocast.
"""

import statistics
from collections.abc import Mapping

from course_lib.accounting import hardware
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns, rows_of_quantity
from course_lib.figures.charts import dots
from course_lib.units.case1_gpt2_ladder import gpt_steps
from course_lib.units.case1_gpt2_ladder.experiments import step_shares
from course_lib.words import words

say = words(__file__)


HALF = 7 / 12  # fused: 2 products forward and 5 backward over half the square; eager: 2 and 4 over all of it
STREAMS = 28 / 80  # bytes that a fused AdamW moves for each parameter, over those of the loop


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Three rungs; full repeats them more often, and adds autocast."""
    climb = Climb(device, 4 if quick else 11)
    found = [_case(climb, rung, lambda bench, seconds, rung=rung: climb.seconds(bench)[rung]) for rung in climb.steps]
    if not quick:
        found.append(_case(climb, "autocast", climb.autocast))
    return tuple(found)


def _case(climb: "Climb", rung: str, observe) -> Case:
    call = say("calls", rung, seq=climb.foot.seq, batch=climb.foot.batch)
    return Case(say("cases", rung), call, observe=observe, expect=lambda device: climb.expect(rung))


class Climb:
    """Profiles the first rung once, and times the three that keep each other, once."""

    def __init__(self, device: hardware.Device, rounds: int):
        self.foot, self.rounds = gpt_steps.start(device), rounds
        flash = self.foot.but(attention="sdpa")
        self.steps = {"start": self.foot, "flash": flash, "fused": flash.but(optimizer="fused")}
        self.shares: dict[str, float] = {}
        self.took: dict[str, list[float]] = {}

    def seconds(self, bench) -> dict[str, list[float]]:
        """Rung -> seconds of a step in each round."""
        if not self.took:
            profile = step_shares.profiled(bench, self.foot, 3)
            self.shares = step_shares.shares({kind: statistics.median(took) for kind, took in profile.items()})
            steps = {rung: step.build(bench) for rung, step in self.steps.items()}
            self.took = gpt_steps.in_turn(bench, steps, self.rounds)
        return self.took

    def expect(self, rung: str) -> float | None:
        """Seconds by Amdahl from the profile of the first rung; None until there is one, or where nothing predicts."""
        if not self.shares or rung not in PREDICTED:
            return None
        left = sum(left_of(self.shares, PREDICTED[rung]).values())
        return statistics.median(self.took["start"]) * left

    def autocast(self, bench, seconds: float) -> list[float]:
        step = self.steps["fused"].but(autocast=True)
        return gpt_steps.in_turn(bench, {"step": step.build(bench)}, self.rounds)["step"]


FLASH = {"scores": HALF, "passes": 0.0}
FUSED = FLASH | {"optimizer": STREAMS}
PREDICTED = {"flash": FLASH, "fused": FUSED}
"""Rung -> kind of operation -> what is predicted to be left of its time."""


def left_of(shares: Mapping[str, float], left: Mapping[str, float]) -> dict[str, float]:
    """Kind -> its share of the old step that is left."""
    return {kind: share * left.get(kind, 1) for kind, share in shares.items()}


def plot(result):
    """The time of a step on each rung."""
    took = list(result.measured.values())
    return dots(result, title=say("title", factor=took[0] / min(took)), axis=say("axis"))


EXPERIMENT = Experiment(
    name="gpt2_ladder",
    question=say("question"),
    columns=quantity_columns(say("columns", "measured"), "s"),
    cases=cases,
    table=rows_of_quantity,
    plot=plot,
    recording_seconds=60,
    on_gpu=say("on-gpu"),
    method=say.all("method"),
)
