"""The waves: in how many waves of tiles a matrix product runs, and what that wastes, as its rows move."""

from course_lib.accounting import hardware, units
from course_lib.accounting.hardware import multiprocessors
from course_lib.figures.plots import Axis, Figure, Line, Points
from course_lib.teaching import markup
from course_lib.teaching.explore.controls import Choice, Whole
from course_lib.teaching.explore.frame import View, build
from course_lib.words import words

say = words(__file__)
MAX_ROWS = 8192
TILES = {"128 × 256": (128, 256), "128 × 128": (128, 128), "64 × 128": (64, 128), "64 × 64": (64, 64)}


def waves(m=1408, n=3072, tile="128 × 256", device="h100-sxm"):
    """What share of a device's arithmetic the m × n result of a product can use, computed in tiles, one on each SM.

    Returns something to display, with `.state` and `.call`. Raises ValueError, naming the argument.
    """
    devices = {id: hardware.load(id).name for id in hardware.names() if "registers" in hardware.load(id).levels}
    controls = {
        "device": Choice(say("controls", "device"), devices),
        "tile": Choice(say("controls", "tile"), tuple(TILES)),
        "m": Whole(say("controls", "m"), start=1408, high=MAX_ROWS),
        "n": Whole(say("controls", "n"), start=3072, high=MAX_ROWS),
    }
    return build(view, controls, {"m": m, "n": n, "tile": tile, "device": device}, "explorer.waves")


def view(device, tile, m, n) -> View:
    """The picture and the numbers of one state."""
    rows, columns = TILES[tile]
    here = multiprocessors.waves(m, n, tile_m=rows, tile_n=columns, device=device)
    steps = -(-MAX_ROWS // rows)
    edges = [edge for step in range(steps) for edge in (step * rows + 1, (step + 1) * rows)]
    across, covered = -(-n // columns), here.slots * rows * columns  # results of one wave
    shares = [edge * n / (-(-(-(-edge // rows) * across) // here.slots) * covered) for edge in edges]
    intensity = rows * columns / (rows + columns)  # FLOP per byte that a tile fetches in a 16-bit format
    number = "many" if here.waves > 1 else "one"
    values = {
        "m": m,
        "n": n,
        "tile": tile,
        "device": hardware.load(device).name,
        "tiles": here.tiles,
        "slots": here.slots,
        "waves": here.waves,
        "last": here.last,
        "share": markup.number(100 * here.useful),
    }
    figure = Figure(
        title=say("title", number, **values),
        description=say("description", number, **values),
        x=Axis(say("axes", "x"), "", 0, MAX_ROWS),
        y=Axis(say("axes", "y"), "%", 0, 105),
        marks=(
            Line(edges, [100 * share for share in shares]),
            Points((m,), (100 * here.useful,), (say("point", m=m),), strong=True),
        ),
    )
    readout = {
        "tiles": f"{here.tiles:,}",
        "slots": f"{here.slots:,}",
        "waves": f"{here.waves:,}",
        "last": f"{here.last:,}",
        "share": f"{values['share']} %",
        "intensity": units.format_si(intensity, "FLOP/B"),
    }
    left_out = (say("left-out", what=what) for what in here.omitted)
    return View(figure, say.rows(readout), (*here.assumptions, *left_out, say("bytes")))
