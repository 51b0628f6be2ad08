"""A profile that is not measured, so that no test depends on how fast this machine is."""

import copy
import json
import subprocess
import sys

import pytest

from course_lib.accounting import hardware
from course_lib.experiments.profile import profile
from course_lib.experiments.recordings import loading
from course_lib.experiments.running import timing
from course_lib.experiments.running.bench import Bench
from tests.experiments.example import CPU


@pytest.fixture(autouse=True)
def cache_folder(tmp_path, monkeypatch):
    """An empty cache folder, and nothing measured in this process."""
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(profile, "_in_memory", None)
    return tmp_path / "cache"


@pytest.fixture
def recordings(tmp_path, monkeypatch):
    """An empty folder of recordings."""
    folder = tmp_path / "recordings"
    folder.mkdir()
    monkeypatch.setattr(loading, "folder", lambda: folder)
    return folder


@pytest.fixture
def kept_profile(cache_folder):
    """A profile of this machine and this torch with round numbers."""
    data = {
        "schema": hardware.PROFILE_SCHEMA,
        "cpu": copy.deepcopy(CPU),
        "cuda": None,
        "conditions": {**profile.conditions(), "date": "2026-01-02", "quick": False},
        "raw": {},
    }
    cache_folder.mkdir(parents=True)
    (cache_folder / "profile.json").write_text(json.dumps(data), "utf-8")
    return data


@pytest.fixture
def python_without(root, cache_folder, without):
    """Runs code in a fresh interpreter in which some packages cannot be imported."""

    def run(names, code):
        program = f"{without(names)}\nsys.path.insert(0, {str(root)!r})\n{code}"
        return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=200)

    return run


@pytest.fixture
def nothing_built(monkeypatch):
    """No tensor is made and no call runs; every call took 1, 2 and 3 ms."""
    monkeypatch.setattr(Bench, "random", lambda *_, **__: None)
    monkeypatch.setattr(Bench, "empty", lambda *_, **__: None)
    monkeypatch.setattr(timing, "measure", lambda *_, **__: timing.Repeats((1e-3, 2e-3, 3e-3)))


@pytest.fixture
def timed_once(monkeypatch):
    """Instead of being timed, every call runs once and took 1, 2 and 3 ms."""

    def once(call, *, seconds, at_least=5):
        call()
        return timing.Repeats((1e-3, 2e-3, 3e-3))

    monkeypatch.setattr(timing, "measure", once)
