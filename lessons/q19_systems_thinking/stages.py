"""A pipeline in milliseconds: what `pipeline.rate` says of it, what fixes are worth, batches that differ, and the same
pipeline of threads that sleep, with queues between them.
"""

import queue
import random
import threading
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise

from course_lib.accounting.queues import pipeline

SLOW = {"load": 40, "copy": 10, "compute": 50}  # ms for a batch
FAST = {**SLOW, "compute": 10}  # the model made five times as fast
PAUSE = 5  # ms with each batch in which nobody works
AHEAD = 2  # batches that a queue holds


def step(stages: Mapping, pause: float = 0, overlapped: bool = True) -> float:
    """ms from one batch to the next; stages: name → ms, or (ms, workers)."""
    rate = pipeline.rate(_seconds(stages), overlapped=overlapped, pause=pause / 1e3)
    return round(1e3 * rate.seconds, 9)


def slack(stages: Mapping) -> dict[str, float]:
    """ms that each stage may take longer before the step does."""
    return {name: round(1e3 * left, 9) for name, left in pipeline.rate(_seconds(stages)).slack.items()}


def slowed(stages: Mapping, name: str, delta: float) -> dict:
    """The stages, one of them slower by `delta` ms."""
    return {**stages, name: stages[name] + delta}


def in_order(parts: Mapping[str, float], fixes: Sequence[tuple]) -> list[tuple[str, float, float]]:
    """Fixes of parts that run in turn, the best first, each time against the parts as they are by then: name, expected
    ms saved a day of work, ms that are left in all.

    parts: name → ms; fixes: (name, part, speed-up, chance that it works, days of work). Each is taken to have worked.
    """
    parts, left, order = dict(parts), list(fixes), []
    while left:
        best = max(left, key=lambda fix: worth(parts[fix[1]], *fix[2:]))
        value = worth(parts[best[1]], *best[2:])
        left.remove(best)
        parts[best[1]] /= best[2]
        order.append((best[0], value, sum(parts.values())))
    return order


def worth(part: float, speedup: float, chance: float, days: float) -> float:
    """Expected ms saved for each day of work."""
    return part * (1 - 1 / speedup) * chance / days


def gantt(stages: Mapping[str, float], pause: float, pieces: int) -> list[tuple[str, int, float, float]]:
    """(stage, piece, begins, lasts) in ms, all stages in step: in each round a stage has one piece, then all wait.

    There are other pieces before these and after them.
    """
    names, bars = list(stages), []
    length = max(stages.values()) + pause
    for piece in range(pieces):
        for place, name in enumerate(names):
            bars.append((name, piece, (piece + place) * length, stages[name]))
    return bars


def varied(quick: float, slow: float, batches: int = 4000) -> list[float]:
    """ms of each batch in a stage: one in ten is slow, the others quick, in an order drawn once."""
    times = [slow if place % 10 == 0 else quick for place in range(batches)]
    random.Random(0).shuffle(times)
    return times


def pace(times: Sequence[Sequence[float]], room: int) -> float:
    """ms from one batch to the next, in the mean, of batches followed one by one: for each its ms in each stage.

    room: batches that wait between two stages, at least one. A stage that finds no room keeps its batch, and stands
    still. All queues are empty when the first one comes.
    """
    begun, ends = [], []  # for each batch: when each stage begins it; when the last one is done
    free = [0.0] * len(times[0])
    for number, batch in enumerate(times):
        now, begins = 0.0, []
        for place, ms in enumerate(batch):
            begins.append(max(now, free[place]))
            now = begins[-1] + ms
            if place < len(batch) - 1 and number >= room:
                now = max(now, begun[number - room][place + 1])
            free[place] = now
        begun.append(begins)
        ends.append(now)
    return (ends[-1] - ends[0]) / (len(ends) - 1)


def run(stages: Mapping[str, float], *, pause: float = 0, overlapped: bool = True, pieces: int = 10) -> list[float]:
    """ms between one batch that comes out and the next, of a live pipeline whose stages sleep.

    One thread a stage, a queue between two of them. With a pause all meet at a barrier after each batch, and nobody
    works for so long. In turn: one thread does all, and the pause.
    """
    ends = []
    if not overlapped:
        for _ in range(pieces):
            for ms in (*stages.values(), pause):
                time.sleep(ms / 1e3)
            ends.append(time.perf_counter())
        return [1e3 * (after - before) for before, after in pairwise(ends)]
    count = len(stages)
    queues = [queue.Queue(AHEAD) for _ in range(count - 1)]
    barrier = threading.Barrier(count, action=lambda: time.sleep(pause / 1e3)) if pause else None

    def meet(rounds):
        for _ in range(rounds if barrier else 0):
            barrier.wait()

    def work(place, ms):
        meet(place)  # the first batch is not there yet
        for piece in range(pieces):
            if place:
                queues[place - 1].get()
            time.sleep(ms / 1e3)
            if place < count - 1:
                queues[place].put(piece)
            else:
                ends.append(time.perf_counter())
            meet(1)
        meet(count - 1 - place)

    threads = [threading.Thread(target=work, args=(place, ms), daemon=True) for place, ms in enumerate(stages.values())]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return steady([1e3 * end for end in ends], count)


def steady(ends: Sequence[float], count: int) -> list[float]:
    """From one end to the next, while all of `count` stages work: the last ones are left out.

    When those pass, stages before them have nothing left to do. The first one is as good as any: batches that are alike
    leave the last stage in the rhythm of the longest from the first to the second on.
    """
    found = [after - before for before, after in pairwise(ends)]
    return found[: len(found) - (count - 1)]


def _seconds(stages: Mapping) -> dict:
    return {name: (ms[0] / 1e3, ms[1]) if isinstance(ms, (tuple, list)) else ms / 1e3 for name, ms in stages.items()}
