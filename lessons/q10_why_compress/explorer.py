"""The decode step taken apart: the times of weights, caches and arithmetic, all in bf16 and in the formats chosen."""

from collections.abc import Mapping

from course_lib.accounting import hardware, units
from course_lib.figures.plots import Axis, Figure, Stack
from course_lib.teaching.explore.controls import Choice, Whole
from course_lib.teaching.explore.frame import View, build
from course_lib.units.q10_why_compress import serving
from course_lib.words import words

say = words(__file__)
DEVICES = ("h100-sxm", "a100-80-sxm", "rtx-4090")
FORMATS = ("bf16", "int8", "4.5-bit", "3-bit")
MOST_READERS, MOST_TOKENS = 256, 8192


def step(readers=1, context=4096, weights="4.5-bit", cache="bf16", device="h100-sxm"):
    """A decode step of Llama-3 8B for `readers` with `context` tokens each.

    weights, cache: formats of `FORMATS`. Returns something to display, with `.state`, `.call` and `.reset()`.
    ValueError for an argument out of range.
    """
    controls = {
        "readers": Whole(say("controls", "readers"), start=1, high=MOST_READERS),
        "context": Whole(say("controls", "context"), start=4096, high=MOST_TOKENS),
        "weights": Choice(say("controls", "weights"), FORMATS, start="4.5-bit"),
        "cache": Choice(say("controls", "cache"), ("bf16", "int8", "4.5-bit")),
        "device": Choice(say("controls", "device"), {id: hardware.load(id).name for id in DEVICES}),
    }
    state = {"readers": readers, "context": context, "weights": weights, "cache": cache, "device": device}
    return build(view, controls, state, "explorer.step")


def parts(readers, context, weights, cache, device) -> Mapping[str, float]:
    """Seconds of the step: its caches, its weights, and what the arithmetic takes longer than reading them."""
    found, bandwidth = serving.step(readers, context, weights, cache, device), hardware.load(device).memory_bandwidth
    reading = {"weights": found.weight_bytes / bandwidth, "caches": found.kv_bytes / bandwidth}
    return reading | {"arithmetic": max(0.0, found.seconds - sum(reading.values()))}


def view(readers, context, weights, cache, device) -> View:
    """The picture and the numbers of one state."""
    both = [parts(readers, context, *formats, device) for formats in (("bf16", "bf16"), (weights, cache))]
    totals = [sum(each.values()) for each in both]
    factor = totals[0] / totals[1]
    names = say("bars", "before"), say("bars", "after", weights=weights, cache=cache)
    listed = [", ".join(f"{say('parts', name)} {units.format_seconds(t)}" for name, t in each.items()) for each in both]
    figure = Figure(
        title=say("title", readers=readers, factor=factor),
        description=say("description", before=listed[0], after=listed[1]),
        x=Axis(say("axes", "x"), categories=names),
        y=Axis(say("axes", "y"), "ms", 0, 1.1e3 * max(totals)),
        marks=(Stack({say("parts", name): [1e3 * each[name] for each in both] for name in both[0]}),),
    )
    before = serving.step(readers, context, device=device)
    after = serving.step(readers, context, weights, cache, device)
    readout = {
        "faster": f"×{factor:.2f}",
        "weights": units.format_bytes(after.weight_bytes),
        "caches": units.format_bytes(after.kv_bytes),
        "rate": f"{readers / totals[1]:,.0f} tokens/s",
        "fits-before": say("fits", "yes" if before.fits else "no"),
        "fits": say("fits", "yes" if after.fits else "no"),
    }
    return View(figure, say.rows(readout), say.all("notes"))
