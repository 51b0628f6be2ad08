"""Two ranks of DistributedDataParallel over gloo, each a Python process of its own, and what a step in parts sends.

`measure` starts them and waits. They talk over the loopback interface and find each other through a file, so no port is
taken; they end by themselves after `LIMIT` seconds, and whoever stops waiting ends them.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from course_lib.experiments.running.errors import Unavailable

WORLD, PARTS, WIDTH, HIDDEN, ROWS = 2, 8, 512, 2048, 64
LIMIT = 90  # s
MODES = ("a sync after each part", "no_sync", "no_sync, forward outside")
CHILD = "from course_lib.units.q14_gradient_accumulation import ranks; ranks.main()"
LOOPBACK = {"linux": "lo", "darwin": "lo0"}

PARAMS = WIDTH * HIDDEN + HIDDEN + HIDDEN * WIDTH + WIDTH


def measure() -> dict[str, dict]:
    """Mode → {"calls": all-reduces a step, "bytes": bytes handed to them a step, "off": how far its gradient is from that
    of the first mode}, of rank 0. Unavailable where the ranks cannot meet.
    """
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        said = [stack.enter_context(open(Path(folder) / f"rank{rank}.txt", "w+")) for rank in range(WORLD)]
        started = []
        try:
            for rank in range(WORLD):
                started.append(_start(rank, folder, said[rank]))
            return _await(started, Path(folder))
        finally:
            for process in started:
                process.kill()
                process.wait()


def _start(rank: int, folder: str, said) -> subprocess.Popen:
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    if sys.platform in LOOPBACK:
        env["GLOO_SOCKET_IFNAME"] = LOOPBACK[sys.platform]
    arguments = [sys.executable, "-c", CHILD, str(rank), folder]
    return subprocess.Popen(arguments, env=env, stdin=subprocess.DEVNULL, stdout=said, stderr=said)


def _await(started, folder: Path) -> dict:
    """What rank 0 found, once all have ended well."""
    until = time.monotonic() + LIMIT
    while any(process.poll() is None for process in started) and time.monotonic() < until:
        if any(process.poll() for process in started):  # the others would wait for it in vain
            break
        time.sleep(0.02)
    if all(process.poll() == 0 for process in started):
        return json.loads((folder / "found.json").read_text())
    failed = next((rank for rank, process in enumerate(started) if process.poll()), None)
    if failed is None:
        raise Unavailable(f"Two processes did not finish a step together within {LIMIT} s.")
    lines = (folder / f"rank{failed}.txt").read_text().strip().splitlines() or ["it said nothing"]
    raise Unavailable(f"Two processes could not meet over gloo here: {lines[-1][:200]}")


# ---------------------------------------------------------------- what each process runs


def main() -> None:
    """A rank: its number and the folder where the ranks meet come from the command line."""
    import faulthandler

    faulthandler.dump_traceback_later(LIMIT, exit=True)
    rank, folder = int(sys.argv[1]), Path(sys.argv[2])
    from datetime import timedelta

    import torch
    from torch import distributed

    torch.set_num_threads(1)
    meeting = (folder / "meeting").as_uri()
    wait = timedelta(seconds=LIMIT / 2)
    distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=WORLD, timeout=wait)
    try:
        found = _modes(torch, distributed, rank)
    finally:
        distributed.destroy_process_group()
    if rank == 0:
        (folder / "found.json").write_text(json.dumps(found))
    os._exit(0)  # gloo's threads outlive the group that DDP keeps, and may abort an interpreter that ends


def _modes(torch, distributed, rank: int) -> dict[str, dict]:
    torch.manual_seed(0)
    layers = [torch.nn.Linear(WIDTH, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, WIDTH)]
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers))
    handed: list[int] = []

    def count(state, bucket: distributed.GradBucket) -> torch.futures.Future[torch.Tensor]:
        """What DistributedDataParallel does with a bucket of gradients: the mean over the ranks; and its bytes."""
        handed.append(bucket.buffer().nbytes)
        sums = distributed.all_reduce(bucket.buffer().div_(WORLD), async_op=True)
        return sums.get_future().then(lambda done: done.value()[0])

    net.register_comm_hook(None, count)
    x = torch.randn(ROWS, WIDTH, generator=torch.Generator().manual_seed(rank))
    found, first = {}, None
    for mode in MODES:
        _step(net, x, mode)  # in its first step the buckets are put into another order
        handed.clear()
        _step(net, x, mode)
        gradient = torch.cat([parameter.grad.flatten() for parameter in net.parameters()])
        first = gradient if first is None else first
        off = ((gradient - first).norm() / first.norm()).item()
        found[mode] = {"calls": len(handed), "bytes": sum(handed), "off": off}
    return found


def _step(net, x, mode: str) -> None:
    """All parts of a step, forward and backward; the last one is outside no_sync in every mode."""
    net.zero_grad(set_to_none=True)
    for place, part in enumerate(x.chunk(PARTS)):
        quiet = net.no_sync if mode != MODES[0] and place < PARTS - 1 else contextlib.nullcontext
        if mode == MODES[2]:
            loss = net(part).square().mean() / PARTS
            with quiet():
                loss.backward()
        else:
            with quiet():
                (net(part).square().mean() / PARTS).backward()
