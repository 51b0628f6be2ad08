"""What four gauges of a GPU show while one kernel runs again and again."""

from dataclasses import dataclass

from course_lib.accounting import hardware
from course_lib.accounting.hardware import multiprocessors
from course_lib.accounting.queues import launch

KERNELS = 10_000  # so many that the first launch does not count


@dataclass(frozen=True)
class Needles:
    """Shares, 0 to 1. run: seconds of the kernel; waits: what it waits for, "chain", "memory" or "compute"."""

    util: float  # of the time in which a kernel runs: GPU-Util
    active: float  # of the SMs that hold a block, in the mean over the time: SM active
    memory: float  # of the memory's bandwidth: DRAM
    peak: float  # of the arithmetic's peak: MFU, where the kernel does nothing but a model's FLOPs
    run: float
    waits: str


def needles(*, blocks, nbytes, flops, chain=0.0, issue=5e-6, device="h100-sxm", dtype="bf16") -> Needles:
    """The gauges for a kernel of `blocks` equal blocks, one on an SM at a time, that moves nbytes B and does `flops` FLOP.

    chain: s of the longest row of steps in a block that wait for each other. A wave of blocks takes that long at least,
    and the kernel as long as its bytes take at the bandwidth and its FLOPs at the peak of the SMs that have blocks.
    """
    device = hardware.resolve(device)
    count = multiprocessors.count(device)
    waves = -(-blocks // count)
    filled = blocks / (waves * count)
    times = {
        "chain": waves * chain,
        "memory": nbytes / device.memory_bandwidth,
        "compute": flops / (device.peak(dtype) * filled),
    }
    run = max(times.values())
    queue = launch.launch_time(KERNELS, issue=issue, run=run)
    each = queue.seconds / KERNELS
    return Needles(
        util=queue.busy,
        active=queue.busy * filled,
        memory=nbytes / each / device.memory_bandwidth,
        peak=flops / each / device.peak(dtype),
        run=run,
        waits=max(times, key=times.get),
    )
