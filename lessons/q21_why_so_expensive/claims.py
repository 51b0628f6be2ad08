"""Claims on trial in Q21: each function decides one claim by computing it and returns the verdict with its numbers."""

from course_lib.accounting import economics, hardware
from course_lib.teaching.cards.verdict import Verdict, by_cases
from course_lib.units.q21_why_so_expensive import bill, data_bill


def s003_66() -> Verdict:
    """The final run under five pairs of FLOP/s and price, by another account of its hours, and all of a plan: within 2 % of
    4.6 million?
    """
    from course_lib.experiments import published

    a100, h100, v100 = (hardware.load(id) for id in ("a100-40-sxm", "h100-sxm", "v100-sxm2"))
    bills = {
        "post": bill.hours() * bill.PRICE,
        "account": published.get("gpt3-energy").predict["hours"] * bill.PRICE,
        "peak": bill.hours(v100.peak("fp16")) * bill.PRICE,
        "list": bill.hours() * v100.price_per_hour,
        "a100": bill.hours(0.5 * a100.peak("bf16")) * a100.price_per_hour,
        "h100": bill.hours(0.4 * h100.peak("bf16")) * h100.price_per_hour,
        "all": bill.Plan().total,
    }
    bills = {name: dollars / 1e6 for name, dollars in bills.items()}
    return Verdict(by_cases(abs(each / 4.6 - 1) < 0.02 for each in bills.values()), bills=bills)


def electricity_is_it() -> Verdict:
    """Electricity's share of an hour, of card and server: rented at list and at 2 dollars, and bought."""
    shares = {id: bill.electricity(id) / hardware.load(id).price_per_hour for id in ("v100-sxm2", "a100-40-sxm")}
    h100, dear = bill.electricity("h100-sxm"), bill.electricity("h100-sxm", 0.30)
    shares |= {
        "h100-sxm": h100 / hardware.load("h100-sxm").price_per_hour,
        "two": h100 / 2,
        "own": h100 / bill.own_hour(1),
        "own, dear": dear / bill.own_hour(1, price_per_kwh=0.30),
    }
    shares = {name.replace(", ", "-"): share for name, share in shares.items()}
    return Verdict(by_cases(share > 0.5 for share in shares.values()), shares=shares)


def s000_07() -> Verdict:
    """Thirty days on eight cards at ten dollars, and a third of it; the same at today's list price of an A100."""
    hired = {"seconds": 720 * 3600, "devices": 8}
    before = economics.cost(price_per_hour=10, **hired)
    a100 = hardware.load("a100-40-sxm").price_per_hour
    listed = economics.cost(price_per_hour=a100, **hired)
    right = abs(before - 57_600) < 1 and abs(before - before / 3 - 38_400) < 1
    return Verdict("holds" if right else "fails", before=before, after=before / 3, listed=listed, times=10 / a100)


def llama_405b() -> Verdict:
    """30.84 million hours at three prices: 61.7 million dollars?"""
    from course_lib.experiments import published

    hours = published.get("llama3.1-405b-hours").published
    prices = {"two": 2, "list": hardware.load("h100-sxm").price_per_hour, "own": bill.own_hour(0.9)}
    bills = {name: hours * price / 1e6 for name, price in prices.items()}
    return Verdict(by_cases(abs(each / 61.7 - 1) < 0.01 for each in bills.values()), bills=bills, own=prices["own"])


def one_in_four() -> Verdict:
    """Cost of a success at a chance of a quarter, by where the failures stop: four runs?"""
    factors = {per_cent: bill.per_success(0.25, per_cent / 100) for per_cent in (100, 50, 30, 10)}
    return Verdict(by_cases(abs(each - 4) < 1e-9 for each in factors.values()), factors=factors)


def data_is_oil() -> Verdict:
    """Is data dear beside the run? Bytes at a slow core's 0.2 MB/s, a million judgements, a hundred million."""
    run = bill.hours(0.4 * hardware.load("h100-sxm").peak("bf16"), 3.8e25) * 2
    dollars = {
        "bytes": data_bill.machine(0.2e6),
        "judged": data_bill.judged(),
        "many": data_bill.judged(100e6),
    }
    shares = {name: each / run for name, each in dollars.items()}
    return Verdict(by_cases(share > 0.5 for share in shares.values()), shares=shares, dollars=dollars, run=run)
