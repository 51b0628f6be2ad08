"""The asyncio batchers: everybody is answered, errors arrive, who has gone hurts nobody."""

import asyncio
import time

import pytest

from course_lib.experiments import batchers


@pytest.mark.parametrize("kind", [batchers.Greedy, batchers.Timer, batchers.Shielded])
def test_every_request_of_every_group_is_answered(kind):
    assert batchers.beside(batchers.groups(kind, (1, 3, 32, 33, 64, 1))) == [1, 3, 32, 33, 64, 1]


def test_the_recipe_fails_after_a_lone_request():
    assert batchers.beside(batchers.groups(batchers.Impatient, (32, 1, 32, 64))) == [32, 0, 0, 0]


@pytest.mark.parametrize("kind", [batchers.Greedy, batchers.Timer])
def test_each_gets_its_own_answer_and_batches_hold_no_more_than_most(kind):
    async def run():
        batcher = kind(lambda inputs: [x * x for x in inputs], most=4)
        answers = await asyncio.gather(*(batcher.infer(number) for number in range(11)))
        batcher.close()
        return answers, batcher.sizes

    answers, sizes = batchers.beside(run())
    assert answers == [number**2 for number in range(11)]
    assert (sum(sizes), max(sizes)) == (11, 4)


@pytest.mark.parametrize("kind", [batchers.Greedy, batchers.Timer])
def test_an_error_reaches_its_callers_and_a_cancelled_caller_hurts_nobody(kind):
    def model(inputs):
        if "bad" in inputs:
            raise ValueError("bad input")
        time.sleep(0.02)
        return inputs

    async def run():
        batcher = kind(model)
        failed = await asyncio.gather(batcher.infer("bad"), return_exceptions=True)
        gone, stays = (asyncio.ensure_future(batcher.infer(name)) for name in ("gone", "stays"))
        await asyncio.sleep(0.01)
        gone.cancel()
        answer, after = await stays, await batcher.infer("after")
        batcher.close()
        return type(failed[0]), answer, after

    assert batchers.beside(run()) == (ValueError, "stays", "after")


def test_greedy_forms_its_batch_while_the_model_is_busy():
    def model(inputs):
        time.sleep(0.05)
        return inputs

    async def run():
        batcher = batchers.Greedy(model)
        first = asyncio.ensure_future(batcher.infer(0))
        await asyncio.sleep(0.01)
        await asyncio.gather(first, *(batcher.infer(number) for number in range(1, 6)))
        batcher.close()
        return batcher.sizes

    assert batchers.beside(run()) == [1, 5]


def test_a_window_counts_from_when_the_first_came_and_ends_with_a_full_batch():
    def model(inputs):
        time.sleep(0.3)
        return inputs

    async def run(most, numbers):
        batcher = batchers.Greedy(model, most=most, window=0.2)
        begun = time.perf_counter()
        first = [asyncio.ensure_future(batcher.infer(number)) for number in range(numbers)]
        await asyncio.sleep(0.25)
        await asyncio.gather(*first, batcher.infer(9))
        batcher.close()
        return time.perf_counter() - begun, batcher.sizes

    # starts at 0.2; the third came at 0.25 and goes at 0.5, at once. Or full at 0; the third waits until 0.45
    for most, least in [(8, 0.8), (2, 0.75)]:
        for _ in range(10):  # where the machine stands still, the third may come before the window is seen to end
            took, sizes = batchers.beside(run(most, 2))
            assert sizes in ([2, 1], [3])
            assert sizes == [3] or took >= least
            if sizes == [2, 1] and took < least + 0.15:
                break
        else:
            pytest.fail(f"the batches were {sizes} and took {took:.2f} s in the last of ten runs")
