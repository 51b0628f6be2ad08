"""Prices that can be set to zero: what an answer then takes, and what it waits for next."""

from course_lib.accounting import units
from course_lib.figures.plots import Axis, Bars, Figure
from course_lib.teaching.explore.controls import Choice, Flag, Number
from course_lib.teaching.explore.frame import View, build
from course_lib.units.q24_infinite_compute import prices
from course_lib.words import words

say = words(__file__)
WORKS = ("one", "many", "crowd", "eight", "prompt", "product")  # of `prices.WORKS`


def zero_prices(work="one", arithmetic=True, bytes=False, calls=False, messages=False, distance=False, link=5):
    """An answer with some of five prices at zero.

    work: one of `WORKS`. arithmetic, bytes, calls, messages, distance: whether each is free. link: µs of an
    all-reduce among eight cards. Returns something to display, with `.state`, `.call` and `.reset()`. ValueError for an
    argument that is not offered.
    """
    state = {"arithmetic": arithmetic, "bytes": bytes, "calls": calls, "messages": messages, "distance": distance}
    controls = {
        "work": Choice(say("controls", "work"), {name: say("works", name) for name in WORKS}, "one"),
        **{price: Flag(say("controls", price)) for price in prices.PRICES},
        "link": Number(say("controls", "link"), 5, 0.1, 100, "µs"),
    }
    return build(view, controls, {"work": work, **state, "link": link}, "explorer.zero_prices")


def view(work, arithmetic, bytes, calls, messages, distance, link) -> View:
    """The picture and the numbers of one state."""
    flags = (arithmetic, bytes, calls, messages, distance)
    free = [price for price, flag in zip(prices.PRICES, flags, strict=True) if flag]
    each = {"link": link / 1e6}
    alone = {price: prices.alone(work, price, **each) * (price not in free) for price in prices.PRICES}
    now, then = prices.seconds(work, **each), prices.seconds(work, free, **each)
    left = any(alone.values())
    times = now / then if left else 0
    binds = say("prices", prices.binds(work, free, **each)) if left else ""
    told = {price: units.format_seconds(value) for price, value in alone.items()}
    kind = "none" if not left else "as-is" if not free else "some"
    figure = Figure(
        title=say("title", kind, times=times, binds=binds),
        description=say(
            "description", work=say("works", work), title=say("title", kind, times=times, binds=binds), **told
        ),
        x=Axis("", categories=tuple(say("prices", price) for price in prices.PRICES)),
        y=Axis(say("axis"), "s", 0, 1.1 * (max(alone.values()) or now)),
        marks=(Bars(tuple(alone.values())),),
    )
    tokens = prices.WORKS[work].steps
    rate = units.format_seconds((then - (alone["distance"] if left else 0)) / tokens) if left else "0 s"
    readout = {
        "now": units.format_seconds(now),
        "then": units.format_seconds(then) if left else "0 s",
        "each": rate,
        "times": say("times", times=times) if left else say("endless"),
        "binds": binds or say("nothing"),
    }
    return View(
        figure,
        say.rows(readout),
        say.all("notes", kernels=prices.KERNELS, call=prices.CALL * 1e6, tokens=prices.TOKENS),
    )
