"""Where the peak of a training step went, from the profile that `train_step_waterfall` takes.

In the time of a step the device could have done so many FLOPs at its peak: 100 %. The share that the model needs is its
utilisation (MFU). The rest is lost, and each kind of operation lost what it took longer than its share of the model's
FLOPs would have taken at the peak: a sum over the classes of the profile, so nothing is left over.

    r = experiments.run("train_step_waterfall")
    waterfall.shares(r)                      # {"model FLOPs": 60.3, "products below the peak": 10.8, ...}
    waterfall.draw(r, beside=experiments.load("train_step_waterfall"))
"""

from collections.abc import Mapping

from course_lib.experiments.running.errors import Unavailable
from course_lib.figures import charts, figure, style
from course_lib.figures.tabular import quantity
from course_lib.units.q06_why_count_flops.experiments.train_step_waterfall import CLASSES, LARGE
from course_lib.words import words

say = words(__file__)

USED = "model FLOPs"
LOST = {
    "products below the peak": ("forward, products", "backward, products"),
    "attention": ("forward, attention", "backward, attention"),
    "norms and activations": ("forward, norms and activations", "backward, norms and activations"),
    "copies and look-ups": ("forward, copies and look-ups", "backward, copies and sums"),
    "loss": ("loss",),
    "optimizer": ("optimizer",),
    "between the operations": ("between the operations",),
}


def shares(result, batch: str = LARGE) -> dict[str, float]:
    """% of what the device could have done in a step: first the model's FLOPs (MFU), then what each kind lost.

    They sum to 100. All T² pairs of attention count as the model's, as is usual, although SDPA computes half of them:
    where it is fast, attention can lose less than nothing. Unavailable for a run that was interrupted.
    """
    rows = {row["class"]: row for row in result.rows if row["batch"] == batch}
    if set(rows) != set(CLASSES):
        raise Unavailable(f"{result.name} was interrupted, so it does not say where a whole step went. Run it again.")
    peak = result.device["peaks"][result.provenance["dtype"]]
    step = sum(row["measured"] for row in rows.values())
    needed = {kind: seconds / peak for kind, seconds in model_flops(rows).items()}
    lost = {
        kind: sum(rows[class_]["measured"] for class_ in classes) - needed.get(kind, 0.0)
        for kind, classes in LOST.items()
    }
    return {kind: 100 * seconds / step for kind, seconds in ({USED: sum(needed.values())} | lost).items()}


def model_flops(rows: Mapping[str, Mapping]) -> dict[str, int]:
    """Kind -> FLOP of the model in it, from the rows of one batch, forward and backward; all kinds sum to the model's.

    A row counts what SDPA executes forward: half of the scores and half of the values, one product in all. The model
    counts two whole products forward and four backward.
    """
    products, attention = (LOST[kind] for kind in ("products below the peak", "attention"))
    return {
        "products below the peak": sum(rows[class_]["flops"] for class_ in products),
        "attention": 6 * rows[attention[0]]["flops"],
    }


def draw(result, batch: str = LARGE, beside=None) -> figure.Figure:
    """The waterfall from the peak down to what the model used. beside: another result, whose shares stand in words."""
    parts, others = shares(result, batch), shares(beside, batch) if beside is not None else {}
    lost = {kind: share for kind, share in parts.items() if kind != USED}
    first, second, *_ = sorted(lost, key=lost.__getitem__, reverse=True)
    shown = {
        kind: say("beside", share=quantity(share, "%"), recorded=quantity(others[kind], "%"))
        if kind in others
        else quantity(share, "%")
        for kind, share in parts.items()
    }
    title = charts.titled(result, say("title", used=quantity(parts[USED], "%"), first=first, second=second))
    told = [say("loses", kind=kind, share=shown[kind]) for kind in lost]
    rows = [say("peak"), *lost, USED]

    def paint(axes):
        left, labels, line = 100.0, [(100.0, 0, quantity(100.0, "%"))], style.size().line
        whole = {"facecolor": style.PAPER, "edgecolor": style.MEASURED, "linewidth": line}
        axes.barh(0, 100, height=0.6, **whole)
        for y, (kind, share) in enumerate(lost.items(), 1):
            axes.barh(y, -share, left=left, height=0.6, color=style.FAINT)
            labels.append((max(left, left - share), y, shown[kind]))
            left -= share
            axes.plot([left, left], [y, y + 1], ":", color=style.FAINT, marker="", linewidth=line)
        axes.barh(len(rows) - 1, parts[USED], height=0.6, color=style.MEASURED)
        labels.append((parts[USED], len(rows) - 1, shown[USED]))
        axes.set_yticks(range(len(rows)), rows)
        axes.set_xlim(0, 100)
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        return labels

    return figure.draw(
        title,
        f"{title}. {' '.join([say('uses', share=shown[USED]), *told])}",
        paint,
        x=(say("axis"), "%"),
        y=None,
        note=say("key", batch=batch, device=result.device["name"], date=result.provenance["date"]),
        height=4.6,
        ticks=range(0, 101, 20),
        labels="beside",
    )
