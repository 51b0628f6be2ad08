"""Whole image models, at inference: does the one with fewer FLOPs take less time?

The prediction charges each convolution, norm, activation and sum as a call of its own (`operations.forward`), at the
peak of the best matrix product. Depthwise convolutions do few FLOPs with each number: by this prediction they wait for
memory.
"""

from course_lib.accounting import flops, hardware, models
from course_lib.accounting.models import operations
from course_lib.experiments.nets import image_nets
from course_lib.experiments.running.experiment import Case, Experiment, main_dtype
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.figures.tabular import quantity
from course_lib.words import words

say = words(__file__)

SIDE = 224
ROWS_FIRST, CHANNELS_LAST = "NCHW", "channels last"
QUICK = (
    ("resnet-50", ROWS_FIRST),
    ("resnet-50", CHANNELS_LAST),
    ("mobilenet-v2", ROWS_FIRST),
    ("mobilenet-v2", CHANNELS_LAST),
    ("vit-ti16", "tokens"),
)
MORE = (("resnet-18", ROWS_FIRST), ("resnet-18", CHANNELS_LAST), ("vit-s16", "tokens"), ("vit-b32", "tokens"))


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """ResNet-50, MobileNetV2 and ViT-Ti/16, the convolutional ones in two layouts; full adds ResNet-18, ViT-S, B/32."""
    dtype, batch = main_dtype(device), 1 if device.kind == "cpu" else 64
    return tuple(_case(name, layout, batch, dtype) for name, layout in (QUICK if quick else QUICK + MORE))


def _case(name: str, layout: str, batch: int, dtype: str) -> Case:
    model = models.load(name)

    def build(bench):
        return image_nets.build(bench, model, SIDE, batch, dtype, layout == CHANNELS_LAST)

    return Case(
        f"{name}, {layout}",
        f"{batch} × [3×{SIDE}×{SIDE}]",
        operations.forward(model, batch, dtype=dtype),
        build,
        facts={"model": name, "layout": layout, "flops": int(flops.forward(model, batch))},
    )


def plot(result):
    """Measured and predicted time of each model and layout."""
    times, title = result.measured, say("title", "plain")
    large, small = (f"{name}, {ROWS_FIRST}" for name in ("resnet-50", "mobilenet-v2"))
    if {large, small} <= set(times):
        fewer, faster = (of[large] / of[small] for of in ({row["case"]: row["flops"] for row in result.rows}, times))
        title = say("title", "found", fewer=fewer, faster=quantity(faster, "×"))
    return dots(result, title=title, axis=say("axis"))


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "s", model="str", layout="str", flops="int FLOP", hidden=("model", "layout")),
    quick_seconds=0.08,
    full_seconds=1.5,
)
