"""Seconds that the quick experiments of each unit take together on this machine; the bar is 8 s on two quiet cores.

python benchmarks/unit_times.py
"""

import re
from pathlib import Path
from time import perf_counter

from course_lib import experiments

BAR = 8.0  # s
LESSONS = Path(__file__).resolve().parents[1] / "lessons"


def seconds(name: str) -> float | None:
    """Seconds of one quick run; None where it needs a GPU that is not here."""
    start = perf_counter()
    try:
        experiments.run(name)
    except experiments.Unavailable:
        return None
    return perf_counter() - start


def main() -> None:
    experiments.here()  # a profile is measured, if it must be, before anything is timed
    for lesson in sorted(LESSONS.glob("*/lesson.md")):
        names = sorted(set(re.findall(r'experiments\.run\("(\w+)"\)', lesson.read_text(encoding="utf-8"))))
        times = {name: taken for name in names if (taken := seconds(name)) is not None}
        if times:
            total, parts = sum(times.values()), ", ".join(f"{name} {taken:.1f}" for name, taken in times.items())
            print(f"{lesson.parent.name:34} {total:4.1f} s  {'kept' if total <= BAR else 'MISSED':6}  {parts}")


if __name__ == "__main__":
    main()
