"""Forms that race: they take turns on one thread, and every case of an experiment belongs to the same race."""

import pytest
import torch

from course_lib.experiments.running import racing
from course_lib.experiments.running.bench import Bench

BENCH = Bench.on_device(torch, "cpu")


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on only where a form says how long it takes."""
    now = [0.0]
    monkeypatch.setattr(racing.time, "process_time", lambda: now[0])

    def take(seconds):
        now[0] += seconds

    return take


def test_forms_take_turns_and_short_ones_fill_a_block(clock):
    order = []

    def form(name, seconds):
        return lambda: (order.append(name), clock(seconds))

    short = racing.BLOCK / 4
    found = racing.race({"a": form("a", 1.0), "b": form("b", short)}, rounds=2)
    assert found == {"a": pytest.approx([1.0, 1.0]), "b": pytest.approx([short, short])}
    assert "".join(order) == "aabb" + "abbbb" * 2


def test_one_thread_and_then_those_that_there_were():
    threads, seen = torch.get_num_threads(), set()
    racing.race({"one": lambda: seen.add(torch.get_num_threads())}, rounds=2)
    assert seen == {1}
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize("training", [False, True])
def test_a_heat_runs_once_for_all_its_cases(clock, training):
    made, graded = [], []

    def make(bench):
        made.append(bench)
        return {1: lambda: (graded.append(torch.is_grad_enabled()), clock(1.0)), 2: lambda: clock(3.0)}

    heat = racing.Heat(make, rounds=2, training=training)
    assert heat.seconds(BENCH, 0.1, 1) == [1.0, 1.0]
    assert heat.over(BENCH, 0.1, name=2, base=1) == [3.0, 3.0]
    assert (made, set(graded)) == ([BENCH], {training})
