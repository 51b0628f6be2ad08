"""A small network that learns digits, on one thread: what the unit's training experiments share."""

from course_lib.experiments.nets import digits

LEARN, BATCH = 1297, 64  # digits to learn from, of 1,797; digits of a step


def split(torch, seed: int):
    """(images to learn, classes, images to test, classes): a draw of the digits, pixels in a row."""
    images, classes = digits.tensors(torch)
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(seed))
    images, classes = images.flatten(1)[order], classes[order]
    return images[:LEARN], classes[:LEARN], images[LEARN:], classes[LEARN:]


def weights(torch, hidden: int, generator) -> list:
    """Two matrices and two rows of biases in fp32."""
    first = torch.randn(64, hidden, generator=generator) / 64**0.5
    second = torch.randn(hidden, digits.CLASSES, generator=generator) / hidden**0.5
    return [first, torch.zeros(hidden), second, torch.zeros(digits.CLASSES)]


def logits(torch, w, images):
    return torch.relu(images @ w[0] + w[1]) @ w[2] + w[3]


def gradients(torch, w, images, classes, factor: float = 1.0) -> tuple:
    """Gradients of factor · loss, in the format of the weights; the loss itself is computed in fp32."""
    w = [each.detach().requires_grad_() for each in w]
    loss = torch.nn.functional.cross_entropy(logits(torch, w, images).float(), classes)
    return torch.autograd.grad(loss * factor, w)


def right(torch, w, images, classes) -> float:
    """% of the images whose class gets the largest logit."""
    with torch.no_grad():
        return 100 * (logits(torch, w, images).argmax(1) == classes).float().mean().item()
