"""The waves: in how many waves of tiles a matrix product runs, and what that wastes, as its rows move."""

from course_lib.accounting import hardware, units
from course_lib.accounting.hardware import multiprocessors
from course_lib.figures.plots import Axis, Figure, Line, Points
from course_lib.teaching import markup
from course_lib.teaching.explore.controls import Choice, Whole
from course_lib.teaching.explore.frame import View, build

MAX_ROWS = 8192
TILES = {"128 × 256": (128, 256), "128 × 128": (128, 128), "64 × 128": (64, 128), "64 × 64": (64, 64)}


def waves(m=1408, n=3072, tile="128 × 256", device="h100-sxm"):
    """What share of a device's arithmetic the m × n result of a product can use, computed in tiles, one on each SM.

    Returns something to display, with `.state` and `.call`. Raises ValueError, naming the argument.
    """
    devices = {id: hardware.load(id).name for id in hardware.names() if "registers" in hardware.load(id).levels}
    controls = {
        "device": Choice("Device", devices),
        "tile": Choice("Tile", tuple(TILES)),
        "m": Whole("Rows m", start=1408, high=MAX_ROWS),
        "n": Whole("Columns n", start=3072, high=MAX_ROWS),
    }
    return build(view, controls, {"m": m, "n": n, "tile": tile, "device": device}, "explore.waves")


def view(device, tile, m, n) -> View:
    """The picture and the numbers of one state."""
    rows, columns = TILES[tile]
    here = multiprocessors.waves(m, n, tile_m=rows, tile_n=columns, device=device)
    steps = -(-MAX_ROWS // rows)
    edges = [edge for step in range(steps) for edge in (step * rows + 1, (step + 1) * rows)]
    across, covered = -(-n // columns), here.slots * rows * columns  # results of one wave
    shares = [edge * n / (-(-(-(-edge // rows) * across) // here.slots) * covered) for edge in edges]
    intensity = rows * columns / (rows + columns)  # FLOP per byte that a tile fetches in a 16-bit format
    words = {
        "m": m,
        "n": n,
        "tile": tile,
        "device": hardware.load(device).name,
        "tiles": here.tiles,
        "slots": here.slots,
        "waves": f"{here.waves} waves" if here.waves > 1 else "1 wave",
        "last": here.last,
        "share": markup.number(100 * here.useful),
    }
    figure = Figure(
        title=_TITLE.format(**words),
        description=_DESCRIPTION.format(**words),
        x=Axis("rows m of the result", "", 0, MAX_ROWS),
        y=Axis("useful share of the arithmetic", "%", 0, 105),
        marks=(
            Line(edges, [100 * share for share in shares]),
            Points((m,), (100 * here.useful,), (_POINT.format(**words),), strong=True),
        ),
    )
    readout = {
        "tiles of the result": f"{here.tiles:,}",
        "tiles at a time (one an SM)": f"{here.slots:,}",
        "waves": f"{here.waves:,}",
        "tiles in the last wave": f"{here.last:,}",
        "useful share": f"{words['share']} %",
        "a tile does, for each byte it fetches": units.format_si(intensity, "FLOP/B"),
    }
    return View(figure, readout, (*here.assumptions, *(_LEFT_OUT.format(what=what) for what in here.omitted), _BYTES))


_POINT = "m = {m:,}"
_TITLE = "m = {m:,}: {waves} of tiles, {share} % of the arithmetic is useful"
_DESCRIPTION = (
    "The share of the arithmetic that is useful is a saw: it climbs as rows fill the tiles, and falls where one row "
    "more needs another wave. On {device} a result of {m:,} × {n:,} in tiles of {tile} takes {tiles:,} tiles, "
    "{slots:,} at a time, in {waves}; the last one has {last:,}. Of all the arithmetic {share} % is useful."
)
_LEFT_OUT = "Left out: {what}"
_BYTES = "Bytes fetched are those of 16-bit operands, without what several SMs share; the result is not counted."
