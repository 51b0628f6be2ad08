"""Servers on a virtual clock: requests arrive at random, wait, and are served alone or together. Exact for a seed."""

import heapq
import math
import random
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence


def arrivals(rate: float, requests: int, seed: int = 0) -> list[float]:
    """Times at which requests come that know nothing of each other (Poisson), `rate` a second."""
    rng, clock, times = random.Random(seed), 0.0, []
    for _ in range(requests):
        clock += rng.expovariate(rate)
        times.append(clock)
    return times


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that at least `percent` % of the values do not exceed."""
    return sorted(values)[max(0, math.ceil(percent / 100 * len(values)) - 1)]


# ---------------------------------------------------------------- one at a time


def mean_wait(times: Sequence[float], services: Sequence[float]) -> float:
    """Mean time in the queue before one server that takes requests one by one, in their order."""
    free, waited = 0.0, 0.0
    for came, service in zip(times, services, strict=True):
        start = max(came, free)
        waited += start - came
        free = start + service
    return waited / len(times)


# ---------------------------------------------------------------- a batch at a time


def serve(
    times: Sequence[float], step: Callable[[int], float], most: int, window: float = 0.0, timer: bool = False
) -> tuple[list[float], list[int]]:
    """Latency of each request, and the sizes of the batches, of a server that takes up to `most` at once.

    step: size of a batch -> seconds. window: a server that is free waits so long after the first request for company.
    timer: the batch is closed when the window of its first request ends, or when it is full, whether or not the server
    is free by then; without it the batch is closed when it starts.
    """
    latencies, sizes, free, first = [], [], 0.0, 0
    while first < len(times):
        full = times[first + most - 1] if first + most <= len(times) else math.inf
        closed = min(times[first] + window, full)
        start = max(free, closed)
        last = min(bisect_right(times, closed if timer else start), first + most)
        free = start + step(last - first)
        latencies += [free - came for came in times[first:last]]
        sizes.append(last - first)
        first = last
    return latencies, sizes


# ---------------------------------------------------------------- a token at a time


def generate(times: Sequence[float], tokens: int, step: Callable[[int], float], slots: int) -> tuple[list, list]:
    """Seconds from arrival to the first token and to the last one, of requests of `tokens` tokens each.

    Continuous batching: between two steps those that are done leave and those that wait enter, up to `slots` together.
    step: sequences in the batch -> seconds. Prompts are not read here.
    """
    clock, came, running, firsts, lasts = 0.0, 0, [], [], []  # running: [arrival, tokens left]
    while running or came < len(times):
        if not running:
            clock = max(clock, times[came])
        while came < len(times) and times[came] <= clock and len(running) < slots:
            running.append([times[came], tokens])
            came += 1
        clock += step(len(running))
        for request in running:
            if request[1] == tokens:
                firsts.append(clock - request[0])
            request[1] -= 1
        lasts += [clock - begun for begun, left in running if left == 0]
        running = [request for request in running if request[1]]
    return firsts, lasts


# ---------------------------------------------------------------- sequences of unequal length


def lengths(requests: int, mean: float, seed: int = 0) -> list[int]:
    """Tokens of answers whose lengths are exponential: most are short, some are long."""
    rng = random.Random(seed)
    return [math.ceil(rng.expovariate(1 / mean)) for _ in range(requests)]


def static_steps(tokens: Sequence[int], slots: int) -> int:
    """Steps of batches that start together and end with their longest sequence."""
    return sum(max(tokens[i : i + slots]) for i in range(0, len(tokens), slots))


def continuous_steps(tokens: Sequence[int], slots: int) -> int:
    """Steps where the next sequence enters as soon as a slot is free."""
    ends = [0] * slots
    for length in tokens:
        heapq.heappush(ends, heapq.heappop(ends) + length)
    return max(ends)


def pages_held(tokens: Sequence[int], page: int) -> int:
    """Tokens' worth of cache that sequences of these lengths hold, in pages of `page` tokens."""
    return sum(math.ceil(length / page) * page for length in tokens)


def in_flight(times: Sequence[float], latencies: Sequence[float]) -> float:
    """Mean number of requests in the system, by looking at it every so often, from the first arrival to the last end."""
    ends = sorted(came + latency for came, latency in zip(times, latencies, strict=True))
    looks = 20_000
    moments = (times[0] + (ends[-1] - times[0]) * (look + 0.5) / looks for look in range(looks))
    return sum(bisect_right(times, moment) - bisect_left(ends, moment) for moment in moments) / looks
