"""Checks, jobs and engines that the tests of grading share."""

import random
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from course_lib.grading.results.scoring import Scored, calls_for, score
from course_lib.grading.sandbox.conversation import Answered, Job
from course_lib.grading.sandbox.engine import Engine, Limits, SandboxFault, SandboxMissing
from course_lib.teaching.checks.check import Check
from course_lib.teaching.checks.check_form import decode_arguments
from course_lib.teaching.checks.check_values import plain

ROOT = Path(__file__).resolve().parents[3]


def draw_ridge(rng: random.Random) -> tuple:
    return rng.randrange(100, 2000) * 1e12, rng.randrange(500, 8000) * 1e9


RIDGE = Check(
    id="q99.ridge",
    points=3,
    signature="ridge(peak, bandwidth)",
    public=[(989e12, 3.35e12), (312e12, 1.555e12)],
    generate=draw_ridge,
    reference=lambda peak, bandwidth: peak / bandwidth,
    wrong={"upside down": lambda peak, bandwidth: bandwidth / peak},
    messages={"upside down": "You divided the bandwidth by the peak."},
)
AREA = Check(
    id="q99.area",
    points=2,
    signature="area(a, b)",
    public=[(2, 3), (5, 8)],
    generate=lambda rng: (rng.randrange(2, 99), rng.randrange(2, 99)),
    reference=lambda a, b: a * b,
)
SHORT = Limits(call=1.0, function=2.0, cells=2.0, job=8.0, memory=512 << 20)
"""For code of which nothing is expected: on a busy machine even a right answer may be late."""
PATIENT = replace(SHORT, call=60.0, function=60.0, cells=60.0, job=600.0)
FIVE = replace(PATIENT, call=5.0, function=5.0, cells=5.0)
"""For a job in which something never ends and something else is right: a hundred times what the right one takes."""


def job(key: str, *cells: str, checks=(RIDGE,), draws: int = 2, seed: int = 7, **more) -> Job:
    """The cells as one student's notebook, with the calls of all the checks."""
    return Job(key, cells, tuple(call for check in checks for call in calls_for(check, seed, draws)), **more)


def scores(answered: Answered, checks=(RIDGE,), draws: int = 2, seed: int = 7) -> list[Scored]:
    """What each check says of the replies to `job(…)`."""
    found, replies = [], list(answered.replies)
    for check in checks:
        calls = calls_for(check, seed, draws)
        found.append(score(check, calls, replies[: len(calls)]))
        replies = replies[len(calls) :]
    assert not replies
    return found


def deserved(check, calls, function) -> float:
    """The points of a function, made out without the engine and without `score`."""
    groups = dict(check.groups) or {"": check.points}
    for call in calls:
        args, kwargs = decode_arguments(call.arguments)
        if check.same.distance(plain(function(*args, **kwargs)), plain(check.reference(*args, **kwargs))) > 1:
            groups[call.group] = 0
    return sum(groups.values())


class Process(NamedTuple):
    """A process as the machine sees it. Its number may be given to another one later, which was born later."""

    pid: int
    born: int


def processes() -> dict[Process, int]:
    """All that there are, and the number of the parent of each."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            found[Process(int(folder.name), int(fields[19]))] = int(fields[1])
    return found


def tree(pid: int) -> set[Process]:
    """The processes that descend from `pid`, and itself."""
    parents = processes()
    found = {one for one in parents if one.pid == pid}
    while more := {one for one, parent in parents.items() if parent in {each.pid for each in found}} - found:
        found |= more
    return found


def alive(these: set[Process]) -> set[Process]:
    """Those that are still there after a while: the dead are buried by the machine's first process, when it likes."""
    end = time.monotonic() + 60
    while (left := these & processes().keys()) and time.monotonic() < end:
        time.sleep(0.05)
    return left


def start(**options) -> Engine:
    """An entered engine; the test is skipped, with the reason, where students' code cannot be confined."""
    try:
        return Engine(**options).__enter__()
    except SandboxFault:
        raise
    except SandboxMissing as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="package")
def engine():
    """Two workers, and time enough on a busy machine."""
    engine = start(limits=PATIENT, workers=2)
    yield engine
    engine.close()


@pytest.fixture
def five(engine, monkeypatch):
    """The same workers; what never ends is stopped after five seconds."""
    monkeypatch.setattr(engine, "limits", FIVE)
    return engine
