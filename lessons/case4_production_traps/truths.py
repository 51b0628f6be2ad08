"""The truth of each prediction card of Case 4, computed when a learner reveals it."""

from course_lib.units.case4_production_traps import batching, elsewhere, replicas

CAPABILITIES = {"t4": "7.5", "a100": "8.0", "l4": "8.9", "h100": "9.0"}


def thirty_three(most, twice, first, second, third, all, late, rest, one) -> int:
    return sum(batching.answered([first, second, third], most))


def dp_bytes(ranks, batch, gradients, logits, whole, ring) -> float:
    """GB"""
    return replicas.gpt2(batch, 1024, ranks)[0].into_first / 1e9


def which_machine() -> str:
    dead = [id for id, here in CAPABILITIES.items() if elsewhere.pick_kernel(here, ["7.0", "8.6"], ["8.6"]) is None]
    (only,) = dead
    return only


def forgotten_no_grad() -> float:
    """Batches."""
    return (48e9 - 12e9) / 900e6
