"""A batch in which every second student attacks: no undeserved point, no honest student harmed, nothing left behind."""

import hashlib
import os
import sqlite3

import pytest

from course_lib.grading.sandbox import engine as engine_module
from course_lib.grading.sandbox.conversation import Conversation
from tests.grading.sandbox.conftest import AREA, PATIENT, RIDGE, SHORT, alive, job, scores, start, tree
from tests.grading.sandbox.corpus import ATTACKS, MARKER, snooping

pytestmark = pytest.mark.slow
AREA_CELL = "def area(a, b):\n    return a * b"
HONEST = (AREA_CELL, f"def ridge(peak, bandwidth):  # {MARKER}\n    return peak / bandwidth")
BOTH = (RIDGE, AREA)


def digest(folder) -> dict:
    return {
        str(path.relative_to(folder)): (path.stat().st_mode, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """A folder as a careless teacher would have it: readable, and writable, for everybody."""
    host = tmp_path_factory.mktemp("host")
    (host / "solutions").mkdir()
    (host / "solutions" / "u.py").write_text(HONEST[1])
    with sqlite3.connect(host / "gradebook.db") as book:
        book.execute("CREATE TABLE grade (student TEXT, auto_score REAL)")
        book.execute("INSERT INTO grade VALUES ('honest', 3)")
    book.close()
    for path in (host, *host.rglob("*"), *host.parents):
        if path.is_relative_to(host.parents[2]) and path.owner() == host.owner():
            path.chmod(0o777)
    return host


def conversation(job, sandbox, limits) -> Conversation:
    """What is honest has time enough on a busy machine; an attack that never ends is stopped soon."""
    return Conversation(job, sandbox, PATIENT if job.key.startswith("honest ") else limits)


@pytest.fixture(scope="module")
def batch(host):
    """What came of each student: `attack <name>` and, before each of them, `honest <name>`."""
    before, home = digest(host), set(os.listdir("/tmp"))
    engine = start(limits=SHORT, workers=4)
    patch = pytest.MonkeyPatch()
    patch.setattr(engine_module, "Conversation", conversation)
    try:
        pids = [sandbox.pid for sandbox in engine.sandboxes]
        trees = {pid: tree(pid) for pid in pids}
        jobs = (
            job(f"{kind} {name}", *cells, checks=BOTH)
            for name, source in ATTACKS.items()
            for kind, cells in (("honest", HONEST), ("attack", (AREA_CELL, source.replace("HOST", str(host)))))
        )
        answered = {one.key: one for one in engine.run(jobs)}
        after = {pid: tree(pid) for pid in pids}
        left = {pid: alive(after[pid] - trees[pid]) for pid in pids}
        same = [sandbox.pid for sandbox in engine.sandboxes] == pids
    finally:
        patch.undo()
        engine.close()
    return {
        "answered": answered,
        "left in the sandbox": left,
        "left on the machine": alive({one for pid in pids for one in after[pid] | trees[pid]}),
        "same sandboxes": same,
        "host": (before, digest(host)),
        "new in /tmp": set(os.listdir("/tmp")) - home,
    }


def test_there_are_enough_of_them():
    assert len(ATTACKS) >= 52 + 30


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_earns_nothing_and_the_next_student_loses_nothing(batch, name):
    ridge, area = scores(batch["answered"][f"attack {name}"], BOTH)
    assert ridge.points == 0, ridge
    assert area.points in (0, 2)
    ridge, area = scores(batch["answered"][f"honest {name}"], BOTH)
    assert (ridge.outcome, area.outcome) == ("right", "right"), batch["answered"][f"honest {name}"]


def test_every_student_has_a_row_and_no_sandbox_had_to_be_started_again(batch):
    assert len(batch["answered"]) == 2 * len(ATTACKS)
    assert batch["same sandboxes"]


def test_no_process_is_left(batch):
    assert not any(batch["left in the sandbox"].values())
    assert batch["left on the machine"] == set()


def test_no_file_of_the_machine_was_touched(batch):
    before, after = batch["host"]
    assert after == before
    written = {"note", *map(str, range(100))}  # there by attacks; other programs of this machine write there too
    assert not written & batch["new in /tmp"]


@pytest.mark.parametrize("name", ["another student's code in memory", "another student's objects"])
def test_the_search_in_memory_would_find_what_is_there(engine, name):
    """Otherwise its failure above would prove nothing."""
    source = f"answer = ['{MARKER}']\n{snooping.ATTACKS[name]}"
    (answered,) = engine.run([job("control", source)])
    assert scores(answered)[0].outcome == "right"
