"""Steps of SGD until a small network knows its digits, by the batch; for each batch the best of several rates."""

from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.nets import digits
from course_lib.experiments.running import timing
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import curves
from course_lib.units.q14_gradient_accumulation import parts
from course_lib.words import words

say = words(__file__)

TARGET, LIMIT = 0.3, 1000  # nats, steps
RATES = (0.8, 0.4, 1.6, 0.2, 0.1)  # those that win at large batches first: later ones stop at the best so far
SLOW = (0.05, 0.025, 0.0125)  # a batch of one needs these
QUICK = (4, 16, 64, 256, 1024)
FULL = (*QUICK, 1)  # the batch of one takes longest


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Batches of 4 to 1,024 from one seed; full has 1 too and takes five seeds."""
    return tuple(
        Case(
            say("case", batch=batch),
            say("calls", batch=batch),
            observe=partial(_observe, batch=batch, seeds=1 if quick else 5),
            facts={"batch": batch},
        )
        for batch in (QUICK if quick else FULL)
    )


def _observe(bench, seconds: float, batch: int, seeds: int) -> list[float]:
    with timing.single_thread(bench.torch):
        return [fewest(bench.torch, batch, seed) for seed in range(seeds)]


def fewest(torch, batch: int, seed: int) -> int:
    """Steps with the best rate."""
    best = LIMIT
    for rate in RATES + (SLOW if batch == 1 else ()):
        best = min(best, steps(torch, batch, rate, seed, best))
    return best


def steps(torch, batch: int, rate: float, seed: int, limit: int) -> int:
    """Steps until the loss on all digits is below the target; `limit` where it takes as many or more."""
    F, generator = torch.nn.functional, torch.Generator().manual_seed(seed)
    images, y = digits.tensors(torch)
    x, net = images.flatten(1), parts.network(torch)
    for step in range(1, limit):
        chosen = torch.randint(len(x), (batch,), generator=generator)
        net.zero_grad()
        F.cross_entropy(net(x[chosen]), y[chosen]).backward()
        with torch.no_grad():
            for weight in net.parameters():
                weight -= rate * weight.grad
            if F.cross_entropy(net(x), y).item() < TARGET:
                return step
    return limit


EXPERIMENT = Experiment(
    say,
    cases,
    partial(curves, x="batch", title=say("title"), axis=say("axis")),
    quantity_columns(say, "", batch="int"),
    timed=False,
    recording_seconds=60.0,
    method={"target": TARGET},
)
