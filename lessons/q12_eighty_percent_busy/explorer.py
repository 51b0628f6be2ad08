"""Four gauges of a GPU while one kernel runs again and again, by what the kernel does."""

from course_lib.accounting import hardware, units
from course_lib.accounting.hardware import multiprocessors
from course_lib.figures.plots import Axis, Bars, Figure, Label
from course_lib.teaching.explore.controls import Choice, Number, Whole
from course_lib.teaching.explore.frame import View, build
from course_lib.units.q12_eighty_percent_busy.needles import needles
from course_lib.words import words

say = words(__file__)
DEVICES = ("a100-40-sxm", "h100-sxm", "h200-sxm")
NEEDLES = ("util", "active", "memory", "peak")


def gauges(device="h100-sxm", blocks=1, chain=10.0, issue=5.0, megabytes=0.001, gflop=0.001):
    """What GPU-Util, SM active, DRAM and MFU show for a kernel of `blocks` blocks that is launched again and again.

    device: one of `DEVICES`. chain: µs of the longest row of steps in a block that wait for each other. issue: µs that the
    host needs for a launch. megabytes, gflop: what the kernel moves and computes, in MB and GFLOP in bf16.
    Returns something to display, with `.state`, `.call` and `.reset()`. ValueError for an argument out of range.
    """
    controls = {
        "device": Choice(say("controls", "device"), {id: hardware.load(id).name for id in DEVICES}, start="h100-sxm"),
        "blocks": Whole(say("controls", "blocks"), start=1, high=4096),
        "chain": Number(say("controls", "chain"), start=10.0, low=0.1, high=10_000.0, unit="µs"),
        "issue": Number(say("controls", "issue"), start=5.0, low=0.1, high=100.0, unit="µs"),
        "megabytes": Number(say("controls", "megabytes"), start=0.001, low=0.001, high=10_000.0, unit="MB"),
        "gflop": Number(say("controls", "gflop"), start=0.001, low=0.001, high=10_000.0, unit="GFLOP"),
    }
    state = {
        "device": device,
        "blocks": blocks,
        "chain": chain,
        "issue": issue,
        "megabytes": megabytes,
        "gflop": gflop,
    }
    return build(view, controls, state, "explorer.gauges")


def view(device: str, blocks: int, chain: float, issue: float, megabytes: float, gflop: float) -> View:
    """The picture and the numbers of one state."""
    shown = needles(
        blocks=blocks,
        nbytes=megabytes * 1e6,
        flops=gflop * 1e9,
        chain=chain * 1e-6,
        issue=issue * 1e-6,
        device=device,
    )
    shares = [100 * getattr(shown, name) for name in NEEDLES]
    facts = dict(zip(NEEDLES, shares, strict=True))
    waits = "launches" if shown.run < issue * 1e-6 else shown.waits
    figure = Figure(
        title=say("title", waits, **facts),
        description=say("description", device=hardware.load(device).name, **facts),
        x=Axis("", categories=tuple(say("needles", name) for name in NEEDLES)),
        y=Axis(say("axes", "y"), "%", 0, 110),
        marks=(
            Bars(tuple(shares)),
            *(Label(place, share + 4, say("percent", share=share)) for place, share in enumerate(shares)),
        ),
    )
    readout = {
        "run": units.format_seconds(shown.run),
        "waits": say("waits", waits),
        "sms": say("of", blocks=min(blocks, multiprocessors.count(device)), sms=multiprocessors.count(device)),
        **{name: say("percent", share=share) for name, share in facts.items()},
    }
    return View(figure, say.rows(readout), say.all("notes"))
