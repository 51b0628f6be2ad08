"""Claims on trial in Q23: each function decides one claim by computing it and returns the verdict with its numbers."""

from course_lib.accounting import hardware, models
from course_lib.teaching.cards.verdict import Verdict, by_cases
from course_lib.units.q23_quantum import chips, costs

GATE = 1e-6  # s; the most friendly that the lesson assumes
CONVERSION = 10.0  # pJ; assumed, no source
H100 = "h100-sxm"


def s001_25() -> Verdict:
    """Loading a matrix, against the time in which an H100 reads it for its product with a vector, by its side."""
    sides = [2**k for k in range(6, 18)]
    load = {side: costs.loading_seconds(side**2, GATE) for side in sides}
    gpu = {side: 2 * side**2 / hardware.load(H100).memory_bandwidth * 1e6 for side in sides}
    ratio = {side: load[side] / gpu[side] * 1e6 for side in sides}
    falls = ratio[sides[-1]] < ratio[sides[0]] / 2
    return Verdict(
        by_cases([falls, ratio[sides[-1]] < 1]),
        qubits=costs.qubits_for(4096**2),
        load=load,
        gpu=gpu,
        ratio=ratio,
        shots=costs.shots_for_read_out(4096, 0.01),
    )


def s001_26() -> Verdict:
    """pJ of a multiply-add: optics without any loss of their own, by width, with weights that stay or are read; a chip."""
    gpu = {dtype: 2 * chips.gpu_picojoules(H100, dtype) for dtype in ("bf16", "int8")}
    width = {side: chips.per_product(side, CONVERSION, 0) for side in (16, 256, 1024)}
    reads = {"gpu": gpu["int8"] + chips.READ, "optics": width[256] + chips.READ}
    chip = 2 * chips.picojoules("photonic")
    rate = {"chip": chips.CHIPS["photonic"].rate / 1e12, "gpu": hardware.load(H100).peak("bf16") / 1e12}
    cheap = [
        *(each < gpu["int8"] / 2 for each in width.values()),
        reads["optics"] < reads["gpu"] / 2,
        chip < gpu["bf16"] / 2,
        rate["chip"] > rate["gpu"],
    ]
    return Verdict(by_cases(cheap), gpu=gpu, width=width, reads=reads, read=chips.READ, chip=chip, rate=rate)


def s003_69() -> Verdict:
    """The weights of a model, a search through 2^40 keys, the state of 60 spins: quantum against ordinary."""
    weights = int(models.load("llama3-8b").parameters())
    load, read = costs.loading_seconds(weights, GATE), 2 * weights / hardware.load(H100).memory_bandwidth
    minutes = {
        "grover": costs.grover_seconds(2**40, 1e-3) / 60,
        "core": costs.search_seconds(2**40, 1e-9) / 60,
    }
    state, largest = costs.state_bytes(60, 2), costs.state_bytes(50, 2)  # 50 qubits are the most that was held (2025)
    gains = [load < read, minutes["grover"] < minutes["core"], state > largest]
    return Verdict(
        by_cases(gains),
        hours=load / 3600,
        ms=read * 1e3,
        minutes=minutes,
        state=state / 1e15,
        largest=largest / 1e15,
        terms=60 + 59,
    )
