"""Time lost to checkpoints and failures over the interval between checkpoints."""

from bisect import bisect

from course_lib.accounting import economics, units
from course_lib.figures.plots import Axis, Figure, Line, Points
from course_lib.teaching.explore.controls import Choice, Number, Whole
from course_lib.teaching.explore.frame import View, build
from course_lib.words import words

say = words(__file__)
YEAR = 365.25 * 86_400  # s
RESTARTS = (0, 60, 300, 600, 1800, 3600)  # s
FACTORS = tuple(2 ** (step / 8) for step in range(-32, 33))  # intervals, over Young's


def lost_time(devices=16_384, years=5.8, checkpoint=60.0, restart=0):
    """What a job on `devices` devices loses over its interval, if each of them fails once in `years` years.

    checkpoint: seconds of one; restart: seconds from a failure to the first new step, one of
    `RESTARTS`. Returns something to display, with `.state`, `.call` and `.reset()`. ValueError for an argument out of range.
    """
    controls = {
        "devices": Whole(say("controls", "devices"), start=16_384, high=100_000),
        "years": Number(say("controls", "years"), start=5.8, low=0.1, high=50.0),
        "checkpoint": Number(say("controls", "checkpoint"), start=60.0, low=0.1, high=3600.0, unit="s"),
        "restart": Choice(say("controls", "restart"), {each: units.format_seconds(each) for each in RESTARTS}),
    }
    state = {"devices": devices, "years": years, "checkpoint": checkpoint, "restart": restart}
    return build(view, controls, state, "explorer.lost_time")


def first_above(percent: float, *, years: float, checkpoint: float) -> int:
    """The smallest number of devices that lose more than so many % at the best interval, restarts left out."""

    def lost(devices: int) -> float:
        rates = {"checkpoint_seconds": checkpoint, "mtbf_seconds": years * YEAR / devices}
        return 100 * economics.expected_waste(interval_seconds=economics.daly_interval(**rates), **rates)

    return 1 + bisect(range(1, 10**6), percent, key=lost)


def view(devices: int, years: float, checkpoint: float, restart: int) -> View:
    """The picture and the numbers of one state."""
    rates = {"checkpoint_seconds": checkpoint, "mtbf_seconds": years * YEAR / devices}

    def lost(interval):
        return 100 * economics.expected_waste(interval_seconds=interval, restart_seconds=restart, **rates)

    try:
        young, daly = economics.young_interval(**rates), economics.daly_interval(**rates)
        best, twice, half = lost(daly), lost(2 * daly), lost(daly / 2)
    except ValueError:
        spans = {"mtbf": rates["mtbf_seconds"], "checkpoint": checkpoint, "restart": restart}
        raise ValueError(say("never", **{name: units.format_seconds(each) for name, each in spans.items()})) from None
    values = {
        "mtbf": units.format_seconds(rates["mtbf_seconds"]),
        "young": units.format_seconds(young),
        "daly": units.format_seconds(daly),
        "best": best,
        "twice": twice,
        "half": half,
    }
    high = 4 * best
    reached = [young * factor for factor in FACTORS if young * factor + checkpoint < 3 * rates["mtbf_seconds"]]
    shown = {interval / 60: waste for interval in reached if (waste := lost(interval)) <= high}
    figure = Figure(
        title=say("title", **values),
        description=say("description", devices=devices, **values),
        x=Axis(say("axes", "x"), "min", min(shown) / 1.1, max(shown) * 1.1, "log"),
        y=Axis(say("axes", "y"), "%", 0, high),
        marks=(
            Line(list(shown), list(shown.values())),
            Points((daly / 60,), (best,), (say("best"),), strong=True),
        ),
    )
    readout = {name: values[name] for name in ("mtbf", "young", "daly")}
    readout |= {name: say("percent", share=values[name]) for name in ("best", "half", "twice")}
    return View(figure, say.rows(readout), say.all("notes"))
