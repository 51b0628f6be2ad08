"""Runs that are really killed: a program of its own, so that nothing is forked in a notebook's kernel, whose threads a
child would miss. It imports torch once and forks its runs; what it found goes to the standard output as JSON.

No process outlives it: each has an alarm that ends it, and `killed_runs` ends the whole group if it is late or stopped.
"""

import json
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import course_lib
from course_lib.experiments.running.errors import Unavailable
from course_lib.units.q13_training_loop import loop

KILLS, AT = 4, 50  # kills at random steps; the step at which the forgetful runs stop
LATEST = 180  # s, then everything is ended
FOLDER = "course-killed-runs-"
_RECORD = struct.Struct("<id")  # what a run tells of a step: its number, its loss
VARIANTS = {
    "killed, resumed": (),
    "newest file torn": (),
    "without optimizer": ("optimizer",),
    "without schedule": ("schedule",),
    "without scaler": ("scaler",),
    "without generator": ("generator",),
    "without position": ("position",),
    "weights only": loop.PIECES,
}


# ---------------------------------------------------------------- in the notebook's process


def killed_runs() -> dict[str, dict[str, float]]:
    """variant → reading → value, of all `VARIANTS`; Unavailable where processes cannot be forked and killed."""
    if not hasattr(os, "fork"):
        raise Unavailable("This system has no fork: a run cannot be killed here as Linux and macOS kill one.")
    library = str(Path(course_lib.__file__).parents[1])
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([library, *filter(None, [os.environ.get("PYTHONPATH")])]),
        "CUDA_VISIBLE_DEVICES": "",  # the runs are the processor's
        "OMP_NUM_THREADS": "1",
    }
    with tempfile.TemporaryDirectory(prefix=FOLDER, ignore_cleanup_errors=True) as folder:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, folder],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            found, said = process.communicate(timeout=LATEST)
        except subprocess.TimeoutExpired:
            raise Unavailable(f"The killed runs took longer than {LATEST} s, and were ended.") from None
        finally:
            _end(process)
    if process.returncode:
        raise RuntimeError(f"the killed runs ended with {process.returncode}: {said[-500:]}")
    return json.loads(found)


def _end(process: subprocess.Popen) -> None:
    """End the program if it still runs, with all that it forked: they are a group of their own."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


# ---------------------------------------------------------------- the program


def main(folder: Path) -> None:
    """Run all `VARIANTS`, and print what became of them."""
    signal.alarm(LATEST)
    import torch

    torch.set_num_threads(1)
    right, losses, half = loop.Trainer(torch), [], b""
    while right.position < loop.STEPS:
        if right.position == AT:
            half = loop.pack(torch, right.state())
        losses.append(right.step())
    wanted, found = right.state(), {}
    for variant, forgotten in VARIANTS.items():
        if forgotten:
            trainer = loop.Trainer(torch)
            torch.manual_seed(1)  # a new process starts with any state of the generator, not with that of step 0
            trainer.restore(loop.unpack(torch, half), forgotten)
            resumed, loss = AT, trainer.step()
            for _ in range(loop.STEPS - AT - 1):
                trainer.step()
        else:
            here = folder / variant
            here.mkdir()
            resumed, loss = _survive(torch, here, torn=variant == "newest file torn")
            trainer = loop.Trainer(torch)
            trainer.restore(loop.newest(torch, here))
        found[variant] = {
            **_changed(torch, trainer.state(), wanted),
            "next loss": 100 * loss / losses[resumed],
            "accuracy": trainer.accuracy(),
        }
    print(json.dumps(found))


def _changed(torch, state: dict, wanted: dict) -> dict[str, float]:
    """% of the weights whose bits differ, and % of the other pieces of which anything differs."""
    pairs = [(state["weights"][key], wanted["weights"][key]) for key in wanted["weights"]]
    differ = sum(int((a.view(torch.int32) != b.view(torch.int32)).sum()) for a, b in pairs)
    pieces = [loop.pack(torch, {piece: one[piece] for piece in loop.PIECES}) for one in (state, wanted)]
    same = [_same(torch, *(loop.unpack(torch, one)[piece] for one in pieces)) for piece in loop.PIECES]
    weights = 100 * differ / sum(b.numel() for _, b in pairs)
    return {"weights": weights, "pieces": 100 * same.count(False) / len(same)}


def _same(torch, a, b) -> bool:
    """Whether two values of a state are equal, bit by bit: tensors, dictionaries, lists, plain values."""
    if isinstance(b, torch.Tensor):
        return torch.equal(a.reshape(-1).view(torch.uint8), b.reshape(-1).view(torch.uint8))
    if isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(torch, a[key], b[key]) for key in b)
    if isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(_same(torch, *pair) for pair in zip(a, b, strict=True))
    return a == b


def _survive(torch, folder: Path, torn: bool) -> tuple[int, float]:
    """One run, killed at random steps and resumed from its newest whole checkpoint until it is over; gives the step that
    it was last resumed at, and the loss of that step. torn: at the first kill, a checkpoint is left half written.
    """
    draw = random.Random(f"{folder.name}")
    for step in sorted(draw.sample(range(5, loop.STEPS - 5), KILLS)):
        _life(torch, folder, step)
        if torn:
            _life(torch, folder, step, writing=True)
            torn = False
    return _life(torch, folder, None)


def _life(torch, folder: Path, until: int | None, writing: bool = False) -> tuple[int, float]:
    """Fork a process that trains, and kill it when it has made step `until`; None: let it end. Gives its first step and
    the loss of that. writing: it does not train but writes a checkpoint, and is killed half-way.
    """
    reading, telling = os.pipe()
    child = os.fork()
    if not child:
        code = 1
        try:
            signal.alarm(LATEST)  # a fork does not inherit it
            os.close(reading)
            if writing:
                _write_half(torch, folder, telling)
            else:
                _train(torch, folder, telling, to_its_end=until is None)
            code = 0
        finally:
            os._exit(code)  # nothing of the parent's is flushed or cleaned up twice
    os.close(telling)
    first = None
    # Open until the child is gone: it may tell of more steps before it is killed.
    with os.fdopen(reading, "rb") as told:
        try:
            while record := told.read(_RECORD.size):
                step, loss = _RECORD.unpack(record)
                first = first or (step, loss)
                if until is not None and (writing or step + 1 >= until):
                    break
        finally:
            if until is not None:
                os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
    if (until is None) == os.WIFSIGNALED(status) or not first:
        raise RuntimeError(f"a run that was to stop at {until} ended with status {status}")
    return first


def _train(torch, folder: Path, telling: int, to_its_end: bool) -> None:
    """Resume from the newest whole checkpoint, train, and tell of each step. A run that is to be killed never comes to
    its end, however late the kill is: it waits for it before the last step.
    """
    trainer, state = loop.Trainer(torch), loop.newest(torch, folder)
    if state:
        trainer.restore(state)
    while trainer.position < loop.STEPS - (not to_its_end):
        step, loss = trainer.position, trainer.step()
        if trainer.position % loop.EVERY == 0:
            loop.save(torch, folder, trainer.state())
        os.write(telling, _RECORD.pack(step, loss))
    if not to_its_end:
        time.sleep(LATEST)


def _write_half(torch, folder: Path, telling: int) -> None:
    """Write the next checkpoint without any care, and be killed at the middle of it."""
    state = loop.newest(torch, folder)
    content = loop.pack(torch, state)
    with (folder / loop.name(state["position"] + loop.EVERY)).open("wb") as file:
        file.write(content[: len(content) // 2])
        file.flush()
        os.write(telling, _RECORD.pack(0, 0.0))
        time.sleep(LATEST)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
