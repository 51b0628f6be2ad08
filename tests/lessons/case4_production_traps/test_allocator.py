"""The allocator against cases worked out by hand from PyTorch's rules, a map of bytes, and scanning."""

import random

import pytest

from course_lib.accounting import models
from course_lib.units.case4_production_traps import allocator
from course_lib.units.case4_production_traps.allocator import MIB, Caching


def test_segments_are_those_of_the_rules():
    """512 B a rounding; 2 MiB for small ones, 20 MiB below 10 MiB, else its own size in steps of 2 MiB."""
    for nbytes, segment in [(1, 2), (MIB, 2), (MIB + 1, 20), (10 * MIB - 512, 20), (10 * MIB, 10), (10 * MIB + 1, 12)]:
        cache = Caching()
        cache.malloc(nbytes)
        assert cache.reserved == segment * MIB
        assert cache.allocated == -(-nbytes // 512) * 512


def test_freed_blocks_are_used_split_and_merged():
    cache = Caching()
    blocks = allocator.simulate([100 * MIB], cache)
    cache.release(blocks[0])
    first, second = allocator.simulate([40 * MIB, 60 * MIB], cache)
    assert cache.reserved == 100 * MIB  # both out of the one freed block
    cache.release(first)
    cache.release(second)
    cache.malloc(100 * MIB)  # merged again
    assert (cache.reserved, cache.calls) == (100 * MIB, 1)


def test_two_holes_are_no_large_one():
    cache = Caching()
    allocator.simulate([30 * MIB, 30 * MIB, 30 * MIB, -1, -3, 50 * MIB], cache)
    assert (cache.reserved, cache.calls) == (140 * MIB, 4)


def test_the_smallest_block_that_fits():
    cache = Caching()
    allocator.simulate([60 * MIB, 20 * MIB, 40 * MIB, -1, -2, -3, 15 * MIB, 38 * MIB, 55 * MIB], cache)
    assert cache.reserved == 120 * MIB


def test_a_full_card_first_gives_back_what_is_wholly_free():
    cache = Caching(capacity=150 * MIB)
    cache.release(cache.malloc(100 * MIB))
    cache.malloc(120 * MIB)
    assert cache.reserved == 120 * MIB
    with pytest.raises(allocator.CardFullError, match="more do not fit"):
        cache.malloc(40 * MIB)


def test_a_block_that_is_not_split_keeps_its_size():
    cache = Caching(split=128 * MIB)
    cache.release(cache.malloc(200 * MIB))
    cache.malloc(50 * MIB)  # may not cut the large one
    assert cache.reserved == 250 * MIB
    cache.malloc(190 * MIB)  # within 20 MiB of it
    assert cache.reserved == 250 * MIB
    other = Caching(split=128 * MIB)
    other.release(other.malloc(200 * MIB))
    other.malloc(179 * MIB)  # more than 20 MiB smaller: a segment of its own, of 180
    assert other.reserved == 380 * MIB


@pytest.mark.parametrize("seed", range(8))
def test_a_map_of_bytes_agrees(seed):
    """Large blocks only: a slow allocator that marks every 64 KiB of every segment, and looks for the smallest run that
    fits, cut where more than 1 MiB would be left.
    """
    rng, cache, unit = random.Random(seed), Caching(), 64 * 1024
    segments, live, mine = [], [], []  # segments: lists of owners, one a unit
    for number in range(120):
        if live and rng.random() < 0.48:
            k = rng.randrange(len(live))
            cache.release(live.pop(k))
            gone = mine.pop(k)
            segments = [[None if owner == gone else owner for owner in segment] for segment in segments]
            continue
        size = rng.randrange(10 * MIB, 60 * MIB) // unit
        live.append(cache.malloc(size * unit))
        mine.append(number)
        runs = []
        for place, segment in enumerate(segments):
            begin = 0
            while begin < len(segment):
                end = begin
                while end < len(segment) and segment[end] == segment[begin]:
                    end += 1
                if segment[begin] is None and end - begin >= size:
                    runs.append((end - begin, place, begin))
                begin = end
        if runs:
            length, place, begin = min(runs)
            take = size if (length - size) * unit > MIB else length
            segments[place][begin : begin + take] = [number] * take
        else:
            whole = -(-size * unit // (2 * MIB)) * 2 * MIB // unit
            take = size if (whole - size) * unit > MIB else whole
            segments.append([number] * take + [None] * (whole - take))
        assert cache.reserved == sum(map(len, segments)) * unit
    assert cache.calls == len(segments)


def test_a_step_allocates_what_a_tally_says():
    """Peak of a step: state, kept tensors of twelve blocks, both copies of the logits."""
    model, tokens = models.load("gpt2"), 1024
    run = allocator.train((tokens,))
    state = 72 * -(-(16 * int(model.parameters()) // 72) // 512) * 512
    x = 8 * tokens * 768 * 4
    assert run.most_allocated == state + 12 * 16 * x + 2 * 8 * tokens * 50257 * 4


@pytest.mark.parametrize("policy", allocator.POLICIES)
def test_the_smallest_card_is_the_smallest_by_scanning(policy):
    """From what is allocated upwards in steps: the first that survives is the one that halving finds."""
    lengths = allocator.order("shuffled", allocator.WORST)[:6]
    found = allocator.smallest_card(lengths, policy)
    low = allocator.train(lengths, policy).most_allocated
    sizes = range(low, found + 1, 16 * MIB)
    survived = [size for size in sizes if allocator.train(lengths, policy, size).failed is None]
    assert survived[0] == found
    assert allocator.train(lengths, policy, low - 512).failed is not None


def test_no_policy_needs_less_than_what_is_allocated_and_expandable_needs_only_its_pages():
    for name in ("ascending", "descending"):
        lengths = allocator.order(name)
        free = allocator.train(lengths).most_allocated
        needs = {policy: allocator.smallest_card(lengths, policy) for policy in allocator.POLICIES}
        assert min(needs.values()) >= free
        assert needs["expandable_segments"] == min(needs.values())


def test_the_worst_shuffle_is_the_one_that_the_lesson_names():
    needs = {seed: allocator.smallest_card(allocator.order("shuffled", seed)) for seed in allocator.SHUFFLES}
    assert max(needs, key=needs.get) == allocator.WORST


def test_the_order_that_reserves_most_does_not_need_the_largest_card():
    orders = allocator.by_order()
    assert max(orders, key=lambda name: orders[name][0]) == "ascending"
    assert orders["ascending"][0] > 3
    assert orders["ascending"][1] < 1.06
    assert orders["descending"][1] < 1.02 < 1.15 < orders[f"shuffle {allocator.WORST}"][1] < 1.2
