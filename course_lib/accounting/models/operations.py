"""The operations of an image model, one after another, each with its FLOPs and bytes: what a roofline takes.

`flops.forward` adds up what matters for arithmetic; here stands everything that an eager framework runs as a call of
its own, norms and activations too, so that `roofline.predict_seconds` can charge each of them. `peak_activations` walks
through them once more, and says how much memory the worst of them needs.
"""

from collections import namedtuple
from math import prod

from course_lib.accounting import models, precision, roofline, units
from course_lib.accounting.answers.breakdown import Breakdown
from course_lib.accounting.answers.quantity import of
from course_lib.accounting.layers.convolution import Convolution, Image, Residual, Stage


def forward(model, batch=1, image=None, dtype="fp32") -> tuple[roofline.Op, ...]:
    """The calls of a forward pass of a ConvNet or VisionTransformer over `batch` images, in order.

    Compulsory traffic: each call reads its inputs and weights once and writes its result once. Attention is fused: it
    reads q, k and v and writes its result. Names are the parts of `flops.forward`; the FLOPs of the convolutions and
    products add up to it. Biases are added in the product's own call, the softmax is left out, padding is not read.
    """
    model = models.resolve(model).at(image)
    if not model.reads_images:
        raise ValueError(f"model={units.shortly(model)} must be a models.ConvNet or a models.VisionTransformer.")
    x = model.inputs(batch, image=image)
    before, blocks, after = model.parts
    calls = [call for layer in (*before, *blocks, *after) for call in layer.calls(x)]
    return tuple(roofline.Op(call.part, int(call.flops), precision.nbytes(call.moved, dtype), dtype) for call in calls)


# Numbers that are alive while one operation runs: read and written by it, and kept meanwhile for a later sum.
_Instant = namedtuple("_Instant", "part read written kept")


def peak_activations(model, image=None, dtype="int8", in_place=True) -> Breakdown:
    """Bytes of activations alive at the worst instant when a ConvNet runs on one image, one operation after another.

    Parts: what that operation reads and writes, and what is kept meanwhile for the sum at the end of a residual block.
    Norms, activation functions and sums write over what they read; with in_place a depthwise convolution does so too,
    channel by channel, as an engine for microcontrollers does (Lin et al., MCUNet, 2020), where nothing else needs what
    it reads. dtype: that of all activations. The image itself is read by the first operation, and counts.
    """
    model = models.resolve(model)
    if not isinstance(model, models.ConvNet):
        raise ValueError(f"model={units.shortly(model)} must be a models.ConvNet, such as 'mobilenet-v2'.")
    overwrites, dtype = units.flag(in_place, "in_place"), precision.normalise(dtype)
    model = model.at(image)
    start = Image("", (model.channels, *units.pair(model.image, "image")), False, True)
    instants, _ = _instants(model.layers, start, overwrites)
    worst = max(instants, key=lambda instant: sum(instant[1:]))
    parts = {"reads": worst.read, "writes": worst.written, "kept": worst.kept}
    said = "A depthwise convolution writes over what it reads." if overwrites else "A convolution never overwrites."
    return Breakdown.of(
        "B",
        {name: precision.stored(of(numbers), dtype) for name, numbers in parts.items() if numbers},
        assumptions=(f"The worst operation is {worst.part}.", said, "Norms, activation functions and sums overwrite."),
        omitted=("Weights, the code, and scratch memory inside an operation (one channel, of what overwrites).",),
    )


def _instants(layers, image, overwrites, kept=0, shared=False) -> tuple[list[_Instant], Image]:
    """What is alive in each operation of `layers`, and what comes out of the last.

    kept: numbers that others need later. shared: so do they the `image` itself, after its first reader here.
    """
    found, held = [], prod(image.sizes) if shared else 0
    for layer in layers:
        if isinstance(layer, Stage):
            made, image = _instants(layer.layers, image._replace(stage=layer.name), overwrites, kept, shared)
        elif isinstance(layer, Residual):
            made, image = _residual(layer, image, overwrites, kept, shared)
        else:
            made, image = _plain(layer, image, overwrites and not shared, kept)
        found += made
        if shared:
            kept, shared = kept + held, False
    return found, image


def _residual(block, image, overwrites, kept, shared):
    main, after = _instants(block.main, image, overwrites, kept, shared=True)
    made = prod(after.sizes)
    beside, _ = _instants(block.shortcut, image, overwrites, kept + made, shared)
    held = prod(image.sizes) if shared and block.shortcut else 0
    return [*main, *beside, _Instant(f"{image.stage}.residual", 2 * made, 0, kept + held)], after


def _plain(layer, image, overwrites, kept):
    """Of a convolution, a pooling or a linear layer; its norm and its activation function need no more."""
    steps, after = layer.steps(image)
    channels = image.sizes[0]
    depthwise = isinstance(layer, Convolution) and layer.groups == channels == layer.out_channels
    products = [step for step in steps if step.op in ("multiply-add", "pool")]
    return [
        _Instant(
            step.part, step.reads, 0 if overwrites and depthwise and step.writes <= step.reads else step.writes, kept
        )
        for step in products
    ], after


units.teach(globals())
