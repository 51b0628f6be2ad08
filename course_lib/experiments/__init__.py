"""What is measured: `run` measures here and now, `load` replays a recording; both give the same `Result`.

    r = experiments.run("same_flops")     # predict, measure, table
    r.compare()                           # predicted, measured here, recorded, ratio
    experiments.load("same_flops")        # a recorded device; needs no torch
    experiments.published.names()         # what others measured, beside what `accounting` predicts

Storey above `accounting`; torch is imported inside functions only.
"""

from course_lib.experiments import published as published
from course_lib.experiments.recordings.loading import load, recorded
from course_lib.experiments.recordings.side_by_side import SideBySide
from course_lib.experiments.running.errors import Unavailable
from course_lib.experiments.running.result import Column, Result

__all__ = ["Column", "Result", "SideBySide", "Unavailable", "doctor", "here", "load", "names", "recorded", "run"]


def names() -> tuple[str, ...]:
    """The experiments that there are."""
    from course_lib.experiments import registry

    return registry.names()


def run(name: str, on: str = "auto", quick: bool = True) -> Result:
    """Run experiment `name` on this machine and return what was predicted and measured; prints nothing.

    on: "cpu", "cuda", or "auto" (the GPU if torch sees one). quick: few repeats (seconds); else many, with a progress
    bar. Stopping a run returns what was measured until then. Without a kept profile (`course doctor`) a quick one is
    measured first and stays in memory. Where this machine cannot run it (no torch in the kernel, or no GPU where one is
    needed), "auto" gives a recording, marked as `replayed`. Unavailable (a ValueError) without torch or
    CUDA where they are asked for, or with neither torch nor a recording.
    """
    from course_lib.experiments import registry
    from course_lib.experiments.running import experiment
    from course_lib.experiments.running.progress_bar import bar

    found = registry.get(name)
    if on == "auto" and recorded(name) and not _measurable(found):
        return load(name)
    return experiment.run(found, on, quick, iter if quick else bar(name))


def _measurable(found) -> bool:
    """Whether this machine can run an experiment: with torch, and with a GPU where it needs one."""
    from course_lib.experiments.running import timing

    return timing.has_torch() and not (found.gpu_only and timing.resolve_on("auto") == "cpu")


def here(on: str = "auto"):
    """The measured `hardware.Device` that live predictions use: the kept profile, else a quick one (≤ 3 s) in memory.

    on: "cpu", "cuda", or "auto" (the GPU if torch sees one). Without torch: the device of the recording that `run`
    replays, else Unavailable.
    """
    from course_lib.accounting import hardware
    from course_lib.experiments.profile import profile
    from course_lib.experiments.running import timing

    if not timing.has_torch() and recorded("same_flops"):
        return hardware.measured(load("same_flops").device)
    return profile.current(timing.resolve_on(on))[0]


def doctor(refresh: bool = False):
    """What this machine has, what will be live and what recorded: a report that shows itself in a notebook.

    Reads the kept profile; measures (≤ 20 s) and keeps a new one where none fits this machine and torch, or with
    `refresh=True`.
    """
    from course_lib.experiments.profile import doctor

    return doctor.doctor(refresh)
