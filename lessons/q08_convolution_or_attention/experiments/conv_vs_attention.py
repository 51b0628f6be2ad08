"""A convolutional block and two transformer blocks by the size of the image: FLOPs and time.

The bottleneck is one of the first stage of ResNet-50 (He et al., arXiv:1512.03385), the others are blocks of ViT-S/16
and ViT-Ti/16 (Dosovitskiy et al., arXiv:2010.11929; Touvron et al., arXiv:2012.12877), all at inference. The FLOPs of
the bottleneck grow with the pixels; those of attention scores and values with their square.
"""

from collections.abc import Callable

from course_lib.accounting import flops, hardware, precision, roofline
from course_lib.experiments.nets import image_nets
from course_lib.experiments.running.experiment import Case, Experiment, main_dtype
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import curves
from course_lib.words import words

say = words(__file__)

CHANNELS, INNER = 256, 64  # of the bottleneck
PATCH = 16
CONVOLUTION, ATTENTION, TINY = "ResNet bottleneck", "ViT block", "ViT-Ti block"
WIDTHS = {ATTENTION: (384, 6), TINY: (192, 3)}  # width and heads of the transformer blocks
SCALE = 0.05  # of the random weights, so that the sums neither grow nor vanish


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Three blocks on images of 112, 224 and 448 pixels a side, the bottleneck and the small one of 896 too; full adds
    896 for the third.
    """
    dtype, batch = main_dtype(device), 1 if device.kind == "cpu" else 32
    sides = (112, 224, 448, 896)
    convolutions = [
        _case(CONVOLUTION, side, f"{batch} × [{CHANNELS}×{side // 4}×{side // 4}]", bottleneck_ops, bottleneck)
        for side in sides
    ]
    attentions = [_vit_case(ATTENTION, side, batch) for side in (sides[:3] if quick else sides)]
    tiny = [_vit_case(TINY, side, batch) for side in sides]
    return tuple(make(batch, dtype) for make in (*convolutions, *attentions, *tiny))


def _vit_case(block: str, side: int, batch: int) -> Callable[[int, str], Case]:
    width, heads = WIDTHS[block]

    def ops(side, batch, dtype):
        return vit_ops(side, batch, dtype, width, heads)

    def build(side, batch, dtype):
        return vit_block(side, batch, dtype, width, heads)

    return _case(block, side, say("calls", "tokens", batch=batch, tokens=tokens(side), width=width), ops, build)


def tokens(side: int) -> int:
    """The patches of an image and the class token."""
    return (side // PATCH) ** 2 + 1


def _case(block: str, side: int, call: str, ops_of: Callable, build: Callable) -> Callable[[int, str], Case]:
    def make(batch: int, dtype: str) -> Case:
        products, others = ops_of(side, batch, dtype)
        facts = {"block": block, "side": side, "flops": sum(op.flops for op in products)}
        return Case(f"{block}, {side}", call, (*products, *others), build(side, batch, dtype), facts=facts)

    return make


# ---------------------------------------------------------------- what they do: (products, all other operations)


def bottleneck_ops(side: int, batch: int, dtype: str) -> tuple[list[roofline.Op], list[roofline.Op]]:
    pixels = batch * (side // 4) ** 2

    def convolution(inputs, outputs, kernel):
        height = width = side // 4
        work = flops.conv2d(
            in_channels=inputs, out_channels=outputs, kernel=kernel, out_height=height, out_width=width, batch=batch
        )
        moved = precision.nbytes(pixels * (inputs + outputs) + kernel**2 * inputs * outputs, dtype)
        return roofline.Op(f"conv {kernel}×{kernel}", work, moved, dtype)

    def elementwise(name, channels, reads=1, each=1):
        return roofline.elementwise(pixels * channels, reads=reads, flops_per_element=each, dtype=dtype, name=name)

    products = [convolution(CHANNELS, INNER, 1), convolution(INNER, INNER, 3), convolution(INNER, CHANNELS, 1)]
    norms = [elementwise("batch norm", channels, each=4) for channels in (INNER, INNER, CHANNELS)]
    activations = [elementwise("ReLU", channels) for channels in (INNER, INNER, CHANNELS)]
    return products, [*norms, *activations, elementwise("residual", CHANNELS, reads=2)]


def vit_ops(side: int, batch: int, dtype: str, d: int, heads: int) -> tuple[list[roofline.Op], list[roofline.Op]]:
    count = tokens(side)
    rows = batch * count
    scores = 2 * batch * heads * flops.matmul(count, d // heads, count)
    attention = roofline.Op("SDPA", scores, precision.nbytes(4 * rows * d, dtype), dtype)
    linear = [
        roofline.matmul(rows, inputs, outputs, dtype)
        for inputs, outputs in ((d, 3 * d), (d, d), (d, 4 * d), (4 * d, d))
    ]
    norm = roofline.Op("layer norm", flops.layer_norm(rows, d), precision.nbytes(2 * rows * d, dtype), dtype)
    gelu = roofline.elementwise(4 * rows * d, flops_per_element=5, dtype=dtype, name="GELU")
    residual = roofline.elementwise(rows * d, reads=2, dtype=dtype, name="residual")
    return [linear[0], attention, *linear[1:]], [norm, norm, gelu, residual, residual]


# ---------------------------------------------------------------- the blocks


def bottleneck(side: int, batch: int, dtype: str):
    """1×1, 3×3 and 1×1 convolution, each with batch norm by running statistics; the input is added before the last
    ReLU.
    """

    def build(bench):
        F = bench.torch.nn.functional
        x = bench.random(batch, CHANNELS, side // 4, side // 4, dtype=dtype)
        layers = []
        for inputs, outputs, kernel in ((CHANNELS, INNER, 1), (INNER, INNER, 3), (INNER, CHANNELS, 1)):
            weight = bench.random(outputs, inputs, kernel, kernel, dtype=dtype).mul_(SCALE)
            mean, gain, bias = (bench.random(outputs, dtype=dtype) for _ in range(3))
            layers.append((weight, mean, bench.empty(outputs, dtype=dtype), gain, bias, kernel // 2))

        def block():
            y = x
            for place, (weight, mean, variance, gain, bias, padding) in enumerate(layers):
                y = F.batch_norm(F.conv2d(y, weight, padding=padding), mean, variance, gain, bias)
                if place < 2:
                    y = y.relu_()
            return y.add_(x).relu_()

        return block

    return build


def vit_block(side: int, batch: int, dtype: str, d: int = 384, heads: int = 6):
    """Layer norm and attention, layer norm and MLP with GELU, each added to its input."""

    def build(bench):
        x = bench.random(batch, tokens(side), d, dtype=dtype)
        block = image_nets.vision_block(bench, batch, tokens(side), d, heads, d // heads, 4 * d, dtype)
        return lambda: block(x)

    return build


def plot(result):
    """Measured and predicted time over the side of the image, a line for each block."""

    def growth(block):
        rows = [row for row in result.rows if row["block"] == block]
        return rows[-1]["measured"] / rows[0]["measured"] if len(rows) > 1 else None

    grown, title = [growth(block) for block in (CONVOLUTION, TINY)], say("title", "plain")
    if all(grown):
        title = say(
            "title",
            "found",
            convolution=CONVOLUTION,
            convolution_times=grown[0],
            transformer=TINY,
            transformer_times=grown[1],
        )
    return curves(result, x="side", title=title, axis=say("axis"), by="block")


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "s", block="str", side="int", flops="int FLOP", hidden=("block", "side")),
    quick_seconds=0.05,
    full_seconds=0.5,
)
