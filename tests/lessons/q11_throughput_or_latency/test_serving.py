"""Servers on a virtual clock against a look at every millisecond, closed forms, and cases by hand."""

import random
from statistics import fmean

import pytest

from course_lib.accounting.queues import queueing
from course_lib.units.q11_throughput_or_latency import serving, speculative


def ticking(times, step, most):
    """Greedy batches by looking at every millisecond: latencies in the order of the arrivals."""
    waiting, running, until, left, latencies = [], [], 0, list(times), {}
    clock = 0
    while left or waiting or running:
        if running and clock == until:
            latencies |= {number: clock - came for number, came in running}
            running = []
        while left and left[0] <= clock:
            waiting.append((len(times) - len(left), left.pop(0)))
        if waiting and not running:
            running, waiting = waiting[:most], waiting[most:]
            until = clock + step(len(running))
        clock += 1
    return [latencies[number] for number in range(len(times))]


@pytest.mark.parametrize("most", [1, 2, 5, 100])
def test_greedy_batches_are_those_of_a_look_at_every_millisecond(most):
    rng = random.Random(most)
    times = sorted(rng.randrange(3000) for _ in range(150))
    latencies, sizes = serving.serve(times, lambda n: 10 + 3 * n, most)
    assert latencies == ticking(times, lambda n: 10 + 3 * n, most)
    assert sum(sizes) == len(times)
    assert max(sizes) <= most


def test_a_window_waits_for_company_and_a_timer_closes_the_batch_when_it_rings():
    times = [0, 4, 9, 11, 40]
    assert serving.serve(times, lambda n: 20, 8, window=5) == ([25, 21, 36, 34, 25], [2, 2, 1])
    assert serving.serve(times, lambda n: 20, 8, window=5, timer=True) == ([25, 21, 36, 34, 25], [2, 2, 1])
    crowd = [0, 6, 13, 19, 24]
    assert serving.serve(crowd, lambda n: 20, 8, window=5)[1] == [1, 4]  # all that came while the first ran
    assert serving.serve(crowd, lambda n: 20, 8, window=5, timer=True)[1] == [1, 1, 1, 2]
    assert serving.serve([0, 1, 2], lambda n: 20, 2, window=5)[1] == [2, 1]  # full before the window ends


def test_one_at_a_time_waits_as_the_formula_says():
    times = serving.arrivals(0.7, 100_000, seed=4)
    alone = fmean(serving.serve(times, lambda n: 1.0, 1)[0]) - 1
    assert alone == pytest.approx(serving.mean_wait(times, [1.0] * len(times)))
    assert alone == pytest.approx(queueing.pk_wait(rate=0.7, service=1.0, scv=0), rel=0.05)


def test_in_flight_is_rate_times_stay():
    times = serving.arrivals(5, 3000, seed=2)
    latencies, _ = serving.serve(times, lambda n: 0.1 + 0.01 * n, 8)
    ends = max(came + latency for came, latency in zip(times, latencies, strict=True))
    assert serving.in_flight(times, latencies) == pytest.approx(sum(latencies) / (ends - times[0]), rel=0.01)


def test_tokens_one_at_a_time_are_a_queue_with_constant_service():
    times = serving.arrivals(0.05, 2000, seed=1)
    firsts, lasts = serving.generate(times, 10, lambda batch: 1.0, 1)
    assert fmean(lasts) == pytest.approx(10 + serving.mean_wait(times, [10.0] * len(times)))
    assert [last - first for first, last in zip(firsts, lasts, strict=True)] == pytest.approx([9.0] * 2000)


def test_sequences_enter_and_leave_between_two_steps():
    firsts, lasts = serving.generate([0.0, 0.5, 0.6], 2, lambda batch: 1.0 * batch, 2)
    # 0–1 the first alone; 1–3 first and second; 3–5 second and third; 5–6 the third alone
    assert firsts == pytest.approx([1, 2.5, 4.4])
    assert lasts == pytest.approx([3, 4.5, 5.4])


def test_steps_by_hand_and_by_the_sum_of_one_over_k():
    assert serving.static_steps([9, 1, 1, 8, 7], 2) == 9 + 8 + 7
    assert serving.continuous_steps([9, 1, 1, 8, 7], 2) == 16  # 9 and 7 in one slot; 1, 1 and 8 in the other
    lengths = serving.lengths(40_000, 1000, seed=5)
    ratio = serving.static_steps(lengths, 8) / (sum(lengths) / 8)
    assert ratio == pytest.approx(sum(1 / k for k in range(1, 9)), rel=0.03)
    assert serving.pages_held([1, 16, 17], 16) == 64


def test_percentiles_by_hand():
    assert [serving.percentile([5, 1, 4, 2, 3], percent) for percent in (0, 20, 21, 50, 99, 100)] == [1, 1, 2, 3, 5, 5]


def test_speculative_sampling_draws_from_the_large_model():
    p, q, rng, draws = [0.6, 0.1, 0.3], [0.2, 0.5, 0.3], random.Random(2), 60_000
    found = [speculative.sample(p, q, rng) for _ in range(draws)]
    shares = [sum(token == each for token, _ in found) / draws for each in range(3)]
    assert shares == pytest.approx(p, abs=0.01)
    assert sum(kept for _, kept in found) / draws == pytest.approx(0.2 + 0.1 + 0.3, abs=0.01)
    assert speculative.acceptance(p, q) == pytest.approx(0.6)
