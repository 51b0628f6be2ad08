"""Architectures as lists of layers (`families`), convolutional ones among them (`convnet`), and the catalogue of both.

`operations` has the calls of an image model, one after another.
"""

from course_lib.accounting.models.convnet import ConvNet
from course_lib.accounting.models.families import (
    Encoder,
    Model,
    Transformer,
    VisionTransformer,
    deepseek,
    load,
    mamba2,
    names,
    resolve,
    source,
)

__all__ = [
    "ConvNet",
    "Encoder",
    "Model",
    "Transformer",
    "VisionTransformer",
    "deepseek",
    "load",
    "mamba2",
    "names",
    "resolve",
    "source",
]
