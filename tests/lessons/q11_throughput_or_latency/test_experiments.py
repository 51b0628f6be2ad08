"""The experiments of Q11: what the server is predicted to serve, and how many letters a call of the pair writes."""

import pytest
import torch

from course_lib.accounting import hardware
from course_lib.experiments.running import timing
from course_lib.experiments.running.bench import Bench
from course_lib.units.q11_throughput_or_latency.experiments import batching_server, speculative_decoding


def test_the_prediction_serves_what_comes_until_one_at_a_time_is_full():
    device = hardware.load("epyc-9654")
    served = {policy: batching_server.predicted(device, 3.0, policy, 0.3) for policy in batching_server.POLICIES}
    assert served[batching_server.ALONE] == pytest.approx(1.0, rel=0.02)
    assert 2.5 < served[batching_server.GREEDY] < 3.3
    quiet = batching_server.predicted(device, 0.3, batching_server.GREEDY, 0.3)
    assert quiet == pytest.approx(0.3, rel=0.15)


@pytest.mark.slow
def test_the_pair_writes_as_many_letters_a_call_as_its_overlap_says(monkeypatch):
    monkeypatch.setattr(speculative_decoding, "STEPS", 150)
    pair = speculative_decoding.Pair()
    with timing.single_thread(torch):
        pair.learn(torch)
        gains = {drafted: pair.write(drafted, 400, seed=1) for drafted in (1, 4)}
    overlap = pair.agreement()
    assert 0.4 < overlap < 0.9
    for drafted, (letters, kept, judged) in gains.items():
        assert letters == pytest.approx(sum(overlap**k for k in range(drafted + 1)), rel=0.2)
        assert kept <= judged


@pytest.mark.slow
def test_every_case_of_the_server_fills_its_row():
    device = hardware.load("epyc-9654")
    for case in batching_server.cases(device, quick=True)[:1]:
        (served,) = case.observe(Bench.on_device(torch, "cpu"), 0.1)
        assert 0 < served < 1
        assert {"p50", "p99", "batch", "in_flight", "seen", "load", "policy"} <= set(case.facts)
