"""What runs on another machine: which kernel a package holds for it, and how long a tuned choice stays the best."""

import warnings
from collections.abc import Callable, Sequence


def version(text: str) -> tuple[int, int]:
    """ "8.6" -> (8, 6): the compute capability of a GPU. As text, or as a float, 10.0 would come before 9.0, or 12.10
    before 12.2.
    """
    major, minor = text.split(".")
    return int(major), int(minor)


def pick_kernel(device: str, binaries: Sequence[str], ptx: Sequence[str]) -> str | None:
    """What a CUDA program starts on a device, "binary 8.0" or "ptx 8.0", or None: it does not start.

    A binary runs on devices of its own major version, from its own minor version on; PTX is compiled there for every
    device from its version on. The newest that runs is taken, a binary before PTX. Source: CUDA C++ Programming Guide,
    "Binary Compatibility" and "PTX Compatibility". Left out: versions with a letter: 9.0a runs nowhere else, 10.0f only in its family.
    """
    here = version(device)
    runs = [built for built in binaries if version(built)[0] == here[0] and version(built) <= here]
    if runs:
        return f"binary {max(runs, key=version)}"
    runs = [built for built in ptx if version(built) <= here]
    return f"ptx {max(runs, key=version)}" if runs else None


TILES = ("16 × 16", "64 × 64", "128 × 128")


def tiled(tile: str, rows: int, columns: int = 4096, processors: int = 80) -> float:
    """Time of a matrix product, by a model of why no tile is best for all sizes: rounds of tiles on all processors, each
    as long as its start (1) and its arithmetic (area/256) or its reading (side/4), whichever is longer.
    """
    side = int(tile.split()[0])
    tiles = -(-rows // side) * -(-columns // side)
    return -(-tiles // processors) * (1 + max(side * side / 256, side / 4))


class Autotuned:
    """A kernel that tries its configurations the first time that a key is new, and then takes the best one from then.

    configs: names; cost(config, **arguments): its time; key: the arguments whose values decide whether it is tried anew.
    """

    def __init__(self, configs: Sequence[str], cost: Callable[..., float], key: Sequence[str]):
        self.configs, self.cost, self.key, self.best, self.tries = configs, cost, key, {}, 0

    def __call__(self, **arguments) -> float:
        """Time of a call with the chosen configuration; tries are counted beside."""
        key = tuple(arguments[name] for name in self.key)
        if key not in self.best:
            self.tries += len(self.configs)
            self.best[key] = min(self.configs, key=lambda config: self.cost(config, **arguments))
        return self.cost(self.best[key], **arguments)


def traced(torch, function: Callable, example):
    """The function as torch.jit.trace follows it with the example; that it is deprecated, and freezes, is not said."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.trace(function, example)


class Graph:
    """A recorded row of calls that read and write the same memory at each replay, as a CUDA graph does."""

    def __init__(self):
        self.calls = []

    def add(self, out: list, function: Callable, *operands: list) -> None:
        """Record out[:] = function of the operands, element by element, and run it once."""
        self.calls.append((out, function, operands))
        out[:] = map(function, *operands)

    def replay(self) -> None:
        for out, function, operands in self.calls:
            out[:] = map(function, *operands)


def reuse(recorded: bool, copy: float, reader: float) -> str:
    """What a kernel on a second stream reads of a buffer that the first stream has freed and fills again.

    copy: time until the refill is written; reader: time at which the second stream reads. recorded: record_stream told
    the allocator of the second stream, which then hands the block out again only after the reader. "old" is right.
    """
    refilled_at = max(copy, reader) if recorded else copy
    return "old" if reader <= refilled_at else "new"
