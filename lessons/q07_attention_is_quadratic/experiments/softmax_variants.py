"""Softmax by passes: naive, stable, in blocks that stay in a cache, online, and the library's.

The naive softmax needs the fewest FLOPs and the library's not; what counts is how often the array crosses main memory.
Every call of the unfused variants is charged its operands. The variants in blocks and the online one are charged only
what has to come from main memory: the rows of a block are meant to stay in a cache, where the second sweep of the
online one finds them again. No prediction knows the cost of exp, which on a processor is that of many FLOPs, so all of
them are too low where exp decides. Online: Milakov and Gimelshein, "Online normalizer calculation for softmax",
arXiv:1805.02867.
"""

from course_lib.accounting import hardware, precision, roofline
from course_lib.experiments.running.experiment import Case, Experiment, main_dtype
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.figures.tabular import quantity
from course_lib.words import words

say = words(__file__)


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Softmax and log-softmax along the rows of one array; full differs from quick in the repeats only."""
    dtype = main_dtype(device)
    rows, columns, rows_near, columns_near = (
        (16384, 1024, 128, 256) if device.kind == "cpu" else (2**15, 8192, 1024, 2048)
    )
    elements, blocks, parts = rows * columns, rows // rows_near, columns // columns_near

    def passes(name, reads, writes, flops_each, near=False, calls=1) -> roofline.Op:
        """One pass over all elements; `near` says that its operands are in a cache already, so only calls remain."""
        moved = 1 if near else precision.nbytes((reads + writes) * elements, dtype)
        return roofline.Op(name, flops_each * elements, moved, dtype, calls)

    naive = (passes("exp", 1, 1, 1), passes("sum", 1, 0, 1), passes("divide", 1, 1, 1))
    stable = (passes("max", 1, 0, 1), passes("subtract", 1, 1, 1), *naive)
    in_blocks = (
        passes("max", 1, 0, 1, calls=blocks),
        passes("subtract", 0, 1, 1, calls=blocks),
        *(passes(name, 0, 0, 1, near=True, calls=blocks) for name in ("exp", "sum", "divide")),
    )
    pieces = blocks * parts
    online = (
        passes("maximum", 1, 0, 1, calls=2 * pieces),
        *(passes(name, 0, 0, 1, near=True, calls=pieces) for name in ("subtract", "exp", "sum")),
        passes("rescale", 0, 0, 0, near=True, calls=5 * pieces),
        passes("start", 0, 0, 0, near=True, calls=2 * blocks),
        *(passes(name, 0, 0, 1, near=True, calls=pieces) for name in ("subtract", "exp")),
        passes("divide", 0, 1, 1, calls=pieces),
    )

    def case(name, call, ops, function, overflow):
        def build(bench):
            x, out = bench.random(rows, columns, dtype=dtype), bench.empty(rows, columns, dtype=dtype)
            return function(bench.torch, x, out, rows_near, columns_near)

        moved = sum(op.bytes for op in ops if op.bytes > 1)
        facts = {
            "passes": moved / precision.nbytes(elements, dtype),
            "flops": sum(op.flops for op in ops),
            "of_large": overflow,
        }
        return Case(name, call, tuple(ops), build, facts=facts)

    library = roofline.Op("softmax", 5 * elements, precision.nbytes(2 * elements, dtype), dtype)
    size = f"[{rows}×{columns}]"
    block, piece = f"[{rows_near}×{columns}]", f"[{rows_near}×{columns_near}]"
    return (
        case("naive", say("calls", "naive", size=size), naive, naive_softmax, "NaN"),
        case("stable", say("calls", "stable", size=size), stable, stable_softmax, "right"),
        case("stable, in blocks", say("calls", "blocked", block=block), in_blocks, blocked_softmax, "right"),
        case("online, in blocks", say("calls", "online", piece=piece), online, online_softmax, "right"),
        case("library", f"torch.softmax, {size}", (library,), library_softmax, "right"),
        case(
            "log of softmax",
            f"torch.log(torch.softmax(x)), {size}",
            (library, passes("log", 1, 1, 1)),
            log_of_softmax,
            "−∞",
        ),
        case("log-softmax, library", f"torch.log_softmax, {size}", (library,), library_log_softmax, "right"),
    )


# Each function prepares what one call needs and gives that call; it writes the softmax of the rows of x into out.


def naive_softmax(torch, x, out, rows_near, columns_near):
    total = out.new_ones(len(x), 1)

    def call():
        torch.exp(x, out=out)
        torch.sum(out, dim=1, keepdim=True, out=total)
        torch.div(out, total, out=out)
        return out

    return call


def stable_softmax(torch, x, out, rows_near, columns_near):
    row = out.new_ones(len(x), 1)

    def call():
        torch.amax(x, dim=1, keepdim=True, out=row)
        torch.sub(x, row, out=out)
        torch.exp(out, out=out)
        torch.sum(out, dim=1, keepdim=True, out=row)
        torch.div(out, row, out=out)
        return out

    return call


def blocked_softmax(torch, x, out, rows_near, columns_near):
    blocks = zip(x.split(rows_near), out.split(rows_near), strict=True)
    calls = [stable_softmax(torch, *pair, rows_near, columns_near) for pair in blocks]

    def call():
        for one in calls:
            one()
        return out

    return call


def online_softmax(torch, x, out, rows_near, columns_near):
    """One sweep over the columns keeps the maximum so far and the sum of exponentials relative to it: when the maximum
    grows, the sum is rescaled. A second sweep writes the results.
    """
    maximum, larger, total, part = (out.new_ones(rows_near, 1) for _ in range(4))
    piece = out.new_ones(rows_near, columns_near)
    blocks = [
        list(zip(x_rows.split(columns_near, dim=1), out_rows.split(columns_near, dim=1), strict=True))
        for x_rows, out_rows in zip(x.split(rows_near), out.split(rows_near), strict=True)
    ]

    def call():
        for pieces in blocks:
            maximum.fill_(float("-inf"))
            total.zero_()
            for scores, _ in pieces:
                torch.amax(scores, dim=1, keepdim=True, out=larger)
                torch.maximum(larger, maximum, out=larger)
                torch.sub(maximum, larger, out=maximum)
                torch.exp(maximum, out=maximum)
                total.mul_(maximum)
                torch.sub(scores, larger, out=piece)
                torch.exp(piece, out=piece)
                torch.sum(piece, dim=1, keepdim=True, out=part)
                total.add_(part)
                maximum.copy_(larger)
            for scores, result in pieces:
                torch.sub(scores, maximum, out=piece)
                torch.exp(piece, out=piece)
                torch.div(piece, total, out=result)
        return out

    return call


def library_softmax(torch, x, out, rows_near, columns_near):
    return lambda: torch.softmax(x, 1, out=out)


def log_of_softmax(torch, x, out, rows_near, columns_near):
    def call():
        torch.softmax(x, 1, out=out)
        return torch.log(out, out=out)

    return call


def library_log_softmax(torch, x, out, rows_near, columns_near):
    return lambda: torch.log_softmax(x, 1, out=out)


def plot(result):
    """Measured and predicted time of every variant."""
    times, title = result.measured, say("title", "plain")
    if {"stable", "library"} <= set(times):
        factor = times["stable"] / times["library"]
        title = say("title", "found", factor=quantity(factor, "×"))
    return dots(result, title=title, axis=say("axis"))


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "s", passes="float", flops="int FLOP", of_large="str"),
    quick_seconds=0.08,
    full_seconds=0.5,
)
