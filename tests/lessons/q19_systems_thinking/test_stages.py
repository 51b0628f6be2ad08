"""The model in ms against hand calculations and a queue followed batch by batch; what the faulty loops keep."""

import itertools
import statistics

import pytest

from course_lib.units.q19_systems_thinking import checks, explorer, programs, stages
from tests.explorers import STEP, calls_of


def test_the_title_by_hand():
    assert stages.step(stages.SLOW, 5) == 55
    assert stages.step(stages.FAST, 5) == 45
    assert stages.step(stages.SLOW, 5, overlapped=False) == 105
    assert stages.slack(stages.SLOW) == {"load": 10, "copy": 40, "compute": 0}


@pytest.mark.parametrize("delta", [1, 9, 10, 11, 40])
def test_slowing_a_stage_moves_a_followed_queue_as_much(delta):
    """Batch by batch: a stage begins when it is free and the batch is there."""

    def last(times, batches=400):
        free = [0] * len(times)
        for _ in range(batches):
            now = 0
            for place, ms in enumerate(times):
                now = free[place] = max(now, free[place]) + ms
        return free[-1]

    for name in stages.SLOW:
        slower = stages.slowed(stages.SLOW, name, delta)
        found = (last(list(slower.values())) - last(list(stages.SLOW.values()))) / 400
        assert stages.step(slower) - stages.step(stages.SLOW) == pytest.approx(found, abs=0.2)


def test_the_live_pipeline_is_never_faster_than_its_model_and_overlaps():
    """A sleep is never shorter than asked. That stages overlap shows in the best of many tries."""
    quick = {"load": 8, "copy": 2, "compute": 10}
    for how, least, below in (
        ({}, 10, 18),
        ({"pause": 4}, 14, 22),
        ({"pause": 4, "overlapped": False}, 24, float("inf")),
    ):
        tries = (min(stages.run(quick, **how, pieces=9)) for _ in range(30))
        found = [next(tries)]
        while min(found) >= below and (again := next(tries, None)):
            found.append(again)
        assert least <= min(found) < below, how


def test_the_order_of_fixes_by_hand():
    order = stages.in_order({"a": 50, "b": 30}, [("x", "a", 4, 1, 1), ("y", "a", 2, 1, 1), ("z", "b", 2, 1, 1)])
    assert [row[0] for row in order] == ["x", "z", "y"]
    assert [row[1] for row in order] == [37.5, 15, 6.25]
    assert [row[2] for row in order] == [42.5, 27.5, 21.25]


def test_the_exercises_order_is_the_units():
    parts, fixes = {"a": 50, "b": 30}, [["x", "a", 4, 0.5, 2], ["y", "a", 2, 1, 1], ["z", "b", 2, 0.9, 1]]
    found = [row[0] for row in stages.in_order(parts, [tuple(fix) for fix in fixes])]
    check = next(check for check in checks.CHECKS if check.id == "q19.best-order")
    assert check.reference(parts, fixes) == found


def test_the_picture_has_every_batch_in_order():
    bars = stages.gantt(stages.SLOW, 5, 3)
    assert [bar[2] for bar in bars if bar[0] == "compute"] == [110, 165, 220]
    assert len(bars) == 9


@pytest.mark.slow  # all of them together
@pytest.mark.parametrize(("name", "kept"), [("A", 0), ("C", 0), ("D", 4 * 128 * 512)])
def test_only_one_loop_keeps_tensors(name, kept):
    torch = pytest.importorskip("torch")
    assert programs.kept(torch, programs.PROGRAMS[name]) == kept


def test_each_fault_has_its_remedy():
    for name, program in programs.PROGRAMS.items():
        remedies = [cure for cure in programs.CURES if programs.cured(program, cure) != program]
        kinds = [cure for cure in remedies if cure != "input ready" or program.load > 1]
        assert (kinds or ["not in time"]) == [programs.RIGHT[name]]


def test_the_explorers_task():
    fit = [
        workers
        for workers in range(1, 9)
        if stages.step({"load": 5, "decode": (30, workers), "copy": 2, "compute": 12}) == 12
    ]
    assert min(fit) == 3
    assert stages.step({"load": 5, "decode": (30, 6), "copy": 2, "compute": 5.5}, 1) == 6.5
    assert stages.step({"load": 5, "decode": (30, 5), "copy": 2, "compute": 5.5}, 1) > 6.5


def test_slider_ends_are_shown():
    for value in (1, explorer.MOST):
        for workers in (1, 16):
            figure = explorer.view(value, value, workers, value, value, value).figure
            assert figure.y.high > value


def test_a_step_of_the_slider_is_little_work():
    state = (5, 30, 1, 2, 12, 1)
    explorer.view(*state)
    assert calls_of(lambda: explorer.view(*state)) < STEP


def _followed(times, room):
    """Two stages, one event at a time: what is finished waits in a list, and blocks the first stage when it is full."""
    waiting, ends, now, loaded, computed = 0, [], 0.0, 0, 0
    load_ends, compute_ends, held = times[0][0], None, False
    while computed < len(times):
        now = min(end for end in (load_ends, compute_ends) if end is not None)
        if compute_ends == now:
            compute_ends, computed = None, computed + 1
            ends.append(now)
        if load_ends == now:
            load_ends, held = None, True
        for _ in range(2):
            if held and waiting < room + (compute_ends is None):
                waiting, held, loaded = waiting + 1, False, loaded + 1
                load_ends = now + times[loaded][0] if loaded < len(times) else None
            if compute_ends is None and waiting:
                waiting, compute_ends = waiting - 1, now + times[computed][1]
    return (ends[-1] - ends[0]) / (len(ends) - 1)


@pytest.mark.parametrize("room", [1, 2, 8])
@pytest.mark.parametrize("compute", [10, 40, 50])
def test_batches_that_differ_against_one_event_at_a_time(room, compute):
    times = [(load, compute) for load in stages.varied(30, 130, 400)]
    assert stages.pace(times, room) == pytest.approx(_followed(times, room))


def test_equal_batches_keep_the_longest_stage():
    for room in (1, 3):
        assert stages.pace([(40, 10, 50)] * 50, room) == 50
    assert statistics.mean(stages.varied(30, 130)) == 40


def test_the_pace_is_read_while_all_stages_work():
    """By a clock that is only counted: in each round between two barriers the stages that have a batch, and a pause."""
    stage_ms, pause, pieces = (12, 2, 4), 2, 9
    now, ends = 0, []
    for number in range(pieces + 2):
        busy = [ms for place, ms in enumerate(stage_ms) if 0 <= number - place < pieces]
        if 0 <= number - 2 < pieces:
            ends.append(now + stage_ms[-1])
        now += max(busy) + pause
    assert [after - before for before, after in itertools.pairwise(ends)] == [14] * 7 + [6]
    assert stages.steady(ends, len(stage_ms)) == [14] * 6


def test_two_stages_that_tie_both_set_the_step():
    assert "load and compute" in explorer.view(12, 24, 4, 2, 12, 1).figure.title
