"""A queue of kernels against one that is followed event by event, against two sums, and against the published case."""

import heapq
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.accounting import hardware, roofline
from course_lib.accounting.queues import launch

US = 1e-6


def followed(kernels, issue, run, gap, graph):
    """(end of the last kernel, time in which a kernel ran) in whole ns, by events: a launch done, a kernel done."""
    events = [((1 if graph else number) * issue, 0, "issued") for number in range(1, kernels + 1)]
    heapq.heapify(events)
    waiting, running, ran, last = 0, False, 0, 0
    while events:
        now, _, what = heapq.heappop(events)
        if what == "issued":
            waiting += 1
        elif what == "done":
            ran, last = ran + run, now
            heapq.heappush(events, (now + gap, 1, "free"))  # a launch of that very moment comes first
        else:
            running = False
        if waiting and not running:
            waiting, running = waiting - 1, True
            heapq.heappush(events, (now + run, 1, "done"))
    return last, ran


@given(
    kernels=st.integers(1, 60),
    issue=st.integers(1, 50),
    run=st.integers(1, 80),
    gap=st.integers(0, 5),
    graph=st.booleans(),
)
def test_the_closed_form_is_what_the_queue_does(kernels, issue, run, gap, graph):
    seconds, ran = followed(kernels, issue, run, gap, graph)
    times = {"issue": issue * 1e-9, "run": run * 1e-9, "gap": gap * 1e-9}
    queue = launch.launch_time(kernels, **times, graph=graph)
    assert queue.seconds == pytest.approx(seconds * 1e-9)
    assert queue.busy == pytest.approx(ran / seconds)


@pytest.mark.parametrize(("run", "micros"), [(50, 5106), (10, 1106), (5, 705), (2, 702), (1, 701)])
def test_a_hundred_kernels_of_seven_microseconds_to_issue(run, micros):
    """By hand: 7 + 99·max(7, run + 1) + run."""
    assert launch.launch_time(100, issue=7 * US, run=run * US, gap=US).seconds == pytest.approx(micros * US)


@given(kernels=st.integers(1, 2000), issue=st.integers(1, 50), run=st.integers(1, 80))
def test_it_lies_between_the_larger_sum_and_the_sum_of_both(kernels, issue, run):
    seconds = launch.launch_time(kernels, issue=issue * US, run=run * US).seconds
    larger, both = (roofline.LAUNCHES[how](kernels * issue * US, kernels * run * US) for how in ("ahead", "in turn"))
    assert larger < seconds <= both * (1 + 1e-12)


@pytest.mark.parametrize("elements", [2**16, 2**24])
def test_many_kernels_take_what_the_roofline_says_of_a_host_that_runs_ahead(elements):
    device = replace(hardware.load("h100-sxm"), call_overhead=7 * US)
    add = roofline.elementwise(elements, reads=2, dtype="fp32")
    queue = launch.launch_time(5000, issue=7 * US, run=add.on(device).seconds).seconds
    assert queue == pytest.approx(roofline.predict_seconds([add] * 5000, device=device, launches="ahead"), rel=1e-3)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="looks like µs"):
        launch.launch_time(100, issue=7e-6, run=50e-6, gap=7)
    with pytest.raises(ValueError, match="kernels=0"):
        launch.launch_time(0, issue=7e-6, run=50e-6)
    with pytest.raises(ValueError, match="run=0"):
        launch.launch_time(1, issue=7e-6, run=0)


def test_it_explains_itself():
    told = launch.launch_time(100, issue=7 * US, run=50 * US, gap=US).explain()
    assert "max(i, r + g)" in told
    assert "one at a time" in told
