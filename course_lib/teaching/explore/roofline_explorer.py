"""The roofline: where an operation stands under a device's roof, as its rows move."""

import math
from collections.abc import Callable, Iterable

from course_lib.accounting import flops, hardware, precision, units
from course_lib.accounting import roofline as _roofline
from course_lib.figures.plots import Axis, Figure, Label, Line, Points
from course_lib.teaching import markup
from course_lib.teaching.explore.controls import Choice, Whole
from course_lib.teaching.explore.frame import View, build
from course_lib.teaching.static import notice
from course_lib.words import words

say = words(__file__)
MAX_ROWS = 65536
MAX_SIDE = 1_048_576  # of k and n
INTENSITIES = (0.01, 1e6)  # FLOP/B, the fixed x axis: from below one add of doubles to beyond any product here
TILES = (64, 128, 256)  # rows, and columns, of the tile of a result that stays near the arithmetic

# What the rows are rows of: name → the operation of m rows.
OPS: dict[str, Callable[..., _roofline.Op]] = {
    "matmul": lambda m, k, n, dtype: _roofline.matmul(m, k, n, dtype=dtype),
    "matvecs": lambda m, k, n, dtype: _roofline.matmul(1, k, n, dtype=dtype, batch=m),
    "add": lambda m, k, n, dtype: _roofline.elementwise(m * n, reads=2, dtype=dtype),
    "softmax": lambda m, k, n, dtype: _roofline.elementwise(
        m * n, flops_per_element=flops.softmax(1, 1, stable=True), dtype=dtype
    ),
}


def roofline(
    device="h100-sxm",
    dtype=None,
    m=1,
    k=4096,
    n=4096,
    op: str = "matmul",
    l2_tile: int = 0,
    ops: Iterable[_roofline.Op] | None = None,
):
    """Where work on m rows stands under a device's roof.

    device: an id of `hardware.names()`, "this-machine" (or "this-gpu") once `course doctor` has measured it, or a
    `hardware.Device`. dtype: one that the device has; None is bf16, or the device's first. op: a name of `OPS`;
    "matmul" is [m, k] @ [k, n]. l2_tile: draw the roof of the L2 cache too, with the traffic of a product in tiles of
    so many rows and columns (see `TILES`); 0 does not. ops: operations drawn as fixed points under the same roof.
    Returns something to display, with `.state`, `.call` and `.reset()`; one line where this machine was not measured
    yet. Raises ValueError, naming the argument, for one out of range.
    """
    try:
        devices = _devices(device)
    except hardware.ProfileMissing as error:  # asked for this machine before it was measured
        return notice(str(error))

    def view(device, ops=(), **state) -> View:
        return roofline_view(devices[device], ops=ops, **state)

    controls = {
        "device": Choice(say("controls", "device"), {known: found.name for known, found in devices.items()}),
        "dtype": Choice(say("controls", "dtype"), lambda state: list(devices[state["device"]].peaks), start="bf16"),
        "op": Choice(say("controls", "op"), say.table("ops")),
        "m": Whole(say("controls", "m"), start=1, high=MAX_ROWS),
        "k": Whole(say("controls", "k"), start=4096, high=MAX_SIDE, slider=False),
        "n": Whole(say("controls", "n"), start=4096, high=MAX_SIDE, slider=False),
        "l2_tile": Choice(  # after k and n, which then stand side by side on a page of two columns and of three
            say("controls", "l2_tile"), {0: say("no-l2")} | {tile: say("tiles", tile=tile) for tile in TILES}
        ),
    }
    dtype = None if dtype is None else precision.normalise(dtype)
    state = {"device": device, "dtype": dtype, "op": op, "l2_tile": l2_tile, "m": m, "k": k, "n": n}
    return build(view, controls, state, "explore.roofline", {"ops": tuple(ops)} if ops else None)


def roofline_view(device, dtype: str, m: int, k: int, n: int, op="matmul", l2_tile=0, ops=()) -> View:
    """The picture and the numbers of one state. The times are the roofline's: no framework call is in them."""
    device = hardware.resolve(device)
    make = OPS[units.choice(op, "op", OPS)]
    work, single = (make(rows, k, n, dtype) for rows in (m, 1))
    here, one = (_roofline.place(flops=o.flops, bytes=o.bytes, device=device, dtype=dtype) for o in (work, single))
    near = _near(work, m, k, n, op, device, l2_tile) if l2_tile else None
    bound, seconds = (near.bound, near.seconds) if near else (here.bound, here.seconds)
    reached = work.flops / seconds
    peak, bandwidth = device.peak(dtype), device.memory_bandwidth
    values = {
        "device": device.name,
        "dtype": dtype,
        "rows": m,
        "peak": units.format_si(peak, "FLOP/s"),
        "bandwidth": units.format_si(bandwidth, "B/s"),
        "ridge": units.format_si(here.ridge, "FLOP/B"),
        "intensity": units.format_si(here.intensity, "FLOP/B"),
        "attainable": units.format_si(reached, "FLOP/s"),
        "share": markup.number(100 * reached / peak),
    }
    figure = Figure(
        title=say("title", bound, **values),
        description=say("description", bound, **values),
        x=Axis(say("axes", "x"), "FLOP/B", *INTENSITIES, "log"),
        y=Axis(say("axes", "y"), "FLOP/s", *_decades(INTENSITIES[0] * bandwidth, peak * 3), "log"),
        marks=_marks(device, peak, here, near, m, ops),
    )
    readout = {
        "flops": units.format_si(work.flops, "FLOP"),
        "bytes": units.format_bytes(work.bytes),
        "intensity": values["intensity"],
        "ridge": values["ridge"],
        "bound": say("bound", bound),
        "attainable": values["attainable"],
        "time": units.format_seconds(seconds),
        "times": f"×{markup.number(here.seconds / one.seconds)}",
    }
    if near:
        readout |= {"l2-time": units.format_seconds(near.times["l2"])}
        del readout["times"]
    left_out = (say("left-out", what=sentence) for sentence in here.omitted)
    notes = (*here.assumptions, *left_out, say("compulsory"), *((say("tiled", tile=l2_tile),) if near else ()))
    return View(figure, say.rows(readout), notes)


def _near(work: _roofline.Op, m, k, n, op: str, device: hardware.Device, tile: int) -> _roofline.LevelPlace:
    """Where the work stands with the traffic of the L2 cache too. ValueError for a device whose L2 nobody states."""
    near = work.bytes
    if op == "matmul":
        near = int(_roofline.tiled_matmul_bytes(m, k, n, tile_m=tile, tile_n=tile, dtype=work.dtype))
    return _roofline.place_by_level(
        flops=work.flops, bytes={"memory": work.bytes, "l2": near}, device=device, dtype=work.dtype
    )


def _marks(device, peak: float, here: _roofline.Place, near: _roofline.LevelPlace | None, m: int, ops) -> tuple:
    """The roofs, the fixed points, and the diamond of the work: one under each roof that was asked for."""
    (low, high), bandwidth = INTENSITIES, device.memory_bandwidth
    bottom, _ = _decades(low * bandwidth, peak * 3)
    roof = Line((low, peak / bandwidth, high), (low * bandwidth, peak, peak), units.format_si(peak, "FLOP/s"))
    marks = [
        roof,
        Line((here.ridge,) * 2, (bottom, peak), dashed=True),
    ]
    if near:
        fast, intensity = device.bandwidth("l2"), near.intensities["l2"]
        marks += [
            Line((low, 1, peak / fast), (low * fast, fast, peak), say("marks", "l2-roof"), label_at=1, dashed=True),
            Points((intensity,), (min(peak, intensity * fast),), (say("marks", "l2-point", rows=m),)),
        ]
    marks += [
        Label((low * here.ridge) ** 0.5, bottom * 2.5, say("bound", "memory")),
        Label((here.ridge * high) ** 0.5, bottom * 2.5, say("bound", "compute")),
    ]
    if fixed := [(o.intensity, min(peak, o.intensity * bandwidth), o.name) for o in ops if o.flops]:
        marks.append(Points(*zip(*fixed, strict=True)))
    return (*marks, Points((here.intensity,), (here.attainable,), (say("marks", "point", rows=m),), strong=True))


def _decades(low: float, high: float) -> tuple[float, float]:
    """The powers of ten around a span."""
    return 10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high))


_MEASURED = {"this-machine": "cpu", "this-gpu": "cuda"}  # ids of the profile's devices, and where each is measured


def _devices(asked) -> dict[str | hardware.Device, hardware.Device]:
    """All that can be chosen: the device that was given; by id the catalogue, and what was measured on this machine."""
    own = {asked: asked} if isinstance(asked, hardware.Device) else {}
    known = own | {id: hardware.load(id) for id in hardware.names()}
    for on in _MEASURED.values():
        try:
            measured = hardware.this_machine(on)
        except hardware.ProfileMissing:
            continue
        known[measured.id] = measured
    if asked in _MEASURED and asked not in known:
        hardware.this_machine(_MEASURED[asked])  # raises ProfileMissing, which says what to do
    return known
