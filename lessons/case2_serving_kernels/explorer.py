"""A pair of layers split over ranks: what a pass waits for, by ranks."""

from course_lib.figures.plots import Axis, Figure, Stack
from course_lib.teaching.explore.controls import Choice, Number, Whole
from course_lib.teaching.explore.frame import View, build
from course_lib.units.case2_serving_kernels import splitting
from course_lib.words import words

say = words(__file__)
RANKS = (1, 2, 4, 8)
LINKS = ("450 GB/s", "50 GB/s", "25 GB/s")
PAIRS = {"70b": (8192, 28_672), "8b": (4096, 14_336), "small": (768, 3072)}


def tensor_parallel(batch=64, pair="70b", link="450 GB/s", latency=2.0):
    """Microseconds of width → hidden → width in bf16 on 1, 2, 4 and 8 H100, with one ring all-reduce at the end.

    batch: rows. pair: one of `PAIRS`. link: one of `LINKS`, of a rank, one way. latency: microseconds of a step of the
    ring. Returns something to display, with `.state`, `.call` and `.reset()`. ValueError for an argument out of range.
    """
    controls = {
        "batch": Whole(say("controls", "batch"), start=64, high=8192),
        "pair": Choice(say("controls", "pair"), {name: say("pairs", name) for name in PAIRS}),
        "link": Choice(say("controls", "link"), LINKS),
        "latency": Number(say("controls", "latency"), 2.0, 0.1, 50, "µs"),
    }
    state = {"batch": batch, "pair": pair, "link": link, "latency": latency}
    return build(view, controls, state, "explorer.tensor_parallel")


def view(batch: int, pair: str, link: str, latency: float) -> View:
    """The picture and the numbers of one state."""
    width, hidden = PAIRS[pair]
    way = {"link": float(link.split()[0]) * 1e9, "latency": latency * 1e-6}
    found = {ranks: splitting.pair(batch, width, hidden, ranks, **way) for ranks in RANKS}
    times = {ranks: split.seconds * 1e6 for ranks, split in found.items()}
    best = min(times, key=times.get)
    parts = {
        say("parts", part): [_short(getattr(split, part) * 1e6) for split in found.values()]
        for part in ("products", "link", "latency")
    }
    facts = {"best": best, "gain": times[1] / times[8], "batch": batch, "width": width, "hidden": hidden}
    told = "alone" if best == 1 else "all" if best == 8 else "some"
    each = " ".join(say("each", "one" if ranks == 1 else "many", ranks=ranks, us=us) for ranks, us in times.items())
    figure = Figure(
        title=say("title", told, **facts),
        description=say("description", each=each, **facts),
        x=Axis(say("axes", "x"), "", categories=tuple(map(str, RANKS))),
        y=Axis(say("axes", "y"), "µs", 0, 1.15 * max(times.values())),
        marks=(Stack(parts),),
    )
    readout = {
        "one": say("time", us=times[1]),
        "two": say("time", us=times[2]),
        "eight": say("time", us=times[8]),
        "gain": say("gain", gain=times[1] / times[8]),
        "sent": say("kilobytes", value=2 * 7 / 8 * 2 * batch * width / 1e3),
    }
    return View(figure, say.rows(readout), say.all("notes"))


def _short(us: float) -> float:
    """As many digits as fit beside a bar: three, and no fraction of a large number."""
    return float(f"{us:.3g}") if us < 100 else round(us)


def _times(batch: int, ranks: int, **way) -> float:
    return splitting.pair(batch, *PAIRS["70b"], ranks, **way).seconds


def gain(batch: int) -> float:
    """How many times as fast eight ranks are as one, for the largest pair."""
    return _times(batch, 1) / _times(batch, 8)


def least() -> int:
    """The rows, up to 8,192, at which eight ranks gain least."""
    return min(range(1, 8193), key=gain)


def eight(batch: int) -> float:
    """Microseconds on eight ranks."""
    return 1e6 * _times(batch, 8)


def even_latency() -> float:
    """Microseconds of a step of the ring at which two and eight ranks take equally long, at batch 1."""
    return 1e6 * (_times(1, 2, latency=0) - _times(1, 8, latency=0)) / (2 * (8 - 1) - 2 * (2 - 1))
