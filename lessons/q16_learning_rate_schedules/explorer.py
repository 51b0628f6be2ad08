"""The mean loss of a noisy descent on a bowl of two directions, by rate, momentum and schedule, and the floor under it."""

import math

from course_lib.accounting import optimisation
from course_lib.figures.plots import Axis, Figure, Line
from course_lib.teaching.explore.controls import Choice, Number, Whole
from course_lib.teaching.explore.frame import View, build
from course_lib.units.q16_learning_rate_schedules import bowls
from course_lib.units.q16_learning_rate_schedules.schedules import KINDS, rates
from course_lib.words import words

say = words(__file__)
STEPS, SHOWN = 200, 1e9  # SHOWN: at it, and at one over it, a line ends
MOMENTA = {"0": 0.0, "0.5": 0.5, "0.9": 0.9, "0.95": 0.95}


def descent(rate=0.3, momentum="0", kind="constant", warmup=0, curvature=1.0, noise=1.0):
    """200 steps down a bowl with the curvatures 1 and `curvature`, from 10 in both directions.

    rate: the peak. momentum: one of `MOMENTA`, as text. kind: one of `schedules.KINDS`. warmup: steps. noise: standard
    deviation of each direction's gradient. Returns something to display, with `.state`, `.call` and `.reset()`.
    ValueError for an argument out of range.
    """
    controls = {
        "rate": Number(say("controls", "rate"), start=0.3, low=0.001, high=10.0),
        "momentum": Choice(say("controls", "momentum"), tuple(MOMENTA)),
        "kind": Choice(say("controls", "kind"), KINDS),
        "warmup": Whole(say("controls", "warmup"), start=0, low=0, high=100),
        "curvature": Number(say("controls", "curvature"), start=1.0, low=1.0, high=1000.0),
        "noise": Number(say("controls", "noise"), start=1.0, low=0.001, high=10.0),
    }
    state = {
        "rate": rate,
        "momentum": momentum,
        "kind": kind,
        "warmup": warmup,
        "curvature": curvature,
        "noise": noise,
    }
    return build(view, controls, state, "explorer.descent")


def view(rate: float, momentum: str, kind: str, warmup: int, curvature: float, noise: float) -> View:
    """The picture and the numbers of one state."""
    followed, beta = rates(kind, STEPS, rate, warmup), MOMENTA[momentum]
    each = [bowls.expected(followed, one, noise, beta) for one in (1.0, curvature)]
    losses = [sum(both) for both in zip(*each, strict=True)]
    floor = sum(optimisation.noise_floor(rate, one, noise, momentum=beta) for one in (1.0, curvature))
    grows = not losses[-1] < losses[0]
    steps, lines = _within(losses)
    marks = [Line(steps, tuple(lines), say("loss"))]
    if math.isfinite(floor) and floor > 1 / SHOWN:
        marks.append(Line((0, STEPS), (floor, floor), say("floor"), label_at=0, dashed=True))
        lines.append(floor)
    facts = {"rate": rate, "loss": losses[-1], "floor": floor, "kind": kind}
    told = "grows" if grows else "falls" if math.isfinite(floor) else "above"
    figure = Figure(
        title=say("title", told, **facts),
        description=say("description", told, momentum=momentum, curvature=curvature, noise=noise, **facts),
        x=Axis(say("axes", "x"), "", 0, STEPS),
        y=Axis(
            say("axes", "y"),
            "",
            max(_decade(min(lines), math.floor), 1 / SHOWN),
            min(_decade(max(lines), math.ceil), SHOWN),
            "log",
        ),
        marks=tuple(marks),
    )
    readout = {
        "end": say("gone") if grows else f"{losses[-1]:.3g}",
        "floor": f"{floor:.3g}" if math.isfinite(floor) else say("none"),
        "area": f"{sum(followed) / STEPS / rate:.2f}",
    }
    return View(figure, say.rows(readout), say.all("notes"))


def _within(losses: list[float]) -> tuple[list[float], list[float]]:
    """Steps and losses up to where the line between two of them leaves 1 / `SHOWN` to `SHOWN`, and that place."""
    ended = next((at for at, loss in enumerate(losses) if not 1 / SHOWN < loss < SHOWN), len(losses))
    steps, inside = list(range(ended)), losses[:ended]
    if ended == len(losses):
        return steps, inside
    last, beyond = losses[ended - 1 : ended + 1]
    edge = SHOWN if beyond > last else 1 / SHOWN
    share = math.log(edge / last) / math.log(beyond / last)  # straight where the axis is logarithmic
    return [*steps, ended - 1 + share], [*inside, edge]


def _decade(value: float, to) -> float:
    """The power of ten next to `value`, and not `value` itself."""
    nearest = to(math.log10(value))
    return 10.0 ** (nearest + (0 if 10.0**nearest != value else 1 if to is math.ceil else -1))
