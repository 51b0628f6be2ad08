"""Two searches over the number of candidates: Grover's with slow calls, and cores with quick ones; where do they tie?"""

from course_lib.accounting import units
from course_lib.figures.plots import Axis, Figure, Line, Points
from course_lib.teaching.explore.controls import Number, Whole
from course_lib.teaching.explore.frame import View, build
from course_lib.units.q23_quantum import costs
from course_lib.words import words

say = words(__file__)
DAY, YEAR = 86_400, 365.25 * 86_400


def break_even(quantum=1e-3, classical=1e-9, cores=1):
    """Seconds of both searches over the number of candidates.

    quantum: seconds of a call of Grover's search. classical: seconds in which a core tries a candidate. cores: how many
    try side by side. Returns something to display, with `.state`, `.call` and `.reset()`. ValueError for an argument out
    of range.
    """
    controls = {
        "quantum": Number(say("controls", "quantum"), 1e-3, 1e-6, 10, "s"),
        "classical": Number(say("controls", "classical"), 1e-9, 1e-11, 1e-6, "s"),
        "cores": Whole(say("controls", "cores"), start=1, low=1, high=1_000_000),
    }
    state = {"quantum": quantum, "classical": classical, "cores": cores}
    return build(view, controls, state, "explorer.break_even")


def view(quantum, classical, cores) -> View:
    """The picture and the numbers of one state."""
    items, tie = costs.tie_items(quantum, classical, cores), costs.tie_seconds(quantum, classical, cores)
    bits = costs.bits_of(items)
    low, high = max(bits - 16, 0), bits + 16
    ends = [2.0**low, 2.0**high]
    slow = [costs.grover_seconds(end, quantum) for end in ends]
    quick = [costs.search_seconds(end, classical, cores) for end in ends]
    values = {"bits": bits, "tie": _time(tie)}
    million = 1e6 * items
    figure = Figure(
        title=say("title", "one" if cores == 1 else "many", cores=cores, **values),
        description=say("description", low=low, high=high, **values),
        x=Axis(say("axes", "x"), "", low, high),
        y=Axis(say("axes", "y"), "s", min(slow + quick), max(slow + quick), "log"),
        marks=(
            Line((low, high), slow, say("lines", "grover"), label_at=0),
            Line((low, high), quick, say("lines", "cores"), dashed=True),
            Points((bits,), (tie,), (say("lines", "tie"),), strong=True),
        ),
    )
    readout = {
        "items": say("items", bits=bits),
        "tie": _time(tie),
        "ratio": say("times", times=quantum * cores / classical),
        "later": _time(costs.grover_seconds(million, quantum)),
        "ordinary": _time(costs.search_seconds(million, classical, cores)),
    }
    return View(figure, say.rows(readout), say.all("notes"))


def _time(seconds: float) -> str:
    if seconds < 2 * DAY:
        return units.format_seconds(seconds)
    years = seconds / YEAR
    form = "days" if years < 2 else "years" if years < 2e6 else "millions"
    return say("time", form, days=seconds / DAY, years=years, millions=years / 1e6)
