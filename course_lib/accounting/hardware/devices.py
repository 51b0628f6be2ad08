"""Devices and networks with their sources, and the machine that was measured.

A device has dense peak rates, bandwidth and capacity of its main memory and of the levels above it, the links to other
devices, power and an hourly price. The catalogue is `hardware.toml`. Peaks are the vendor's *dense* figures: structured
sparsity stands in `sparse_peaks` only. `nominal_memory` is main memory as sold, read as decimal (80 GB is 80e9 bytes),
`memory_capacity` what the card reports, which is often more (85.52e9). Caches are printed in KB and MB of 1024. Link
bandwidths are one-way: half of what is usually printed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from course_lib.accounting import catalogue, precision, units

PROFILE_SCHEMA = 1


class ProfileMissing(RuntimeError):  # noqa: N818 (a state of the machine, not a fault of the caller)
    """This machine has not been measured, or its profile cannot be read; the message says what to run."""


@dataclass(frozen=True)
class Level:
    """A memory above main memory, all its copies on the device together: capacity in bytes, bandwidth in B/s.

    bandwidth=None: no adequate source states it.
    """

    capacity: int
    bandwidth: float | None = None

    def __post_init__(self):
        object.__setattr__(self, "capacity", units.count(self.capacity, "capacity"))
        if self.capacity < 1024:
            raise ValueError(f"capacity={self.capacity!r} looks like MB; this takes bytes (40 MB is 40e6).")
        if self.bandwidth is not None:
            object.__setattr__(self, "bandwidth", units.bandwidth(self.bandwidth))


@dataclass(frozen=True)
class Link:
    """A network or bus that belongs to no device, such as InfiniBand NDR.

    bandwidth: one-way B/s of one port, after the line coding. latency: seconds; 0 means unknown, as it
    is for all of the catalogue (it belongs to adapters, switches and software). source: (title or url, date).
    """

    id: str
    name: str
    bandwidth: float
    latency: float = 0.0
    source: tuple[str, str] = field(default=(), compare=False, repr=False)

    def __post_init__(self):
        object.__setattr__(self, "bandwidth", units.bandwidth(self.bandwidth))
        object.__setattr__(self, "latency", units.latency(self.latency, "latency"))
        object.__setattr__(self, "source", tuple(self.source))


@dataclass(frozen=True)
class Device:
    """One device.

    peaks: dtype -> dense FLOP/s (for integer dtypes: operations per second). memory_bandwidth: B/s of main memory.
    memory_capacity: bytes that the card reports: of NVIDIA cards the total of nvidia-smi, of which the driver keeps
    some per cent, so that `torch.cuda.get_device_properties` has less; as sold where no report is known (its source
    says so). A profile of your machine has torch's total. nominal_memory: bytes as sold; None: unknown.
    call_overhead: seconds that one framework call costs whatever its size; 0 means unknown (no data sheet states it;
    `course doctor` measures it on your machine). sources: field -> (title or url, date).

    levels: name -> Level, nearest to the arithmetic first: "registers", "shared" (L1 and shared memory of all SMs),
    "l2", "infinity-cache"; main memory is not among them.
    links: name -> one-way B/s of this device, all its links of that name together: "nvlink", "pcie", "ici". What is
    printed for NVLink counts both directions: the 900 GB/s of an H100 are 450e9 here.
    power: the data sheet's limit (TDP) in W; a lower cap moves no peak, so that bounds still hold. price_per_hour:
    dollars for this one device, on demand. None: unknown.
    sparse_peaks: dtype -> FLOP/s with 2:4 structured sparsity; no calculator uses them.
    Make a variant with `dataclasses.replace(device, memory_bandwidth=...)`.
    """

    id: str
    name: str
    kind: str
    peaks: Mapping[str, float]
    memory_bandwidth: float
    memory_capacity: int
    call_overhead: float = 0.0
    sources: Mapping[str, tuple[str, str]] = field(default_factory=dict, compare=False, repr=False)
    levels: Mapping[str, Level] = field(default_factory=dict)
    links: Mapping[str, float] = field(default_factory=dict)
    power: float | None = None
    price_per_hour: float | None = None
    sparse_peaks: Mapping[str, float] = field(default_factory=dict)
    nominal_memory: int | None = None

    def __post_init__(self):
        def fix(name, value):
            object.__setattr__(self, name, value)

        units.choice(self.kind, "kind", ("gpu", "cpu", "tpu", "npu"))
        if not isinstance(self.peaks, Mapping) or not self.peaks:
            raise ValueError(
                f"peaks={self.peaks!r} must map at least one dtype to FLOP/s, such as {{'fp32': 19.5e12}}."
            )
        for name in ("levels", "links", "sparse_peaks"):
            if not isinstance(getattr(self, name), Mapping):
                raise ValueError(
                    f"{name}={getattr(self, name)!r} must be a mapping by name; {{}} where nothing is known."
                )
        fix("peaks", _rates(self.peaks, "peaks"))
        fix("memory_bandwidth", units.bandwidth(self.memory_bandwidth, "memory_bandwidth"))
        fix("memory_capacity", units.capacity(self.memory_capacity, "memory_capacity"))
        if self.nominal_memory is not None:
            fix("nominal_memory", units.capacity(self.nominal_memory, "nominal_memory"))
        fix("call_overhead", units.latency(self.call_overhead, "call_overhead"))
        fix("sources", units.FrozenDict({k: tuple(v) for k, v in self.sources.items()}))
        for name, level in self.levels.items():
            if not isinstance(level, Level):
                raise ValueError(
                    f"levels[{name!r}]={level!r} must be a hardware.Level(capacity in B, bandwidth in B/s)."
                )
        fix("levels", units.FrozenDict(self.levels))
        links = {name: units.bandwidth(value, f"links[{name!r}]") for name, value in self.links.items()}
        fix("links", units.FrozenDict(links))
        fix("power", None if self.power is None else _power(self.power))
        fix("price_per_hour", None if self.price_per_hour is None else _price(self.price_per_hour))
        fix("sparse_peaks", _rates(self.sparse_peaks, "sparse_peaks"))

    def __hash__(self):
        return hash((self.id, self.memory_bandwidth, self.memory_capacity))

    def peak(self, dtype) -> float:
        """Dense peak of `dtype` in FLOP/s. ValueError, naming what the device has, when it lacks `dtype`."""
        dtype = precision.normalise(dtype)
        if dtype not in self.peaks:
            raise ValueError(f"dtype={dtype!r}: {self.id} has no peak for it. It has {', '.join(self.peaks)}.")
        return self.peaks[dtype]

    def sparse_peak(self, dtype) -> float:
        """Peak of `dtype` in FLOP/s that counts the zeros of 2:4 structured sparsity as work. ValueError if unknown."""
        dtype = precision.normalise(dtype)
        if dtype not in self.sparse_peaks:
            known = ", ".join(self.sparse_peaks) or "none"
            raise ValueError(f"dtype={dtype!r}: no sparse peak of {self.id} is known for it. Known: {known}.")
        return self.sparse_peaks[dtype]

    def level(self, name: str) -> Level:
        """The memory level `name`, such as "l2". ValueError, naming those known, for any other."""
        return _known(self.levels, name, f"level={units.shortly(name)}: no such memory level of {self.id} is known.")

    def bandwidth(self, level: str = "memory") -> float:
        """B/s of a memory level or of main memory ("memory"). ValueError where level or bandwidth is unknown."""
        if level == "memory":
            return self.memory_bandwidth
        bandwidth = _known(
            {**self.levels, "memory": None},
            level,
            f"level={units.shortly(level)}: no such memory level of {self.id} is known.",
        ).bandwidth
        if bandwidth is None:
            stated = [name for name, level in self.levels.items() if level.bandwidth] + ["memory"]
            raise ValueError(
                f"level={level!r}: no adequate source states its bandwidth on {self.id}. Stated: {', '.join(stated)}."
            )
        return bandwidth

    def link(self, name: str) -> float:
        """One-way B/s of the device's links `name`, such as "nvlink". ValueError, naming those known, for any other."""
        return _known(self.links, name, f"link={units.shortly(name)}: {self.id} has no such link.")

    def source(self, field: str) -> tuple[str, str]:
        """(title or url, date) of "peaks", "memory_bandwidth", "levels.l2", "links.nvlink", "power", "price_per_hour" …

        A value that was replaced has no source: ValueError.
        """
        source = _known(self.sources, field, f"field={units.shortly(field)}: {self.id} records no source for it.")
        if self.id in table("device") and _value(load(self.id), field) != _value(self, field):
            raise ValueError(
                f"field={field!r} of {self.id} was replaced here; the catalogue's source does not vouch for it."
            )
        return source


def _known(mapping: Mapping, name, problem: str):
    """mapping[name]; else ValueError: the problem, the nearest name, and those there are."""
    if isinstance(name, str) and name in mapping:
        return mapping[name]
    raise ValueError(f"{problem}{units.hint(name, mapping)} Known: {', '.join(mapping) or 'none'}.")


def _value(device: Device, field: str):
    """What "memory_bandwidth" or "levels.l2" names; None where the device has no such entry."""
    field, _, entry = field.partition(".")
    return getattr(device, field).get(entry) if entry else getattr(device, field)


def _rates(peaks: Mapping, name: str) -> units.FrozenDict:
    return units.FrozenDict(
        {precision.normalise(d, name): units.peak_rate(v, f"{name}[{d!r}]") for d, v in peaks.items()}
    )


def _power(value) -> float:
    value = units.number(value, "power")
    if value < 1:
        raise ValueError(f"power={value!r} looks like kW; this takes W (0.7 kW is 700). None where it is not known.")
    return value


def _price(value) -> float:
    value = units.number(value, "price_per_hour")
    if value > 1000:
        raise ValueError(
            f"price_per_hour={value!r} looks like a purchase; this takes dollars for one hour of one device."
        )
    return value


# ---------------------------------------------------------------- the catalogue


def table(kind: str) -> dict[str, dict]:
    """The entries of one kind in `hardware.toml` by id: "device", "link", "multiprocessor", "latency", "price" …"""
    return catalogue.read("hardware/hardware.toml")[kind]


def names() -> tuple[str, ...]:
    """Ids of every device in the catalogue. Recordings use the same ids."""
    return tuple(table("device"))


@cache
def _load(id: str) -> Device:
    entry = dict(table("device")[id])
    source, others = entry.pop("source"), dict(entry.pop("sources", {}))
    if "memory_capacity" not in entry:
        title, date = others.get("nominal_memory", source)
        entry["memory_capacity"], others["memory_capacity"] = entry["nominal_memory"], (f"as sold: {title}", date)
    if "levels" in entry:
        entry["levels"] = {name: Level(**level) for name, level in entry["levels"].items()}
    sourced = [name for name in entry if name not in ("name", "kind", "levels", "links")]
    sourced += [f"{group}.{name}" for group in ("levels", "links") for name in entry.get(group, ())]
    return Device(id=id, **entry, sources={name: others.get(name, source) for name in sourced})


def load(id: str) -> Device:
    """The device `id` of the catalogue; an unknown id is a ValueError with the nearest."""
    return _load(units.choice(id, "device", names()))


def link_names() -> tuple[str, ...]:
    """Ids of every network and bus in the catalogue that belongs to no device."""
    return tuple(table("link"))


def link(id: str) -> Link:
    """The network or bus `id` of the catalogue; an unknown id is a ValueError with the nearest."""
    return Link(id=id, **table("link")[units.choice(id, "link", link_names())])


def resolve(device) -> Device:
    """A Device from a Device or an id: what every `device=` in `accounting` accepts."""
    if isinstance(device, Device):
        return device
    if not isinstance(device, str):
        raise ValueError(f"device={units.shortly(device)} must be an id such as 'h100-sxm' or a hardware.Device.")
    return load(device)


@dataclass(frozen=True)
class PerDollar:
    """What an hour of a device buys, over its price: `flops` FLOP at the dense peak, `bytes` from or to main memory."""

    flops: float
    bytes: float


def per_dollar(device, dtype) -> PerDollar:
    """FLOP and bytes for a dollar of rent: peak · 3600 s over price_per_hour, and memory bandwidth · 3600 s over it.

    device: an id or a Device. dtype: of the peak. Both are bounds, as the data sheet's rates are, and hold at the price
    of `source("price_per_hour")`, on its date. ValueError where no price is known, or the peak is not.
    """
    device = resolve(device)
    peak = device.peak(dtype)
    if not device.price_per_hour:
        priced = ", ".join(name for name in names() if load(name).price_per_hour)
        raise ValueError(
            f"device={device.id!r} has no price_per_hour. Known for: {priced}. For another price use "
            "dataclasses.replace(device, price_per_hour=...)."
        )
    seconds = 3600 / device.price_per_hour  # that a dollar pays for
    return PerDollar(flops=peak * seconds, bytes=device.memory_bandwidth * seconds)


FREE = 1e15
"""How many times as fast a rate becomes that `set_free` makes free: an infinite one would print as nothing."""

_PRICES = {  # price -> the fields of a device that it stands in
    "arithmetic": lambda device: {
        "peaks": {dtype: FREE * peak for dtype, peak in device.peaks.items()},
        "sparse_peaks": {dtype: FREE * peak for dtype, peak in device.sparse_peaks.items()},
    },
    "bytes": lambda device: {
        "memory_bandwidth": FREE * device.memory_bandwidth,
        "levels": {
            name: replace(level, bandwidth=level.bandwidth and FREE * level.bandwidth)
            for name, level in device.levels.items()
        },
    },
    "calls": lambda device: {"call_overhead": 0.0},
    "links": lambda device: {"links": {name: FREE * rate for name, rate in device.links.items()}},
}


def set_free(device, *prices) -> Device:
    """The device with prices set to zero: a thought experiment, whose next limit any calculator then finds.

    device: an id or a Device. prices: of "arithmetic" (all peaks), "bytes" (main memory and the levels above it),
    "calls" (the overhead of a call) and "links" (bytes to other devices; their latency is no part of a device). A free
    rate is 1e15 times as high, so that what it limits takes no time that shows. Capacities, power and price per hour
    stay as they are. ValueError for any other name.
    """
    device, changed = resolve(device), {}
    for price in prices:
        changed |= _PRICES[units.choice(price, "price", _PRICES)](device)
    return replace(device, **changed)


# ---------------------------------------------------------------- the machine at hand

_MEASURED = ("peaks", "memory_bandwidth", "memory_capacity", "call_overhead", "levels", "links")


def profile_path():
    """Path of this machine's measured profile: `$COURSE_CACHE/profile.json`, else in the platform's cache folder."""
    import os
    import sys
    from pathlib import Path

    if os.environ.get("COURSE_CACHE"):
        return Path(os.environ["COURSE_CACHE"]) / "profile.json"
    if sys.platform == "darwin":
        cache_folder = Path.home() / "Library" / "Caches"
    else:
        cache_folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache_folder / "where-did-the-flops-go" / "profile.json"


def this_machine(on: str = "auto") -> Device:
    """The machine at hand as it was measured; reads the cached profile and measures nothing.

    on: "cpu", "cuda", or "auto" (the GPU if the profile has one). Raises ProfileMissing, naming `course doctor`, when
    there is no profile, when it is damaged or of another schema, and for "cuda" where no GPU was measured.
    """
    import json

    units.choice(on, "on", ("auto", "cpu", "cuda"))
    try:
        profile = json.loads(profile_path().read_text("utf-8"))
        schema, cpu, cuda = profile["schema"], profile["cpu"], profile["cuda"]
    except FileNotFoundError:
        raise ProfileMissing("This machine has not been measured yet: run `course doctor`.") from None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise ProfileMissing("The machine profile cannot be read: run `course doctor` to measure again.") from None
    if schema != PROFILE_SCHEMA:
        raise ProfileMissing(
            f"The machine profile has schema {schema!r} and this code reads {PROFILE_SCHEMA}: run `course doctor`."
        )
    entry = cuda if on == "cuda" or (on == "auto" and cuda) else cpu
    if entry is None:
        raise ProfileMissing(
            "The machine profile has no GPU: use on='auto', or run `course doctor` where there is one."
        )
    try:
        return measured(entry)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ProfileMissing("The machine profile is damaged: run `course doctor` to measure again.") from None


def measured(entry: Mapping) -> Device:
    """The Device of an entry of a profile or of a recording: the fields of `Device` and "measured_at", a date.

    Its levels are mappings of capacity in bytes and bandwidth in B/s (None: not told apart from the level beyond).
    """
    fields = dict(entry)
    source = ("measured here by `course doctor`", fields.pop("measured_at"))
    fields["levels"] = {name: Level(**level) for name, level in fields.get("levels", {}).items()}
    return Device(**fields, sources=dict.fromkeys(_MEASURED, source))
