"""An optimisation as an investment: what it is expected to save over the months of its use, and what it cost."""

from course_lib.figures.plots import Axis, Figure, Line, Points
from course_lib.teaching.explore.controls import Number
from course_lib.teaching.explore.frame import View, build
from course_lib.units.q17_why_optimize.projects import WEEK, Project
from course_lib.words import words

say = words(__file__)


def returns(spend=40_000, share=0.24, speedup=3, weeks=2, success=0.7, months=6):
    """Cost and expected saving of an optimisation over months of use.

    spend: dollars a month for what is optimised. share: of its time that gets faster; speedup: how many times. weeks:
    of one engineer. success: the probability that it works. months: of use. Returns something to display, with
    `.state`, `.call` and `.reset()`. ValueError for an argument out of range.
    """
    controls = {
        "spend": Number(say("controls", "spend"), 40_000, 100, 1e8, "$"),
        "share": Number(say("controls", "share"), 0.24, 0.01, 0.99),
        "speedup": Number(say("controls", "speedup"), 3, 1.01, 100),
        "weeks": Number(say("controls", "weeks"), 2, 0.1, 500),
        "success": Number(say("controls", "success"), 0.7, 0.05, 1),
        "months": Number(say("controls", "months"), 6, 0.1, 120),
    }
    state = {"spend": spend, "share": share, "speedup": speedup, "weeks": weeks, "success": success, "months": months}
    return build(view, controls, state, "explorer.returns")


def view(spend, share, speedup, weeks, success, months) -> View:
    """The picture and the numbers of one state."""
    project = Project(spend, share, speedup, weeks, success, months)
    after, back = project.pays_after, project.monthly * months
    low, high = min(after, months) / 4, max(after, months) * 4
    values = {"after": _time(after), "months": _time(months), "cost": project.cost, "back": back, "roi": project.roi}
    title = say("title", "pays" if project.roi >= 0 else "not", **values)
    bottom, top = min(project.cost, project.monthly * low) / 2, max(project.cost, project.monthly * high) * 2
    figure = Figure(
        title=title,
        description=say("description", saved=project.saved, monthly=project.monthly, **values),
        x=Axis(say("axes", "x"), "", low, high, "log"),
        y=Axis(say("axes", "y"), "$", bottom, top, "log"),
        marks=(
            Line((low, high), (project.cost, project.cost), say("lines", "cost"), dashed=True),
            Line((low, high), (project.monthly * low, project.monthly * high), say("lines", "saving")),
            Points((after,), (project.cost,), (say("lines", "even"),), strong=True),
            Points((months,), (back,), (say("lines", "end"),)),
        ),
    )
    needed = project.speedup_needed
    readout = {
        "saved": say("share", share=project.saved),
        "monthly": say("dollars", value=project.monthly),
        "cost": say("dollars", value=project.cost),
        "after": _time(after),
        "back": say("dollars", value=back),
        "roi": say("share", share=project.roi),
        "needed": say("needed", "none") if needed is None else say("needed", "some", times=needed),
    }
    return View(figure, say.rows(readout), say.all("notes", week=WEEK))


def _time(months: float) -> str:
    if months < 1:
        return say("time", "days", days=months * 365.25 / 12)
    if f"{months:.3g}" == "1":
        return say("time", "month")
    return say("time", "months" if months < 24 else "years", months=months, years=months / 12)
