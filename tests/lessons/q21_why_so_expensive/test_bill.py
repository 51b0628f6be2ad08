"""Bills against hand calculations and a ledger kept try by try; the cluster against a clock that ticks every hour."""

import heapq
import random

import pytest

from course_lib.accounting import economics
from course_lib.experiments import published
from course_lib.units.q21_why_so_expensive import bill, claims, cluster, data_bill
from course_lib.units.q21_why_so_expensive.experiments import prepare_data


def test_the_famous_number_and_the_others_of_the_title():
    # 3.14e23 / 28e12 = 1.12143e10 s = 3,115,079 h; at 1.50, at 3.06; on an H100 at 40 % of 989e12 for 6.88
    assert bill.hours() == pytest.approx(3_115_079, rel=1e-6)
    assert bill.hours() * 1.5 == pytest.approx(4.6726e6, rel=1e-4)
    assert bill.hours() * 3.06 == pytest.approx(9.5321e6, rel=1e-4)
    assert bill.hours(0.4 * 989e12) * 6.88 == pytest.approx(1.5169e6, rel=1e-4)


def test_the_later_account_of_the_run_has_more_hours():
    # 10,000 cards for 14.8 days: 3.552e6 h; 3.14e23 / 3.552e6 / 3600 = 24.56e12; / 3,115,079 = 1.140; x 1.50 = 5.328e6
    hours = published.get("gpt3-energy").predict["hours"]
    assert hours == 10_000 * 14.8 * 24
    assert bill.FLOPS / hours / 3600 == pytest.approx(24.56e12, rel=1e-3)
    assert hours / bill.hours() == pytest.approx(1.140, rel=1e-3)
    assert claims.s003_66().values["bills"]["account"] == pytest.approx(5.328, rel=1e-3)


@pytest.mark.parametrize(("chance", "fraction"), [(0.25, 0.3), (0.5, 1), (0.9, 0.5), (1, 0.7)])
def test_cost_of_a_success_is_the_sum_over_all_numbers_of_failures(chance, fraction):
    series = sum((1 - chance) ** failed * chance * (failed * fraction + 1) for failed in range(2000))
    assert bill.per_success(chance, fraction) == pytest.approx(series)
    walked = sum(bill.tried(chance, fraction, seed) for seed in range(20_000)) / 20_000
    assert walked == pytest.approx(series, rel=0.03)


def test_stops_are_those_of_a_run_that_is_followed():
    rates = {"checkpoint_seconds": 60, "mtbf_seconds": 16_384 * 54 * 86_400 / 419 / 10_000}
    young = (2 * 60 * rates["mtbf_seconds"]) ** 0.5
    runs = [
        economics.failing_run(work_seconds=1e7, interval_seconds=young, restart_seconds=600, seed=seed, **rates).waste
        for seed in range(5)
    ]
    assert bill.stopped(10_000) == pytest.approx(sum(runs) / 5, rel=0.05)


def test_the_lines_of_a_bill_by_hand():
    lines = bill.Plan(success=0.25, fraction=0.3, trials=0.5, used=0.8).lines()
    run = 4.6726e6
    assert lines["at the peak"] + lines["below the peak"] == pytest.approx(run, rel=1e-4)
    assert lines["at the peak"] == pytest.approx(run * 28 / 125, rel=1e-4)
    again = run * (1 + bill.stopped(10_000))
    assert lines["failed tries"] == pytest.approx(0.9 * again, rel=1e-4)
    assert lines["trials"] == pytest.approx(run / 2, rel=1e-4)
    working = again * 1.9 + run / 2
    assert lines["idle hours"] == pytest.approx(working / 4, rel=1e-4)  # a fifth of all hours: a quarter of the used
    assert lines["people"] == 4e6
    assert lines["judged data"] == pytest.approx(666_667, rel=1e-4)


def test_a_plan_where_nothing_goes_wrong_is_the_run_and_its_stops():
    plan = bill.Plan(success=1, trials=0, used=1, years=0, judged=0)
    assert plan.total == pytest.approx(plan.run * (1 + bill.stopped(10_000)))


def test_an_own_hour_by_hand():
    # 40,000 / 35,040 h = 1.1416; 0.7 · 1.5 · 1.1 kW at 0.10 = 0.1155: 1.2571 for an hour, used or not
    assert bill.own_hour(1) == pytest.approx(1.2571, rel=1e-4)
    assert bill.own_hour(0.5) == pytest.approx(2 * 1.2571, rel=1e-4)
    assert round(100 * bill.own_hour(1) / 2) == 63


def ticked(jobs, devices):
    """When each job starts, by a clock that ticks every hour and looks at the head of the queue only."""
    queue, running, found, hour = list(jobs), [], [], 0
    while queue:
        running = [(end, width) for end, width in running if end > hour]
        while queue and queue[0][0] <= hour and sum(width for _, width in running) + queue[0][1] <= devices:
            _, width, hours = queue.pop(0)
            running.append((hour + hours, width))
            found.append(hour)
        hour += 1
    return found


@pytest.mark.parametrize("seed", range(30))
def test_jobs_start_as_by_a_ticking_clock(seed):
    draw = random.Random(seed)
    devices, now, jobs = draw.randrange(1, 20), 0, []
    for _ in range(40):
        jobs.append((now, draw.randrange(1, devices + 1), draw.randrange(1, 12)))
        now += draw.randrange(0, 6)
    assert cluster.starts(jobs, devices) == ticked(jobs, devices)


def passing(jobs, devices):
    """When each job starts if later ones may pass: at each arrival and each end, whatever fits, in order."""
    events, waiting, running, found = sorted(arrival for arrival, *_ in jobs), [], [], {}
    came = list(enumerate(jobs))
    while events:
        now = heapq.heappop(events)
        running = [(end, width) for end, width in running if end > now]
        while came and came[0][1][0] <= now:
            waiting.append(came.pop(0))
        for number, (_, width, hours) in list(waiting):
            if sum(held for _, held in running) + width <= devices:
                waiting.remove((number, jobs[number]))
                running.append((now + hours, width))
                heapq.heappush(events, now + hours)
                found[number] = now
    return [found[number] for number in range(len(jobs))]


def test_a_wide_job_at_the_head_more_than_doubles_the_wait_at_92_per_cent():
    """What the check of `starts` tells whoever solved it."""
    waits = {cluster.starts: 0.0, passing: 0.0}
    for seed in range(8):
        jobs = cluster.jobs(0.93, seed)
        for starts in waits:
            began = starts(jobs, cluster.DEVICES)
            waits[starts] += sum(start - job[0] for start, job in zip(began, jobs, strict=True)) / len(jobs) / 8
    assert round(100 * cluster.mean(0.93).used) == 92
    assert waits[cluster.starts] > 2 * waits[passing]


def test_a_calendar_uses_what_was_offered_and_no_more_than_there_is():
    light = cluster.mean(0.4, seeds=4)
    assert light.used == pytest.approx(0.4, rel=0.05)
    assert light.wait < 1
    full = cluster.calendar(3.0, length=2000.0)
    assert 0.85 < full.used <= 1


def test_preparing_and_judging_by_hand():
    # 60e12 B at 1e6 B/s are 6e7 s = 16,667 h at 4 cents; a million of two minutes are 33,333 h at 20 dollars
    assert data_bill.machine(1e6) == pytest.approx(666.67, rel=1e-4)
    assert data_bill.judged() == pytest.approx(666_667, rel=1e-4)


def test_repeats_are_found():
    once = " ".join(map(str, range(100)))
    assert data_bill.repeated(once) == 0
    assert data_bill.repeated(once + " " + once) == pytest.approx(88 / 188)  # of 188 runs of 13 words the last 88


def test_the_tokenizer_gives_the_text_back():
    pytest.importorskip("tokenizers")
    made = prepare_data.learn()
    piece = prepare_data.pieces()[3]
    tokens = made.encode(piece)
    assert made.decode(tokens.ids) == piece
    assert made.get_vocab_size() == prepare_data.VOCABULARY
    assert len(tokens.ids) < len(piece) / 3
    assert "".join(prepare_data.pieces()) == prepare_data.shakespeare.text()


def test_trials_of_gpt3_are_the_models_of_its_table():
    # 24.935e9 parameters in all, 6 · 300e9 FLOP each: 4.488e22 of 3.14e23
    assert bill.TRIALS["GPT-3"] == pytest.approx(0.1429, rel=1e-3)
    assert bill.TRIALS["BLOOM"] == pytest.approx(1.70, rel=1e-2)
