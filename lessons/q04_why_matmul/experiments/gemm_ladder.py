"""One matrix product on the rungs of a ladder: from a loop over numbers in Python to one call of the library.

The FLOPs stay the same from the first rung to the last; what changes is how many of them one call does, and how often a
number that was fetched is used again. The prediction charges every call its overhead and its own operands from main
memory. So it is too low where the operands stay in a cache. Nothing predicts the loop in Python: the cost of a step of
the interpreter is not in a machine's profile.
"""

from functools import partial

from course_lib.accounting import hardware, precision, roofline
from course_lib.experiments.running import calls
from course_lib.experiments.running.experiment import Case, Experiment, main_dtype, repeated
from course_lib.experiments.running.rows import quantity_columns, rates
from course_lib.figures.charts import dots
from course_lib.figures.tabular import quantity
from course_lib.words import words

say = words(__file__)

STEPS = 8  # rows or outer products that one run of a rung's function does

table, predict = rates(lambda case, device: case.flops)


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """[n×n] @ [n×n], n = 512 on a processor and 4096 on a GPU; full differs from quick in the repeats only."""
    dtype = main_dtype(device)
    n, tile = (512, 64) if device.kind == "cpu" else (4096, 256)
    blocks = n // tile
    first = repeated(roofline.matmul(tile, tile, tile, dtype), blocks**2)
    added = roofline.Op(
        "addmm", 2 * tile**3, precision.nbytes(4 * tile**2, dtype), dtype
    )  # the tile of the result is read too

    def rung(name, call, op_of_one, count, build, share):
        """`count` equal calls, of which one run of what `build` makes does the share."""
        return _case(name, call, (repeated(op_of_one, count),), build, share)

    row = roofline.Op("row", 2 * n**2, precision.nbytes(n**2 + 2 * n, dtype), dtype)
    outer = roofline.Op("outer", 2 * n**2, precision.nbytes(2 * n**2 + 2 * n, dtype), dtype)
    whole = roofline.matmul(n, n, n, dtype)
    rungs = (
        rung(
            "dot products",
            say("calls", "dots", n=n),
            roofline.Op("dot", 2 * n, precision.nbytes(2 * n + 1, dtype), dtype),
            n**2,
            partial(build_dots, n=n, dtype=dtype),
            1 / n,
        ),
        rung("row by row", say("calls", "rows", n=n), row, n, partial(build_rows, n=n, dtype=dtype), STEPS / n),
        rung("outer products", say("calls", "outer", n=n), outer, n, partial(build_outer, n=n, dtype=dtype), STEPS / n),
        _case(
            "tiles",
            say("calls", "tiles", blocks=blocks, tile=tile),
            (first, *((repeated(added, blocks**2 * (blocks - 1)),) if blocks > 1 else ())),
            partial(build_tiles, n=n, tile=tile, dtype=dtype),
            1,
        ),
        rung("library, new result", f"a @ b, [{n}×{n}]", whole, 1, partial(build_new, n=n, dtype=dtype), 1),
        rung("library, out=", f"torch.mm(a, b, out=c), [{n}×{n}]", whole, 1, calls.product(n, n, n, dtype), 1),
    )
    if device.kind != "cpu":
        return rungs
    steps = Case(
        "loop over numbers",
        say("calls", "loop", n=n),
        (repeated(roofline.Op("multiply-add", 2, precision.nbytes(2, "fp64"), dtype), n**3),),
        partial(build_loop, n=n),
        share=STEPS / n**2,
        expect=lambda device: None,
        facts={"flops": 2 * n**3, "calls": n**3},
    )
    return (steps, *rungs)


def _case(name, call, ops, build, share) -> Case:
    facts = {"flops": sum(op.flops for op in ops), "calls": sum(op.calls for op in ops)}
    return Case(name, call, ops, build, share=share, facts=facts)


def build_loop(bench, n: int):
    """STEPS numbers of the first row of the result, in Python floats."""
    a, columns = bench.random(1, n).tolist()[0], bench.random(STEPS, n).tolist()

    def one_after_another():
        results = []
        for column in columns:
            total = 0.0
            for k in range(n):
                total += a[k] * column[k]
            results.append(total)
        return results

    return one_after_another


def build_dots(bench, n: int, dtype: str):
    """The first row of the result; the right operand lies column by column, so that every dot product is contiguous."""
    dot = bench.torch.dot
    a, out = bench.random(n, dtype=dtype), bench.empty(n, dtype=dtype)
    pairs = list(zip(bench.random(n, n, dtype=dtype).unbind(), out.unbind(), strict=True))

    def first_row():
        for column, result in pairs:
            dot(a, column, out=result)
        return out

    return first_row


def build_rows(bench, n: int, dtype: str):
    """The first STEPS rows of the result, each from one row of the left operand and all of the right one."""
    mm = bench.torch.mm
    a, b, out = (bench.random(rows, n, dtype=dtype) for rows in (STEPS, n, STEPS))
    pairs = list(zip(a.split(1), out.split(1), strict=True))

    def rows():
        for row, result in pairs:
            mm(row, b, out=result)
        return out

    return rows


def build_outer(bench, n: int, dtype: str):
    """The first STEPS outer products: each adds column k of the left operand times row k of the right one."""
    addmm = bench.torch.addmm
    left, right, out = (bench.random(rows, n, dtype=dtype) for rows in (STEPS, STEPS, n))
    out.zero_()
    pairs = [(column.view(n, 1), row.view(1, n)) for column, row in zip(left, right, strict=True)]

    def sums():
        for column, row in pairs:
            addmm(out, column, row, out=out)
        return out

    return sums


def build_tiles(bench, n: int, tile: int, dtype: str):
    """The whole product, tile by tile: a tile of the result stays while the tiles that make it up go by."""
    torch, starts = bench.torch, range(0, n, tile)
    a, b, out = (bench.random(n, n, dtype=dtype) for _ in range(3))

    def tiles(matrix):
        return [[matrix[i : i + tile, j : j + tile] for j in starts] for i in starts]

    left, right, result = tiles(a), tiles(b), tiles(out)
    blocks = range(len(starts))

    def product():
        for i in blocks:
            for j in blocks:
                c = result[i][j]
                torch.mm(left[i][0], right[0][j], out=c)
                for k in blocks[1:]:
                    torch.addmm(c, left[i][k], right[k][j], out=c)
        return out

    return product


def build_new(bench, n: int, dtype: str):
    """The library's product into new memory each time."""
    a, b = bench.random(n, n, dtype=dtype), bench.random(n, n, dtype=dtype)
    return lambda: a @ b


def plot(result):
    """Measured and predicted FLOP/s of every rung."""
    rates = result.measured
    title = say("title", "plain")
    if {"loop over numbers", "library, out="} <= set(rates):
        factor = rates["library, out="] / rates["loop over numbers"]
        title = say("title", "found", factor=quantity(factor, "×"))
    return dots(result, title=title, axis=say("axis"))


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "FLOP/s", flops="int FLOP", calls="int", hidden=("flops",)),
    table=table,
    predict=predict,
    quick_seconds=0.1,
    full_seconds=0.5,
)
