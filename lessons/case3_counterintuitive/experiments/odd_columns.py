"""A product with a round or an odd number of columns: some more columns, and less time?"""

from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.racing import Heat
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.words import words

say = words(__file__)

ROWS, INNER = (64, 256), 1000
COLUMNS = (4096, 4001, 4033)


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Two numbers of rows, three of columns, as times of 4,096 columns; full has more rounds."""
    heats = {rows: Heat(partial(forms, rows=rows), 3 if quick else 15) for rows in ROWS}
    return tuple(
        Case(
            say("case", rows=rows, columns=columns),
            say("call", rows=rows, inner=INNER, columns=columns),
            observe=partial(heats[rows].over, name=columns, base=COLUMNS[0]),
            expect=lambda device, columns=columns: columns / COLUMNS[0],  # by FLOPs, and nearly by bytes
            facts={"rows": rows, "columns": columns},
        )
        for rows in ROWS
        for columns in COLUMNS
    )


def forms(bench, rows: int):
    torch = bench.torch
    draw = torch.Generator().manual_seed(0)
    a = torch.randn(rows, INNER, generator=draw)
    return {
        columns: partial(torch.mm, a, torch.randn(INNER, columns, generator=draw), out=torch.empty(rows, columns))
        for columns in COLUMNS
    }


def plot(result):
    """The ratios."""
    taken = {(row["rows"], row["columns"]): row["measured"] for row in result.rows}
    return dots(result, title=say("title", fewer=taken[256, 4001]), axis=say("axis"), log=False)


EXPERIMENT = Experiment(
    say, cases, plot, quantity_columns(say, "×", rows="int", columns="int", hidden=("rows", "columns"))
)
