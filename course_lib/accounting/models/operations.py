"""The operations of an image model, one after another, each with its FLOPs and bytes: what a roofline takes.

`flops.forward` adds up what matters for arithmetic; here stands everything that an eager framework runs as a call of
its own, norms and activations too, so that `roofline.predict_seconds` can charge each of them.
"""

from course_lib.accounting import models, precision, roofline, units


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


units.teach(globals())
