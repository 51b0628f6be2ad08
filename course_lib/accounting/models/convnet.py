"""Convolutional networks: lists of the layers of `layers.convolution`, and two families of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from course_lib.accounting import units
from course_lib.accounting.layers.convolution import Convolution, Image, Linear, Pool, Residual, Stage, Step, known
from course_lib.accounting.layers.stack import Stack


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
    written = "The modules of PyTorch 2.13 in training, without a loss."
    omits_parameters = ("Running means and variances of batch norm: no gradient trains them.",)

    def __post_init__(self):
        object.__setattr__(self, "layers", known(self.layers, "layers", Stage))
        object.__setattr__(self, "image", units.image_size(self.image))
        object.__setattr__(self, "channels", units.count(self.channels, "channels"))
        names = [name for name, _ in self._named()]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"layers: two parts have the name {twice[0]!r}; give each Stage a name of its own.")
        if not any(step.size for step in self.steps()):
            raise ValueError(
                f"layers={self.layers!r} must have a Convolution or a Linear: nothing here has parameters."
            )

    def _named(self) -> list[tuple]:
        """(name among the parts of a Breakdown, layer) of each layer."""
        return [
            (getattr(layer, "name", f"{type(layer).__name__.lower()}{place}"), layer)
            for place, layer in enumerate(self.layers, 1)
        ]

    def stack(self):
        steps, image = [], Image("", (self.channels, *units.pair(self.image, "image")), False, True)
        for name, layer in self._named():
            made, image = layer.steps(image._replace(stage=name))
            steps += made
        return [], [], steps

    def steps(self, image=None) -> list[Step]:
        """Every step that an `image` (None: its own) takes through the network, in order."""
        return list(self.at(image).parts[2])

    def at(self, image):
        if image is None:
            return self
        other = replace(self, image=image)
        if [step.size for step in other.steps()] != [step.size for step in self.steps()]:
            raise ValueError(
                f"image={image!r} changes the size of a linear layer of {self.name}, whose weights are made for "
                f"image={self.image!r}. Pool the whole image before it, or describe another network."
            )
        return other

    def _tokens(self, seq, image):
        return None, image

    def omits(self, x):
        return ("Biases and the update of running statistics.",)

    def _reading(self, active):
        return (
            "A convolution has output channels · input channels of its group · kernel height · kernel width, a batch "
            "norm gain and bias, a linear layer outputs · inputs; a bias adds one per output.",
        )


# ---------------------------------------------------------------- two families


def resnet(name: str, stages, block: str, classes: int = 1000, image: int | tuple[int, int] = 224) -> ConvNet:
    """A residual network for images (He et al. 2015): `stages` blocks of widths 64, 128, 256, …; ResNet-50 is
    `resnet("resnet-50", [3, 4, 6, 3], "bottleneck")`.

    block: "basic" (two 3×3 convolutions) or "bottleneck" (1×1, 3×3, 1×1, four times wider at the end). A stage after
    the first halves the image in its first 3×3 convolution, as torchvision and NVIDIA do ("v1.5"); the paper does it in
    the 1×1 before.
    """
    growth = {"basic": 1, "bottleneck": 4}[units.choice(block, "block", ("basic", "bottleneck"))]
    if not isinstance(stages, (tuple, list)) or not stages:
        raise ValueError(f"stages={stages!r} must list the blocks of each stage, such as [3, 4, 6, 3].")
    parts, channels = [Stage("stem", (normed_convolution(64, 7, 2), Pool(3, 2, 1)))], 64
    for number, blocks in enumerate(stages, 1):
        width, rows = 64 * 2 ** (number - 1), []
        for index in range(units.count(blocks, "stages")):
            stride, out = 2 if number > 1 and index == 0 else 1, growth * width
            main = [normed_convolution(width)] if block == "bottleneck" else []
            main.append(normed_convolution(width, 3, stride))
            main.append(normed_convolution(out, 1 if block == "bottleneck" else 3, activation=None))
            short = stride == 1 and out == channels
            rows.append(Residual(main, () if short else [normed_convolution(out, 1, stride, activation=None)]))
            channels = out
        parts.append(Stage(f"stage{number}", rows))
    return ConvNet(name, [*parts, _head(classes)], image)


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
    parts, channels = [Stage("stem", (normed_convolution(32, 3, 2),))], 32
    for number, (growth, width, repeats, first) in enumerate(_MOBILENET_V2, 1):
        layers = []
        for index in range(repeats):
            layers += inverted_residual(channels, width, growth, first if index == 0 else 1)
            channels = width
        parts.append(Stage(f"stage{number}", layers))
    return ConvNet(name, [*parts, Stage("last", (normed_convolution(1280),)), _head(classes)], image)


def _head(classes) -> Stage:
    return Stage("head", (Pool(kind="average"), Linear(units.count(classes, "classes"))))


def normed_convolution(width: int, kernel: int = 1, stride: int = 1, groups: int = 1, activation="relu") -> Convolution:
    """A convolution that keeps the centre of its kernel on the image, with batch norm and without bias."""
    return Convolution(width, kernel, stride, kernel // 2, groups, bias=False, norm=True, activation=activation)


def inverted_residual(channels: int, width: int, growth: int, stride: int = 1) -> list:
    """The layers of one block of MobileNetV2 on `channels` that come in; the input is added where sizes are equal."""
    inner = growth * channels
    main = [normed_convolution(inner)] if growth > 1 else []
    main += [normed_convolution(inner, 3, stride, groups=inner), normed_convolution(width, activation=None)]
    return [Residual(main, activation=None)] if stride == 1 and channels == width else main
