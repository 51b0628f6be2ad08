"""What a training costs: its hours at the price of a device, and what the famous number leaves out."""

from dataclasses import dataclass
from random import Random

from course_lib.accounting import economics, hardware

FLOPS = 3.14e23
"""FLOP of GPT-3: 6 · 175e9 · 300e9 and its attention; Brown et al. 2020, table D.1."""
RATE, PRICE = 28e12, 1.50
"""FLOP/s of a V100 and dollars an hour in the estimate of Lambda, 2020: see `published.get("gpt3-cost")`."""
PUE = 1.1
KWH = 0.10
"""Dollars for a kWh, of a large buyer. Assumed."""
BOUGHT, LIFE, SERVER = 40_000, 4, 1.5
"""Dollars for an H100 with its share of server, network and building; years; power of its share of the server over its
own. Assumed.
"""
SALARY = 200_000
"""Dollars for a year of one person, with insurance and desk: Q9's 100 an hour, for 2,000 hours. Assumed."""

SIBLINGS = (125e6, 350e6, 760e6, 1.3e9, 2.7e9, 6.7e9, 13e9)
"""Parameters of GPT-3's smaller models, each on 300 billion tokens; Brown et al. 2020, table 2.1."""
TRIALS = {
    "GPT-3": 6 * sum(SIBLINGS) * 300e9 / FLOPS,
    "Facebook": 10 / 20,
    "OPT-175B": 1.0,
    "BLOOM": 0.63 / 0.37,
}
"""Compute of other runs over that of the final one: GPT-3's smaller models, counted; the other three as Epoch AI collected
them (epoch-research/training-cost-trends, development_cost.ipynb): all data centres, experiments to training as 10 to 20
(Wu et al. 2021); twice in all, with downtime (Zhang et al. 2022); 63 % for smaller models (Luccioni et al. 2022, table 5).
"""

EACH = 16_384 * 54 * 24 / 419
"""Hours of one device between two stops without warning: Llama 3 405B, 419 in 54 days on 16,384 H100."""


def hours(rate=RATE, flops=FLOPS) -> float:
    """Device hours of a run at `rate` FLOP/s of each device."""
    return flops / rate / 3600


def stopped(devices, checkpoint=60, restart=600) -> float:
    """Time lost to stops and checkpoints over useful time, at Young's interval. checkpoint, restart: s, assumed."""
    rates = {"checkpoint_seconds": checkpoint, "mtbf_seconds": EACH * 3600 / devices}
    best = economics.young_interval(**rates)
    return economics.expected_waste(interval_seconds=best, restart_seconds=restart, **rates)


def per_success(success, fraction) -> float:
    """Cost of one successful run over that of a run: 1 + (1 − p)/p · f.

    success (p): probability of a try; fraction (f) of a run that a try which fails has cost when it is stopped. Tries
    are independent and go on until one succeeds: (1 − p)/p of them fail in the mean.
    """
    return 1 + (1 - success) / success * fraction


def tried(success, fraction, seed) -> float:
    """One project, try by try, until one succeeds: what all of them cost, over a run."""
    draw, spent = Random(seed), 0.0
    while draw.random() >= success:
        spent += fraction
    return spent + 1


@dataclass(frozen=True)
class Plan:
    """What a training is taken to need. Each default but the first three is an assumption.

    rate: FLOP/s of one device. price: dollars for an hour of it. devices: at a time. success, fraction: as in
    `per_success`. trials: hours of small runs, over those of the final one. used: share of the hours paid for in which
    the devices work. years: of people. judged: hours of people who compare answers, at `wage`.
    """

    device: str = "v100-sxm2"
    rate: float = RATE
    price: float = PRICE
    devices: int = 10_000
    success: float = 0.5
    fraction: float = 0.3
    trials: float = 0.5
    used: float = 0.8
    years: float = 20
    judged: float = 1e6 * 2 / 60
    wage: float = 20

    @property
    def run(self) -> float:
        """Dollars of the final run, as famous numbers count it."""
        return hours(self.rate) * self.price

    def lines(self) -> dict[str, float]:
        """line → dollars; their sum is the bill. Each line is what it adds to those before it."""
        peak = hardware.load(self.device).peak("fp16")
        restarts = self.run * stopped(self.devices)
        failed = (self.run + restarts) * (per_success(self.success, self.fraction) - 1)
        trials = self.run * self.trials
        working = self.run + restarts + failed + trials
        return {
            "at the peak": self.run * self.rate / peak,
            "below the peak": self.run * (1 - self.rate / peak),
            "stops": restarts,
            "failed tries": failed,
            "trials": trials,
            "idle hours": working * (1 / self.used - 1),
            "people": self.years * SALARY,
            "judged data": self.judged * self.wage,
        }

    @property
    def total(self) -> float:
        return sum(self.lines().values())


def power(device) -> float:
    """W that a device draws with its share of the server."""
    return hardware.resolve(device).power * SERVER


def electricity(device, price_per_kwh=KWH, pue=PUE) -> float:
    """Dollars for the electricity of an hour of a device and its share of the server."""
    return economics.energy(power=power(device), seconds=3600, pue=pue) / 3.6e6 * price_per_kwh


def own_hour(used, bought=BOUGHT, price_per_kwh=KWH) -> float:
    """Dollars for an hour of use of an H100 that was bought, powered day and night."""
    return economics.own_price_per_hour(
        price=bought,
        years=LIFE,
        used_fraction=used,
        power=power("h100-sxm"),
        price_per_kwh=price_per_kwh,
        pue=PUE,
        energy_in="all hours",
    )
