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
from course_lib.words import words

say = words(__file__)


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
            say.all("headers"),
            self.lines,
            say("caption"),
            [self.problem] * bool(self.problem),
            side="left",
        )


def doctor(refresh: bool = False) -> Report:
    """Measure and keep a profile where none fits this machine and torch (or `refresh`), and report."""
    try:
        data, done, problem = _profile(refresh)
    except Unavailable as without_torch:
        return Report((*_software(), *_recordings("nothing")), str(without_torch))
    measured = [
        row
        for on in ("cpu", "cuda")
        if data[on]
        for row in (*_measured(on, data[on]), *_further(on, data["raw"].get(on, {})))
    ]
    lines = [*_software(), *measured, *_recordings("gpu" if data["cuda"] else "cpu"), (say("what", "measured"), done)]
    others = data["conditions"].get("used_by_others") or 0.0
    if others > machine.BUSY:
        lines.append(_line("busy", others=others))
    return Report(tuple(lines), problem)


def _profile(refresh: bool) -> tuple[dict, str, str]:
    """(profile, when and how it was measured, what went wrong in keeping it)."""
    if not refresh:
        try:
            data = profile.read()
            if not profile.stale(data):
                return data, say("measured", "kept", date=data["cpu"]["measured_at"]), ""
        except hardware.ProfileMissing:
            pass
    start = perf_counter()
    data = profile.measure(progress=bar("course doctor"))
    done = say("measured", "now", date=date.today().isoformat(), seconds=perf_counter() - start)
    try:
        profile.keep(data)
    except OSError as refusal:
        reason = refusal.strerror or type(refusal).__name__
        return data, done, say("not-kept", reason=reason)
    return data, done, ""


def _line(what: str, case: str = "", on: str = "", **values) -> tuple[str, str]:
    """A line of the report: what it is about (of the device `on`, where it is of one), and what was found."""
    return say("what", on, what) if on else say("what", what), say("found", case or what, **values)


def _software() -> list[tuple[str, str]]:
    this, compiler, python = machine.this(), machine.compiler(), platform.python_version()
    try:
        torch = timing.need_torch()
        threads = torch.get_num_threads()
        case = "one-thread" if threads == 1 else "threads"
        software = _line("software", case, python=python, torch=torch.__version__, threads=threads)
    except Unavailable:
        software = _line("software", "no-torch", python=python)
    missing = [what for name, what in say.table("packages").items() if not importlib.util.find_spec(name)]
    return [
        software,
        _line("processor", name=this.cpu_name, memory=units.format_bytes(this.memory)),
        _line("gpu", "gpu" if this.gpu else "no-gpu", name=this.gpu),
        _line("compiler", "compiler" if compiler else "no-compiler", path=compiler),
        _line("packages", "missing" if missing else "complete", packages=", ".join(missing)),
    ]


def _measured(on: str, entry: dict) -> list[tuple[str, str]]:
    device = hardware.measured(entry)
    peaks = ", ".join(f"{dtype} {units.format_si(rate, 'FLOP/s')}" for dtype, rate in device.peaks.items())
    dtype = "fp32" if on == "cpu" or "bf16" not in device.peaks else "bf16"
    ridge = units.format_si(roofline.ridge_point(device, dtype), "FLOP/B")
    return [
        _line("peak", on=on, peaks=peaks),
        _line("bandwidth", on=on, bandwidth=units.format_si(device.memory_bandwidth, "B/s")),
        *_levels(on, device),
        _line("ridge", on=on, ridge=ridge, dtype=dtype),
        _line("overhead", on=on, time=units.format_seconds(device.call_overhead)),
    ]


def _levels(on: str, device: hardware.Device) -> list[tuple[str, str]]:
    """The caches, all copies of each together, and how fast they were; no line where none is known."""
    found = [
        say(
            "cache",
            "measured" if level.bandwidth else "size",
            name=name.upper(),
            size=units.format_bytes(level.capacity, binary=True),
            rate=units.format_si(level.bandwidth or 0, "B/s"),
        )
        for name, level in device.levels.items()
    ]
    return [_line("caches", on=on, caches=", ".join(found))] if found else []


def _further(on: str, raw: dict) -> list[tuple[str, str]]:
    """What a full profile has beside the roofline; a line is left out where its measurement is missing."""
    rows = []
    if len(hops := _by_size(raw.get("latency", {}))) > 1:
        near, far = (units.format_seconds(hops[end]["median"], 2) for end in (min(hops), max(hops)))
        rows.append(_line("latency", on=on, near=near, far=far, size=units.format_bytes(max(hops), binary=True)))
    if "functions" in raw:
        cost = {name: units.format_seconds(1 / found["rate"], 2) for name, found in raw["functions"].items()}
        each = ", ".join(f"{name} {cost[name]}" for name in ("copy", "exp", "tanh", "softmax"))
        rows.append(_line("functions", "by-one-thread" if on == "cpu" else "functions", on, each=each))
    if fresh := _by_size(raw.get("fresh_allocation", {})):
        size, found = max(fresh.items())
        extra = units.format_seconds(max(found["new result"]["median"] - found["out="]["median"], 0.0), 2)
        rows.append(_line("fresh-memory", on=on, extra=extra, size=units.format_bytes(size, binary=True)))
    if "rate" in raw.get("disk", {}):
        rate = units.format_si(raw["disk"]["rate"], "B/s")
        rows.append(_line("disk", "disk-cold" if raw["disk"]["cold"] else "disk-warm", rate=rate))
    if "pcie" in raw:
        rates = {way: units.format_si(found["rate"], "B/s") for way, found in raw["pcie"].items()}
        rows.append(_line("copies", on=on, rates=", ".join(f"{way}: {rate}" for way, rate in rates.items())))
    if "launch" in raw:
        alone, row = (units.format_seconds(raw["launch"][name]["median"], 2) for name in ("alone", "in a row"))
        rows.append(_line("launch", on=on, alone=alone, row=row))
    return rows


def _by_size(found: dict) -> dict[int, dict]:
    """Measurements by their size in bytes, which JSON keeps as text."""
    return {int(size): record for size, record in found.items() if size.isdigit()}


def _recordings(live: str) -> list[tuple[str, str]]:
    """live: on what experiments run, a key of the table `live`."""
    ids = sorted({id for name in registry.names() for id in loading.recorded(name)})
    refused = [(say("what", "refused"), str(reason)) for reason in loading.refused().values()]
    recorded = _line("recorded", "recorded" if ids else "not-recorded", ids=", ".join(ids))
    return [(say("what", "live"), say("live", live)), recorded, *refused]
