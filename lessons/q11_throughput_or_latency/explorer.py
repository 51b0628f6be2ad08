"""The Pareto curve of decoding: what a reader waits for a token, over what all of them get in a second."""

from functools import cache

from course_lib.accounting import hardware, inference, models, units
from course_lib.figures.plots import Axis, Figure, Label, Line, Points
from course_lib.teaching.explore.controls import Choice, Whole
from course_lib.teaching.explore.frame import View, build
from course_lib.words import words

say = words(__file__)
MODELS = ("llama3.2-1b", "llama3-8b", "llama2-13b", "qwen3-30b-a3b")
DEVICES = ("rtx-4090", "a100-80-sxm", "h100-sxm", "h200-sxm", "b200-sxm")
BATCHES = (1, 5, 12, 28, 64, 128, 512, 1024)  # through which the curve is drawn, beside its corner


def pareto(model="llama3-8b", device="h100-sxm", context=1024, batch=1):
    """Time of a token against tokens a second of all sequences, for every batch.

    Returns something to display, with `.state` and `.call`. ValueError for an argument out of range.
    """
    controls = {
        "model": Choice(say("controls", "model"), {name: models.load(name).name for name in MODELS}),
        "device": Choice(say("controls", "device"), {name: hardware.load(name).name for name in DEVICES}),
        "context": Whole(
            say("controls", "context"),
            start=1024,
            low=128,
            high=8192,
            most=lambda state: min(8192, models.load(state["model"]).context),
        ),
        "batch": Whole(say("controls", "batch"), start=1, low=1, high=BATCHES[-1]),
    }
    state = {"model": model, "device": device, "context": context, "batch": batch}
    return build(pareto_view, controls, state, "explorer.pareto")


@cache
def step(model: str, device: str, context: int, batch: int):
    """One decode step."""
    return inference.decode_step(model, batch=batch, context=context, device=device)


def knee(model: str, device: str, context: int) -> float:
    """The batch whose caches weigh as much as the weights that a step of one reads."""
    one = step(model, device, context, 1)
    return one.weight_bytes / one.kv_bytes


@cache
def drawn(model: str, device: str) -> list[int]:
    """The batches through which the curve is drawn: its corner, where a step computes as long as it reads the weights
    of one sequence, is among them."""
    corner = inference.products_stop_gaining(device) * step(model, device, 128, 1).weight_bytes
    return sorted({*BATCHES, round(corner / (2 * int(models.load(model).parameters(active=True))))})


def pareto_view(model: str, device: str, context: int, batch: int) -> View:
    """The picture and the numbers of one state."""
    here, one = step(model, device, context, batch), step(model, device, context, 1)
    curve = [step(model, device, context, size) for size in drawn(model, device)]
    times, rates = [at.seconds for at in curve], [at.tokens_per_second for at in curve]
    gain, wait = here.tokens_per_second / one.tokens_per_second, here.seconds / one.seconds
    numbers = {"batch": batch, "gain": gain, "wait": wait, "ms": 1e3 * here.seconds, "rate": here.tokens_per_second}
    name = models.load(model).name
    figure = Figure(
        title=say("title", "fits" if here.fits else "full", **numbers),
        description=say("description", name=name, device=hardware.load(device).name, context=context, **numbers),
        x=Axis(say("axes", "x"), "s", 3e-4, 10, "log"),
        y=Axis(say("axes", "y"), "", 10, 1e6, "log"),
        marks=(
            Line(times, rates),
            Points((here.seconds,), (here.tokens_per_second,), (say("point", batch=batch),), strong=True),
            *([Label(times[0], rates[0] / 2.2, say("curve"))] if batch > 1 else []),
        ),
    )
    readout = {
        "tpot": units.format_seconds(here.seconds, 4),
        "rate": say("rate", rate=here.tokens_per_second),
        "each": say("each", rate=1 / here.seconds),
        "against": say("against", wait=wait, gain=gain),
        "knee": say("sequences", sequences=knee(model, device, context)),
        "fits": say("fits", "yes" if here.fits else "no"),
        "bound": say("bound", here.bound),
    }
    return View(figure, say.rows(readout), say.all("notes"))
