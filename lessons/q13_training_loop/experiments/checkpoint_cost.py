"""What a checkpoint costs on this machine: copied in memory, written, forced onto the drive, read."""

import os
import tempfile
import time
from functools import partial
from pathlib import Path

from course_lib.accounting import hardware
from course_lib.experiments.running import timing
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.racing import clocked
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.words import words

say = words(__file__)

WAYS = ("copy into a kept buffer", "copy into new memory", "write", "write and force", "read")
TENSORS = 3  # weights and two moments
REPEATS = {True: 5, False: 15}


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Five ways at 16 MiB; full takes 128 MiB too."""
    return tuple(
        Case(
            say("case", way=say("ways", way), size=size),
            say("calls", way),
            observe=partial(_observe, way=way, nbytes=size * 2**20, repeats=REPEATS[quick]),
            expect=partial(_expected, way=way, nbytes=size * 2**20),
            facts={"way": way, "size": size},
        )
        for size in ((16,) if quick else (16, 128))
        for way in WAYS
    )


def _expected(device: hardware.Device, way: str, nbytes: int) -> float | None:
    """Seconds of a copy within memory, which reads and writes each byte; the drive's speed is not known, nor is the
    memory of a GPU's host.
    """
    return 2 * nbytes / device.memory_bandwidth if way == WAYS[0] and device.kind == "cpu" else None


def _observe(bench, seconds: float, way: str, nbytes: int, repeats: int) -> list[float]:
    """Seconds of each repeat, after one that is not counted."""
    torch = bench.torch
    with timing.single_thread(torch), tempfile.TemporaryDirectory() as folder:
        state = [torch.randn(nbytes // 4 // TENSORS) for _ in range(TENSORS)]
        kept, path = [torch.empty_like(tensor) for tensor in state], Path(folder) / "state.pt"
        torch.save(state, path)
        ways = {
            "copy into a kept buffer": lambda: [to.copy_(tensor) for to, tensor in zip(kept, state, strict=True)],
            "copy into new memory": lambda: [tensor.clone() for tensor in state],
            "write": lambda: _written(torch, state, path),
            "write and force": lambda: _written(torch, state, path, force=True),
            "read": lambda: torch.load(path, weights_only=True),
        }
        return [clocked(ways[way], clock=time.perf_counter) for _ in range(repeats + 1)][1:]


def _written(torch, state, path: Path, force=False) -> None:
    with path.open("wb") as file:  # given a path, `torch.save` would write in another way
        torch.save(state, file)
        if force:
            file.flush()
            os.fsync(file.fileno())


EXPERIMENT = Experiment(
    say,
    cases,
    partial(dots, title=say("title"), axis=say("axis")),
    quantity_columns(say, "s", way="str", size="int MiB", hidden=("way", "size")),
    method={"tensors": TENSORS},
)
