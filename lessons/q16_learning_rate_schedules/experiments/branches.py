"""One run at a constant rate with decays that branch off, and runs with a cosine of their own for each length."""

from functools import cache, partial

from course_lib.accounting import hardware
from course_lib.experiments.running import timing
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.q16_learning_rate_schedules.networks import Characters, characters_loss
from course_lib.units.q16_learning_rate_schedules.schedules import DECAY, rates
from course_lib.words import words

say = words(__file__)

LENGTHS, PEAK = (200, 400, 800), 1e-2  # steps in all, of each model that is wanted
STEPS = round((1 - DECAY) * LENGTHS[-1] + DECAY * sum(LENGTHS)), sum(LENGTHS)  # in all: with branches, with cosines


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Three lengths by branches and by cosines, and a cosine for 800 that is stopped at 400; full takes three seeds."""
    names = [f"{steps} steps, {kind}" for steps in LENGTHS for kind in ("branch", "cosine")] + [say("cut")]
    return tuple(
        Case(
            name,
            say("calls", "branch" if name.endswith("branch") else "cosine"),
            observe=partial(_observe, name=name, seeds=1 if quick else 3),
        )
        for name in names
    )


def _observe(bench, seconds: float, name: str, seeds: int) -> list[float]:
    with timing.single_thread(bench.torch):
        return [losses(bench.torch, seed)[name] for seed in range(seeds)]


@cache
def losses(torch, seed: int) -> dict[str, float]:
    """Case → nats per character; the trunk is trained once for all three branches."""
    found, trunk, done = {}, Characters(torch, seed), 0
    for steps in LENGTHS:
        stable = round((1 - DECAY) * steps)
        trunk.train([PEAK] * (stable - done))
        done = stable
        decay = rates("linear", steps - stable, PEAK)
        found[f"{steps} steps, branch"] = trunk.branch(1000 + seed).train(decay).tested()
        found[f"{steps} steps, cosine"] = characters_loss(torch, rates("cosine", steps, PEAK), seed)
    cut = rates("cosine", LENGTHS[-1], PEAK)[: LENGTHS[-1] // 2]
    return found | {say("cut"): characters_loss(torch, cut, seed)}


EXPERIMENT = Experiment(
    say,
    cases,
    partial(dots, title=say("title", branches=STEPS[0], cosines=STEPS[1]), axis=say("axis"), log=False),
    quantity_columns(say, "nat"),
    timed=False,
    method={"peak": PEAK},
)
