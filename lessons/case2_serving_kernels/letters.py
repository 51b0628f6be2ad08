"""The course's own language model for the engine: letters of Shakespeare, learnt in about a second, and requests for it."""

import random
from functools import cache

from course_lib.experiments.nets import shakespeare
from course_lib.units.case2_serving_kernels.engine import Model, Request, Shape

SHAPE = Shape(vocab=shakespeare.CHARACTERS, width=48, layers=2, heads=4, kv_heads=2, ff=96)
STEPS, BATCH, SEEN, RATE = 90, 12, 48, 1e-2


@cache
def trained() -> Model:
    """The model after 90 steps on one thread, in fp64; its loss, in nats a letter, is `trained().loss`."""
    import torch

    from course_lib.experiments.running import timing

    with timing.single_thread(torch), torch.inference_mode(False), torch.enable_grad():
        model, generator = Model(torch, SHAPE), torch.Generator().manual_seed(0)
        text, weights = shakespeare.tensor(torch), model.weights()
        for weight in weights:
            weight.requires_grad_()
        first = [torch.zeros_like(weight) for weight in weights]
        second = [torch.zeros_like(weight) for weight in weights]
        for step in range(STEPS):
            rows = text[torch.randint(len(text) - SEEN, (BATCH, 1), generator=generator) + torch.arange(SEEN + 1)]
            loss = torch.nn.functional.cross_entropy(model.full(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
            grads = torch.autograd.grad(loss, weights)
            # Adam by hand: torch.optim loads the compiler first, which takes longer than all this
            with torch.no_grad():
                for weight, grad, m, v in zip(weights, grads, first, second, strict=True):
                    m.lerp_(grad, 0.1)
                    v.lerp_(grad.square(), 0.01)
                    size = (v / (1 - 0.99 ** (step + 1))).sqrt_().add_(1e-8)
                    weight.sub_(RATE * (1 - step / STEPS) / (1 - 0.9 ** (step + 1)) * m / size)
    done = model.to(torch.float64)
    done.loss = loss.item()
    return done


def encode(text: str) -> tuple[int, ...]:
    return tuple(map(shakespeare.alphabet().index, text))


def decode(tokens) -> str:
    return "".join(shakespeare.alphabet()[token] for token in tokens)


def requests(count: int, seed: int = 0, common: int = 0) -> list[Request]:
    """Requests with beginnings of 4 to 40 letters from the text, for 4 to 24 letters more; every third is greedy.

    common: letters that stand before every prompt, the same for all. A line's end stops every second one.
    """
    rng, text = random.Random(seed), shakespeare.text()
    found = []
    for number in range(count):
        start = rng.randrange(len(text) - 100)
        found.append(
            Request(
                encode(text[:common] + text[start : start + rng.randrange(4, 41)]),
                new=rng.randrange(4, 25),
                temperature=(0.0, 0.8, 1.2)[number % 3],
                seed=number,
                stop=0 if number % 2 else None,
            )
        )
    return found


def lead(model: Model, request: Request) -> float:
    """The least lead, in logits, of a greedy request's tokens over the second best: how near it came to another text."""
    torch, made, least = model.torch, [], float("inf")
    while not request.over(made):
        best = model.full(torch.tensor([[*request.prompt, *made]]))[0, -1].topk(2)
        least = min(least, (best.values[0] - best.values[1]).item())
        made.append(int(best.indices[0]))
    return least


def untrained() -> Model:
    """The same model as it begins, in fp64: for what does not depend on its tokens."""
    import torch

    return Model(torch, SHAPE, torch.float64)
