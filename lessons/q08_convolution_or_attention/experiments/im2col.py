"""A convolution as a matrix product: unfold the image (im2col), multiply, and compare with the library's convolution.

Unfolding copies each pixel once for every place of the kernel that sees it, 9 times for 3×3, so the product has the
FLOPs of the convolution and up to kernel-area times the bytes (Chellapilla, Puri, Simard, "High performance
convolutional neural networks for document processing", 2006). The prediction charges each call its operands once, and
the peak it divides by is that of the best matrix product: a library whose convolutions are tuned better than its matrix
products beats it.
"""

from functools import partial
from typing import NamedTuple

from course_lib.accounting import flops, hardware, precision, roofline
from course_lib.experiments.running.experiment import Case, Experiment, main_dtype
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.figures.tabular import quantity
from course_lib.words import words

say = words(__file__)


class Layer(NamedTuple):
    """A convolution of `inputs` to `outputs` channels, square kernel and image, zero padding that keeps the centre."""

    name: str
    inputs: int
    outputs: int
    kernel: int
    stride: int
    side: int  # of the image, pixels

    @property
    def out_side(self) -> int:
        return (self.side - 1) // self.stride + 1  # of an odd kernel, padded by half of it

    @property
    def depth(self) -> int:
        """Length of a column of the unfolded image."""
        return self.inputs * self.kernel**2


LAYERS = (  # of ResNet-50: its first layer, and one of each of three stages
    Layer("7×7, 3 channels", 3, 64, 7, 2, 224),
    Layer("3×3, 64 channels", 64, 64, 3, 1, 56),
    Layer("1×1, 256 channels", 256, 64, 1, 1, 56),
    Layer("3×3, 512 channels", 512, 512, 3, 1, 7),
)


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Four layers, each as one library call, and as unfolding, as product and as both; full differs in the repeats."""
    dtype, batch = main_dtype(device), 4 if device.kind == "cpu" else 128
    return tuple(case for layer in LAYERS for case in _layer_cases(layer, batch, dtype))


def ops(layer: Layer, batch: int, dtype: str) -> dict[str, roofline.Op]:
    """The library's convolution, the unfolding, and the product of the unfolded image."""
    positions = batch * layer.out_side**2
    image, weights = batch * layer.inputs * layer.side**2, layer.outputs * layer.depth
    result, unfolded = layer.outputs * positions, layer.depth * positions
    work = flops.conv2d(
        in_channels=layer.inputs,
        out_channels=layer.outputs,
        kernel=layer.kernel,
        out_height=layer.out_side,
        out_width=layer.out_side,
        batch=batch,
    )
    return {
        "conv2d": roofline.Op("conv2d", work, precision.nbytes(image + weights + result, dtype), dtype),
        "unfold": roofline.Op("unfold", 0, precision.nbytes(image + unfolded, dtype), dtype),
        "product": roofline.Op("product", work, precision.nbytes(unfolded + weights + result, dtype), dtype),
    }


def _layer_cases(layer: Layer, batch: int, dtype: str) -> list[Case]:
    known = ops(layer, batch, dtype)
    shape = f"{batch} images [{layer.inputs}×{layer.side}×{layer.side}]"
    unfolded = precision.nbytes(batch * layer.depth * layer.out_side**2, dtype)
    variants = {
        "library": ("conv2d",),
        "unfold": ("unfold",),
        "product": ("product",),
        "unfold + product": ("unfold", "product"),
    }
    return [
        Case(
            f"{layer.name}, {variant}",
            say("calls", "layer", shape=shape, outputs=layer.outputs),
            tuple(known[name] for name in names),
            partial(build, layer=layer, batch=batch, dtype=dtype, variant=variant),
            facts={
                "flops": sum(known[name].flops for name in names),
                "bytes": sum(known[name].bytes for name in names),
                "unfolded": 0 if variant == "library" else unfolded,
            },
        )
        for variant, names in variants.items()
    ]


def build(bench, layer: Layer, batch: int, dtype: str, variant: str):
    """The call of a variant; the product takes an image that was unfolded before."""
    torch, F = bench.torch, bench.torch.nn.functional
    image = bench.random(batch, layer.inputs, layer.side, layer.side, dtype=dtype)
    weights = bench.random(layer.outputs, layer.inputs, layer.kernel, layer.kernel, dtype=dtype)
    matrix, padding = weights.view(layer.outputs, layer.depth), layer.kernel // 2

    def unfold():
        return F.unfold(image, layer.kernel, padding=padding, stride=layer.stride)

    def multiply(columns):
        return torch.matmul(matrix, columns).view(batch, layer.outputs, layer.out_side, layer.out_side)

    if variant == "library":
        return lambda: F.conv2d(image, weights, padding=padding, stride=layer.stride)
    if variant == "unfold":
        return unfold
    if variant == "product":
        columns = unfold()
        return lambda: multiply(columns)
    return lambda: multiply(unfold())


def plot(result):
    """Measured and predicted time of each layer in each variant."""
    times, title = result.measured, say("title", "plain")
    layer = "3×3, 64 channels"
    if {f"{layer}, library", f"{layer}, unfold + product"} <= set(times):
        factor = times[f"{layer}, unfold + product"] / times[f"{layer}, library"]
        title = say("title", "found", layer=layer, factor=quantity(factor, "×"))
    return dots(result, title=title, axis=say("axis"))


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "s", flops="int FLOP", bytes="int B", unfolded="int B"),
    quick_seconds=0.03,
    full_seconds=0.3,
)
