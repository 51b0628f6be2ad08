"""Claims on trial in Case 4: each function decides one claim by computing it and returns the verdict with its numbers."""

from itertools import product
from math import ceil

from course_lib.accounting import models
from course_lib.teaching.cards.verdict import Verdict, by_cases
from course_lib.units.case4_production_traps import allocator, elsewhere, keeping, replicas, syncing


def s004_044() -> Verdict:
    """The two clocks, step by step, for three pairs and for a grid of them."""

    def ratio(host, device):
        return syncing.pipeline(host, device, 1000, 1) / syncing.pipeline(host, device, 1000)

    tried = [ratio(host, device) for host, device in product((0.02, 0.1, 0.5, 1, 2, 5, 20, 50), repeat=2)]
    found = [ratio(1, 5), ratio(5, 5), ratio(5, 1)]
    return Verdict(by_cases(each > 9 for each in tried), found=found, most=max(tried), tried=len(tried))


def s004_086() -> Verdict:
    """Where reserved is far above allocated, is a card of little more than what is allocated too small? While a program
    runs, and when a request has failed: a card of 3,000 MiB in one segment, every second block of 30 MiB free, 31 asked for.
    """
    found = allocator.by_order()
    worst = max(found.values(), key=lambda each: each[1])
    running = [card > 1.2 for reserved, card in found.values() if reserved > 1.9]
    full = allocator.Caching(capacity=3000 * allocator.MIB)
    full.release(full.malloc(3000 * allocator.MIB))
    blocks = [full.malloc(30 * allocator.MIB) for _ in range(100)]
    for block in blocks[::2]:
        full.release(block)
    try:
        full.malloc(31 * allocator.MIB)
        failed = False
    except allocator.CardFullError:
        failed = full.reserved > 1.9 * full.allocated
    holes = [nbytes // allocator.MIB for nbytes in (full.allocated, full.reserved)]
    return Verdict(by_cases([*running, failed]), rising=found["ascending"], worst=worst, holes=holes)


def s004_042() -> Verdict:
    gain = {
        name: (copy + 1) / max(copy, 1) for name, copy in {"tenth": 0.1, "half": 0.5, "equal": 1, "tenfold": 10}.items()
    }
    return Verdict(by_cases(1.5 <= each <= 2 for each in gain.values()), gain=gain)


def s004_045() -> Verdict:
    """What is left after the steps, in MB, measured."""
    import torch

    from course_lib.experiments.running import allocation

    left = {
        habit: sum(allocation.changes(torch, keeping.keep(torch, habit)))
        for habit in ("graph", "after-backward", "detach")
    }
    ruling = by_cases(left[habit] < 10 * left["detach"] for habit in ("graph", "after-backward"))
    graph, after, detached = (nbytes / 1e6 for nbytes in left.values())
    return Verdict(ruling, graph=graph, after=after, detached=detached, steps=keeping.STEPS)


def s004_084() -> Verdict:
    """Tiles of 128 × 128 of a product with 1,280 columns, on 80 SMs: one sample and 32, by rows a sample."""
    busy = {rows: tuple(min(80, ceil(n * rows / 128) * (1280 // 128)) for n in (1, 32)) for rows in (1, 49, 196)}
    return Verdict(by_cases(many >= 7 * one for one, many in busy.values()), busy=busy)


def _need(lengths, policy="default") -> float:
    return allocator.smallest_card(lengths, policy) / allocator.train(lengths, policy).most_allocated


def s004_087() -> Verdict:
    """Is a smaller card enough, with no more requests to the driver?"""
    worst, rising, often = (
        allocator.order("shuffled", allocator.WORST),
        allocator.order("ascending"),
        "empty_cache() each step",
    )
    card, climb = ([_need(lengths, policy) for policy in ("default", often)] for lengths in (worst, rising))
    calls = [allocator.train(worst, policy).calls for policy in ("default", often)]
    ruling = by_cases([card[1] < 0.95 * card[0], climb[1] < 0.95 * climb[0], calls[1] <= calls[0]])
    return Verdict(ruling, card=card, rising=climb, calls=calls)


def s004_088() -> Verdict:
    worst, falling, option = (
        allocator.order("shuffled", allocator.WORST),
        allocator.order("descending"),
        "max_split_size_mb:128",
    )
    card, fall = ([_need(lengths, policy) for policy in ("default", option)] for lengths in (worst, falling))
    runs = [allocator.train(worst, policy) for policy in ("default", option)]
    ruling = by_cases([card[1] < 0.99 * card[0], fall[1] < 0.99 * fall[0]])
    return Verdict(
        ruling,
        card=card,
        falling=fall,
        reserved=[run.most_reserved / run.most_allocated for run in runs],
        expandable=_need(worst, "expandable_segments"),
    )


def s004_089() -> Verdict:
    """A block of 100 MiB, freed, on a card of 150 MiB; then one of 120 MiB."""
    cache = allocator.Caching(capacity=150 * allocator.MIB)
    cache.release(cache.malloc(100 * allocator.MIB))
    kept = cache.reserved
    cache.malloc(120 * allocator.MIB)
    gone = kept + 120 * allocator.MIB - cache.reserved
    numbers = {"kept": kept, "after": cache.reserved, "gone": gone}
    ruling = by_cases([kept == 100 * allocator.MIB, gone == 0])
    return Verdict(ruling, **{name: f"{value // allocator.MIB}" for name, value in numbers.items()})


def s004_091() -> Verdict:
    flows, ring = replicas.gpt2(16, 1024, 4)
    other = flows.out_of_first / 3
    ruling = "holds" if flows.into_first > 1.2 * other and flows.into_first > ring else "fails"
    return Verdict(ruling, first=flows.into_first / 1e9, other=other / 1e9, ring=ring / 1e9)


def s004_094() -> Verdict:
    batch = 4 * 16 * 1024 * models.load("gpt2").vocab
    full = int(80e9 // batch)
    return Verdict("holds" if full > 1000 else "fails", batch=batch / 1e9, full=full, count=8)


def s004_095() -> Verdict:
    """Does the remedy compile, and how many of 1,000 steps are taken, if the loss is too high from step 13 on?"""
    try:
        lines = ["for step in range(1000):", "    step", "if any(losses):", "    break"]
        compile("\n".join(lines), "remedy", "exec")
        said = "nothing"
    except SyntaxError as error:
        said = error.msg
    taken, every = 1000, next(step for step in range(1, 1001) if step % 10 == 0 and step >= 13)
    return Verdict("holds" if said == "nothing" and taken <= every else "fails", said=said, taken=taken, every=every)


def s004_098() -> Verdict:
    starts = {here: elsewhere.pick_kernel(here, ["8.0"], []) for here in ("8.6", "9.0", "7.0")}
    tuples, texts = (10, 0) >= (9, 0), "10.0" >= "9.0"
    ruling = by_cases([tuples, *(each is not None for each in starts.values())])
    return Verdict(ruling, tuples=tuples, texts=texts, starts=", ".join(each or "none" for each in starts.values()))


def s004_099() -> Verdict:
    over = {}
    for key in (("rows",), ()):
        kernel = elsewhere.Autotuned(elsewhere.TILES, elsewhere.tiled, key)
        kernel(rows=4096)
        over[key] = kernel(rows=32) / min(elsewhere.tiled(tile, rows=32) for tile in elsewhere.TILES)
    return Verdict(by_cases(each == 1 for each in over.values()), keyed=over["rows",], stale=over[()])
