"""The truth of each prediction card of Q21, computed when a learner reveals it."""

from course_lib.accounting import economics, hardware
from course_lib.units.q21_why_so_expensive import bill


def famous(card, rate, price, peak, hours, by_peak, by_minutes) -> float:
    """Millions of dollars. From `peak` on they are wrong answers and what a text names."""
    return bill.hours(rate * 1e12) * float(price) / 1e6


def electricity(card, hours, watts, per_cent, cents, dollars, without, half, thousand) -> float:
    """% of the bill."""
    joules = economics.energy(power=watts, seconds=3600 * hours * 1e6, pue=1 + per_cent / 100)
    return 100 * joules / 3.6e6 * cents / 100 / (float(dollars) * 1e6)


def success(chance, stopped, all_, one, plain) -> float:
    """Cost of a success over that of a run."""
    return bill.per_success(chance / 100, stopped / 100)


def l40s() -> float:
    """Millions of dollars."""
    card = hardware.load("l40s")
    run = bill.hours(0.3 * card.peak("bf16"), 6 * 30e9 * 2e12) * card.price_per_hour
    return run * bill.per_success(0.5, 0.5) / 1e6
