"""Gradients in parts against torch on the whole batch; the noise formula against all orders; Adam against torch."""

import random
from itertools import permutations

import pytest

torch = pytest.importorskip("torch")

from course_lib.accounting import memory  # noqa: E402
from course_lib.units.q14_gradient_accumulation import adam, parts, plans  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def whole():
    x, y = parts.batch(torch)
    net = parts.network(torch)
    return net, x, y, torch.autograd.grad(torch.nn.functional.cross_entropy(net(x), y), list(net.parameters()))


@pytest.mark.parametrize("sizes", [parts.EQUAL, parts.UNEQUAL, (1, 255), (256,)])
def test_by_examples_every_split_is_the_whole_batch(sizes):
    net, x, y, truth = whole()
    truth = torch.cat([gradient.flatten() for gradient in truth])
    assert parts.off(parts.accumulated(net, x, y, sizes, parts.by_examples), truth) < 1e-6


def test_the_network_leaves_the_learners_random_state_alone():
    torch.manual_seed(7)
    first = torch.rand(1)
    torch.manual_seed(7)
    parts.network(torch, dropout=0.5)
    assert torch.rand(1) == first


def test_rows_are_the_gradients_of_single_examples():
    net, x, y, truth = whole()
    rows = parts.of_each_example(net, x, y)
    assert torch.allclose(rows.mean(0), torch.cat([gradient.flatten() for gradient in truth]), atol=1e-6)
    single = torch.autograd.grad(torch.nn.functional.cross_entropy(net(x[3:4]), y[3:4]), list(net.parameters()))
    assert torch.allclose(rows[3], torch.cat([gradient.flatten() for gradient in single]))


def test_the_expected_distance_is_the_mean_over_all_orders():
    """Five numbers in parts of 3, 1 and 1: the root mean square over all 120 orders."""
    numbers, counts = [1.0, 2.0, 4.0, 9.0, 3.0], (3, 1, 1)
    mean = sum(numbers) / 5
    found = []
    for order in permutations(numbers):
        means = [sum(order[:3]) / 3, order[3], order[4]]
        found.append((sum(means) / 3 - mean) ** 2)
    noise = parts.noise_scale(torch.tensor(numbers).view(-1, 1))
    assert plans.expected_off(counts, noise) == pytest.approx((sum(found) / len(found)) ** 0.5 / mean, rel=1e-5)


def test_equal_parts_lose_nothing():
    assert plans.effective_batch([64] * 4) == pytest.approx(256)
    assert plans.expected_off([64] * 4, 36.0) == pytest.approx(0, abs=1e-6)


def test_adam_is_that_of_torch():
    draw = random.Random(1)
    gradients = [draw.gauss(0.3, 1) for _ in range(30)]
    weight = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    optimizer, lengths, before = torch.optim.Adam([weight], lr=1.0), [], 0.0
    for gradient in gradients:
        weight.grad = torch.tensor([gradient], dtype=torch.float64)
        optimizer.step()
        lengths.append(abs(weight.item() - before))
        before = weight.item()
    assert adam.step_lengths(gradients) == pytest.approx(lengths, rel=1e-6)


def test_two_dropout_layers_in_parts_are_no_further_off_than_two_draws_at_once():
    x, y = parts.batch(torch)
    net = torch.nn.Sequential(torch.nn.Dropout(0.2), parts.network(torch, dropout=0.2))
    found = []
    for seed, sizes in ((1, (parts.BATCH,)), (1, parts.EQUAL), (2, (parts.BATCH,))):
        with parts.seeded(torch, seed):
            found.append(parts.accumulated(net, x, y, sizes, parts.by_parts))
    whole, in_parts, again = found
    assert 0.3 < parts.off(in_parts, whole) <= parts.off(again, whole) < 0.5


def test_a_short_batch_in_parts_adds_a_gradient_of_the_token_matrix_and_saves_logits():
    """Its peak is the end of the backward pass, where all gradients of the whole batch are there too."""
    whole, split = (memory.accumulated_peak("gpt2", batch=4, parts=n, seq=16, attention="sdpa") for n in (1, 4))
    assert whole.phase == split.phase == "end_of_backward"
    words, numbers = 50257, 4  # bytes of a number
    second, logits = words * 768 * numbers, 48 * words * numbers
    assert int(split) - int(whole) == pytest.approx(second - logits, rel=1e-3)


def test_where_all_tensors_are_updated_at_once_parts_change_a_short_batchs_peak_little():
    """The bracket of claim S003-61; one tensor at a time the parts cost 6 %."""
    how = {"batch": 4, "seq": 16, "attention": "sdpa"}
    at_once, one_by_one = (
        [int(memory.accumulated_peak("gpt2", parts=parts, foreach=foreach, **how)) for parts in (1, 4)]
        for foreach in (True, False)
    )
    assert at_once[1] == pytest.approx(at_once[0], rel=0.01)
    assert one_by_one[1] > 1.05 * one_by_one[0]
