"""Five training loops with a fault each: their phases, and what four remedies give. Called A to E, so that the lesson can
ask what is wrong with them.
"""

from functools import cache, partial

from course_lib.accounting import hardware
from course_lib.experiments.running import timing
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.q19_systems_thinking import programs
from course_lib.units.q19_systems_thinking.programs import BATCH, CLASSES, CURES, INPUTS, PHASES, PROGRAMS, WIDTH
from course_lib.words import words

say = words(__file__)

READINGS = ("step", *PHASES, "kept", *CURES)
PAIRS = (INPUTS * WIDTH, WIDTH * WIDTH, WIDTH * CLASSES)  # multiplications an example in each layer
FORWARD = sum(PAIRS) / (3 * sum(PAIRS) - PAIRS[0])  # of both passes; nobody asks for the gradient of the input


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """The readings of each program; full has more steps."""
    run = cache(_run)  # each program once, for all its readings
    return tuple(
        Case(
            f"{name}: {reading}",
            say("calls", reading),
            observe=lambda bench, seconds, program=program, reading=reading: [run(bench, seconds, program)[reading]],
            expect=partial(_expected, program=program, reading=reading),
            facts={"program": name, "reading": reading},
        )
        for name, program in PROGRAMS.items()
        for reading in READINGS
    )


def _taken(program: programs.Program) -> float | None:
    """Times of a healthy forward and backward pass, by FLOPs; what pieces cost nothing tells beforehand."""
    if program.pieces > 1:
        return None
    return program.load + (2 if program.wide else 1) + program.validates * FORWARD


def _expected(device: hardware.Device, program: programs.Program, reading: str) -> float | None:
    """In % of a healthy step; remedies in % of the program's own."""
    if reading == "kept":
        return 100.0 if program.keeps else 0.0
    if reading in CURES:
        after = programs.cured(program, reading)
        if after == program:
            return 100.0
        return _share(_taken(after), _taken(program))
    healthy = _taken(programs.Program())
    if reading == "step":
        return _share(_taken(program), healthy)
    return _share(program.load, healthy) if reading == "load" else None


def _share(part: float | None, whole: float | None) -> float | None:
    """% of the whole, where both are known."""
    return 100 * part / whole if part is not None and whole else None


def _run(bench, seconds: float, program: programs.Program) -> dict[str, float]:
    torch, steps = bench.torch, 8 if seconds < 0.5 else 40
    tried = {"healthy": programs.Program(), "own": program}
    tried |= {cure: programs.cured(program, cure) for cure in CURES}
    with timing.single_thread(torch):
        alone = programs.alone(torch, steps)
        loops = {name: programs.Loop(torch, each, alone) for name, each in tried.items()}
        found = programs.together(loops, steps)
        kept = programs.kept(torch, program)
    taken = {name: sum(phases.values()) for name, phases in found.items()}
    healthy, own = taken["healthy"], taken["own"]
    return {
        "step": 100 * own / healthy,
        **{phase: 100 * seconds / healthy for phase, seconds in found["own"].items()},
        "kept": 100 * kept / (4 * BATCH * WIDTH),
        **{cure: 100 * taken[cure] / own for cure in CURES},
    }


def plot(result):
    """The step of each program."""
    steps = [value for name, value in result.measured.items() if name.endswith(": step")]
    return dots(result, title=say("title", low=min(steps), high=max(steps)), axis=say("axis"), log=False)


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "%", program="str", reading="str", hidden=("program", "reading")),
    recording_seconds=60.0,
    method={"batch": BATCH, "width": WIDTH},
)
