"""The wait in a queue against customers that are served one by one, and a batch's limit against every batch."""

import math
import random

import pytest

from course_lib.accounting import inference
from course_lib.accounting.queues import queueing


def waited(rate, draw, customers=200_000, seed=3):
    """Mean wait of customers that are served in their order."""
    rng, clock, free, total = random.Random(seed), 0.0, 0.0, 0.0
    for _ in range(customers):
        clock += rng.expovariate(rate)
        start = max(clock, free)
        total += start - clock
        free = start + draw(rng)
    return total / customers


@pytest.mark.parametrize(
    ("draw", "mean", "scv"),
    [
        (lambda rng: rng.expovariate(0.5), 2.0, 1.0),
        (lambda rng: 2.0, 2.0, 0.0),
        (lambda rng: rng.choice([0.5, 3.5]), 2.0, (1.5 / 2) ** 2),
        (lambda rng: 20.0 if rng.random() < 0.05 else 20 / 19, 2.0, None),
    ],
    ids=["exponential", "constant", "two values", "rarely long"],
)
@pytest.mark.parametrize("busy", [0.3, 0.8])
def test_the_mean_wait_is_that_of_a_simulation(draw, mean, scv, busy):
    if scv is None:  # 5 % of 20 s, the rest 20/19 s
        scv = (0.05 * 20**2 + 0.95 * (20 / 19) ** 2) / mean**2 - 1
    found = waited(busy / mean, draw)
    assert queueing.pk_wait(rate=busy / mean, service=mean, scv=scv) == pytest.approx(found, rel=0.08)


def test_a_full_server_is_never_done():
    assert queueing.pk_wait(rate=0.5, service=2) == math.inf
    assert queueing.pk_wait(rate=1, service=2, scv=0) == math.inf
    assert queueing.pk_wait(rate=0, service=2) == 0


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"rate": -1, "service": 1}, "rate=-1"),
        ({"rate": 1, "service": 0}, "service=0"),
        ({"rate": 0.1, "service": 1, "scv": math.inf}, "scv=inf"),
    ],
)
def test_errors_name_the_argument(given, says):
    with pytest.raises(ValueError, match=says):
        queueing.pk_wait(**given)


@pytest.mark.parametrize("how", [{}, {"devices": 2, "kv_dtype": "fp8"}], ids=["one", "two"])
@pytest.mark.parametrize("model", ["llama3-8b", "mixtral-8x7b"])
def test_the_largest_batch_is_the_last_that_holds(model, how):
    how = {"context": 8192, "device": "h100-sxm", **how}
    steps = [inference.decode_step(model, batch=batch, **how) for batch in range(1, 150)]
    for seconds in (1e-3, 10e-3, 12e-3):
        holds = [step.seconds <= seconds and step.fits for step in steps]
        assert holds == sorted(holds, reverse=True)
        assert not holds[-1]
        assert inference.largest_batch(model, seconds=seconds, **how) == sum(holds)


def test_errors_of_the_largest_batch():
    with pytest.raises(ValueError, match="seconds=0"):
        inference.largest_batch("llama3-8b", seconds=0, context=1024, device="h100-sxm")
