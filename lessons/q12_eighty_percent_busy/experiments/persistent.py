"""An empty task, handed over in three ways: to a thread that is started for it, to one that waits at a queue, and called."""

import queue
import threading

from course_lib.accounting import hardware
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.words import words

say = words(__file__)

WAYS = ("started for the task", "waiting at a queue", "called")


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Three ways; full differs from quick in the repeats only."""
    return tuple(
        Case(way, say("calls", way), build=build, facts={"way": way})
        for way, build in zip(WAYS, (_started, _queued, _called), strict=True)
    )


def _task() -> None:
    pass


def _started(bench):
    def hand_over():
        thread = threading.Thread(target=_task)
        thread.start()
        thread.join()

    return hand_over


def _queued(bench):
    """The thread lasts as long as the function that hands over: it is a daemon."""
    asked, done = queue.SimpleQueue(), queue.SimpleQueue()

    def serve():
        while True:
            asked.get()()
            done.put(None)

    threading.Thread(target=serve, daemon=True).start()

    def hand_over():
        asked.put(_task)
        done.get()

    return hand_over


def _called(bench):
    return _task


def plot(result):
    """Seconds of each way."""
    found = result.measured
    title = say("title", "plain")
    if set(WAYS[:2]) <= set(found):
        title = say("title", "found", factor=found[WAYS[0]] / found[WAYS[1]])
    return dots(result, title=title, axis=say("axis"))


EXPERIMENT = Experiment(say, cases, plot, quantity_columns(say, "s", way="str", hidden=("way",)), quick_seconds=0.1)
