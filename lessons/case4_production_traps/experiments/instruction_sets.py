"""The same torch on the same processor with fewer of its instructions: each set in a process of its own."""

import json
import os
import subprocess
import sys
from functools import cache, partial
from pathlib import Path

import course_lib
from course_lib.accounting import hardware
from course_lib.experiments.running.errors import Unavailable
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.case4_production_traps import probe
from course_lib.words import words

say = words(__file__)

SETS = ("default", "avx2", "avx512")
CALLS = ("softmax", "SiLU", "sum", "exp", "product")
LATEST = 60  # s for one process


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Five calls with each instruction set; full repeats them more often."""
    return tuple(
        Case(
            say("case", call=call, set=chosen),
            say("call", set=chosen),
            observe=partial(_observe, chosen=chosen, call=call, repeats=7 if quick else 30),
            facts={"set": chosen, "what": call},
        )
        for chosen in SETS
        for call in CALLS
    )


@cache
def timed(chosen: str, repeats: int) -> dict[str, list[float]]:
    """Call -> seconds of the processor, of each repeat; Unavailable where the process died or took another set."""
    library = str(Path(course_lib.__file__).parents[1])
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([library, *filter(None, [os.environ.get("PYTHONPATH")])]),
        "ATEN_CPU_CAPABILITY": chosen,
        "OMP_NUM_THREADS": "1",
    }
    try:
        ended = subprocess.run(
            [sys.executable, "-m", probe.__name__, str(repeats)],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LATEST,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(say("late", set=chosen)) from None
    if ended.returncode:
        raise Unavailable(say("died", set=chosen, code=ended.returncode))
    took, found = json.loads(ended.stdout)
    if took.lower() not in (chosen, "no avx") and chosen != "default":
        raise Unavailable(say("other", set=chosen, took=took))
    return found


def _observe(bench, seconds: float, chosen: str, call: str, repeats: int) -> list[float]:
    return timed(chosen, repeats)[call]


def plot(result):
    """Time of each call with each set."""
    slowest = max(ratios(result).items(), key=lambda item: item[1])
    return dots(result, title=say("title", call=slowest[0], times=slowest[1]), axis=say("axis"))


def ratios(result, of: str = "default", to: str = "avx2") -> dict[str, float]:
    """Call -> time with the one set over time with the other, where both ran."""
    took = {(row["what"], row["set"]): row["measured"] for row in result.rows}
    return {call: took[call, of] / took[call, to] for call in CALLS if {(call, of), (call, to)} <= set(took)}


EXPERIMENT = Experiment(
    say, cases, plot, quantity_columns(say, "s", set="str", what="str", hidden=("set", "what")), recording_seconds=60.0
)
