"""Attention of one layer alone, forward and backward, taken apart: the products only, with the passes over the square
of scores that the eager form makes, fused over the whole square, and fused over the half below the diagonal.
"""

from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.racing import Heat
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.case1_gpt2_ladder import gpt_steps
from course_lib.words import words

say = words(__file__)

WAYS = ("eager", "products", "square", "causal")


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Four ways; full repeats them more often."""
    heat = Heat(partial(calls, step=gpt_steps.start(device)), 5 if quick else 31, training=True)
    return tuple(
        Case(
            say("cases", way),
            say("calls", way),
            observe=partial(heat.seconds, name=way),
        )
        for way in WAYS
    )


def calls(bench, step: gpt_steps.Step):
    """Way -> a function that computes the layer's values, and all gradients."""
    torch, model = bench.torch, step.model
    shape = (step.batch, model.heads, step.seq, model.head_width)
    query, key, value = (bench.random(*shape).requires_grad_() for _ in range(3))
    lowest = torch.finfo(torch.float32).min
    mask = torch.full((step.batch, 1, step.seq, step.seq), lowest, device=bench.on).triu_(1)
    scale, fused = model.head_width**-0.5, torch.nn.functional.scaled_dot_product_attention

    def eager():
        return torch.softmax(torch.matmul(query, key.transpose(-1, -2)) * scale + mask, dim=-1) @ value

    ways = {
        "eager": eager,
        "products": lambda: torch.matmul(query, key.transpose(-1, -2)) @ value,
        "square": lambda: fused(query, key, value, scale=scale),
        "causal": lambda: fused(query, key, value, is_causal=True, scale=scale),
    }
    ones = torch.ones(shape, device=bench.on)

    def both(way):
        query.grad = key.grad = value.grad = None
        ways[way]().backward(ones)

    return {way: lambda way=way: both(way) for way in WAYS}


def plot(result):
    """The time of each way."""
    took = result.measured
    factor = took[say("cases", "eager")] / took[say("cases", "causal")]
    return dots(result, title=say("title", factor=factor), axis=say("axis"))


EXPERIMENT = Experiment(say, cases, plot, quantity_columns(say, "s"))
