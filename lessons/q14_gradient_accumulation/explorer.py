"""The peak of a step over the number of parts, and what the step computes, updates and sends."""

from course_lib.accounting import hardware, models, units
from course_lib.figures.plots import Axis, Figure, Line, Points
from course_lib.teaching.explore.controls import Choice
from course_lib.teaching.explore.frame import View, build
from course_lib.units.q14_gradient_accumulation import plans
from course_lib.words import words

say = words(__file__)
MODELS = ("gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl")
DEVICES = ("t4", "rtx-4090", "a100-40-sxm", "h100-sxm", "h200-sxm")
SEQUENCES = (1, 2, 4, 8, 16, 32, 64, 128)
CARDS = (1, 2, 4, 8, 64, 512)


def splits(sequences: int) -> tuple[int, ...]:
    """Numbers of equal parts."""
    return tuple(parts for parts in SEQUENCES if parts <= sequences)


def accumulate(model="gpt2", device="a100-40-sxm", sequences=64, parts=1, cards=8):
    """Memory, time and messages of a step whose batch goes through in parts.

    model: one of `MODELS`. device: one of `DEVICES`. sequences: of 1,024 tokens on each card. parts: into which they
    are cut. cards: that add up their gradients. Returns something to display, with `.state` and `.call`. ValueError for
    an argument that is not offered.
    """
    controls = {
        "model": Choice(say("controls", "model"), {name: models.load(name).name for name in MODELS}),
        "device": Choice(say("controls", "device"), {name: hardware.load(name).name for name in DEVICES}),
        "sequences": Choice(say("controls", "sequences"), {count: str(count) for count in SEQUENCES}),
        "parts": Choice(
            say("controls", "parts"), lambda state: {count: str(count) for count in splits(state["sequences"])}
        ),
        "cards": Choice(say("controls", "cards"), {count: str(count) for count in CARDS}),
    }
    state = {"model": model, "device": device, "sequences": sequences, "parts": parts, "cards": cards}
    return build(view, controls, state, "explorer.accumulate")


def view(model: str, device: str, sequences: int, parts: int, cards: int) -> View:
    """The picture and the numbers of one state."""
    chip, here = hardware.load(device), plans.step(model, device, sequences, parts, cards)
    counts = splits(sequences)
    peaks = [plans.step(model, device, sequences, count, cards).peak / 1e9 for count in counts]
    room, needs = chip.memory_capacity / 1e9, here.peak / 1e9
    numbers = {"parts": parts, "needs": needs, "room": room}
    fits = "fits" if needs <= room else "full"
    figure = Figure(
        title=say("title", fits, **numbers),
        description=say("description", name=models.load(model).name, device=chip.name, sequences=sequences, **numbers),
        x=Axis(say("axes", "x"), "", 0.8, 160, "log"),
        y=Axis(say("axes", "y"), "GB", 1, 3000, "log"),
        marks=(
            Line(counts, peaks),
            Line((0.8, 160), (room, room), say("room", room=room), dashed=True),
            Points((parts,), (needs,), (say("point", **numbers),), strong=True),
        ),
    )
    readout = {
        "each": _sequences(sequences // parts),
        "batch": _sequences(sequences * cards),
        "peak": units.format_bytes(here.peak),
        "fits": say("fits", fits),
        "compute": units.format_seconds(here.compute),
        "update": units.format_seconds(here.update),
        "sent": units.format_bytes(here.sent),
        "sent_each": units.format_bytes(here.sent_each),
    }
    return View(figure, say.rows(readout), say.all("notes"))


def _sequences(count: int) -> str:
    return say("sequences", "one" if count == 1 else "many", count=count)
