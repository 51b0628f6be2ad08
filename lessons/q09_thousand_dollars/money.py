"""What surrounds the GPU hours of a training run: storage, network, trials, losses, people, and a card of one's own."""

import tomllib
from functools import cache
from pathlib import Path

from course_lib.accounting import economics, units

YEAR = 365 * 24  # hours


@cache
def prices() -> dict[str, float]:
    """Name → dollars for one of its unit; `prices.toml` has units and sources."""
    table = tomllib.loads(Path(__file__).with_name("prices.toml").read_text(encoding="utf-8"))
    return {name: row["value"] for name, row in table.items()}


def ledger(budget, *, trials, lost, stored_gb, months, sent_gb) -> dict[str, float]:
    """Where a budget goes: line → dollars, which add up to `budget`. People are not in it.

    trials: GPU time of trial runs, over that of the final run. lost: share of all GPU time whose result is lost, so
    that useful time costs 1/(1 − lost). stored_gb for so many months; sent_gb once, to the internet.
    """
    storage = stored_gb * months * prices()["storage"]
    network = sent_gb * prices()["network"]
    gpus = budget - storage - network
    if gpus <= 0:
        raise ValueError(f"budget={budget!r} does not even pay storage and network, ${storage + network:.2f}.")
    useful = gpus * (1 - units.fraction(lost, "lost"))
    final = useful / (1 + units.number(trials, "trials"))
    return {
        "final run": final,
        "trial runs": useful - final,
        "lost runs": gpus - useful,
        "storage": storage,
        "network": network,
    }


def own_price_per_hour(*, price, years, used_fraction, power, price_per_kwh, pue=1.0, energy="used") -> float:
    """Dollars for an hour of use of a card that was bought for `price` and lasts so many years.

    used_fraction: of all hours, those in which it works. power in W, drawn in the hours of use, or with
    energy="always" in all hours. pue: as in `economics.energy`.
    """
    used = units.positive(units.fraction(used_fraction, "used_fraction"), "used_fraction")
    kwh = economics.energy(power=power, seconds=3600, pue=pue) / 3.6e6
    drawn = {"used": 1.0, "always": 1 / used}[units.choice(energy, "energy", ("used", "always"))]
    return units.number(price, "price") / (units.positive(years, "years") * YEAR * used) + kwh * drawn * price_per_kwh
