"""What attention keeps for its backward pass, and what new memory costs it: page faults and processor time of a call."""

import json
import os
import subprocess
import sys

KEEP = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "4000000000", "MALLOC_TOP_PAD_": "268435456"}
"""Settings with which the allocator of Linux (glibc) hands no memory back."""

CHILD = "from course_lib.units.q07_attention_is_quadratic import watching; watching.report()"
LENGTHS = (512, 1024, 2048)
CALLS = 5


def kept_bytes(attention, n: int) -> int:
    """Bytes that autograd keeps for the backward pass of attention over two heads of [n, 64] in fp32."""
    import torch

    inputs, seen = [torch.ones(1, 2, n, 64, requires_grad=True) for _ in range(3)], {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        seen[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = attention(*inputs)
    return sum(seen.values()) if result.requires_grad else 0


def written_out(q, k, v):
    """Eager attention, of heads that are 64 wide."""
    import torch

    return torch.softmax(q * 64**-0.5 @ k.mT, dim=-1) @ v


def new_memory(keep: bool) -> list[tuple[int, int, float]]:
    """(tokens, page faults, seconds of a processor) of a call of eager attention over two heads, at three lengths.

    It runs in a process of its own, on one thread. keep: whether the allocator keeps what it has been given.
    """
    env = os.environ | (KEEP if keep else {})
    run = subprocess.run(
        [sys.executable, "-c", CHILD], env=env, capture_output=True, text=True, check=True, timeout=120
    )
    return [tuple(row) for row in json.loads(run.stdout)]


def report() -> None:
    """Print what `new_memory` gives, as JSON; of some calls the least of each, which other programs disturb least."""
    import torch

    torch.set_num_threads(1)
    print(json.dumps([_least(torch, n) for n in LENGTHS]))


def _least(torch, n: int) -> tuple[int, int, float]:
    import resource

    inputs = [torch.randn(1, 2, n, 64) for _ in range(3)]
    used = []
    for _ in range(CALLS + 2):
        before = resource.getrusage(resource.RUSAGE_SELF)
        written_out(*inputs)
        after = resource.getrusage(resource.RUSAGE_SELF)
        seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        used.append((after.ru_minflt - before.ru_minflt, seconds))
    faults, seconds = zip(*used[2:], strict=True)  # the first two still get memory that later calls find
    return n, min(faults), min(seconds)
