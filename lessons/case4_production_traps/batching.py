"""Batching servers under loads that differ from the load test; the recipe and two good ones are those of Q11."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from course_lib.experiments.batchers import Greedy, Impatient, Shielded, Timer, beside

BAD = -1  # an input at which the model raises


class Cleared(Impatient):
    """The recipe with its list taken before the model runs: a batch that fails takes nobody along."""

    def _run(self):
        batch, self.waiting = self.waiting, []
        if batch:
            outputs = self.model([x for x, _ in batch])
            for (_, answer), output in zip(batch, outputs, strict=True):
                answer.set_result(output)


SERVERS = {"recipe": Impatient, "cleared": Cleared, "shielded": Shielded, "timer": Timer, "greedy": Greedy}


class Group(NamedTuple):
    """Requests that are sent together: how many, how many of them have a bad input, how many callers leave at once."""

    size: int
    bad: int = 0
    leave: int = 0


LOADS = {
    "32": (Group(32),),
    "64": (Group(64),),
    "33": (Group(33),),
    "33, 64, 32": (Group(33), Group(64), Group(32)),
    "1, then 64": (Group(1), Group(64)),
    "8, one input bad; 32": (Group(8, bad=1), Group(32)),
    "8, one caller leaves; 32": (Group(8, leave=1), Group(32)),
}


def model(inputs: list) -> list:
    """Answers x with 2·x; raises ValueError where an input is bad."""
    if BAD in inputs:
        raise ValueError("a bad input")
    return [2 * x for x in inputs]


async def send(make: Callable, groups: Sequence[Group], limit: float = 30.0) -> list[list[str]]:
    """What each caller of each group got: "answer", "error" of the model, "left", or "failed" (anything else, or nothing
    within `limit` seconds).
    """
    server, outcomes = make(model), []
    for group in groups:
        inputs = [BAD if number < group.bad else number for number in range(group.size)]
        calls = [asyncio.ensure_future(server.infer(x)) for x in inputs]
        if group.leave:
            await asyncio.sleep(0)  # they have asked
            for call in calls[-group.leave :]:
                call.cancel()
        _, late = await asyncio.wait(calls, timeout=limit)
        for call in late:
            call.cancel()
        ends = [_outcome(call, x) for call, x in zip(calls, inputs, strict=True)]
        outcomes.append(ends[: group.size - group.leave] + ["left"] * group.leave)
    if hasattr(server, "close"):
        server.close()
    return outcomes


def _outcome(call: asyncio.Future, x: int) -> str:
    if not call.done() or call.cancelled():
        return "failed"
    if call.exception() is None:
        return "answer" if call.result() == 2 * x else "failed"
    return "error" if isinstance(call.exception(), ValueError) else "failed"


def answers(make: Callable, sizes: Sequence[int]) -> list[int]:
    """How many requests of each group got their answer."""
    return [ends.count("answer") for ends in beside(send(make, [Group(size) for size in sizes]))]


def failed(make: Callable, groups: Sequence[Group]) -> int:
    """Callers who got neither their answer nor, beside a bad input, the model's own error."""
    return sum(
        end == "failed" or (end == "error" and not group.bad)
        for group, ends in zip(groups, beside(send(make, groups)), strict=True)
        for end in ends
    )


def answered(groups: Sequence[int], most: int) -> list[int]:
    """What the recipe answers of groups that are sent together, one group after the other: a count, with no clock.

    Full batches are answered until the first batch that stays short; its future is cancelled, and stays in the list.
    """
    found, stale = [], False
    for size in groups:
        found.append(0 if stale else size // most * most)
        stale = stale or size % most > 0
    return found


def heartbeats(make: Callable, model: float, beat: float, work: Callable = time.sleep) -> int:
    """How often a task that sleeps `beat` s goes on while a model of `model` s answers one request. work: a function that
    takes as many seconds as it is told.
    """

    async def drive():
        count, done = 0, False

        async def heart():
            nonlocal count
            while not done:
                await asyncio.sleep(beat)
                count += not done

        def answer(inputs):
            work(model)
            return inputs

        server = make(answer, most=1)
        task = asyncio.ensure_future(heart())
        await asyncio.sleep(0)
        await server.infer(1)
        done = True
        await task
        if hasattr(server, "close"):
            server.close()
        return count

    return beside(drive())
