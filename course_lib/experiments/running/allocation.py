"""What a call allocates: the largest rise of allocated memory while it runs, as torch's own allocator counts it.

On a processor the profiler reports every allocation and release of torch's allocator; on a GPU the caching allocator
keeps its own maximum, which counts blocks rounded up to 512 B.
"""

from collections.abc import Callable, Iterable
from itertools import accumulate

from course_lib.experiments.running.bench import Bench
from course_lib.experiments.running.torch_events import silent


def bytes_of(tensors: Iterable) -> int:
    """Bytes of the distinct storages of `tensors`."""
    return sum({t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}.values())


def state_of(net, optimizer=None) -> list:
    """Every tensor that lives between two training steps: weights, buffers, gradients, states of the optimizer."""
    tensors = [*net.parameters(), *net.buffers()]
    tensors += [parameter.grad for parameter in net.parameters() if parameter.grad is not None]
    for state in optimizer.state.values() if optimizer else ():
        tensors += [value for value in state.values() if hasattr(value, "untyped_storage")]
    return tensors


def rise(bench: Bench, call: Callable[[], object]) -> int:
    """By how many bytes allocated memory exceeds, at most, what it was before `call()`, whose result is held on to."""
    if bench.on == "cuda":
        return _rise_on_gpu(bench.torch, call)
    return max(accumulate(changes(bench.torch, call), initial=0))


def _rise_on_gpu(torch, call) -> int:
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    held = call()
    torch.cuda.synchronize()
    highest = torch.cuda.max_memory_allocated()
    del held
    return highest - before


def changes(torch, call) -> list[int]:
    """Bytes that torch's allocator for the processor gave (positive) or took back (negative), in order of time."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    recording = torch.profiler.profile(activities=activities, profile_memory=True)
    with silent():
        recording.start()
    try:
        held = call()
    finally:
        with silent():
            recording.stop()
    del held
    events = [event for event in recording.profiler.kineto_results.events() if event.name() == "[memory]"]
    return [event.nbytes() for event in sorted(events, key=lambda event: event.start_ns())]
