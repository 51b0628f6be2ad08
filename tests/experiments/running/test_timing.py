"""The method of measuring, on calls of known cost."""

import time
from contextlib import suppress

import numpy
import pytest
import torch
import torch.utils.benchmark

from course_lib.experiments.running import timing
from course_lib.experiments.running.errors import Unavailable


@pytest.mark.parametrize("values", [[3.0], [1.0, 2.0], [5.0, 1.0, 4.0], [0.1 * (i * 7 % 11) for i in range(23)]])
def test_median_and_quartiles_are_numpys(values):
    timed = timing.Repeats(tuple(values))
    assert timed.median == pytest.approx(numpy.median(values))
    assert timed.quartiles == pytest.approx(tuple(numpy.percentile(values, [25, 75])))
    assert timed.spread == pytest.approx(
        (numpy.percentile(values, 75) - numpy.percentile(values, 25)) / numpy.median(values)
    )


def test_scaling_scales_every_repeat():
    assert timing.Repeats((1.0, 3.0), interrupted=True).scaled(0.5) == timing.Repeats((0.5, 1.5), interrupted=True)


@pytest.fixture
def clock(monkeypatch):
    """A clock that only what it is told moves, and reading it by 0.1 µs; no other program can hold it up."""

    class Clock:
        now = 0.0

        def __call__(self):
            self.now += 1e-7
            return self.now

        def pass_by(self, seconds):
            self.now += seconds

    clock = Clock()
    monkeypatch.setattr(torch.utils.benchmark, "timer", clock)
    return clock


def test_a_call_of_known_cost(clock):
    timed = timing.measure(lambda: clock.pass_by(0.01), seconds=0.2)
    assert timed.values == pytest.approx([0.01] * 20, rel=1e-4)
    assert len(timing.measure(lambda: clock.pass_by(0.01), seconds=0.02).values) == 5, "at least"


def test_the_clock_is_a_real_one():
    """A sleep is never shorter than asked for, so this holds on a busy machine too."""
    assert min(timing.measure(lambda: time.sleep(0.01), seconds=0.05).values) >= 0.01


def test_short_calls_are_timed_in_blocks_and_reported_one_by_one(clock):
    counted = 0

    def call():
        nonlocal counted
        counted += 1
        clock.pass_by(1e-6)

    timed = timing.measure(call, seconds=0.02)
    assert counted > 100 * len(timed.values), "a block holds many calls"
    assert timed.values == pytest.approx([1e-6] * len(timed.values), rel=0.01), "seconds of one call, not of a block"


def test_one_long_first_block_does_not_decide_how_many_calls_a_block_holds(clock):
    """On a busy machine the very call that is tried may be held up; later blocks still hold enough calls."""
    counted = 0

    def call():
        nonlocal counted
        counted += 1
        clock.pass_by(0.05 if counted == 2 else 1e-6)  # the first one is not timed

    timed = timing.measure(call, seconds=0.1)
    assert counted > 100 * len(timed.values)
    assert max(timed.values) < 0.05


def test_an_interrupt_keeps_the_repeats_taken_so_far(clock):
    calls = 0

    def call():
        nonlocal calls
        calls += 1
        if calls > 6:
            raise KeyboardInterrupt
        clock.pass_by(0.02)

    timed = timing.measure(call, seconds=0.5)
    assert timed.interrupted
    assert timed.values == pytest.approx([0.02] * 5, rel=1e-4), "the first call is not timed"


def test_an_interrupt_before_the_first_repeat_goes_on():
    def call():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        timing.measure(call, seconds=1)


def test_threads_are_left_as_they_were():
    import torch

    before = torch.get_num_threads()
    timing.measure(lambda: None, seconds=0.01)
    assert torch.get_num_threads() == before


def test_a_gpu_that_is_not_there(monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert timing.resolve_on("auto") == "cpu"
    with pytest.raises(Unavailable, match="needs an NVIDIA GPU") as refusal:
        timing.resolve_on("cuda")
    assert "\n" not in str(refusal.value)
    assert isinstance(refusal.value, ValueError)
    with pytest.raises(ValueError, match="on='gpu'"):
        timing.resolve_on("gpu")


def test_a_gpu_that_is_there(monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert timing.resolve_on("auto") == "cuda"
    assert timing.resolve_on("cpu") == "cpu"


def test_an_accelerator_is_synchronised_before_the_clock_is_read(monkeypatch):
    """A fake accelerator: work is queued at no cost and done while it is waited for."""
    import torch

    queued = 0

    def launch():
        nonlocal queued
        queued += 1

    def synchronise():
        nonlocal queued
        time.sleep(0.005 * queued)
        queued = 0

    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.accelerator, "synchronize", synchronise)
    assert timing.measure(launch, seconds=0.05).median >= 0.005


def test_one_thread_for_a_block_and_the_threads_come_back():
    before = torch.get_num_threads()
    with suppress(KeyError), timing.single_thread(torch):
        assert torch.get_num_threads() == 1
        raise KeyError
    assert torch.get_num_threads() == before
