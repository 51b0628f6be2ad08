"""The truth of each prediction card of Q11, computed when a learner reveals it."""

from fractions import Fraction

from course_lib.accounting import inference
from course_lib.accounting.queues import queueing
from course_lib.units.q11_throughput_or_latency import serving


def busier(a: int, b: int, more: str, stay: str, before: str, after: str) -> float:
    short, long = (queueing.pk_wait(rate=percent / 100, service=1.0) for percent in (a, b))
    return long / short


def how_to_batch() -> str:
    """Twenty thousand requests on a virtual clock."""
    times = serving.arrivals(90, 20_000)
    servers = {"alone": (1, 0.0), "none": (32, 0.0), "ten": (32, 0.010), "fifty": (32, 0.050)}
    medians = {
        name: serving.percentile(serving.serve(times, lambda n: 0.010 + 0.0001 * n, most, window)[0], 50)
        for name, (most, window) in servers.items()
    }
    return min(medians, key=medians.get)


def longest_of_32() -> float:
    """The mean of the longest of 32 exponential lengths, over the mean of one."""
    return float(sum(Fraction(1, k) for k in range(1, 33)))


def mi300x() -> float:
    return inference.decode_step("llama3-70b", batch=32, context=4000, device="mi300x").tokens_per_second
