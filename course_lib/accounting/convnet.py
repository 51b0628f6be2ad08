"""Convolutional networks as data: layers, from which sizes, parameters and FLOPs follow."""

from collections import namedtuple
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from course_lib.accounting import units
from course_lib.accounting.layers.base import Layer, added
from course_lib.accounting.layers.mlp import ACTIVATIONS
from course_lib.accounting.layers.stack import Stack
from course_lib.accounting.quantity import NOTHING, Quantity, formula, of, product

# FLOP for each unit of `work` of a step
EACH = ACTIVATIONS | {
    "multiply-add": 2,
    "batchnorm": 4,  # with running statistics: −mean, ·1/σ, ·gain, +bias
    "pool": 1,  # a comparison or an addition for each element of a window
    "add": 1,
}


def pair(value, name: str, minimum: int = 1) -> tuple[int, int]:
    """`value`, an int or a pair, as (height, width)."""
    both = value if isinstance(value, (tuple, list)) else (value, value)
    if len(both) != 2:
        raise ValueError(f"{name}={value!r} must be an int or a pair (height, width).")
    return units.count(both[0], name, minimum), units.count(both[1], name, minimum)


def image_size(value):
    """`value`, checked: a side in pixels stays an int, a pair is (height, width)."""
    both = pair(value, "image")
    return both if isinstance(value, (tuple, list)) else both[0]


# ---------------------------------------------------------------- layers


@dataclass(frozen=True)
class Convolution:
    """A 2-D convolution; then a batch norm with gain and bias, if `norm`; then `activation`, if any.

    kernel, stride, padding (zeros on each side): int or (height, width). groups must divide the channels that come in
    and out_channels; groups equal to both is a depthwise convolution.
    """

    out_channels: int
    kernel: int | tuple[int, int]
    stride: int | tuple[int, int] = 1
    padding: int | tuple[int, int] = 0
    groups: int = 1
    bias: bool = True
    norm: bool = False
    activation: str | None = None

    def __post_init__(self):
        _set(
            self, out_channels=units.count(self.out_channels, "out_channels"), groups=units.count(self.groups, "groups")
        )
        _set(self, kernel=pair(self.kernel, "kernel"), stride=pair(self.stride, "stride"))
        _set(self, padding=pair(self.padding, "padding", minimum=0))
        _check_activation(self.activation)
        if self.out_channels % self.groups:
            raise ValueError(
                f"groups={self.groups} must divide out_channels={self.out_channels}: each group makes an equal share."
            )


@dataclass(frozen=True)
class Pool:
    """Max or average pooling over windows of `kernel`; kernel=None: over the whole image. stride=None: the kernel."""

    kernel: int | tuple[int, int] | None = None
    stride: int | tuple[int, int] | None = None
    padding: int | tuple[int, int] = 0
    kind: str = "max"

    def __post_init__(self):
        units.choice(self.kind, "kind", ("max", "average"))
        padding = pair(self.padding, "padding", minimum=0)
        if self.kernel is None:
            if self.stride is not None or padding != (0, 0):
                raise ValueError("kernel=None pools the whole image, where stride and padding mean nothing.")
            return
        kernel = pair(self.kernel, "kernel")
        _set(self, kernel=kernel, stride=kernel if self.stride is None else pair(self.stride, "stride"))
        _set(self, padding=padding)
        if any(2 * zeros > side for zeros, side in zip(padding, kernel, strict=True)):
            raise ValueError(f"padding={padding} must be at most half of kernel={kernel}: a window needs real pixels.")


@dataclass(frozen=True)
class Linear:
    """A linear layer on all numbers of an image, flattened; then `activation`, if any."""

    out_features: int
    bias: bool = True
    activation: str | None = None

    def __post_init__(self):
        _set(self, out_features=units.count(self.out_features, "out_features"))
        _check_activation(self.activation)


@dataclass(frozen=True)
class Residual:
    """The sum of two branches on the same input, then `activation`, if any. An empty `shortcut` passes the input on."""

    main: Sequence
    shortcut: Sequence = ()
    activation: str | None = "relu"

    def __post_init__(self):
        _set(self, main=_layers(self.main, "main"), shortcut=_layers(self.shortcut, "shortcut"))
        _check_activation(self.activation)
        if not self.main:
            raise ValueError("main=() must have a layer: a residual block adds something to its input.")


@dataclass(frozen=True)
class Stage:
    """Layers in a row that a Breakdown shows as one part, `name`."""

    name: str
    layers: Sequence

    def __post_init__(self):
        _set(self, layers=_layers(self.layers, "layers"))
        if not isinstance(self.name, str) or not self.name or "." in self.name:
            raise ValueError(f"name={self.name!r} of a stage must be a text without a dot: dots lead into its parts.")
        if not self.layers:
            raise ValueError(f"layers=() of stage {self.name!r} must have a layer.")


def _set(layer, **values) -> None:
    for name, value in values.items():
        object.__setattr__(layer, name, value)


def _check_activation(activation) -> None:
    if activation is not None:
        units.choice(activation, "activation", ACTIVATIONS)


def _layers(layers, name: str, kinds: tuple = (Convolution, Pool, Linear, Residual)) -> tuple:
    """`layers` as a tuple, each of one of `kinds`: a layer that is not known is refused, never counted as zero."""
    if not isinstance(layers, (tuple, list)):
        raise ValueError(f"{name}={layers!r} must be a list of layers.")
    for index, layer in enumerate(layers):
        if type(layer) not in kinds:
            known = ", ".join(kind.__name__ for kind in kinds)
            raise ValueError(f"{name}[{index}]={layer!r} is no layer that can be counted. Known: {known}.")
    return tuple(layers)


# ---------------------------------------------------------------- the network


class Step(namedtuple("Step", "part op parameters units learned reads writes")):
    """One operation on one image.

    part: stage and kind, "stem.convolution". op: "multiply-add", "batchnorm", "add", "pool" or an activation.
    parameters: quantity of what is trained. units: quantity of work: multiply-adds of a convolution or linear layer;
    else the elements that come out, times the window of a pooling. learned: whether parameters stand before it, so that
    its input needs a gradient. reads, writes: numbers of the image that go in (both branches of an addition) and come
    out.
    """

    @property
    def size(self) -> int:
        """Trainable parameters."""
        return self.parameters.value

    @property
    def size_text(self) -> str:
        """`size` as it is made: "64·3·7·7", "1000·(2048 + 1)"."""
        return formula(self.parameters)

    @property
    def work(self) -> int:
        """Units of work."""
        return self.units.value


class _Steps(Layer):
    """All steps of a network, as the one layer that it is."""

    def __init__(self, net):
        self.net = net

    def _added(self, image, ask) -> dict[str, Quantity]:
        return added({step.part: part} for step in self.net.steps(image) if (part := ask(step)))

    def parameters(self, active=False):
        return self._added(None, lambda step: step.parameters)

    def flops(self, x):
        return self._added(x.image, lambda step: _flops(step, x) if step.op == "multiply-add" else None)

    def extras(self, x):
        return self._added(x.image, lambda step: _flops(step, x) if step.op != "multiply-add" else None)

    def training(self, x):
        products = {True: 3, False: 2}  # what nothing learned stands before has no gradient to pass on
        return self._added(
            x.image, lambda step: products[step.learned] * _flops(step, x) if step.op == "multiply-add" else None
        )

    def assumes(self, x):
        return (
            "A convolution costs 2 · images · output channels · output height · output width · input channels of its "
            "group · kernel height · kernel width; multiplications with the zeros of its padding count.",
        )


def _flops(step: Step, x) -> Quantity:
    return EACH[step.op] * x.B * step.units


@dataclass(frozen=True)
class ConvNet(Stack):
    """A convolutional network: `layers` (Convolution, Pool, Linear, Residual, Stage) in a row.

    image: side in pixels or (height, width), of `channels`. Sizes follow from it: a side s becomes
    (s + 2·padding − kernel)//stride + 1. Parts carry the name of their Stage; a layer outside a stage is named after
    its kind and place ("convolution1").

    Layers that do not fit together (a kernel larger than its image, branches of different size, a convolution after a
    linear layer, groups that do not divide the channels) raise ValueError.
    """

    name: str
    layers: Sequence
    image: int | tuple[int, int]
    channels: int = 3

    decodes, reads_images = False, True
    omits_extras = "Batch norm, activation functions, pooling and residual additions."

    def __post_init__(self):
        _set(self, layers=_layers(self.layers, "layers", (Stage, Convolution, Pool, Linear, Residual)))
        _set(self, image=image_size(self.image), channels=units.count(self.channels, "channels"))
        names = [name for name, _ in self._stages()]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"layers: two parts have the name {name!r}; give each Stage a name of its own.")
        if not any(step.size for step in self.steps()):
            raise ValueError(
                f"layers={self.layers!r} must have a Convolution or a Linear: nothing here has parameters."
            )

    def _stages(self) -> list[tuple[str, tuple]]:
        """(name, layers) of each part of a Breakdown."""
        return [
            (layer.name, layer.layers)
            if isinstance(layer, Stage)
            else (f"{type(layer).__name__.lower()}{place}", (layer,))
            for place, layer in enumerate(self.layers, 1)
        ]

    def steps(self, image=None) -> list[Step]:
        """Every step that an `image` (None: its own) takes through the network, in order."""
        if image is None:
            return list(self._own_steps)
        steps = self._through(image)
        if [step.size for step in steps] != [step.size for step in self._own_steps]:
            raise ValueError(
                f"image={image!r} changes the size of a linear layer of {self.name}, whose weights are made for "
                f"image={self.image!r}. Pool the whole image before it, or describe another network."
            )
        return steps

    @cached_property
    def _own_steps(self) -> list[Step]:
        return self._through(self.image)

    def _through(self, image) -> list[Step]:
        shape = (self.channels, *pair(image, "image"))
        steps, learned = [], False
        for name, layers in self._stages():
            shape, learned = _through(layers, name, shape, learned, steps)
        return steps

    def stack(self):
        return [], [], [_Steps(self)]

    def _tokens(self, seq, image):
        return None, image

    def omits(self, x):
        return ("Biases and the update of running statistics.",)

    def parameters(self, active: bool = False):
        """Trainable parameters by stage, and in it by kind: convolution, norm, linear. All are active."""
        return self.breakdown(
            "parameters",
            lambda steps: steps.parameters(active),
            assumptions=(
                "A convolution has output channels · input channels of its group · kernel height · kernel width, a "
                "batch norm gain and bias, a linear layer outputs · inputs; a bias adds one per output.",
            ),
            omitted=("Running means and variances of batch norm: no gradient trains them.",),
        )


def _through(layers, stage: str, shape: tuple, learned: bool, steps: list) -> tuple[tuple, bool]:
    """Append the steps of `layers` on an input of `shape`; the shape that comes out, and whether a gradient must reach
    it because something before it has parameters."""
    for layer in layers:
        shape, learned = _PASS[type(layer)](layer, stage, shape, learned, steps)
    return shape, learned


def _convolution(layer: Convolution, stage: str, shape: tuple, learned: bool, steps: list):
    channels, out = _image(layer, stage, shape)[0], layer.out_channels
    if channels % layer.groups:
        raise ValueError(
            f"groups={layer.groups} must divide the {channels} channels that come into a convolution of {stage}."
        )
    height, width = _sides(layer, stage, shape)
    (rows, columns), share = layer.kernel, channels // layer.groups
    weights = product(out, share, rows, columns) + (out if layer.bias else 0)
    work, moved = product(out, height, width, share, rows, columns), (prod(shape), out * height * width)
    steps.append(Step(f"{stage}.convolution", "multiply-add", weights, work, learned, *moved))
    shape = (out, height, width)
    if layer.norm:
        steps.append(Step(f"{stage}.norm", "batchnorm", product(2, out), product(*shape), True, *_same(shape)))
    return _activated(layer, stage, shape, steps), True


def _pool(layer: Pool, stage: str, shape: tuple, learned: bool, steps: list):
    channels, *sides = _image(layer, stage, shape)
    rows, columns = layer.kernel or sides
    height, width = _sides(layer, stage, shape) if layer.kernel else (1, 1)
    work = product(channels, height, width, rows, columns)
    steps.append(Step(f"{stage}.pool", "pool", NOTHING, work, True, prod(shape), channels * height * width))
    return (channels, height, width), learned


def _linear(layer: Linear, stage: str, shape: tuple, learned: bool, steps: list):
    features, out = prod(shape), layer.out_features
    size = product(out, of(features) + layer.bias)
    steps.append(Step(f"{stage}.linear", "multiply-add", size, product(out, features), learned, features, out))
    return _activated(layer, stage, (out,), steps), True


def _residual(layer: Residual, stage: str, shape: tuple, learned: bool, steps: list):
    main, learned_main = _through(layer.main, stage, shape, learned, steps)
    shortcut, learned_shortcut = _through(layer.shortcut, stage, shape, learned, steps)
    if main != shortcut:
        raise ValueError(
            f"A residual block of {stage} adds {_size(main)} and {_size(shortcut)}; they must be equal. Give its "
            "shortcut a 1×1 convolution with the stride and the channels of main."
        )
    steps.append(Step(f"{stage}.residual", "add", NOTHING, product(*main), True, 2 * prod(main), prod(main)))
    return _activated(layer, stage, main, steps), learned_main or learned_shortcut


_PASS = {Convolution: _convolution, Pool: _pool, Linear: _linear, Residual: _residual}


def _activated(layer, stage: str, shape: tuple, steps: list) -> tuple:
    if layer.activation:
        steps.append(Step(f"{stage}.activation", layer.activation, NOTHING, product(*shape), True, *_same(shape)))
    return shape


def _same(shape: tuple) -> tuple[int, int]:
    """What an elementwise step reads and writes."""
    return prod(shape), prod(shape)


def _size(shape: tuple) -> str:
    return "×".join(map(str, shape))


def _image(layer, stage: str, shape: tuple) -> tuple:
    if len(shape) != 3:
        raise ValueError(
            f"A {type(layer).__name__} of {stage} needs an image, but a linear layer before it has flattened it."
        )
    return shape


def _sides(layer, stage: str, shape: tuple) -> list[int]:
    """Height and width that come out of a convolution or a pooling."""
    sides = []
    for side, kernel, stride, padding in zip(shape[1:], layer.kernel, layer.stride, layer.padding, strict=True):
        if kernel > side + 2 * padding:
            raise ValueError(
                f"kernel={layer.kernel} of a {type(layer).__name__} of {stage} is larger than its padded image: "
                f"{_size(shape)} with padding={layer.padding}. Start from a larger image, or stride less before it."
            )
        sides.append((side + 2 * padding - kernel) // stride + 1)
    return sides


# ---------------------------------------------------------------- a family


def resnet(name: str, stages, block: str, classes: int = 1000, image: int | tuple[int, int] = 224) -> ConvNet:
    """A residual network for images (He et al. 2015): `stages` blocks of widths 64, 128, 256, …; ResNet-50 is
    `resnet("resnet-50", [3, 4, 6, 3], "bottleneck")`.

    block: "basic" (two 3×3 convolutions) or "bottleneck" (1×1, 3×3, 1×1, four times wider at the end). A stage after
    the first halves the image in its first 3×3 convolution, as torchvision and NVIDIA do ("v1.5"); the paper does it in
    the 1×1 before.
    """
    units.choice(block, "block", ("basic", "bottleneck"))
    if not isinstance(stages, (tuple, list)) or not stages:
        raise ValueError(f"stages={stages!r} must list the blocks of each stage, such as [3, 4, 6, 3].")
    classes = units.count(classes, "classes")
    stem = (Convolution(64, 7, 2, 3, bias=False, norm=True, activation="relu"), Pool(3, 2, 1))
    parts, channels = [Stage("stem", stem)], 64
    for number, blocks in enumerate(stages, 1):
        width = 64 * 2 ** (number - 1)
        rows = []
        for index in range(units.count(blocks, "stages")):
            stride = 2 if number > 1 and index == 0 else 1
            main, out = _branch(width, stride, block)
            shortcut = (Convolution(out, 1, stride, bias=False, norm=True),) if stride > 1 or out != channels else ()
            rows.append(Residual(main, shortcut))
            channels = out
        parts.append(Stage(f"stage{number}", rows))
    parts.append(Stage("head", (Pool(kind="average"), Linear(classes))))
    return ConvNet(name, parts, image)


def _branch(width: int, stride: int, block: str) -> tuple[tuple, int]:
    """The main branch of a residual block, and the channels that come out of it."""
    inner = {"bias": False, "norm": True, "activation": "relu"}
    if block == "basic":
        return (Convolution(width, 3, stride, 1, **inner), Convolution(width, 3, 1, 1, bias=False, norm=True)), width
    narrow = (Convolution(width, 1, **inner), Convolution(width, 3, stride, 1, **inner))
    return (*narrow, Convolution(4 * width, 1, bias=False, norm=True)), 4 * width


# Sandler et al. 2018, table 2: growth of the inner width, width that comes out, repeats, stride of the first
_MOBILENET_V2 = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def mobilenet_v2(name: str, classes: int = 1000, image: int | tuple[int, int] = 224) -> ConvNet:
    """MobileNetV2 (Sandler et al. 2018) as torchvision builds it: inverted residual blocks, in which a 1×1 convolution
    widens, a depthwise 3×3 convolution looks around, and a 1×1 convolution narrows again. ReLU6 is counted as a ReLU.
    """
    parts = [Stage("stem", (normed_convolution(32, 3, 2),))]
    channels = 32
    for number, (growth, width, repeats, first) in enumerate(_MOBILENET_V2, 1):
        layers = []
        for index in range(repeats):
            layers += inverted_residual(channels, width, growth, first if index == 0 else 1)
            channels = width
        parts.append(Stage(f"stage{number}", layers))
    parts.append(Stage("last", (normed_convolution(1280),)))
    parts.append(Stage("head", (Pool(kind="average"), Linear(units.count(classes, "classes")))))
    return ConvNet(name, parts, image)


def normed_convolution(width: int, kernel: int = 1, stride: int = 1, groups: int = 1, activation="relu") -> Convolution:
    """A convolution that keeps the centre of its kernel on the image, with batch norm and without bias."""
    return Convolution(width, kernel, stride, kernel // 2, groups, bias=False, norm=True, activation=activation)


def inverted_residual(channels: int, width: int, growth: int, stride: int = 1) -> list:
    """The layers of one block of MobileNetV2 on `channels` that come in; the input is added where sizes are equal."""
    inner = growth * channels
    main = [normed_convolution(inner)] if growth > 1 else []
    main += [normed_convolution(inner, 3, stride, groups=inner), normed_convolution(width, activation=None)]
    return [Residual(main, activation=None)] if stride == 1 and channels == width else main
