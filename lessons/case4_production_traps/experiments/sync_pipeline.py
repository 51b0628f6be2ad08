"""A host thread that launches steps and a device thread that runs them; both sleep for as long as their work takes."""

import queue
import threading
import time
from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.case4_production_traps import syncing
from course_lib.words import words

say = words(__file__)

STEPS = 20
LOOPS = ((2, 10, 1), (8, 8, 1), (10, 2, 1), (8, 8, 10))  # ms of the host, ms of the device, steps between two waits


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Four loops; full repeats each of them more often."""
    return tuple(
        Case(
            say("case", host=host, device=gpu, every=every) if every > 1 else say("each", host=host, device=gpu),
            say("call", every=every),
            observe=partial(_observe, host=host / 1e3, gpu=gpu / 1e3, every=every, repeats=1 if quick else 5),
            expect=partial(_expected, host=host, gpu=gpu, every=every),
            facts={"host": host / 1e3, "gpu": gpu / 1e3, "every": every},
        )
        for host, gpu, every in LOOPS
    )


def _expected(device: hardware.Device, host: float, gpu: float, every: int) -> float:
    return syncing.pipeline(host, gpu, STEPS, every) / syncing.pipeline(host, gpu, STEPS)


def _observe(bench, seconds: float, host: float, gpu: float, every: int, repeats: int) -> list[float]:
    """Time with waiting over time without, one run after the other."""
    return [run(host, gpu, every) / run(host, gpu, 0) for _ in range(repeats)]


def run(host: float, gpu: float, every: int) -> float:
    """Seconds of the loop; all is waited for at its end."""
    launched: queue.Queue = queue.Queue()
    done = threading.Semaphore(0)

    def work():
        while launched.get():
            time.sleep(gpu)
            done.release()

    device = threading.Thread(target=work, daemon=True)
    device.start()
    begin, waiting = time.perf_counter(), 0
    for number in range(1, STEPS + 1):
        time.sleep(host)
        launched.put(True)
        waiting += 1
        if (every and number % every == 0) or number == STEPS:
            for _ in range(waiting):
                done.acquire()
            waiting = 0
    took = time.perf_counter() - begin
    launched.put(False)
    device.join()
    return took


def plot(result):
    """How many times as long each loop takes with its waiting."""
    return dots(result, title=say("title", most=max(result.measured.values())), axis=say("axis"), log=False)


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "×", host="float s", gpu="float s", every="int", hidden=("host", "gpu", "every")),
    method={"steps": STEPS},
)
