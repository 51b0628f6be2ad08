"""GPTQ against all ways to round a tiny matrix, moved scales against the product that they must not change."""

from itertools import product

import pytest
import torch

from course_lib.units.q10_why_compress import network, rounding


def test_gptq_is_hardly_worse_than_the_best_of_all_roundings():
    """Two bits: -1, 0 or 1 times the scale for each of four weights; all 81 are tried."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(200, 4, generator=generator) @ torch.randn(4, 4, generator=generator)
    for _ in range(20):
        w = torch.randn(1, 4, generator=generator)
        scale = w.abs().max()
        best = min(
            rounding.output_error(w, scale * torch.tensor([point]).float(), x)
            for point in product((-1, 0, 1), repeat=4)
        )
        found = rounding.output_error(w, rounding.gptq(torch, w, x, 2), x)
        assert best <= found + 1e-6
        assert found <= rounding.output_error(w, network.on_grid(torch, w, 2, "row"), x) * 1.35 + 1e-6


def test_gptq_of_inputs_that_do_not_hang_together_rounds_to_nearest():
    x = torch.eye(8).repeat(50, 1)
    w = torch.randn(3, 8, generator=torch.Generator().manual_seed(0))
    assert rounding.gptq(torch, w, x, 4).allclose(network.on_grid(torch, w, 4, "row"), atol=1e-5)


@pytest.mark.parametrize("power", [0, 0.5])
def test_a_scale_that_moves_changes_no_product(power):
    x, w = rounding.with_large_channel(torch, 16, 32, 50)
    small, large = rounding._moved(x, w, power)
    assert (small @ large.T).allclose(x @ w.T, rtol=1e-3, atol=1e-3)
    assert rounding.both_rounded(torch, x, w, 16, power) < 1e-3
    assert rounding.weights_rounded(torch, x, w, 16, power) < 1e-3


def test_more_bits_of_a_cache_are_less_wrong():
    errors = rounding.cache_errors(torch, tokens=64, width=32, factor=20)
    for what in (("keys", "token"), ("keys", "channel"), ("values", "token")):
        assert errors[what[0], 8, what[1]] < errors[what[0], 4, what[1]]
