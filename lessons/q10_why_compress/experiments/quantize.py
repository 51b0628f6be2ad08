"""A network that has learnt digits, with its weights in fewer and fewer bits: how wrong the weights are, and the answers.

Symmetric grids with one scale for a matrix, for each row, or for each group of 32 weights. In the cases with an outlier
one neuron's weights are 32 times as large, and the weights that read it 32 times as small: the same function.
"""

from itertools import pairwise

from course_lib.accounting import hardware
from course_lib.experiments.running import timing
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns, rows_of_quantity
from course_lib.figures.charts import dots
from course_lib.units.q10_why_compress import network
from course_lib.words import words

say = words(__file__)

NONE, UPWARDS = "fp32", "3 bits, all errors upwards"
HOW = {"tensor": "a scale for all", "row": "a scale a row", "group": "a scale for 32"}
PLAIN = ((8, "tensor"), (4, "tensor"), (3, "tensor"), (2, "tensor"), (2, "row"), (2, "group"))
OUTLIER = ((8, "tensor"), (4, "tensor"), (4, "row"), (4, "group"))


def name_of(bits: int, share: str, outlier: bool = False) -> str:
    return f"{bits} bits, {HOW[share]}{', outlier' if outlier else ''}"


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """The network as it is, its weights in 8 to 2 bits, and with one large neuron; from two seeds, full from five."""
    seeds = range(2 if quick else 5)
    listed = [(bits, share, False) for bits, share in PLAIN] + [(bits, share, True) for bits, share in OUTLIER]
    as_it_is = Case(
        NONE,
        say("calls", "whole", parameters=network.parameters()),
        observe=lambda bench, seconds: network.right(bench.torch, network.trained, seeds),
        facts={"bits": 32.0},
    )
    upwards = _case(UPWARDS, "upwards", 3.0, upwards_of, seeds)
    return (as_it_is, *(_grid_case(*each, seeds) for each in listed), upwards)


def _grid_case(bits: int, share: str, outlier: bool, seeds) -> Case:
    def change(torch, seed):
        return changed(torch, bits, share, outlier, seed)

    return _case(name_of(bits, share, outlier), "grid", bits_a_weight(bits, share), change, seeds)


def bits_a_weight(bits: int, share: str) -> float:
    """Bits of a weight and of its part of the scales, which are fp32."""
    pairs = list(pairwise(network.SIZES))
    weights = sum(inputs * outputs for inputs, outputs in pairs)
    scales = {"tensor": len(pairs), "row": sum(outputs for _, outputs in pairs), "group": weights / network.GROUP}
    return bits + 32 * scales[share] / weights


def _case(name: str, call: str, bits: float, change, seeds) -> Case:
    def observe(bench, seconds):
        return network.right(bench.torch, lambda torch, seed: change(torch, seed)[1], seeds)

    return Case(name, say("calls", call), observe=observe, facts={"bits": bits})


def upwards_of(torch, seed: int) -> tuple[list, list]:
    """(weights before, after) with the errors of 3 bits, each as large as it was and positive."""
    weights, rounded = changed(torch, 3, "tensor", False, seed)
    return weights, network.errors_upwards(weights, rounded)


def changed(torch, bits: int, share: str, outlier: bool, seed: int) -> tuple[list, list]:
    """(weights before, after) of a case."""
    weights = network.trained(torch, seed)
    if outlier:
        weights = network.with_outlier(weights)
    return weights, network.quantised(torch, weights, bits, share)


def _table(cases, timings, device):
    """With two facts of the first seed: the relative error of its weights, and the zeros of its first matrix."""
    import torch

    with timing.single_thread(torch):
        pairs = {NONE: 2 * (network.trained(torch, 0),), UPWARDS: upwards_of(torch, 0)}
        for outlier, listed in ((False, PLAIN), (True, OUTLIER)):
            pairs |= {name_of(*each, outlier): changed(torch, *each, outlier, 0) for each in listed}
        return [row | _facts(torch, *pairs[row["case"]]) for row in rows_of_quantity(cases, timings, device)]


def _facts(torch, before, after) -> dict[str, float]:
    zeros = 100 * (after[0] == 0).float().mean().item()
    return {"error": 100 * network.relative_error(torch, before, after), "zeros": zeros}


def plot(result):
    """Right answers of each case."""
    right, title = result.measured, say("title", "plain")
    coarse = name_of(3, "tensor")
    if {NONE, coarse} <= set(right):
        title = say("title", "found", error=result[coarse]["error"], before=right[NONE], after=right[coarse])
    return dots(result, title=title, axis=say("axis"), log=False)


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "%", bits="float", error="float %", zeros="float %"),
    timed=False,
    table=_table,
    method={"steps": network.STEPS, "batch": network.BATCH},
)
