"""The operations of image models: against `flops.forward`, and against the tensors that a run moves."""

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from course_lib.accounting import flops, models
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
