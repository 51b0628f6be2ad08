"""The runs of Q13 that are really killed: the same in every bit, and nothing is left of them, however they end."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from course_lib.experiments.running.errors import Unavailable
from course_lib.units.q13_training_loop import survivor

pytestmark = [
    pytest.mark.slow,  # torch is imported once more
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork"),
]


@pytest.fixture
def group(monkeypatch, tmp_path):
    """Process groups that were started, in order; their folders are in one of this test's own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    started, popen = [], survivor.subprocess.Popen

    def kept(*args, **kwargs):
        process = popen(*args, **kwargs)
        started.append(process.pid)
        return process

    monkeypatch.setattr(survivor.subprocess, "Popen", kept)
    return started


def nothing_is_left(group) -> bool:
    with pytest.raises(ProcessLookupError):
        os.killpg(group[0], 0)
    return not list(Path(tempfile.gettempdir()).glob(survivor.FOLDER + "*"))


def test_a_killed_run_that_is_resumed_with_all_its_pieces_is_the_same(group):
    found = survivor.killed_runs()
    assert nothing_is_left(group)
    for whole in ("killed, resumed", "newest file torn"):
        assert found[whole]["weights"] == found[whole]["pieces"] == 0
        assert found[whole]["next loss"] == 100
    for piece in survivor.loop.PIECES:
        assert found[f"without {piece}"]["weights"] > 90
    assert found["weights only"]["pieces"] == 100


LATE = """
import os, sys, time
from pathlib import Path
from course_lib.units.q13_training_loop import survivor
kill = os.kill
survivor.os.kill = lambda *whom: (time.sleep(0.5), kill(*whom))
survivor.main(Path(sys.argv[1]))
"""


def test_a_kill_that_comes_late_finds_the_run_alive(tmp_path, root):
    """As on a machine where the program that kills has to wait for a processor: the run would long be over."""
    done = subprocess.run([sys.executable, "-c", LATE, str(tmp_path)], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {found[whole]["weights"] for whole in ("killed, resumed", "newest file torn")} == {0}


def test_runs_that_take_too_long_are_ended(group, monkeypatch):
    monkeypatch.setattr(survivor, "LATEST", 0.3)
    with pytest.raises(Unavailable, match="took longer"):
        survivor.killed_runs()
    assert nothing_is_left(group)


def test_an_interrupt_ends_them_too(group):
    """Ctrl-C or the stop button, half a second after the start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background ignores it
    try:
        timer = threading.Timer(0.5, lambda: signal.raise_signal(signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            survivor.killed_runs()
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert nothing_is_left(group)
