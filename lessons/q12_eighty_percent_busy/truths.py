"""The truth of each prediction card of Q12, computed when a learner reveals it."""

from course_lib.accounting import hardware, roofline
from course_lib.accounting.queues import launch, pipeline
from course_lib.units.q12_eighty_percent_busy.needles import needles

ISSUE, GAP = 7e-6, 1e-6  # s


def polling() -> float:
    """Steps a second of the polling loop over those of the sleeping one: both wait as long, and then compute."""
    asleep = pipeline.rate({"sleeping": 1.0, "step": 1.0}, overlapped=False)
    return pipeline.rate({"polling": 1.0, "step": 1.0}, overlapped=False).per_second / asleep.per_second


def one_kernel(n, run, added) -> float:
    """n kernels of `run` µs against one that runs as long as all of them; `added` is what adding up gives."""
    several = launch.launch_time(n, issue=ISSUE, run=run * 1e-6, gap=GAP).seconds
    return several / launch.launch_time(1, issue=ISSUE, run=n * run * 1e-6).seconds


def short_kernels() -> float:
    return 100 * launch.launch_time(100, issue=ISSUE, run=1e-6, gap=GAP).busy


def one_block() -> float:
    """A kernel of one block that runs without a pause; it moves and computes next to nothing."""
    return 100 * needles(blocks=1, nbytes=1, flops=1, chain=1e-3, issue=1e-6).active


def additions_on_mi300x() -> float:
    """% of the peak that additions in bf16 use at 90 % of the bandwidth."""
    add = roofline.elementwise(10**8, reads=2, dtype="bf16")
    return 100 * 0.9 * add.intensity / roofline.ridge_point(hardware.load("mi300x"), "bf16")
