"""Shares of what is possible, as others reached and published them: a point for each figure."""

import statistics
from collections.abc import Mapping

from course_lib.accounting import hardware
from course_lib.experiments import published
from course_lib.figures.plots import Axis, Figure, Line, Points
from course_lib.teaching.explore.controls import Choice
from course_lib.teaching.explore.frame import View, build
from course_lib.words import words

say = words(__file__)
KINDS = say.table("kinds")
ASIDE = ("xdai-8b-f16-l40s", "gptfast-70b-int4", "maxtext-v5p-1024b")  # asked for; predicted at the end; contradictory
ALL = "all"


def shares(kind: str, device: str = ALL) -> list[published.Figure]:
    """The figures of a kind, on one device or all, that say which share of the possible was reached: of a bound, or of
    the peak where it is the MFU that was printed. None of `ASIDE`.
    """
    found = [published.get(id) for id in published.names(kind=kind) if id not in ASIDE]
    return [each for each in found if _is_share(each) and device in (ALL, each.device)]


def _is_share(figure) -> bool:
    """HFU counts work that was done twice, and compiled networks may beat the roofline of one operation at a time."""
    if figure.efficiency is None or figure.predict["by"] == "eager_rate":
        return False
    return figure.role == "bound" or figure.measures.startswith("MFU")


def efficiency(kind="decode", device=ALL):
    """Which share of a bound or of the peak was reached, by year; pointing at a figure says whose it is.

    kind: a key of `KINDS`. device: "all", or an id of `hardware` on which somebody published such a figure.
    Returns something to display, with `.state`, `.call` and `.reset()`. ValueError for an argument out of range.
    """
    controls = {"kind": Choice(say("controls", "kind"), KINDS), "device": Choice(say("controls", "device"), _devices)}
    return build(efficiency_view, controls, {"kind": kind, "device": device}, "explorer.efficiency")


def _devices(state: Mapping) -> dict[str, str]:
    found = {each.device for each in shares(state["kind"])}
    return {ALL: say("all")} | {id: hardware.load(id).name for id in sorted(found)}


def efficiency_view(kind: str, device: str) -> View:
    """The picture and the numbers of one state."""
    found = shares(kind, device)
    percents = [100 * each.efficiency for each in found]
    middle = statistics.median(percents)
    years = sorted({each.year for each in shares(kind)})
    where = KINDS[kind] if device == ALL else say("where", kind=KINDS[kind], device=hardware.load(device).name)
    number = "several" if len(found) > 1 else "one"
    first, last = min(each.year for each in found), max(each.year for each in found)
    near = [_nearest(found, year, middle) for year in (years[0], years[-1])]
    free = near.index(max(near))  # the end of the line at which points leave its name more room
    marks = [
        Points(_places(found, years), percents, [""] * len(found), texts=[_text(each) for each in found]),
        Line((-0.5, len(years) - 0.5), (middle, middle), say("median", middle=middle), dashed=True, label_at=free),
    ]
    if max(percents) > 100:
        marks.append(Line((-0.5, len(years) - 0.5), (100, 100), say("limit")))
    figure = Figure(
        title=say("title", number, where=KINDS[kind] if device == ALL else hardware.load(device).name, middle=middle),
        description=say(
            "description",
            "same-year" if len(found) > 1 and first == last else number,
            where=where,
            count=len(found),
            low=min(percents),
            high=max(percents),
            middle=middle,
            first=first,
            last=last,
        ),
        x=Axis(say("axes", "x"), categories=tuple(map(str, years))),
        y=Axis(say("axes", "y"), "%", 0, 100 if max(percents) <= 100 else 150),
        marks=tuple(marks),
    )
    lowest, *_, highest = sorted(found, key=lambda each: each.efficiency) * 2
    readout = {
        "figures": str(len(found)),
        "publications": str(len({each.source.title for each in found})),
        "median": f"{middle:.0f} %",
        "lowest": say("short", share=100 * lowest.efficiency),
        "highest": say("short", share=100 * highest.efficiency),
    }
    return View(figure, say.rows(readout, lowest=lowest.id, highest=highest.id), say.all("notes"))


def _nearest(found, year: int, percent: float) -> float:
    """How far from `percent` the nearest figure of a year is; infinite where there is none."""
    return min((abs(100 * each.efficiency - percent) for each in found if each.year == year), default=float("inf"))


def _text(figure) -> str:
    return say(
        "figure",
        share=100 * figure.efficiency,
        publisher=figure.source.publisher,
        year=figure.year,
        id=figure.id,
        device=hardware.load(figure.device).name,
    )


def _places(found, years) -> list[float]:
    """Where on the axis each stands: in its year, beside those of the same year."""
    places = []
    for figure in found:
        same = [each for each in found if each.year == figure.year]
        places.append(years.index(figure.year) + 0.7 * ((same.index(figure) + 0.5) / len(same) - 0.5))
    return places
