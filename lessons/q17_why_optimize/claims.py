"""Claims on trial in Q17: each function decides one claim by computing it and returns the verdict with its numbers."""

from itertools import pairwise

from course_lib.accounting import economics
from course_lib.teaching.cards.verdict import Verdict, by_cases
from course_lib.units.q17_why_optimize import growth, projects

YEAR = 365 * 86_400  # s


def s000_05() -> Verdict:
    """A bill of a million, attention three times as fast, by attention's share of the time, which is not all of it."""
    bills = {per_cent: 1e6 * (1 - projects.saved(per_cent / 100, 3)) for per_cent in (10, 24, 50, 90, 99)}
    needed = (1 - 0.33) / projects.saved(1, 3)  # the share at which the bill is 330 thousand
    return Verdict(by_cases(bill < 330_500 for bill in bills.values()), bills=bills, needed=needed)


def s003_76() -> Verdict:
    """Dollars of a training a year later, over now: of one that grows as from GPT-3 to Llama 3.1, and of one that stays."""
    span = growth.years("2024-03") - growth.years("2017-08")
    dollar = growth.versus("b200-sxm")
    flops, nbytes = growth.a_year(dollar.flops, span), growth.a_year(dollar.bytes, span)
    work = growth.a_year(growth.work(), growth.between_trainings())
    bills = {"grows": work / flops, "stays": 1 / flops, "stays, bytes": 1 / nbytes}
    return Verdict(by_cases(bill > 1 for bill in bills.values()), bills=bills, work=work, flops=flops, bytes=nbytes)


def s000_10() -> Verdict:
    """A year of 10 ms less for a million requests a day, at 2, 6.88 and 10 dollars; and the requests for 100,000."""

    def a_year(requests, price):
        return economics.cost(price_per_hour=price, seconds=requests * 0.01 * YEAR / 86_400)

    found = {price: a_year(1_000_000, price) for price in (2, 6.88, 10)}
    needed = 1e5 / a_year(1, 2) / 1e6
    return Verdict(by_cases(value >= 100_000 for value in found.values()), found=found, needed=needed)


def s000_06() -> Verdict:
    """670,000 dollars saved by one week of work."""
    project = {"cost": projects.WEEK, "spend_per_hour": 1e6 / (YEAR / 3600), "saved": 0.67, "seconds": YEAR}
    found = economics.roi(**project)
    return Verdict("holds" if abs(found - 0.7) < 0.05 else "fails", roi=found, saved=0.67)


def s000_07() -> Verdict:
    """Thirty days on eight cards at ten dollars, and a third of it."""
    bill = economics.cost(price_per_hour=10, seconds=720 * 3600, devices=8)
    faster = bill / 3
    right = abs(bill - 57_600) < 1 and abs(bill - faster - 38_400) < 1
    return Verdict("holds" if right else "fails", bill=bill, faster=faster, saved=bill - faster)


def s000_09() -> Verdict:
    """What 16 % is worth, by the bill: does each ten times as large bill multiply it by more than the last did?"""
    worth = [projects.saved(0.24, 3) * spend for spend in (1e4, 1e5, 1e6, 1e7)]
    factors = [after / before for before, after in pairwise(worth)]
    grows = any(after > before * 1.001 for before, after in pairwise(factors))
    return Verdict("holds" if grows else "fails", worth=worth, factors=factors)


def s000_11() -> Verdict:
    """60 dollars a day, against no work, two weeks, and ten weeks of it."""
    saved = 60 * 365
    left = {weeks: saved - weeks * projects.WEEK for weeks in (0, 2, 10)}
    return Verdict(by_cases(value == saved for value in left.values()), left=left, roi=left[2] / (2 * projects.WEEK))


def s004_020() -> Verdict:
    """(speed-up - 1) / days: does it add up over two steps, and is it a step's return, on a small and a large bill?"""
    first, second = (economics.amdahl(fraction=0.5, speedup=2), economics.amdahl(fraction=0.3, speedup=3))
    both = 1 / (0.2 + 0.5 / 2 + 0.3 / 3)
    gains = {"first": first - 1, "second": second - 1, "both": both - 1}
    adds = abs(gains["first"] + gains["second"] - gains["both"]) < 0.01
    index = gains["first"] / 2  # two days, of five a week
    returns = {spend: projects.Project(spend, 0.5, 2, 2 / 5, 1, 12).roi for spend in (1_000, 100_000)}
    right = all(abs(found - index) < 0.01 for found in returns.values())
    return Verdict("holds" if adds and right else "fails", gains=gains, index=index, returns=returns)


def s004_056() -> Verdict:
    """120 ms with a kernel at 78 % of the peak, at 95 %; and fused attention, which takes 40 after as much work."""
    tuned, fused = 120 * 78 / 95, 120 - 40
    ratio, own = fused / (120 - tuned), fused / (120 - 93)
    ruling = "holds" if max(ratio, own) > 9 else "fails"
    return Verdict(ruling, tuned=tuned, speedup=120 / tuned, ratio=ratio, own=own)
