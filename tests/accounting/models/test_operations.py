"""The operations of image models: against `flops.forward`, and against the tensors that a run moves or keeps alive."""

import weakref

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from course_lib.accounting import flops, models
from course_lib.accounting.layers.convolution import Convolution, Image, Residual
from course_lib.accounting.models import operations
from course_lib.experiments.nets import image_nets
from course_lib.experiments.running.bench import Bench

IMAGE_MODELS = ("resnet-18", "resnet-50", "mobilenet-v2", "vit-ti16", "vit-b32")
PRODUCTS = ("convolution", "linear", "embedding.patch", "attention", "mlp", "head")  # in the names of their parts


@pytest.mark.parametrize("name", IMAGE_MODELS)
@pytest.mark.parametrize(("batch", "image"), [(1, 224), (3, 288)])
def test_flops_add_up_to_those_of_the_model(name, batch, image):
    model = models.load(name)
    ops = operations.forward(model, batch, image)
    of_products = sum(op.flops for op in ops if any(part in op.name for part in PRODUCTS) and "pool" not in op.name)
    everything = flops.forward(model, batch, extras=True, image=image)
    assert of_products == int(flops.forward(model, batch, image=image))
    softmax = everything["attention.softmax"] if name.startswith("vit") else 0
    assert sum(op.flops for op in ops) == int(everything) - softmax


class Moved(TorchDispatchMode):
    """Bytes that each operation reads and writes, by its name; batch norm's own outputs for training are left out."""

    def __init__(self):
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        name = func._schema.name.split("::")[1]
        if any(argument.alias_info and not argument.alias_info.is_write for argument in func._schema.arguments):
            return out  # a view moves nothing
        read, written = tree_leaves(args), tree_leaves(out)[:1]
        if "batch_norm" in name:
            read = read[:1]
        self.bytes += sum(t.numel() * t.element_size() for t in (*read, *written) if torch.is_tensor(t))
        return out


@pytest.mark.parametrize("name", ["resnet-18", "mobilenet-v2"])
def test_bytes_are_those_of_the_tensors(name):
    """All but the gains and shifts of the norms, which the count adds and this run leaves out."""
    model = models.load(name)
    run = image_nets.build(Bench.on_device(torch, "cpu"), model, 64)
    with torch.inference_mode(), Moved() as moved:
        run()
    ops = operations.forward(model, image=64)
    norms = sum(step.size for step in model.steps() if step.op == "batchnorm")
    assert sum(op.bytes for op in ops) - 4 * norms == moved.bytes


@pytest.mark.parametrize(("name", "convolutions"), [("resnet-18", 20), ("resnet-50", 53), ("mobilenet-v2", 52)])
def test_the_module_is_the_model(name, convolutions):
    """Its weights and FLOPs, as torch counts them, and as many convolutions as its paper's table has."""
    model = models.load(name)
    net = image_nets.as_module(model)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        net(torch.empty(2, 3, 224, 224, device="meta"))
    assert counter.get_total_flops() == 2 * int(flops.forward(model))
    assert sum(weight.numel() for weight in net.parameters()) == int(model.parameters())
    assert sum(isinstance(module, nn.Conv2d) for module in net.modules()) == convolutions


def test_what_is_no_image_model_is_refused():
    with pytest.raises(ValueError, match="ConvNet"):
        operations.forward(models.load("gpt2"))


class Living:
    """Runs the layers of a ConvNet on arrays of bytes that Python frees by itself, and keeps count of those alive."""

    def __init__(self, overwrites):
        self.overwrites, self.alive, self.most = overwrites, 0, 0

    def array(self, *sizes):
        made = np.empty(sizes, np.int8)
        self.alive += made.nbytes
        self.most = max(self.most, self.alive)
        weakref.finalize(made, self.freed, made.nbytes)
        return made

    def freed(self, nbytes):
        self.alive -= nbytes

    def row(self, layers, box, needed=False):
        """What comes out; `box` hands its only array over, unless it is needed afterwards."""
        for layer in layers:
            given = box if needed else [box.pop()]
            box, needed = [self.one(layer, given, needed)], False
        return box[0]

    def one(self, layer, box, needed):
        if hasattr(layer, "layers"):
            return self.row(layer.layers, box, needed)
        if hasattr(layer, "main"):
            out = self.row(layer.main, box, needed=True)
            if layer.shortcut:
                self.row(layer.shortcut, box if needed else [box.pop()], needed)
            return out  # the sum is written over it
        _, after = layer.steps(Image("", box[0].shape, False, True))
        depthwise = getattr(layer, "groups", 0) == box[0].shape[0] == after.sizes[0]
        if self.overwrites and depthwise and not needed:
            return self.shrunk(box, after.sizes)
        return self.array(*after.sizes)

    def shrunk(self, box, sizes):
        del box[:]
        return self.array(*sizes)


@pytest.mark.parametrize("overwrites", [True, False])
@pytest.mark.parametrize(
    ("name", "image"), [("mobilenet-v2", 224), ("mobilenet-v2", 96), ("resnet-18", 64), ("resnet-50", 224)]
)
def test_peak_activations_against_arrays_that_live_and_die(name, image, overwrites):
    model, run = models.load(name), Living(overwrites)
    run.row(model.layers, [run.array(3, image, image)])
    assert int(operations.peak_activations(name, image, in_place=overwrites)) == run.most


def test_peak_activations_of_blocks_within_blocks():
    """What two sums need is kept once; what is needed is not overwritten."""
    inner = Residual([Convolution(6, 3, padding=1, groups=6), Convolution(20, 1), Convolution(6, 1)])
    layers = [
        Convolution(6, 1),
        Residual([inner, Convolution(4, 1), Convolution(6, 1)], [Convolution(6, 1)]),
        Convolution(6, 3),
    ]
    for overwrites in (True, False):
        run = Living(overwrites)
        run.row(layers, [run.array(3, 10, 10)])
        peak = operations.peak_activations(models.ConvNet("nested", layers, 10), in_place=overwrites)
        assert int(peak) == run.most


def test_peak_activations_by_hand():
    """1372 KiB: 16 channels of 112 × 112 are widened to 96; a depthwise layer that overwrites needs less."""
    assert int(operations.peak_activations("mobilenet-v2")) == (16 + 96) * 112 * 112 == 1372 * 1024
    assert int(operations.peak_activations("mobilenet-v2", in_place=False)) == 96 * (112 * 112 + 56 * 56) == 1470 * 1024
    assert int(operations.peak_activations("mobilenet-v2", dtype="fp32")) == 4 * 1372 * 1024
    with pytest.raises(ValueError, match="ConvNet"):
        operations.peak_activations("vit-b16")
