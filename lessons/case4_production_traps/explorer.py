"""What a wait for the device costs, over how often the host waits."""

from course_lib.figures.plots import Axis, Figure, Line, Points
from course_lib.teaching.explore.controls import Number, Whole
from course_lib.teaching.explore.frame import View, build
from course_lib.units.case4_production_traps.syncing import each_step, slower
from course_lib.words import words

say = words(__file__)
LONGEST = 200  # steps between two waits
ALLOWED = 1.05


def waiting(host=3.0, device=4.0, every=1):
    """Time of a step, over that without waiting, where the host waits after every so many steps.

    host, device: ms of a step on each. Returns something to display, with `.state`, `.call` and `.reset()`. ValueError
    for an argument out of range.
    """
    controls = {
        "host": Number(say("controls", "host"), 3.0, 0.1, 100, "ms"),
        "device": Number(say("controls", "device"), 4.0, 0.1, 100, "ms"),
        "every": Whole(say("controls", "every"), start=1, low=1, high=LONGEST),
    }
    return build(view, controls, {"host": host, "device": device, "every": every}, "explorer.waiting")


def rarely_enough(host: float, device: float, most: float = ALLOWED) -> int:
    """The least number of steps between two waits with which a step takes at most `most` times as long."""
    every = 1
    while slower(host, device, every) > most + 1e-12:
        every += 1
    return every


def view(host: float, device: float, every: int) -> View:
    """The picture and the numbers of one state."""
    now, free = each_step(host, device, every), max(host, device)
    enough = rarely_enough(host, device)
    numbers = {"host": host, "device": device, "every": every, "times": now / free, "enough": enough}
    places = (*range(1, 16), 20, 30, 50, 100, LONGEST)
    figure = Figure(
        title=say("title", "rare" if now / free <= ALLOWED + 1e-12 else "often", **numbers),
        description=say("description", **numbers),
        x=Axis(say("axes", "x"), "", 1, LONGEST, "log"),
        y=Axis(say("axes", "y"), "×", 0.95, 2.1),
        marks=(
            Line((1, LONGEST), (ALLOWED, ALLOWED), say("lines", "allowed"), dashed=True),
            Line(places, tuple(slower(host, device, k) for k in places)),
            Points((every,), (now / free,), (say("lines", "here"),), strong=True),
        ),
    )
    readout = {
        "free": say("ms", value=free),
        "now": say("ms", value=now),
        "times": say("times", value=now / free),
        "enough": say("steps", value=enough),
    }
    return View(figure, say.rows(readout), say.all("notes"))
