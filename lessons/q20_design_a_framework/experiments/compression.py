"""Softmax regression on digits by four workers that send less than their gradients, with and without error feedback."""

from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.nets import digits
from course_lib.experiments.running import timing
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.q20_design_a_framework import compressing
from course_lib.words import words

say = words(__file__)

WORKERS, STEPS, RATE, TRAIN = 4, 300, 0.1, 1400
WAYS = {  # name → (what is sent, error feedback)
    "all": ("all", False),
    "the largest 1 %": ("largest", False),
    "the largest 1 %, with error feedback": ("largest", True),
    "signs": ("signs", False),
    "signs, with error feedback": ("signs", True),
}


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Five ways; full has no more, for the numbers do not depend on time."""
    return tuple(
        Case(
            name,
            say("calls", name),
            observe=partial(_observe, name=name),
            facts={"sent": compressing.nbytes(WAYS[name][0], digits.SIDE**2 * digits.CLASSES)},
        )
        for name in WAYS
    )


def _observe(bench, seconds: float, name: str) -> list[float]:
    with timing.single_thread(bench.torch):
        return [train(bench.torch, *WAYS[name])]


def train(torch, what: str, feedback: bool) -> float:
    """The loss on the training digits after all steps."""
    images, y = digits.tensors(torch)
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))[:TRAIN]
    x, y = images.flatten(1)[order], y[order]
    weights = torch.zeros(x.shape[1], digits.CLASSES)
    left = [torch.zeros_like(weights) for _ in range(WORKERS)]
    for _ in range(STEPS):
        total = torch.zeros_like(weights)
        for worker in range(WORKERS):
            inputs, targets = x[worker::WORKERS], y[worker::WORKERS]
            off = torch.softmax(inputs @ weights, 1) - torch.nn.functional.one_hot(targets, digits.CLASSES)
            wanted = inputs.T @ off / len(targets) + (left[worker] if feedback else 0)
            sent = compressing.compressed(wanted, what)
            left[worker] = wanted - sent
            total += sent
        weights -= RATE * total / WORKERS
    return torch.nn.functional.cross_entropy(x @ weights, y).item()


def plot(result):
    """The loss of each way."""
    with_, without = (result.measured[name] for name in list(WAYS)[2:0:-1])
    return dots(result, title=say("title", with_=with_, without=without), axis=say("axis"), log=False)


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "nat", sent="int B"),
    timed=False,
    method={"workers": WORKERS, "steps": STEPS, "rate": RATE, "train": TRAIN},
)
