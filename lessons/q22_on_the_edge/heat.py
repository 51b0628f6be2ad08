"""A phone's case as one resistance and one capacity of heat. Its constants are assumptions of this unit."""

from dataclasses import dataclass
from math import exp, log


@dataclass(frozen=True)
class Case:
    """resistance: K that it settles above the room for each W. capacity: J that warm it by 1 K. allowed: K above the
    room at which the system slows the chip down.
    """

    resistance: float = 8.0
    capacity: float = 60.0
    allowed: float = 20.0

    @property
    def sustained(self) -> float:
        """W that keep it just at what is allowed."""
        return self.allowed / self.resistance

    def rise(self, watts: float, seconds: float) -> float:
        """K above the room, after so long at a constant power from cold."""
        return watts * self.resistance * (1 - exp(-seconds / (self.resistance * self.capacity)))

    def throttles_after(self, watts: float) -> float | None:
        """Seconds from cold until it is as warm as allowed; None where it never is (exactly at the limit neither)."""
        settles = watts * self.resistance
        if settles <= self.allowed:
            return None
        return -self.resistance * self.capacity * log(1 - self.allowed / settles)

    def watts_at(self, watts: float, seconds: float) -> float:
        """W that the system lets through: all of them until it is too warm, then what it can get rid of."""
        limit = self.throttles_after(watts)
        return watts if limit is None or seconds < limit else self.sustained

    def joules(self, watts: float, seconds: float) -> float:
        """What it takes in during so many seconds from cold."""
        limit = self.throttles_after(watts)
        fast = seconds if limit is None else min(seconds, limit)
        return watts * fast + self.sustained * (seconds - fast)
