"""A tiny GPT with AdamW, with and without a warm-up; and two other ways to tame the first steps."""

from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.q16_learning_rate_schedules import networks
from course_lib.words import words

say = words(__file__)

PEAKS, LARGE = (1e-3, 1e-2), 1e-2
OTHERS = ("filled", "radam")  # at the large peak only


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """The large peak with and without a warm-up, from one seed; full adds a small peak and two other starts, from three."""
    pairs = [(start, peak) for peak in ((LARGE,) if quick else PEAKS) for start in ("none", "warm-up")]
    pairs += [] if quick else [(start, LARGE) for start in OTHERS]
    return tuple(
        Case(
            f"{peak:g}, {start}",
            say("starts", start, rise=networks.RISE),
            observe=partial(_observe, start=start, peak=peak, seeds=1 if quick else 3),
        )
        for start, peak in pairs
    )


def _observe(bench, seconds: float, start: str, peak: float, seeds: int) -> list[float]:
    return [networks.gpt_loss(bench, peak, start, seed) for seed in range(seeds)]


EXPERIMENT = Experiment(
    say,
    cases,
    partial(dots, title=say("title"), axis=say("axis"), log=False),
    quantity_columns(say, "nat"),
    timed=False,
    method={"steps": networks.GPT_STEPS, "batch": networks.GPT_BATCH},
)
