"""Three small networks that are trained here: digits by gradient descent, Shakespeare by an MLP and by a GPT.

All of them run on one thread of the processor, and a seed decides everything. A rule is a function of (step, total, peak)
that gives the rate of a step.
"""

import math
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from course_lib.experiments.nets import digits, shakespeare, tiny_gpt
from course_lib.experiments.running import timing

Rule = Callable[[int, int, float], float]

# ---- digits, squared error, every step on all of them -----------------------------------------------

IMAGES, HIDDEN, STEPS, SEES = 200, 32, 1200, 150  # the sharpness is taken every `SEES` steps
GONE = 1e6  # a loss from which nothing comes back


@dataclass(frozen=True)
class Descent:
    """losses: before each step and after the last; ends early where it diverges. sharpness: (step, largest curvature)."""

    losses: tuple[float, ...]
    sharpness: tuple[tuple[int, float], ...]

    @property
    def rises(self) -> int:
        """Steps after which the loss was larger than before."""
        return sum(after > before for before, after in pairwise(self.losses))

    @property
    def fall(self) -> float:
        """The first loss over the last."""
        return self.losses[0] / self.losses[-1]


@cache
def descend(rate: float, steps: int = STEPS, nudge: float = 0.0) -> Descent:
    """Gradient descent with a fixed rate on 200 digits, 64 → 32 → 10 with tanh, squared error.

    In fp64, from weights whose bits no processor decides, so that it goes the same way everywhere. nudge: by what share
    the first weights are changed, to see whether it does.
    """
    import torch

    with timing.single_thread(torch):
        images, classes = digits.tensors(torch)
        x = images[:IMAGES].flatten(1).double()
        y = torch.nn.functional.one_hot(classes[:IMAGES], digits.CLASSES).double()
        w = _layers(torch, (x.shape[1], HIDDEN, digits.CLASSES), torch.Generator().manual_seed(0), torch.float64)
        with torch.no_grad():
            w[0] *= 1 + nudge

        def loss():
            return ((_tanh(torch, w, x) - y) ** 2).sum(1).mean() / 2

        losses, seen = [], []
        for step in range(steps + 1):
            now = loss()
            losses.append(now.item())
            if not losses[-1] < GONE:
                break
            if step % SEES == 0:
                seen.append((step, sharpness(torch, loss, w)))
            if step < steps:
                _move(torch, w, now, rate)
    return Descent(tuple(losses), tuple(seen))


def sharpness(torch, loss: Callable, weights, rounds: int = 30) -> float:
    """The largest curvature of `loss` at `weights`: power iteration on products of the Hessian with a vector."""
    draw = torch.Generator().manual_seed(1)
    direction = [torch.rand(w.shape, generator=draw, dtype=w.dtype) - 0.5 for w in weights]
    slopes = torch.autograd.grad(loss(), weights, create_graph=True)
    for _ in range(rounds):
        length = math.sqrt(sum((part**2).sum().item() for part in direction))
        direction = [part / length for part in direction]
        along = sum((slope * part).sum() for slope, part in zip(slopes, direction, strict=True))
        turned = torch.autograd.grad(along, weights, retain_graph=True)
        found = sum((new * old).sum().item() for new, old in zip(turned, direction, strict=True))
        direction = turned
    return found


def _layers(torch, sizes, generator, dtype):
    """Weights and biases, uniform within ±1/√inputs and zero."""
    made = []
    for inputs, outputs in pairwise(sizes):
        uniform = torch.rand(inputs, outputs, generator=generator, dtype=dtype)
        made += [(2 * uniform - 1) / math.sqrt(inputs), torch.zeros(outputs, dtype=dtype)]
    return [part.requires_grad_() for part in made]


def _tanh(torch, w, x):
    return torch.tanh(x @ w[0] + w[1]) @ w[2] + w[3]


def _move(torch, weights, loss, rate: float) -> None:
    """One step of plain gradient descent."""
    slopes = torch.autograd.grad(loss, weights)
    with torch.no_grad():
        for weight, slope in zip(weights, slopes, strict=True):
            weight -= rate * slope


# ---- digits, batches drawn at random ---------------------------------------------------------------

LEARN, TARGET, MOST, LOOKS = (
    1297,
    0.3,
    600,
    5,
)  # images to learn from; loss to reach; steps at most; steps between looks
SGD_RATES = tuple(0.025 * 2**power for power in range(7))


def best_rate(torch, batch: int, seed: int) -> float:
    """The rate of `SGD_RATES` with which SGD needs the fewest steps to a loss of 0.3 on unseen digits; of equals the
    smallest. A batch of all 1,297 is each of them once, and has no noise.
    """
    with timing.single_thread(torch):
        steps = {rate: _steps_to_target(torch, batch, rate, seed) for rate in SGD_RATES}
    return min(steps, key=steps.get)


def _steps_to_target(torch, batch: int, rate: float, seed: int) -> float:
    """Steps with which a 64 → 32 → 10 network reaches the target; infinite where it does not."""
    images, classes = digits.tensors(torch)
    x, generator, loss = images.flatten(1), torch.Generator().manual_seed(seed), torch.nn.functional.cross_entropy
    order = torch.randperm(digits.COUNT, generator=generator)
    learn, test = order[:LEARN], order[LEARN:]
    w = _layers(torch, (x.shape[1], HIDDEN, digits.CLASSES), generator, torch.float32)
    for step in range(1, MOST + 1):
        drawn = learn if batch == LEARN else learn[torch.randint(LEARN, (batch,), generator=generator)]
        _move(torch, w, loss(_tanh(torch, w, x[drawn]), classes[drawn]), rate)
        if step % LOOKS == 0:
            with torch.no_grad():
                if loss(_tanh(torch, w, x[test]), classes[test]).item() < TARGET:
                    return step
    return math.inf


# ---- Shakespeare, an MLP with Adam ----------------------------------------------------------------

CONTEXT, WIDTH, NEURONS, BATCH, ROUNDS = 16, 8, 64, 128, 400
PARAMETERS = (CONTEXT * WIDTH + 1) * NEURONS + (NEURONS + 1) * shakespeare.CHARACTERS
FLOPS = 6 * PARAMETERS * BATCH * ROUNDS  # of every run
TEST = 20_000  # characters of the last tenth of the text


class Characters:
    """The MLP of Q9 that guesses a character from the 16 before it, and what draws its text."""

    def __init__(self, torch, seed: int):
        self.torch, self.text = torch, shakespeare.tensor(torch)
        self.learn = len(self.text) * 9 // 10
        self.generator = torch.Generator().manual_seed(seed)
        scales = {
            (shakespeare.CHARACTERS, WIDTH): 0.5,
            (CONTEXT * WIDTH, NEURONS): 1 / math.sqrt(CONTEXT * WIDTH),
            (NEURONS,): 0.0,
            (NEURONS, shakespeare.CHARACTERS): 1 / math.sqrt(NEURONS),
            (shakespeare.CHARACTERS,): 0.0,
        }
        draws = {shape: torch.randn(shape, generator=self.generator) for shape in scales}
        self.weights = [(draws[shape] * scale).requires_grad_() for shape, scale in scales.items()]
        self.optimizer = torch.optim.Adam(self.weights)

    def train(self, rates) -> "Characters":
        """One step of 128 characters for each of `rates`."""
        for rate in rates:
            self.optimizer.param_groups[0]["lr"] = rate
            loss = self._loss(0, self.learn, BATCH, self.generator)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return self

    def branch(self, seed: int) -> "Characters":
        """A copy, with its optimizer's state, that goes on with other text."""
        branch = Characters(self.torch, seed)
        with self.torch.no_grad():
            for own, other in zip(branch.weights, self.weights, strict=True):
                own.copy_(other)
        branch.optimizer.load_state_dict(deepcopy(self.optimizer.state_dict()))  # it would share the averages
        return branch

    def tested(self) -> float:
        """Nats per character on text that was not learned, always at the same places."""
        with self.torch.no_grad():
            return self._loss(self.learn, len(self.text), TEST, self.torch.Generator().manual_seed(1)).item()

    def _loss(self, first: int, last: int, count: int, generator):
        torch, w = self.torch, self.weights
        places = torch.randint(first, last - CONTEXT, (count, 1), generator=generator)
        rows = self.text[places + torch.arange(CONTEXT + 1)]
        hidden = torch.relu(w[0][rows[:, :CONTEXT]].flatten(1) @ w[1] + w[2])
        return torch.nn.functional.cross_entropy(hidden @ w[3] + w[4], rows[:, CONTEXT])


def characters_loss(torch, rates, seed: int) -> float:
    """Nats per character after one step for each of `rates`."""
    with timing.single_thread(torch):
        return Characters(torch, seed).train(rates).tested()


def defend(rule: Rule, against: Rule, peak: float, seeds: int = 2) -> list[tuple[float, float]]:
    """(loss of `rule`, loss of `against`) for each seed: the same model, text, order and FLOPs. Empty while the rule
    returns no number.
    """
    import torch

    first = rule(0, ROUNDS, peak)
    if first is None or first is ...:
        return []
    rates = [[one(step, ROUNDS, peak) for step in range(ROUNDS)] for one in (rule, against)]
    return [tuple(characters_loss(torch, each, seed) for each in rates) for seed in range(seeds)]


# ---- Shakespeare, a GPT with AdamW -----------------------------------------------------------------

GPT = tiny_gpt.describe(layers=2, d_model=32, heads=2, vocab=shakespeare.CHARACTERS, context=32)
GPT_STEPS, GPT_BATCH, RISE = 200, 16, 30  # RISE: steps of the warm-up, or of averages that fill at rest


def gpt_loss(bench, peak: float, start: str, seed: int) -> float:
    """Nats per character of a GPT of two layers after 200 steps, the rate falling to 0 in a straight line.

    start: "none" of the warm-ups below; "warm-up": 30 steps of a straight rise; "filled": before the first step AdamW
    sees 30 batches at rate 0, so that its averages are those of 30 gradients; "radam": torch's RAdam.
    """
    torch = bench.torch
    with timing.single_thread(torch):
        return _gpt_loss(torch, bench, peak, start, seed)


def _gpt_loss(torch, bench, peak, start, seed):
    text, seq = shakespeare.tensor(torch).to(bench.on), GPT.context
    learn, window = len(text) * 9 // 10, torch.arange(GPT.context)
    bench.generator.manual_seed(seed)
    net = tiny_gpt.build(bench, GPT, "sdpa")
    optimizer = (torch.optim.RAdam if start == "radam" else torch.optim.AdamW)(net.parameters(), weight_decay=0.0)

    def loss(first, last, count, generator):
        rows = text[(torch.randint(first, last - seq, (count, 1), generator=generator) + window).to(bench.on)]
        return net(rows, labels=rows).loss

    def step(rate, generator):
        optimizer.param_groups[0]["lr"] = rate
        optimizer.zero_grad()
        loss(0, learn, GPT_BATCH, generator).backward()
        optimizer.step()

    if start == "filled":
        other = torch.Generator().manual_seed(1000 + seed)
        for _ in range(RISE):
            step(0.0, other)
    drawn = torch.Generator().manual_seed(seed)  # the same text for every start
    for number in range(GPT_STEPS):
        rise = (number + 1) / RISE if start == "warm-up" else 1.0
        step(peak * min(rise, 1 - number / GPT_STEPS), drawn)
    with torch.no_grad():
        return loss(learn, len(text), 256, torch.Generator().manual_seed(1)).item()
