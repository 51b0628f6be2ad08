"""What fusing a batch norm and a ReLU into a convolution saves, over its channels."""

from course_lib.accounting import hardware, units
from course_lib.figures.plots import Axis, Figure, Line, Points
from course_lib.teaching.explore.controls import Choice, Whole
from course_lib.teaching.explore.frame import View, build
from course_lib.units.q18_operator_fusion import saving
from course_lib.words import words

say = words(__file__)
DEVICES = ("t4", "v100-sxm2", "a100-40-sxm", "h100-sxm", "h200-sxm")
KERNELS = (1, 3, 5, 7)
WIDTHS = tuple(8 * 2 ** (step / 4) for step in range(33))  # 8 to 2,048


def fusion(device="a100-40-sxm", kernel=3, channels=256):
    """The share of convolution, batch norm and ReLU that fusing saves, by the roofline in fp16.

    device: one of `DEVICES`. kernel: width of the convolution, one of `KERNELS`. channels: in and out, 8 to 2,048.
    Returns something to display, with `.state` and `.call`. ValueError for an argument that is not offered.
    """
    controls = {
        "device": Choice(say("controls", "device"), {name: hardware.load(name).name for name in DEVICES}),
        "kernel": Choice(say("controls", "kernel"), {width: f"{width}×{width}" for width in KERNELS}),
        "channels": Whole(say("controls", "channels"), start=channels, low=8, high=2048),
    }
    state = {"device": device, "kernel": kernel, "channels": channels}
    return build(view, controls, state, "explorer.fusion")


def view(device: str, kernel: int, channels: int) -> View:
    """The picture and the numbers of one state."""
    chip, share = hardware.load(device), saving.saved(channels, kernel, device)
    conv, passes = saving.times(channels, kernel, device)
    numbers = {"share": share, "channels": channels, "device": chip.name, "kernel": kernel}
    corner = saving.flat_until(kernel, device)
    widths = sorted({*WIDTHS, min(max(corner, WIDTHS[0]), WIDTHS[-1])})
    figure = Figure(
        title=say("title", **numbers),
        description=say("description", **numbers),
        x=Axis(say("axes", "x"), "", 8, 2048, "log"),
        y=Axis(say("axes", "y"), "%", 0, 70),
        marks=(
            Line(tuple(widths), tuple(100 * saving.saved(width, kernel, device) for width in widths)),
            Line((8, 2048), (50, 50), say("half"), dashed=True),
            Points((channels,), (100 * share,), (say("point", **numbers),), strong=True),
        ),
    )
    million = 1e6
    readout = {
        "conv": units.format_seconds(million * conv),
        "passes": units.format_seconds(million * passes),
        "saved": f"{share:.1%}",
    }
    return View(figure, say.rows(readout), say.all("notes"))
