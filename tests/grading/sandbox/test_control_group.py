"""The control group of a sandbox: found on each kind of machine, counting what has ended, gone with the sandbox."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from course_lib.grading.sandbox import control_group, sandbox
from course_lib.grading.sandbox.control_group import ControlGroup, places, sweep
from tests.grading.sandbox.conftest import SHORT

HIDES = """
import os, time
for _ in range(4):  # each is adopted by another process, and in no sum of this one's
    if os.fork() == 0:
        if os.fork() == 0:
            until = time.process_time() + 0.1
            while time.process_time() < until: pass
        os._exit(0)
    os.wait()
time.sleep(600)
"""


@pytest.fixture
def group():
    made = control_group.make()
    if made is None:
        pytest.skip("this machine lends no control group")
    yield made
    made.remove()


def line(root: str, point: str, kind: str = "cgroup2") -> str:
    return f"31 24 0:27 {root} {point} rw,nosuid shared:4 - {kind} cgroup rw\n"


@pytest.mark.parametrize(
    ("groups", "mounts", "expected"),
    [
        ("0::/a/b\n", line("/", "/sys/fs/cgroup"), ["/sys/fs/cgroup/a", "/sys/fs/cgroup/a/b"]),  # a session
        ("0::/\n", line("/", "/sys/fs/cgroup"), ["/sys/fs/cgroup"]),  # a container with a view of its own
        ("0::/x/y\n", line("/x/y", "/sys/fs/cgroup"), ["/sys/fs/cgroup"]),
        ("5:memory:/a\n0::/\n", line("/", "/c/memory", "cgroup") + line("/", "/c/unified"), ["/c/unified"]),
        ("0::/elsewhere\n", line("/x", "/sys/fs/cgroup"), []),
        ("5:memory:/a\n", line("/", "/sys/fs/cgroup", "cgroup"), []),  # the older kind only
        ("5:memory:/a\n", line("/", "/sys/fs/cgroup"), []),
    ],
)
def test_where_groups_are_made(groups, mounts, expected):
    assert places(groups, mounts) == [Path(path) for path in expected]


def test_it_counts_what_has_ended_and_was_never_waited_for(group):
    command = ["sh", "-c", 'echo $$ > "$0"; exec "$@"', str(group.entrance), sys.executable, "-c", HIDES]
    with subprocess.Popen(command) as process:
        while len(group.entrance.read_text().split()) != 1 or group.seconds < 0.4:
            assert process.poll() is None, f"only {group.seconds} s of at least 0.4 were counted"
            time.sleep(0.02)
        process.kill()
    assert group.seconds >= 0.4


def test_memory_is_limited_where_the_controller_is_there(tmp_path):
    """The kernel's files, by their documented form."""
    (tmp_path / "memory.current").write_text("5000\n")
    (tmp_path / "memory.events").write_text("low 0\nhigh 0\nmax 7\noom 2\noom_kill 3\n")
    group = ControlGroup(tmp_path)
    group.limit(1000)
    assert (tmp_path / "memory.max").read_text() == "6000"
    assert (group.memory_kills, group.seconds) == (3, 0.0)


def test_without_the_controller_nothing_is_limited(tmp_path):
    group = ControlGroup(tmp_path)
    group.limit(1000)
    assert (list(tmp_path.iterdir()), group.memory_kills) == ([], 0)


def test_groups_of_dead_graders_are_swept(tmp_path):
    process = subprocess.Popen(["true"])
    process.wait()
    dead, living, other = (
        tmp_path / name for name in (f"flops-course-{process.pid}-0", f"flops-course-{os.getpid()}-0", "session")
    )
    for folder in (dead, living, other):
        folder.mkdir()
    sweep(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([living, other])


@pytest.mark.slow
def test_a_sandbox_has_one_and_leaves_none(group):
    one = sandbox.Sandbox(SHORT)
    one.start()
    try:
        assert str(one.pid) in one._group.entrance.read_text().split()
        assert one._group.seconds > 0.1, "it has imported torch"
    finally:
        one.close()
    assert not one._group.folder.exists()


@pytest.mark.slow
def test_a_job_has_used_what_its_group_has_counted(group, monkeypatch):
    """What the zygote does not see any more."""
    one = sandbox.Sandbox(SHORT)
    one.start()
    try:
        with one.job():
            before = one.used()
            monkeypatch.setattr(ControlGroup, "seconds", one._before + before + 7)
            assert one.used() == pytest.approx(before + 7)
            assert one.end() == "over"
            monkeypatch.setattr(ControlGroup, "memory_kills", 1)
        with one.job():
            monkeypatch.setattr(ControlGroup, "memory_kills", 2)
            assert one.end() == "memory"
    finally:
        one.close()
