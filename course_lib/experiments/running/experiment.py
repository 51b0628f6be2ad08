"""The one shape of every experiment, and how one is run.

An experiment is a list of cases. Most cases say what they count (`roofline.Op`s: FLOPs, bytes, calls), from which the
prediction follows without torch on any device, and build the call that is timed; others observe a quantity themselves
(bytes that a step allocates, a rate) and predict it in their own way. The experiment turns the measured cases into the
rows of its table.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from course_lib.accounting import hardware, roofline, units
from course_lib.experiments.profile import machine, profile
from course_lib.experiments.running import timing
from course_lib.experiments.running.bench import Bench
from course_lib.experiments.running.errors import Unavailable, in_one_line
from course_lib.experiments.running.result import Column, Result, frozen
from course_lib.experiments.running.rows import Predict, Table, predicted_by_case, rows_of_quantity
from course_lib.experiments.running.timing import Repeats
from course_lib.words import Words, words

say = words(__file__)

LARGE_CACHE = 64 * 10**6  # B; the smallest set of operands that is meant to exceed the caches
UNSTATED_OVERHEAD = 5e-6  # s; a call on a GPU that needs less than this by the roofline is ruled by its overhead


@dataclass(frozen=True)
class Case:
    """One thing to measure, in one of two ways: timed (`build`), or observed (`observe`).

    name: short and the same on every device, so that a recording can stand beside a live run. call: what runs, with its
    sizes. ops: all work of the case; their `calls` say how many framework calls. build: makes, from a Bench, the
    function that is timed. share: how much of the case one run of that function does (2 of 8 equal passes: 1/4); its
    time is divided by it. gradients: whether autograd is on while it runs. observe: measures, with a Bench and for
    about so many seconds, and gives every repeat of the quantity; autograd is on. Either raises Unavailable where the
    machine lacks what the case needs (a compiler): the case is then left out, and a note says why. expect: device ->
    the predicted value of the quantity, None where nothing predicts it; without it, the roofline's seconds for `ops`,
    None without those.
    facts: further values of the row, by the key of their column.
    """

    name: str
    call: str
    ops: tuple[roofline.Op, ...] = ()
    build: Callable[[Bench], Callable[[], object]] | None = None
    share: float = 1.0
    gradients: bool = False
    observe: Callable[[Bench, float], Sequence[float]] | None = None
    expect: Callable[[hardware.Device], float | None] | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self):
        if (self.build is None) == (self.observe is None):
            raise ValueError(
                f"Case {self.name!r} must have exactly one of build (timed) and observe (measures itself)."
            )

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
        """The quantity on `device`, seconds unless `expect` says otherwise; None where the data sheet cannot tell: the
        calls are so small that their unstated overhead decides.
        """
        if self.expect:
            return self.expect(device)
        if not self.ops:
            return None
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
        return max(times, key=times.__getitem__)


@dataclass(frozen=True)
class Experiment:
    """What the module of an experiment defines as `EXPERIMENT`.

    say: the words beside the module: question, method, "on-gpu" (what runs on a GPU, in a few words: where something is
    predicted for one) and "gpu-only" (one sentence that says why a processor has nothing to show here). cases(device,
    quick): what is measured on a device of that kind; the quick cases come back from full too, measured longer.
    table(cases, timings, device): rows of typed values for the cases that were measured. predict(cases, device): case
    of the comparison -> predicted value, or None where it cannot be told. quantity: the column that was measured and is
    compared. timed: whether any column is a time or a rate; what runs beside them does not disturb bytes and counts.
    method: the values that its sentences name.
    """

    say: Words
    cases: Callable[[hardware.Device, bool], tuple[Case, ...]]
    plot: Callable[[Result], object]
    columns: tuple[Column, ...]
    quantity: str = "measured"
    table: Table = rows_of_quantity
    predict: Predict = predicted_by_case
    timed: bool = True
    quick_seconds: float = 0.15  # time for one case
    full_seconds: float = 1.0
    recording_seconds: float = 0.0  # for all full cases, where a recorder's usual budget is too short for them
    method: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.say.name

    @property
    def question(self) -> str:
        return self.say("question")

    @property
    def on_gpu(self) -> str:
        return self.say("on-gpu")

    @property
    def gpu_only(self) -> str:
        return self.say.table().get("gpu-only", "")


def main_dtype(device: hardware.Device) -> str:
    """What deep learning computes in there: fp32 on a processor, bf16 on a GPU (fp16 where it lacks bf16)."""
    if device.kind == "cpu":
        return "fp32"
    return "bf16" if "bf16" in device.peaks else "fp16"


def repeated(op: roofline.Op, calls: int) -> roofline.Op:
    """`calls` times the same call."""
    return replace(op, flops=op.flops * calls, bytes=op.bytes * calls, calls=op.calls * calls)


def run(
    experiment: Experiment, on: str = "auto", quick: bool = True, progress=iter, budget: float | None = None
) -> Result:
    """Run `experiment` here and now; prints nothing. An interrupt returns what was measured until then.

    budget: seconds for all cases together, as the recorder gives. Cases then get less time each, those that would start
    later are left out, and one that fails is left out with its reason, so that the others are not lost with it.
    """
    on = timing.resolve_on(on)
    if on == "cpu" and experiment.gpu_only:
        raise Unavailable(experiment.gpu_only)
    torch = timing.need_torch()
    device, profile_note = profile.current(on)
    bench = Bench.on_device(torch, on)
    cases, timings, interrupted = experiment.cases(device, quick), {}, False
    start = machine.Clock.now()
    seconds, at_least = (experiment.quick_seconds, 3) if quick else (experiment.full_seconds, 10)
    if budget:
        seconds = min(seconds, 0.6 * budget / len(cases))  # the rest is for building the cases
    begun, too_large, left_out = time.monotonic(), [], {}
    for case in progress(cases):
        if budget and time.monotonic() - begun > budget:
            left_out[case.name] = say("over", seconds=budget)
            continue
        try:
            with torch.inference_mode(case.build is not None and not case.gradients):
                timings[case.name] = _measure(case, bench, seconds, at_least)
            interrupted = timings[case.name].interrupted
        except KeyboardInterrupt:
            interrupted = True
        except Unavailable as reason:
            left_out[case.name] = in_one_line(reason)
        except Exception as problem:
            if _out_of_memory(problem):
                too_large.append(case.name)
            elif budget:
                left_out[case.name] = in_one_line(problem)
            else:
                raise
        if interrupted:
            break
    others = start.used_by_others() if experiment.timed else None
    if not timings and interrupted:
        raise KeyboardInterrupt
    if not timings and left_out:
        raise Unavailable(f"{experiment.name}: nothing could be measured. {' '.join(_sentences(left_out))}")
    if not timings:
        raise Unavailable(f"{experiment.name}: no case fits into the memory of this machine.")
    done = [case for case in cases if case.name in timings]
    predicted = experiment.predict(done, device)
    return Result(
        name=experiment.name,
        question=experiment.question,
        columns=experiment.columns,
        quantity=experiment.quantity,
        rows=tuple(units.FrozenDict(row) for row in experiment.table(done, timings, device)),
        prediction=units.FrozenDict(predicted),
        raw=units.FrozenDict({name: timed.values for name, timed in timings.items()}),
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
                "profile": profile_note if experiment.timed else say("untimed"),
                "method": list(experiment.say.all("method", **experiment.method)),
                "notes": _notes(experiment, on, timings, cases, too_large, left_out, interrupted, others),
            }
        ),
    )


def _measure(case: Case, bench: Bench, seconds: float, at_least: int) -> timing.Repeats:
    if case.observe:
        return Repeats(tuple(float(value) for value in case.observe(bench, seconds)))
    return timing.measure(case.build(bench), seconds=seconds, at_least=at_least).scaled(1 / case.share)


def _out_of_memory(problem: BaseException) -> bool:
    """Whether torch or Python ran out of memory: the GPU's allocator has a class of its own, the CPU's only says so."""
    words = ("out of memory", "not enough memory", "can't allocate memory")
    return isinstance(problem, MemoryError) or any(word in str(problem).lower() for word in words)


def _notes(
    experiment: Experiment,
    on: str,
    timings: Mapping[str, Repeats],
    cases: Sequence[Case],
    too_large: Sequence[str],
    left_out: Mapping[str, str],
    interrupted: bool,
    others: float | None,
) -> list[str]:
    """What a reader of the numbers has to know."""
    notes = []
    if others is not None and others > machine.BUSY:
        notes.append(say("notes", "busy", others=others))
    if noisy := [name for name, timed in timings.items() if timed.spread > timing.NOISY]:
        notes.append(say("notes", "noisy", cases=", ".join(noisy)))
    cache = machine.last_level_cache()
    if on == "cpu" and experiment.timed and cache > LARGE_CACHE:
        notes.append(say("notes", "cache", size=units.format_bytes(cache)))
    if too_large:
        notes.append(say("notes", "too-large", cases=", ".join(too_large)))
    notes += _sentences(left_out)
    if interrupted:
        notes.append(say("notes", "interrupted", measured=len(timings), cases=len(cases)))
    return notes


def _sentences(left_out: Mapping[str, str]) -> list[str]:
    """One sentence for each reason, with all cases that it left out."""
    reasons: dict[str, list[str]] = {}
    for case, reason in left_out.items():
        reasons.setdefault(reason, []).append(case)
    return [say("notes", "left-out", cases=", ".join(cases), reason=reason) for reason, cases in reasons.items()]
