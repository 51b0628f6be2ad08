"""Gradients of all sizes beside what a format can hold, and a loss scale that moves them."""

import math
from dataclasses import dataclass
from statistics import NormalDist

from course_lib.accounting import precision
from course_lib.figures.plots import Axis, Figure, Label, Line
from course_lib.teaching.explore.controls import Choice, Number, Whole
from course_lib.teaching.explore.frame import View, build
from course_lib.words import words

say = words(__file__)
FORMATS = ("fp16", "bf16", "fp8-e5m2", "fp8-e4m3")
FEW = 0.01, 1e-6  # the task: shares of zeros and of overflows that are small enough
LOW, HIGH = -60, 40  # of the axis, in powers of two


@dataclass(frozen=True)
class Shares:
    """Of all gradients, 0 to 1: what becomes zero, what is held with fewer fraction bits, what is too large."""

    zero: float
    subnormal: float
    over: float


def shares(dtype: str, typical: float, spread: float, exponent: int) -> Shares:
    """What becomes of gradients whose sizes are log-normal: median `typical`, deviation `spread` powers of two, times
    2^exponent.
    """
    limits, sizes = precision.limits(dtype), NormalDist(math.log2(typical) + exponent, spread)
    zero = sizes.cdf(math.log2(limits.min_subnormal) - 1)  # up to half of the smallest number
    return Shares(
        zero=zero,
        subnormal=sizes.cdf(math.log2(limits.min_normal)) - zero,
        over=NormalDist().cdf((sizes.mean - math.log2(limits.max)) / spread),
    )


def good_scales(dtype: str, typical: float, spread: float) -> list[int]:
    """Exponents from 0 to 40 with which less than 1 % become zero and less than one in a million overflow."""
    found = {exponent: shares(dtype, typical, spread, exponent) for exponent in range(41)}
    return [exponent for exponent, each in found.items() if each.zero < FEW[0] and each.over < FEW[1]]


def window(dtype="fp16", exponent=0, typical=1e-7, spread=4.0):
    """Gradients beside what `dtype` can hold, after a loss scale of 2^exponent.

    typical: the median size; spread: the deviation of the sizes, in powers of two. Returns something to display, with
    `.state`, `.call` and `.reset()`. ValueError for an argument out of range.
    """
    controls = {
        "dtype": Choice(say("controls", "dtype"), FORMATS, start="fp16"),
        "exponent": Whole(say("controls", "exponent"), start=0, low=0, high=40, stops=tuple(range(41))),
        "typical": Number(say("controls", "typical"), start=1e-7, low=1e-10, high=1e-2),
        "spread": Number(say("controls", "spread"), start=4.0, low=1.0, high=8.0),
    }
    state = {"dtype": dtype, "exponent": exponent, "typical": typical, "spread": spread}
    return build(view, controls, state, "explorer.window")


def view(dtype: str, exponent: int, typical: float, spread: float) -> View:
    """The picture and the numbers of one state."""
    found, limits = shares(dtype, typical, spread, exponent), precision.limits(dtype)
    edges = {"first": limits.min_subnormal, "zero": limits.min_subnormal / 2, "last": limits.max}
    places = {name: max(LOW, min(HIGH, math.log2(edge))) for name, edge in edges.items()}
    sizes = NormalDist(math.log2(typical) + exponent, spread)
    bell = [sizes.mean + spread * step / 10 for step in range(-45, 46)]
    across = [LOW, *(x for x in bell if LOW < x < HIGH), HIGH]
    top = 100 * sizes.pdf(sizes.mean)
    good = found.zero < FEW[0] and found.over < FEW[1]
    worst = "good" if good else "zero" if found.zero >= FEW[0] else "over"
    facts = {
        "dtype": dtype,
        "zero": 100 * found.zero,
        "over": 100 * found.over,
        "subnormal": 100 * found.subnormal,
        "first": math.log2(edges["first"]),
        "half": math.log2(edges["zero"]),
        "last": math.log2(edges["last"]),
        "median": sizes.mean,
    }
    figure = Figure(
        title=say("title", worst, **facts),
        description=say("description", **facts),
        x=Axis(say("axes", "x"), "", LOW, HIGH),
        y=Axis(say("axes", "y"), "%", 0, 1.3 * top),
        marks=(
            Line(across, [100 * sizes.pdf(x) for x in across]),
            *(
                Line((places[name],) * 2, (0, 1.15 * top), dashed=True)
                for name in ("zero", "last")
                if LOW < places[name] < HIGH
            ),
            *(
                Label(places[name], 1.22 * top, say("edges", name))
                for name in ("zero", "last")
                if LOW < places[name] < HIGH
            ),
        ),
    )
    readout = {
        "scale": f"{2**exponent:,}",
        "zero": say("percent", share=facts["zero"]),
        "subnormal": say("percent", share=facts["subnormal"]),
        "over": say("percent", share=facts["over"]),
        "held": say("range", first=edges["first"], last=edges["last"]),
    }
    return View(figure, say.rows(readout), say.all("notes"))
