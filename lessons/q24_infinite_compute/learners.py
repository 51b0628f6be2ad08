"""Small networks on digits, trained to the end because training is free: with wrong labels, and in all shapes."""

from itertools import pairwise
from math import log

from course_lib.accounting import hardware, roofline
from course_lib.experiments.nets import digits

TRAIN, JUDGED = 900, 300  # images to learn from, and to choose by; the other 597 say how good the choice was
NOISE = 0.2  # share of the labels that are drawn anew, of all ten classes alike


def floor(noise: float = NOISE, classes: int = digits.CLASSES) -> float:
    """Nats that the best guesser loses on such labels: the entropy of a label, given the digit."""
    wrong = noise / classes
    right = 1 - noise + wrong
    return -right * log(right) - (classes - 1) * wrong * log(wrong)


def relabelled(torch, classes, noise: float, seed: int):
    """The labels, a share of them drawn anew."""
    draw = torch.Generator().manual_seed(seed)
    anew = torch.rand(len(classes), generator=draw) < noise
    return torch.where(anew, torch.randint(digits.CLASSES, classes.shape, generator=draw), classes)


def network(torch, depth: int, width: int, seed: int):
    """`depth` hidden layers of `width`, with ReLU."""
    draw = torch.Generator().manual_seed(seed)
    sizes = [digits.SIDE**2, *[width] * depth, digits.CLASSES]
    weights = []
    for before, after in pairwise(sizes):
        weights += [torch.randn(before, after, generator=draw) * (2 / before) ** 0.5, torch.zeros(after)]
    return [weight.requires_grad_() for weight in weights]


def scores(F, weights, images):
    for place in range(0, len(weights) - 2, 2):
        images = F.relu(images @ weights[place] + weights[place + 1])
    return images @ weights[-2] + weights[-1]


def images_and_classes(torch):
    """All digits in one random order, the same for all: the parts are then alike."""
    images, classes = digits.tensors(torch)
    order = torch.randperm(digits.COUNT, generator=torch.Generator().manual_seed(24))
    return images.flatten(1)[order], classes[order]


def noisy_losses(torch, width: int, noise: float, steps: int, seed: int) -> tuple[float, float, float]:
    """(lowest test loss of all looks, last test loss, last loss on what was learned) of one hidden layer, in nats.

    The labels of the test are as noisy as those that are learned from.
    """
    F, draw = torch.nn.functional, torch.Generator().manual_seed(seed)
    images, classes = images_and_classes(torch)
    labels = relabelled(torch, classes, noise, seed)
    weights = network(torch, 1, width, seed)
    optimizer = torch.optim.AdamW(weights, lr=3e-3, weight_decay=0.0)
    seen = []
    for step in range(steps):
        chosen = torch.randint(TRAIN, (64,), generator=draw)
        optimizer.zero_grad()
        F.cross_entropy(scores(F, weights, images[chosen]), labels[chosen]).backward()
        optimizer.step()
        if step % 20 == 19:
            with torch.no_grad():
                told = scores(F, weights, images[TRAIN:])
                seen.append(F.cross_entropy(told, labels[TRAIN:]).item())
    with torch.no_grad():
        own = F.cross_entropy(scores(F, weights, images[:TRAIN]), labels[:TRAIN]).item()
    return min(seen), seen[-1], own


def judged(torch, depth: int, width: int, seed: int, steps: int = 200) -> tuple[float, float]:
    """(% right of the 300 digits to choose by, % right of the 597 others) of one network, learned from 900."""
    F, draw = torch.nn.functional, torch.Generator().manual_seed(seed)
    images, classes = images_and_classes(torch)
    weights = network(torch, depth, width, seed)
    optimizer = torch.optim.AdamW(weights, lr=3e-3)
    for _ in range(steps):
        chosen = torch.randint(TRAIN, (64,), generator=draw)
        optimizer.zero_grad()
        F.cross_entropy(scores(F, weights, images[chosen]), classes[chosen]).backward()
        optimizer.step()
    with torch.no_grad():
        right = (scores(F, weights, images[TRAIN:]).argmax(1) == classes[TRAIN:]).float()
    return 100 * right[:JUDGED].mean().item(), 100 * right[JUDGED:].mean().item()


def seconds(depth: int, width: int, device: hardware.Device) -> float:
    """s of one digit through such a network, by the calculator: a call for each layer."""
    sizes = [digits.SIDE**2, *[width] * depth, digits.CLASSES]
    layers = [roofline.matmul(1, before, after) for before, after in pairwise(sizes)]
    return roofline.predict_seconds(layers, device=device, launches="in turn")
