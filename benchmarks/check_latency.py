"""How long `check()` takes to answer, on the right and the known wrong answers of every unit's checks.

Run `python benchmarks/check_latency.py`. Timed is what a learner waits for: the calls of the function, the comparison,
the write of the attempt to a record on this disk, and the text that the notebook shows. The first answer of a fresh
process, which imports what `check` needs, has a line of its own. Bar: 95th percentile 100 ms.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # `tools` is part of the checkout, not of the package
BAR = 0.100
ROUNDS = 50
FIRST = """
import time
from course_lib import check
start = time.perf_counter()
check("q05.intensity", lambda m, k, n, bytes_per_element: 1.0)._repr_mimebundle_()
print(time.perf_counter() - start)
"""


def answers() -> dict[str, list[tuple]]:
    """right or wrong -> (check id, function) of all units."""
    from tools.source import load_checks, units

    checks = [check for folder in units(ROOT) for check in load_checks(folder, ROOT)]
    return {
        "right": [(check.id, answer(check, check.reference)) for check in checks],
        "wrong": [(check.id, answer(check, fn)) for check in checks for fn in check.wrong.values()],
    }


def answer(check, fn):
    """What a learner gives to `check`: the function, or the quantity."""
    return fn if check.unit is None else fn()


def seconds(id: str, fn) -> float:
    from course_lib import check

    start = time.perf_counter()
    check(id, fn)._repr_mimebundle_()
    return time.perf_counter() - start


def first() -> list[float]:
    """Seconds of the first check of five fresh processes."""
    command = [sys.executable, "-c", FIRST]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(5)]
    return [float(run.stdout) for run in runs]


def p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20, method="inclusive")[-1]


def main() -> None:
    tried = answers()
    with tempfile.TemporaryDirectory() as home:
        os.chdir(home)
        (Path(home) / ".course").mkdir()
        measured = {
            kind: [seconds(id, fn) for _ in range(-(-ROUNDS // len(given))) for id, fn in given]
            for kind, given in tried.items()
        }
        measured["first in a process"] = first()
        os.chdir(ROOT)
    print(f"{'answer':20}{'checks':>8}{'median ms':>12}{'p95 ms':>10}")
    for kind, values in measured.items():
        print(f"{kind:20}{len(values):>8}{1e3 * statistics.median(values):>12.1f}{1e3 * p95(values):>10.1f}")
    if max(p95(measured["right"]), p95(measured["wrong"])) > BAR:
        sys.exit(f"slower than the bar of {1e3 * BAR:.0f} ms")


if __name__ == "__main__":
    main()
