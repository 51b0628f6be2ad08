"""A model on a mobile device: tokens a second over the minutes, until it is too warm."""

from course_lib.accounting import economics, hardware
from course_lib.figures.plots import Axis, Figure, Line
from course_lib.teaching.explore.controls import Choice, Number
from course_lib.teaching.explore.frame import View, build
from course_lib.units.q22_on_the_edge import edge, heat
from course_lib.words import words

say = words(__file__)
MODELS = ("llama3-8b", *edge.OFFERED)
BITS = ("int4", "4.5-bit", "int8", "bf16")
CHARGE = 50e3  # J of a full iPhone battery, "approximately": Liu et al., MobileLLM, 2024 (arXiv 2402.14905)
DEVICES = ("apple-a17-pro-npu", "snapdragon-x-elite-npu")


def edge_device(model="llama3-8b", weights="int4", device="apple-a17-pro-npu", watts=8.0, minutes=10.0):
    """Tokens a second of one reader with 1,024 tokens of KV cache in int8, on a device that gets warm.

    model: one of `MODELS`. weights: one of `BITS`. device: one of `DEVICES`. watts: of the whole device while it
    writes. minutes: how long it writes. Returns something to display, with `.state`, `.call` and `.reset()`. ValueError
    for an argument out of range.
    """
    controls = {
        "model": Choice(say("controls", "model"), MODELS),
        "weights": Choice(say("controls", "weights"), {name: say("bits", name) for name in BITS}),
        "device": Choice(say("controls", "device"), {name: say("devices", name) for name in DEVICES}),
        "watts": Number(say("controls", "watts"), 8.0, 1, 40, "W"),
        "minutes": Number(say("controls", "minutes"), 10.0, 0.5, 120),
    }
    state = {"model": model, "weights": weights, "device": device, "watts": watts, "minutes": minutes}
    return build(view, controls, state, "explorer.edge_device")


def view(model: str, weights: str, device: str, watts: float, minutes: float) -> View:
    """The picture and the numbers of one state."""
    step, case, end = edge.phone(model, weights, device=device), heat.Case(), 60 * minutes
    joules = economics.energy(power=watts, seconds=step.seconds)
    limit, cold, warm = case.throttles_after(watts), step.tokens_per_second, min(watts, case.sustained) / joules
    slows = limit is not None and limit < end
    x, y = ((0, limit / 60, limit / 60, minutes), (cold, cold, warm, warm)) if slows else ((0, minutes), (cold, cold))
    facts = {"cold": cold, "warm": warm, "minutes": minutes, "slowed": limit / 60 if slows else minutes}
    falls = "steady" if not slows else "slows" if warm >= 0.05 else "crawls"
    told = "missing" if not step.fits else "slows" if slows else "steady"
    figure = Figure(
        title=say("title", told, **facts),
        description=say("description", falls, watts=watts, **facts),
        x=Axis(say("axes", "x"), "", 0, minutes),
        y=Axis(say("axes", "y"), "", 0, 1.25 * cold),
        marks=(Line(x, y, say("line")),),
    )
    readout = {
        "bytes": say("gigabytes", value=(step.weight_bytes + step.kv_bytes) / 1e9),
        "fits": say("fits", "yes" if step.fits else "no", room=hardware.load(device).memory_capacity / 1e9),
        "joules": say("joules", value=joules),
        "written": say("tokens", value=case.joules(watts, end) / joules),
        "warmer": say("kelvin", value=min(case.rise(watts, end), case.allowed)),
        "charge": say("share", value=case.joules(watts, end) / CHARGE),
    }
    return View(
        figure,
        say.rows(readout),
        say.all("notes", resistance=case.resistance, capacity=case.capacity, allowed=case.allowed),
    )
