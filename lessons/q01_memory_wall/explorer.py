"""Where the weights live: the time of one step by the tokens that share each weight which is fetched."""

import math

from course_lib.accounting import hardware, models, precision, units
from course_lib.figures.plots import Axis, Figure, Label, Line, Points
from course_lib.teaching.explore.controls import Choice, Whole
from course_lib.teaching.explore.frame import View, build
from course_lib.words import words

say = words(__file__)
MODELS = ("gpt2", "llama3-8b", "llama3-70b", "mixtral-8x7b")
DEVICES = ("a100-40-sxm", "a100-80-sxm", "h100-sxm", "h200-sxm")
DTYPES = ("bf16", "int8", "int4")  # of the stored weights; the arithmetic is in bf16
PLACES = say.table("places")
MOST = 2**20  # tokens


def streaming(model="llama3-8b", device="h100-sxm", place="memory", weight_dtype="bf16", tokens=1):
    """The time of a forward pass whose weights are fetched from `place` for every step, by its number of tokens.

    model: one of `MODELS`. device: one of `DEVICES`. place: a key of `PLACES`. weight_dtype: of the stored weights.
    Returns something to display, with `.state`, `.call` and `.reset()`. ValueError for an argument out of range.
    """
    controls = {
        "model": Choice(say("controls", "model"), {name: models.load(name).name for name in MODELS}),
        "device": Choice(say("controls", "device"), {id: hardware.load(id).name for id in DEVICES}, start="h100-sxm"),
        "place": Choice(say("controls", "place"), PLACES),
        "weight_dtype": Choice(say("controls", "weight_dtype"), DTYPES),
        "tokens": Whole(say("controls", "tokens"), start=1, high=MOST),
    }
    state = {"model": model, "device": device, "place": place, "weight_dtype": weight_dtype, "tokens": tokens}
    return build(streaming_view, controls, state, "explorer.streaming")


def rate(device, place: str) -> float:
    """B/s at which weights come from `place` to the device."""
    device = hardware.resolve(device)
    units.choice(place, "place", PLACES)
    if place in ("memory", "host"):
        return device.memory_bandwidth if place == "memory" else device.link("pcie")
    return min(hardware.link(place).bandwidth, device.link("pcie"))


def streaming_view(model: str, device: str, place: str, weight_dtype: str, tokens: int) -> View:
    """The picture and the numbers of one state. Fetching and computing overlap: a step takes the longer of the two."""
    network, processor = models.load(model), hardware.load(device)
    nbytes = precision.nbytes(network.parameters().total, weight_dtype)
    fetch, peak = nbytes / rate(processor, place), processor.peak("bf16")
    each = 2 * network.parameters(active=True).total / peak  # seconds of arithmetic for a token
    crossing = fetch / each
    step = max(fetch, tokens * each)
    number = "many" if tokens > 1 else "one"
    span = [10.0**power for power in range(7)]
    low, high = 10 ** math.floor(math.log10(min(fetch, each))), 10 ** math.ceil(math.log10(max(fetch, each * MOST)))
    marks = [
        Line((1, MOST), (fetch, fetch), say("curves", "fetching"), label_at=0),
        Line(span, [each * many for many in span], say("curves", "computing"), label_at=1),
        Points((tokens,), (step,), (say("point", number, tokens=tokens),), strong=True),
    ]
    if crossing < MOST:
        marks.append(Line((crossing, crossing), (low, fetch), dashed=True))
        marks.append(Label(crossing / 5, low * 3, say("crossing", tokens=crossing)))
    waits = "weights" if fetch > tokens * each else "arithmetic"
    idle = 1 - tokens * each / step
    figure = Figure(
        title=say("title", number, waits, tokens=tokens, step=units.format_seconds(step)),
        description=say(
            "description",
            model=network.name,
            device=processor.name,
            place=PLACES[place],
            fetch=units.format_seconds(fetch),
            crossing=crossing,
        ),
        x=Axis(say("axes", "x"), "", 1, MOST, "log"),
        y=Axis(say("axes", "y"), "s", low, high, "log"),
        marks=tuple(marks),
    )
    readout = {
        "weights": units.format_bytes(nbytes),
        "rate": units.format_si(rate(processor, place), "B/s"),
        "fetching": units.format_seconds(fetch),
        "computing": units.format_seconds(tokens * each),
        "step": units.format_seconds(step),
        "rate-of-tokens": f"{tokens / step:,.1f}",
        "idle": f"{idle:.1%}",
        "crossing": say("crossing", tokens=crossing),
        "fits": say("yes" if nbytes <= processor.memory_capacity else "no"),
    }
    return View(figure, say.rows(readout), say.all("notes"))
