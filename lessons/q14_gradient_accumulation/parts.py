"""A small network on handwritten digits, and its gradient when a batch goes through it in parts.

The batch is the first `BATCH` digits of the file. `sizes` are the examples of each part, in order; a `weight` says what
the mean loss of a part is multiplied with before its backward pass.
"""

from collections.abc import Callable, Sequence
from contextlib import contextmanager

from course_lib.experiments.nets import digits

BATCH, PIXELS, WIDTH = 256, digits.SIDE**2, 128
EQUAL, UNEQUAL = (64, 64, 64, 64), (200, 40, 10, 6)

Weight = Callable[[int, Sequence[int]], float]


def by_parts(size: int, sizes: Sequence[int]) -> float:
    """Every part counts the same."""
    return 1 / len(sizes)


def by_examples(size: int, sizes: Sequence[int]) -> float:
    """Every example counts the same."""
    return size / sum(sizes)


def undivided(size: int, sizes: Sequence[int]) -> float:
    """The means are added up."""
    return 1.0


@contextmanager
def seeded(torch, seed: int = 0):
    """torch's random state for the length of a with-block; the learner's is there again afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def batch(torch):
    """(pixels [256, 64], classes [256])"""
    images, classes = digits.tensors(torch)
    return images.flatten(1)[:BATCH], classes[:BATCH]


def network(torch, norm: bool = False, dropout: float = 0.0):
    """64 pixels, 128 hidden units with ReLU, 10 classes; the same weights at every call."""
    with seeded(torch):
        first, last = torch.nn.Linear(PIXELS, WIDTH), torch.nn.Linear(WIDTH, digits.CLASSES)
    between = [torch.nn.BatchNorm1d(WIDTH)] if norm else []
    return torch.nn.Sequential(first, *between, torch.nn.ReLU(), torch.nn.Dropout(dropout), last)


def flat(net):
    """The gradients of all weights, as one vector."""
    import torch

    return torch.cat([parameter.grad.flatten() for parameter in net.parameters()])


def accumulated(net, x, y, sizes: Sequence[int], weight: Weight, loss=None, after=None):
    """The gradient that is left after one backward pass for each part.

    loss(output, y): the mean loss of a part, by default the cross-entropy. after: called after each backward pass.
    """
    import torch

    loss = loss or torch.nn.functional.cross_entropy
    net.zero_grad()
    for inputs, targets in zip(x.split(list(sizes)), y.split(list(sizes)), strict=True):
        (loss(net(inputs), targets) * weight(len(inputs), sizes)).backward()
        if after:
            after()
    return flat(net)


def off(found, truth) -> float:
    """How far a gradient is from the right one: the length of their difference over the length of the right one."""
    return ((found - truth).norm() / truth.norm()).item()


def of_each_example(net, x, y):
    """The gradient of every example's own loss, a row for each."""
    import torch

    rows = []
    for inputs, target in zip(x.split(1), y.split(1), strict=True):
        net.zero_grad()
        torch.nn.functional.cross_entropy(net(inputs), target).backward()
        rows.append(flat(net))
    return torch.stack(rows)


def noise_scale(gradients) -> float:
    """The gradient noise scale of examples whose gradients are the rows: their variance over the squared mean.

    (McCandlish et al., arXiv 1812.06162: the "simple" noise scale, tr(Σ)/|G|², with these examples as the population.)
    """
    mean = gradients.mean(0)
    spread = (gradients - mean).square().sum() / (len(gradients) - 1)
    return (spread / mean.square().sum()).item()
