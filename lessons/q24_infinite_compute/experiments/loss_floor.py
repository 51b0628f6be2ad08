"""Models of five sizes, and a mean of them all, on a text whose entropy is known."""

from functools import cache, partial

from course_lib.accounting import hardware
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import curves
from course_lib.units.q24_infinite_compute import text
from course_lib.words import words

say = words(__file__)

LETTERS, TEST = (1_000, 10_000, 100_000), 20_000
MEAN = "mean"


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Six models and three lengths of text; full is as quick."""
    return tuple(
        Case(
            say("case", "mean" if model == MEAN else "order", order=model, letters=letters),
            say("call", "mean" if model == MEAN else "order"),
            observe=partial(_observe, model=model, letters=letters),
            expect=partial(_expected, model=model, letters=letters),
            facts={"model": say("model", "mean" if model == MEAN else "order", order=model), "letters": letters},
        )
        for model in (*text.ORDERS, MEAN)
        for letters in LETTERS
    )


def _expected(device: hardware.Device, model, letters: int) -> float | None:
    return text.excess(text.ORDER if model == MEAN else model, letters, _source())


def _observe(bench, seconds: float, model, letters: int) -> list[float]:
    """Nats a letter of another text, above what the law itself gets on it."""
    models = _learned(letters)
    source, unseen = _source(), _unseen()
    if model == MEAN:
        found = text.loss(models, text.trusted(models), unseen)
    else:
        found = text.loss([models[model]], [1.0], unseen)
    return [found - text.perfect(source, unseen)]


@cache
def _source() -> text.Source:
    return text.Source()


@cache
def _unseen():
    return _source().text(TEST, seed=99)


@cache
def _learned(letters: int) -> list[text.Counts]:
    learned = _source().text(letters, seed=7)
    return [text.Counts(order, learned) for order in text.ORDERS]


EXPERIMENT = Experiment(
    say,
    cases,
    partial(curves, x="letters", by="model", title=say("title"), axis=say("axis")),
    quantity_columns(say, "nat", model="str", letters="int", hidden=("model", "letters")),
    timed=False,
    method={"symbols": text.SYMBOLS, "test": TEST, "before": text.BEFORE},
)
