"""The processor's time of a training step in parts: the same rows in more parts, and parts of the same size, with and
without the optimizer.
"""

import time
from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running import timing
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.words import words

say = words(__file__)

ROWS, WIDTH, PART = 512, 512, 32
SPLITS = (1, 4, 64)
STEPS = (1, 4, 16)
BARE = (1, 16)


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """512 rows in 1, 4 and 64 parts; 1, 4 and 16 parts of 32 rows, and two of these without AdamW. Full repeats them more
    often.
    """
    settings = {say("split", rows=ROWS, parts=parts): (ROWS, parts, True) for parts in SPLITS}
    settings |= {say("grown", rows=PART, parts=parts): (PART * parts, parts, True) for parts in STEPS}
    settings |= {say("bare", rows=PART, parts=parts): (PART * parts, parts, False) for parts in BARE}
    return tuple(
        Case(
            name,
            say("calls", "adamw" if updates else "bare", each=rows // parts),
            observe=partial(_observe, rows=rows, parts=parts, updates=updates, repeats=4 if quick else 20),
            facts={"rows": rows, "parts": parts},
        )
        for name, (rows, parts, updates) in settings.items()
    )


def _observe(bench, seconds: float, rows: int, parts: int, updates: bool, repeats: int) -> list[float]:
    """Seconds of a processor for each row, of the quickest step: other programs disturb that least."""
    torch = bench.torch
    with timing.single_thread(torch):
        layers = [torch.nn.Linear(WIDTH, 2 * WIDTH), torch.nn.GELU(), torch.nn.Linear(2 * WIDTH, WIDTH)]
        net, x = torch.nn.Sequential(*layers), bench.random(rows, WIDTH).cpu()
        optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)

        def step():
            begin = time.process_time()
            optimizer.zero_grad()
            for part in x.chunk(parts):
                (net(part).square().mean() / parts).backward()
            if updates:
                optimizer.step()
            return time.process_time() - begin

        step()
        return [min(step() for _ in range(repeats)) / rows]


EXPERIMENT = Experiment(
    say,
    cases,
    partial(dots, title=say("title"), axis=say("axis")),
    quantity_columns(say, "s", rows="int", parts="int"),
    method={"width": WIDTH},
)
