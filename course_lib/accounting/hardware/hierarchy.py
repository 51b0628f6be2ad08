"""What the levels of memory cost besides bandwidth: latency, energy and price, each with its source.

Bandwidth and capacity belong to a device (`devices`). Studies of latency disagree; all are given, and none is
preferred.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from course_lib.accounting import units
from course_lib.accounting.hardware.devices import table


@dataclass(frozen=True)
class Latency:
    """Cycles of one dependent load by level ("shared", "l1", "l2", "memory"), as one study measured them.

    device: id in `hardware`. clock: the boost clock in Hz. source: (title or url, date).
    """

    id: str
    device: str
    clock: float
    cycles: Mapping[str, float]
    source: tuple[str, str] = field(compare=False, repr=False)

    def seconds(self, level: str) -> float:
        """Seconds of a load from `level`, at the boost clock. ValueError, naming those measured, for any other."""
        return self.cycles[units.choice(level, "level", self.cycles)] / self.clock


@dataclass(frozen=True)
class Energy:
    """Joules of one operation on `bytes` bytes. source: (title or url, date)."""

    id: str
    joules: float
    bytes: int
    source: tuple[str, str] = field(compare=False, repr=False)

    def of(self, nbytes) -> float:
        """Joules for `nbytes` bytes, in as many operations as that takes."""
        return self.joules * units.count(nbytes, "nbytes", minimum=0) / self.bytes


@dataclass(frozen=True)
class Price:
    """A price or a ratio of prices, from `low` to `high` in `unit` ("$/GiB", "×"). source: (title or url, date)."""

    id: str
    low: float
    high: float
    unit: str
    source: tuple[str, str] = field(compare=False, repr=False)


@dataclass(frozen=True)
class Interface:
    """The wires between a device and its memory: `stacks` of `wires` data wires with `rate` bits a second each."""

    device: str
    stacks: int
    wires: int
    rate: float
    source: tuple[str, str] = field(compare=False, repr=False)

    @property
    def bandwidth(self) -> float:
        """B/s of all wires together."""
        return self.stacks * self.wires * self.rate / 8


def latencies(device: str | None = None) -> tuple[Latency, ...]:
    """Every study of latency, or those of the devices whose id begins with `device` ("a100"). ValueError for none."""
    studied = table("latency")
    studies = (
        Latency(id, entry["device"], entry["clock"], units.FrozenDict(entry["cycles"]), tuple(entry["source"]))
        for id, entry in studied.items()
    )
    found = tuple(study for study in studies if study.device.startswith(device or ""))
    if not found:
        known = ", ".join(sorted({entry["device"] for entry in studied.values()}))
        raise ValueError(f"device={units.shortly(device)}: no study of its latency is known. Known: {known}.")
    return found


def energy(id: str) -> Energy:
    """The energy of an operation: "fp32-add", "fp32-multiply", "cache-8-kb", "dram", "hbm2" …"""
    known = table("energy")
    entry = known[units.choice(id, "energy", known)]
    return Energy(id, entry["joules"], entry["bytes"], tuple(entry["source"]))


def price(id: str) -> Price:
    """A price of memory, or a ratio of two: "ddr5", "flash", "hbm3e-over-ddr5"."""
    known = table("price")
    entry = known[units.choice(id, "price", known)]
    return Price(id, *map(float, entry["range"]), entry["unit"], tuple(entry["source"]))


def interface(device: str) -> Interface:
    """The memory interface of a device: "a100-40-sxm"."""
    known = table("interface")
    entry = known[units.choice(device, "device", known)]
    return Interface(device, entry["stacks"], entry["wires"], entry["rate"], tuple(entry["source"]))


def pinned_rate(link: str) -> float:
    """B/s that were published for copies to a GPU from pinned memory over `link`, "pcie3-x16" or "pcie4-x16"."""
    known = table("pinned")
    return known[units.choice(link, "link", known)]["rate"]
