"""Image models that run: the torch calls that a `models.ConvNet` or `models.VisionTransformer` describes.

One description counts (`flops.forward`), predicts (`operations.forward`) and runs. Weights are random, at inference:
batch norm takes its running statistics, ReLU works in place, as in torchvision.
"""

import math
from functools import partial
from typing import Any

from course_lib.accounting import units
from course_lib.accounting.models import ConvNet
from course_lib.accounting.models.convnet import Convolution, Linear, Pool, Residual, Stage
from course_lib.experiments.running.bench import torch_dtype


def build(bench, model, image: int, batch: int = 1, dtype: str = "fp32", channels_last: bool = False):
    """A function that runs `model` on `batch` images of `image` pixels a side and gives the logits.

    channels_last: image and weights lie in memory in the order batch, row, column, channel (a ConvNet only).
    """
    if hasattr(model, "patches"):
        return _vision_transformer(bench, model, image, batch, dtype)
    x = bench.random(batch, model.channels, image, image, dtype=dtype)
    net = as_module(model).to(torch_dtype(bench.torch, dtype)).to_empty(device=bench.on).requires_grad_(False)
    for name, tensor in net.state_dict().items():
        if tensor.dim() > 1:
            tensor.copy_(_weight(bench, *tensor.shape, dtype=dtype))
        elif tensor.dim():  # gains and variances lie around 1
            tensor.copy_(bench.random(len(tensor), dtype=dtype) + name.endswith(("weight", "running_var")))
    if channels_last:
        order = bench.torch.channels_last
        x, net = x.contiguous(memory_format=order), net.to(memory_format=order)
    return lambda: net(x)


def _weight(bench, *shape, dtype):
    """Random weights, so small that the sums neither grow nor vanish."""
    return bench.random(*shape, dtype=dtype).mul_(2 * math.sqrt(3 / math.prod(shape[1:])))


def _vision_transformer(bench, model, image, batch, dtype):
    F = bench.torch.nn.functional
    d, side, heads, width = model.d_model, model.patch, model.heads, model.head_width
    count = model.patches(image)
    x = bench.random(batch, model.channels, image, image, dtype=dtype)
    patches = _linear_weights(bench, model.channels * side * side, d, dtype)
    kernel = patches[0].view(d, model.channels, side, side)
    first, positions = bench.random(1, 1, d, dtype=dtype), bench.random(1, count + 1, d, dtype=dtype)
    blocks = [
        vision_block(bench, batch, count + 1, d, heads, width, model.mlp_width, dtype) for _ in range(model.layers)
    ]
    norm = bench.random(d, dtype=dtype), bench.random(d, dtype=dtype)
    head = _linear_weights(bench, d, model.classes, dtype)

    def run():
        y = F.conv2d(x, kernel, patches[1], side).flatten(2).transpose(1, 2)
        y = bench.torch.cat([first.expand(batch, 1, d), y], 1) + positions
        for block in blocks:
            y = block(y)
        return F.linear(F.layer_norm(y, (d,), *norm)[:, 0], *head)

    return run


def vision_block(bench, batch: int, tokens: int, d: int, heads: int, width: int, inner: int, dtype: str):
    """One block of a vision transformer, as a function of its input: layer norm and attention, layer norm and MLP with
    GELU, each added to what goes in.
    """
    F = bench.torch.nn.functional
    sizes = ((d, 3 * heads * width), (heads * width, d), (d, inner), (inner, d))
    qkv, out, up, down = (_linear_weights(bench, inputs, outputs, dtype) for inputs, outputs in sizes)
    norms = [(bench.random(d, dtype=dtype), bench.random(d, dtype=dtype)) for _ in range(2)]

    def block(x):
        normed = F.layer_norm(x, (d,), *norms[0])
        q, k, v = F.linear(normed, *qkv).view(batch, tokens, 3, heads, width).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, tokens, heads * width)
        y = x + F.linear(attended, *out)
        return y + F.linear(F.gelu(F.linear(F.layer_norm(y, (d,), *norms[1]), *up)), *down)

    return block


def _linear_weights(bench, inputs: int, outputs: int, dtype: str):
    return _weight(bench, outputs, inputs, dtype=dtype), bench.random(outputs, dtype=dtype)


def as_module(model: ConvNet):
    """`model` as an `nn.Module` for inference, on images of shape [batch, channels, height, width]. It lies on the meta
    device, where tensors have shapes and no numbers.
    """
    import torch

    nn = torch.nn
    activations: dict[str, Any] = {
        "relu": partial(nn.ReLU, inplace=True),
        "silu": partial(nn.SiLU, inplace=True),
        "gelu": nn.GELU,
        "gelu-tanh": partial(nn.GELU, approximate="tanh"),
    }

    class Sum(nn.ModuleList):
        """Two branches on the same input."""

        def forward(self, x):
            main, shortcut = self
            return main(x).add_(shortcut(x))

    def in_a_row(layers):
        return nn.Sequential(*(module for layer in layers for module in modules(layer)))

    def modules(layer):
        match layer:
            case Convolution():
                sizes = layer.out_channels, layer.kernel, layer.stride, layer.padding
                yield nn.LazyConv2d(*sizes, groups=layer.groups, bias=layer.bias)
                if layer.norm:
                    yield nn.LazyBatchNorm2d()
            case Pool(kernel=None):
                yield nn.AdaptiveAvgPool2d(1)
            case Pool():
                pool: Any = nn.MaxPool2d if layer.kind == "max" else nn.AvgPool2d
                yield pool(layer.kernel, stride=layer.stride, padding=layer.padding)
            case Linear():
                yield from (nn.Flatten(), nn.LazyLinear(layer.out_features, bias=layer.bias))
            case Residual():
                yield Sum([in_a_row(layer.main), in_a_row(layer.shortcut)])
            case Stage():
                yield in_a_row(layer.layers)
        if activation := getattr(layer, "activation", None):
            yield activations[activation]()

    with torch.device("meta"), torch.no_grad():
        net = in_a_row(model.layers).eval()
        net(torch.empty(1, model.channels, *units.pair(model.image, "image")))  # a lazy layer learns here what comes in
    return net
