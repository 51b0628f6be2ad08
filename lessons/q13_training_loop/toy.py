"""A training run in plain Python, small enough to be killed at any step and compared in full: one weight, fitted to
shuffled points, with momentum, a falling learning rate, and noise on the input that is drawn as dropout is.
"""

from dataclasses import dataclass, field
from random import Random

PIECES = ("optimizer", "schedule", "generator", "position")
STEPS, AT, POINTS = 60, 25, 16
_POINTS = tuple((x / 8, 3 * x / 8 + (x * 7 % 5 - 2) / 4) for x in range(1, POINTS + 1))


@dataclass
class Run:
    """weight, and beside it the four pieces: `momentum`, `lr_step` of the schedule, `generator`, `position`."""

    weight: float = 0.0
    momentum: float = 0.0
    lr_step: int = 0
    position: int = 0
    generator: Random = field(default_factory=lambda: Random(1))
    losses: list[float] = field(default_factory=list)

    def step(self) -> None:
        epoch, place = divmod(self.position, POINTS)
        order = Random(epoch).sample(range(POINTS), POINTS)
        x, y = _POINTS[order[place]]
        x *= self.generator.uniform(0.8, 1.2)
        error = self.weight * x - y
        self.losses.append(error * error)
        self.momentum = 0.8 * self.momentum + 2 * error * x
        self.weight -= 0.02 * (1 - self.lr_step / STEPS) * self.momentum
        self.lr_step, self.position = self.lr_step + 1, self.position + 1


def straight() -> Run:
    """A run that nobody stops."""
    run = Run()
    for _ in range(STEPS):
        run.step()
    return run


def resumed(forgotten=()) -> Run:
    """The same run, stopped after `AT` steps and resumed without the pieces that were `forgotten`."""
    before = Run()
    for _ in range(AT):
        before.step()
    run = Run(weight=before.weight, losses=before.losses, generator=Random(7))
    if "optimizer" not in forgotten:
        run.momentum = before.momentum
    if "schedule" not in forgotten:
        run.lr_step = before.lr_step
    if "generator" not in forgotten:
        run.generator.setstate(before.generator.getstate())
    if "position" not in forgotten:
        run.position = before.position
    while len(run.losses) < STEPS:
        run.step()
    return run
