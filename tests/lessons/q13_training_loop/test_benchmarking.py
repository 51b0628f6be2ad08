"""The noise of a median, against medians of many drawn samples; and checkpoints that are not whole."""

import random
import statistics

import pytest

from course_lib.experiments import load
from course_lib.units.q13_training_loop import benchmarking, loop, toy


def test_the_noise_is_how_far_medians_scatter():
    draw = random.Random(0)
    samples = [[draw.gauss(1, 0.05) for _ in range(101)] for _ in range(400)]
    scatter = statistics.stdev(map(statistics.median, samples))
    assert statistics.mean(map(benchmarking.noise, samples)) == pytest.approx(scatter, rel=0.1)


def test_an_alarm_needs_both_bounds():
    assert benchmarking.is_slower([1.05, 1.049, 1.051])
    assert not benchmarking.is_slower([0.95, 0.949, 0.951])
    assert not benchmarking.is_slower([1.01, 1.01, 1.01])  # nobody would act on it
    assert not benchmarking.is_slower([1.05, 0.9, 1.2, 0.93, 1.18])  # within the noise


@pytest.mark.parametrize("width", [0.001, 0.02, 0.2])
def test_false_alarms_are_rare_at_any_noise_and_five_percent_is_found_where_there_is_little(width):
    draw = random.Random(1)
    answers = {
        more: [benchmarking.is_slower([draw.gauss(more, width) for _ in range(40)]) for _ in range(2000)]
        for more in (1, 1.05)
    }
    assert statistics.mean(answers[1]) < 0.01
    assert (statistics.mean(answers[1.05]) > 0.99) == (width < 0.1)


def test_the_recording_has_no_false_alarm_in_fifty_and_finds_five_percent():
    alarms = load("noise_band", "amd-epyc-2-cores").measured
    assert alarms["pairs: no change"] == 0
    assert alarms["pairs: 5 % slower"] >= 90


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def test_the_newest_whole_checkpoint_is_found_and_two_are_kept(torch, tmp_path):
    assert loop.newest(torch, tmp_path) is None
    for step in (20, 40, 60):
        loop.save(torch, tmp_path, {"position": step})
    assert sorted(path.name for path in tmp_path.iterdir()) == [loop.name(40), loop.name(60)]
    last = tmp_path / loop.name(60)
    whole = last.read_bytes()
    for damaged in (b"", whole[:10], whole[:-1], whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:]):
        last.write_bytes(damaged)
        assert loop.newest(torch, tmp_path) == {"position": 40}
    last.write_bytes(whole)
    assert loop.newest(torch, tmp_path) == {"position": 60}


def test_the_toy_run_resumes_exactly_and_only_with_all_its_pieces():
    right = toy.straight()
    assert toy.resumed().losses == right.losses
    for piece in toy.PIECES:
        assert toy.resumed((piece,)).losses != right.losses
