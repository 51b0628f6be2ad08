"""A data-sheet line, read four ways: with and without the 2 of sparsity, with and without the 2 of a multiply-add."""

from course_lib.accounting import economics, flops, hardware, models, units
from course_lib.figures.plots import Axis, Bars, Figure, Line, Points
from course_lib.teaching.explore.controls import Choice, Number
from course_lib.teaching.explore.frame import View, build

MODELS = ("resnet-18", "resnet-50", "vit-b16", "vit-l16")
LINES = {"dense": "the dense line", "sparse": "the line with sparsity"}
COUNTS = {"flops": "its FLOPs", "macs": "its multiply-adds, taken for FLOPs"}
READINGS = {  # line and count -> the name of the bar
    ("dense", "flops"): "dense, FLOPs (right)",
    ("sparse", "flops"): "sparse line, FLOPs",
    ("dense", "macs"): "dense, MACs",
    ("sparse", "macs"): "sparse line, MACs",
}


def datasheet(device="h100-sxm", dtype="bf16", model="resnet-50", line="dense", count="flops", share=1.0):
    """Images a second that a reader of a data sheet expects, by the line and by the count that are divided.

    device: one whose sheet has a line with sparsity. line: a key of `LINES`; count: a key of `COUNTS`. share: of the
    peak in that line that is thought to be attained. Returns something to display, with `.state`, `.call` and
    `.reset()`. ValueError for an argument out of range.
    """
    controls = {
        "device": Choice("Device", _devices(), start="h100-sxm"),
        "dtype": Choice("dtype", _dtypes, start="bf16"),
        "model": Choice("Network", {name: models.load(name).name for name in MODELS}, start="resnet-50"),
        "line": Choice("Take", LINES),
        "count": Choice("Divide by", COUNTS),
        "share": Number("Share", start=1.0, low=0.01, high=1.0),
    }
    state = {"device": device, "dtype": dtype, "model": model, "line": line, "count": count, "share": share}
    return build(view, controls, state, "explore.datasheet")


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
    words = {
        "card": card.name,
        "model": model,
        "expected": f"{expected:,.0f}",
        "true": f"{true:,.0f}",
        "ratio": f"{ratio:.3g}",
    }
    figure = Figure(
        title=(_IMPOSSIBLE if ratio > 1.01 else _POSSIBLE if ratio < 0.99 else _AT_BEST).format(**words),
        description=_DESCRIPTION.format(**words, bars=", ".join(map(_bar, READINGS.values(), rates))),
        x=Axis("how the line is read", categories=tuple(READINGS.values())),
        y=Axis("images a second", "", 0, 1.15 * max(rates)),
        marks=(
            Bars(tuple(rates)),
            Line((-0.5, len(rates) - 0.5), (true, true), _LIMIT, label_at=0, dashed=True),
            Points((chosen,), (expected,), (_POINT,), strong=True),
        ),
    )
    seconds = 1e9 / expected
    readout = {
        "line": f"{peaks[line] / 1e12:,.5g} TFLOP/s",  # as the sheet prints it
        "divided by": f"{counts[count] / 1e9:.3f} G",
        "you expect": f"{words['expected']} images/s",
        "the card can do at most": f"{words['true']} images/s",
        "expected ÷ possible": f"×{words['ratio']}",
        "a billion images take": units.format_seconds(seconds),
    }
    if card.price_per_hour:
        dollars = economics.cost(price_per_hour=card.price_per_hour, seconds=seconds)
        readout["and cost"] = f"${dollars:,.2f} at ${card.price_per_hour:.2f} an hour"
    return View(figure, readout, NOTES)


def _bar(name: str, rate: float) -> str:
    return f"{name} {rate:,.0f}"


_POINT = "you"
_LIMIT = "possible"
_IMPOSSIBLE = "You expect {expected} images/s: {ratio} times what the card can do"
_POSSIBLE = "You expect {expected} images/s; the card can do at most {true}"
_AT_BEST = "You expect {expected} images/s: what the card can do at best"
_DESCRIPTION = (
    "Images a second of {model} on {card}, for four ways to read its data sheet: {bars}. A dashed line at {true} is "
    "what a dense network can reach at most. Your reading, times the share, gives {expected}, {ratio} times as much."
)
NOTES = (
    "Share: of the peak in the line that you take, thought to be attained.",
    "The network is dense: the line with sparsity counts multiplications by zeros that are skipped.",
    "Images a second at most = dense FLOP/s ÷ FLOPs of an image, 2 for each multiply-add; bytes are not looked at.",
)
