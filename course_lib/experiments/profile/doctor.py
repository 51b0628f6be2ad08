"""What `course doctor` says: what this machine has, what it measured, and what of the course is live on it."""

import importlib.util
import platform
from dataclasses import dataclass
from datetime import date
from time import perf_counter

from course_lib.accounting import hardware, roofline, units
from course_lib.experiments import registry
from course_lib.experiments.profile import machine, profile
from course_lib.experiments.recordings import loading
from course_lib.experiments.running import timing
from course_lib.experiments.running.errors import Unavailable
from course_lib.experiments.running.progress_bar import bar
from course_lib.figures.tabular import html_table

# What each optional package is for; a missing one is a line of the report.
_OPTIONAL = {
    "numpy": "the exercises on arrays",
    "matplotlib": "figures (their words remain)",
    "ipywidgets": "sliders and cards that answer (their static form remains)",
    "anywidget": "the moving pictures of the explorers (tables remain)",
}


@dataclass(frozen=True)
class Report:
    """lines: (what, finding) pairs.

    problem: one line on what could not be done (nothing measured, nothing kept), or "".
    """

    lines: tuple[tuple[str, str], ...]
    problem: str = ""

    def text(self) -> str:
        """The lines in two columns, without the problem."""
        width = max(len(what) for what, _ in self.lines)
        return "\n".join(f"{what.ljust(width)}  {finding}" for what, finding in self.lines)

    def __str__(self) -> str:
        return f"{self.text()}\n{self.problem}" if self.problem else self.text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(
            ("this machine", "found"),
            self.lines,
            "What this machine has, what is live and what is recorded",
            [self.problem] * bool(self.problem),
            side="left",
        )


def doctor(refresh: bool = False) -> Report:
    """Measure and keep a profile where none fits this machine and torch (or `refresh`), and report."""
    try:
        data, done, problem = _profile(refresh)
    except Unavailable as without_torch:
        return Report((*_software(), *_recordings(live="")), str(without_torch))
    measured = [
        row
        for on in ("cpu", "cuda")
        if data[on]
        for row in (*_measured(on, data[on]), *_further(on, data["raw"].get(on, {})))
    ]
    live = "the GPU" if data["cuda"] else "the processor"
    lines = [*_software(), *measured, *_recordings(live), ("measured", done)]
    others = data["conditions"].get("used_by_others") or 0.0
    if others > machine.BUSY:
        lines.append(
            ("busy", f"other programs used {others:.0%} of the processor meanwhile; measure again when it is quiet")
        )
    return Report(tuple(lines), problem)


def _profile(refresh: bool) -> tuple[dict, str, str]:
    """(profile, when and how it was measured, what went wrong in keeping it)."""
    if not refresh:
        try:
            data = profile.read()
            if not profile.stale(data):
                return data, f"{data['cpu']['measured_at']}, kept and still valid", ""
        except hardware.ProfileMissing:
            pass
    start = perf_counter()
    data = profile.measure(progress=bar("course doctor"))
    done = f"{date.today().isoformat()}, in {perf_counter() - start:.0f} s"
    try:
        profile.keep(data)
    except OSError as refusal:
        reason = refusal.strerror or type(refusal).__name__
        return (
            data,
            done,
            f"The profile could not be kept ({reason}): set COURSE_CACHE to a folder that can be written.",
        )
    return data, done, ""


def _software() -> list[tuple[str, str]]:
    this = machine.this()
    try:
        torch = timing.need_torch()
        version = f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads"
    except Unavailable:
        version = "no PyTorch"
    missing = [f"{name} ({use})" for name, use in _OPTIONAL.items() if not _installed(name)]
    compiler = machine.compiler()
    return [
        ("software", f"Python {platform.python_version()}, {version}"),
        ("processor", f"{this.cpu_name}, {units.format_bytes(this.memory)} of memory"),
        ("GPU", this.gpu or "none that torch sees: measured cells run on the processor"),
        ("C++ compiler", compiler or "none: torch.compile on the processor is lost, everything else works"),
        ("packages", f"missing: {', '.join(missing)}; `make lab` installs them" if missing else "complete"),
    ]


def _installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


def _measured(on: str, entry: dict) -> list[tuple[str, str]]:
    device = hardware.measured(entry)
    where = "processor" if on == "cpu" else "GPU"
    peaks = ", ".join(f"{dtype} {units.format_si(rate, 'FLOP/s')}" for dtype, rate in device.peaks.items())
    dtype = "fp32" if on == "cpu" or "bf16" not in device.peaks else "bf16"
    ridge = units.format_si(roofline.ridge_point(device, dtype), "FLOP/B")
    bandwidth = units.format_si(device.memory_bandwidth, "B/s")
    return [
        (f"{where}, peak", peaks),
        (f"{where}, bandwidth", f"{bandwidth} (additions on arrays larger than the caches)"),
        *_levels(where, device),
        (f"{where}, ridge", f"{ridge} in {dtype}: work of a lower intensity waits for memory"),
        (f"{where}, overhead", f"{units.format_seconds(device.call_overhead)} for one framework call, however small"),
    ]


def _levels(where: str, device: hardware.Device) -> list[tuple[str, str]]:
    """The caches, all copies of each together, and how fast they were; no line where none is known."""
    found = [
        f"{name.upper()} {units.format_bytes(level.capacity, binary=True)}"
        + (f" at {units.format_si(level.bandwidth, 'B/s')}" if level.bandwidth else "")
        for name, level in device.levels.items()
    ]
    return [(f"{where}, caches", ", ".join(found))] if found else []


def _further(on: str, raw: dict) -> list[tuple[str, str]]:
    """What a full profile has beside the roofline; a line is left out where its measurement is missing."""
    where, rows = "processor" if on == "cpu" else "GPU", []
    if len(hops := _by_size(raw.get("latency", {}))) > 1:
        near, far = (units.format_seconds(hops[end]["median"], 2) for end in (min(hops), max(hops)))
        size = units.format_bytes(max(hops), binary=True)
        rows.append((f"{where}, latency", f"{near} for a load from the nearest cache, {far} at random in {size}"))
    if "functions" in raw:
        cost = {name: units.format_seconds(1 / found["rate"], 2) for name, found in raw["functions"].items()}
        by = ", by one thread" if on == "cpu" else ""
        each = ", ".join(f"{name} {cost[name]}" for name in ("copy", "exp", "tanh", "softmax"))
        rows.append((f"{where}, functions", f"{each} for each element{by}"))
    if fresh := _by_size(raw.get("fresh_allocation", {})):
        size, found = max(fresh.items())
        extra = max(found["new result"]["median"] - found["out="]["median"], 0.0)
        size, extra = units.format_bytes(size, binary=True), units.format_seconds(extra, 2)
        rows.append((f"{where}, fresh memory", f"{extra} more for a new result of {size} than for a reused one"))
    if "rate" in raw.get("disk", {}):
        kind = "dropped from the page cache before" if raw["disk"]["cold"] else "from the system's page cache"
        rows.append(("disk", f"{units.format_si(raw['disk']['rate'], 'B/s')}, a file {kind}"))
    if "pcie" in raw:
        rates = {way: units.format_si(found["rate"], "B/s") for way, found in raw["pcie"].items()}
        rows.append((f"{where}, copies", ", ".join(f"{way}: {rate}" for way, rate in rates.items())))
    if "launch" in raw:
        alone, row = (units.format_seconds(raw["launch"][name]["median"], 2) for name in ("alone", "in a row"))
        rows.append((f"{where}, launch", f"{alone} for a tiny kernel alone, {row} for one of many in a row"))
    return rows


def _by_size(found: dict) -> dict[int, dict]:
    """Measurements by their size in bytes, which JSON keeps as text."""
    return {int(size): record for size, record in found.items() if size.isdigit()}


def _recordings(live: str) -> list[tuple[str, str]]:
    ids = sorted({id for name in registry.names() for id in loading.recorded(name)})
    refused = [str(reason) for reason in loading.refused().values()]
    rows = [("live", f"experiments run on {live}" if live else "nothing: measured cells need PyTorch")]
    rows.append(("recorded", ", ".join(ids) if ids else "no device yet"))
    return [*rows, *(("refused", reason) for reason in refused)]
