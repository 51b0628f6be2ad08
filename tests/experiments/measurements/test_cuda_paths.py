"""What only a GPU runs, checked as far as it can be without one: by types, and by torch's own names and signatures."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.experiments.measurements import torch_calls

ROOT = Path(__file__).parents[3]
FILES = sorted([*ROOT.glob("course_lib/experiments/**/*.py"), *ROOT.glob("lessons/*/experiments/*.py")])


@pytest.mark.slow
def test_types(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", tmp_path], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_torch_has_what_is_called(path):
    assert torch_calls.faults(path.read_text(encoding="utf-8")) == []


def test_the_calls_are_found():
    """The reader follows names: CUDA's calls are seen, through every way in which the experiments reach torch."""
    paths = {path.name: path.read_text(encoding="utf-8") for path in FILES}
    assert torch_calls.calls(paths["cuda_graphs.py"]) >= 8
    assert torch_calls.calls(paths["launch_gaps.py"]) >= 5
    assert torch_calls.calls(paths["allocator_trace.py"]) >= 5


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("bench.torch.cuda.synchronise()", "does not exist"),
        ("torch.cuda.CUDAGraf()", "does not exist"),
        ("graph = torch.cuda.CUDAGraph()\n    graph.repaly()", "does not exist"),
        ("side = self.torch.cuda.Stream()\n    side.wait_streams(side)", "does not exist"),
        ("torch.cuda.synchronize(0, 1)", "too many positional"),
        ("torch.cuda.memory.memory_stats(devise=0)", "unexpected keyword"),
        ("a, b = (torch.cuda.Event(enable_timing=True) for _ in range(2))\n    a.elapsed(b)", "does not exist"),
        ("history = torch.cuda.memory\n    history._snap()", "does not exist"),
    ],
)
def test_a_wrong_call_is_found(line, problem):
    (fault,) = torch_calls.faults(f"def f(self, bench, torch):\n    {line}\n")
    assert problem in fault


def test_right_calls_pass():
    source = """
def f(bench):
    torch = bench.torch
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda.synchronize()
    return start.elapsed_time(end)
"""
    assert torch_calls.faults(source) == []
    assert torch_calls.calls(source) >= 6
