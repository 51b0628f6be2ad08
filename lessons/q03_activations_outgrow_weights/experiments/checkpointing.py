"""Recomputing every block in the backward pass: how much memory it saves, and how much time it costs."""

from collections.abc import Mapping, Sequence

from course_lib.accounting import flops, hardware
from course_lib.experiments.measurements import training_memory
from course_lib.experiments.measurements.training_memory import Setting
from course_lib.experiments.nets import tiny_gpt
from course_lib.experiments.running.bench import Bench
from course_lib.experiments.running.experiment import Case, Experiment, main_dtype
from course_lib.experiments.running.rows import fact_columns, quantity_columns, rows_of_quantity
from course_lib.experiments.running.timing import Repeats
from course_lib.figures.charts import curves
from course_lib.words import words

say = words(__file__)

STEP = ", step"  # how the case that is timed is called, after the one whose peak is measured
RECOMPUTE = {"none": "kept", "full": "recomputed"}


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Models of 2, 4 and 8 layers, each with and without recomputation: the peak of a step, and its time.

    Full adds 16 layers.
    """
    cpu = device.kind == "cpu"
    found = []
    for layers in (2, 4, 8) if quick else (2, 4, 8, 16):
        size = {"d_model": 128, "heads": 4, "vocab": 512} if cpu else {"d_model": 1024, "heads": 16, "vocab": 50257}
        model = tiny_gpt.describe(layers=layers, context=1024, **size)
        for recompute, word in RECOMPUTE.items():
            precision = "fp32" if cpu else "amp-bf16"
            setting = Setting(batch=2, seq=128 if cpu else 1024, precision=precision, recompute=recompute)
            found += _pair(f"{layers} layers, {word}", model, setting)
    return tuple(found)


def _pair(name: str, model, setting: Setting) -> tuple[Case, Case]:
    def observe(bench: Bench, seconds: float) -> list[float]:
        return [training_memory.peak(bench, model, setting)]

    def build(bench: Bench):
        net, optimizer = training_memory.trained(bench, model, setting)
        tokens = tiny_gpt.tokens(bench, model, setting.batch, setting.seq)
        return lambda: tiny_gpt.training_step(net, optimizer, tokens, setting.autocast)

    def expected_peak(device: hardware.Device) -> float:
        return float(int(training_memory.predicted_peak(model, setting, device)))

    def expected_seconds(device: hardware.Device) -> float:
        work = flops.training_step(model, batch=setting.batch, seq=setting.seq, recompute=setting.recompute)
        return int(work) / device.peak(main_dtype(device))

    facts = {"layers": model.layers, "activations": RECOMPUTE[setting.recompute]}
    return (
        Case(name, str(setting), observe=observe, expect=expected_peak, facts=facts),
        Case(name + STEP, str(setting), build=build, gradients=True, expect=expected_seconds, facts=facts),
    )


def table(cases: Sequence[Case], timings: Mapping[str, Repeats], device: hardware.Device) -> list[dict]:
    """One row for each model of which both the peak and the time were measured."""
    rows = {row["case"]: row for row in rows_of_quantity(cases, timings, device)}
    return [
        row | {"predicted_step": rows[name + STEP]["predicted"], "step": rows[name + STEP]["measured"]}
        for name, row in rows.items()
        if name + STEP in rows
    ]


def predict(cases: Sequence[Case], device: hardware.Device) -> dict[str, float | None]:
    """case -> predicted peak in bytes, of those cases that have a row."""
    known = {case.name: case for case in cases}
    return {name: case.predict(device) for name, case in known.items() if name + STEP in known}


def plot(result):
    """Measured and predicted peak by number of layers, with and without recomputation."""
    layers = max(row["layers"] for row in result.rows)
    rows = {row["activations"]: row for row in result.rows if row["layers"] == layers}
    title = say("title", "plain")
    if len(rows) == 2:
        kept, recomputed = rows["kept"], rows["recomputed"]
        title = say("title", "found", layers=layers, factor=recomputed["measured"] / kept["measured"])
    return curves(result, x="layers", title=title, axis=say("axis"), by="activations")


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    (
        *quantity_columns(say, "B", layers="int", activations="str"),
        *fact_columns(say, predicted_step="float s", step="float s"),
    ),
    table=table,
    predict=predict,
    quick_seconds=0.1,
)
