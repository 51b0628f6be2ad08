"""Operations of deep learning placed on the measured roofline of this device."""

from course_lib.accounting import flops, hardware, precision, roofline, units
from course_lib.experiments.running import calls
from course_lib.experiments.running.experiment import Case, Experiment, main_dtype
from course_lib.experiments.running.rows import CASE_COLUMNS, rows_by_case
from course_lib.figures import style
from course_lib.figures.figure import draw
from course_lib.figures.tabular import quantity
from course_lib.words import words

say = words(__file__)


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Elementwise operations and reductions on large arrays, products from one row to square; full adds one."""
    dtype = main_dtype(device)
    cpu = device.kind == "cpu"
    elements, columns, width, heads, sequence = (2**24, 1024, 4096, 12, 512) if cpu else (2**28, 8192, 8192, 96, 2048)
    rows = elements // columns
    squares = (64, 256, 1024, 2048) if cpu else (256, 1024, 4096, 8192)
    linear_rows = (1, 4, 16, 64) if cpu else (1, 16, 64, 256)

    def arrays(name, call, op, reads, run):
        """`run(torch, *inputs, out)` on `reads` arrays of the shape [rows, columns]."""

        def build(bench):
            *inputs, out = (bench.random(rows, columns, dtype=dtype) for _ in range(reads + 1))
            return lambda: run(bench.torch, *inputs, out)

        return Case(name, call, (op,), build)

    def product(name, m, k, n):
        return Case(name, f"[{m}×{k}] @ [{k}×{n}]", (roofline.matmul(m, k, n, dtype),), calls.product(m, k, n, dtype))

    def build_sum(bench):
        x, total = bench.random(rows, columns, dtype=dtype), bench.empty(rows, dtype=dtype)
        return lambda: bench.torch.sum(x, dim=1, out=total)

    def build_layer_norm(bench):
        x = bench.random(rows, columns, dtype=dtype)
        weight, bias = bench.random(columns, dtype=dtype), bench.random(columns, dtype=dtype)
        return lambda: bench.torch.nn.functional.layer_norm(x, (columns,), weight, bias)

    def build_scores(bench):
        q, k = bench.random(heads, sequence, 64, dtype=dtype), bench.random(heads, sequence, 64, dtype=dtype)
        scores = bench.empty(heads, sequence, sequence, dtype=dtype)
        return lambda: bench.torch.bmm(q, k.transpose(1, 2), out=scores)

    sum_of_two = roofline.elementwise(elements, reads=2, dtype=dtype)
    one_each = roofline.elementwise(elements, dtype=dtype)
    size = f"[{rows}×{columns}]"
    total = roofline.Op("sum", rows * (columns - 1), precision.nbytes(elements + rows, dtype), dtype)
    norm = roofline.Op(
        "layer norm", flops.layer_norm(rows, columns), precision.nbytes(2 * elements + 2 * columns, dtype), dtype
    )
    softmax = roofline.Op(
        "softmax", flops.softmax(rows, columns, stable=True), precision.nbytes(2 * elements, dtype), dtype
    )
    scores = roofline.matmul(sequence, 64, sequence, dtype, batch=heads)
    return (
        arrays("add", f"a + b, {size}", sum_of_two, 2, lambda torch, a, b, out: torch.add(a, b, out=out)),
        arrays("ReLU", f"relu(x), {size}", one_each, 1, lambda torch, x, out: torch.clamp(x, min=0, out=out)),
        arrays("exp", f"exp(x), {size}", one_each, 1, lambda torch, x, out: torch.exp(x, out=out)),
        Case("row sums", say("calls", "sum", size=size), (total,), build_sum),
        arrays("softmax", f"softmax(x), {size}", softmax, 1, lambda torch, x, out: torch.softmax(x, 1, out=out)),
        Case("layer norm", say("calls", "norm", size=size), (norm,), build_layer_norm),
        *(product(f"linear, {units.counted(n, 'row')}", n, width, width) for n in linear_rows),
        Case("attention scores", f"{heads} × [{sequence}×64] @ [64×{sequence}]", (scores,), build_scores),
        *(product(f"GEMM {n}", n, n, n) for n in (squares[:-1] if quick else squares)),
    )


def plot(result):
    """The measured roofline of the device and the operations under it, on logarithmic axes."""
    rows, device = result.rows, result.device
    dtype = result.provenance["dtype"]
    peak, bandwidth = device["peaks"][dtype], device["memory_bandwidth"]
    ridge = peak / bandwidth
    below = [row for row in rows if row["intensity"] < ridge]
    slowest, fastest = (choose(rows, key=lambda row: row["attained"]) for choose in (min, max))
    title = say("title", below=len(below), all=len(rows), ridge=ridge)
    words = " ".join(
        say(
            "point",
            case=row["case"],
            intensity=quantity(row["intensity"], "FLOP/B"),
            attained=quantity(row["attained"], "FLOP/s"),
        )
        for row in rows
    )
    roofline_in_words = say(
        "in-words",
        device=device["name"],
        dtype=dtype,
        bandwidth=quantity(bandwidth, "B/s"),
        peak=quantity(peak, "FLOP/s"),
        slowest=slowest["case"],
        fastest=fastest["case"],
    )
    alt = f"{title}. {roofline_in_words} {words}"

    def paint(axes):
        low = min(row["intensity"] for row in rows) / 5
        high = max(ridge, *(row["intensity"] for row in rows)) * 4
        roof = style.mark("predicted", "-") | {"marker": "", "linewidth": 1.5 * style.size().line}
        axes.plot([low, ridge, high], [low * bandwidth, peak, peak], **roof)
        axes.axvline(ridge, color=style.FAINT, linestyle=":", marker="")
        for row in rows:
            axes.plot(row["intensity"], row["attained"], **style.mark("measured"), zorder=3)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(low / 1.5, high)
        axes.set_ylim(top=2.5 * peak)
        return [
            (ridge, axes.get_ylim()[0], say("marks", "ridge", ridge=quantity(ridge, "FLOP/B"))),
            (ridge, peak, say("marks", "peak", dtype=dtype, peak=quantity(peak, "FLOP/s"))),
            (low, low * bandwidth, say("marks", "bandwidth", bandwidth=quantity(bandwidth, "B/s"))),
            *((row["intensity"], row["attained"], row["case"]) for row in rows),
        ]

    return draw(
        title,
        alt,
        paint,
        x=(say("axes", "x"), "FLOP/B"),
        y=(say("axes", "y"), "FLOP/s"),
        note=say("key", device=device["name"], date=result.provenance["date"]),
        height=5,
    )


EXPERIMENT = Experiment(say, cases, plot, CASE_COLUMNS, table=rows_by_case, quick_seconds=0.05)
