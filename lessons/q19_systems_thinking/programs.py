"""Five training loops that are the same but for one fault each, and what a remedy for each fault gives."""

import gc
import time
from dataclasses import dataclass, replace

BATCH, WIDTH, INPUTS, CLASSES = 128, 512, 256, 10
PHASES = ("load", "forward", "backward", "optimizer", "after")


@dataclass(frozen=True)
class Program:
    """A loop over batches of 128, in turn. load: how long, in times of a healthy forward and backward pass."""

    load: float = 0.1
    pieces: int = 1  # each with an optimizer step of its own
    wide: bool = False  # fp64
    validates: int = 0  # forward passes over the batch after each step
    keeps: bool = False  # a list of the first layer's outputs


PROGRAMS = {
    "A": Program(validates=4),
    "B": Program(pieces=16),
    "C": Program(load=3.0),
    "D": Program(keeps=True),
    "E": Program(wide=True),
}
CURES = {
    "input ready": {"load": 0.0},
    "whole batch": {"pieces": 1},
    "fp32": {"wide": False},
    "nothing after": {"validates": 0},
}
RIGHT = {"A": "nothing after", "B": "whole batch", "C": "input ready", "D": "not in time", "E": "fp32"}


def cured(program: Program, cure: str) -> Program:
    return replace(program, **CURES[cure])


class Loop:
    """One program on one thread; `alone` is the s of a healthy forward and backward pass, by which inputs are timed."""

    def __init__(self, torch, program: Program, alone: float = 0.0):
        self.torch, self.program, self.alone = torch, program, alone
        dtype = torch.float64 if program.wide else torch.float32
        draw = torch.Generator().manual_seed(0)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            layers = [torch.nn.Linear(a, b) for a, b in ((INPUTS, WIDTH), (WIDTH, WIDTH), (WIDTH, CLASSES))]
        self.first = torch.nn.Sequential(layers[0], torch.nn.ReLU()).to(dtype)
        self.rest = torch.nn.Sequential(layers[1], torch.nn.ReLU(), layers[2]).to(dtype)
        self.weights = [*self.first.parameters(), *self.rest.parameters()]
        self.optimizer = torch.optim.SGD(self.weights, lr=0.01)
        self.x = torch.randn(BATCH, INPUTS, generator=draw).to(dtype)
        self.y = torch.randint(0, CLASSES, (BATCH,), generator=draw)
        self.kept = []

    def step(self) -> dict[str, float]:
        """s of each phase."""
        torch, program, found = self.torch, self.program, dict.fromkeys(PHASES, 0.0)
        last = time.perf_counter()

        def lap(phase):
            nonlocal last
            now = time.perf_counter()
            found[phase] += now - last
            last = now

        if program.load:
            time.sleep(program.load * self.alone)
        lap("load")
        size = BATCH // program.pieces
        for x, y in zip(self.x.split(size), self.y.split(size), strict=True):
            hidden = self.first(x)
            loss = torch.nn.functional.cross_entropy(self.rest(hidden), y)
            lap("forward")
            self.optimizer.zero_grad()
            loss.backward()
            lap("backward")
            self.optimizer.step()
            lap("optimizer")
        with torch.no_grad():
            for _ in range(program.validates):
                self.rest(self.first(self.x))
        if program.keeps:
            self.kept.append(hidden.detach())
        lap("after")
        return found

    def steps(self, count: int) -> dict[str, float]:
        """Of the fastest step of `count`, after one that is not counted: what else runs can only lengthen one."""
        self.step()
        return min((self.step() for _ in range(count)), key=lambda found: sum(found.values()))


def together(loops: dict, count: int) -> dict[str, dict[str, float]]:
    """Of each loop the fastest of `count` steps, in rounds of one step each: what disturbs a round disturbs all alike."""
    for loop in loops.values():
        loop.step()
    rounds = [{name: loop.step() for name, loop in loops.items()} for _ in range(count)]
    return {name: min((found[name] for found in rounds), key=lambda found: sum(found.values())) for name in loops}


def alone(torch, count: int = 5) -> float:
    """s of a healthy forward and backward pass."""
    found = Loop(torch, Program(load=0.0)).steps(count)
    return found["forward"] + found["backward"]


def kept(torch, program: Program, steps: int = 4) -> float:
    """Bytes of tensors that a step leaves behind, counted over all live ones that are younger than the loop."""
    loop = Loop(torch, program)
    gc.freeze()  # what is there already is looked through neither time: that took most of it, for all that is imported
    try:
        loop.step()
        before = _live(torch)
        for _ in range(steps):
            loop.step()
        return (_live(torch) - before) / steps
    finally:
        gc.unfreeze()


def _live(torch) -> int:
    gc.collect()
    tensors = [thing for thing in gc.get_objects() if type(thing) in (torch.Tensor, torch.nn.Parameter)]
    storages = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in tensors}
    return sum(storages.values())
