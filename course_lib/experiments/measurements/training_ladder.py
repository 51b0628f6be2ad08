"""A GPT-2 training step, made faster rung by rung: tokens a second, and the peak of allocated memory beside them.

Predicted are the tokens a second at which the matrix products alone would run at the peak of their format, so that
measured / predicted is the share of the peak that a rung uses (its MFU; with checkpointing its HFU). The peak of memory
is predicted by `memory.training_peak`.
"""

from dataclasses import dataclass, replace

from course_lib.accounting import flops, hardware, memory
from course_lib.experiments.nets import tiny_gpt
from course_lib.experiments.running import allocation, timing
from course_lib.experiments.running.compiling import compiling
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.words import words

say = words(__file__)

WARM_UP = 2  # steps before anything is measured: the optimizer's state exists, kernels are chosen


@dataclass(frozen=True)
class Rung:
    """How a step is done. products: the format that matrix products of fp32 tensors run in. autocast: to bf16."""

    batch: int
    products: str = "fp32"
    autocast: bool = False
    attention: str = "eager"
    recompute: str = "none"
    compiled: bool = False

    @property
    def format(self) -> str:
        return "bf16" if self.autocast else self.products

    def __str__(self):
        parts = ["autocast to bf16" if self.autocast else self.products, self.attention, f"batch {self.batch}"]
        parts += ["recompute every block"] if self.recompute == "full" else []
        return ", ".join(parts + ["compiled blocks"] * self.compiled)


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Each rung keeps what the one before it has, but checkpointing, which stands beside compiled blocks: both start
    from the larger batch. A GPU adds TF32, and full compiled blocks there.
    """
    if device.kind == "cpu":
        model, seq, batch = tiny_gpt.describe(layers=2, d_model=128, heads=4, vocab=512, context=64), 64, 2
    else:
        model, seq, batch = tiny_gpt.describe(layers=12, d_model=768, heads=12, vocab=50257, context=1024), 1024, 4
    base = Rung(batch)
    rungs = {"eager fp32": base}
    if device.kind == "gpu":
        rungs["TF32"] = base = replace(base, products="tf32")
    rungs["autocast"] = base = replace(base, autocast=True)
    rungs["SDPA"] = base = replace(base, attention="sdpa")
    rungs["larger batch"] = base = replace(base, batch=4 * batch)
    rungs["checkpointing"] = replace(base, recompute="full")
    if device.kind == "gpu" and not quick:
        rungs["compiled blocks"] = replace(base, compiled=True)
    return tuple(_case(name, model, seq, rung, device) for name, rung in rungs.items())


def _case(name: str, model, seq: int, rung: Rung, device: hardware.Device) -> Case:
    peak = memory.training_peak(
        model,
        rung.batch,
        seq,
        precision="amp-bf16" if rung.autocast else "fp32",
        attention=rung.attention,
        recompute=rung.recompute,
        foreach=device.kind == "gpu",
    )
    work = int(flops.training_step(model, rung.batch, seq, recompute=rung.recompute))
    facts = {"peak_predicted": float(int(peak)), "peak": None}  # the measured peak is filled in by `observe`

    def observe(bench, seconds: float) -> list[float]:
        step_seconds, facts["peak"] = measure(bench, model, seq, rung, seconds)
        return [rung.batch * seq / second for second in step_seconds]

    def expect(device: hardware.Device) -> float | None:
        return rung.batch * seq * device.peak(rung.format) / work if rung.format in device.peaks else None

    return Case(name, say("calls", "rung", rung=rung, seq=seq), observe=observe, expect=expect, facts=facts)


def measure(bench, model, seq: int, rung: Rung, seconds: float) -> tuple[tuple[float, ...], float]:
    """(seconds of every timed step, bytes at the worst instant of a step)."""
    torch = bench.torch
    net = tiny_gpt.build(bench, model, rung.attention, rung.recompute)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4, foreach=bench.on == "cuda")
    tokens = tiny_gpt.tokens(bench, model, rung.batch, seq)

    def step():
        return tiny_gpt.training_step(net, optimizer, tokens, autocast=rung.autocast)

    with timing.fp32_products(torch, rung.products):
        if rung.compiled:
            with compiling(bench):
                for block in net.h:
                    block.compile(dynamic=False)
                step()
        for _ in range(WARM_UP):
            step()
        optimizer.zero_grad(set_to_none=True)
        lasting = allocation.bytes_of([*allocation.state_of(net, optimizer), tokens])
        peak = float(lasting + allocation.rise(bench, step))
        return timing.measure_whole(step, seconds=seconds, at_least=3).values, peak


def plot(result):
    rates = result.measured
    best = max(rates, key=rates.get)
    title = say("title", "plain")
    if "eager fp32" in rates:
        title = say("title", "found", best=best, factor=rates[best] / rates["eager fp32"])
    return dots(result, title=title, axis=say("axis"))


EXPERIMENT = Experiment(
    say, cases, plot, quantity_columns(say, "", peak_predicted="float B", peak="float? B"), full_seconds=1.5
)
