"""Measuring a device for everybody: the profile and every experiment in one go, written as one JSON file.

Needs torch and the standard library only. A machine with a GPU is rare, so little may be lost when something fails on
it. An experiment that fails is recorded as unavailable, with its reason. What was measured is written after every
experiment, beside the file, with the ending .partial. The measuring is done by another process: one that crashes or
hangs is replaced, and the next one goes on with the next experiment.
"""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from course_lib import atomic
from course_lib.accounting import units
from course_lib.experiments import registry
from course_lib.experiments.profile import gauges, machine, profile
from course_lib.experiments.recordings import loading
from course_lib.experiments.running import experiment, timing
from course_lib.experiments.running.errors import Unavailable, in_one_line
from course_lib.experiments.running.progress_bar import bar
from course_lib.experiments.running.result import Result, canonical, frozen
from course_lib.words import words

say = words(__file__)

SECONDS = 440.0  # for a whole recording, its last experiment aside
BUDGET = 25.0  # s for an experiment that does not state what it needs; a case that has begun is not stopped
HANGS = 120.0  # s without a word from the measuring process: it hangs, or compiles for longer than it is worth
GRACE = 30.0  # s that the last experiment may take beyond `SECONDS`


def record(
    on: str = "auto",
    only: Sequence[str] | None = None,
    out: str | os.PathLike | None = None,
    quick: bool = False,
    apart: bool = False,
) -> tuple[Path, bool]:
    """Measure and write a recording; return its path, and whether it is complete.

    on: "cpu", "cuda", or "auto" (the GPU if there is one). only: names of experiments (default: all). out: the file; by
    default the folder of recordings, named after the device. quick: few repeats, to try the recorder out. apart:
    measure in another process, so that a crash or a hang costs one experiment. An interrupted recording stays beside
    the file, with the ending .partial, and replaces nothing. Where the file is a recording of this device, `only`
    renews those experiments in it and leaves the others as they are; each result says when and how it was measured. An
    unknown experiment is refused before anything is measured. Unavailable where not one experiment could be measured.
    """
    on = timing.resolve_on(on)
    chosen = tuple(units.choice(name, "only", registry.names()) for name in only or registry.names())
    this = machine.this()
    id = loading.device_id("cpu", this.cpu_name) if on == "cpu" else loading.device_id("gpu", this.gpu or "gpu")
    path = Path(out) if out else loading.folder() / f"{id}.json"
    command = " ".join(["course record", f"--on {on}", *(["--only", *only] if only else [])])
    state = _State(path.with_name(f"{path.name}.partial"), on, id, command, _to_renew(path, id) if only else {})
    (_supervise if apart else _here)(state, chosen, quick, time.monotonic() + SECONDS)
    if state.interrupted and not state.results:
        raise KeyboardInterrupt
    if not state.results:
        reasons = " ".join(f"{name}: {reason}" for name, reason in state.unavailable.items())
        raise Unavailable(f"Nothing could be recorded. {reasons}".rstrip())
    if state.interrupted:
        return state.partial, False
    loading.read(state.partial)
    os.replace(state.partial, path)
    return path, True


def check(file: str | os.PathLike) -> str:
    """What the recording in `file` holds, and what it lacks and why; Unavailable with the reason if it is not valid."""
    data = loading.read(Path(file))
    held = ", ".join(name for name in registry.names() if name in data["results"])
    return "\n".join(
        [
            say("valid", file=Path(file).name, held=held, **(data["device"] | data["conditions"])),
            *(say("unavailable", name=name, reason=reason) for name, reason in loading.unavailable(data).items()),
        ]
    )


def _to_renew(path: Path, id: str) -> dict:
    """The recording in a file, empty where there is none that can be read. Unavailable if it is of another device."""
    try:
        before = loading.read(path)
    except Unavailable:
        return {}
    if before["device"]["id"] != id:
        raise Unavailable(
            f"{path.name} is a recording of {before['device']['id']}, and this is {id}: name another file with --out."
        )
    return before


# ---------------------------------------------------------------- what was measured so far


@dataclass
class _State:
    """The recording as far as it has come; every message of the measuring process adds to it and is written at once."""

    partial: Path
    on: str
    id: str
    command: str
    before: dict = field(default_factory=dict)  # the recording in which some experiments are renewed
    profile: dict = field(default_factory=dict)  # empty until it has been measured
    results: dict[str, Result] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)
    gauges: dict[str, dict] = field(default_factory=dict)
    running: str | None = None  # the experiment that was begun last
    interrupted: bool = False

    def take(self, kind: str, name: str, content=None, readings=None) -> None:
        """A message: ("begin", name), ("profile", "profile", data, readings), ("result", name, result, readings),
        ("unavailable", name, reason).
        """
        if kind == "begin":
            self.running = name
            return
        if kind == "profile":
            self.profile = content
        elif kind == "result":
            self.results[name] = replace(content, device=frozen(self._entry()))
            self.interrupted |= content.provenance["interrupted"]
        else:
            self.unavailable[name] = content
            print(say("unavailable", name=name, reason=content), file=sys.stderr, flush=True)
        if readings:
            self.gauges[name] = readings
        if self.profile:
            self._write()

    def _entry(self) -> dict:
        return {**self.profile[self.on], "id": self.id}

    def _write(self) -> None:
        data, conditions = self.profile, self.profile["conditions"]
        results = list(self.results.values())
        written = loading.combine(
            self._entry(), conditions, data["raw"][self.on], results, self.command, self.unavailable, self.gauges
        )
        if self.before:
            written = loading.renewed(self.before, written)
        atomic.replace(self.partial, canonical(written))

    def left(self, chosen: Sequence[str]) -> list[str]:
        return [name for name in chosen if name not in self.results and name not in self.unavailable]


# ---------------------------------------------------------------- measuring


def _here(state: _State, chosen: Sequence[str], quick: bool, until: float) -> None:
    """Measure in this process."""
    _measure(state.on, chosen, quick, until - time.monotonic(), {}, state.take)
    for name in [] if state.interrupted else state.left(chosen):
        state.take("unavailable", name, say("unusable"))


def _measure(
    on: str, names: Sequence[str], quick: bool, seconds: float, measured: dict, tell: Callable[..., None]
) -> None:
    """Measure the profile, unless `measured` holds it, and the experiments `names` within about so many seconds.

    Ends early after an interrupt, and where the GPU answers no more: a kernel that went wrong spoils the whole process.
    """
    until, torch = time.monotonic() + seconds, timing.need_torch()
    if not measured:
        tell("begin", "profile")
        measured = _profile(quick)
        with gauges.reading(torch) as gauge:
            tell("profile", "profile", measured, gauge and gauge.state())
    profile.use(measured)
    for number, name in enumerate(names):
        remaining = until - time.monotonic()
        if remaining <= 0:
            tell("unavailable", name, say("time-was-up"))
            continue
        tell("begin", name)
        try:
            chosen, share = registry.get(name), 2 * remaining / (len(names) - number)  # most take less than their share
            budget = max(chosen.recording_seconds, min(BUDGET, share))
            result = experiment.run(chosen, on, quick, bar(name), budget)
        except Exception as problem:
            tell("unavailable", name, in_one_line(problem))
        else:
            with gauges.reading(torch) as gauge:
                tell("result", name, result, gauge and gauge.state())
            if result.provenance["interrupted"]:
                return
        if on == "cuda" and not _answers(torch):
            return


def _profile(quick: bool) -> dict:
    """The machine's profile; where a part of the full one fails, the quick one and the reason."""
    try:
        return profile.measure(quick=quick, progress=bar("profile"))
    except Exception as problem:
        if quick:
            raise
        measured = profile.measure(quick=True, progress=bar("quick profile"))
        measured["conditions"]["not_in_full"] = in_one_line(problem)
        return measured


def _answers(torch) -> bool:
    """Whether the GPU still works in this process; what the last experiment held is given back."""
    try:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
    except RuntimeError:
        return False
    return True


def _supervise(state: _State, chosen: Sequence[str], quick: bool, until: float) -> None:
    """Measure in other processes, one after another, until every experiment has its result or its reason."""
    spawn = multiprocessing.get_context("spawn")  # a forked process could not use CUDA
    while (left := state.left(chosen)) and not state.interrupted:
        receiver, sender = spawn.Pipe(duplex=False)
        task = (state.on, left, quick, until - time.monotonic(), state.profile, sender)
        process = spawn.Process(target=_worker, args=task)
        process.start()
        sender.close()
        state.running = None
        try:
            with _interrupts_noted(state):
                reason = _listen(state, receiver, until)
        finally:
            _end(process)
        if state.interrupted:
            return
        reason = reason or say("ended", code=process.exitcode)
        if not state.profile:
            raise Unavailable(f"The profile of this machine could not be measured. {reason}")
        if state.running is not None and state.running in state.left(chosen):
            state.take("unavailable", state.running, reason)
        elif state.left(chosen) == left:
            raise Unavailable(f"No experiment could be begun. {reason}")


@contextmanager
def _interrupts_noted(state: _State) -> Iterator[None]:
    """For the length of a with-block a first interrupt is noted only, so that no message is lost halfway: the measuring
    process has heard it too, tells what it has, and ends. A second one is a KeyboardInterrupt.
    """

    def note(signum, frame):
        if state.interrupted:
            raise KeyboardInterrupt
        state.interrupted = True

    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _listen(state: _State, receiver, until: float) -> str | None:
    """Take messages until the process ends (None) or says nothing for so long that it must be stopped (the reason)."""
    while receiver.poll(patience := min(HANGS, max(until + GRACE - time.monotonic(), 1.0))):
        try:
            state.take(*receiver.recv())
        except EOFError:
            return None
    return say("stopped", seconds=patience)


def _end(process) -> None:
    """Wait a little for a process that has said its last word, then end it."""
    process.join(5)
    for stop in (process.terminate, process.kill):
        if process.is_alive():
            stop()
            process.join(5)


def _worker(on, names, quick, seconds, measured, sender) -> None:
    """What the measuring process runs."""
    try:
        _measure(on, names, quick, seconds, measured, lambda *message: sender.send(message))
    except KeyboardInterrupt:
        pass  # what it has is told
    finally:
        sender.close()
