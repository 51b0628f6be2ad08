"""Layers of convolutional networks. Each is given without its input; `steps` makes of it what runs on an image."""

from collections import namedtuple
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from course_lib.accounting import units
from course_lib.accounting.answers.quantity import NOTHING, Quantity, formula, of, product
from course_lib.accounting.layers.base import Call, Layer
from course_lib.accounting.layers.mlp import ACTIVATIONS

# FLOP for each unit of `units` of a step
EACH = ACTIVATIONS | {
    "multiply-add": 2,
    "batchnorm": 4,  # with running statistics: −mean, ·1/σ, ·gain, +bias
    "pool": 1,  # a comparison or an addition for each element of a window
    "add": 1,
}

# What comes into a layer. stage: the part of a Breakdown. sizes: (channels, height, width), or (features,). learned:
# whether something before it has parameters, so that a gradient must reach it. held: whether it is kept anyhow.
Image = namedtuple("Image", "stage sizes learned held")


class Step(Layer):
    """One operation on one image.

    part: stage and kind, "stem.convolution". op: "multiply-add", "batchnorm", "add", "pool" or an activation. weights:
    quantity of what is trained. units: quantity of work: multiply-adds of a convolution or linear layer; else the
    elements that come out, times the window of a pooling. learned: whether its input needs a gradient. reads, writes:
    numbers that go in (both branches of an addition) and come out; None: as many as the image has. keeps: bytes of an
    image that autograd saves for it and for nothing before, in fp32.
    """

    def __init__(self, image: Image, kind, op, units=None, weights=NOTHING, reads=None, writes=None, keeps=None):
        numbers = prod(image.sizes)
        self.part, self.op, self.learned, self.weights = f"{image.stage}.{kind}", op, image.learned, weights
        self.units: Quantity = product(*image.sizes) if units is None else units
        self.reads, self.writes = (numbers if moved is None else moved for moved in (reads, writes))
        self.keeps = 4 * numbers * (not image.held) if keeps is None else keeps

    @property
    def size(self) -> int:
        """Trainable parameters."""
        return self.weights.value

    @property
    def size_text(self) -> str:
        """`size` as it is made: "64·3·7·7", "1000·(2048 + 1)"."""
        return formula(self.weights)

    @property
    def work(self) -> int:
        """Units of work."""
        return self.units.value

    def _counts(self, x, product: bool):
        return {self.part: EACH[self.op] * x.B * self.units} if (self.op == "multiply-add") == product else {}

    def parameters(self, active=False):
        return {self.part: self.weights} if self.size else {}

    def flops(self, x):
        return self._counts(x, True)

    def extras(self, x):
        return self._counts(x, False)

    @property
    def backward(self):
        return 2 if self.learned else 1

    def saved(self, x):
        if (x.precision, x.recompute) != ("fp32", "none"):
            self._unsaid("what autograd saves but in fp32 and with recompute='none'")
        statistics = 4 * self.weights if self.op == "batchnorm" else 0  # mean and deviation of each channel
        return {self.part: x.B * self.keeps + statistics}

    def calls(self, x):
        batch = x.B.value
        return [Call(self.part, EACH[self.op] * batch * self.work, batch * (self.reads + self.writes) + self.size)]

    def assumes(self, x):
        return (
            "A convolution costs 2 · images · output channels · output height · output width · input channels of its "
            "group · kernel height · kernel width; multiplications with the zeros of its padding count.",
        )


def in_a_row(layers, image: Image) -> tuple[list[Step], Image]:
    """What runs, and what comes out."""
    steps = []
    for layer in layers:
        made, image = layer.steps(image)
        steps += made
    return steps, image


class ImageLayer:
    """Base of what a ConvNet is described in. A layer of your own is a frozen dataclass with the method `steps`."""

    activation: str | None = None

    def steps(self, image: Image) -> tuple[list[Step], Image]:
        """What runs on an `image`, and what comes out."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it runs: define steps(image).")

    def _set(self, **values) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if self.activation is not None:
            units.choice(self.activation, "activation", ACTIVATIONS)

    def _activated(self, image: Image) -> list[Step]:
        return [Step(image, "activation", self.activation)] if self.activation else []

    @property
    def _kept(self) -> bool:
        """Whether what comes out is kept: the backward pass of a ReLU reads its result, others their input."""
        return self.activation == "relu"


@dataclass(frozen=True)
class Convolution(ImageLayer):
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
        self._set(out_channels=units.count(self.out_channels, "out_channels"))
        self._set(groups=units.count(self.groups, "groups"), kernel=units.pair(self.kernel, "kernel"))
        self._set(stride=units.pair(self.stride, "stride"), padding=units.pair(self.padding, "padding", minimum=0))
        if self.out_channels % self.groups:
            raise ValueError(
                f"groups={self.groups} must divide out_channels={self.out_channels}: each group makes an equal share."
            )

    def steps(self, image):
        channels, height, width = _windows(self, image)
        if channels % self.groups:
            raise ValueError(
                f"groups={self.groups} must divide the {channels} channels that come into a convolution of "
                f"{image.stage}."
            )
        out, share = self.out_channels, channels // self.groups
        weights = product(out, share, *self.kernel) + (out if self.bias else 0)
        work = product(out, height, width, share, *self.kernel)
        steps = [Step(image, "convolution", "multiply-add", work, weights, writes=out * height * width)]
        image = Image(image.stage, (out, height, width), True, False)
        if self.norm:
            steps.append(Step(image, "norm", "batchnorm", weights=product(2, out)))
        return steps + self._activated(image), image._replace(held=self._kept)


@dataclass(frozen=True)
class Pool(ImageLayer):
    """Max or average pooling over windows of `kernel`; kernel=None: over the whole image. stride=None: the kernel."""

    kernel: int | tuple[int, int] | None = None
    stride: int | tuple[int, int] | None = None
    padding: int | tuple[int, int] = 0
    kind: str = "max"

    def __post_init__(self):
        units.choice(self.kind, "kind", ("max", "average"))
        padding = units.pair(self.padding, "padding", minimum=0)
        if self.kernel is None:
            if self.stride is not None or padding != (0, 0):
                raise ValueError("kernel=None pools the whole image, where stride and padding mean nothing.")
            return
        kernel = units.pair(self.kernel, "kernel")
        stride = kernel if self.stride is None else units.pair(self.stride, "stride")
        self._set(kernel=kernel, stride=stride, padding=padding)
        if any(2 * zeros > side for zeros, side in zip(padding, kernel, strict=True)):
            raise ValueError(f"padding={padding} must be at most half of kernel={kernel}: a window needs real pixels.")

    def steps(self, image):
        out = _windows(self, image)
        work = product(*out, *(self.kernel or image.sizes[1:]))
        keeps = 4 * prod(image.sizes) * (not image.held) + 8 * prod(out) * (self.kind == "max")  # and the places
        mean = self.kernel is None and self.kind == "average"  # which divides by a number
        step = Step(image, "pool", "pool", work, writes=prod(out), keeps=0 if mean or not image.learned else keeps)
        return [step], image._replace(sizes=out, held=False)


@dataclass(frozen=True)
class Linear(ImageLayer):
    """A linear layer on all numbers of an image, flattened; then `activation`, if any."""

    out_features: int
    bias: bool = True
    activation: str | None = None

    def __post_init__(self):
        self._set(out_features=units.count(self.out_features, "out_features"))

    def steps(self, image):
        features, out = prod(image.sizes), self.out_features
        weights = product(out, of(features) + self.bias)
        step = Step(image, "linear", "multiply-add", product(out, features), weights, writes=out)
        image = Image(image.stage, (out,), True, False)
        return [step, *self._activated(image)], image._replace(held=self._kept)


@dataclass(frozen=True)
class Residual(ImageLayer):
    """The sum of two branches on the same input, then `activation`, if any. An empty `shortcut` passes the input on."""

    main: Sequence
    shortcut: Sequence = ()
    activation: str | None = "relu"

    def __post_init__(self):
        self._set(main=known(self.main, "main"), shortcut=known(self.shortcut, "shortcut"))
        if not self.main:
            raise ValueError("main=() must have a layer: a residual block adds something to its input.")

    def steps(self, image):
        main, after = in_a_row(self.main, image)
        shortcut, beside = in_a_row(self.shortcut, image._replace(held=image.held or main[0].keeps > 0))
        if after.sizes != beside.sizes:
            raise ValueError(
                f"A residual block of {image.stage} adds {_size(after)} and {_size(beside)}; they must be equal. Give "
                "its shortcut a 1×1 convolution with the stride and the channels of main."
            )
        after = after._replace(learned=after.learned or beside.learned, held=False)
        both = Step(after, "residual", "add", reads=2 * prod(after.sizes), keeps=0)
        return [*main, *shortcut, both, *self._activated(after)], after._replace(held=self._kept)


@dataclass(frozen=True)
class Stage:
    """Layers in a row that a Breakdown shows as one part, `name`."""

    name: str
    layers: Sequence

    def __post_init__(self):
        object.__setattr__(self, "layers", known(self.layers, "layers"))
        if not isinstance(self.name, str) or not self.name or "." in self.name:
            raise ValueError(f"name={self.name!r} of a stage must be a text without a dot: dots lead into its parts.")
        if not self.layers:
            raise ValueError(f"layers=() of stage {self.name!r} must have a layer.")

    def steps(self, image):
        return in_a_row(self.layers, image._replace(stage=self.name))


def known(layers, name: str, *more: type) -> tuple:
    """`layers` as a tuple: what cannot be counted, here or as one of the classes `more`, is refused, not zero."""
    if not isinstance(layers, (tuple, list)):
        raise ValueError(f"{name}={layers!r} must be a list of layers.")
    kinds = (*more, ImageLayer)
    for index, layer in enumerate(layers):
        if not isinstance(layer, kinds):
            names = ", ".join(kind.__name__ for kind in (*more, Convolution, Pool, Linear, Residual))
            raise ValueError(f"{name}[{index}]={layer!r} is no layer that can be counted. Known: {names}.")
    return tuple(layers)


def _size(image: Image) -> str:
    return "×".join(map(str, image.sizes))


def _windows(layer, image: Image) -> tuple[int, int, int]:
    """Channels that come in, height and width that come out of a convolution or a pooling."""
    if len(image.sizes) != 3:
        raise ValueError(
            f"A {type(layer).__name__} of {image.stage} needs an image, but a linear layer before it has flattened it."
        )
    channels, *sides = image.sizes
    if layer.kernel is None:
        return channels, 1, 1
    for side, kernel, padding in zip(sides, layer.kernel, layer.padding, strict=True):
        if kernel > side + 2 * padding:
            raise ValueError(
                f"kernel={layer.kernel} of a {type(layer).__name__} of {image.stage} is larger than its padded image: "
                f"{_size(image)} with padding={layer.padding}. Start from a larger image, or stride less before it."
            )
    moves = zip(sides, layer.kernel, layer.stride, layer.padding, strict=True)
    height, width = ((side + 2 * padding - kernel) // stride + 1 for side, kernel, stride, padding in moves)
    return channels, height, width
