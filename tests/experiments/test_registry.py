"""Experiments are found by their files, shared ones and those of the units, and imported only when asked for."""

import subprocess
import sys

import pytest

from course_lib import experiments, units
from course_lib.experiments import registry


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course with its own folders in place of the real ones; returns a function that adds an experiment."""
    monkeypatch.setattr(registry, "SHARED", tmp_path / "measurements")
    monkeypatch.setattr(units, "home", lambda: tmp_path)
    monkeypatch.setattr(units, "__path__", [str(tmp_path / "lessons")])
    registry._modules.cache_clear()

    def add(path: str, text: str = "EXPERIMENT = 'mine'"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    yield add
    registry._modules.cache_clear()


def test_names_are_those_of_the_files(root):
    files = [*root.glob("course_lib/experiments/measurements/*.py"), *root.glob("lessons/*/experiments/*.py")]
    assert list(experiments.names()) == sorted(path.stem for path in files if path.stem[0] != "_")


def test_every_one_can_be_got():
    for name in experiments.names():
        assert registry.get(name).name == name


def test_a_new_file_is_a_new_experiment(course, refuses):
    course("lessons/t2_new/experiments/fresh.py")
    course("lessons/t2_new/experiments/_helper.py", "1 / 0")
    course("measurements/shared.py", "1 / 0")
    assert registry.names() == ("fresh", "shared")
    assert registry.get("fresh") == "mine"
    refuses(lambda: registry.get("fresch"), ["fresh"])


def test_two_of_one_name_are_refused_with_both_files(course, refuses):
    course("measurements/same.py")
    course("lessons/t2_new/experiments/same.py")
    refuses(registry.names, ["measurements/same.py", "lessons/t2_new/experiments/same.py"])


def test_names_are_found_without_importing_any():
    code = "import sys; from course_lib import experiments; experiments.names(); print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert [name for name in found if ".measurements." in name or ".units." in name or name == "torch"] == []
