"""What surrounds the GPU hours of a training run: storage, network, trials, losses, people, and a card of one's own."""

from course_lib.accounting import units

STORAGE = 0.023
"""Dollars for a GB and month: AWS S3 Standard, us-east-1, first 50 TB, as guides to its prices list it in 2026."""
NETWORK = 0.09
"""Dollars for a GB sent to the internet: AWS, up to 10 TB a month, after 100 GB free; egresscost.com/aws, 2026."""
CARD = 1599
"""Dollars for an RTX 4090 alone: NVIDIA's price at its launch, 12 October 2022; tomsguide.com/news/nvidia-geforce-rtx-4090."""
ELECTRICITY = 0.30
"""Dollars for a kWh. Assumed: households pay half or twice as much."""
ENGINEER = 100
"""Dollars for an hour of an engineer, with insurance and desk. Assumed."""


def ledger(budget, *, trials, lost, stored_gb, months, sent_gb) -> dict[str, float]:
    """Where a budget goes: line → dollars, which add up to `budget`. People are not in it.

    trials: GPU time of trial runs, over that of the final run. lost: share of all GPU time whose result is lost, so
    that useful time costs 1/(1 − lost). stored_gb for so many months; sent_gb once, to the internet.
    """
    storage = stored_gb * months * STORAGE
    network = sent_gb * NETWORK
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
