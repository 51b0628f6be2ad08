"""A script that `torchrun` starts on two local ranks: two processes, a meeting on a free port, one step."""

import json
import os
import subprocess
import sys
from functools import cache, partial
from pathlib import Path

from course_lib.accounting import hardware
from course_lib.experiments.running.errors import Unavailable
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.words import words

say = words(__file__)

RANKS, LIMIT = 2, 60  # ranks; s of a run
SCRIPT = Path(__file__).parent.parent / "torchrun_job.py"
PARAMS = 64 * 512 + 512 + 512 * 10 + 10
LOOPBACK = {"linux": "lo", "darwin": "lo0"}


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """One run; full has no more."""
    run = cache(torchrun)
    return (
        Case(say("cases", "bytes"), say("call"), observe=lambda bench, seconds: [run()["bytes"]], expect=_bytes),
        Case(say("cases", "apart"), say("call"), observe=lambda bench, seconds: [run()["apart"]], expect=lambda _: 0.0),
    )


def _bytes(device: hardware.Device) -> float:
    return 4.0 * PARAMS


def torchrun() -> dict:
    """What rank 0 of two said. Unavailable where they cannot meet; nothing stays behind."""
    code, said, complained = _run()
    if code == 0:
        return json.loads(said.strip().splitlines()[-1])
    lines = complained.strip().splitlines() or [""]
    raise Unavailable(say("failed", line=next((line for line in lines if "Error" in line), lines[-1])[:160]))


def _run() -> tuple[int, str, str]:
    """(exit code, what was said, what was complained of)."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={RANKS}", str(SCRIPT)]
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    if sys.platform in LOOPBACK:
        env["GLOO_SOCKET_IFNAME"] = LOOPBACK[sys.platform]
    with subprocess.Popen(
        command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            said, complained = process.communicate(timeout=LIMIT)
        except BaseException as problem:
            process.terminate()  # torchrun then ends its ranks
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
            if isinstance(problem, subprocess.TimeoutExpired):
                return 1, "", str(problem)
            raise
    return process.returncode, said, complained


EXPERIMENT = Experiment(
    say,
    cases,
    partial(dots, title=say("title", ranks=RANKS), axis=say("axis"), log=False),
    quantity_columns(say, ""),
    timed=False,
    recording_seconds=60,
    method={"params": PARAMS},
)
