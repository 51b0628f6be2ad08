"""One layer, four kinds of convolution: what becomes of the time when the FLOPs fall by up to a factor of 256.

A plain 3×3 convolution looks at every channel; a depthwise one (one group for each channel) at its own only; a 1×1
convolution at every channel of one pixel. Depthwise and 1×1 after each other are the separable convolution of MobileNet
(Howard et al. 2017, section 3.1).
"""

from course_lib.accounting import flops, hardware, precision, roofline
from course_lib.experiments.running.experiment import Case, Experiment, main_dtype
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.figures.tabular import quantity
from course_lib.words import words

say = words(__file__)

CHANNELS, SIDE = 256, 28
PLAIN, DEPTHWISE, POINTWISE = "3×3", "3×3 depthwise", "1×1"
KINDS = {PLAIN: (3, 1), DEPTHWISE: (3, CHANNELS), POINTWISE: (1, 1)}  # kernel, groups
LAYOUTS = {"NCHW": False, "channels last": True}


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Three kinds of convolution in two layouts; full differs in the repeats."""
    dtype, batch = main_dtype(device), 1 if device.kind == "cpu" else 64
    return tuple(_case(kind, layout, batch, dtype) for kind in KINDS for layout in LAYOUTS)


def op(kind: str, batch: int, dtype: str) -> roofline.Op:
    """FLOPs and compulsory bytes of a kind."""
    kernel, groups = KINDS[kind]
    sizes = {"in_channels": CHANNELS, "out_channels": CHANNELS, "kernel": kernel, "groups": groups}
    work = flops.conv2d(**sizes, out_height=SIDE, out_width=SIDE, batch=batch)
    moved = 2 * batch * CHANNELS * SIDE**2 + CHANNELS * (CHANNELS // groups) * kernel**2
    return roofline.Op(kind, work, precision.nbytes(moved, dtype), dtype)


def _case(kind: str, layout: str, batch: int, dtype: str) -> Case:
    def build(bench):
        torch, (kernel, groups) = bench.torch, KINDS[kind]
        order = torch.channels_last if LAYOUTS[layout] else torch.contiguous_format
        x = bench.random(batch, CHANNELS, SIDE, SIDE, dtype=dtype).contiguous(memory_format=order)
        weight = bench.random(CHANNELS, CHANNELS // groups, kernel, kernel, dtype=dtype)
        weight = weight.contiguous(memory_format=order)
        return lambda: torch.nn.functional.conv2d(x, weight, padding=kernel // 2, groups=groups)

    work = op(kind, batch, dtype)
    return Case(
        f"{kind}, {layout}",
        f"{batch} × [{CHANNELS}×{SIDE}×{SIDE}]",
        (work,),
        build,
        facts={"flops": work.flops, "bytes": work.bytes, "intensity": work.intensity},
    )


def plot(result):
    """Measured and predicted time of each kind and layout."""
    times, title = result.measured, say("title", "plain")
    plain, depthwise = (f"{kind}, NCHW" for kind in (PLAIN, DEPTHWISE))
    if {plain, depthwise} <= set(times):
        faster = quantity(times[plain] / times[depthwise], "×")
        title = say("title", "found", channels=CHANNELS, faster=faster)
    return dots(result, title=title, axis=say("axis"))


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "s", flops="int FLOP", bytes="int B", intensity="float FLOP/B"),
    quick_seconds=0.06,
    full_seconds=0.4,
)
