"""Do the rungs train the same network? The loss after some steps on the same tokens from the same weights, rung by rung."""

from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.nets import tiny_gpt
from course_lib.experiments.running.bench import Bench
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.experiments.running.timing import single_thread
from course_lib.figures.charts import dots
from course_lib.units.case1_gpt2_ladder import gpt_steps
from course_lib.words import words

say = words(__file__)

STEPS = 40


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Five rungs of a network so small that forty steps take a moment."""
    foot = gpt_steps.Step(tiny_gpt.describe(2, 64, 4, 256, 64), 64, attention="eager", optimizer="loop")
    fused = foot.but(attention="sdpa", optimizer="fused")
    steps = {"start": foot, "flash": foot.but(attention="sdpa"), "fused": fused}
    steps |= {"recomputed": fused.but(recompute="full"), "autocast": fused.but(autocast=True)}
    return tuple(
        Case(
            say("cases", rung),
            say("call", steps=STEPS),
            observe=lambda bench, seconds, step=step: [loss(bench, step)],
        )
        for rung, step in steps.items()
    )


def loss(bench, step: gpt_steps.Step) -> float:
    """Nats a token before the last of the steps; weights and tokens are drawn anew from one seed."""
    own = Bench(bench.torch, bench.on, bench.torch.Generator(bench.on).manual_seed(1), bench.block)
    with single_thread(bench.torch):
        call = step.build(own)
        for _ in range(STEPS - 1):
            call()
        return call().loss.item()


EXPERIMENT = Experiment(
    say, cases, partial(dots, title=say("title"), axis=say("axis")), quantity_columns(say, "nat"), timed=False
)
