"""Image models that run: the torch calls that a `models.ConvNet` or `models.VisionTransformer` describes.

One description counts (`flops.forward`), predicts (`operations.forward`) and runs. Weights are random, at inference:
batch norm takes its running statistics, ReLU works in place, as in torchvision.
"""

import math
from collections.abc import Callable
from typing import Any

from course_lib.accounting.convnet import Convolution, Linear, Pool, Residual, Stage, pair
from course_lib.accounting.models import ConvNet


def build(bench, model, image: int, batch: int = 1, dtype: str = "fp32", channels_last: bool = False):
    """A function that runs `model` on `batch` images of `image` pixels a side and gives the logits.

    channels_last: image and weights lie in memory in the order batch, row, column, channel (a ConvNet only).
    """
    if not isinstance(model, ConvNet):
        return _vision_transformer(bench, model, image, batch, dtype)
    x = bench.random(batch, model.channels, image, image, dtype=dtype)
    layers, _ = _sequence(bench, model.layers, tuple(x.shape[1:]), dtype)
    if channels_last:
        order = bench.torch.channels_last
        x = x.contiguous(memory_format=order)
        for kernel in layers.kernels:
            kernel[0] = kernel[0].contiguous(memory_format=order)
    return lambda: layers(x)


class _Layers:
    """Layers in a row. `kernels`: weights of convolutions, each in a list of one, so that they can be re-ordered."""

    def __init__(self, calls, kernels):
        self.calls, self.kernels = calls, kernels

    def __call__(self, x):
        for call in self.calls:
            x = call(x)
        return x


def _sequence(bench, layers, shape, dtype) -> tuple[_Layers, tuple]:
    calls, kernels = [], []
    for layer in layers:
        call, shape = _MAKE[type(layer)](bench, layer, shape, dtype, kernels)
        calls.append(call)
    return _Layers(calls, kernels), shape


def _weight(bench, *shape, dtype):
    """Random weights, so small that the sums neither grow nor vanish."""
    return bench.random(*shape, dtype=dtype).mul_(2 * math.sqrt(3 / math.prod(shape[1:])))


def _convolution(bench, layer: Convolution, shape, dtype, kernels):
    F, out = bench.torch.nn.functional, layer.out_channels
    kernel = [_weight(bench, out, shape[0] // layer.groups, *layer.kernel, dtype=dtype)]
    kernels.append(kernel)
    bias = bench.random(out, dtype=dtype) if layer.bias else None
    norm = [bench.random(out, dtype=dtype) + shift for shift in (0, 1, 1, 0)]  # mean, variance, gain, bias

    def call(x):
        y = F.conv2d(x, kernel[0], bias, layer.stride, layer.padding, 1, layer.groups)
        y = F.batch_norm(y, *norm) if layer.norm else y
        return _activated(F, layer.activation, y)

    return call, (out, *_sides(shape, layer))


def _sides(shape, layer) -> list[int]:
    """Height and width after the windows of a convolution or a pool have gone over an image."""
    sizes = pair(layer.kernel, "kernel"), pair(layer.stride, "stride"), pair(layer.padding, "padding", minimum=0)
    each = zip(shape[1:], *sizes, strict=True)
    return [(side + 2 * padding - width) // stride + 1 for side, width, stride, padding in each]


def _activated(F, activation, y):
    if activation is None:
        return y
    if activation == "relu":
        return F.relu_(y)
    if activation == "silu":
        return F.silu(y, inplace=True)
    return F.gelu(y, approximate="tanh" if activation == "gelu-tanh" else "none")


def _pool(bench, layer: Pool, shape, dtype, kernels):
    F = bench.torch.nn.functional
    if layer.kernel is None:
        return lambda x: F.adaptive_avg_pool2d(x, 1), (shape[0], 1, 1)
    pool = F.max_pool2d if layer.kind == "max" else F.avg_pool2d
    return lambda x: pool(x, layer.kernel, layer.stride, layer.padding), (shape[0], *_sides(shape, layer))


def _linear(bench, layer: Linear, shape, dtype, kernels):
    F = bench.torch.nn.functional
    weight = _weight(bench, layer.out_features, math.prod(shape), dtype=dtype)
    bias = bench.random(layer.out_features, dtype=dtype) if layer.bias else None
    return lambda x: _activated(F, layer.activation, F.linear(x.flatten(1), weight, bias)), (layer.out_features,)


def _residual(bench, layer: Residual, shape, dtype, kernels):
    F = bench.torch.nn.functional
    main, after = _sequence(bench, layer.main, shape, dtype)
    shortcut, _ = _sequence(bench, layer.shortcut, shape, dtype)
    kernels += main.kernels + shortcut.kernels
    return lambda x: _activated(F, layer.activation, main(x).add_(shortcut(x))), after


def _stage(bench, layer: Stage, shape, dtype, kernels):
    layers, after = _sequence(bench, layer.layers, shape, dtype)
    kernels += layers.kernels
    return layers, after


_MAKE: dict[type, Callable] = {
    Convolution: _convolution,
    Pool: _pool,
    Linear: _linear,
    Residual: _residual,
    Stage: _stage,
}


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
    """`model` as an `nn.Module` on the meta device, where tensors have shapes and no numbers: for counters that look at
    modules. Takes images of shape [batch, channels, height, width].
    """
    import torch

    nn = torch.nn
    activations = {"relu": nn.ReLU, "silu": nn.SiLU, "gelu": nn.GELU, "gelu-tanh": nn.GELU}

    class Sum(nn.Module):
        """Two branches on the same input."""

        def __init__(self, main, shortcut):
            super().__init__()
            self.main, self.shortcut = main, shortcut

        def forward(self, x):
            return self.main(x) + self.shortcut(x)

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
                yield pool(layer.kernel, layer.stride, layer.padding)
            case Linear():
                yield from (nn.Flatten(), nn.LazyLinear(layer.out_features, bias=layer.bias))
            case Residual():
                yield Sum(in_a_row(layer.main), in_a_row(layer.shortcut))
            case Stage():
                yield in_a_row(layer.layers)
        if activation := getattr(layer, "activation", None):
            yield activations[activation]()

    with torch.device("meta"), torch.no_grad():
        net = in_a_row(model.layers).eval()
        net(torch.empty(1, model.channels, *pair(model.image, "image")))  # a lazy layer learns here what comes in
    return net
