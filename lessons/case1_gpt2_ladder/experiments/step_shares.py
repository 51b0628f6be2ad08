"""Where the time of the ladder's first step goes: a profile, its operations sorted into kinds that sum to the step.

An operation belongs to attention if one of its operands is a square of scores, tokens × tokens, or if it is a batched
product: no other operation of this network has either.
"""

from collections.abc import Mapping, Sequence
from functools import cache

from course_lib.accounting import hardware
from course_lib.experiments.running import torch_events
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import fact_columns, quantity_columns, rows_of_quantity
from course_lib.experiments.running.timing import Repeats, single_thread
from course_lib.figures.charts import dots
from course_lib.units.case1_gpt2_ladder import gpt_steps
from course_lib.words import words

say = words(__file__)

KINDS = ("scores", "passes", "products", "pointwise", "loss", "optimizer", "between")
PRODUCTS = frozenset(f"aten::{name}" for name in ("addmm", "mm", "matmul", "linear"))
POINTWISE = ("layer_norm", "tanh", "aten::mul", "aten::add", "aten::pow")
LOSS = ("cross_entropy", "log_softmax", "nll_loss")


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Every kind of operation; full profiles more steps."""
    step, rounds = gpt_steps.start(device), 3 if quick else 6
    together = cache(lambda bench: profiled(bench, step, rounds))
    return tuple(
        Case(
            say("cases", kind),
            say("calls", kind),
            observe=lambda bench, seconds, kind=kind: together(bench)[kind],
            facts={"kind": kind},
        )
        for kind in KINDS
    )


def profiled(bench, step: gpt_steps.Step, rounds: int) -> dict[str, list[float]]:
    """Kind -> seconds in each of several steps, by torch.profiler, on one thread of a processor."""
    on_gpu = bench.on == "cuda"
    with single_thread(bench.torch):
        call = step.build(bench)
        call()
        call()
        events = torch_events.profiled(bench.torch, call, rounds, on_gpu, record_shapes=True)

    def kind_of(event):
        return classify([event.name, *torch_events.ancestors(event)], event.input_shapes or [], step.seq)

    return torch_events.by_kind(events, KINDS, kind_of, "between", on_gpu)


def classify(names: Sequence[str], shapes: Sequence[Sequence[int]], seq: int) -> str:
    """The kind of an event from its name, those it ran in, the nearest first, and the shapes of its operands."""
    name = names[0]
    if any(ran_in.startswith("Optimizer.step") for ran_in in names):
        return "optimizer"
    if not name.startswith("aten::"):
        return "between"
    if name == "aten::bmm":
        return "scores"
    if any(list(shape[-2:]) == [seq, seq] for shape in shapes):
        return "passes"
    if any(part in ran_in for ran_in in names for part in LOSS):
        return "loss"
    if name in PRODUCTS:
        return "products"
    return "pointwise" if any(part in name for part in POINTWISE) else "between"


def table(cases: Sequence[Case], timings: Mapping[str, Repeats], device: hardware.Device) -> list[dict]:
    """One row for each kind, with its share of the step."""
    rows = rows_of_quantity(cases, timings, device)
    found = shares({row["kind"]: row["measured"] for row in rows})
    return [{**row, "share": 100 * found[row["kind"]]} for row in rows]


def shares(took: Mapping[str, float]) -> dict[str, float]:
    """Kind -> its share of the time of all kinds."""
    whole = sum(took.values())
    return {kind: seconds / whole for kind, seconds in took.items()}


def plot(result):
    """The time of each kind."""
    largest = max(result.rows, key=lambda row: row["share"])
    return dots(result, title=say("title", share=largest["share"], case=largest["case"]), axis=say("axis"))


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    (*quantity_columns(say, "s", kind="str", hidden=("kind",)), *fact_columns(say, share="float %")),
    table=table,
    recording_seconds=60,
)
