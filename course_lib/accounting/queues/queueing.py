"""Queues: how long a request waits before its service begins."""

from math import inf

from course_lib.accounting import units


def pk_wait(*, rate, service, scv=1.0) -> float:
    """Mean seconds that a request waits for one server, its own service not included: ρ/(1 − ρ) · (1 + c²)/2 · service.

    Requests arrive at random (Poisson), `rate` a second; the server takes them one at a time, in their order, and needs
    `service` seconds in the mean. ρ = rate·service is the share of time that it is busy. scv (c²): variance of the
    service over the square of its mean, 1 where it is exponential (M/M/1), 0 where it is always the same (M/D/1).
    Infinite from ρ = 1 on: the queue grows without end (Pollaczek 1930, Khinchine 1932).
    """
    rate, service = units.number(rate, "rate"), units.positive(service, "service")
    busy, spread = rate * service, units.number(scv, "scv")
    return busy / (1 - busy) * (1 + spread) / 2 * service if busy < 1 else inf


units.teach(globals())
