"""A network that has learnt digits, with fewer weights, a thinner matrix or a small successor: what it still knows,
before and after some more training.
"""

from itertools import pairwise

from course_lib.accounting import hardware
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.q10_why_compress import network
from course_lib.words import words

say = words(__file__)

WHOLE, TWO_OF_FOUR, SPARSE, NARROW, THIN = "as it is", "2 of 4 zero", "90 % zero", "half the neurons", "rank 16"
TUNED = ", tuned"
RANK, NARROWED = 16, network.WIDTH // 2
STUDENTS = {  # name -> (images, whether the teacher answers for them)
    "student, 60 labels": (network.FEW, False),
    "student, teacher on these 60": (network.FEW, True),
    "student, teacher on 1,297": (network.LEARN, True),
    "student, 1,297 labels": (network.LEARN, False),
}


def _masks(torch, weights, name: str) -> list:
    of = (
        (lambda w: network.two_of_four(torch, w)) if name == TWO_OF_FOUR else (lambda w: network.largest(torch, w, 0.1))
    )
    return [of(w) for w in weights[::2]]


def smaller(torch, name: str, seed: int) -> list:
    """The weights of a case."""
    if name in STUDENTS:
        return network.student(torch, seed, *STUDENTS[name])
    kind, tune, weights = name.removesuffix(TUNED), name.endswith(TUNED), network.trained(torch, seed)
    if kind in (TWO_OF_FOUR, SPARSE):
        masks = _masks(torch, weights, kind)
        weights = network.masked(weights, masks)
        return network.tuned(torch, weights, seed, keep=masks) if tune else weights
    if kind == NARROW:
        weights = network.fewer_neurons(torch, weights, NARROWED)
        return network.tuned(torch, weights, seed) if tune else weights
    return network.thin(torch, weights, RANK) if kind == THIN else weights


def kept(name: str) -> int:
    """Parameters that are not zero by force: biases all stay, a thin matrix is kept as two."""
    kind, sizes = name.removesuffix(TUNED), network.SIZES
    matrices = [a * b for a, b in pairwise(sizes)]
    biases = sum(sizes[1:])
    if kind in (TWO_OF_FOUR, SPARSE):
        share = 0.5 if kind == TWO_OF_FOUR else 0.1
        return sum(round(share * count) for count in matrices) + biases
    if kind == THIN:
        return sum(matrices) - network.WIDTH**2 + 2 * RANK * network.WIDTH + biases
    narrow = (network.PIXELS, NARROWED, NARROWED, sizes[-1])
    return network.parameters(network.STUDENT if name in STUDENTS else narrow if kind == NARROW else sizes)


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Zeros, fewer neurons, a thin matrix and four students, from two seeds; full takes five."""
    seeds = range(2 if quick else 5)
    tunable = [name for kind in (TWO_OF_FOUR, SPARSE, NARROW) for name in (kind, kind + TUNED)]
    return tuple(_case(name, seeds) for name in (WHOLE, *tunable, THIN, *STUDENTS))


def _case(name: str, seeds) -> Case:
    def observe(bench, seconds):
        return network.right(bench.torch, lambda torch, seed: smaller(torch, name, seed), seeds)

    said = "whole" if name == WHOLE else "student" if name in STUDENTS else "tuned" if name.endswith(TUNED) else "made"
    return Case(
        name,
        say("calls", said, steps=network.TUNE),
        observe=observe,
        facts={"kept": 100 * kept(name) / network.parameters()},
    )


def plot(result):
    """Right answers of each case."""
    right, title = result.measured, say("title", "plain")
    if {WHOLE, SPARSE, SPARSE + TUNED} <= set(right):
        title = say("title", "found", before=right[SPARSE], after=right[SPARSE + TUNED], whole=right[WHOLE])
    return dots(result, title=title, axis=say("axis"), log=False)


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "%", kept="float %"),
    timed=False,
    method={"steps": network.STEPS, "batch": network.BATCH, "tune": network.TUNE},
)
