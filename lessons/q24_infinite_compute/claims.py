"""Claims on trial in Q24: each function decides one claim by computing it and returns the verdict with its numbers."""

from math import log, log2

from course_lib.accounting import economics
from course_lib.teaching.cards.verdict import Verdict, by_cases
from course_lib.units.q24_infinite_compute import learners, portable, prices, text

TEXT = 15_600_000_000_000  # tokens that Llama 3.1 was trained on (Llama Team 2024, section 3)


def s003_70() -> Verdict:
    """What binds next: of a loss, the term that is left; of a time, the price that saves most."""
    law = "chinchilla"
    data = economics.loss_limit(tokens=TEXT, law=law) - economics.loss_limit(law=law)
    first, then = prices.binds("one", ["arithmetic"]), prices.binds("eight", ["arithmetic", "bytes", "calls"])
    step = 1e3 * (prices.seconds("one", ["arithmetic", "distance"]) / prices.TOKENS)
    eight = 1e3 * prices.seconds("eight", ["arithmetic", "bytes", "calls", "distance"]) / prices.TOKENS
    cases = [data > 0, first not in prices.PRICES, then not in prices.PRICES]
    return Verdict(by_cases(cases), data=data, first=first, then=then, step=step, eight=eight)


def s003_70_nothing() -> Verdict:
    """How much faster with free arithmetic, and what the rest waits for."""
    found = {name: prices.seconds(name) / prices.seconds(name, ["arithmetic"]) for name in ("one", "prompt", "product")}
    binds = {name: prices.binds(name, ["arithmetic"]) for name in found}
    none_left = (prices.seconds(name, ["arithmetic"]) == 0 for name in found)
    words = {"first": binds["one"], "second": binds["prompt"], "third": binds["product"]}
    return Verdict(by_cases(none_left), **found, **words)


def zero_loss() -> Verdict:
    """The entropy of what is predicted, in four cases."""
    fits = {law: economics.loss_limit(law=law) for law in ("chinchilla", "besiroglu")}
    floors = {"coin": log(2), "source": text.Source().floor(), "label": learners.floor()}
    return Verdict(by_cases(floor <= 1e-9 for floor in floors.values()), **floors, **fits)


def s001_27() -> Verdict:
    """The best of all tiles, over the best with the sums split as well, which is not among them."""
    card, gains = "h100-sxm", {}
    for name, shape in {"square": (4096, 4096, 4096), "long": (64, 65_536, 128)}.items():
        tiles = portable.tiles(card)
        searched = min(portable.seconds(tile, card, *shape) for tile in tiles)
        wider = min(portable.split_seconds(parts, tile, card, *shape) for tile in tiles for parts in (1, 2, 4, 8, 16))
        gains[name] = searched / wider
    ruling = by_cases(gain < 1.05 for gain in gains.values())
    return Verdict(ruling, plans=len(portable.tiles(card)), cards=len(portable.CARDS), **gains)


def s000_08() -> Verdict:
    """Attention's n² beside n and 2ⁿ, and what a machine a billion times as fast buys of each."""
    n = 2048
    exponential = n**2 == 2**n
    found = {"square": n**2 // n, "digits": len(str(2**n)), "n2": 1e9**0.5, "exp": log2(1e9)}
    return Verdict("holds" if exponential else "fails", **found)
