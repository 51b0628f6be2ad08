"""A ladder of three rungs in ms, and the shortest step that the peak of a number format allows."""

from course_lib.accounting import hardware
from course_lib.figures.plots import Axis, Figure, Line, Stack
from course_lib.teaching.explore.controls import Choice, Number, Whole
from course_lib.teaching.explore.frame import View, build
from course_lib.units.case1_gpt2_ladder import diary
from course_lib.words import words

say = words(__file__)
DTYPES = ("fp32", "tf32", "bf16")
PARTS = ("attention", "model", "fixed")
RUNGS = ("start", "attention", "precision")


def ladder(batch=16, tokens=1024, dtype="fp32", attention=120, model=330, fixed=50, faster=3, precision=1.67):
    """Parts of a training step of GPT-2 small on one A100, rung by rung, with the least time at a peak.

    batch: samples in a step; tokens: of each. dtype: whose peak is drawn. attention, model, fixed: ms of attention, of
    all other computing and of the rest. faster: speed-up of attention; precision: of attention and model, after it.
    Returns something to display, with `.state` and `.call`. ValueError for a value out of range.
    """
    controls = {
        "batch": Whole(say("controls", "batch"), start=16, high=64),
        "tokens": Choice(say("controls", "tokens"), {256: "256", 512: "512", 1024: "1,024"}),
        "dtype": Choice(say("controls", "dtype"), list(DTYPES)),
        "attention": Whole(say("controls", "attention"), start=120, high=600),
        "model": Whole(say("controls", "model"), start=330, high=600),
        "fixed": Whole(say("controls", "fixed"), start=50, high=600),
        "faster": Number(say("controls", "faster"), 3, 1, 100),
        "precision": Number(say("controls", "precision"), 1.67, 1, 16),
    }
    state = dict(zip(controls, (batch, tokens, dtype, attention, model, fixed, faster, precision), strict=True))
    return build(view, controls, state, "explorer.ladder")


def view(batch, tokens, dtype, attention, model, fixed, faster, precision) -> View:
    """The picture and the numbers of one state."""
    parts = {"attention": attention, "model": model, "fixed": fixed}
    rungs = [("attention", faster), ("attention", precision), ("model", precision)]
    after = diary.climb(parts, rungs)
    steps = dict(zip(RUNGS, (sum(parts.values()), after[0], after[2]), strict=True))
    shares = {
        "attention": (attention, attention / faster, attention / faster / precision),
        "model": (model, model, model / precision),
        "fixed": (fixed, fixed, fixed),
    }
    work = batch * diary.sample_flops(seq=tokens)
    peak = hardware.load(diary.DEVICE).peak(dtype)
    least = 1e3 * work / peak
    used = {rung: least / ms for rung, ms in steps.items()}
    first = steps["start"]
    numbers = {"least": least, "dtype": dtype, "start": first, "share": used["start"], "after": steps["precision"]}
    figure = Figure(
        title=say("title", "possible" if least <= first else "impossible", **numbers),
        description=say("description", steps=steps, used=used, **numbers),
        x=Axis("", categories=tuple(say("rungs", rung) for rung in RUNGS)),
        y=Axis(say("axes", "y"), "ms", 0, 1.15 * max(first, least)),
        marks=(
            Stack({say("parts", part): shares[part] for part in PARTS}),
            Line((-0.5, 2.5), (least, least), say("line", **numbers), 0, dashed=True),
        ),
    )
    readout = {"least": say("ms", ms=least)}
    readout |= {rung: say("step", ms=steps[rung], rate=1e3 * batch / steps[rung], used=used[rung]) for rung in RUNGS}
    readout["gain"] = say("times", factor=first / steps["precision"])
    return View(figure, say.rows(readout), say.all("notes"))
