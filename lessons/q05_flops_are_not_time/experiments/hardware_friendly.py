"""Pairs whose second half has no more FLOPs: order of access, dependency chains, balance of load, skipped zeros."""

from functools import partial

from course_lib.accounting import hardware, roofline
from course_lib.experiments.running import calls
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import CASE_COLUMNS, rows_by_case
from course_lib.figures.charts import dots
from course_lib.words import words

say = words(__file__)

FP32, INT64 = 4, 8  # bytes: values in fp32 on every device, indices as torch's CSR format keeps them
DENSITY = 0.1  # share of a pruned matrix that is not zero


def sparse_product(name: str, rows: int, cols: int, nonzeros: int, vectors: int = 1) -> roofline.Op:
    """CSR [rows×cols] @ [cols×vectors]: 2 FLOPs for each stored value and vector; everything moves once."""
    stored = nonzeros * (FP32 + INT64) + (rows + 1) * INT64
    return roofline.Op(name, 2 * nonzeros * vectors, stored + (cols + rows) * vectors * FP32, dtype="fp32")


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Five pairs; full differs from quick in the repeats only. All in fp32."""
    scale = 1 if device.kind == "cpu" else 8
    table, picks, length = scale * 2**25, scale * 2**21, scale * 2**24
    side, vectors = (4096, 256) if device.kind == "cpu" else (16384, 1024)
    small = side // 2
    per_row = int(DENSITY * side)
    gathered = roofline.Op("gather", 0, picks * (INT64 + 2 * FP32))

    def build_sum(bench):
        x, out = bench.random(length), bench.empty(1)
        return lambda: bench.torch.sum(x, dim=0, keepdim=True, out=out)

    def build_cumsum(bench):
        x, out = bench.random(length), bench.empty(length)
        return lambda: bench.torch.cumsum(x, dim=0, out=out)

    def build_rows(bench, counts_of):
        """A CSR matrix [side×side] whose rows have the lengths `counts_of(torch)`, times a vector."""
        matrix, x = csr(bench, counts_of(bench.torch), side), bench.random(side)
        return lambda: matrix @ x

    def equal(torch):
        return torch.full((side,), per_row)

    def skewed(torch):
        """The same number of values, half of them in one sixteenth of the rows."""
        heavy = side // 16
        counts = torch.full((side,), per_row * side // 2 // (side - heavy))
        counts[:heavy] = (per_row * side - counts[heavy:].sum()) // heavy
        counts[0] += per_row * side - counts.sum()
        return counts

    def build_sparse(bench, size, columns):
        matrix = csr(bench, bench.torch.full((size,), int(DENSITY * size)), size)
        x = bench.random(size, columns)
        return lambda: matrix @ x

    stored, stored_small = per_row * side, int(DENSITY * small) * small
    picked = say("calls", "gather", picks=picks, table=table)
    return (
        Case("gather, in order", picked, (gathered,), calls.gather(table, picks, shuffled=False)),
        Case("gather, at random", picked, (gathered,), calls.gather(table, picks, shuffled=True)),
        Case("sum", f"{length} values", (roofline.Op("sum", length, length * FP32),), build_sum),
        Case("cumulative sum", f"{length} values", (roofline.Op("cumsum", length, 2 * length * FP32),), build_cumsum),
        Case(
            "sparse rows, equal",
            say("calls", "sparse", side=side, stored=stored),
            (sparse_product("equal", side, side, stored),),
            partial(build_rows, counts_of=equal),
        ),
        Case(
            "sparse rows, skewed",
            say("calls", "sparse", side=side, stored=stored),
            (sparse_product("skewed", side, side, stored),),
            partial(build_rows, counts_of=skewed),
        ),
        Case(
            "one column, dense",
            f"[{side}×{side}] @ [{side}×1]",
            (roofline.matmul(side, side, 1, "fp32"),),
            calls.product(side, side, 1, "fp32"),
        ),
        Case(
            "one column, 90 % zeros skipped",
            f"CSR [{side}×{side}] @ [{side}×1]",
            (sparse_product("pruned", side, side, stored),),
            partial(build_sparse, size=side, columns=1),
        ),
        Case(
            "many columns, dense",
            f"[{small}×{small}] @ [{small}×{vectors}]",
            (roofline.matmul(small, small, vectors, "fp32"),),
            calls.product(small, small, vectors, "fp32"),
        ),
        Case(
            "many columns, 90 % zeros skipped",
            f"CSR [{small}×{small}] @ [{small}×{vectors}]",
            (sparse_product("pruned", small, small, stored_small, vectors),),
            partial(build_sparse, size=small, columns=vectors),
        ),
    )


def csr(bench, counts, cols: int):
    """A random CSR matrix with `counts[i]` values in row i, in sorted columns that are spread evenly over the row."""
    import warnings

    torch = bench.torch
    starts = torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)])
    total = int(starts[-1])
    position = torch.arange(total) - starts[:-1].repeat_interleave(counts)
    columns = position * cols // counts.repeat_interleave(counts)
    with warnings.catch_warnings():  # torch says once that its CSR support is in beta
        warnings.simplefilter("ignore")
        return torch.sparse_csr_tensor(
            starts.to(bench.on), columns.to(bench.on), bench.random(total), (len(counts), cols)
        )


def plot(result):
    """Predicted and measured time of each case, on a logarithmic axis."""
    times = result.measured
    title = say("title", "plain")
    if {"gather, in order", "gather, at random"} <= set(times):
        factor = times["gather, at random"] / times["gather, in order"]
        title = say("title", "found", factor=factor)
    return dots(result, title=title, axis=say("axis"))


EXPERIMENT = Experiment(say, cases, plot, CASE_COLUMNS, table=rows_by_case, quick_seconds=0.06)
