"""The pace of a pipeline against workers that are followed piece by piece."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.accounting.queues import pipeline


def last_piece(stages, pieces):
    """When the last of `pieces` leaves the last stage; at each stage a piece takes the worker that is free first."""
    free = [[0.0] * workers for _, workers in stages]
    done = 0.0
    for _ in range(pieces):
        now = 0.0
        for (seconds, _), places in zip(stages, free, strict=True):
            worker = min(range(len(places)), key=places.__getitem__)
            now = max(now, places[worker]) + seconds
            places[worker] = now
        done = max(done, now)
    return done


STAGES = st.lists(st.tuples(st.integers(1, 50), st.integers(1, 5)), min_size=1, max_size=4)


@given(stages=STAGES)
def test_overlapped_stages_give_what_the_slowest_gives(stages):
    many = 600  # whole rounds of all numbers of workers
    per_piece = (last_piece(stages, 2 * many) - last_piece(stages, many)) / many
    found = pipeline.rate({str(number): stage for number, stage in enumerate(stages)})
    assert found.per_second == pytest.approx(1 / per_piece, rel=0.02)


@given(stages=STAGES)
def test_in_turn_a_piece_takes_all_times(stages):
    found = pipeline.rate({str(number): stage for number, stage in enumerate(stages)}, overlapped=False)
    assert found.per_second == pytest.approx(1 / sum(seconds for seconds, _ in stages))


def test_the_slowest_stage_is_named():
    loop = {"load": (0.03, 4), "compute": 0.01}
    assert pipeline.rate(loop).slowest == "compute"
    assert pipeline.rate(loop, overlapped=False).slowest == "load"
    assert pipeline.rate({"load": (0.03, 2), "compute": 0.01}).per_second == pytest.approx(1 / 0.015)


@given(stages=st.lists(st.integers(1, 50), min_size=1, max_size=4), pause=st.integers(0, 20))
def test_a_pause_comes_on_top(stages, pause):
    """Followed on a clock of whole numbers: in each round a stage works on its piece, then all wait for all."""
    clock = 0
    for _ in range(50):
        left = list(stages)
        while any(left):
            left = [max(0, rest - 1) for rest in left]
            clock += 1
        clock += pause
    named = {str(number): seconds for number, seconds in enumerate(stages)}
    assert pipeline.rate(named, pause=pause).seconds == pytest.approx(clock / 50)


@given(stages=STAGES)
def test_slack_is_what_a_stage_may_lose_before_the_pace_changes(stages):
    named = {str(number): stage for number, stage in enumerate(stages)}
    before = pipeline.rate(named)
    assert before.slack[before.slowest] == 0
    for name, (seconds, workers) in named.items():
        within, beyond = (
            pipeline.rate({**named, name: (seconds + before.slack[name] + more, workers)}) for more in (0, 1)
        )
        assert within.seconds == pytest.approx(before.seconds)
        assert beyond.seconds == pytest.approx(before.seconds + 1 / workers)
    assert set(pipeline.rate(named, overlapped=False).slack.values()) == {0.0}


@pytest.mark.parametrize("pause", [-1, "long", float("nan")])
def test_a_pause_that_makes_no_sense_is_refused(pause):
    with pytest.raises(ValueError, match="pause"):
        pipeline.rate({"load": 1}, pause=pause)


@pytest.mark.parametrize("stages", [{}, 3, {"load": 0}, {"load": (0.1, 0)}, {"load": (0.1, 1.5)}, {"load": "fast"}])
def test_what_makes_no_sense_is_refused(stages):
    with pytest.raises(ValueError, match="stages"):
        pipeline.rate(stages)


def test_it_explains_itself():
    assert "max(t_1/w_1, t_2/w_2)" in pipeline.rate({"load": (0.03, 4), "compute": 0.01}).explain()
