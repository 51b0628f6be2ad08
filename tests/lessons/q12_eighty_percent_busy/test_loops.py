"""The loops that the experiments run, on their real threads; and what is predicted of them, against a timeline."""

import sys
import threading
import time

import pytest

torch = pytest.importorskip("torch")

from course_lib.units.q12_eighty_percent_busy import loops  # noqa: E402
from course_lib.units.q12_eighty_percent_busy.experiments import input_bound, three_programs, waiting  # noqa: E402


def test_a_step_is_a_forward_pass_of_its_layers():
    with torch.inference_mode():
        out = loops.step(torch, layers=2)()
        generator = torch.Generator().manual_seed(0)
        first, second = (torch.randn(512, 512, generator=generator) for _ in range(2))
        x = torch.randn(64, 512, generator=generator)
        assert torch.allclose(out, (x @ first).clamp(min=0).matmul(second).clamp(min=0))


def test_polling_uses_the_processor_and_sleeping_does_not():
    used = []
    for wait in (loops.poll, time.sleep):
        before = time.thread_time()
        wait(0.05)
        used.append(time.thread_time() - before)
    assert used[0] > 10 * used[1]


def test_a_watched_call_is_called_five_times_at_least():
    calls = []
    cores, rate, typical = loops.watched(lambda: calls.append(time.sleep(0.01)), 0.0)
    assert len(calls) == 5
    assert typical >= 0.01
    assert rate <= 100
    assert cores < 0.9


def test_a_spinner_ends_and_leaves_the_switch_interval():
    before, threads = sys.getswitchinterval(), threading.active_count()
    with loops.spinner(1e-3):
        assert sys.getswitchinterval() == pytest.approx(1e-3)
        assert threading.active_count() == threads + 1
    assert sys.getswitchinterval() == before
    assert threading.active_count() == threads


def test_loaders_fetch_ahead_and_end():
    threads, fetched = threading.active_count(), []
    with loops.loaders(lambda: fetched.append(1) or len(fetched), workers=2, ahead=3) as take:
        assert take() >= 1
        time.sleep(0.2)
        assert len(fetched) <= 1 + 2 * 3 + 2  # one taken, six in the queue, one in the hands of each worker
    assert threading.active_count() == threads


def timeline(waits: float, ahead: bool, steps: int = 1000) -> float:
    """Times of the product that a step takes in the long run, input by input."""
    ready = done = 0.0
    for _ in range(steps):
        ready = (max(ready, done - waits) if ahead else done) + waits
        done = max(ready, done) + 1.0
    return done / steps


@pytest.mark.parametrize("name", ["A", "C"])
def test_what_is_predicted_of_a_program_and_its_remedies_is_what_its_timeline_says(name):
    program = three_programs.PROGRAMS[name]
    whole = timeline(program.waits, program.ahead)
    wanted = {
        "faster input": timeline(program.waits / 8, program.ahead),
        "one large call": whole,
        "overlap": timeline(program.waits, True),
        "input": program.waits,
        "arithmetic": 1.0,
    }
    for reading, taken in wanted.items():
        found = three_programs._expected(None, program=program, reading=reading)
        assert found == pytest.approx(100 * taken / whole, rel=0.01)


def test_a_program_has_the_time_of_its_timeline():
    waits = 0.004
    for ahead, parts in ((False, 2), (True, 1)):
        step = three_programs._step(waits, ahead, None, lambda: loops.poll(waits))
        took = loops.watched(step, 0.05)[2]
        assert took >= parts * waits * 0.99


def test_predictions_of_the_waiting_loops():
    found = {case.name: case.predict(None) for case in waiting.cases(None, quick=True)}
    assert found["waiting asleep: work"] == found["waiting, polling: work"] == found["waiting asleep: gauge"] == 50
    assert found["waiting, polling: gauge"] == 100
    assert found["beside a spinner: work"] is None


def test_predictions_of_the_workers():
    """By hand: 1/(3 + 1), then workers/3 up to 1."""
    found = [case.predict(None) for case in input_bound.cases(None, quick=True)]
    assert found == [pytest.approx(25), pytest.approx(100 / 3), pytest.approx(200 / 3), 100, None, None, None]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["waiting", "input_bound", "three_programs", "persistent"])
def test_each_experiment_runs(name, monkeypatch):
    from course_lib import experiments

    result = experiments.run(name, on="cpu")
    assert all(row["measured"] >= 0 for row in result.rows)
    assert str(result.plot())
