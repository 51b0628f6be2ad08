"""The count by hand against real asyncio servers; and what each caller gets under loads that differ from the test."""

import random

import pytest

from course_lib.units.case4_production_traps import batching
from course_lib.units.case4_production_traps.batching import Group

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", range(6))
def test_the_count_says_whom_the_recipe_answers(seed):
    rng = random.Random(seed)
    sizes = [rng.choice([32, 64, rng.randrange(1, 80)]) for _ in range(4)]
    assert batching.answers(batching.Impatient, sizes) == batching.answered(sizes, 32)


def test_the_title():
    assert batching.answers(batching.Impatient, [32, 64]) == [32, 64]
    assert batching.answers(batching.Impatient, [33, 64, 32]) == [32, 0, 0]
    assert 33 + 64 + 32 - 32 == 97


def test_each_fault_alone_does_what_the_lesson_says():
    """Cleared loses an unfinished batch and nobody later; shielded loses nobody until the model raises."""
    assert batching.answers(batching.Cleared, [33, 64, 32]) == [32, 64, 32]
    assert batching.answers(batching.Shielded, [33, 64, 32, 1]) == [33, 64, 32, 1]
    assert batching.failed(batching.Shielded, [Group(8, bad=1), Group(32), Group(5)]) == 37


@pytest.mark.parametrize("name", ["timer", "greedy"])
@pytest.mark.parametrize("load", batching.LOADS)
def test_good_servers_lose_nobody(name, load):
    assert batching.failed(batching.SERVERS[name], batching.LOADS[load]) == 0


@pytest.mark.parametrize("name", ["timer", "greedy"])
def test_callers_get_their_own_answer_or_the_models_error(name):
    groups = [Group(5, bad=1), Group(4, leave=2), Group(40)]
    first, second, third = batching.beside(batching.send(batching.SERVERS[name], groups))
    assert first == ["error"] * 5
    assert second == ["answer", "answer", "left", "left"]
    assert third == ["answer"] * 40


def test_a_lost_caller_is_counted_as_lost():
    """A server that answers wrongly, never, and with an error that the model did not raise."""

    class Odd:
        def __init__(self, model):
            pass

        async def infer(self, x):
            if x == 1:
                raise KeyError(x)
            return 2 * x if x == 0 else -1

    assert batching.failed(Odd, [Group(4)]) == 3
    assert batching.answers(Odd, [4]) == [1]
