"""Every tensor that autograd keeps from one forward pass on the processor, in the order in which it is kept.

    block = ledger.gpt2_block(batch=4, seq=128, d_model=128, heads=4)
    print(block)                # one line for each tensor: who keeps it, its shape, and what it adds
    block.total                 # bytes of distinct storages, without weights

`experiments.run("saved_tensors")` measures the same blocks op by op, against a count by hand.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

from course_lib.accounting import units
from course_lib.experiments.nets import tiny_gpt
from course_lib.experiments.running.bench import Bench
from course_lib.units.q03_activations_outgrow_weights.experiments import saved_tensors
from course_lib.units.q03_activations_outgrow_weights.experiments.saved_tensors import say

SHORT = {"scaled_dot_product_attention": "sdpa"}


@dataclass(frozen=True)
class Entry:
    """A tensor that `function` keeps. nbytes: what it adds to memory; where it adds nothing, `why` says why not."""

    function: str
    shape: tuple[int, ...]
    nbytes: int
    why: str = ""

    def __str__(self):
        shape = "×".join(map(str, self.shape)) or "scalar"
        return f"{self.function:12} {f'[{shape}]':16} {self.why or f'{units.format_exact(self.nbytes)} B':>24}"


@dataclass(frozen=True)
class Ledger:
    """All that a forward pass keeps."""

    entries: tuple[Entry, ...]

    @property
    def total(self) -> int:
        """Bytes of the distinct storages, without weights."""
        return sum(entry.nbytes for entry in self.entries)

    def __str__(self):
        return "\n".join(
            [*map(str, self.entries), f"{say('kept', 'total'):29} {f'{units.format_exact(self.total)} B':>24}"]
        )

    __repr__ = __str__


def of(forward: Callable[[], object], weights: Iterable = ()) -> Ledger:
    """What autograd keeps while `forward()` runs; storages of `weights` add nothing."""
    torch = _bench().torch
    owner = {weight.untyped_storage().data_ptr(): say("kept", "weight") for weight in weights}
    entries, alive = [], []  # alive: so that no storage is freed and another takes its address

    class Calls(torch.overrides.TorchFunctionMode):
        """Knows the torch function that is running."""

        name = ""

        def __torch_function__(self, function, types, args=(), kwargs=None):
            self.name = function.__name__
            return function(*args, **(kwargs or {}))

    calls = Calls()

    def pack(tensor):
        name = SHORT.get(calls.name, calls.name)  # read first: the next line is a torch function too
        storage = tensor.untyped_storage()
        why = owner.get(storage.data_ptr(), "")
        owner.setdefault(storage.data_ptr(), say("kept", "again", first=name))
        entries.append(Entry(name, tuple(tensor.shape), 0 if why else storage.nbytes(), why))
        alive.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor), calls:
        alive.append(forward())
    return Ledger(tuple(entries))


def gpt2_block(batch: int, seq: int, d_model: int, heads: int, attention: str = "eager") -> Ledger:
    """One block of GPT-2 in fp32, as `transformers` writes it, without dropout."""
    model = tiny_gpt.describe(layers=1, d_model=d_model, heads=heads, vocab=16, context=seq)
    return of(*saved_tensors.gpt2_block(_bench(), model, batch, seq, attention))


def resnet_block(batch: int, channels: int, side: int) -> Ledger:
    """One basic block of ResNet in fp32 on images of side × side pixels, with batch norm in training."""
    return of(*saved_tensors.resnet_block(_bench(), batch, channels, side))


@cache
def _bench() -> Bench:
    """The processor, whatever else there is: what a GPU's kernels keep differs in details (masks, seeds)."""
    import torch

    return Bench.on_device(torch, "cpu")
