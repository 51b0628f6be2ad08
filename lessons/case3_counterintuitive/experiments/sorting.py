"""A million keys, sorted by algorithms that are chosen by keyword, by type, and by what the processor is said to have."""

import json
import os
import subprocess
import sys
import time
from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running.errors import Unavailable
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.words import words

say = words(__file__)

KEYS = 1_000_000
WARM_UP = 0.05  # s of sorts that do not count: the first ones of a process that was idle take longer
WIDE = ("AVX512", "X86_V4")  # how the names of instructions on 512 bits begin, in NumPy's list
SORTS = {  # case -> type of the keys, keyword, nearly sorted before, what is withheld
    "8 bits, stable": ("uint8", "stable", False, ""),
    "16 bits, default": ("uint16", "quicksort", False, ""),
    "16 bits, stable": ("uint16", "stable", False, ""),
    "32 bits, default": ("uint32", "quicksort", False, ""),
    "32 bits, stable": ("uint32", "stable", False, ""),
    "32 bits, heapsort": ("uint32", "heapsort", False, ""),
    "32 bits, two radix passes": ("uint32", "radix", False, ""),
    "32 bits, default, nearly sorted": ("uint32", "quicksort", True, ""),
    "32 bits, stable, nearly sorted": ("uint32", "stable", True, ""),
    "32 bits, default, no 512-bit registers": ("uint32", "quicksort", False, "wide"),
    "32 bits, default, no vectors": ("uint32", "quicksort", False, "all"),
}


def keys(type: str, nearly: bool):
    """The same numbers below 65,536 in any type (of 8 bits, their lower byte); nearly sorted, a hundred are replaced by 0."""
    import numpy as np

    drawn = np.random.default_rng(0)
    numbers = drawn.integers(0, 2**16, KEYS)
    if nearly:
        numbers.sort()
        numbers[drawn.integers(0, KEYS, 100)] = 0
    return numbers.astype(type)


def two_passes(numbers):
    """32-bit keys in order, by their lower 16 bits and then, stable, by their upper ones: radix sorts of NumPy's."""
    import numpy as np

    for shift in (0, 16):
        numbers = numbers[np.argsort((numbers >> shift).astype(np.uint16), kind="stable")]
    return numbers


def seconds(type: str, kind: str, nearly: bool, rounds: int) -> list[float]:
    """Processor seconds of a sort in place, of each round; the copy before it is not timed."""
    numbers, found = keys(type, nearly), []
    if kind == "radix":
        numbers = numbers * numbers.dtype.type(2**16 + 1)  # in the same order, and no byte is the same in all
    warm = time.process_time() + WARM_UP
    while len(found) < rounds:
        copy = numbers.copy()
        begin = time.process_time()
        two_passes(copy) if kind == "radix" else copy.sort(kind=kind)
        if begin > warm:
            found.append(time.process_time() - begin)
    return found


def withheld(what: str) -> list[str]:
    """Names of those instructions that NumPy is told to do without, of all among which it chooses at run time."""
    try:
        from numpy._core._multiarray_umath import __cpu_dispatch__ as dispatched
    except ImportError:
        raise Unavailable(say("unavailable")) from None
    return [name for name in dispatched if what == "all" or name.startswith(WIDE)]


def _observe(bench, limit: float, case: str, rounds: int) -> list[float]:
    type, kind, nearly, without = SORTS[case]
    if not without:
        return seconds(type, kind, nearly, rounds)
    environment = os.environ | {
        "NPY_DISABLE_CPU_FEATURES": " ".join(withheld(without)),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    call = [sys.executable, "-W", "ignore", __file__, type, kind, str(rounds)]
    done = subprocess.run(call, env=environment, capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise Unavailable(say("unavailable"))
    return json.loads(done.stdout)


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Eleven sorts; full has more rounds."""
    return tuple(
        Case(
            case,
            say("calls", without or ("radix" if kind == "radix" else "here"), type=type, kind=kind),
            observe=partial(_observe, case=case, rounds=3 if quick else 15),
            facts={"bits": int(type.removeprefix("uint")), "kind": kind},
        )
        for case, (type, kind, nearly, without) in SORTS.items()
    )


def plot(result):
    """Time of each sort."""
    taken = {row["case"]: row["measured"] for row in result.rows}
    title = say("title", times=taken["32 bits, stable"] / taken["16 bits, stable"])
    return dots(result, title=title, axis=say("axis"))


EXPERIMENT = Experiment(
    say, cases, plot, quantity_columns(say, "s", bits="int", kind="str", hidden=("bits", "kind")), method={"keys": KEYS}
)

if __name__ == "__main__":  # the process in which NumPy does without some instructions
    print(json.dumps(seconds(sys.argv[1], sys.argv[2], False, int(sys.argv[3]))))
