"""Devices: dense peak rates, memory bandwidth and capacity with their sources, and the machine that was measured.

The catalogue is `hardware.toml`. Peaks are the vendor's *dense* figures: structured sparsity is never counted.
Capacities are the printed figures, read as decimal (80 GB is 80e9 bytes).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from course_lib.accounting import precision, units

PROFILE_SCHEMA = 1


class ProfileMissing(RuntimeError):  # noqa: N818 (a state of the machine, not a fault of the caller)
    """This machine has not been measured, or its profile cannot be read; the message says what to run."""


@dataclass(frozen=True)
class Device:
    """One device.

    peaks: dtype -> dense FLOP/s (for integer dtypes: operations per second). memory_bandwidth: B/s of main memory.
    memory_capacity: bytes. call_overhead: seconds that one framework call costs whatever its size; 0 means unknown (no
    data sheet states it; `course doctor` measures it on your machine). sources: field -> (title or url, date).
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

    def __post_init__(self):
        def fix(name, value):
            object.__setattr__(self, name, value)

        units.choice(self.kind, "kind", ("gpu", "cpu", "tpu"))
        if not isinstance(self.peaks, Mapping) or not self.peaks:
            raise ValueError(
                f"peaks={self.peaks!r} must map at least one dtype to FLOP/s, such as {{'fp32': 19.5e12}}."
            )
        fix("peaks", units.FrozenDict({_dtype(d): units.peak_rate(v, f"peaks[{d!r}]") for d, v in self.peaks.items()}))
        fix("memory_bandwidth", units.bandwidth(self.memory_bandwidth, "memory_bandwidth"))
        fix("memory_capacity", units.capacity(self.memory_capacity, "memory_capacity"))
        fix("call_overhead", units.number(self.call_overhead, "call_overhead"))
        if self.call_overhead > 1:
            raise ValueError(f"call_overhead={self.call_overhead!r} looks like µs; this takes seconds (5 µs is 5e-6).")
        fix("sources", units.FrozenDict({k: tuple(v) for k, v in self.sources.items()}))

    def __hash__(self):
        return hash((self.id, self.memory_bandwidth, self.memory_capacity))

    def peak(self, dtype) -> float:
        """Dense peak of `dtype` in FLOP/s. ValueError, naming what the device has, when it lacks `dtype`."""
        dtype = precision.normalise(dtype)
        if dtype not in self.peaks:
            raise ValueError(f"dtype={dtype!r}: {self.id} has no peak for it. It has {', '.join(self.peaks)}.")
        return self.peaks[dtype]

    def source(self, field: str) -> tuple[str, str]:
        """(title or url, date) of "peaks", "memory_bandwidth" or "memory_capacity".

        A value that was replaced has no source: ValueError.
        """
        if field not in self.sources:
            listed = ", ".join(self.sources) or "nothing"
            raise ValueError(f"field={field!r}: {self.id} records no source for it. It records one for {listed}.")
        if self.id in _catalogue() and getattr(load(self.id), field) != getattr(self, field):
            raise ValueError(
                f"field={field!r} of {self.id} was replaced here; the catalogue's source does not vouch for it."
            )
        return self.sources[field]


_SOURCED = ("peaks", "memory_bandwidth", "memory_capacity")


def _dtype(dtype) -> str:
    return precision.normalise(dtype, "peaks")


@cache
def _catalogue() -> dict[str, dict]:
    import tomllib  # read on first use: importing the calculators stays cheap
    from importlib import resources

    return tomllib.loads(resources.files(__package__).joinpath("hardware.toml").read_text("utf-8"))


def names() -> tuple[str, ...]:
    """Ids of every device in the catalogue. Recordings use the same ids."""
    return tuple(_catalogue())


@cache
def _load(id: str) -> Device:
    entry = dict(_catalogue()[id])
    source, overrides = entry.pop("source"), entry.pop("sources", {})
    return Device(id=id, **entry, sources={name: overrides.get(name, source) for name in _SOURCED})


def load(id: str) -> Device:
    """The device `id` of the catalogue; an unknown id is a ValueError with the nearest."""
    return _load(units.choice(id, "device", names()))


def resolve(device) -> Device:
    """A Device from a Device or an id: what every `device=` in `accounting` accepts."""
    if isinstance(device, Device):
        return device
    if not isinstance(device, str):
        raise ValueError(f"device={device!r} must be an id such as 'h100-sxm' or a hardware.Device.")
    return load(device)


# ---------------------------------------------------------------- the machine at hand


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
        entry = dict(entry)
        source = ("measured here by `course doctor`", entry.pop("measured_at"))
        return Device(**entry, sources=dict.fromkeys((*_SOURCED, "call_overhead"), source))
    except (ValueError, KeyError, TypeError):
        raise ProfileMissing("The machine profile is damaged: run `course doctor` to measure again.") from None
