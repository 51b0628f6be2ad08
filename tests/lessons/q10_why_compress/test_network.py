"""The digits network and what makes it smaller: against torch's own layers, the library's grid and counts by hand."""

import pytest
import torch

from course_lib.accounting import precision
from course_lib.units.q10_why_compress import network
from course_lib.units.q10_why_compress.experiments import quantize, smaller_networks


@pytest.fixture(scope="module")
def small():
    """A network that has learnt a little."""
    (x, y), _ = network.data(torch, 0)
    return network.learn(torch, network.fresh(torch, network.SIZES, 0), x, y, 0, steps=30)


def as_module(weights):
    layers = []
    for w, b in zip(weights[::2], weights[1::2], strict=True):
        layer = torch.nn.Linear(w.shape[1], w.shape[0])
        layer.weight.data, layer.bias.data = w, b
        layers += [layer, torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def test_forward_is_that_of_linear_layers(small):
    x = torch.randn(5, network.PIXELS, generator=torch.Generator().manual_seed(1))
    assert network.forward(torch, small, x).allclose(as_module(small)(x), atol=1e-6)
    assert sum(p.numel() for p in as_module(small).parameters()) == network.parameters() == 85_002


def test_images_are_shared_out_once():
    (x, y), (test_x, test_y) = network.data(torch, 3)
    assert (len(x), len(test_x)) == (1297, 500)
    assert torch.bincount(torch.cat([y, test_y])).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_training_helps_and_leaves_the_first_weights_alone(small):
    first = network.fresh(torch, network.SIZES, 0)
    assert network.accuracy(torch, first, 0) < 30 < 70 < network.accuracy(torch, small, 0)
    before = [w.clone() for w in small]
    network.tuned(torch, small, 0, keep=[torch.zeros_like(w) for w in small[::2]])
    assert all(torch.equal(w, b) for w, b in zip(small, before, strict=True))


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_a_grid_is_that_of_the_library(small, bits):
    matrix = small[2][:8]
    rows = {"tensor": (1, None), "row": (8, None), "group": (8, network.GROUP)}
    for share, (count, group) in rows.items():
        parts = matrix.double().view(count, -1).tolist()
        expected = torch.tensor([precision.quantized(part, bits, group).values for part in parts]).view_as(matrix)
        assert network.on_grid(torch, matrix.double(), bits, share).allclose(expected.double(), atol=1e-7)
    assert network.on_grid(torch, torch.zeros(4, 32), bits, "row").abs().max() == 0


def test_an_outlier_changes_no_output(small):
    changed = network.with_outlier(small)
    x = torch.randn(5, network.PIXELS, generator=torch.Generator().manual_seed(1))
    assert network.forward(torch, changed, x).allclose(network.forward(torch, small, x), atol=1e-5)
    assert changed[0].abs().max() > 10 * small[0].abs().max()


def test_upward_errors_are_as_large_and_positive(small):
    rounded = network.quantised(torch, small, 3, "tensor")
    upwards = network.errors_upwards(small, rounded)
    size = network.relative_error(torch, small, upwards)
    assert size == pytest.approx(network.relative_error(torch, small, rounded), rel=1e-4)
    assert all((up >= w).all() for w, up in zip(small, upwards, strict=True))


def test_masks_keep_what_they_say(small):
    w = small[2]
    mask = network.two_of_four(torch, w)
    assert (mask.view(256, -1, 4).sum(2) == 2).all()
    fours = (w.abs() * mask).view(256, -1, 4)
    dropped = (w.abs() * (1 - mask)).view(256, -1, 4)
    assert (fours.amax(2) >= dropped.amax(2)).all()
    tenth = network.largest(torch, w, 0.1)
    assert tenth.sum() == round(0.1 * w.numel())
    assert w[tenth == 1].abs().min() >= w[tenth == 0].abs().max()


def test_what_is_masked_stays_zero_while_it_is_tuned(small):
    masks = [network.largest(torch, w, 0.1) for w in small[::2]]
    tuned = network.tuned(torch, network.masked(small, masks), 0, keep=masks)
    assert all((w[mask == 0] == 0).all() for w, mask in zip(tuned[::2], masks, strict=True))


def test_fewer_neurons_are_the_network_with_the_others_set_to_zero(small):
    fewer = network.fewer_neurons(torch, small, 128)
    assert [tuple(w.shape) for w in fewer] == [(128, 64), (128,), (128, 128), (128,), (10, 128), (10,)]
    zeroed = [w.clone() for w in small]
    first = {tuple(row) for row in fewer[0].tolist()}
    gone = [at for at, row in enumerate(small[0].tolist()) if tuple(row) not in first]
    zeroed[0][gone], zeroed[1][gone] = 0.0, 0.0
    bias = set(fewer[3].tolist())
    gone = [at for at, value in enumerate(small[3].tolist()) if value not in bias]
    zeroed[2][gone], zeroed[3][gone] = 0.0, 0.0
    x = torch.randn(5, network.PIXELS, generator=torch.Generator().manual_seed(1))
    assert network.forward(torch, fewer, x).allclose(network.forward(torch, zeroed, x), atol=1e-5)


def test_a_thin_matrix_has_its_rank_and_the_full_rank_is_the_matrix(small):
    assert torch.linalg.matrix_rank(network.thin(torch, small, 16)[2]) == 16
    assert network.thin(torch, small, 256)[2].allclose(small[2], atol=1e-5)


def test_kept_counts_what_is_not_zero(small):
    biases = 256 + 256 + 10
    masks = smaller_networks._masks(torch, small, smaller_networks.SPARSE)
    nonzero = sum(int(mask.sum()) for mask in masks) + biases
    assert smaller_networks.kept(smaller_networks.SPARSE + smaller_networks.TUNED) == nonzero
    assert smaller_networks.kept(smaller_networks.TWO_OF_FOUR) == (64 * 256 + 256 * 256 + 2560) // 2 + biases
    narrow = network.fewer_neurons(torch, small, smaller_networks.NARROWED)
    assert smaller_networks.kept(smaller_networks.NARROW) == sum(w.numel() for w in narrow)
    assert smaller_networks.kept(smaller_networks.THIN) == 85_002 - 256 * 256 + 16 * 512
    assert smaller_networks.kept("student, 60 labels") == 16 * 65 + 10 * 17


def test_bits_of_a_weight_have_its_part_of_the_scales():
    """522 rows, 84,480 weights; a group is 32 weights, and a scale 32 bits."""
    bits = {share: quantize.bits_a_weight(4, share) for share in ("tensor", "row", "group")}
    assert bits == {"tensor": 4 + 32 * 3 / 84_480, "row": pytest.approx(4.1977, abs=1e-4), "group": 5}


def test_gradients_pass_the_rounding():
    """With weights rounded to zero the first step still moves them: the estimate is straight through."""
    (x, y), _ = network.data(torch, 0)
    first = network.fresh(torch, network.SIZES, 0)
    learnt = network.learn(torch, first, x, y, 0, 5, shaped=lambda w: network.quantised(torch, w, 2, "tensor"))
    assert all((a - b).abs().sum() > 0 for a, b in zip(first, learnt, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 5])
def test_the_bands_of_the_lesson_hold_for_other_seeds(seed):
    right = {
        name: network.accuracy(torch, smaller_networks.smaller(torch, name, seed), seed)
        for name in (
            "as it is",
            "90 % zero",
            "90 % zero, tuned",
            "half the neurons, tuned",
            "rank 16",
            *smaller_networks.STUDENTS,
        )
    }
    whole = right["as it is"]
    assert whole - right["90 % zero"] > 8
    assert right["90 % zero, tuned"] > right["90 % zero"] + 4
    assert abs(whole - right["half the neurons, tuned"]) < 2
    assert abs(whole - right["rank 16"]) < 2
    assert right["student, teacher on 1,297"] > right["student, 60 labels"] + 3
    coarse, upwards = (
        network.accuracy(torch, pair[1], seed)
        for pair in (quantize.changed(torch, 3, "tensor", False, seed), quantize.upwards_of(torch, seed))
    )
    assert abs(whole - coarse) < 2
    assert abs(whole - upwards) < 5
    assert network.accuracy(torch, quantize.changed(torch, 4, "tensor", True, seed)[1], seed) < 30


def test_a_teacher_pays_for_images_that_it_has_not_seen_either():
    right, seeds = {"60 labels": 0.0, "teacher": 0.0, "labels": 0.0}, range(2)
    for seed in seeds:
        (x, y), _ = network.data(torch, seed)
        half = len(x) // 2
        teacher = network.learn(torch, network.fresh(torch, network.SIZES, seed), x[:half], y[:half], seed)
        x, y = x[half:], y[half:]
        with torch.no_grad():
            answers = network.forward(torch, teacher, x).softmax(1)
        taught = {"60 labels": (x[:60], y[:60]), "teacher": (x, answers), "labels": (x, y)}
        for name, lessons in taught.items():
            student = network.learn(torch, network.fresh(torch, network.STUDENT, seed), *lessons, seed, 300)
            right[name] += network.accuracy(torch, student, seed) / len(seeds)
    assert right["teacher"] > right["60 labels"] + 3
    assert abs(right["teacher"] - right["labels"]) < 2.5
