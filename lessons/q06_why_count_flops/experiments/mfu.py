"""Model FLOPs utilisation of a training step by the size of its batch.

MFU is the FLOPs that the model needs for the tokens of a second, over the device's peak (Chowdhery et al., "PaLM",
arXiv:2204.02311). The model's FLOPs count every pair of tokens in attention, although SDPA computes half of them, and
nothing twice. The peak is the measured rate of the best matrix product, not a data sheet's. The prediction sums the
roofline's seconds of the operations that `train_step_waterfall` predicts: nothing for copies and look-ups.
"""

from collections.abc import Mapping, Sequence

from course_lib.accounting import hardware
from course_lib.experiments.running.experiment import Case, Experiment, main_dtype
from course_lib.experiments.running.rows import fact_columns, quantity_columns, rates
from course_lib.experiments.running.timing import Repeats
from course_lib.figures.charts import curves
from course_lib.figures.tabular import quantity
from course_lib.units.q06_why_count_flops.experiments.train_step_waterfall import Step, gpt, step_ops
from course_lib.words import words

say = words(__file__)


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """One training step with each of three batches; full adds a larger one."""
    model, dtype = gpt(device), main_dtype(device)
    if device.kind == "cpu":
        batches, more = ((1, 32), (1, 128), (4, 128)), ((16, 128),)
    else:
        batches, more = ((1, 128), (1, 1024), (16, 1024)), ((32, 1024),)
    return tuple(_case(Step(model, batch, seq, dtype)) for batch, seq in (batches if quick else batches + more))


def _case(step: Step) -> Case:
    ops = tuple(op for ops in step_ops(step).values() for op in ops)
    facts = {"tokens": step.tokens, "flops": step.flops, "per_token": step.flops / step.tokens}
    call = say("calls", "step", batch=step.batch, seq=step.seq, layers=step.model.layers, d_model=step.model.d_model)
    return Case(f"{step.tokens} tokens", call, ops, step.build, gradients=True, facts=facts)


def whole(case: Case, device: hardware.Device) -> float:
    """% of the device's peak that the model's FLOPs would be in a step of one second."""
    return 100 * case.facts["flops"] / device.peak(case.ops[0].dtype)


_shares, predict = rates(whole)


def table(cases: Sequence[Case], timings: Mapping[str, Repeats], device: hardware.Device) -> list[dict]:
    """One row for each batch, with the time of a step and the tokens in a second."""
    times = {name: timed.median for name, timed in timings.items()}
    rows = _shares(cases, timings, device)
    return [row | {"time": times[row["case"]], "rate": row["tokens"] / times[row["case"]]} for row in rows]


def plot(result):
    """Measured and predicted MFU over the tokens of a step."""
    shares = result.measured
    smallest, largest = min(shares.values()), max(shares.values())
    title = say("title", low=quantity(smallest, "%"), high=quantity(largest, "%"))
    return curves(result, x="tokens", title=title, axis=say("axis"), log=(True, False))


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    (
        *quantity_columns(say, "%", tokens="int", flops="int FLOP", per_token="float FLOP", hidden=("tokens",)),
        *fact_columns(say, time="float s", rate="float"),
    ),
    table=table,
    predict=predict,
    quick_seconds=0.2,
)
