"""A small network that has learnt digits, and the ways to make it smaller: fewer bits, fewer weights, thinner matrices,
another network.

A network is the list of its weights, [w, b, w, b, …], each w as `Linear` keeps it: a row for each output. What makes
one smaller returns another such list and leaves the first as it is. What is trained or counted runs on one thread: the
tensors are so small that a second one would cost more than it does.
"""

import math
from functools import cache
from itertools import pairwise

from course_lib.experiments.nets import digits
from course_lib.experiments.running import timing

PIXELS, WIDTH, SMALL = digits.SIDE**2, 256, 16
SIZES, STUDENT = (PIXELS, WIDTH, WIDTH, digits.CLASSES), (PIXELS, SMALL, digits.CLASSES)
LEARN, FEW = 1297, 60  # images to learn from, and those of them that have labels where labels are few
BATCH, STEPS, RATE = 64, 200, 3e-3
TUNE, TUNE_RATE = 100, 1e-3
GROUP = 32


def parameters(sizes=SIZES) -> int:
    """Trainable numbers of a network of these widths."""
    return sum(outputs * (inputs + 1) for inputs, outputs in pairwise(sizes))


@cache
def data(torch, seed: int):
    """(images, classes) to learn from and to test on: 1,297 and 500, drawn by the seed."""
    x, y = digits.tensors(torch)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
    x, y = x.flatten(1)[order], y[order]
    return (x[:LEARN], y[:LEARN]), (x[LEARN:], y[LEARN:])


def forward(torch, weights, x):
    """Logits of the ten classes."""
    for w, b in zip(weights[:-2:2], weights[1:-2:2], strict=True):
        x = torch.relu(torch.nn.functional.linear(x, w, b))
    return torch.nn.functional.linear(x, *weights[-2:])


def accuracy(torch, weights, seed: int) -> float:
    """Share in % of the 500 test images that are named right."""
    _, (x, y) = data(torch, seed)
    with torch.no_grad():
        return 100 * (forward(torch, weights, x).argmax(1) == y).float().mean().item()


def right(torch, make, seeds) -> list[float]:
    """Accuracy in % of what `make(torch, seed)` returns, for each seed."""
    with timing.single_thread(torch):
        return [accuracy(torch, make(torch, seed), seed) for seed in seeds]


# ---------------------------------------------------------------- learning


def fresh(torch, sizes, seed: int) -> list:
    """First weights, as `Linear` draws them."""
    generator, found = torch.Generator().manual_seed(seed), []
    for inputs, outputs in pairwise(sizes):
        found += [
            (2 * torch.rand(shape, generator=generator) - 1) / math.sqrt(inputs)
            for shape in ((outputs, inputs), (outputs,))
        ]
    return found


def learn(torch, weights, x, targets, seed: int, steps=STEPS, rate=RATE, keep=None, shaped=None) -> list:
    """Weights after Adam on these images: the rate falls to 0. targets: classes, or shares of the classes.

    keep: a mask for each matrix; what it leaves out is zero after each step. shaped: what a forward pass makes of the
    weights before it uses them; their gradients pass through it unchanged.
    """
    generator = torch.Generator().manual_seed(seed)
    w = [each.clone().requires_grad_() for each in weights]
    optimizer = torch.optim.Adam(w, lr=rate)
    with timing.single_thread(torch), torch.enable_grad():
        for step in range(steps):
            chosen = torch.randint(len(x), (BATCH,), generator=generator)
            used = (
                w if shaped is None else [each + (new - each).detach() for each, new in zip(w, shaped(w), strict=True)]
            )
            optimizer.param_groups[0]["lr"] = rate * (1 - step / steps)
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(forward(torch, used, x[chosen]), targets[chosen]).backward()
            optimizer.step()
            if keep is not None:
                with torch.no_grad():
                    for matrix, mask in zip(w[::2], keep, strict=True):
                        matrix.mul_(mask)
    return [each.detach() for each in w]


@cache
def trained(torch, seed: int) -> list:
    """The network that all others are made from. Nobody may change it."""
    (x, y), _ = data(torch, seed)
    return learn(torch, fresh(torch, SIZES, seed), x, y, seed)


def tuned(torch, weights, seed: int, **how) -> list:
    """The same after 100 more steps, of a lower rate."""
    (x, y), _ = data(torch, seed)
    return learn(torch, weights, x, y, seed, TUNE, TUNE_RATE, **how)


# ---------------------------------------------------------------- fewer bits


def on_grid(torch, matrix, bits: int, share: str):
    """A matrix on a symmetric grid, as `precision.quantized`: one scale for the "tensor", a "row", or a "group" of 32
    neighbours in a row.
    """
    shape = {"tensor": (1, -1), "row": (len(matrix), -1), "group": (-1, GROUP)}[share]
    parts, top = matrix.reshape(shape), 2 ** (bits - 1) - 1
    scale = (parts.abs().amax(1, keepdim=True) / top).clamp(min=torch.finfo(matrix.dtype).tiny)
    return ((parts / scale).round() * scale).view_as(matrix)


def quantised(torch, weights, bits: int, share: str) -> list:
    """All matrices on a grid; the biases stay."""
    return [on_grid(torch, w, bits, share) if w.dim() == 2 else w for w in weights]


def errors_upwards(weights, others) -> list:
    """The first weights with errors as large as those of the others, all of them positive."""
    return [w + (other - w).abs() for w, other in zip(weights, others, strict=True)]


def relative_error(torch, weights, others) -> float:
    """Root of the mean squared difference of all matrices, over the root of their mean square."""
    pairs = [(w, other) for w, other in zip(weights, others, strict=True) if w.dim() == 2]
    wrong, whole = (
        sum(part.square().sum() for part in parts) for parts in ([w - o for w, o in pairs], [w for w, _ in pairs])
    )
    return math.sqrt(wrong / whole)


def with_outlier(weights, factor=32.0, neuron=3) -> list:
    """The same function: one neuron's weights times `factor`, a power of two, and what reads it divided by that."""
    found = [w.clone() for w in weights]
    found[0][neuron] *= factor
    found[1][neuron] *= factor
    found[2][:, neuron] /= factor
    return found


# ---------------------------------------------------------------- fewer weights, thinner matrices


def largest(torch, matrix, share: float):
    """Mask of the so large a share of a matrix whose sizes are largest."""
    kept = round(share * matrix.numel())
    mask = torch.zeros(matrix.numel())
    mask[matrix.abs().flatten().topk(kept).indices] = 1
    return mask.view_as(matrix)


def two_of_four(torch, matrix):
    """Mask of the two largest of every four neighbours in a row."""
    fours = matrix.abs().view(len(matrix), -1, 4)
    return torch.zeros_like(fours).scatter_(2, fours.topk(2, 2).indices, 1).view_as(matrix)


def masked(weights, masks) -> list:
    return [w * masks[place // 2] if w.dim() == 2 else w for place, w in enumerate(weights)]


def fewer_neurons(torch, weights, keep: int) -> list:
    """The `keep` neurons of each hidden layer with the largest weights before and after them."""
    for place in (0, 2):
        size = weights[place].norm(dim=1) * weights[place + 2].norm(dim=0)
        chosen = size.topk(keep).indices
        changed = {place: weights[place][chosen], place + 1: weights[place + 1][chosen]}
        weights = [changed.get(at, w) for at, w in enumerate(weights)]
        weights[place + 2] = weights[place + 2][:, chosen]
    return weights


def thin(torch, weights, rank: int) -> list:
    """The middle matrix as the product of two thin ones: its `rank` largest singular values."""
    u, s, v = torch.linalg.svd(weights[2])
    return [*weights[:2], u[:, :rank] * s[:rank] @ v[:rank], *weights[3:]]


# ---------------------------------------------------------------- another network


def student(torch, seed: int, images: int, teacher: bool) -> list:
    """A network of 16 units that learns so many images, by their labels or by the teacher's shares of the classes."""
    (x, y), _ = data(torch, seed)
    x, y = x[:images], y[:images]
    with torch.no_grad():
        targets = forward(torch, trained(torch, seed), x).softmax(1) if teacher else y
    return learn(torch, fresh(torch, STUDENT, seed), x, targets, seed, 300)
