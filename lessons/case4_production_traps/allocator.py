"""PyTorch's caching allocator for a GPU, in numbers: what it reserves, and on how large a card a program survives.

The rules of c10/cuda/CUDACachingAllocator.cpp: sizes are rounded to 512 B; up to 1 MiB is cut from segments of 2 MiB,
less than 10 MiB from segments of 20 MiB, more gets a segment of its own size, rounded to 2 MiB. The smallest free block
that is large enough is taken and split; neighbours of one segment that are both free merge; where the card is full, all
segments that are wholly free go back to it, once, before the program fails.
"""

from bisect import insort
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

from course_lib.accounting import models

MIB = 2**20
LENGTHS = tuple(range(128, 1025, 64))  # tokens of the sequences of a step
BATCH = 8
SHUFFLES = range(8)
WORST = 7  # the shuffle of these that needs the largest card; a test looks
POLICIES = {
    "default": {},
    "max_split_size_mb:128": {"split": 128 * MIB},
    "empty_cache() each step": {"empty": True},
    "expandable_segments": {"expandable": True},
}


class CardFullError(MemoryError):
    """The card has no room, even without all that was cached."""


class Caching:
    """An allocator. capacity: bytes of the card. split: blocks of so many bytes or more are not split. expandable: one
    segment that grows by pages of 2 MiB, where any hole serves (PyTorch maps 20 MiB, and keeps holes until the card is
    full). Bytes now, and their peaks: allocated, reserved. calls: segments asked for.
    """

    def __init__(self, capacity: float = float("inf"), split: float = float("inf"), expandable: bool = False):
        self.capacity, self.split, self.expandable = capacity, split, expandable
        self.free: list[tuple[int, bool, int, int]] = []  # (size, small, segment, offset), sorted
        self.segments: dict[int, int] = {}
        self.allocated = self.reserved = self.most_allocated = self.most_reserved = self.calls = 0

    def malloc(self, nbytes: int) -> tuple:
        """A block, to be given to `release`. CardFullError where the card has no room."""
        size = -(-nbytes // 512) * 512
        small = size <= MIB
        if self.expandable and not small:
            block = (self._pages(size), False, 0, 0)
        else:
            block = self._fitting(size, small) or self._segment(size, small)
            block = self._cut(block, size)
        self.allocated += size
        self.most_allocated = max(self.most_allocated, self.allocated)
        return (*block, size)

    def release(self, block: tuple) -> None:
        """The block is free, and one with its free neighbours; the card gets nothing back."""
        size, small, segment, offset, used = block
        self.allocated -= used
        if segment == 0:
            self.paged -= size
            return
        for other in [free for free in self.free if free[2] == segment]:
            if other[3] + other[0] == offset or offset + size == other[3]:
                self.free.remove(other)
                offset, size = min(offset, other[3]), size + other[0]
        insort(self.free, (size, small, segment, offset))

    def empty_cache(self) -> None:
        """Segments that are wholly free go back to the card."""
        for block in [free for free in self.free if self.segments[free[2]] == free[0]]:
            self.free.remove(block)
            self.reserved -= self.segments.pop(block[2])
        if self.expandable:
            self.reserved = sum(self.segments.values()) + self.paged

    paged = 0  # bytes in pages that are in use, where segments expand

    def _pages(self, size: int) -> int:
        """Pages are mapped one by one, so no hole is too small: reserved is what was ever in use at once."""
        size = -(-size // (2 * MIB)) * 2 * MIB
        self.paged += size
        more = self.paged + sum(self.segments.values()) - self.reserved
        if more > 0:
            self._reserve(more)
        return size

    def _fitting(self, size: int, small: bool):
        for place, (held, of_small, _, _) in enumerate(self.free):
            if of_small != small or held < size:
                continue
            if not small and (size < self.split <= held or (size >= self.split and held >= size + 20 * MIB)):
                continue
            return self.free.pop(place)
        return None

    def _segment(self, size: int, small: bool):
        whole = 2 * MIB if small else 20 * MIB if size < 10 * MIB else -(-size // (2 * MIB)) * 2 * MIB
        self._reserve(whole)
        self.segments[self.calls] = whole
        return (whole, small, self.calls, 0)

    def _reserve(self, nbytes: int) -> None:
        if self.reserved + nbytes > self.capacity:
            self.empty_cache()
        if self.reserved + nbytes > self.capacity:
            raise CardFullError(f"{self.reserved} bytes are reserved, and {nbytes} more do not fit.")
        self.calls += 1
        self.reserved += nbytes
        self.most_reserved = max(self.most_reserved, self.reserved)

    def _cut(self, block, size: int):
        held, small, segment, offset = block
        rest = held - size
        if rest < 512 if small else (rest <= MIB or held >= self.split):
            return block
        insort(self.free, (rest, small, segment, offset + size))
        return (size, small, segment, offset)


def order(name: str, seed: int = 0) -> tuple[int, ...]:
    """The lengths of fifteen steps."""
    if name == "shuffled":
        return tuple(Random(seed).sample(LENGTHS, len(LENGTHS)))
    return LENGTHS if name == "ascending" else LENGTHS[::-1]


@cache
def _state() -> tuple[int, ...]:
    """Bytes of GPT-2's weights, gradients and Adam's moments in fp32, as 72 equal tensors."""
    each = 16 * int(models.load("gpt2").parameters()) // 72
    return (each,) * 72


def step(allocator: Caching, tokens: int, keep: int = 0) -> None:
    """A training step of GPT-2 small, 8 sequences of so many tokens, in fp32: tensors of a block are kept from forward
    to backward, scores and one copy of the logits are not. keep: bytes allocated between the two that stay for ever.
    """
    model = models.load("gpt2")
    x, kept = BATCH * tokens * model.d_model * 4, []
    for _ in range(model.layers):
        kept += [allocator.malloc(times * x) for times in (1, 3, 1, 1, 1, 4, 4, 1)]
        allocator.release(allocator.malloc(BATCH * model.heads * tokens**2 * 4))
    logits, probabilities = (allocator.malloc(BATCH * tokens * model.vocab * 4) for _ in range(2))
    allocator.release(logits)
    if keep:
        allocator.malloc(keep)
    for block in reversed(kept):
        gradient = allocator.malloc(block[-1])
        allocator.release(block)
        allocator.release(gradient)
    allocator.release(probabilities)


@dataclass(frozen=True)
class Run:
    """Bytes after each step, peaks in bytes, calls to the driver for memory; failed: the step that did not fit."""

    reserved: tuple[int, ...]
    peaks: tuple[int, ...]
    most_allocated: int
    most_reserved: int
    calls: int
    failed: int | None


@cache
def train(lengths: tuple[int, ...], policy: str = "default", capacity: float = float("inf"), keep: int = 0) -> Run:
    """Steps of these lengths after each other. keep: bytes that each step leaves behind."""
    how = POLICIES[policy]
    allocator = Caching(capacity, how.get("split", float("inf")), how.get("expandable", False))
    reserved, peaks, failed = [], [], None
    try:
        for nbytes in _state():
            allocator.malloc(nbytes)
        for number, tokens in enumerate(lengths):
            failed, allocator.most_allocated = number, allocator.allocated
            step(allocator, tokens, keep)
            if how.get("empty"):
                allocator.empty_cache()
            reserved.append(allocator.reserved)
            peaks.append(allocator.most_allocated)
        failed = None
    except CardFullError:
        pass
    return Run(
        tuple(reserved),
        tuple(peaks),
        max(peaks, default=allocator.most_allocated),
        allocator.most_reserved,
        allocator.calls,
        failed,
    )


def smallest(survives: Callable[[int], bool], low: int, high: int, step: int) -> int:
    """The least of low, low + step, … up to high or one more that survives, by halving: what survives on a card is taken
    to survive on a larger one.
    """
    places = range(low, high + step, step)
    first, last = 0, len(places) - 1
    while first < last:
        middle = (first + last) // 2
        first, last = (first, middle) if survives(places[middle]) else (middle + 1, last)
    return places[first]


@cache
def smallest_card(lengths: tuple[int, ...], policy: str = "default", keep: int = 0) -> int:
    """Bytes of the smallest card on which the steps run to their end, to 16 MiB."""
    free = train(lengths, policy, keep=keep)
    return smallest(
        lambda capacity: train(lengths, policy, capacity, keep).failed is None,
        free.most_allocated,
        free.most_reserved,
        16 * MIB,
    )


def by_order() -> dict[str, tuple[float, float]]:
    """Order of the lengths -> reserved bytes without a limit, and smallest card, both over the peak of allocated ones."""
    named = {name: order(name) for name in ("ascending", "descending")}
    named |= {f"shuffle {seed}": order("shuffled", seed) for seed in SHUFFLES}
    found = {}
    for name, lengths in named.items():
        run = train(lengths)
        found[name] = (run.most_reserved / run.most_allocated, smallest_card(lengths) / run.most_allocated)
    return found


def simulate(events: Iterable[int], allocator: Caching) -> Sequence[tuple]:
    """+n allocates n bytes and gives them the next number; −k releases allocation k (1, 2, …). The blocks."""
    blocks = []
    for event in events:
        if event > 0:
            blocks.append(allocator.malloc(event))
        else:
            allocator.release(blocks[-event - 1])
    return blocks
