"""The resolution: FLOPs of four image models over the side of the image, and the predicted time of the one chosen."""

from functools import cache

from course_lib.accounting import flops, hardware, models, roofline, units
from course_lib.accounting.models import operations
from course_lib.figures.plots import Axis, Figure, Label, Line, Points
from course_lib.teaching.explore.controls import Choice, Whole
from course_lib.teaching.explore.frame import View, build
from course_lib.words import words

say = words(__file__)
MODELS = ("resnet-50", "mobilenet-v2", "vit-b16", "vit-ti16")
DEVICES = ("a100-40-sxm", "h100-sxm", "h200-sxm")
STEP, MOST = 32, 1536  # pixels: every side that these strides and patches divide
RIGHT = 2.4 * MOST  # where the axis ends: the names of the lines stand beside their ends


def resolution(model="resnet-50", steps=7, device="h100-sxm", dtype="bf16"):
    """FLOPs of image models over the side of a square image of `steps` · 32 pixels.

    model: one of `MODELS`, whose time is predicted. Returns something to display, with `.state`, `.call` and
    `.reset()`. ValueError for an argument out of range.
    """
    controls = {
        "model": Choice(say("controls", "model"), MODELS),
        "steps": Whole(say("controls", "steps"), start=7, high=MOST // STEP),
        "device": Choice(say("controls", "device"), {id: hardware.load(id).name for id in DEVICES}, start="h100-sxm"),
        "dtype": Choice(say("controls", "dtype"), ("bf16", "fp32")),
    }
    state = {"model": model, "steps": steps, "device": device, "dtype": dtype}
    return build(view, controls, state, "explorer.resolution")


@cache
def curve(name: str) -> tuple[int, ...]:
    """FLOPs of one image at every side that the slider reaches."""
    network = models.load(name)
    return tuple(int(flops.forward(network, image=side)) for side in range(STEP, MOST + 1, STEP))


@cache
def calls(name: str, side: int, dtype: str) -> tuple[roofline.Op, ...]:
    """Everything that the model runs for one image."""
    return operations.forward(models.load(name), image=side, dtype=dtype)


def view(model, steps, device, dtype) -> View:
    """The picture and the numbers of one state."""
    side, sides = steps * STEP, [STEP * step for step in range(1, MOST // STEP + 1)]
    at = {name: curve(name)[steps - 1] for name in MODELS}
    ops, processor = calls(model, side, dtype), hardware.resolve(device)
    seconds, peak = roofline.predict_seconds(ops, device=processor), at[model] / processor.peak(dtype)
    others = {name: amount for name, amount in at.items() if name != model}
    listed = ", ".join(f"{name} {at[name] / 1e9:.3g}" for name in sorted(at, key=at.get))
    figure = Figure(
        title=say("title", side=side, factor=at["vit-ti16"] / at["resnet-50"]),
        description=say("description", side=side, listed=listed),
        x=Axis(say("axes", "x"), "", STEP, RIGHT, "log"),
        y=Axis(say("axes", "y"), "FLOP", 1e7, 1e13, "log"),
        marks=(
            *(Line(sides, curve(name), dashed=name.startswith("vit")) for name in MODELS),
            *(Label(1.6 * MOST, height, name) for name, height in _names_at().items()),
            Points([side] * len(others), list(others.values()), [""] * len(others)),
            Points((side,), (at[model],), ("",), strong=True),
        ),
    )
    readout = {
        "bytes": units.format_bytes(sum(op.bytes for op in ops)),
        "peak": units.format_seconds(peak),
        "time": units.format_seconds(seconds),
        "calls": f"{len(ops)}",
    }
    counts = {name: units.format_si(amount, "FLOP") for name, amount in at.items()}
    return View(figure, counts | say.rows(readout, model=model), say.all("notes"))


@cache
def _names_at() -> dict[str, float]:
    """Where on the axis of FLOPs each name stands, beside the end of its line and clear of the name below it."""
    heights: dict[str, float] = {}
    for name in sorted(MODELS, key=lambda name: curve(name)[-1]):
        heights[name] = max(curve(name)[-1], 2.2 * max(heights.values(), default=0))
    return heights
