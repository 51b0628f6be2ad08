"""Claims on trial in Q8+: each function decides one claim by computing it and returns the verdict with its numbers."""

from course_lib.accounting import economics, flops, hardware
from course_lib.accounting.hardware import multiprocessors
from course_lib.teaching.cards.verdict import Verdict, if_all
from course_lib.units.q08plus_why_times_two.experiments import counted_matmul as counted

A100, H100 = "a100-40-sxm", "h100-sxm"
# Boost clock in Hz and fp32 lanes of one SM, by the architecture whitepapers: V100 (WP-08608-001), Turing, A100, GA102,
# Ada, H100 (there the clock of fp32; tensor cores in 16 bits have another).
NVIDIA = {
    "v100-sxm2": (1.53e9, 64),
    "t4": (1.59e9, 64),
    A100: (1.41e9, 64),
    "rtx-a6000": (1.80e9, 128),
    "rtx-3090": (1.695e9, 128),
    "l4": (2.04e9, 128),
    "l40s": (2.52e9, 128),
    "rtx-4090": (2.52e9, 128),
    H100: (1.98e9, 128),
    "h100-pcie": (1.755e9, 128),
}
# Compute units, multiply-adds in fp32 that one starts in a clock, peak clock, and the printed peak (of MI250X the vector
# one): AMD's data sheets of 2021 and 2023, CDNA 2 and CDNA 3 white papers. An MI300X has 64 lanes a unit; its packed
# instructions do two multiply-adds in each.
AMD = {"mi250x": (220, 64, 1.7e9, 47.9e12), "mi300x": (304, 128, 2.1e9, 163.4e12)}


def _numbers(rows: int, columns: int, tally: counted.Tally, zero=lambda row, column: False):
    return [
        [counted.Number(0.0 if zero(row, column) else 1.0 + row + column, tally) for column in range(columns)]
        for row in range(rows)
    ]


def _count(m: int, k: int, n: int) -> counted.Tally:
    """What the numbers of an [m, k] @ [k, n] by its definition go through."""
    tally = counted.Tally()
    counted.product(_numbers(m, k, tally), _numbers(k, n, tally))
    return tally


def s003_07() -> Verdict:
    tallies = {k: _count(1, k, 1) for k in (1, 2, 3, 16, 64)}
    as_claimed = (
        (tally.multiplications, tally.additions, tally.total) == (k, k - 1, 2 * k - 1) for k, tally in tallies.items()
    )
    return Verdict(if_all(*as_claimed), tallies=tallies)


def s003_08() -> Verdict:
    exact, convention = _count(2, 3, 2).total, flops.matmul(2, 3, 2)
    error = convention / exact - 1
    return Verdict(
        if_all(exact == 20, convention == 24, round(error, 2) == 0.2), exact=exact, convention=convention, error=error
    )


def s003_09() -> Verdict:
    """FLOP that each sheet's fp32 peak ascribes to each multiply-add that the device can start."""
    each = {
        name: hardware.load(name).peak("fp32") / (multiprocessors.count(name) * lanes * clock)
        for name, (clock, lanes) in NVIDIA.items()
    }
    each |= {name: peak / (units * a_clock * clock) for name, (units, a_clock, clock, peak) in AMD.items()}
    return Verdict(if_all(any(value < 1.5 for value in each.values())), each=each)


def s003_10() -> Verdict:
    """GPT-3 by 6·N·D and by 3·N·D, against an A100's peak; and both sides in multiply-adds."""
    work, price, days = flops.six_nd(175e9, 300e9), hardware.load(A100).price_per_hour, 30
    estimates = {}
    for name, operations in (("with_it", work), ("without", work / 2)):
        seconds = economics.training_seconds(operations, device=A100, mfu=0.4)
        estimates[name] = {
            "gpus": seconds / (days * 86400),
            "days": seconds / 1024 / 86400,
            "dollars": economics.cost(price_per_hour=price, seconds=seconds) / 1e3,
        }
    too_low = (estimates["without"][what] < 0.99 * value for what, value in estimates["with_it"].items())
    return Verdict(if_all(*too_low), **estimates)


def s003_13() -> Verdict:
    """Operations on a matrix with 2 of each 4 values zero: by a dense kernel, and by one that stores the others."""
    rows, inner = 4, 16
    tally = counted.Tally()
    matrix = _numbers(rows, inner, tally, zero=lambda row, column: (row + column) % 4 < 2)
    vector = _numbers(inner, 1, tally)
    counted.product(matrix, vector)
    dense = tally.total
    tally.multiplications = tally.additions = 0
    for row in matrix:  # what a sparse format keeps: the values that are not zero, and where they stand
        kept = [(number, vector[place]) for place, number in enumerate(row) if number.value]
        counted.product([[number for number, _ in kept]], [column for _, column in kept])
    sparse, theory = tally.total, flops.matmul(rows, inner, 1, exact=True)
    sheet = hardware.load(A100).sparse_peak("fp16") / hardware.load(A100).peak("fp16")
    ruling = "holds" if dense < theory else "holds-if" if sparse < theory else "fails"
    return Verdict(ruling, theory=theory, dense=dense, sparse=sparse, sheet=sheet)


def s003_36() -> Verdict:
    """If the 2 counted projections, a layer with a single one would need 1·m·k·n."""
    m, k, n = 4, 64, 4
    single = counted.Tally()
    zero = counted.Number(0.0, single)
    counted.product(_numbers(m, k, single), _numbers(k, n, single), zero=zero)
    factor = single.total / (m * k * n)
    return Verdict(
        if_all(factor == 1),
        total=single.total,
        factor=factor,
        multiplications=single.multiplications,
        additions=single.additions,
        two=2 * factor,
    )


def s001_11() -> Verdict:
    batch, inputs, outputs = 3, 8, 5
    tally = counted.Tally()
    zero = counted.Number(0.0, tally)
    counted.product(_numbers(batch, inputs, tally), _numbers(inputs, outputs, tally), zero=zero)
    return Verdict(
        if_all(tally.total == batch * inputs * outputs),
        products=batch * inputs * outputs,
        multiplications=tally.multiplications,
        total=tally.total,
    )


def own_33() -> Verdict:
    device, sms, (clock, lanes_of_one) = hardware.load(H100), multiprocessors.count(H100), NVIDIA[H100]
    multiply_adds = sms * lanes_of_one * clock
    lanes, tensor = 2 * multiply_adds, device.peak("bf16")
    return Verdict(
        if_all(abs(lanes / 33.5e12 - 1) < 0.05, abs(tensor / lanes / 30 - 1) < 0.05),
        sms=sms,
        lanes=lanes_of_one,
        clock=clock / 1e9,
        multiply_adds=multiply_adds / 1e12,
        flop=lanes / 1e12,
        tensor=tensor / 1e12,
        ratio=tensor / lanes,
    )
