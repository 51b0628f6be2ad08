"""One bad batch in a training run, and what stands in its way: nothing, clipping, a check, a skip, a step back."""

import math
import statistics
from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.nets import digits
from course_lib.experiments.running import timing
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.q13_training_loop import loop
from course_lib.words import words

say = words(__file__)

STEPS, AT, LARGE = 120, 65, 1e4  # steps, the bad one, the factor of its pixels
LIMIT, RECENT = 20, 30  # times the median norm, norms that it is taken of
LOOK = 10  # steps between two looks at the loss
SGD_RATE = 0.1
EARLY, SOON = "none, early", AT + 10  # a run that ends early, and the step before which it ends
FAULTS = {
    "no fault": (EARLY, "none", "SGD"),
    "pixels × 10,000": (EARLY, "none", "clip", "skip outliers", "roll back", "SGD"),
    "one NaN pixel": ("none", "clip", "finite only", "skip outliers", "roll back"),
}


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Each fault behind each guard; full takes five seeds in place of one."""
    return tuple(
        Case(
            f"{fault}: {guard}",
            say("calls", guard),
            observe=partial(_observe, fault=fault, guard=guard, seeds=1 if quick else 5),
            facts={"fault": fault, "guard": guard},
        )
        for fault, guards in FAULTS.items()
        for guard in guards
    )


def _observe(bench, seconds: float, fault: str, guard: str, seeds: int) -> list[float]:
    with timing.single_thread(bench.torch):
        return [accuracy(bench.torch, fault, guard, seed) for seed in range(seeds)]


def accuracy(torch, fault: str, guard: str, seed: int = 0) -> float:
    """% of the test digits, after a run in which the batch of step `AT` is bad, or early in it."""
    F, draw = torch.nn.functional, torch.Generator().manual_seed(seed)
    images, classes = digits.tensors(torch)
    images = images.flatten(1)
    shapes = ((64, loop.HIDDEN), (loop.HIDDEN,), (loop.HIDDEN, 10), (10,))
    weights = [torch.randn(shape, generator=draw) / 8 if len(shape) > 1 else torch.zeros(shape) for shape in shapes]
    for weight in weights:
        weight.requires_grad_()
    sgd = guard == "SGD"  # no guard, and no division by the gradients' size either
    optimizer = torch.optim.SGD(weights, SGD_RATE) if sgd else torch.optim.AdamW(weights, lr=loop.RATE, fused=True)
    norms, kept = [], None
    for step in range(SOON if guard == EARLY else STEPS):
        chosen = torch.randint(loop.TRAIN, (loop.BATCH,), generator=draw)
        batch = images[chosen]
        if step == AT:
            batch = batch * LARGE if fault == "pixels × 10,000" else batch.clone()
            if fault == "one NaN pixel":
                batch[0, 0] = math.nan
        loss = F.cross_entropy(_scores(F, weights, batch), classes[chosen])
        if guard == "roll back" and step % LOOK == 0:
            if kept and not loss.item() < 3 * kept[1]:  # NaN compares as False
                _put_back(torch, weights, optimizer, kept[0])
                continue
            kept = _copy(weights, optimizer), loss.item()
        optimizer.zero_grad()
        loss.backward()
        limit = 1.0 if guard == "clip" else math.inf
        norm = torch.nn.utils.clip_grad_norm_(weights, limit).item()
        if taken(guard, norm, norms[-RECENT:]):
            norms.append(norm)
            optimizer.step()
    with torch.no_grad():
        found = _scores(F, weights, images[loop.TRAIN :]).argmax(1)
    return 100 * (found == classes[loop.TRAIN :]).float().mean().item()


def taken(guard: str, norm: float, recent: list[float]) -> bool:
    """Whether a step with this norm of the gradient is made."""
    if guard == "finite only":
        return math.isfinite(norm)
    if guard == "skip outliers" and recent:
        return norm <= LIMIT * statistics.median(recent)  # False for NaN
    return True


def _scores(F, weights, batch):
    return F.relu(batch @ weights[0] + weights[1]) @ weights[2] + weights[3]


def _copy(weights, optimizer):
    state = optimizer.state_dict()["state"]
    moments = {index: {key: value.clone() for key, value in each.items()} for index, each in state.items()}
    return [weight.detach().clone() for weight in weights], moments


def _put_back(torch, weights, optimizer, kept) -> None:
    with torch.no_grad():
        for weight, value in zip(weights, kept[0], strict=True):
            weight.copy_(value)
    moments = {index: {key: value.clone() for key, value in each.items()} for index, each in kept[1].items()}
    optimizer.load_state_dict(optimizer.state_dict() | {"state": moments})


EXPERIMENT = Experiment(
    say,
    cases,
    partial(dots, title=say("title"), axis=say("axis"), log=False),
    quantity_columns(say, "%", fault="str", guard="str", hidden=("fault", "guard")),
    timed=False,
    method={"steps": STEPS, "at": AT, "limit": LIMIT, "recent": RECENT, "look": LOOK, "rate": SGD_RATE, "soon": SOON},
)
