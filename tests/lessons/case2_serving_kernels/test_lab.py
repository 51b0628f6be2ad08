"""The lab's engines with a line left out, its log, its shards, and what the experiments hand out."""

import pytest
import torch

from course_lib.units.case2_serving_kernels import letters, shards, workload
from course_lib.units.case2_serving_kernels.engine import Engine
from course_lib.units.case2_serving_kernels.experiments import engine_throughput, sampler_draws, sampler_times


@pytest.mark.parametrize("page", [1, 3, 8, 32])
@pytest.mark.parametrize("common", [0, 24])
def test_the_log_tells_what_is_found(page, common):
    asked = letters.requests(10, seed=page, common=common)
    served = workload.serve(letters.untrained(), asked, pages=2000 // page, page=page, most=3)
    assert served.counts.found == workload.found_by_log(asked, page)


@pytest.mark.parametrize(
    ("load", "wrong"), [(workload.leaving, workload.Uncounted), (workload.crossed, workload.Misnamed)]
)
def test_each_fault_shows_in_its_workload_and_the_engine_in_none(load, wrong):
    model, asked = letters.untrained(), load()
    right = workload.alone(model, asked)
    assert workload.differing(workload.serve(model, asked, Engine, pages=16, page=8, most=4), right) == 0
    assert workload.differing(workload.serve(model, asked, wrong, pages=16, page=8, most=4), right) > 0


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_a_pair_cut_rightly_is_the_whole(ranks):
    x, up, down, bias = shards.problem(torch, seed=ranks)
    result = shards.whole(torch, x, up, down, bias)
    torch.testing.assert_close(shards.pair(torch, x, up, down, bias, ranks), result)
    torch.testing.assert_close(shards.pair(torch, x, up, down, bias, ranks, "all"), result + (ranks - 1) * bias)
    grads = shards.input_gradients(torch, x, up, down, ranks)
    x.requires_grad_()
    shards.whole(torch, x, up, down, bias).sum().backward()
    torch.testing.assert_close(sum(grads), x.grad)


def test_every_sampler_draws_from_its_row():
    """Of a row with one likely token, nearly always that one; from the top 50 never another."""
    logits = torch.full((40, 200), -20.0)
    logits[torch.arange(40), torch.arange(40)] = 20.0
    for way in sampler_times.WAYS[:6]:
        drawn = sampler_times.sampler(torch, way, logits.clone())().flatten()
        assert drawn.tolist() == list(range(40)), way


def test_multinomial_is_a_race():
    """With the same seed both give the same tokens."""
    logits = torch.randn(64, 500, generator=torch.Generator().manual_seed(0))
    drawn = []
    for way in ("multinomial", "race"):
        torch.manual_seed(5)
        drawn.append(sampler_times.sampler(torch, way, logits)().flatten().tolist())
    assert drawn[0] == drawn[1]


def test_top_p_keeps_what_makes_up_its_mass():
    logits = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log().repeat(4000, 1)
    torch.manual_seed(0)
    drawn = sampler_times.sampler(torch, "top-p", logits)().flatten().bincount(minlength=4)
    assert drawn[3] == 0
    assert all(drawn[:3] > 300)


def test_right_samplers_are_told_from_wrong_ones():
    from course_lib.units.case2_serving_kernels import sampling

    torch.manual_seed(3)
    for way in sampler_draws.WAYS:
        logits = [z / sampler_draws.COLD for z in sampling.LOGITS] if way == "noise colder" else sampling.LOGITS
        counts = torch.bincount(sampler_draws.drawn(torch, way, 100_000), minlength=8).tolist()
        found = sampling.chi_square(counts, logits)
        assert (found < 40) == (way in (*sampler_draws.RIGHT, "bf16")), (way, found)


def test_the_products_are_all_matrices_of_the_model():
    shape = engine_throughput.shape()
    described = shape.describe(context=256)
    norms = (2 * shape.layers + 1) * shape.width
    joint = (shape.heads + 2 * shape.kv_heads) * shape.head
    each = shape.width * joint + shape.heads * shape.head * shape.width + 3 * shape.width * shape.ff
    assert int(described.parameters()) == shape.layers * each + shape.vocab * shape.width + norms


def test_letters_are_encoded_and_decoded():
    for request in letters.requests(5):
        text = letters.decode(request.prompt)
        assert letters.encode(text) == request.prompt
        assert 4 <= len(text) <= 40


@pytest.mark.slow  # trains the model
def test_equality_with_the_plain_loop_is_not_luck():
    """A greedy token leads the next by far more than the two ways differ, which is some 1e-14."""
    with torch.inference_mode():
        assert min(letters.lead(letters.trained(), request) for request in letters.requests(8)) > 1e-7
    assert letters.trained().loss < 3.0  # nats a letter; 65 letters at random are 4.17
