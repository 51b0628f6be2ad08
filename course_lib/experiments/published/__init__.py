"""What others measured and published, beside what `accounting` predicts of it.

    published.get("gptfast-7b")         104.9 tokens/s on an A100, 68 % of the bound; who says so, and where
    published.names(unit="q11")         the figures that a unit of the course can use
    published.table(kind="decode")      a row each, to look at or to compute with

None of these figures was measured in this project. Predictions are computed when they are asked for, with the standard
library alone.
"""

from course_lib import units
from course_lib.accounting.units import choice
from course_lib.experiments.published.ledger import Figure, Source, Table, figures

__all__ = ["Figure", "Source", "Table", "beside", "get", "kinds", "model", "names", "table"]


def kinds() -> tuple[str, ...]:
    """What figures are about: "decode", "training", "memory" …"""
    return tuple(dict.fromkeys(figure.kind for figure in figures().values()))


def names(unit: str | None = None, kind: str | None = None) -> tuple[str, ...]:
    """Ids of all figures, of those that serve a unit of the course ("q11"), or of a kind. An unknown unit or kind is a
    ValueError with the nearest.
    """
    if unit is not None:
        served = {prefix for figure in figures().values() for prefix in figure.units}
        unit = choice(units.prefix(str(unit)), "unit", sorted(served | set(map(units.prefix, units.names()))))
    if kind is not None:
        choice(kind, "kind", kinds())
    return tuple(id for id, of in figures().items() if unit in (None, *of.units) and kind in (None, of.kind))


def get(id: str) -> Figure:
    """The figure `id`; an unknown id is a ValueError with the nearest."""
    return figures()[choice(id, "id", figures())]


def table(unit: str | None = None, kind: str | None = None) -> Table:
    """The figures of `names`, as a table with a row each."""
    return Table(map(get, names(unit, kind)))


def model(name: str):
    """A model that a figure names, of this ledger or of `models`; an unknown name is a ValueError with the nearest."""
    from course_lib.experiments.published import predictors

    return predictors.model_of(choice(name, "name", predictors.model_names()))


def beside(experiment: str) -> dict[str, Figure]:
    """Case of an experiment -> the figure that others published of the same quantity, under conditions of its kind."""
    joined = [of for of in figures().values() if of.beside]
    return {of.beside["case"]: of for of in joined if of.beside["experiment"] == experiment}
