"""Work that passes through stages: how many pieces a second come out."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from course_lib.accounting import units
from course_lib.accounting.answers.explained import Explained
from course_lib.accounting.answers.quantity import largest, symbol, total


@dataclass(frozen=True, repr=False)
class Rate(Explained):
    """The pace of a pipeline; made by `rate`."""

    per_second: float
    seconds: float  # from one piece that comes out to the next
    slowest: str  # the stage with the largest time a piece
    slack: Mapping[str, float] = field(default_factory=dict)  # s a piece that a stage may lose before the pace changes


def rate(stages, *, overlapped=True, pause=0) -> Rate:
    """Pieces a second in the long run of work that passes through `stages`, in order.

    stages: name -> seconds for a piece, or (seconds, workers) where several workers take pieces side by side; a stage
    then gives one piece each seconds/workers. overlapped: all stages work at once, each on another piece, and the
    slowest sets the pace, 1/max(seconds/workers). False: a piece passes all stages before the next one enters, 1/Σ
    seconds, and workers beside the first have nothing to do. pause: seconds with each piece in which no stage works, as
    at a barrier; they come on top. The slack of a stage is how many seconds longer each of its workers could take with
    a piece: (longest − seconds/workers)·workers; in turn nobody has any. Source: Little's law for each stage; stages
    and workers do not slow each other down. ValueError for no stage, a time that is not above zero, workers that are no
    whole number, a negative pause.
    """
    if not isinstance(stages, Mapping) or not stages:
        raise ValueError(
            f"stages={units.shortly(stages)} must map names of stages to seconds, such as "
            "{'load': (0.03, 4), 'compute': 0.01}: 4 workers of 30 ms each, and one of 10 ms."
        )
    alone, side_by_side = {}, {}
    for number, (name, stage) in enumerate(stages.items(), 1):
        seconds, workers = stage if isinstance(stage, (tuple, list)) and len(stage) == 2 else (stage, 1)
        t = symbol(f"t_{number}", units.positive(seconds, f"stages[{name!r}]"), f"s for a piece in {name}")
        w = side_by_side[name] = units.count(workers, f"workers of stages[{name!r}]")
        alone[name] = t / symbol(f"w_{number}", w, f"workers of {name}") if units.flag(overlapped, "overlapped") else t
    pace = largest(*alone.values()) if overlapped else total(alone.values())
    slack = {name: (pace.value - t.value) * side_by_side[name] if overlapped else 0.0 for name, t in alone.items()}
    if units.number(pause, "pause"):
        pace = pace + symbol("pause", float(pause), "s with each piece in which no stage works")
    pace = symbol("seconds", pace, "s for a piece")
    return Rate(
        per_second=1 / pace,
        seconds=pace,
        slowest=max(alone, key=lambda name: alone[name].value),
        slack=units.FrozenDict(slack),
        assumptions=("Pieces are equal, and there are always enough of them.", "Stages do not slow each other down."),
        omitted=("The first pieces, until all stages have work.",),
    )


units.teach(globals())
