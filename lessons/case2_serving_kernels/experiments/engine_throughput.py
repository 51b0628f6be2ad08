"""Decode steps of the serving engine by batch, on weights that fit no cache, and its matrix products alone.

Predicted by `inference.decode_step`: the weights are read once for the whole batch. The products alone are the ablation:
what they take above the prediction is the library's, what the engine takes above them is the engine's.
"""

from functools import partial

from course_lib.accounting import hardware, inference
from course_lib.experiments.running import timing
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.racing import clocked
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import curves
from course_lib.words import words

say = words(__file__)

PAGE, PROMPT, FORMAT = 16, 32, "fp32"


def shape():
    """45 million parameters: 181 MB in fp32."""
    from course_lib.units.case2_serving_kernels.engine import Shape

    return Shape(vocab=65, width=1024, layers=4, heads=8, kv_heads=2, ff=2816)


class _Nets:
    """The model of all cases, made when the first of them runs."""

    def __init__(self):
        self.model = None

    def on(self, torch):
        from course_lib.units.case2_serving_kernels.engine import Model

        if self.model is None:
            self.model = Model(torch, shape())
        return self.model


def _engine(model, batch: int, steps: int):
    from course_lib.units.case2_serving_kernels.engine import Engine, Request

    served = Engine(model, batch * -(-(PROMPT + steps + 2) // PAGE), PAGE, batch)
    for number in range(batch):
        served.add(Request(tuple((number * 7 + place) % 65 for place in range(PROMPT)), new=steps + 2))
    served.step()  # the prompts
    return served.step


def _products(model, batch: int, steps: int):
    """All matrix products of a step, without anything between them."""
    torch, s = model.torch, model.shape
    inputs = {width: torch.full((batch, width), 0.5) for width in (s.width, s.heads * s.head, s.ff)}
    weights = [block[name] for block in model.blocks for name in ("qkv", "out", "up", "down")] + [model.table.T]

    def step():
        return [inputs[len(weight)] @ weight for weight in weights]

    return step


MAKE = {"engine": _engine, "products": _products}


def _observe(bench, seconds: float, nets: _Nets, what: str, batch: int, steps: int) -> list[float]:
    with timing.single_thread(bench.torch), bench.torch.inference_mode():
        step = MAKE[what](nets.on(bench.torch), batch, steps)
        return [clocked(step) for _ in range(steps)][1:]


def expected(device: hardware.Device, batch: int) -> float | None:
    """Seconds of a decode step; the model stays on the processor, also beside a GPU."""
    if device.kind != "cpu":
        return None
    formats = dict.fromkeys(("weight_dtype", "kv_dtype", "compute_dtype"), FORMAT)
    described = shape().describe(context=256)
    return inference.decode_step(described, batch=batch, context=PROMPT + 8, device=device, **formats).seconds


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Batches of 1 and 8; in full of 1 to 32, with more steps."""
    nets, steps = _Nets(), 8 if quick else 30
    return tuple(
        Case(
            say("cases", what, batch=batch),
            say("calls", what),
            observe=partial(_observe, nets=nets, what=what, batch=batch, steps=steps),
            expect=lambda device, batch=batch: expected(device, batch),
            facts={"batch": batch, "what": what, "line": say("lines", what)},
        )
        for batch in ((1, 8) if quick else (1, 2, 4, 8, 16, 32))
        for what in MAKE
    )


EXPERIMENT = Experiment(
    say,
    cases,
    partial(curves, x="batch", title=say("title"), axis=say("axis"), by="line"),
    quantity_columns(say, "s", batch="int", what="str", line="str", hidden=("batch", "what", "line")),
    recording_seconds=60,
    method={"prompt": PROMPT},
)
