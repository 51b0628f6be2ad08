"""The share of attention: how much of a forward pass its scores and values are, as the context moves."""

from dataclasses import replace
from functools import cache

from course_lib.accounting import flops, memory, models, precision, units
from course_lib.figures.plots import Axis, Figure, Label, Line, Points
from course_lib.teaching.explore.controls import Choice, Whole
from course_lib.teaching.explore.frame import View, build
from course_lib.words import words

say = words(__file__)
MODELS = ("gpt2", "gpt2-xl", "gpt3-175b", "llama2-7b", "llama3-8b", "llama3-70b", "llama3.1-405b")
PAIRS = say.table("pairs")
LEAST, MOST = 128, 2**20  # tokens
RIGHT = 10**6.4  # where the axis ends: the last point's share fits beside it
ALIKE = 4  # percentage points; curves nearer than this look like one
NAMED = 19  # the curve of the pass is named to the right of this place, under itself and so clear of the layers' curve


def attention(model="gpt2", pairs="all", context=1024):
    """What share of a forward pass's products attention's scores and values are, over the length of the sequence.

    model: one of `MODELS`. pairs: "all", or "causal". Returns something to display, with `.state` and `.call`.
    ValueError for an argument out of range.
    """
    controls = {
        "model": Choice(say("controls", "model"), {name: models.load(name).name for name in MODELS}),
        "pairs": Choice(say("controls", "pairs"), PAIRS),
        "context": Whole(say("controls", "context"), start=1024, low=LEAST, high=MOST),
    }
    return build(attention_view, controls, {"model": model, "pairs": pairs, "context": context}, "explorer.attention")


def work(model: str, pairs: str, context: int):
    """FLOP of one forward pass over one sequence, which may be longer than the model was made for."""
    return flops.forward(replace(models.load(model), context=MOST), seq=context, causal=pairs == "causal")


def shares(counted) -> tuple[float, float]:
    """Share of scores and values in the whole pass, and in its layers alone."""
    pairwise = counted["attention.scores"] + counted["attention.values"]
    return pairwise / counted.total, pairwise / int(counted["layers"])


@cache
def curve(model: str, pairs: str) -> tuple[list[int], list[float], list[float]]:
    """Contexts, and in percent the share of the whole pass and of the layers at each."""
    places = [round(LEAST * 2 ** (step / 2)) for step in range(27)]
    whole, layers = zip(*(shares(work(model, pairs, context)) for context in places), strict=True)
    return places, [100 * share for share in whole], [100 * share for share in layers]


@cache
def half(model: str, pairs: str, part: int) -> int:
    """The smallest context at which scores and values are half of the pass (part 0) or of its layers (part 1)."""
    low, high = 1, MOST
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if shares(work(model, pairs, middle))[part] >= 0.5 else (middle + 1, high)
    return low


def attention_view(model: str, pairs: str, context: int) -> View:
    """The picture and the numbers of one state."""
    network, counted = models.load(model), work(model, pairs, context)
    (whole, layers), (places, whole_curve, layers_curve) = shares(counted), curve(model, pairs)
    written = precision.nbytes(network.heads * context**2, "bf16")
    cache_bytes = int(memory.kv_cache(replace(network, context=MOST), batch=1, tokens=context, dtype="bf16"))
    alike = max(b - a for a, b in zip(whole_curve, layers_curve, strict=True)) < ALIKE
    figure = Figure(
        title=say("title", share=whole, context=context),
        description=say(
            "description", name=network.name, pairs=PAIRS[pairs], context=context, share=whole, layers=layers
        ),
        x=Axis(say("axes", "x"), "", 100, RIGHT, "log"),
        y=Axis(say("axes", "y"), "%", 0, 100),
        marks=(
            Line(places, layers_curve, "" if alike else say("curves", "layers"), label_at=16, dashed=True),
            Line(places, whole_curve),
            Label(
                (4 if alike else 2) * places[NAMED],
                whole_curve[NAMED] - 9,
                say("curves", "both" if alike else "whole"),
            ),
            Line((100, RIGHT), (50, 50), say("curves", "half"), label_at=0, dashed=True),
            Points((context,), (100 * whole,), (f"{whole:.0%}",), strong=True),
        ),
    )
    readout = {
        "pass": units.format_si(counted.total, "FLOP"),
        "share": f"{whole:.1%}",
        "layers": f"{layers:.1%}",
        "half-pass": say("tokens", tokens=half(model, pairs, 0)),
        "half-layers": say("tokens", tokens=half(model, pairs, 1)),
        "scores": units.format_bytes(written),
        "cache": units.format_bytes(cache_bytes),
    }
    return View(figure, say.rows(readout), say.all("notes"))
