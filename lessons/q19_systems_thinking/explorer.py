"""Four stages that work at once, one of them with several workers: ms for a batch in each, and who decides."""

from course_lib.figures.plots import Axis, Figure, Stack
from course_lib.teaching.explore.controls import Whole
from course_lib.teaching.explore.frame import View, build
from course_lib.units.q19_systems_thinking import stages
from course_lib.words import words

say = words(__file__)
NAMES = ("load", "decode", "copy", "compute")
MOST = 200


def pipeline_stages(load=5, decode=30, workers=1, copy=2, compute=12, pause=1):
    """Who decides the pace of a pipeline of four stages.

    load, decode, copy, compute: ms for a batch. workers: that decode, each another batch. pause: ms with each batch in
    which all stand still. Returns something to display, with `.state` and `.call`. ValueError for a value out of range.
    """
    state = {"load": load, "decode": decode, "workers": workers, "copy": copy, "compute": compute, "pause": pause}
    controls = {
        name: Whole(say("controls", name), start=start, high=16 if name == "workers" else MOST)
        for name, start in state.items()
    }
    return build(view, controls, state, "explorer.pipeline_stages")


def view(load: int, decode: int, workers: int, copy: int, compute: int, pause: int) -> View:
    """The picture and the numbers of one state."""
    parts = {"load": load, "decode": (decode, workers), "copy": copy, "compute": compute}
    each = (load, decode / workers, copy, compute)
    longest, left = max(each), stages.slack(parts)
    slowest = [say("stages", name) for name, ms in zip(NAMES, each, strict=True) if ms == longest]
    numbers = {"step": stages.step(parts, pause), "slowest": say("both").join(slowest)}
    shares = {"works": each, "waits": [longest - ms for ms in each], "pauses": [pause] * len(each)}
    figure = Figure(
        title=say("title", **numbers),
        description=say("description", each=dict(zip(NAMES, each, strict=True)), pause=pause, **numbers),
        x=Axis("", categories=tuple(say("stages", name) for name in NAMES)),
        y=Axis(say("axes", "y"), "ms", 0, 1.15 * numbers["step"]),
        marks=(Stack({say("parts", name): share for name, share in shares.items()}),),
    )
    readout = {
        "step": say("ms", ms=numbers["step"]),
        "turn": say("ms", ms=load + decode + copy + compute + pause),
        **{f"slack-{name}": say("ms", ms=left[name]) for name in NAMES},
    }
    return View(figure, say.rows(readout), say.all("notes"))
