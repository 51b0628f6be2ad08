"""The one shape of every experiment, and how one is run.

An experiment is a list of cases. A case says what it counts (`roofline.Op`s: FLOPs, bytes, calls), from which the
prediction follows without torch on any device, and builds the call that is timed. The experiment turns the timed cases
into the rows of its table.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from course_lib.accounting import hardware, roofline, units
from course_lib.experiments import machine, profile, timing
from course_lib.experiments.bench import Bench
from course_lib.experiments.result import Column, Result, frozen
from course_lib.experiments.timing import Timing

LARGE_CACHE = 64 * 10**6  # B; the smallest set of operands that is meant to exceed the caches
UNSTATED_OVERHEAD = 5e-6  # s; a call on a GPU that needs less than this by the roofline is ruled by its overhead


@dataclass(frozen=True)
class Case:
    """One thing to time.

    name: short and the same on every device, so that a recording can stand beside a live run. call: what runs, with its
    sizes. ops: all work of the case; their `calls` say how many framework calls. build: makes, from a Bench, the
    function that is timed. share: how much of the case one run of that function does (2 of 8 equal passes: 1/4); its
    time is divided by it.
    """

    name: str
    call: str
    ops: tuple[roofline.Op, ...]
    build: Callable[[Bench], Callable[[], object]]
    share: float = 1.0

    @property
    def flops(self) -> int:
        return sum(op.flops for op in self.ops)

    @property
    def bytes(self) -> int:
        return sum(op.bytes for op in self.ops)

    @property
    def calls(self) -> int:
        return sum(op.calls for op in self.ops)

    @property
    def intensity(self) -> float:
        """FLOP/B"""
        return self.flops / self.bytes

    def predict(self, device: hardware.Device) -> float | None:
        """Seconds on `device`; None where the data sheet cannot tell: the calls are so small that their unstated
        overhead decides.
        """
        seconds = roofline.predict_seconds(self.ops, device=device)
        if device.kind == "gpu" and not device.call_overhead and seconds / self.calls < UNSTATED_OVERHEAD:
            return None
        return seconds

    def bound(self, device: hardware.Device) -> str:
        """What most of the predicted time goes to: "compute", "memory" or "overhead"."""
        times = {"compute": 0.0, "memory": 0.0, "overhead": self.calls * device.call_overhead}
        for op in self.ops:
            place = roofline.place(flops=op.flops, bytes=op.bytes, device=device, dtype=op.dtype)
            times[place.bound] += place.seconds
        return max(times, key=times.get)


@dataclass(frozen=True)
class Experiment:
    """What a module of this package defines as `EXPERIMENT`.

    cases(device, quick): what is timed on a device of that kind; the quick cases come back from full too, timed longer.
    table(cases, timings, device): rows of typed values for the cases that were timed. predict(cases, device): case of
    the comparison -> predicted value, or None where it cannot be told. quantity: the column that was measured and is
    compared.
    """

    name: str
    question: str
    columns: tuple[Column, ...]
    quantity: str
    cases: Callable[[hardware.Device, bool], tuple[Case, ...]]
    table: Callable[[Sequence[Case], Mapping[str, Timing], hardware.Device], list[dict]]
    predict: Callable[[Sequence[Case], hardware.Device], dict[str, float | None]]
    plot: Callable[[Result], object]
    quick_seconds: float = 0.15  # time for one case
    full_seconds: float = 1.0
    on_gpu: str = ""  # what is different on a GPU, in a few words
    method: tuple[str, ...] = ()


def main_dtype(device: hardware.Device) -> str:
    """What deep learning computes in there: fp32 on a processor, bf16 on a GPU (fp16 where it lacks bf16)."""
    if device.kind == "cpu":
        return "fp32"
    return "bf16" if "bf16" in device.peaks else "fp16"


def repeated(op: roofline.Op, calls: int) -> roofline.Op:
    """`calls` times the same call."""
    return replace(op, flops=op.flops * calls, bytes=op.bytes * calls, calls=op.calls * calls)


def run(experiment: Experiment, on: str = "auto", quick: bool = True, progress=iter) -> Result:
    """Run `experiment` here and now; prints nothing. An interrupt returns what was measured until then."""
    on = timing.resolve_on(on)
    torch = timing.need_torch()
    device, profile_note = profile.current(on)
    bench = Bench.on_device(torch, on)
    cases, timings, interrupted = experiment.cases(device, quick), {}, False
    start = machine.Clock.now()
    seconds, at_least = (experiment.quick_seconds, 3) if quick else (experiment.full_seconds, 10)
    with torch.inference_mode():
        for case in progress(cases):
            try:
                timed = timing.measure(case.build(bench), seconds=seconds, at_least=at_least)
            except KeyboardInterrupt:
                interrupted = True
                break
            timings[case.name] = timed.scaled(1 / case.share)
            interrupted = timed.interrupted
            if interrupted:
                break
    others = start.used_by_others()
    if not timings:
        raise KeyboardInterrupt
    timed = [case for case in cases if case.name in timings]
    predicted = experiment.predict(timed, device)
    return Result(
        name=experiment.name,
        question=experiment.question,
        columns=experiment.columns,
        quantity=experiment.quantity,
        rows=tuple(units.FrozenDict(row) for row in experiment.table(timed, timings, device)),
        prediction=units.FrozenDict(predicted),
        raw=units.FrozenDict({name: timed.seconds for name, timed in timings.items()}),
        device=frozen(profile.entry(device)),
        provenance=frozen(
            {
                **profile.conditions(),
                "on": on,
                "date": date.today().isoformat(),
                "dtype": ", ".join(sorted({op.dtype for case in cases for op in case.ops})),
                "quick": quick,
                "interrupted": interrupted,
                "used_by_others": others,
                "profile": profile_note,
                "method": list(experiment.method),
                "notes": _notes(on, timings, cases, interrupted, others),
            }
        ),
    )


def _notes(
    on: str, timings: Mapping[str, Timing], cases: Sequence[Case], interrupted: bool, others: float | None
) -> list[str]:
    """What a reader of the numbers has to know."""
    notes = []
    if others is not None and others > machine.BUSY:
        notes.append(
            f"Other programs used {others:.0%} of the processor meanwhile: the times are longer than they need be."
        )
    if noisy := [name for name, timed in timings.items() if timed.spread > timing.NOISY]:
        notes.append(f"The repeats of these spread widely: {', '.join(noisy)}.")
    cache = machine.last_level_cache()
    if on == "cpu" and cache > LARGE_CACHE:
        notes.append(
            f"The last-level cache of this machine holds {units.format_bytes(cache)}: "
            "part of what is meant to come from memory comes from it."
        )
    if interrupted:
        notes.append(f"Interrupted: {len(timings)} of {len(cases)} cases were measured.")
    return notes


def rows_by_case(cases: Sequence[Case], timings: Mapping[str, Timing], device: hardware.Device) -> list[dict]:
    """One row for each case with the columns `CASE_COLUMNS`."""
    rows = []
    for case in cases:
        timed = timings[case.name]
        first, third = timed.quartiles
        rows.append(
            {
                "case": case.name,
                "call": case.call,
                "flops": case.flops,
                "bytes": case.bytes,
                "calls": case.calls,
                "intensity": case.intensity,
                "bound": case.bound(device),
                "predicted": roofline.predict_seconds(case.ops, device=device),
                "measured": timed.median,
                "q1": first,
                "q3": third,
                "attained": case.flops / timed.median,
                "repeats": len(timed.seconds),
            }
        )
    return rows


CASE_COLUMNS = (
    Column("case", "case", "", "str"),
    Column("call", "call", "", "str"),
    Column("flops", "FLOPs", "FLOP", "int"),
    Column("bytes", "bytes", "B", "int"),
    Column("calls", "calls", "", "int"),
    Column("intensity", "intensity", "FLOP/B", "float"),
    Column("bound", "bound by", "", "str"),
    Column("predicted", "predicted", "s", "float"),
    Column("measured", "measured", "s", "float"),
    Column("q1", "first quartile", "s", "float", shown=False),
    Column("q3", "third quartile", "s", "float", shown=False),
    Column("attained", "attained", "FLOP/s", "float"),
    Column("repeats", "repeats", "", "int", shown=False),
)


def seconds_by_case(cases: Sequence[Case], device: hardware.Device) -> dict[str, float | None]:
    """case -> predicted seconds, None where the data sheet cannot tell."""
    return {case.name: case.predict(device) for case in cases}
