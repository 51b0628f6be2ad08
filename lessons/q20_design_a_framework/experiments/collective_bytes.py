"""What four gloo ranks send for one buffer, by their sockets, in each collective."""

from functools import partial

from course_lib.accounting import communication, hardware
from course_lib.experiments.running.errors import Unavailable
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.q20_design_a_framework import ranks
from course_lib.words import words

say = words(__file__)

RANKS, NUMBERS = 4, 2**18  # fp32 numbers in the assembled buffer
CALLS = {  # name → (the calculator's collective, what a rank does with its buffer)
    "all-reduce": (communication.all_reduce, lambda rank, x: rank.all_reduce(x)),
    "all-gather": (communication.all_gather, lambda rank, x: rank.all_gather(x[: NUMBERS // RANKS])),
    "all-to-all": (communication.all_to_all, lambda rank, x: rank.all_to_all(x)),
    "broadcast": (communication.broadcast, lambda rank, x: rank.broadcast(x)),
    "reduce-scatter, as all-to-all and a sum": (communication.reduce_scatter, lambda rank, x: rank.reduce_scatter(x)),
    "reduce-scatter, gloo's own": (communication.reduce_scatter, lambda rank, x: rank.gloos_reduce_scatter(x)),
}


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Six calls; full has no more, for bytes do not depend on time."""
    return tuple(
        Case(name, say("calls", name), observe=partial(_observe, name=name), expect=partial(_expected, name=name))
        for name in CALLS
    )


def _expected(device: hardware.Device, name: str) -> float:
    """Buffers that all ranks send together. In a broadcast the last one of the chain sends nothing."""
    cost = CALLS[name][0](nbytes=4 * NUMBERS, ranks=RANKS, bandwidth=1e9)
    senders = RANKS - 1 if name == "broadcast" else RANKS
    return senders * cost.bytes_per_rank / (4 * NUMBERS)


def _observe(bench, seconds: float, name: str) -> list[float]:
    def job(rank):
        x = bench.torch.ones(NUMBERS)
        return ranks.measured(rank, lambda: CALLS[name][1](rank, x))[1]

    sent = ranks.run(RANKS, job)[0]
    if sent is None:
        raise Unavailable(say("no-sockets"))
    return [sent / (4 * NUMBERS)]


def plot(result):
    """Buffers that went over the wire."""
    own = result.measured["reduce-scatter, gloo's own"]
    return dots(result, title=say("title", own=own), axis=say("axis"), log=False)


EXPERIMENT = Experiment(
    say, cases, plot, quantity_columns(say, "×"), timed=False, method={"ranks": RANKS, "mib": 4 * NUMBERS / 2**20}
)
