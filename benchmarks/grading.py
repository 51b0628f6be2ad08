"""What grading costs: a job with and without the sandbox, torch submissions per second, a stuck one, and a whole unit
graded by `course grade` beside nbgrader's own autograde.

Run `python benchmarks/grading.py [--students N]` with the environment on PATH, on a quiet machine. Both graders get the
same submissions of one unit (the solution, handed in by everybody) in the same run; nbgrader gets the first few only,
for it starts a kernel for each.
"""

import argparse
import contextlib
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # `tools` is part of the checkout, not of the package
UNIT = "q02_ten_billion_in_16gb"
COST_BAR, STUCK_BAR, TORCH_BAR, CSV_BAR, GRADEBOOK_BAR = 0.010, 0.100, 30, 30, 10
NBGRADER_STUDENTS = 6
TORCH = """
import torch
def f(n):
    x = torch.ones(n, n, requires_grad=True)
    layer = torch.nn.Linear(n, n)
    torch.nn.init.ones_(layer.weight)
    (x @ layer(x)).sum().backward()
    return float(x.grad.sum())
"""


def job(key: str, cell: str, *arguments):
    from course_lib.grading.sandbox.engine import Call, Job

    return Job(key, (cell,), tuple(Call("f", {"args": [one]}) for one in arguments))


def line(what: str, value: str, bar: str = "") -> None:
    print(f"{what:<58} {value:>22}   {bar}", flush=True)


def seconds_of_a_job(engines: dict, rounds: int) -> dict[str, list[float]]:
    """An empty job, in turns on each engine, so that what else the machine does falls on all of them."""
    found: dict[str, list[float]] = {name: [] for name in engines}
    for number in range(rounds):
        for name, engine in engines.items():
            start = time.perf_counter()
            (answered,) = engine.run([job(str(number), "def f(x): return x", 1)])
            found[name].append(time.perf_counter() - start)
            assert answered.replies[0].value == 1
    return found


def engine_alone() -> None:
    """Cost of the sandbox, torch submissions per second, and how late a stuck one is ended."""
    from course_lib.grading.sandbox.engine import Engine, Limits

    start = time.perf_counter()
    with contextlib.ExitStack() as stack:
        engines = {"sandbox": stack.enter_context(Engine(workers=1))}
        line("one worker ready, self-test passed", f"{time.perf_counter() - start:.2f} s")
        engines["plain fork"] = stack.enter_context(Engine(workers=1, unsafe=True))
        seconds_of_a_job(engines, 5)
        found = seconds_of_a_job(engines, 100)
    median = {name: statistics.median(times) for name, times in found.items()}
    for name, value in median.items():
        line(f"an empty job, {name}", f"{value * 1e3:.1f} ms")
    cost = median["sandbox"] - median["plain fork"]
    line("sandbox over a plain fork", f"{cost * 1e3:+.1f} ms", f"bar {COST_BAR * 1e3:.0f} ms")

    with Engine() as engine:
        list(engine.run(job(str(number), TORCH, 8) for number in range(10)))
        start, count = time.perf_counter(), 200
        for answered in engine.run(job(str(number), TORCH, 8, 16, 32, 64) for number in range(count)):
            assert [reply.outcome for reply in answered.replies] == ["value"] * 4
        rate = count / (time.perf_counter() - start)
        line(f"torch submissions, {os.cpu_count()} cores", f"{rate:.0f}/s", f"bar {TORCH_BAR}/s")

    limit = 1.0
    with Engine(limits=Limits(call=limit, function=limit), workers=1) as engine:
        late = []
        for number in range(5):
            (free,) = engine.run([job(str(number), "def f(x): return x", 1)])
            (stuck,) = engine.run([job(str(number), "def f(x):\n    while True: pass", 1)])
            assert stuck.replies[0].outcome == "late"
            late.append(stuck.seconds - free.seconds - limit)
    line("a stuck call, beyond its limit (worst of 5)", f"{max(late) * 1e3:+.0f} ms", f"bar {STUCK_BAR * 1e3:.0f} ms")


def hand_in(course: Path, students: list[str]) -> None:
    """The solutions in the released notebook, handed in by each student."""
    import nbformat

    notebook = nbformat.read(ROOT / "exercises" / UNIT / f"{UNIT}.ipynb", as_version=4)
    solution = nbformat.read(ROOT / "solutions" / UNIT / f"{UNIT}.ipynb", as_version=4)
    answers = {cell.metadata.nbgrader.grade_id: cell.source for cell in solution.cells if "nbgrader" in cell.metadata}
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = answers[cell.metadata.nbgrader.grade_id]
            if re.search(r"^def ", cell.source, re.MULTILINE):
                cell.source = f"import torch\n{cell.source}"
    for student in students:
        path = course / "submitted" / student / UNIT / f"{UNIT}.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(notebook, path)
    rows = "".join(f"{student},{student},Test\n" for student in students)
    (course / "roster.csv").write_text(f"student,first_name,last_name\n{rows}")


def timed(command: list[str], folder: Path) -> float:
    environment = os.environ | {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    environment["PYTHONPATH"] = str(ROOT)
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", *command], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return time.perf_counter() - start


def whole_unit(count: int) -> None:
    """`course grade` to the tables, to the gradebook too, and nbgrader's autograde, in one run."""
    students = [f"student{number:03}" for number in range(count)]
    grade = ["course_lib", "grade", "submitted", "--roster", "roster.csv", "--unit", UNIT]
    with tempfile.TemporaryDirectory() as folder:
        courses = {name: Path(folder, name) for name in ("tables", "gradebook", "nbgrader")}
        for name, course in courses.items():
            course.mkdir()
            hand_in(course, students[:NBGRADER_STUDENTS] if name == "nbgrader" else students)
        shutil.copy(ROOT / "nbgrader_config.py", courses["nbgrader"])
        shutil.copytree(ROOT / "solutions" / UNIT, courses["nbgrader"] / "solutions" / UNIT)
        timed(["nbgrader", "generate_assignment", UNIT], courses["nbgrader"])
        tables = timed([*grade, "--no-gradebook"], courses["tables"])
        gradebook = timed(grade, courses["gradebook"])
        theirs = timed(["nbgrader", "autograde", UNIT], courses["nbgrader"])
    line(f"course grade, {count} students to the CSV", f"{tables:.1f} s, {count / tables:.1f}/s", f"bar {CSV_BAR}/s")
    rate = count / gradebook
    line(f"course grade, {count} students, gradebook", f"{gradebook:.1f} s, {rate:.1f}/s", f"bar {GRADEBOOK_BAR}/s")
    slow = NBGRADER_STUDENTS / theirs
    line(f"nbgrader autograde, {NBGRADER_STUDENTS} students", f"{theirs:.1f} s, {slow:.2f}/s")
    line("course grade beside nbgrader, gradebook written", f"{rate / slow:.0f} times as fast")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--students", type=int, default=300, help="students of the unit (default: 300)")
    options = parser.parse_args()
    engine_alone()
    whole_unit(options.students)
