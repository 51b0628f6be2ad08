"""The operations of an image model, one after another, each with its FLOPs and bytes: what a roofline takes.

`flops.forward` adds up what matters for arithmetic; here stands everything that an eager framework runs as a call of
its own, norms and activations too, so that `roofline.predict_seconds` can charge each of them.
"""

from course_lib.accounting import flops, models, precision, roofline, units
from course_lib.accounting.convnet import EACH


def forward(model, batch=1, image=None, dtype="fp32") -> tuple[roofline.Op, ...]:
    """The calls of a forward pass of a ConvNet or VisionTransformer over `batch` images, in order.

    Compulsory traffic: each call reads its inputs and weights once and writes its result once. Attention is fused: it
    reads q, k and v and writes its result. Names are the parts of `flops.forward`; the FLOPs of the convolutions and
    products add up to it. Biases are added in the product's own call, the softmax is left out, padding is not read.
    """
    batch = units.count(batch, "batch")
    model = models.resolve(model)
    if hasattr(model, "steps"):
        return tuple(_of_step(step, batch, dtype) for step in model.steps(image))
    if model.reads_images:
        return tuple(_vision(model, batch, image, dtype))
    raise ValueError(f"model={units.shortly(model)} must be a models.ConvNet or a models.VisionTransformer.")


def _of_step(step, batch: int, dtype: str) -> roofline.Op:
    moved = batch * (step.reads + step.writes) + step.size
    return roofline.Op(step.part, batch * step.work * EACH[step.op], precision.nbytes(moved, dtype), dtype)


def _vision(model: models.VisionTransformer, batch: int, image, dtype: str):
    patches = model.patches(image)
    rows, d, heads = batch * (patches + 1), model.d_model, model.heads
    pixels = model.channels * model.patch**2
    yield _product("embedding.patch", batch * patches, pixels, d, dtype)
    yield _pass("embedding.position", rows * d, dtype, reads=2)
    for _ in range(model.layers):
        yield _norm(rows, d, dtype)
        yield _product("attention.qkv", rows, d, 3 * model.q_width, dtype)
        scores = 2 * batch * heads * flops.matmul(patches + 1, model.head_width, patches + 1)
        moved = precision.nbytes(4 * rows * model.q_width, dtype)
        yield roofline.Op("attention.scores and values", scores, moved, dtype)
        yield _product("attention.out", rows, model.q_width, d, dtype)
        yield _pass("residual", rows * d, dtype, reads=2)
        yield _norm(rows, d, dtype)
        yield _product("mlp", rows, d, model.mlp_width, dtype)
        yield _pass("activation", rows * model.mlp_width, dtype, work=EACH[model.activation])
        yield _product("mlp", rows, model.mlp_width, d, dtype)
        yield _pass("residual", rows * d, dtype, reads=2)
    yield _norm(rows, d, dtype)
    yield _product("head", batch, d, model.classes, dtype)


def _product(name: str, rows: int, inputs: int, outputs: int, dtype: str) -> roofline.Op:
    return roofline.matmul(rows, inputs, outputs, dtype, name=name)


def _pass(name: str, elements: int, dtype: str, reads: int = 1, work: int = 1) -> roofline.Op:
    return roofline.elementwise(elements, reads=reads, flops_per_element=work, dtype=dtype, name=name)


def _norm(rows: int, d: int, dtype: str) -> roofline.Op:
    return roofline.Op("norm", flops.layer_norm(rows, d), precision.nbytes(2 * rows * d, dtype), dtype)


units.teach(globals())
