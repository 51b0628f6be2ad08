"""What the predictor is calibrated on: operations on one thread, timed by the processor time of that thread.

Processor time does not count what other programs take, and of its repeats the least disturbed one, the minimum, is
kept: the predictor says what an undisturbed call costs. The sizes differ from those that are predicted in
`benchmarks/predictor.py`.
"""

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict

from course_lib.experiments.bench import Bench
from course_lib.experiments.workload import (
    COSTLY,
    FP32,
    Attention,
    Calls,
    Elementwise,
    Gather,
    Matmul,
    Operation,
    Rowwise,
)

CLOCK = "processor time of one thread, minimum of the repeats"
BLOCK = 200e-6  # s; a repeat is at least so long that reading the clock, under 1 µs, does not count
TABLE = 64 * 2**20  # B; what a cold table or a cold set of weights has at least

# Sizes of the addition whose bandwidth is taken by working set: 12 B an element, 24 KiB to 192 MiB.
STAIRCASE = tuple(2**power for power in range(11, 25))
# Results of a copy into new memory: the C library hands small ones out again, large ones come fresh from the system.
FRESH = tuple(mebibytes * 2**20 // FP32 for mebibytes in (4, 16, 30, 72, 128))

OPERATIONS: tuple[Operation, ...] = (
    Elementwise(16, "add"),
    *(Elementwise(elements, "add") for elements in STAIRCASE),
    *(Elementwise(elements, function, new=True) for function in COSTLY for elements in (16, 2**15, 2**18)),
    *(Elementwise(elements, "copy") for elements in FRESH),
    *(Elementwise(elements, "copy", new=True) for elements in FRESH),
    # matrix products: cubes, few rows or columns, a short sum, large results, batches, weights from memory
    *(Matmul(side, side, side) for side in (8, 48, 128, 512, 1024)),
    *(Matmul(m, 640, 640) for m in (2, 4, 16, 64)),
    Matmul(640, 640, 16),
    Matmul(1024, 64, 1024),
    Matmul(256, 256, 8192),
    Matmul(1024, 96, 4000),
    Matmul(256, 640, 12005),
    Matmul(128, 320, 24003),
    Matmul(96, 64, 96, batch=8),
    Matmul(192, 64, 192, batch=8),
    Matmul(37, 60, 21, batch=8),
    Matmul(90, 110, 41, batch=4),
    Matmul(700, 200, 41),
    Matmul(45, 300, 150),
    *(Matmul(m, 1280, 1280, cold=True) for m in (4, 8, 48)),
    *(Matmul(1, side, side) for side in (64, 320, 640, 1280)),
    *(Matmul(1, side, side, cold=True) for side in (640, 1280)),
    *(
        Rowwise(rows, width, function, new=True)
        for function in ("softmax", "log-softmax", "layer_norm", "softmax backward", "layer_norm backward")
        for rows, width in ((1, 16), (1024, 24), (512, 192), (96, 2000))
    ),
    *(
        Gather(rows, width, new=True, cold=cold)
        for rows, width in ((200, 20), (1024, 96), (256, 640), (3000, 200), (6000, 40))
        for cold in (False, True)
    ),
    Gather(16, 96, new=True),
    *(
        Attention(heads, length, length, width, causal=False, backward=backward, new=True)
        for backward in (False, True)
        for heads, length, width in (
            (2, 48, 64),
            (12, 40, 96),
            (8, 96, 64),
            (4, 320, 64),
            (4, 320, 32),
            (2, 320, 128),
            (2, 800, 64),
        )
    ),
    Calls(calls=16),
)


def run(bench: Bench, budget: float) -> Iterator[dict]:
    """The record of each calibration operation, measured for about `budget` seconds in all."""
    each = budget / len(OPERATIONS)
    with single_thread(bench.torch):
        for operation in OPERATIONS:
            seconds = thread_seconds(build(bench, operation), each)
            yield {"kind": type(operation).__name__, **asdict(operation), "seconds": seconds}


@contextlib.contextmanager
def single_thread(torch):
    """torch on one thread for the length of a with-block."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def thread_seconds(call: Callable[[], object], seconds: float, at_least: int = 3) -> float:
    """Processor seconds of one `call()` on this thread: the minimum of repeats, `at_least` so many and as many as start
    within `seconds` of wall time.
    """
    call()
    clock = time.thread_time
    number, block = 1, _block(call, 1, clock)
    while block < BLOCK:
        number = max(2 * number, int(number * BLOCK / max(block, 1e-7)))
        block = _block(call, number, clock)
    least, taken, end = math.inf, 0, time.perf_counter() + seconds
    while taken < at_least or time.perf_counter() < end:
        least, taken = min(least, _block(call, number, clock)), taken + 1
    return least / number


def _block(call: Callable[[], object], number: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(number):
        call()
    return clock() - start


# ---------------------------------------------------------------- the call of an operation


def build(bench: Bench, operation: Operation) -> Callable[[], object]:
    """A call that does `operation`. A cold one takes the members of a set larger than `TABLE` in turn."""
    match operation:
        case Matmul():
            return _matmul(bench, operation)
        case Elementwise():
            return _elementwise(bench, operation)
        case Rowwise():
            return _rowwise(bench, operation)
        case Gather():
            return _gather(bench, operation)
        case Attention():
            return _attention(bench, operation)
        case Calls():
            return _calls(bench, operation)
    raise ValueError(f"operation={operation!r} has no call: see workload.KINDS.")


def _in_turn(call: Callable[..., object], members: list) -> Callable[[], object]:
    """Calls `call(*member)` with the next of `members` each time."""
    state = {"next": 0}

    def one():
        member = members[state["next"]]
        state["next"] = (state["next"] + 1) % len(members)
        return call(*member)

    return one


def _copies(operation: Operation, nbytes: int) -> int:
    """How many members a set has whose large operand takes `nbytes`."""
    return -(-2 * TABLE // nbytes) + 1 if operation.cold else 1


def _matmul(bench: Bench, operation: Matmul) -> Callable[[], object]:
    torch, m, k, n, batch = bench.torch, operation.m, operation.k, operation.n, operation.batch
    lead = (batch,) if batch > 1 else ()
    left, right, out = (*lead, m, k), (*lead, k, n), bench.empty(*lead, m, n)
    product = torch.bmm if lead else torch.mm
    members = range(_copies(operation, operation.weight_bytes))
    if n == 1:
        x = bench.random(*right)
        pairs = [(bench.random(*left), x) for _ in members]
    else:
        x = bench.random(*left)
        pairs = [(x, bench.random(*right)) for _ in members]
    return _in_turn(product if operation.new else lambda a, b: product(a, b, out=out), pairs)


def _elementwise(bench: Bench, operation: Elementwise) -> Callable[[], object]:
    torch, n = bench.torch, operation.elements
    functional, aten = torch.nn.functional, torch.ops.aten
    fresh = {
        "copy": lambda x: x.clone(),
        "scale": lambda x: x * 1.5,
        "relu": torch.relu,
        "negate": torch.neg,
        "square": lambda x: torch.pow(x, 2),
        "cube": lambda x: torch.pow(x, 3.0),
        "sum": torch.sum,
        "add": torch.add,
        "subtract": torch.sub,
        "multiply": torch.mul,
        "tanh backward": aten.tanh_backward,
        "multiply-add": torch.addcmul,
        "exp": torch.exp,
        "tanh": torch.tanh,
        "gelu": functional.gelu,
        "gelu-tanh": lambda x: functional.gelu(x, approximate="tanh"),
        "silu": functional.silu,
        "sqrt": torch.sqrt,
        "divide": torch.div,
        "gelu backward": aten.gelu_backward,
        "gelu-tanh backward": lambda gradient, x: aten.gelu_backward(gradient, x, approximate="tanh"),
        "silu backward": aten.silu_backward,
    }[operation.function]
    reused = {
        "copy": lambda x: out.copy_(x),
        "scale": lambda x: torch.mul(x, 1.5, out=out),
        "relu": lambda x: torch.clamp_min(x, 0.0, out=out),
        "negate": lambda x: torch.neg(x, out=out),
        "square": lambda x: torch.pow(x, 2, out=out),
        "cube": lambda x: torch.pow(x, 3.0, out=out),
        "sum": torch.sum,
        "add": lambda x, y: torch.add(x, y, out=out),
        "subtract": lambda x, y: torch.sub(x, y, out=out),
        "multiply": lambda x, y: torch.mul(x, y, out=out),
        "multiply-add": lambda x, y, z: torch.addcmul(x, y, z, out=out),
        "exp": lambda x: torch.exp(x, out=out),
        "tanh": lambda x: torch.tanh(x, out=out),
        "sqrt": lambda x: torch.sqrt(x, out=out),
        "divide": lambda x, y: torch.div(x, y, out=out),
    }
    if not operation.new and operation.function not in reused:
        raise ValueError(f"function={operation.function!r} is only built with a new result: say new=True.")
    out = None if operation.new else bench.empty(n)
    inputs = [
        tuple(bench.random(n).add_(1.0) for _ in range(operation.reads)) for _ in range(_copies(operation, 4 * n))
    ]
    return _in_turn(fresh if operation.new else reused[operation.function], inputs)


def _rowwise(bench: Bench, operation: Rowwise) -> Callable[[], object]:
    torch, rows, width = bench.torch, operation.rows, operation.width
    functional, aten = torch.nn.functional, torch.ops.aten
    gain, bias = bench.random(width), bench.random(width)
    inputs = [(bench.random(rows, width),) for _ in range(_copies(operation, rows * width * FP32))]
    if operation.function == "softmax":
        return _in_turn(lambda x: functional.softmax(x, -1), inputs)
    if operation.function == "log-softmax":
        return _in_turn(lambda x: functional.log_softmax(x, -1), inputs)
    if operation.function == "layer_norm":
        return _in_turn(lambda x: functional.layer_norm(x, (width,), gain, bias), inputs)
    gradient = bench.random(rows, width)
    if operation.function == "softmax backward":
        result = functional.softmax(gradient, -1)
        return _in_turn(lambda x: aten._softmax_backward_data(x, result, -1, torch.float32), inputs)
    _, mean, deviation = aten.native_layer_norm(gradient, (width,), gain, bias, 1e-5)
    return _in_turn(
        lambda x: aten.native_layer_norm_backward(
            gradient, x, (width,), mean, deviation, gain, bias, (True, True, True)
        ),
        inputs,
    )


def _gather(bench: Bench, operation: Gather) -> Callable[[], object]:
    """Warm: the same rows each time. Cold: other rows each time, of a table that no cache holds."""
    torch, rows, width = bench.torch, operation.rows, operation.width
    members = 2 * TABLE // (FP32 * width)
    table = bench.random(members, width)
    sets = 1 if not operation.cold else max(2, members // rows)
    indices = [(torch.randint(members, (rows,), generator=bench.generator),) for _ in range(sets)]
    return _in_turn(lambda index: torch.nn.functional.embedding(index, table), indices)


def _attention(bench: Bench, operation: Attention) -> Callable[[], object]:
    torch, heads, width = bench.torch, operation.heads, operation.width
    q = bench.random(1, heads, operation.queries, width)
    k, v = bench.random(1, heads, operation.keys, width), bench.random(1, heads, operation.keys, width)
    if not operation.backward:
        attend = torch.nn.functional.scaled_dot_product_attention
        return lambda: attend(q, k, v, is_causal=operation.causal)
    aten = torch.ops.aten
    out, sums = aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, operation.causal)
    gradient = bench.random(*out.shape)
    return lambda: aten._scaled_dot_product_flash_attention_for_cpu_backward(
        gradient, q, k, v, out, sums, 0.0, operation.causal
    )


def _calls(bench: Bench, operation: Calls) -> Callable[[], object]:
    module, x = bench.torch.nn.Identity(), bench.random(4, 4)

    def views():
        for _ in range(operation.calls):
            module(x).view(16)

    return views
