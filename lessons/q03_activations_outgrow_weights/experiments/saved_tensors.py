"""What autograd keeps from the forward pass of one block, op by op: a GPT-2 block and a ResNet block in plain torch.

Counted are distinct storages, each with the first op that saves it; weights are left out. Saving costs no memory of its
own: it keeps alive what the forward pass has made anyway.
"""

from dataclasses import dataclass

from course_lib.accounting import hardware, memory
from course_lib.experiments.nets import tiny_gpt
from course_lib.experiments.running.bench import Bench
from course_lib.experiments.running.errors import Unavailable
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.words import words

say = words(__file__)

FP32 = 4  # bytes


@dataclass(frozen=True)
class Kept:
    """What one op of a block keeps: its label, the torch function, which of its calls that keep something new, what,
    and how many numbers.
    """

    label: str
    function: str
    number: int
    what: str
    numbers: int


def gpt2_ops(batch: int, seq: int, d: int, heads: int) -> tuple[Kept, ...]:
    """The ops of a GPT-2 block with eager attention, counted by hand."""
    x, hidden, scores, rows = batch * seq * d, 4 * batch * seq * d, batch * heads * seq * seq, batch * seq
    shape, wide = f"[{batch}×{seq}×{d}]", f"[{batch}×{seq}×{4 * d}]"
    return (
        Kept("layer norm 1", "layer_norm", 1, say("calls", "normed", shape=shape), x + 2 * rows),
        Kept("projection to q, k, v", "addmm", 1, say("calls", "input", shape=shape), x),
        Kept("scores", "matmul", 1, say("calls", "scores", shape=shape), 2 * x),
        Kept("softmax", "softmax", 1, say("calls", "output", shape=f"[{batch}×{heads}×{seq}×{seq}]"), scores),
        Kept("values", "matmul", 2, say("calls", "values", shape=shape), x),
        Kept("output projection", "addmm", 2, say("calls", "input", shape=shape), x),
        Kept("layer norm 2", "layer_norm", 2, say("calls", "normed", shape=shape), x + 2 * rows),
        Kept("MLP, up", "addmm", 3, say("calls", "input", shape=shape), x),
        Kept("GELU: x, for the cube", "pow", 1, say("calls", "input", shape=wide), hidden),
        Kept("GELU: tanh", "tanh", 1, say("calls", "output", shape=wide), hidden),
        Kept("GELU: product", "mul", 1, say("calls", "factors", shape=wide), 2 * hidden),
        Kept("MLP, down", "addmm", 4, say("calls", "input", shape=wide), hidden),
    )


def sdpa_op(batch: int, seq: int, d: int, heads: int) -> Kept:
    """The one op in which SDPA differs: it has no scores to keep."""
    shape = f"[{batch}×{seq}×{d}]"
    what = say("calls", "attention", shape=shape, batch=batch, heads=heads, seq=seq)
    return Kept("attention", "scaled_dot_product_attention", 1, what, 4 * batch * seq * d + batch * heads * seq)


def resnet_ops(batch: int, channels: int, side: int) -> tuple[Kept, ...]:
    """The ops of a basic ResNet block with batch norm in training, counted by hand."""
    x, shape = batch * channels * side * side, f"[{batch}×{channels}×{side}×{side}]"
    norm = say("calls", "normed-channels", shape=shape)
    return (
        Kept("convolution 1", "conv2d", 1, say("calls", "input", shape=shape), x),
        Kept("batch norm 1", "batch_norm", 1, norm, x + 2 * channels),
        Kept("ReLU 1", "relu", 1, say("calls", "shared", shape=shape), x),
        Kept("batch norm 2", "batch_norm", 2, norm, x + 2 * channels),
        Kept("ReLU 2", "relu", 2, say("calls", "output", shape=shape), x),
    )


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Every op that keeps something, and the whole block; full is the same."""
    cpu = device.kind == "cpu"
    batch, seq, d, heads = (4, 128, 128, 4) if cpu else (8, 1024, 768, 12)
    images, channels, side = (2, 64, 56) if cpu else (64, 64, 56)
    model = tiny_gpt.describe(layers=1, d_model=d, heads=heads, vocab=16, context=seq)

    def gpt2(attention: str):
        return lambda bench: gpt2_block(bench, model, batch, seq, attention)

    def counted(attention: str) -> int:
        return int(memory.activations(model, batch=batch, seq=seq, attention=attention)["layer"])

    def resnet(bench: Bench):
        return resnet_block(bench, images, channels, side)

    ops, block_of_resnet = gpt2_ops(batch, seq, d, heads), resnet_ops(images, channels, side)
    return (
        *(_case("GPT-2", gpt2("eager"), op) for op in ops),
        _whole("GPT-2", gpt2("eager"), counted("eager")),
        _case("GPT-2 with SDPA", gpt2("sdpa"), sdpa_op(batch, seq, d, heads)),
        _whole("GPT-2 with SDPA", gpt2("sdpa"), counted("sdpa")),
        *(_case("ResNet", resnet, op) for op in block_of_resnet),
        _whole("ResNet", resnet, FP32 * sum(op.numbers for op in block_of_resnet)),
    )


def _case(block: str, make, op: Kept) -> Case:
    def observe(bench: Bench, seconds: float) -> list[float]:
        kept = [size for function, size in saved(bench, *make(bench)) if function == op.function]
        if len(kept) < op.number:
            raise Unavailable(
                f"This version of torch keeps nothing for the backward pass in the {op.label} of {block}."
            )
        return [kept[op.number - 1]]

    return Case(
        f"{block}: {op.label}",
        op.what,
        observe=observe,
        expect=lambda device: float(FP32 * op.numbers),
        facts={"block": block},
    )


def _whole(block: str, make, expected: int) -> Case:
    return Case(
        f"{block}: whole block",
        "everything",
        observe=lambda bench, seconds: [sum(size for _, size in saved(bench, *make(bench)))],
        expect=lambda device: float(expected),
        facts={"block": block},
    )


def gpt2_block(bench: Bench, model, batch: int, seq: int, attention: str):
    """(forward pass of one block, its weights)."""
    net = tiny_gpt.build(bench, model, attention)
    x = bench.random(batch, seq, model.d_model).requires_grad_()
    mask = net.mask(x) if attention == "eager" else None
    return lambda: net.h[0](x, mask, None), list(net.parameters())


def resnet_block(bench: Bench, batch: int, channels: int, side: int):
    """(forward pass of one basic block, its weights)."""
    F = bench.torch.nn.functional
    x = bench.random(batch, channels, side, side).requires_grad_()
    kernels = [bench.random(channels, channels, 3, 3).requires_grad_() for _ in range(2)]
    gains, shifts = ([bench.random(channels).requires_grad_() for _ in range(2)] for _ in range(2))

    def normed_convolution(y, index):
        y = F.conv2d(y, kernels[index], padding=1)
        return F.batch_norm(y, None, None, gains[index], shifts[index], training=True)

    def forward():
        return F.relu(normed_convolution(F.relu(normed_convolution(x, 0)), 1) + x)

    return forward, [*kernels, *gains, *shifts]


def saved(bench: Bench, forward, weights) -> list[tuple[str, int]]:
    """(torch function, bytes of the storages that it is the first to save) for each call in `forward` that saves any.

    Storages of `weights` do not count.
    """
    torch = bench.torch
    seen = {weight.untyped_storage().data_ptr() for weight in weights}
    found = {}  # number of the call -> [function, bytes]

    class Calls(torch.overrides.TorchFunctionMode):
        """Knows which call is running: its name and its number."""

        name, number = "", 0

        def __torch_function__(self, function, types, args=(), kwargs=None):
            self.name, self.number = function.__name__, self.number + 1
            return function(*args, **(kwargs or {}))

    calls = Calls()
    kept = []  # so that no storage is freed and another takes its address

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in seen:
            seen.add(storage.data_ptr())
            found.setdefault(calls.number, [calls.name, 0])[1] += storage.nbytes()
        kept.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor), calls:
        forward()
    return [(name, size) for name, size in found.values()]


def plot(result):
    """Predicted and measured bytes of each op, on a logarithmic axis."""
    sizes = result.measured
    title = say("title", "plain")
    if {"GPT-2: whole block", "GPT-2: softmax", "GPT-2: GELU: product"} <= set(sizes):
        gelu = sum(size for case, size in sizes.items() if case.startswith("GPT-2: GELU"))
        share = gelu / sizes["GPT-2: whole block"]
        title = say("title", "found", share=share)
    return dots(result, title=title, axis=say("axis"))


EXPERIMENT = Experiment(say, cases, plot, quantity_columns(say, "B", block="str", hidden=("block",)), timed=False)
