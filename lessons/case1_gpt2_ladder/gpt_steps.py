"""Training steps of a small GPT-2 for this unit's experiments, each built with one thing changed."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from course_lib.accounting import flops, hardware, models
from course_lib.experiments.nets import tiny_gpt


@dataclass(frozen=True)
class Step:
    """A training step: a GPT-2, how many sequences of how many tokens, and how it is done.

    optimizer: AdamW "fused" as one pass, as a "loop" over tensors, call by call, or "foreach". autocast: the forward
    pass to bf16.
    """

    model: models.Transformer
    seq: int
    batch: int = 1
    attention: str = "sdpa"
    optimizer: str = "fused"
    recompute: str = "none"
    autocast: bool = False

    def but(self, **changed) -> "Step":
        return replace(self, **changed)

    @property
    def flops(self) -> int:
        """FLOP of the model without what is recomputed; all T² pairs of attention, as is usual for utilisation."""
        return flops.training_step(self.model, self.batch, self.seq).total

    @property
    def factor(self) -> float:
        """Work with what is recomputed over work without."""
        return flops.training_step(self.model, self.batch, self.seq, recompute=self.recompute).total / self.flops

    def build(self, bench, prepare: Callable = lambda net: None) -> Callable[[], object]:
        """The function that takes one step, on tokens that stay the same. prepare: is given the network first."""
        net = tiny_gpt.build(bench, self.model, self.attention, self.recompute)
        prepare(net)
        kind = {name: name == self.optimizer for name in ("fused", "foreach")}
        optimizer = bench.torch.optim.AdamW(net.parameters(), lr=1e-4, **kind)
        tokens = tiny_gpt.tokens(bench, self.model, self.batch, self.seq)
        return lambda: tiny_gpt.training_step(net, optimizer, tokens, autocast=self.autocast)


def start(device: hardware.Device) -> Step:
    """The foot of the ladder: eager attention, AdamW in a loop. A processor gets two layers of width 128."""
    if device.kind == "cpu":
        return Step(tiny_gpt.describe(2, 128, 4, 2048, 1024), 1024, attention="eager", optimizer="loop")
    return Step(tiny_gpt.describe(12, 768, 12, 50257, 1024), 1024, batch=4, attention="eager", optimizer="loop")
