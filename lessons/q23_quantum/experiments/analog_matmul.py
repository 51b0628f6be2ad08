"""A small trained network whose products are computed as analog hardware would: few bits, and noise."""

from functools import cache, partial

from course_lib.accounting import hardware
from course_lib.experiments.nets import digits
from course_lib.experiments.running import timing
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.words import words

say = words(__file__)

TRAIN, WIDTH, STEPS, RATE, DRAWS = 1300, 64, 150, 0.01, 5
BITS = (8, 6, 5, 4, 3, 2)
NOISE = (1, 3, 10)  # % of the largest output


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """fp32, six widths without noise, three noises at 8 bits; full draws the noise more often."""
    kinds = [(0, 0), *((bits, 0) for bits in BITS), *((8, noise) for noise in NOISE)]
    return tuple(
        Case(
            _name(bits, noise),
            say("calls", "fp32" if not bits else "analog"),
            observe=partial(_observe, bits=bits, noise=noise, draws=DRAWS if quick else 4 * DRAWS),
            facts={"bits": bits or 32, "noise": noise},
        )
        for bits, noise in kinds
    )


def _name(bits: int, noise: int) -> str:
    if not bits:
        return say("case", "fp32")
    return say("case", "noisy" if noise else "bits", bits=bits, noise=noise)


@cache
def network():
    """([(weights, bias) of two layers], held-out images, their classes), trained in fp32."""
    import torch

    images, y = digits.tensors(torch)
    x = images.flatten(1)
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(0)
        layers = [
            (torch.nn.init.normal_(torch.empty(out, into), std=0.1), torch.zeros(out))
            for into, out in ((digits.SIDE**2, WIDTH), (WIDTH, digits.CLASSES))
        ]
        parameters = [part.requires_grad_() for layer in layers for part in layer]
        optimizer = torch.optim.Adam(parameters, lr=RATE)
        for _ in range(STEPS):
            optimizer.zero_grad()
            hidden = torch.relu(x[:TRAIN] @ layers[0][0].T + layers[0][1])
            torch.nn.functional.cross_entropy(hidden @ layers[1][0].T + layers[1][1], y[:TRAIN]).backward()
            optimizer.step()
    return [tuple(part.detach() for part in layer) for layer in layers], x[TRAIN:], y[TRAIN:]


def rounded(values, bits: int):
    """To the nearest of 2^bits − 1 levels between −max and max; as it is where bits is 0."""
    if not bits:
        return values
    most = values.abs().max()
    levels = 2 ** (bits - 1) - 1
    return (values / most * levels).round() / levels * most


def product(x, weights, bits: int, noise: float, generator):
    """x · weightsᵀ: both operands pass a converter, the sum gets noise (a share of its largest value) and another."""
    import torch

    out = rounded(x, bits) @ rounded(weights, bits).T
    if noise:
        out = out + noise * out.abs().max() * torch.randn(out.shape, generator=generator)
    return rounded(out, bits)


def accuracy(bits: int, noise: float, seed: int) -> float:
    """% of the held-out digits."""
    import torch

    layers, x, y = network()
    generator = torch.Generator().manual_seed(seed)
    for place, (weights, bias) in enumerate(layers):
        x = product(x, weights, bits, noise, generator) + bias
        x = torch.relu(x) if place == 0 else x
    return 100 * (x.argmax(1) == y).float().mean().item()


def _observe(bench, seconds: float, bits: int, noise: int, draws: int) -> list[float]:
    with timing.single_thread(bench.torch):
        return [accuracy(bits, noise / 100, seed) for seed in range(draws if noise else 1)]


def plot(result):
    """The accuracy of each case."""
    four, two = (result.measured[_name(bits, 0)] for bits in (4, 2))
    return dots(result, title=say("title", four=four, two=two), axis=say("axis"), log=False)


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "%", bits="int", noise="int %", hidden=("bits", "noise")),
    timed=False,
    method={"train": TRAIN, "held": digits.COUNT - TRAIN, "width": WIDTH},
)
