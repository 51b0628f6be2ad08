"""Thirty small networks: do FLOPs put them into the order of their times?

A search for fast networks needs a number for speed. FLOPs are free; a roofline over the operations costs a profile of
the machine; a measurement costs the machine (Tan et al. 2018, MnasNet, section 3; Cai et al. 2018, ProxylessNAS).
Every network reads a colour image of 64 × 64 pixels and differs in the kind of its blocks, their width and number.
"""

from collections.abc import Mapping
from itertools import combinations

from course_lib.accounting import flops, hardware
from course_lib.accounting.models import operations
from course_lib.accounting.models.convnet import (
    ConvNet,
    Linear,
    Pool,
    Residual,
    Stage,
    inverted_residual,
    normed_convolution,
)
from course_lib.experiments.nets import image_nets
from course_lib.experiments.running.experiment import Case, Experiment, main_dtype
from course_lib.experiments.running.rows import quantity_columns, rows_of_quantity
from course_lib.figures.charts import dots
from course_lib.words import words

say = words(__file__)

SIDE, CLASSES = 64, 10
PLAIN, SEPARABLE, INVERTED = "plain", "separable", "inverted"
KINDS, WIDTHS, BLOCKS = (PLAIN, SEPARABLE, INVERTED), (16, 24, 32, 48, 64), (2, 4)


def network(kind: str, width: int, blocks: int) -> ConvNet:
    """A stem with stride 2, two stages of `blocks` blocks (the second of twice the width, with stride 2), a classifier.

    plain: one 3×3 convolution a block; separable: depthwise 3×3 and 1×1; inverted: as in MobileNetV2, four times wider
    inside.
    """
    parts, channels = [Stage("stem", [normed_convolution(width, 3, 2)])], width
    for number, (out, first) in enumerate(((width, 1), (2 * width, 2)), 1):
        layers = []
        for index in range(blocks):
            layers += _block(kind, channels, out, first if index == 0 else 1)
            channels = out
        parts.append(Stage(f"stage{number}", layers))
    parts.append(Stage("head", [Pool(kind="average"), Linear(CLASSES)]))
    return ConvNet(f"{kind} {width}×{blocks}", parts, SIDE)


def _block(kind: str, channels: int, width: int, stride: int) -> list:
    if kind == INVERTED:
        return inverted_residual(channels, width, 4, stride)
    main = [normed_convolution(width, 3, stride)]
    if kind == SEPARABLE:
        main = [normed_convolution(channels, 3, stride, groups=channels), normed_convolution(width)]
    return [Residual(main)] if stride == 1 and channels == width else main


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Every kind in five widths with 2 and 4 blocks a stage, 30 networks; quick takes 12 of them."""
    dtype, batch = main_dtype(device), 1 if device.kind == "cpu" else 256
    widths = (16, 64) if quick else WIDTHS
    return tuple(
        _case(network(kind, width, blocks), kind, batch, dtype)
        for kind in KINDS
        for width in widths
        for blocks in BLOCKS
    )


def _case(model: ConvNet, kind: str, batch: int, dtype: str) -> Case:
    return Case(
        model.name,
        f"{batch} × [3×{SIDE}×{SIDE}]",
        operations.forward(model, batch, dtype=dtype),
        lambda bench: image_nets.build(bench, model, SIDE, batch, dtype),
        facts={
            "kind": kind,
            "flops": int(flops.forward(model, batch)),
            "params": int(model.parameters()),
        },
    )


def misordered(by: Mapping[str, float], measured: Mapping[str, float]) -> tuple[int, int]:
    """(pairs of networks that `by` puts into the wrong order of their measured times, all pairs that it orders)."""
    pairs = [(a, b) for a, b in combinations(measured, 2) if by[a] != by[b]]
    return sum((by[a] < by[b]) != (measured[a] < measured[b]) for a, b in pairs), len(pairs)


def flops_of(result) -> dict[str, int]:
    """Network -> FLOPs."""
    return {row["case"]: row["flops"] for row in result.rows}


def plot(result):
    """Measured and predicted time of each network, in the order of their FLOPs."""
    title = say("title", "plain")
    if len(result.rows) > 2:
        wrong, pairs = misordered(flops_of(result), result.measured)
        title = say("title", "found", wrong=wrong, pairs=pairs)
    return dots(result, title=title, axis=say("axis"))


def _table(cases, timings, device):
    return sorted(rows_of_quantity(cases, timings, device), key=lambda row: row["flops"])


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "s", kind="str", flops="int FLOP", params="int", hidden=("kind",)),
    table=_table,
    quick_seconds=0.05,
    full_seconds=0.3,
)
