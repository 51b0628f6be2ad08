"""A small convolutional network, a small vision transformer and a linear classifier learn digits from few images.

The networks have some 17,000 weights each. All see the same 100 or 1000 images equally often and are tested on the same
500 others. The convolution starts with an assumption: near pixels belong together, and what matters may stand anywhere.
The transformer, with learned positions for its patches, has to find that out (Dosovitskiy et al. 2020, section 4.3, at
a larger scale). With the pixels of all images shuffled in the same way the assumption is wrong. Both networks end in a
linear layer on the numbers of all places, so that they differ in what comes before it; the classifier has only such a
layer, on the pixels.
"""

import math

from course_lib.accounting import hardware
from course_lib.experiments.nets import digits
from course_lib.experiments.running import timing
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.words import words

say = words(__file__)

CONVOLUTION, TRANSFORMER, LINEAR = "convolution", "transformer", "linear"
FEW, MANY = 100, 1000  # images to learn from
TEST, BATCH, STEPS, RATE = 500, 50, 60, 1e-2
D, HEADS, PATCH = 36, 4, 2  # of the transformer
TOKENS = (digits.SIDE // PATCH) ** 2


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """All three on 100 and 1000 images, and on 100 with shuffled pixels, from one seed; full takes ten."""
    repeats = 1 if quick else 10
    listed = [
        (net, images, shuffled) for images, shuffled in ((FEW, False), (MANY, False), (FEW, True)) for net in NETS
    ]
    return tuple(_case(*each, repeats) for each in listed)


def _case(net: str, images: int, shuffled: bool, repeats: int) -> Case:
    def observe(bench, seconds):
        return [accuracy(bench.torch, bench.on, net, images, shuffled, seed) for seed in range(repeats)]

    return Case(
        f"{net}, {images} images{', pixels shuffled' if shuffled else ''}",
        say("calls", "steps", steps=STEPS, batch=BATCH),
        observe=observe,
        facts={"network": net, "images": images, "weights": weights(net)},
    )


# ---------------------------------------------------------------- the networks: sizes of the weights, forward pass


def _conv_sizes():
    return [(28, 1, 3, 3), (28,), (56, 28, 3, 3), (56,), (digits.CLASSES, 56 * 2 * 2), (digits.CLASSES,)]


def _conv_forward(F, w, x):
    """Two convolutions, each with ReLU and a maximum over 2 × 2 pixels, and a linear layer."""
    for kernel, bias in (w[0:2], w[2:4]):
        x = F.max_pool2d(F.relu(F.conv2d(x, kernel, bias, padding=1)), 2)
    return F.linear(x.flatten(1), w[4], w[5])


def _vit_sizes():
    block = [(3 * D, D), (3 * D,), (D, D), (D,), (2 * D, D), (2 * D,), (D, 2 * D), (D,)]
    return [(D, 1, PATCH, PATCH), (D,), (TOKENS, D), *block, (digits.CLASSES, TOKENS * D), (digits.CLASSES,)]


def _vit_forward(F, w, x):
    """Patches of 2 × 2 pixels with learned positions, one block of attention and MLP, a linear layer."""
    x = F.conv2d(x, w[0], w[1], PATCH).flatten(2).transpose(1, 2) + w[2]
    qkv = F.linear(F.layer_norm(x, (D,)), w[3], w[4])
    q, k, v = qkv.view(*x.shape[:2], 3, HEADS, D // HEADS).permute(2, 0, 3, 1, 4)
    attended = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape)
    x = x + F.linear(attended, w[5], w[6])
    x = x + F.linear(F.gelu(F.linear(F.layer_norm(x, (D,)), w[7], w[8])), w[9], w[10])
    return F.linear(F.layer_norm(x, (D,)).flatten(1), w[11], w[12])


def _linear_sizes():
    return [(digits.CLASSES, digits.SIDE**2), (digits.CLASSES,)]


def _linear_forward(F, w, x):
    """The pixels, and nothing between them and the classes."""
    return F.linear(x.flatten(1), w[0], w[1])


NETS = {
    CONVOLUTION: (_conv_sizes, _conv_forward),
    TRANSFORMER: (_vit_sizes, _vit_forward),
    LINEAR: (_linear_sizes, _linear_forward),
}


def weights(net: str) -> int:
    """Trainable numbers of a network."""
    return sum(math.prod(size) for size in NETS[net][0]())


# ---------------------------------------------------------------- learning


def accuracy(torch, on: str, net: str, images: int, shuffled: bool = False, seed: int = 0) -> float:
    """Share in % of the test images that a network names right after `STEPS` steps on `images` images."""
    with timing.single_thread(torch):  # the tensors are so small that a second thread would cost more than it does
        return _learn(torch, on, net, images, shuffled, seed)


def _learn(torch, on: str, net: str, images: int, shuffled: bool, seed: int) -> float:
    F, generator = torch.nn.functional, torch.Generator().manual_seed(seed)
    sizes, forward = NETS[net]

    def start(size):  # matrices so that sums neither grow nor vanish, everything else at zero
        scale = math.sqrt(6 / math.prod(size[1:])) if len(size) > 1 else 0.0
        return ((torch.rand(size, generator=generator) - 0.5) * scale).to(on).requires_grad_()

    x, y = digits.tensors(torch)
    if shuffled:  # by a generator of its own, so that images, their order and the first weights stay as they are
        places = torch.randperm(digits.SIDE**2, generator=torch.Generator().manual_seed(seed))
        x = x.flatten(2)[:, :, places].view_as(x)
    chosen = torch.randperm(len(x) - TEST, generator=generator)[:images]
    order = torch.randint(images, (STEPS, BATCH), generator=generator)
    x, y = x.to(on), y.to(on)
    learn_x, learn_y = x[chosen.to(on)], y[chosen.to(on)]
    w = [start(size) for size in sizes()]
    optimizer = torch.optim.AdamW(w, lr=RATE, fused=True)
    for step, batch in enumerate(order.to(on)):
        optimizer.param_groups[0]["lr"] = RATE * min(1.0, (step + 1) / 20, (STEPS - step) / (STEPS / 2))
        optimizer.zero_grad()
        F.cross_entropy(forward(F, w, learn_x[batch]), learn_y[batch]).backward()
        optimizer.step()
    with torch.no_grad():
        right = forward(F, w, x[-TEST:]).argmax(1) == y[-TEST:]
    return 100 * right.float().mean().item()


def plot(result):
    """Accuracy of each network and of the classifier."""
    shares, title = result.measured, say("title", "plain")
    few = [f"{net}, {FEW} images" for net in NETS]
    if set(few) <= set(shares):
        named = (f"{net} {shares[case]:.0f} %" for net, case in zip(NETS, few, strict=True))
        title = say("title", "found", few=FEW, shares=", ".join(named))
    return dots(result, title=title, axis=say("axis"), log=False)


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "%", network="str", images="int", weights="int", hidden=("network", "images")),
    timed=False,
    method={"steps": STEPS, "batch": BATCH, "rate": RATE},
)
