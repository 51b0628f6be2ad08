"""A network that learns in 16 bits, always with fp32 master weights: gradients that are too small, too large, or scaled."""

from course_lib.accounting import hardware
from course_lib.experiments.running import timing
from course_lib.experiments.running.bench import torch_dtype
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns, rows_of_quantity
from course_lib.figures.charts import dots
from course_lib.units.q15_mixed_precision import scaling, training
from course_lib.words import words

say = words(__file__)

HIDDEN, STEPS, RATE, INTERVAL = 64, 150, 0.1, 50
TINY = 1e-6  # times the loss
# case → (format of the pass, times the loss, exponent of the scale, whether the scale moves)
CASES = {
    "fp32": ("fp32", 1.0, 0, False),
    "fp16": ("fp16", 1.0, 0, False),
    "fp16, loss × 1e-5": ("fp16", 1e-5, 0, False),
    "fp16, loss × 1e-6": ("fp16", TINY, 0, False),
    "fp16, loss × 1e-6, scale 2^16": ("fp16", TINY, 16, False),
    "bf16, loss × 1e-6": ("bf16", TINY, 0, False),
    "fp16, scale 2^20": ("fp16", 1.0, 20, False),
    "fp16, scale from 2^20, moving": ("fp16", 1.0, 20, True),
}


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Eight ways to learn, from two seeds; full from five."""
    return tuple(_case(name, *how, range(2 if quick else 5)) for name, how in CASES.items())


def _case(name: str, dtype: str, factor: float, exponent: int, moving: bool, seeds) -> Case:
    def observe(bench, seconds):
        return [each["right"] for each in _runs(bench.torch, name, seeds)]

    return Case(
        name,
        say("calls", steps=STEPS),
        observe=observe,
        facts={"format": dtype, "factor": factor, "scale": 2.0**exponent},
    )


def _runs(torch, name: str, seeds) -> list[dict]:
    with timing.single_thread(torch):
        return [learn(torch, *CASES[name], seed) for seed in seeds]


def learn(torch, dtype: str, factor: float, exponent: int, moving: bool, seed: int) -> dict:
    """% right on unseen digits, % of weight gradients that are zero (of those that are finite), % of steps taken."""
    generator, kind = torch.Generator().manual_seed(seed), torch_dtype(torch, dtype)
    images, classes, *unseen = training.split(torch, seed)
    master, low = training.weights(torch, HIDDEN, generator), images.to(kind)
    scale, good, taken, zeros, numbers = 2.0**exponent, 0, 0, 0, 0
    for _ in range(STEPS):
        batch = torch.randint(len(images), (training.BATCH,), generator=generator)
        w = [each.to(kind) for each in master]
        found = training.gradients(torch, w, low[batch], classes[batch], factor * scale)
        overflow = not all(gradient.isfinite().all() for gradient in found)
        if not overflow:
            taken += 1
            zeros += sum(int((gradient == 0).sum()) for gradient in found)
            numbers += sum(gradient.numel() for gradient in found)
            rate = RATE / factor / scale
            master = [each - rate * gradient.float() for each, gradient in zip(master, found, strict=True)]
        if moving:
            scale, good = scaling.after(scale, good, overflow, INTERVAL)
    w = [each.to(kind) for each in master]
    return {
        "right": training.right(torch, w, unseen[0].to(kind), unseen[1]),
        "zeros": 100 * zeros / numbers if numbers else None,
        "taken": 100 * taken / STEPS,
    }


def _table(cases, timings, device):
    """With two facts of the first seed: zeros among the gradients, and steps taken."""
    import torch

    rows = []
    for row in rows_of_quantity(cases, timings, device):
        (first,) = _runs(torch, row["case"], [0])
        rows.append(row | {"zeros": first["zeros"], "taken": first["taken"]})
    return rows


def plot(result):
    """Right answers of each way."""
    found, title = result.measured, say("title", "plain")
    lost, cured = "fp16, loss × 1e-6", "fp16, loss × 1e-6, scale 2^16"
    if {lost, cured} <= set(found):
        title = say("title", "found", lost=found[lost], cured=found[cured])
    return dots(result, title=title, axis=say("axis"), log=False)


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(
        say,
        "%",
        format="str",
        factor="float ×",
        scale="float ×",
        zeros="float? %",
        taken="float %",
        hidden=("format", "factor", "scale"),
    ),
    timed=False,
    table=_table,
    method={"hidden": HIDDEN, "batch": training.BATCH, "steps": STEPS, "rate": RATE, "interval": INTERVAL},
)
