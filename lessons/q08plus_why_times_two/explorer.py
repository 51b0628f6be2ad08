"""A data-sheet line, read four ways: with and without the 2 of sparsity, with and without the 2 of a multiply-add."""

from course_lib.accounting import economics, flops, hardware, models, units
from course_lib.figures.plots import Axis, Bars, Figure, Line, Points
from course_lib.teaching.explore.controls import Choice, Number
from course_lib.teaching.explore.frame import View, build
from course_lib.words import words

say = words(__file__)
MODELS = ("resnet-18", "resnet-50", "vit-b16", "vit-l16")
LINES, COUNTS = say.table("lines"), say.table("counts")
READINGS = {  # line and count -> the name of the bar
    ("dense", "flops"): say("readings", "dense-flops"),
    ("sparse", "flops"): say("readings", "sparse-flops"),
    ("dense", "macs"): say("readings", "dense-macs"),
    ("sparse", "macs"): say("readings", "sparse-macs"),
}


def datasheet(device="h100-sxm", dtype="bf16", model="resnet-50", line="dense", count="flops", share=1.0):
    """Images a second that a reader of a data sheet expects, by the line and by the count that are divided.

    device: one whose sheet has a line with sparsity. line: a key of `LINES`; count: a key of `COUNTS`. share: of the
    peak in that line that is thought to be attained. Returns something to display, with `.state`, `.call` and
    `.reset()`. ValueError for an argument out of range.
    """
    controls = {
        "device": Choice(say("controls", "device"), _devices(), start="h100-sxm"),
        "dtype": Choice(say("controls", "dtype"), _dtypes, start="bf16"),
        "model": Choice(say("controls", "model"), {name: models.load(name).name for name in MODELS}, start="resnet-50"),
        "line": Choice(say("controls", "line"), LINES),
        "count": Choice(say("controls", "count"), COUNTS),
        "share": Number(say("controls", "share"), start=1.0, low=0.01, high=1.0),
    }
    state = {"device": device, "dtype": dtype, "model": model, "line": line, "count": count, "share": share}
    return build(view, controls, state, "explorer.datasheet")


def _devices() -> dict[str, str]:
    return {id: hardware.load(id).name for id in hardware.names() if "bf16" in hardware.load(id).sparse_peaks}


def _dtypes(state) -> tuple[str, ...]:
    known = hardware.load(state.get("device", "h100-sxm")).sparse_peaks
    return tuple(name for name in known if not name.startswith("int"))


def view(device: str, dtype: str, model: str, line: str, count: str, share: float) -> View:
    """The picture and the numbers of one state."""
    card, work = hardware.load(device), flops.forward(models.load(model))
    peaks = {"dense": card.peak(dtype), "sparse": card.sparse_peak(dtype)}
    counts = {"flops": work.total, "macs": work.macs}
    rates = [peaks[one] / counts[other] for one, other in READINGS]
    true, expected = rates[0], share * peaks[line] / counts[count]
    chosen = list(READINGS).index((line, count))
    ratio = expected / true
    values = {
        "card": card.name,
        "model": model,
        "expected": f"{expected:,.0f}",
        "true": f"{true:,.0f}",
        "ratio": f"{ratio:.3g}",
    }
    figure = Figure(
        title=say("title", "impossible" if ratio > 1.01 else "possible" if ratio < 0.99 else "at-best", **values),
        description=say("description", **values, bars=", ".join(map(_bar, READINGS.values(), rates))),
        x=Axis(say("axes", "x"), categories=tuple(READINGS.values())),
        y=Axis(say("axes", "y"), "", 0, 1.15 * max(rates)),
        marks=(
            Bars(tuple(rates)),
            Line((-0.5, len(rates) - 0.5), (true, true), say("limit"), label_at=0, dashed=True),
            Points((chosen,), (expected,), (say("point"),), strong=True),
        ),
    )
    seconds = 1e9 / expected
    readout = {
        "line": f"{peaks[line] / 1e12:,.5g} TFLOP/s",  # as the sheet prints it
        "divided-by": f"{counts[count] / 1e9:.3f} G",
        "expected": say("images", rate=values["expected"]),
        "true": say("images", rate=values["true"]),
        "ratio": f"×{values['ratio']}",
        "time": units.format_seconds(seconds),
    }
    if card.price_per_hour:
        dollars = economics.cost(price_per_hour=card.price_per_hour, seconds=seconds)
        readout["cost"] = say("cost", dollars=dollars, price=card.price_per_hour)
    return View(figure, say.rows(readout), say.all("notes"))


def _bar(name: str, rate: float) -> str:
    return say("bar", name=name, rate=rate)
