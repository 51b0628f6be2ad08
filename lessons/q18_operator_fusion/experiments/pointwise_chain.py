"""k cheap operations on the same numbers: one call each, all of them on one block after the other, and compiled; and
SiLU(x)·y as three calls, as two and as one.
"""

from functools import partial

from course_lib.accounting import hardware, roofline
from course_lib.experiments.running import timing
from course_lib.experiments.running.compiling import compiling
from course_lib.experiments.running.experiment import Case, Experiment, main_dtype
from course_lib.experiments.running.rows import CASE_COLUMNS, rows_by_case
from course_lib.figures.charts import dots
from course_lib.words import words

say = words(__file__)

FACTOR, TERM = 1.01, 0.1
BLOCK = 2**16  # numbers: 256 KiB in fp32, which stay in a second-level cache
SILU = 5  # FLOPs of x / (1 + exp(-x)), the exponential counted as one


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Chains of 1, 4 and 8 calls, and SiLU(x)·y; full adds what torch.compile makes of them."""
    dtype, elements = main_dtype(device), 2**24 if device.kind == "cpu" else 2**28

    def one(reads, flops=1):
        return roofline.elementwise(elements, reads=reads, flops_per_element=flops, dtype=dtype)

    def case(name, how, ops, build, *given):
        call = say("calls", how, elements=elements)
        return Case(name, call, tuple(ops), lambda bench: _alone(bench, build, elements, dtype, given))

    found = [
        case(f"{count} calls" if count > 1 else "1 call", "calls", [one(1)] * count, _calls, count)
        for count in (1, 4, 8)
    ]
    found += [
        case("8 calls, in place", "in-place", [one(1)] * 8, _in_place, 8),
        case("8 calls, block by block", "blocks", [one(1, 8)], _blocks, 8),
        case("8 calls, fresh results", "fresh", [one(1)] * 8, _fresh, 8),
        case("SiLU·y, 3 calls", "three", [one(1, SILU - 1), one(2), one(2)], _three),
        case("SiLU·y, 2 calls", "two", [one(1, SILU), one(2)], _two),
    ]
    if not quick:
        found += [case(f"{count} compiled", "compiled", [one(1, count)], _compiled, count) for count in (4, 8)]
        found.append(case("SiLU·y, compiled", "gate", [one(2, SILU + 1)], _gate))
    return tuple(found)


def _alone(bench, build, elements, dtype, given):
    """The form on one thread, compiled for one where it is compiled: a block is too small to share out."""
    with timing.single_thread(bench.torch):
        form = build(bench, *_operands(bench, elements, dtype), *given)

    def run():
        with timing.single_thread(bench.torch):
            form()

    return run


def _operands(bench, elements: int, dtype: str):
    return (
        bench.random(elements, dtype=dtype),
        bench.random(elements, dtype=dtype),
        bench.empty(elements, dtype=dtype),
        bench.empty(elements, dtype=dtype),
    )


def _chain(torch, x, targets, count: int) -> None:
    """`count` calls; the last result is in the first target, the one before it in the second, and so on in turn."""
    source = x
    for place in range(count):
        target = targets[(count - 1 - place) % len(targets)]
        if place % 2:
            torch.add(source, TERM, out=target)
        else:
            torch.mul(source, FACTOR, out=target)
        source = target


def chain(x, count: int):
    """What every form of the chain computes."""
    for place in range(count):
        x = x + TERM if place % 2 else x * FACTOR
    return x


def _calls(bench, x, y, out, between, count):
    return lambda: _chain(bench.torch, x, (out, between), count)


def _in_place(bench, x, y, out, between, count):
    return lambda: _chain(bench.torch, x, (out,), count)


def _blocks(bench, x, y, out, between, count):
    pairs = list(zip(x.split(BLOCK), out.split(BLOCK), strict=True))

    def run():
        for source, target in pairs:
            _chain(bench.torch, source, (target,), count)

    return run


def _fresh(bench, x, y, out, between, count):
    return lambda: chain(x, count)


def _three(bench, x, y, out, between):
    torch = bench.torch

    def run():
        torch.sigmoid(x, out=between)
        torch.mul(between, x, out=between)
        torch.mul(between, y, out=out)

    return run


def _two(bench, x, y, out, between):
    torch = bench.torch

    def run():
        torch.ops.aten.silu.out(x, out=between)
        torch.mul(between, y, out=out)

    return run


def _compiled(bench, x, y, out, between, count):
    torch = bench.torch
    with compiling(bench):
        fused = torch.compile(lambda x, out: out.copy_(chain(x, count)), fullgraph=True, dynamic=False)
        fused(x, out)
    return lambda: fused(x, out)


def _gate(bench, x, y, out, between):
    torch = bench.torch
    with compiling(bench):
        silu = torch.nn.functional.silu
        fused = torch.compile(lambda x, y, out: out.copy_(silu(x) * y), fullgraph=True, dynamic=False)
        fused(x, y, out)
    return lambda: fused(x, y, out)


EXPERIMENT = Experiment(
    say,
    cases,
    partial(dots, title=say("title"), axis=say("axis")),
    CASE_COLUMNS,
    table=rows_by_case,
    full_seconds=0.8,
    recording_seconds=60,
)
