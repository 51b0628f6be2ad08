"""The peak of allocated memory in a real training step of a small GPT-2, with one strategy changed at a time."""

from dataclasses import dataclass, replace

from course_lib.accounting import hardware, memory, precision
from course_lib.experiments.nets import tiny_gpt
from course_lib.experiments.running import allocation
from course_lib.experiments.running.bench import Bench
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.figures.tabular import quantity
from course_lib.words import words

say = words(__file__)


@dataclass(frozen=True)
class Setting:
    """How a model is trained; the fields are the arguments of `memory.training_peak`."""

    batch: int
    seq: int
    precision: str = "fp32"
    attention: str = "eager"
    recompute: str = "none"
    optimizer: str = "adamw"

    @property
    def autocast(self) -> bool:
        return self.precision == "amp-bf16"

    def __str__(self):
        more = [self.precision] if self.precision != "fp32" else []
        more += [self.attention, *(["recompute every block"] if self.recompute == "full" else []), self.optimizer]
        return f"{self.batch} × {self.seq} tokens, {', '.join(more)}"


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Batches of 1 to 8 with AdamW, fp32 and eager attention; then the largest with one thing changed.

    Full also has 16 sequences.
    """
    if device.kind == "cpu":
        model, seq = tiny_gpt.describe(layers=4, d_model=128, heads=4, vocab=1024, context=256), 128
    else:
        model, seq = tiny_gpt.describe(layers=12, d_model=768, heads=12, vocab=50257, context=1024), 512
    one, base = Setting(1, seq), Setting(8, seq)
    settings = {
        "batch 1": one,
        "batch 1, SGD": replace(one, optimizer="sgd"),
        "batch 2": replace(one, batch=2),
        "batch 4": replace(one, batch=4),
        "batch 8": base,
        "batch 4, twice as long": Setting(4, 2 * seq),
        "batch 4, twice as long, SDPA": Setting(4, 2 * seq, attention="sdpa"),
        "batch 8, autocast to bf16": replace(base, precision="amp-bf16"),
        "batch 8, all in bf16": replace(base, precision="bf16"),
        "batch 8, recompute every block": replace(base, recompute="full"),
    }
    if not quick:
        settings["batch 16"] = Setting(16, seq)
    return tuple(_case(name, model, setting) for name, setting in settings.items())


def _case(name: str, model, setting: Setting) -> Case:
    return Case(
        name,
        str(setting),
        observe=lambda bench, seconds: [peak(bench, model, setting)],
        expect=lambda device: float(int(predicted_peak(model, setting, device))),
        facts={"weights": precision.nbytes(int(model.parameters()), "bf16" if setting.precision == "bf16" else "fp32")},
    )


def predicted_peak(model, setting: Setting, device: hardware.Device) -> memory.Peak:
    """What `accounting` says; on a GPU AdamW updates all tensors at once, which is PyTorch's default there."""
    return memory.training_peak(model, foreach=device.kind == "gpu", **vars(setting))


def peak(bench: Bench, model, setting: Setting) -> int:
    """Bytes allocated at the worst instant of the second training step, in which the optimizer's state exists."""
    net, optimizer = trained(bench, model, setting)
    tokens = tiny_gpt.tokens(bench, model, setting.batch, setting.seq)

    tiny_gpt.training_step(net, optimizer, tokens[:1, :2])  # makes the optimizer's state
    optimizer.zero_grad(set_to_none=True)
    lasting = allocation.bytes_of([*allocation.state_of(net, optimizer), tokens])
    return lasting + allocation.rise(bench, lambda: tiny_gpt.training_step(net, optimizer, tokens, setting.autocast))


def trained(bench: Bench, model, setting: Setting):
    """(net, optimizer) for this setting."""
    net = tiny_gpt.build(
        bench, model, setting.attention, setting.recompute, "bf16" if setting.precision == "bf16" else "fp32"
    )
    optimizers = {"adamw": bench.torch.optim.AdamW, "sgd": bench.torch.optim.SGD}
    return net, optimizers[setting.optimizer](net.parameters(), lr=1e-3, foreach=bench.on == "cuda")


def plot(result):
    peaks = result.measured
    title = say("title", "plain")
    if {"batch 1", "batch 8"} <= set(peaks):
        weights = result["batch 8"]["weights"]
        title = say(
            "title",
            "found",
            weights=quantity(weights, "B"),
            one=quantity(peaks["batch 1"], "B"),
            eight=quantity(peaks["batch 8"], "B"),
        )
    return dots(result, title=title, axis=say("axis"))


EXPERIMENT = Experiment(say, cases, plot, quantity_columns(say, "B", weights="int B"), timed=False)
