"""How often a scheduler has something to issue, over the warps that it holds: warps or independent work hide latency."""

from course_lib.accounting.hardware import multiprocessors
from course_lib.figures.plots import Axis, Figure, Line, Points
from course_lib.teaching.explore.controls import Whole
from course_lib.teaching.explore.frame import View, build
from course_lib.words import words

say = words(__file__)

A100 = "a100-40-sxm"
SCHEDULERS = 4  # of an SM
MOST = 512  # warps that the picture shows


def latency_hiding(warps=16, independent=1, latency=400):
    """Share of the clocks in which a scheduler issues, over the warps that it holds.

    warps: of one scheduler. independent: instructions of each warp that do not wait for each other. latency: clocks
    until a result is there. Returns something to display, with `.state`, `.call` and `.reset()`. ValueError for an
    argument out of range.
    """
    controls = {
        "warps": Whole(say("controls", "warps"), start=16, high=MOST),
        "independent": Whole(say("controls", "independent"), start=1, high=64),
        "latency": Whole(say("controls", "latency"), start=400, high=1000),
    }
    return build(
        view, controls, {"warps": warps, "independent": independent, "latency": latency}, "explorer.latency_hiding"
    )


def share(warps: int, independent: int, latency: int) -> float:
    """Of the clocks: chains over latency, and never more than all. `multiprocessors.issue_share` simulates it."""
    return min(1.0, warps * independent / latency)


def fewest(independent: int, latency: int) -> int:
    """Warps that keep the scheduler busy."""
    return -(-latency // independent)


def view(warps, independent, latency) -> View:
    """The picture and the numbers of one state."""
    busy, needed = share(warps, independent, latency), fewest(independent, latency)
    places = multiprocessors.one(A100).warps // SCHEDULERS
    top = max(2 * needed, 2 * warps, 2 * places)
    corner = latency / independent  # warps, of which there may be no whole number
    values = {"warps": warps, "independent": independent, "latency": latency, "busy": busy, "needed": needed}
    kind = "busy" if busy >= 1 else "waits"
    figure = Figure(
        title=say("title", kind, **values),
        description=say(
            "description", corner=corner, places=places, at_places=share(places, independent, latency), **values
        ),
        x=Axis(say("axes", "x"), "", 0, top),
        y=Axis(say("axes", "y"), "%", 0, 115),
        marks=(
            Line((0, corner, top), (0, 100, 100), say("lines", "share"), label_at=1),
            Line((places, places, places), (0, 58, 112), say("lines", "places"), label_at=1, dashed=True),
            Points((warps,), (100 * busy,), (say("lines", "here"),), strong=True),
        ),
    )
    readout = {
        "busy": say("per-cent", share=busy),
        "issued": say("a-clock", count=SCHEDULERS * busy),
        "chains": say("count", count=warps * independent),
        "needed": say("count", count=needed),
        "occupancy": say("per-cent", share=warps / places) if warps <= places else say("too-many", places=places),
    }
    return View(figure, say.rows(readout), say.all("notes"))
