"""The truth of each prediction card of Q17, computed when a learner reveals it."""

from course_lib.accounting import economics, hardware
from course_lib.units.q17_why_optimize import growth, projects

YEAR = 365 * 86_400  # s


def bill(card, flops, price, nbytes, by_flops, per_flop, by_bytes, by_price) -> float:
    """Dollars for the same bytes on the card as for 10,000 dollars on a V100."""
    return 10_000 / growth.versus(f"{card.lower()}-sxm").bytes


def ten_ms(requests, ms, price, day, whole, minutes) -> float:
    """Dollars of a year."""
    each = ms / 1e3 * requests  # s a day
    return economics.cost(price_per_hour=price, seconds=each * YEAR / 86_400)


def months(spend, share, speedup, cost, success, whole, sure, divided, plain) -> float:
    project = projects.Project(spend, share / 100, speedup, cost / projects.WEEK, success / 100, 1)
    return project.pays_after


def tpu_weeks() -> float:
    """Weeks of use of 40 chips, two people, three weeks."""
    spend = 40 * hardware.load("tpu-v6e").price_per_hour
    cost = 2 * 3 * projects.WEEK
    terms = {"cost": cost, "spend_per_hour": spend, "saved": projects.saved(0.35, 2.5), "success": 0.6}
    return economics.break_even_seconds(**terms) / (7 * 86_400)
