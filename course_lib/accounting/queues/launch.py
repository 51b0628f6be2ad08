"""Kernels in a queue: when the last of them ends, and for how much of that time the device is busy.

A host issues one kernel after another and goes on without waiting; the device runs them in order. `roofline.LAUNCHES`
holds the bound that two sums give for any kernels; here each of a row of equal kernels has its place in the queue.
"""

from dataclasses import dataclass

from course_lib.accounting import units
from course_lib.accounting.answers.explained import Explained
from course_lib.accounting.answers.quantity import largest, symbol


@dataclass(frozen=True, repr=False)
class Queue(Explained):
    """A row of kernels from the first launch to the end of the last; made by `launch_time`."""

    seconds: float
    busy: float  # share of those seconds in which a kernel runs, 0 to 1


def launch_time(kernels, *, issue, run, gap=0.0, graph=False) -> Queue:
    """Seconds for `kernels` equal kernels of `run` s each that a host puts into an empty queue, and the busy share.

    issue: s that the host needs for one launch. gap: s that the device leaves between two kernels that both wait in the
    queue. Kernel i starts when it has been issued, and no sooner than `gap` after the end of the one before, so that
    seconds = issue + (kernels − 1)·max(issue, run + gap) + run: the slower of host and device sets the pace.
    graph: all kernels are issued by one launch, as by a CUDA graph; the pace is then the device's, run + gap.
    Source: derived; a test follows the queue event by event. With no gap and many kernels it comes to what
    `roofline.predict_seconds` takes for launches="ahead", the larger of the two sums.
    """
    n = symbol("n", units.count(kernels, "kernels"), "kernels")
    i = symbol("i", units.positive(issue, "issue"), "s for one launch")
    r = symbol("r", units.positive(run, "run"), "s for which a kernel runs")
    g = symbol("g", units.latency(gap, "gap"), "s between two kernels in the queue")
    pace = r + g if units.flag(graph, "graph") else largest(i, r + g)
    seconds = symbol("seconds", i + (n - 1) * pace + r)
    return Queue(
        seconds=seconds,
        busy=n * r / seconds,
        assumptions=(
            "All kernels are equal and run in order, one at a time.",
            "The queue is empty at first, and never full.",
        ),
        omitted=("Waiting for a result between two kernels.",),
    )


units.teach(globals())
