"""An optimisation as an investment: what it costs, what it saves, when it has paid."""

from dataclasses import dataclass

from course_lib.accounting import economics

MONTH = 365.25 / 12 * 86_400  # s
WEEK = 5_000  # dollars of a week of one engineer: an assumption of this unit


def saved(share: float, speedup: float) -> float:
    """Share of the bill that is saved, when `share` of the time runs `speedup` times as fast; negative below 1."""
    return 1 - 1 / economics.amdahl(fraction=share, speedup=speedup)


@dataclass(frozen=True)
class Project:
    """spend: dollars a month. share: of the time; speedup: of that part. weeks: of one engineer. success: the
    probability that it works. months: how long it is in use.
    """

    spend: float
    share: float
    speedup: float
    weeks: float
    success: float
    months: float

    @property
    def cost(self) -> float:
        return WEEK * self.weeks

    @property
    def saved(self) -> float:
        return saved(self.share, self.speedup)

    @property
    def monthly(self) -> float:
        """Dollars that a month is expected to save."""
        return self.success * self.saved * self.spend

    @property
    def _terms(self) -> dict[str, float]:
        hourly = self.spend / MONTH * 3600
        return {"cost": self.cost, "spend_per_hour": hourly, "saved": self.saved, "success": self.success}

    @property
    def roi(self) -> float:
        return economics.roi(**self._terms, seconds=self.months * MONTH)

    @property
    def pays_after(self) -> float:
        """Months of use."""
        return economics.break_even_seconds(**self._terms) / MONTH

    @property
    def speedup_needed(self) -> float | None:
        """Of its part, for the cost to be back just at the end of its life; None where none is enough."""
        wanted = self.cost / (self.success * self.spend * self.months)  # share of the bill
        if wanted >= self.share - 1e-11:  # rounding must not make the limit itself a goal within reach
            return None
        return economics.speedup_needed(fraction=self.share, target=1 / (1 - wanted))


ATTENTION = Project(spend=40_000, share=0.24, speedup=3, weeks=2, success=0.7, months=6)
