"""Small language models of several sizes, each trained with the same FLOPs: the larger the model, the fewer characters.

A model guesses a character of Shakespeare from the `CONTEXT` characters before it: an embedding of each, one hidden
layer with ReLU, an output layer. Its parameters N are those that multiply; the embedding is looked up. Of a budget of C
FLOP it gets D = C/(6·N) characters to learn, in `STEPS` steps of equal size, so that a smaller model has larger batches
and not more steps. (The IsoFLOP profiles of Hoffmann et al. 2022, section 3.2, at a billionth of the scale.)
"""

import math
from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.nets import shakespeare
from course_lib.experiments.running import timing
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import curves
from course_lib.words import words

say = words(__file__)

CONTEXT, STEPS, WARM_UP, RATE, TEST = 16, 400, 10, 2e-2, 20_000
SIZES = ((2, 8), (4, 16), (8, 32), (8, 64), (8, 128), (16, 128))  # numbers of an embedding, of the hidden layer
BUDGETS = {1_000_000_000: SIZES[:5], 4_000_000_000: SIZES[:5]}  # FLOP → sizes on both sides of the valley
MORE = {16_000_000_000: SIZES[1:]}  # with quick=False


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Five sizes at two budgets, from one seed; full takes three seeds, and five sizes at a third budget from one."""
    listed = [(size, budget, 1 if quick else 3) for budget, sizes in BUDGETS.items() for size in sizes]
    if not quick:
        listed += [(size, budget, 1) for budget, sizes in MORE.items() for size in sizes]
    return tuple(_case(*each) for each in listed)


def _case(size: tuple[int, int], budget: int, repeats: int) -> Case:
    params = parameters(size)
    each = batch(size, budget)

    def observe(bench, seconds):
        return [loss(bench.torch, bench.on, size, budget, seed) for seed in range(repeats)]

    return Case(
        say("case", params=params, giga=budget / 1e9),
        say("calls", steps=STEPS, batch=each),
        observe=observe,
        facts={
            "params": params,
            "tokens": STEPS * each,
            "flops": budget,
            "budget": say("budget", giga=budget / 1e9),
        },
    )


def parameters(size: tuple[int, int]) -> int:
    """Weights and biases of the two layers; the embedding's are not multiplied with anything."""
    embedding, hidden = size
    return (CONTEXT * embedding + 1) * hidden + (hidden + 1) * shakespeare.CHARACTERS


def batch(size: tuple[int, int], budget: float) -> int:
    """Characters that each step learns, so that all of them cost `budget` FLOP."""
    return max(1, round(budget / 6 / parameters(size) / STEPS))


def loss(torch, on: str, size: tuple[int, int], budget: float, seed: int = 0) -> float:
    """Nats per character, on text that was not learned, of a model that was trained with `budget` FLOP."""
    with timing.single_thread(torch):  # the tensors are so small that a second thread would cost more than it does
        return _train(torch, on, size, budget, seed)


def _train(torch, on: str, size: tuple[int, int], budget: float, seed: int) -> float:
    F, generator = torch.nn.functional, torch.Generator().manual_seed(seed)
    text = shakespeare.tensor(torch).to(on)
    start = len(text) * 9 // 10  # the last tenth is the test
    window, each = torch.arange(CONTEXT + 1), batch(size, budget)

    def draw(first, last, count, by):
        rows = text[(torch.randint(first, last - CONTEXT, (count, 1), generator=by) + window).to(on)]
        return rows[:, :CONTEXT], rows[:, CONTEXT]

    def forward(x):
        return F.relu(w[0][x].flatten(1) @ w[1] + w[2]) @ w[3] + w[4]

    w = _weights(torch, on, size, generator)
    optimizer = torch.optim.Adam(w, lr=RATE, fused=True)
    for step in range(STEPS):
        optimizer.param_groups[0]["lr"] = RATE * min((step + 1) / WARM_UP, 1.0) * (1 - step / STEPS)
        x, y = draw(0, start, each, generator)
        optimizer.zero_grad()
        F.cross_entropy(forward(x), y).backward()
        optimizer.step()
    with torch.no_grad():  # the same places of the text for every model
        x, y = draw(start, len(text), TEST, torch.Generator().manual_seed(1))
        return F.cross_entropy(forward(x), y).item()


def _weights(torch, on: str, size: tuple[int, int], generator):
    """Embedding, hidden layer, output layer: random matrices that neither amplify nor damp; biases at zero."""
    embedding, hidden = size
    wide = CONTEXT * embedding
    shapes = {
        (shakespeare.CHARACTERS, embedding): 0.5,
        (wide, hidden): 1 / math.sqrt(wide),
        (hidden,): 0.0,
        (hidden, shakespeare.CHARACTERS): 1 / math.sqrt(hidden),
        (shakespeare.CHARACTERS,): 0.0,
    }
    return [
        (torch.randn(shape, generator=generator) * scale).to(on).requires_grad_() for shape, scale in shapes.items()
    ]


def valley(points) -> tuple[float, float, float]:
    """(a, b, c) of the loss a·x² + b·x + c over x = log N that misses (parameters, loss) pairs least; Cramer's rule."""
    xs = [(math.log(params), found) for params, found in points]
    sums = [sum(x**power for x, _ in xs) for power in range(5)]
    right = [sum(found * x**power for x, found in xs) for power in range(3)]
    rows = [[sums[i + j] for j in range(3)] for i in range(3)]
    whole = _determinant(rows)
    solved = [_determinant([[*row[:j], right[i], *row[j + 1 :]] for i, row in enumerate(rows)]) for j in range(3)]
    c, b, a = (value / whole for value in solved)
    return a, b, c


def _determinant(m) -> float:
    return sum(
        m[0][i] * (m[1][(i + 1) % 3] * m[2][(i + 2) % 3] - m[1][(i + 2) % 3] * m[2][(i + 1) % 3]) for i in range(3)
    )


def best_size(points) -> float:
    """Parameters at the bottom of the valley through (parameters, loss) pairs."""
    a, b, _ = valley(points)
    return math.exp(-b / (2 * a))


def read_off(points, params: float) -> float:
    """Loss that the valley through (parameters, loss) pairs has at `params`."""
    a, b, c = valley(points)
    x = math.log(params)
    return a * x * x + b * x + c


def profiles(result) -> dict[int, list[tuple[int, float]]]:
    """Budget → (parameters, loss) of its models, smallest first."""
    budgets = sorted({row["flops"] for row in result.rows})
    return {
        budget: sorted((row["params"], row["measured"]) for row in result.rows if row["flops"] == budget)
        for budget in budgets
    }


EXPERIMENT = Experiment(
    say,
    cases,
    partial(curves, x="params", title=say("title"), axis=say("axis"), by="budget", log=(True, False)),
    quantity_columns(
        say, "nat", params="int", tokens="int", flops="int FLOP", budget="str", hidden=("flops", "budget")
    ),
    timed=False,
    method={"steps": STEPS, "rate": RATE, "context": CONTEXT, "test": TEST},
)
