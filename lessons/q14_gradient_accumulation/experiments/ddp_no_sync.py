"""What two ranks send in a step of eight parts, with a sync after each part and after the last one only."""

from functools import cache, partial

from course_lib.accounting import hardware
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.q14_gradient_accumulation import plans, ranks
from course_lib.words import words

say = words(__file__)


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Three ways to write the loop; full has no more, for bytes do not depend on time."""
    found = cache(ranks.measure)  # once, for all cases
    return tuple(
        Case(
            mode,
            say("calls", mode),
            observe=lambda bench, seconds, mode=mode: [found()[mode]["bytes"]],
            expect=partial(_expected, mode=mode),
            facts={"parts": ranks.PARTS},
        )
        for mode in ranks.MODES
    )


def _expected(device: hardware.Device, mode: str) -> float:
    """Of two ranks, each sends in a ring as many bytes as it hands over."""
    no_sync = mode == ranks.MODES[1]
    return float(plans.sent(ranks.PARAMS, parts=ranks.PARTS, cards=ranks.WORLD, no_sync=no_sync))


EXPERIMENT = Experiment(
    say,
    cases,
    partial(dots, title=say("title"), axis=say("axis"), log=False),
    quantity_columns(say, "B", parts="int", hidden=("parts",)),
    timed=False,
    method={"parts": ranks.PARTS, "params": ranks.PARAMS},
)
