"""FLOP/s of one matrix product by its size, shape and number format."""

from collections.abc import Mapping, Sequence

from course_lib.accounting import hardware, roofline
from course_lib.experiments import calls
from course_lib.experiments.experiment import Case, Experiment, main_dtype, quantity_columns
from course_lib.experiments.figure import FAINT, INK, MEASURED, PAPER, PREDICTED, draw, label_points
from course_lib.experiments.result import Column
from course_lib.experiments.table import quantity
from course_lib.experiments.timing import Repeats

SQUARE, SKINNY = "square", "skinny"


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Square products in each format that the device computes in, products of few rows, sides beside a power of two.

    Full adds sizes between the quick ones, the largest ones, and fp64 where it has a peak.
    """
    main = main_dtype(device)
    if device.kind == "cpu":
        sides, more_sides = (16, 64, 256, 512), (32, 128, 1024, 2048)
        rows, more_rows, width, power = (1, 16, 256), (4, 64, 1024), 2048, 512
    else:
        sides, more_sides = (256, 1024, 4096, 8192), (128, 512, 2048, 16384)
        rows, more_rows, width, power = (1, 64, 512), (8, 256, 1024, 4096), 8192, 4096
    formats = [dtype for dtype in ("fp32", "bf16", "fp16") if dtype in device.peaks and dtype in ("fp32", main, "bf16")]
    if not quick:
        sides, rows = sides + more_sides, rows + more_rows
        formats += [dtype for dtype in ("fp64",) if dtype in device.peaks]

    def square(n: int, dtype: str) -> Case:
        return _case(f"{SQUARE} {n}, {dtype}", n, n, dtype, f"{SQUARE} {dtype}", calls.product(n, n, n, dtype), 1)

    def skinny(m: int) -> Case:
        op = roofline.matmul(m, width, width, main)
        # right of the ridge it does not matter whether a weight comes from cache
        in_turn = 1 if op.intensity > roofline.ridge_point(device, main) else calls.beyond_cache(width, width, main)
        build = calls.linear(m, width, main, in_turn)
        return _case(f"{SKINNY} {m}, {main}", m, width, main, f"{SKINNY} {main}", build, in_turn)

    return (
        *(square(n, dtype) for dtype in formats for n in sorted(sides)),
        *(skinny(m) for m in sorted(rows)),
        *(square(n, main) for n in (power - 1, power + 1)),
    )


def _case(name, m, width, dtype, series, build, share) -> Case:
    """[m, width] @ [width, width]."""
    op = roofline.matmul(m, width, width, dtype)
    facts = {"series": series, "rows": m, "flops": op.flops, "intensity": op.intensity}
    return Case(name, f"[{m}×{width}] @ [{width}×{width}], {dtype}", (op,), build, share=share, facts=facts)


def rates_by_case(cases: Sequence[Case], timings: Mapping[str, Repeats], device: hardware.Device) -> list[dict]:
    """One row for each timed case with the columns `quantity_columns` of FLOP/s and the case's facts."""
    rows = []
    for case in cases:
        timed = timings[case.name]
        first, third = timed.quartiles
        rows.append(
            {
                "case": case.name,
                "call": case.call,
                **case.facts,
                "predicted": predicted_rate(case, device),
                "measured": case.flops / timed.median,
                "q1": case.flops / third,
                "q3": case.flops / first,
                "repeats": len(timed.values),
            }
        )
    return rows


def predicted_rates(cases: Sequence[Case], device: hardware.Device) -> dict[str, float | None]:
    """case -> predicted FLOP/s, None where the seconds cannot be told."""
    return {case.name: predicted_rate(case, device) for case in cases}


def predicted_rate(case: Case, device: hardware.Device) -> float | None:
    """FLOP/s by the roofline with call overhead, in which small and skinny products fall short of the peak."""
    seconds = case.predict(device)
    return None if seconds is None else case.flops / seconds


def plot(result):
    """Measured and predicted FLOP/s over the rows of the left operand, a line for each series."""
    rates = result.measured.values()
    title = f"Matrix products attain between {quantity(min(rates), 'FLOP/s')} and {quantity(max(rates), 'FLOP/s')}"
    words = [
        f"{row['case']}: predicted {quantity(row['predicted'], 'FLOP/s')}, "
        f"measured {quantity(row['measured'], 'FLOP/s')}."
        for row in result.rows
    ]
    series = list(dict.fromkeys(row["series"] for row in result.rows))

    def paint(axes):
        labels = []
        for number, name in enumerate(series):
            rows = sorted((row for row in result.rows if row["series"] == name), key=lambda row: row["rows"])
            style = ("-", "--", ":", "-.")[number % 4]
            told = [row for row in rows if row["predicted"] is not None]
            for color, column, shown in ((PREDICTED, "predicted", told), (MEASURED, "measured", rows)):
                places, values = [row["rows"] for row in shown], [row[column] for row in shown]
                face = {"markersize": 8, "markerfacecolor": PAPER} if column == "predicted" else {"markersize": 5}
                axes.plot(places, values, marker="o", color=color, linestyle=style, linewidth=1.2, **face)
            axes.vlines(
                [row["rows"] for row in rows],
                [row["q1"] for row in rows],
                [row["q3"] for row in rows],
                color=MEASURED,
                linewidth=3,
                alpha=0.45,
            )
            named = rows[0 if name.startswith(SKINNY) else -1]  # the lines meet at the other end
            labels.append((named["rows"], named["measured"], name))
        axes.set_xscale("log")
        axes.set_yscale("log")
        low, high = axes.get_xlim()
        axes.set_xlim(low, high * (high / low) ** 0.15)
        axes.set_xlabel(
            f"rows of the left operand\nopen: predicted; filled: measured on {result.device['name']}", color=INK
        )
        axes.set_ylabel("attained, FLOP/s", color=INK)
        axes.grid(color=FAINT, alpha=0.25)
        label_points(axes, labels)

    return draw(title, f"{title}. {' '.join(words)}", paint, height=4.6)


EXPERIMENT = Experiment(
    name="matmul_sweep",
    question="How many FLOP/s does a matrix product attain, by its size, shape and number format?",
    columns=quantity_columns(
        "attained",
        "FLOP/s",
        Column("series", "series", "", "str", shown=False),
        Column("rows", "rows of the left operand", "", "int", shown=False),
        Column("flops", "FLOPs", "FLOP", "int"),
        Column("intensity", "intensity", "FLOP/B", "float"),
    ),
    quantity="measured",
    cases=cases,
    table=rates_by_case,
    predict=predicted_rates,
    plot=plot,
    quick_seconds=0.05,
    full_seconds=0.2,
    on_gpu="fp32 and bf16 (fp16 where it lacks bf16), larger sizes",
    method=(
        "Results go into memory that is already there (out=); a rate is the FLOPs over the time of one call.",
        "Weights of the skinny products are taken in turn from a set larger than the caches where the prediction says "
        "that memory bounds them, as in a model of many layers; all other operands stay in cache where they fit.",
        "fp32 is computed as torch is set: on a GPU without TF32, unless the learner allowed it.",
    ),
)
