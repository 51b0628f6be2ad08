"""Claims on trial in Q9: each function decides one claim by computing it and returns the verdict with its numbers."""

from itertools import combinations
from math import sqrt

from course_lib.accounting import economics, hardware
from course_lib.teaching.cards.verdict import Verdict
from course_lib.units.q09_thousand_dollars import plans

A100, H100 = "a100-40-sxm", "h100-sxm"
CARDS = ("v100-sxm2", "t4", "a10g", "a100-40-sxm", "h100-sxm", "l4", "l40s", "b200-sxm")  # NVIDIA's with a price


def s003_37() -> Verdict:
    """1.4 billion, to the digit that it states, at $2 for an A100; at other prices and another utilisation."""
    hour = 3600 * hardware.load(A100).peak("bf16")
    claimed, slower = (sqrt(1000 / 2 * hour * mfu / 120) / 1e9 for mfu in (0.4, 0.2))
    priced = [plans.plan(device=card).params / 1e9 for card in (*CARDS, "tpu-v5e", "tpu-v6e")]
    listed = plans.plan(device=A100).params / 1e9
    b200 = plans.plan(device="b200-sxm").params / 1e9
    half = plans.plan(500).params / 1e9
    right = [round(size, 1) == 1.4 for size in (claimed, slower, listed, half, *priced)]
    return Verdict(
        "holds" if all(right) else "holds-if" if right[0] else "fails",
        claimed=claimed,
        listed=listed,
        slower=slower,
        smallest=min(priced),
        largest=max(priced),
        b200=b200,
        left=half,
    )


def bigger_is_dearer() -> Verdict:
    """FLOP for a dollar of all cards with a list price, and in how many pairs the faster one gives more."""
    rate = {card: plans.flop_per_dollar(card, mfu=1) / 1e17 for card in CARDS}
    peak = {card: hardware.load(card).peak(plans.sixteen_bit(card)) for card in CARDS}
    pairs = [sorted(pair, key=peak.get) for pair in combinations(CARDS, 2) if len({peak[card] for card in pair}) == 2]
    cheaper = sum(rate[faster] > rate[slower] for slower, faster in pairs)
    return Verdict(
        "holds" if cheaper == 0 else "holds-if" if cheaper < len(pairs) / 2 else "fails",
        rate=rate,
        pairs=len(pairs),
        cheaper=cheaper,
    )


def s000_07() -> Verdict:
    """The three products of the sentence, and the same run at the list price of an H100."""
    listed, dearer = (hardware.load(card).price_per_hour for card in (H100, "b200-sxm"))
    before, after, at_list = (
        economics.cost(price_per_hour=price, seconds=hours * 3600, devices=8)
        for price, hours in ((10, 720), (10, 240), (listed, 720))
    )
    saved = before - after
    share = saved / before
    right = (before, after, saved) == (57_600, 19_200, 38_400) and abs(share - 2 / 3) < 1e-9
    return Verdict(
        "holds" if right else "fails",
        before=before,
        after=after,
        saved=saved,
        share=share,
        listed=listed,
        dearer=dearer,
        at_list=at_list,
        days=at_list * share / 100 / 8,
    )
